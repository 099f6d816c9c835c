// SPDX-License-Identifier: MIT
// A deployment as a launch line describes it, and a line in the words that a shell would make of it.
#pragma once

#include <kvcap/units.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap::inline v1 {

inline constexpr char launch_values = '\x1f';

/// engine: vllm, sglang, llamacpp or trtllm. version: of a container's image, as its tag says; empty: none does.
/// servers: how many identical ones. sequences: of one rank that holds whole requests. no_split: the flag of a
/// split that its engine does not start, and what is wanted; empty: none. util: as written; budget: bytes; empty
/// when the line does not say. longer_allowed: a variable in front lets the engine take more tokens than the model
/// states. over_all: a line of llama.cpp that names no devices, "layer" or "tensor": it splits so over all that it
/// sees; empty: tp and pp say over how many. flags: the engine's other flags by long name without dashes, or as
/// written, with them, where that is no name of the engine's; switches have an empty value, and launch_values parts
/// several of one flag.
struct Launch {
    std::string engine{};
    std::string version{};
    std::string model{};
    u32 servers = 1;
    u32 tp = 1;
    u32 pp = 1;
    u32 cp = 1;
    u32 dp = 1;
    bool attention_dp = false;
    std::string no_split{};
    u64 tokens = 0;
    u64 sequences = 0;
    std::string dtype = "auto";
    std::string util{};
    std::string budget{};
    bool longer_allowed = false;
    std::string over_all{};
    std::map<std::string, std::string, std::less<>> flags{};
    friend bool operator==(const Launch&, const Launch&) = default;
};

/// How many characters a backslash at text[at] and what it escapes take: in "..." a shell lets it keep $ ` " \ and a
/// line's end alone; outside of quotes all. 1: it is a plain character.
constexpr std::size_t escape_length(std::string_view text, std::size_t at, char quote) noexcept {
    if (at + 1 >= text.size() || quote == '\'') {
        return 1;
    }
    const char next = text[at + 1];
    if (next == '\r' && at + 2 < text.size() && text[at + 2] == '\n') {
        return 3;
    }
    return quote == '\0' || next == '$' || next == '`' || next == '"' || next == '\\' || next == '\n' ? 2 : 1;
}

/// A line in words: blanks separate, '...' and "..." group, a backslash keeps the next character, "\" at a
/// line's end goes on. quote: the one that is still open at the end, or 0.
inline std::vector<std::string> shell_words(std::string_view line, char& quote) {
    std::vector<std::string> words;
    std::string word;
    bool open = false;
    quote = '\0';
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (const std::size_t taken = c == '\\' ? escape_length(line, i, quote) : 1; taken > 1) {
            i += taken - 1;
            if (line[i] != '\n') {
                word.push_back(line[i]);
                open = true;
            }
        } else if (quote != '\0') {
            quote == c ? static_cast<void>(quote = '\0') : word.push_back(c);
        } else if (c == '\'' || c == '"') {
            quote = c;
            open = true;
        } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
            if (open) {
                words.push_back(std::move(word));
            }
            word.clear();
            open = false;
        } else {
            word.push_back(c);
            open = true;
        }
    }
    if (open) {
        words.push_back(std::move(word));
    }
    return words;
}

/// "#" and "#2" alone: a quoted '#word' is no comment, and words do not tell whether they were quoted.
inline bool begins_comment(std::string_view word) {
    return word.starts_with('#') && word.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

/// Whether a command's words end here.
inline bool ends_command(std::string_view word) {
    return word == "&&" || word == "||" || word == "|" || word == ";" || word == "&" || begins_comment(word);
}

/// ">", "2>", "&>>", "<" before a file, ">file", "2>&1".
inline bool redirects(std::string_view word) {
    const std::size_t at = word.find_first_not_of("0123456789&");
    return at != std::string_view::npos && (word[at] == '<' || word[at] == '>');
}

inline std::vector<std::string> shell_words(std::string_view line) {
    char quote = '\0';
    return shell_words(line, quote);
}

}  // namespace kvcap::inline v1
