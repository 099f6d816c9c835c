// SPDX-License-Identifier: MIT
// Which files does a shell line write in front of its server, and what do their pairs say? TensorRT-LLM's cache
// settings stand in a YAML file: of that, the flow-style pairs that a printf before the line writes.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap::inline v1::io {

/// Texts by file of each "printf TEXT > FILE" in front of words[before]; >> appends.
inline std::map<std::string, std::string, std::less<>> printed_files(const std::vector<std::string>& words,
                                                                     std::size_t before) {
    std::map<std::string, std::string, std::less<>> files;
    for (std::size_t i = 0; i + 1 < before; ++i) {
        std::size_t to = i + 2;
        while (to < before && !words[to].starts_with('>')) {
            ++to;
        }
        if (words[i] != "printf" || to >= before) {
            continue;
        }
        const std::size_t name = words[to].find_first_not_of('>');
        const bool apart = name == std::string::npos && to + 1 < before;
        std::string& text = files[apart ? words[to + 1] : words[to].substr(name == std::string::npos ? 1 : name)];
        text = (words[to].starts_with(">>") ? text : "") + words[to - 1];
    }
    return files;
}

/// Whether every brace and bracket outside of double quotes is closed by its own kind.
inline bool yaml_closed(std::string_view text) {
    std::string open;
    bool quoted = false;
    for (const char c : text) {
        quoted = quoted != (c == '"');
        if (!quoted && (c == '{' || c == '[')) {
            open.push_back(c == '{' ? '}' : ']');
        } else if (!quoted && (c == '}' || c == ']')) {
            if (open.empty() || open.back() != c) {
                return false;
            }
            open.pop_back();
        }
    }
    return open.empty() && !quoted;
}

/// Whether a key may begin at `at`: at the start, behind a blank, a brace, or a line's end (also as printf has it).
inline bool begins_yaml_key(std::string_view text, std::size_t at) {
    if (at == 0 || at == std::string_view::npos) {
        return at == 0;
    }
    const char before = text[at - 1];
    return before == ' ' || before == '{' || before == '\n' || (before == 'n' && at > 1 && text[at - 2] == '\\');
}

/// The value of "key: value"; empty without one.
inline std::string yaml_value(std::string_view text, std::string_view key) {
    const std::size_t found = text.find(std::string{key} + ": ");
    if (!begins_yaml_key(text, found)) {
        return {};
    }
    const std::size_t from = found + key.size() + 2;
    const std::string_view value = text.substr(from, text.find_first_of(",}\n\\", from) - from);
    return std::string{value.substr(0, value.find_last_not_of(' ') + 1)};
}

}  // namespace kvcap::inline v1::io
