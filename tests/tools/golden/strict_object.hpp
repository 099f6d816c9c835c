// SPDX-License-Identifier: MIT
// A JSON object of a golden case of which every key must be read: a key nobody asked for is a failure, not a
// detail.
#pragma once

#include "runner.hpp"

#include <set>
#include <stdexcept>
#include <string>
#include <utility>

namespace golden {

class StrictObject {
public:
    explicit StrictObject(const Json& object) : object_{object} {
        if (!object.is_object()) {
            throw std::runtime_error("an object, not " + object.dump());
        }
    }

    bool has(const std::string& key) const {
        read_.insert(key);
        const auto at = object_.find(key);
        return at != object_.end() && !at->is_null();
    }
    const Json& at(const std::string& key) const {
        read_.insert(key);
        const auto found = object_.find(key);
        if (found == object_.end()) {
            throw std::runtime_error("the key " + key);
        }
        return *found;
    }
    template <class T>
    T get(const std::string& key) const {
        return at(key).get<T>();
    }
    /// Absent and null give `otherwise`.
    template <class T>
    T get(const std::string& key, T otherwise) const {
        return has(key) ? at(key).get<T>() : std::move(otherwise);
    }
    void ignore(const std::string& key) const { read_.insert(key); }

    std::string unread() const {
        std::string names;
        for (const auto& [key, value] : object_.items()) {
            names += read_.count(key) == 0 ? " " + key : "";
        }
        return names;
    }
    void done(const char* what) const {
        if (const std::string names = unread(); !names.empty()) {
            throw std::runtime_error(std::string{"no other keys in "} + what + ":" + names);
        }
    }

private:
    const Json& object_;
    mutable std::set<std::string> read_;
};

/// Runs one case; what it lacks or does not know becomes its failure.
template <class Run>
void run_case(const Json& one, Report& report, Run run) {
    report.begin(one.is_object() && one.contains("id") ? one["id"].dump() : one.dump());
    try {
        run(one);
    } catch (const std::exception& wrong) {
        report.fail("case", wrong.what(), "not so");
    }
    report.end();
}

/// A file that is an array of cases of one engine.
inline bool is_array_of(const File& file, const char* engine) {
    return file.content.is_array() && !file.content.empty() && file.content[0].is_object() &&
           file.content[0].value("engine", "") == engine;
}

}  // namespace golden
