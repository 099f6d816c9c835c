// SPDX-License-Identifier: MIT
// Which files does a shell line write in front of its server, and what of TensorRT-LLM's options do they say?
#pragma once

#include <algorithm>
#include <iterator>
#include <kvcap/io/diagnosis.hpp>
#include <kvcap/io/launch/flags.hpp>
#include <kvcap/io/launch/yaml.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap::inline v1::io {

using PrintedFiles = std::map<std::string, std::string, std::less<>>;

/// A printf's format, each %s of it one of the words; formats without one are the text. \n, \t, %% are what they are.
inline std::string printed(const std::string& format, const std::vector<std::string>& words) {
    std::string text;
    std::size_t next = 0;
    do {
        for (std::size_t i = 0; i < format.size(); ++i) {
            const std::string_view two = std::string_view{format}.substr(i, 2);
            const bool pair = two == "%s" || two == "%%" || two == "\\n" || two == "\\t" || two == "\\\\";
            text += two == "%s"    ? (next < words.size() ? words[next++] : "")
                    : two == "%%"  ? "%"
                    : two == "\\n" ? "\n"
                    : two == "\\t" ? "\t"
                                   : std::string(1, format[i]);
            i += pair ? 1 : 0;
        }
    } while (next < words.size() && format.find("%s") != std::string::npos);
    return text;
}

/// Texts by file of each "printf FORMAT WORD ... > FILE" in front of words[before]; >> appends.
inline PrintedFiles printed_files(const std::vector<std::string>& words, std::size_t before) {
    PrintedFiles files;
    for (std::size_t i = 0; i + 1 < before; ++i) {
        if (words[i] != "printf") {
            continue;
        }
        const std::size_t command = i++;
        while (i < before && !words[i].starts_with('>') && !ends_command(words[i])) {
            ++i;
        }
        const std::size_t to = i;
        if (to < command + 2 || to >= before || !words[to].starts_with('>')) {
            continue;
        }
        const std::size_t name = words[to].find_first_not_of('>');
        const bool apart = name == std::string::npos && to + 1 < before;
        std::string& text = files[apart ? words[to + 1] : words[to].substr(name == std::string::npos ? 1 : name)];
        const auto at = [&](std::size_t index) { return words.begin() + static_cast<std::ptrdiff_t>(index); };
        text = (words[to].starts_with(">>") ? text : "") + printed(words[command + 1], {at(command + 2), at(to)});
    }
    return files;
}

/// Settings that change no memory of caches, or that are read without a field of their own.
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

/// The field that a pair says; `ignored` for others.
inline LaunchField field_of(const YamlPair& pair) {
    const auto same = [&](const TrtllmSetting& each) { return each.in == pair.in && each.key == pair.key; };
    const auto found = std::find_if(std::begin(trtllm_settings), std::end(trtllm_settings), same);
    return found == std::end(trtllm_settings) ? LaunchField::ignored : found->field;
}

/// The flag by which a pair is kept; empty for others.
inline std::string flag_of(const YamlPair& pair) {
    const auto same = [&](const TrtllmKey& each) { return each.in == pair.in && each.key == pair.key; };
    const auto found = std::find_if(std::begin(trtllm_keys), std::end(trtllm_keys), same);
    return found == std::end(trtllm_keys) ? "" : std::string{found->flag};
}

/// "true" or "false" as YAML 1.1 writes them; empty for other words.
inline std::string_view yaml_switch(std::string_view word) {
    for (const std::string_view yes : {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"}) {
        if (word == yes) {
            return "true";
        }
    }
    for (const std::string_view no : {"", "false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"}) {
        if (word == no) {
            return "false";
        }
    }
    return {};
}

}  // namespace kvcap::inline v1::io
