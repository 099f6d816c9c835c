// SPDX-License-Identifier: MIT
// Which arguments were given? Lists as Python and Prometheus print them: `key=value, ...`, `'key': value, ...`,
// `key="value",...`. Values may hold brackets, commas and equal signs inside quotes; the end may be cut off.
#pragma once

#include <kvcap/io/log/pattern.hpp>

namespace kvcap::inline v1::logs {

constexpr bool opens(char c) noexcept {
    return c == '(' || c == '[' || c == '{';
}
constexpr bool closes(char c) noexcept {
    return c == ')' || c == ']' || c == '}';
}

/// Length of the text in front of a top-level comma or of the bracket that closes the list.
constexpr std::size_t item_length(std::string_view text) noexcept {
    int depth = 0;
    char quote = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quote != 0) {
            i += c == '\\' ? 1u : 0u;
            quote = c == quote ? '\0' : quote;
        } else if (c == '\'' || c == '"') {
            quote = c;
        } else if (opens(c)) {
            ++depth;
        } else if (closes(c) && depth-- == 0) {
            return i;
        } else if (c == ',' && depth == 0) {
            return i;
        }
    }
    return text.size();
}

constexpr std::string_view trimmed(std::string_view text, std::string_view what = " \t\r\n") noexcept {
    const std::size_t begin = text.find_first_not_of(what);
    const std::size_t end = text.find_last_not_of(what);
    return begin == text.npos ? std::string_view{} : text.substr(begin, end - begin + 1);
}

/// Where the key of an item ends: at the first ':' or '=' outside quotes.
constexpr std::size_t key_length(std::string_view item) noexcept {
    char quote = 0;
    for (std::size_t i = 0; i < item.size(); ++i) {
        if (quote != 0) {
            quote = item[i] == quote ? '\0' : quote;
        } else if (item[i] == '\'' || item[i] == '"') {
            quote = item[i];
        } else if (item[i] == ':' || item[i] == '=') {
            return i;
        }
    }
    return item.size();
}

/// Calls take(key, value, whole) for each item up to the closing bracket; quotes around key and value are taken
/// off. A value that the text's end cut short is not whole.
template <class Take>
constexpr void each_argument(std::string_view text, Take&& take) {
    while (!text.empty()) {
        const std::size_t length = item_length(text);
        const std::string_view item = text.substr(0, length);
        const std::size_t key = key_length(item);
        if (key < item.size()) {
            take(trimmed(item.substr(0, key), " \t\r\n'\""), trimmed(item.substr(key + 1)), length < text.size());
        }
        if (length >= text.size() || closes(text[length])) {
            return;
        }
        text.remove_prefix(length + 1);
    }
}

constexpr std::string_view unquoted(std::string_view value) noexcept {
    const bool quoted = value.size() >= 2 && (value[0] == '\'' || value[0] == '"') && value.back() == value[0];
    return quoted ? value.substr(1, value.size() - 2) : value;
}

/// The text of a name, which may be of digits only: nothing where the value is None.
inline Datum name_of(std::string_view value, u64 line) {
    const std::string_view plain = unquoted(value);
    return plain.empty() || value == "None" || value == "null" ? Datum{} : words(plain, line);
}

/// Python's literals: None says nothing; True and False are flags; digits an integer; anything else keeps its
/// words.
inline Datum literal(std::string_view value, u64 line) {
    const std::string_view plain = unquoted(value);
    if (plain.empty() || plain == "None" || plain == "null") {
        return {};
    }
    if (plain == "True" || plain == "False" || plain == "true" || plain == "false") {
        return flag(plain[0] == 'T' || plain[0] == 't', line);
    }
    const bool counts = integer_length(plain) == plain.size() && integer_of(plain);
    return counts ? datum_of(plain, 'n', line) : words(plain, line);
}

}  // namespace kvcap::inline v1::logs
