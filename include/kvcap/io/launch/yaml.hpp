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

/// Settings that are read, or that change no memory of caches: of the file itself, and of its kv_cache_config.
inline constexpr std::string_view known_yaml[] = {
    "kv_cache_config",    "enable_attention_dp", "speculative_config", "cuda_graph_config", "moe_config",
    "print_iter_log",     "stream_interval",     "trust_remote_code",  "backend",           "attn_backend",
    "enable_iter_perf_stats", "num_postprocess_workers", "return_perf_metrics"};
inline constexpr std::string_view known_cache_yaml[] = {
    "dtype",           "free_gpu_memory_fraction", "max_gpu_total_bytes",  "tokens_per_block",     "max_tokens",
    "host_cache_size", "enable_block_reuse",       "enable_partial_reuse", "copy_on_partial_reuse"};

/// Keys of the file that nobody read, and those of its kv_cache_config: "max_batch_size".
inline std::vector<std::string> unread_yaml(std::string_view text) {
    const auto in = [](const auto& known, std::string_view key) {
        return std::find(std::begin(known), std::end(known), key) != std::end(known);
    };
    std::vector<std::string> unread;
    std::string_view top;
    for (std::size_t colon = text.find(':'); colon != std::string_view::npos; colon = text.find(':', colon + 1)) {
        std::size_t from = colon;
        while (from > 0 && (std::isalnum(static_cast<unsigned char>(text[from - 1])) != 0 || text[from - 1] == '_')) {
            --from;
        }
        from += from > 0 && text[from - 1] == '\\' && text[from] == 'n' ? 1 : 0;  // printf's line end
        const std::string_view key = text.substr(from, colon - from);
        if (key.empty() || !begins_yaml_key(text, from)) {
            continue;
        }
        const bool outer = from == 0 || text[from - 1] == '\n' || text[from - 1] == 'n';
        top = outer ? key : top;
        if (outer ? !in(known_yaml, key) : top == "kv_cache_config" && !in(known_cache_yaml, key)) {
            unread.emplace_back(key);
        }
    }
    return unread;
}

}  // namespace kvcap::inline v1::io
