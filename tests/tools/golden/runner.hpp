// SPDX-License-Identifier: MIT
// How is a golden file run? Each format family registers which files it knows and a function that runs one file's cases
// through the public API, reporting every compared field. A field, kind or schema nobody knows is a failure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace golden {

using Json = nlohmann::json;

/// Counts cases and prints a line for each failing one: id, field, want, got.
class Report {
public:
    void begin(std::string id);
    /// Ends the case begun last: passed unless something failed in it.
    void end();
    void fail(std::string_view field, const Json& want, const Json& got);
    /// Compares one field of the current case.
    bool equal(std::string_view field, const Json& want, const Json& got);
    /// A case kind that is known but not run yet; named once in the summary.
    void skip(std::string_view kind);
    /// Records without a question: neither passed nor skipped.
    void not_askable(std::string_view why);
    /// Failures of the case begun last.
    int failures_in_case() const { return in_case_; }

    int finish() const;

private:
    std::string id_;
    int in_case_ = 0;
    int passed_ = 0;
    int failed_ = 0;
    int skipped_ = 0;
    int not_askable_ = 0;
    Json kinds_ = Json::object();
};

/// What a format sees of a file: its path, its parsed content, and the report.
struct File {
    const std::string& path;
    const Json& content;
    Report& report;

    /// The file is an object whose `key` is this text; anything else under the key is no match.
    bool says(const char* key, const char* text) const {
        const auto found = content.find(key);
        return content.is_object() && found != content.end() && *found == text;
    }
};

struct Format {
    const char* name;
    /// True when this format knows the file (by its `schema`, or its documented shape).
    bool (*knows)(const File&);
    void (*run)(const File&);
};

// One line per format family; the definitions are in the .cpp of that name.
#define KVCAP_GOLDEN_FORMAT(name) extern const Format name;
#include "formats.inc"
#undef KVCAP_GOLDEN_FORMAT

}  // namespace golden
