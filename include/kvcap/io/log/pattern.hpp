// SPDX-License-Identifier: MIT
// Does a line say this sentence, and which values? A pattern is the engine's sentence with holes: {n} an integer
// (with or without separators of thousands), {d} a decimal, {w} a word, {q} up to a quote. A blank stands for
// blanks and line ends, as many as there are (none counts too: logs are folded and padded); {*} skips to the next
// piece.
#pragma once

#include <kvcap/io/log/datum.hpp>

#include <array>

namespace kvcap::inline v1::logs {

constexpr bool blank(char c) noexcept {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
constexpr bool digit(char c) noexcept {
    return c >= '0' && c <= '9';
}
constexpr bool ends_word(char c) noexcept {
    return blank(c) || c == ',' || c == ';' || c == ')' || c == '"' || c == '\'' || c == '`' || c == '(';
}

/// What the holes of a pattern held, in order.
struct Words {
    std::array<std::string_view, 8> at{};
    std::array<char, 8> kind{};
    std::size_t size = 0;
    std::string_view rest{};  ///< behind the last piece
};

constexpr std::size_t digits_at(std::string_view text, std::size_t i) noexcept {
    std::size_t n = 0;
    while (i + n < text.size() && digit(text[i + n])) {
        ++n;
    }
    return n;
}

/// Length of the integer at the front; "1,226,636" is one.
constexpr std::size_t integer_length(std::string_view text) noexcept {
    const std::size_t sign = !text.empty() && text[0] == '-' ? 1 : 0;
    std::size_t n = digits_at(text, sign);
    if (n == 0) {
        return 0;
    }
    std::size_t end = sign + n;
    while (n <= 3 && end < text.size() && text[end] == ',' && digits_at(text, end + 1) == 3) {
        end += 4;
    }
    return end;
}

/// Length of the decimal at the front; a comma may be the point.
constexpr std::size_t decimal_length(std::string_view text) noexcept {
    const std::size_t sign = !text.empty() && text[0] == '-' ? 1 : 0;
    const std::size_t whole = digits_at(text, sign);
    if (whole == 0) {
        return 0;
    }
    const std::size_t end = sign + whole;
    const bool point = end < text.size() && (text[end] == '.' || text[end] == ',');
    const std::size_t fraction = point ? digits_at(text, end + 1) : 0;
    return fraction == 0 ? end : end + 1 + fraction;
}

constexpr std::size_t value_length(std::string_view text, char kind) noexcept {
    if (kind == 'n') {
        return integer_length(text);
    }
    if (kind == 'd') {
        return decimal_length(text);
    }
    std::size_t n = 0;
    while (n < text.size() &&
           (kind == 'q' ? text[n] != '\'' && text[n] != '"' && text[n] != '\n' : !ends_word(text[n]))) {
        ++n;
    }
    while (kind == 'w' && n > 0 && (text[n - 1] == '.' || text[n - 1] == ':')) {
        --n;
    }
    return n;
}

constexpr void skip_blanks(std::string_view& text) noexcept {
    while (!text.empty() && blank(text[0])) {
        text.remove_prefix(1);
    }
}

constexpr bool match(std::string_view text, std::string_view pattern, Words& words) noexcept;

constexpr bool match_behind(std::string_view text, std::string_view pattern, Words& words) noexcept {
    for (std::size_t i = 0; i < text.size() && i < 2048; ++i) {
        Words further = words;
        if (match(text.substr(i), pattern, further)) {
            words = further;
            return true;
        }
    }
    return false;
}

/// Matches at the front of the text; the words found so far are kept.
constexpr bool match(std::string_view text, std::string_view pattern, Words& words) noexcept {
    while (!pattern.empty()) {
        const bool hole = pattern.size() >= 3 && pattern[0] == '{' && pattern[2] == '}';
        if (hole && pattern[1] == '*') {
            return match_behind(text, pattern.substr(3), words);
        }
        if (hole) {
            skip_blanks(text);
            const std::size_t length = value_length(text, pattern[1]);
            if (length == 0 || words.size == words.at.size()) {
                return false;
            }
            words.kind[words.size] = pattern[1];
            words.at[words.size++] = text.substr(0, length);
            text.remove_prefix(length);
            pattern.remove_prefix(3);
            continue;
        }
        if (pattern[0] == ' ') {
            skip_blanks(text);
        } else if (text.empty() || text[0] != pattern[0]) {
            return false;
        } else {
            text.remove_prefix(1);
        }
        pattern.remove_prefix(1);
    }
    words.rest = text;
    return true;
}

inline std::optional<Words> match(std::string_view text, std::string_view pattern) {
    Words words;
    return match(text, pattern, words) ? std::optional{words} : std::nullopt;
}

/// The first place where the pattern stands.
inline std::optional<Words> seek(std::string_view text, std::string_view pattern) {
    Words words;
    return match_behind(text, pattern, words) ? std::optional{words} : std::nullopt;
}

/// nullopt beyond 18 digits.
constexpr std::optional<std::int64_t> integer_of(std::string_view text) noexcept {
    std::int64_t value = 0;
    std::size_t digits = 0;
    for (const char c : text) {
        if (!digit(c)) {
            continue;
        }
        if (++digits > 18) {
            return std::nullopt;
        }
        value = value * 10 + (c - '0');
    }
    return digits == 0 ? std::nullopt : std::optional{!text.empty() && text[0] == '-' ? -value : value};
}

/// {n} gives an integer, or its digits where no integer holds them; {d} keeps its digits, with a point.
inline Datum datum_of(std::string_view text, char kind, u64 line) {
    if (kind == 'n') {
        if (const auto value = integer_of(text)) {
            return integer(*value, line);
        }
        Datum digits = words(text, line);
        std::erase(digits.words, ',');
        return digits;
    }
    Datum datum = words(text, line);
    if (kind == 'd') {
        for (char& c : datum.words) {
            c = c == ',' ? '.' : c;
        }
    }
    return datum;
}

}  // namespace kvcap::inline v1::logs
