// SPDX-License-Identifier: MIT
// What does a start-up log say? The engines found in it, each with its facts and the lines they came from. Text is fed in
// pieces of any size; memory does not grow with it. Nothing in a log is executed or fetched; control characters are not kept.
#pragma once

#include <kvcap/io/log/hits.hpp>
#include <kvcap/io/log/llamacpp_settle.hpp>
#include <kvcap/io/log/ollama.hpp>
#include <kvcap/io/log/sglang.hpp>
#include <kvcap/io/log/trtllm.hpp>
#include <kvcap/io/log/vllm_rules.hpp>

#include <istream>
#include <utility>

namespace kvcap::inline v1 {

/// engine: "vllm", "sglang", "llama.cpp", "ollama", "tensorrt-llm"; also a fact.
struct LogStart {
    std::string engine;
    std::string service;  ///< of a compose file, where lines name one
    logs::Facts facts;
};

struct LogReading {
    std::vector<LogStart> starts;
    u64 lines = 0;
    u64 bytes = 0;
};

namespace logs {

struct Sentence {
    Family family;
    const Rule* rule;
};

template <std::size_t N>
void add_rules(std::vector<Sentence>& all, Family family, const Rule (&rules)[N]) {
    for (const Rule& rule : rules) {
        all.push_back({family, &rule});
    }
}

inline const std::vector<Sentence>& sentences() {
    static const std::vector<Sentence> all = [] {
        std::vector<Sentence> list;
        add_rules(list, Family::vllm, vllm::rules);
        add_rules(list, Family::sglang, sglang::rules);
        add_rules(list, Family::llamacpp, llamacpp::rules);
        add_rules(list, Family::llamacpp, ollama::rules);
        add_rules(list, Family::trtllm, trtllm::rules);
        return list;
    }();
    return all;
}

inline const Stems& stems() {
    static const Stems all = [] {
        std::vector<std::string_view> stems;
        for (const Sentence& sentence : sentences()) {
            stems.push_back(sentence.rule->pattern.substr(0, Stems::length));
        }
        return Stems{stems};
    }();
    return all;
}

inline void settle(Start& start) {
    switch (start.family) {
        case Family::vllm: return vllm::settle(start);
        case Family::sglang: return sglang::settle(start);
        case Family::llamacpp: return llamacpp::settle(start);
        case Family::trtllm: return trtllm::settle(start);
    }
}

inline std::string engine_of(const Start& start) {
    switch (start.family) {
        case Family::vllm: return "vllm";
        case Family::sglang: return "sglang";
        case Family::llamacpp: return start.facts.has("ollama_words") ? "ollama" : "llama.cpp";
        case Family::trtllm: return "tensorrt-llm";
    }
    return {};
}

/// A line that goes on with what the line before began: indented, and no engine's own prefix in it.
inline bool continues(std::string_view line) noexcept {
    const std::size_t text = line.find_first_not_of(" \t");
    const std::string_view rest = text == line.npos ? std::string_view{} : line.substr(text, 40);
    return text >= 2 && !rest.empty() && rest[0] != '[' && rest[0] != '\n' && !(rest[0] == '(' && rest.find("pid=") != rest.npos);
}

/// Equal up to the pattern's first blank or hole behind the stem: most sentences that share a stem end here.
inline bool may_begin(std::string_view text, std::string_view pattern) noexcept {
    std::size_t i = Stems::length;
    while (i < pattern.size() && i < text.size() && pattern[i] != ' ' && pattern[i] != '{' && pattern[i] == text[i]) {
        ++i;
    }
    return i == pattern.size() || pattern[i] == ' ' || pattern[i] == '{';
}

/// `text` from `at` to the end of its line, and over at most eight folded lines; at most 16 KiB.
inline std::string_view sentence_at(std::string_view text, std::size_t at) noexcept {
    text = text.substr(0, std::min(text.size(), at + (std::size_t{1} << 14)));
    std::size_t end = std::min(text.find('\n', at), text.size());
    for (int folded = 0; folded < 8 && end < text.size() && continues(text.substr(end + 1, 256)); ++folded) {
        end = std::min(text.find('\n', end + 1), text.size());
    }
    return text.substr(at, end - at);
}

/// Where the line of `at` begins, or 1 KiB in front of it.
inline std::size_t line_begin(std::string_view text, std::size_t at) noexcept {
    const std::size_t from = at - std::min<std::size_t>(at, 1024);
    const std::size_t before = text.substr(from, at - from).rfind('\n');
    return before == text.npos ? from : from + before + 1;
}

}  // namespace logs

/// Feed pieces in order, then take the reading.
class LogReader {
public:
    void feed(std::string_view piece) {
        reading_.bytes += piece.size();
        while (!piece.empty()) {
            const std::size_t room = std::min(piece.size(), block - std::min(block, held_.size()));
            held_.append(piece.substr(0, room));
            piece.remove_prefix(room);
            if (held_.size() >= block) {
                scan(false);
            }
        }
    }

    LogReading finish() {
        scan(true);
        reading_.lines = line_;
        for (logs::Start& start : starts_) {
            logs::settle(start);
            LogStart out{logs::engine_of(start), start.service, std::move(start.facts)};
            out.facts.put("engine", logs::words(out.engine));
            if (start.runs > 1) {
                out.facts.put("several_runs", logs::flag(true));
                out.facts.put("runs", logs::integer(static_cast<std::int64_t>(start.runs)));
            }
            reading_.starts.push_back(std::move(out));
        }
        return std::move(reading_);
    }

private:
    static constexpr std::size_t block = std::size_t{1} << 20;
    static constexpr std::size_t overlap = std::size_t{1} << 14;  ///< a sentence may go on in the next block

