// SPDX-License-Identifier: MIT
// How is a request trace read? Line by line, checked against itself: one format, one block size, as many ids as the
// prompt has blocks (all, the partial one too, in Mooncake's and Bailian's traces; whole ones in LMCache's).
#pragma once

#include <fstream>
#include <istream>
#include <kvcap/io/trace/line.hpp>
#include <kvcap/store/trace/requests.hpp>
#include <memory>
#include <string_view>
#include <unordered_map>

namespace kvcap::inline v1 {

/// block_tokens: 0 means as the format has it: Mooncake 512, Bailian 16, LMCache's lines say. model: of an LMCache
/// trace with several, the one to keep; empty keeps all, apart.
struct TraceOptions {
    TraceFormat format = TraceFormat::any;
    u64 block_tokens = 0;
    std::string model;
};

constexpr const char* name_of(TraceFormat format) noexcept {
    switch (format) {
        case TraceFormat::mooncake: return "mooncake";
        case TraceFormat::bailian: return "bailian";
        case TraceFormat::lmcache: return "lmcache";
        case TraceFormat::any: break;
    }
    return "any";
}

class TraceReader {
public:
    explicit TraceReader(TraceOptions options = {}) : options_{std::move(options)}, format_{options_.format} {
        trace_.block_tokens = options_.block_tokens;
    }

    /// Adds one line; blank ones are passed over. A problem names the line.
    std::optional<Problem> add(std::string_view text) {
        ++number_;
        if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
            return std::nullopt;
        }
        line_.clear();
        std::optional<Problem> problem;
        if (format_ == TraceFormat::lmcache || !io::FlatScanner{text}.mooncake(line_)) {
            problem = io::read_trace_line(text, line_);
        }
        problem = problem ? problem : accept();
        if (problem) {
            problem->where = placed(problem->where);
        }
        return problem;
    }

    Diagnosed<Trace> finish() {
        if (trace_.requests.empty()) {
            return Problem{Trouble::invalid, {}, "a trace without requests", "one request a line", {}};
        }
        const auto earlier = [](const TraceRequest& a, const TraceRequest& b) {
            return a.at != b.at ? a.at < b.at : a.first < b.first;  // lines of one time stay in their order
        };
        const bool sorted = std::is_sorted(trace_.requests.begin(), trace_.requests.end(), earlier);
        if (!sorted) {
            std::sort(trace_.requests.begin(), trace_.requests.end(), earlier);
        }
        trace_.distinct = intern_.distinct();
        Diagnosed<Trace> read{std::move(trace_)};
        read.notes.push_back({Origin::derived, {}, std::string{name_of(format_)} + " trace, blocks of " +
                                                       std::to_string(read->block_tokens) + " tokens"});
        if (several_) {
            read.notes.push_back({Origin::derived, "/model_name", "requests of several models, which share no blocks"});
        }
        if (!sorted) {
            read.notes.push_back({Origin::derived, "/timestamp", "requests were put in the order of their timestamps"});
        }
        return read;
    }

    TraceFormat format() const noexcept { return format_; }

private:
    /// The place in the file of a place in the line, which the JSON reader calls "line 1 (byte 7)".
    std::string placed(const std::string& within) const {
        constexpr std::string_view only_line = "line 1 ";
        const std::string line = "line " + std::to_string(number_);
        const bool in_text = within.rfind(only_line, 0) == 0;
        return within.empty() ? line
               : in_text      ? line + within.substr(only_line.size() - 1)
                              : line + ": " + within;
    }

