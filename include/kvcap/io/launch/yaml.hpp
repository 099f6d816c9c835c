// SPDX-License-Identifier: MIT
// Which files does a shell line write in front of its server, and what do their pairs say? TensorRT-LLM's cache
// settings stand in a YAML file: of that, the flow-style pairs that a printf before the line writes.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>
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

/// "key: value" of a file; in: the outermost key that it stands under, empty for those themselves.
struct YamlPair {
    std::string_view in;
    std::string_view key;
    std::string_view value;
};

/// Where the word that ends before `colon` begins; a printf's "\n" before it is no part of it.
inline std::size_t yaml_key_begin(std::string_view text, std::size_t colon) {
    std::size_t from = colon;
    while (from > 0 && (std::isalnum(static_cast<unsigned char>(text[from - 1])) != 0 || text[from - 1] == '_')) {
        --from;
    }
    return from + (from > 0 && from < colon && text[from - 1] == '\\' && text[from] == 'n' ? 1 : 0);
}

/// What stands behind a colon up to the pair's end, without blanks around it and quotes; null is nothing.
inline std::string_view yaml_value(std::string_view text, std::size_t colon) {
    const std::size_t from = std::min(text.find_first_not_of(' ', colon + 1), text.size());
    std::string_view value = text.substr(from, text.find_first_of(",}\n\\", from) - from);
    value = value.substr(0, value.find_last_not_of(' ') + 1);
    if (value.size() > 1 && value.front() == value.back() && (value[0] == '"' || value[0] == '\'')) {
        value = value.substr(1, value.size() - 2);
    }
    return value == "null" || value == "~" ? std::string_view{} : value;
}

inline std::vector<YamlPair> yaml_pairs(std::string_view text) {
    std::vector<YamlPair> pairs;
    std::string_view top;
    for (std::size_t colon = text.find(':'); colon != std::string_view::npos; colon = text.find(':', colon + 1)) {
        const std::size_t from = yaml_key_begin(text, colon);
        const std::string_view key = text.substr(from, colon - from);
        if (key.empty() || !begins_yaml_key(text, from)) {
            continue;
        }
        const bool outer = from == 0 || text[from - 1] == '\n' || text[from - 1] == 'n';
        pairs.push_back({outer ? std::string_view{} : top, key, yaml_value(text, colon)});
        top = outer ? key : top;
    }
    return pairs;
}

/// Settings that change no memory of caches, or that the reader takes without a field of their own.
inline constexpr std::string_view harmless_yaml[] = {
    "kv_cache_config",        "enable_attention_dp",     "speculative_config",  "cuda_graph_config", "moe_config",
    "print_iter_log",         "stream_interval",         "trust_remote_code",   "backend",           "attn_backend",
    "enable_iter_perf_stats", "num_postprocess_workers", "return_perf_metrics"};
inline constexpr std::string_view harmless_cache_yaml[] = {"enable_block_reuse", "enable_partial_reuse",
                                                           "copy_on_partial_reuse"};

/// Whether a pair that no field is read from changes no memory. Of other settings' own keys nothing is asked.
inline bool yaml_harmless(const YamlPair& pair) {
    const auto in = [&](const auto& known) {
        return std::find(std::begin(known), std::end(known), pair.key) != std::end(known);
    };
    return pair.in.empty() ? in(harmless_yaml) : pair.in != "kv_cache_config" || in(harmless_cache_yaml);
}

}  // namespace kvcap::inline v1::io