    /// Lines that begin in front of `limit` are read now, the rest with the next block.
    std::size_t limit(bool last) const noexcept {
        const std::size_t end = last || held_.size() <= overlap ? held_.size() : held_.rfind('\n', held_.size() - overlap);
        return end == held_.npos ? held_.size() : std::min(end + 1, held_.size());
    }

    void scan(bool last) {
        const std::size_t stop = last ? held_.size() : limit(false);
        counted_ = 0;
        logs::stems().search(held_, [&](std::size_t at, std::size_t index) {
            if (at < stop) {
                read(at, logs::sentences()[index]);
            }
        });
        count_lines(stop);
        if (last && !held_.empty() && held_.back() != '\n') {
            ++line_;
        }
        held_.erase(0, stop);
    }

    void count_lines(std::size_t upto) {
        const char* end = held_.data() + upto;
        for (const char* at = held_.data() + counted_; at < end;) {
            const void* next = std::memchr(at, '\n', static_cast<std::size_t>(end - at));
            if (next == nullptr) {
                break;
            }
            at = static_cast<const char*>(next) + 1;
            ++line_;
        }
        counted_ = std::max(counted_, upto);
    }

    void read(std::size_t at, const logs::Sentence& sentence) {
        const std::string_view text = held_;
        if (!logs::may_begin(text.substr(at), sentence.rule->pattern) || (sentence.rule->keep == logs::Keep::tag && seen_tag(at, sentence.rule->pattern.size()))) {
            return;
        }
        const std::string_view said = logs::sentence_at(text, at);
        const auto words = logs::match(said, sentence.rule->pattern);
        if (!words) {
            return;
        }
        const std::size_t from = logs::line_begin(text, at);
        count_lines(at);
        logs::Hit hit{text.substr(from, at - from), said, line_ + 1, {}};
        hit.origin = logs::origin_of(hit.front.substr(0, 512));
        if (logs::Start* start = start_of(sentence, hit)) {
            ++start->hits;
            start->note(hit.origin.ranks);
            begin_again(*start, sentence);
            logs::apply(*sentence.rule, *start, hit, *words);
        }
    }

    /// The same tag behind the same first bytes of a line, since the last new start: a hash in a small table. which: tells
    /// rules of one stem apart.
    bool seen_tag(std::size_t at, u64 which) noexcept {
        const std::string_view text = held_;
        const std::size_t begin = logs::line_begin(text, at);
        u64 hash = 0xcbf29ce484222325u ^ which;
        for (const std::string_view part : {text.substr(begin, std::min<std::size_t>(12, at - begin)), text.substr(at, std::min<std::size_t>(text.substr(at, 40).find(')'), 40))}) {
            for (const char c : part) {
                hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
            }
        }
        u64& slot = tags_[hash >> 56];
        return std::exchange(slot, hash) == hash;
    }

    logs::Start* start_of(const logs::Sentence& sentence, const logs::Hit& hit) {
        for (logs::Start& start : starts_) {
            if (start.family == sentence.family && start.service == hit.origin.service) {
                return &start;
            }
        }
        if (sentence.rule->keep == logs::Keep::weak && sentence.rule->read != logs::vllm::read_banner) {
            return nullptr;
        }
        if (starts_.size() >= 64) {
            return nullptr;
        }
        logs::Start fresh;
        fresh.family = sentence.family;
        fresh.service = std::string{hit.origin.service};
        starts_.push_back(std::move(fresh));
        return &starts_.back();
    }

    /// A first line seen before, after results: another start in the same file. The last one counts.
    void begin_again(logs::Start& start, const logs::Sentence& sentence) {
        if (sentence.rule->keep != logs::Keep::begin) {
            return;
        }
        const u64 kind = u64{1} << (static_cast<u64>(sentence.rule - rules_of(sentence.family)) & 63);
        if (start.results && (start.begun & kind) != 0) {
            logs::Start fresh;
            fresh.family = start.family;
            fresh.service = start.service;
            fresh.runs = start.runs + 1;
            start = std::move(fresh);
            tags_ = {};
        }
        start.begun |= kind;
    }

    static const logs::Rule* rules_of(logs::Family family) noexcept {
        return family == logs::Family::vllm     ? logs::vllm::rules
               : family == logs::Family::sglang ? logs::sglang::rules
               : family == logs::Family::trtllm ? logs::trtllm::rules
                                                : logs::llamacpp::rules;
    }

    std::string held_;
    std::size_t counted_ = 0;
    u64 line_ = 0;
    std::array<u64, 256> tags_{};
    std::vector<logs::Start> starts_;
    LogReading reading_;
};

inline LogReading read_log(std::string_view text) {
    LogReader reader;
    reader.feed(text);
    return reader.finish();
}

inline LogReading read_log(std::istream& in) {
    LogReader reader;
    std::string piece(std::size_t{1} << 18, '\0');
    while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())) || in.gcount() > 0) {
        reader.feed(std::string_view{piece}.substr(0, static_cast<std::size_t>(in.gcount())));
    }
    return reader.finish();
}

}  // namespace kvcap::inline v1
