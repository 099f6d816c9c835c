// SPDX-License-Identifier: MIT
// A deployment as a launch line describes it, and a line in the words that a shell would make of it.
#pragma once

#include <kvcap/units.hpp>
#include <map>
#include <optional>
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
/// several of one flag; SGLang's ep-size is among them where it is not what report::launch_line says by itself: all
/// tensor ranks under attention_dp, else 1. visible: devices that variables and docker let the server see; nothing:
/// all, or not said. tag: of the engine's image, where it may be a version and is not read as one.
struct Launch {
    std::string engine{};
    std::string version{};
    std::string tag{};
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
    std::optional<u32> visible{};
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

/// The end of a shell's line among its words, alone or with the comment that stands there.
inline constexpr char launch_end = '\x1e';

/// A line in words: blanks separate, '...' and "..." group, a backslash keeps the next character, "\" at a line's end
/// goes on. An end without one is a word, and so are ";" and a comment. quote: the one still open at the end, or 0.
class ShellWords {
public:
    explicit ShellWords(std::string_view line) : line_{line} {}

    std::vector<std::string> split(char& quote) {
        for (at_ = 0; at_ < line_.size(); ++at_) {
            take(line_[at_]);
        }
        finish();
        while (!words_.empty() && words_.back() == std::string{launch_end}) {
            words_.pop_back();
        }
        quote = quote_;
        return std::move(words_);
    }

private:
    void take(char c) {
        if (const std::size_t taken = c == '\\' ? escape_length(line_, at_, quote_) : 1; taken > 1) {
            at_ += taken - 1;
            if (line_[at_] != '\n') {
                put(line_[at_]);
            }
        } else if (quote_ != '\0') {
            quote_ == c ? static_cast<void>(quote_ = '\0') : put(c);
        } else if (c == '\'' || c == '"') {
            quote_ = c;
            open_ = true;
        } else if (c == '#' && !open_) {
            const std::size_t end = smaller(line_.find('\n', at_), line_.size());
            words_.push_back(launch_end + std::string{line_.substr(at_, end - at_)});
            at_ = end - 1;
        } else if (c == ' ' || c == '\t' || c == '\r') {
            finish();
        } else if (c == '\n' || c == ';') {
            finish();
            words_.emplace_back(1, c == ';' ? ';' : launch_end);
        } else {
            put(c);
        }
    }

    void put(char c) {
        word_.push_back(c);
        open_ = true;
    }

    void finish() {
        if (open_) {
            words_.push_back(std::move(word_));
        }
        word_.clear();
        open_ = false;
    }

    std::string_view line_;
    std::size_t at_ = 0;
    char quote_ = '\0';
    bool open_ = false;
    std::string word_;
    std::vector<std::string> words_;
};

inline std::vector<std::string> shell_words(std::string_view line, char& quote) {
    return ShellWords{line}.split(quote);
}

inline bool is_comment(std::string_view word) { return word.size() > 1 && word[0] == launch_end; }

/// Whether a command's words end here.
inline bool ends_command(std::string_view word) {
    return word == "&&" || word == "||" || word == "|" || word == ";" || word == "&" ||
           (!word.empty() && word[0] == launch_end);
}

/// A dash of another kind, as texts have it where '-' is meant.
inline bool begins_long_dash(std::string_view word) {
    return word.starts_with("\xe2\x80\x93") || word.starts_with("\xe2\x80\x94") || word.starts_with("\xe2\x88\x92");
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
