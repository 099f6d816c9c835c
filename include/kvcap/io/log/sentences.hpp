// SPDX-License-Identifier: MIT
// Which sentences are looked for, and how far does one go? All engines' rules in one search; a sentence runs to the
// end of its line and over lines that were folded.
#pragma once

#include <kvcap/io/log/hits.hpp>
#include <kvcap/io/log/llamacpp_rules.hpp>
#include <kvcap/io/log/llamacpp_settle.hpp>
#include <kvcap/io/log/ollama.hpp>
#include <kvcap/io/log/plausible.hpp>
#include <kvcap/io/log/sglang_settle.hpp>
#include <kvcap/io/log/trtllm.hpp>
#include <kvcap/io/log/vllm_rules.hpp>
#include <kvcap/io/log/vllm_settle.hpp>

namespace kvcap::inline v1::logs {

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

inline void settle_family(Start& start) {
    switch (start.family) {
        case Family::vllm: return vllm::settle(start);
        case Family::sglang: return sglang::settle(start);
        case Family::llamacpp: return llamacpp::settle(start);
        case Family::trtllm: return trtllm::settle(start);
    }
}

/// What lines amount to; without the figures that cannot be, of a line alone or beside the others.
inline void settle(Start& start) {
    set_apart_odd(start);
    settle_family(start);
    set_apart_odd(start, start.facts);
    set_apart_contradictions(start);
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
    return text >= 2 && !rest.empty() && rest[0] != '[' && rest[0] != '\n' &&
           !(rest[0] == '(' && rest.find("pid=") != rest.npos);
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

}  // namespace kvcap::inline v1::logs
