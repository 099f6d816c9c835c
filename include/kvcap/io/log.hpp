// SPDX-License-Identifier: MIT
// What does a start-up log say? The engines found in it, each with its facts and the lines they came from. Text is
// fed in pieces of any size; memory does not grow with it. Nothing in a log is executed or fetched; control
// characters are not kept.
#pragma once

#include <kvcap/io/log/sentences.hpp>

#include <istream>
#include <utility>

namespace kvcap::inline v1 {

/// engine: "vllm", "sglang", "llama.cpp", "ollama", "tensorrt-llm"; also a fact.
struct LogStart {
    std::string engine;
    std::string service;  ///< of a compose file, where lines name one
    logs::Facts facts;
    std::vector<logs::Unusable> unusable{};  ///< figures that cannot be; no fact is made of them
    std::vector<logs::Ranked> ranked{};      ///< what each rank printed for itself, before it was put together
};

struct LogReading {
    std::vector<LogStart> starts;
    u64 lines = 0;
    u64 bytes = 0;
};

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
            LogStart out{logs::engine_of(start), start.service, std::move(start.facts), std::move(start.unusable),
                         std::move(start.ranked)};
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
        const std::size_t end =
            last || held_.size() <= overlap ? held_.size() : held_.rfind('\n', held_.size() - overlap);
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
        if (!logs::may_begin(text.substr(at), sentence.rule->pattern) ||
            (sentence.rule->keep == logs::Keep::tag && seen_tag(at, sentence.rule->pattern.size()))) {
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

    /// The same tag behind the same first bytes of a line, since the last new start: a hash in a small table.
    /// which: tells rules of one stem apart.
    bool seen_tag(std::size_t at, u64 which) noexcept {
        const std::string_view text = held_;
        const std::size_t begin = logs::line_begin(text, at);
        u64 hash = 0xcbf29ce484222325u ^ which;
        for (const std::string_view part :
             {text.substr(begin, std::min<std::size_t>(12, at - begin)),
              text.substr(at, std::min<std::size_t>(text.substr(at, 40).find(')'), 40))}) {
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