    std::optional<Problem> accept() {
        if (format_ == TraceFormat::any) {
            format_ = line_.format;
        }
        if (line_.format != format_) {
            return Problem{Trouble::invalid, {}, std::string{"a line of a "} + name_of(line_.format) + " trace",
                           std::string{"a "} + name_of(format_) + " trace, as before", {}};
        }
        if (format_ != TraceFormat::lmcache && !options_.model.empty()) {
            return Problem{Trouble::invalid, {}, std::string{"a "} + name_of(format_) + " trace",
                           "an LMCache trace, whose lines name their model", "leave the trace's model out"};
        }
        if (format_ == TraceFormat::lmcache && !options_.model.empty() && line_.model != options_.model) {
            return std::nullopt;
        }
        if (std::optional<Problem> problem = agree_on_block()) {
            return problem;
        }
        const u64 given = line_.ids.size() + line_.hashes.size();
        const bool whole_only = format_ == TraceFormat::lmcache;
        const u64 wanted =
            whole_only ? line_.tokens / trace_.block_tokens : ceil_div(line_.tokens, trace_.block_tokens);
        if (given != wanted) {
            return Problem{Trouble::invalid, whole_only ? "/chunk_hashes" : "/hash_ids", std::to_string(given) + " ids",
                           std::to_string(wanted) + ", one for each " + std::to_string(trace_.block_tokens) + " of " +
                               std::to_string(line_.tokens) + " tokens", "set the block size if it is another"};
        }
        if (trace_.ids.size() + given > 0xffff'fff0) {
            return Problem{Trouble::unreadable, {}, "more than 4,294,967,280 block references", "a shorter trace", {}};
        }
        trace_.requests.push_back({line_.tokens, trace_.ids.size(), static_cast<u32>(given), line_.at});
        append();
        return std::nullopt;
    }
    std::optional<Problem> agree_on_block() {
        u64& block = trace_.block_tokens;
        if (block == 0) {
            block = format_ == TraceFormat::mooncake ? 512 : format_ == TraceFormat::bailian ? 16 : line_.chunk;
        }
        if (block == 0) {
            return Problem{Trouble::invalid, "/chunk_size", "nothing", "the tokens of a chunk", {}};
        }
        if (line_.chunk != 0 && line_.chunk != block) {
            return Problem{Trouble::invalid, "/chunk_size", std::to_string(line_.chunk),
                           std::to_string(block) + ", as before", {}};
        }
        return std::nullopt;
    }
    /// No model finds another's blocks: LMCache's keys have its name.
    void append() {
        model_ = model_ ? model_ : std::optional{line_.model};
        const bool first = *model_ == line_.model;
        several_ = several_ || !first;
        const std::string of_model = first ? std::string{} : line_.model + '\0';
        for (const u64 id : line_.ids) {
            intern_.prefetch(id);
        }
        for (const u64 id : line_.ids) {
            trace_.ids.push_back(first ? intern_(id) : named(of_model + std::to_string(id)));
        }
        for (std::string& hash : line_.hashes) {
            trace_.ids.push_back(named(first ? std::move(hash) : of_model + hash));
        }
    }

    u32 named(std::string hash) {
        const u64 next = ~u64{names_.size()};  // away from ids that are numbers
        return intern_(names_.emplace(std::move(hash), next).first->second);
    }

    std::optional<std::string> model_;  ///< of the first line
    bool several_ = false;
    TraceOptions options_;
    TraceFormat format_;
    Trace trace_;
    TraceLine line_;
    Interner intern_;
    std::unordered_map<std::string, u64> names_;
    u64 number_ = 0;
};

/// All lines of a stream; of one that is longer than a line may be, no more is read. pre: `in` is open
inline Diagnosed<Trace> read_trace(std::istream& in, const TraceOptions& options = {}) {
    constexpr std::streamsize longest = static_cast<std::streamsize>(JsonLimits{}.bytes) + 1;
    const std::unique_ptr<char[]> buffer{new char[longest + 1]};  // its pages are used as lines need them
    TraceReader reader{options};
    for (u64 number = 1; !in.eof(); ++number) {
        in.getline(buffer.get(), longest + 1);
        const std::streamsize got = in.gcount();
        if (got == 0) {
            break;
        }
        if (in.fail()) {
            return Problem{Trouble::unreadable, "line " + std::to_string(number), "more than 16 MiB",
                           "one request a line", {}};
        }
        const std::streamsize size = got - (in.eof() ? 0 : 1);  // less the line's end
        if (auto problem = reader.add({buffer.get(), static_cast<std::size_t>(size)})) {
            return *std::move(problem);
        }
    }
    return reader.finish();
}

inline Diagnosed<Trace> read_trace_file(const std::string& path, const TraceOptions& options = {}) {
    std::ifstream in{path, std::ios::binary};
    if (!in) {
        return Problem{Trouble::unreadable,
                       path,
                       "no such file, or not readable",
                       "a trace, one JSON object a line",
                       {}};
    }
    Diagnosed<Trace> read = read_trace(in, options);
    if (!read) {
        read.error = io::in_file(path, *std::move(read.error));
    }
    return read;
}

}  // namespace kvcap::inline v1
