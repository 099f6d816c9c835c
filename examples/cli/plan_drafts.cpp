// SPDX-License-Identifier: MIT
// What of a vLLM line's drafts is judged: those that come from the text itself (ngram, suffix), which have neither
// weights nor caches. Their number counts as that of any draft. Source: config/speculative.py SpeculativeConfig.
#include "plan_launch.hpp"
#include "unevaluated.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace kvcap::cli {

namespace {

constexpr std::string_view drafts_path = "speculative-config.";

/// What --speculative-config.key says: JSON, or a text. The reader has made dashes of a key's underscores.
void take_path(const std::string& name, const std::string& value, nlohmann::json& config) {
    std::string key = name.substr(drafts_path.size());
    std::replace(key.begin(), key.end(), '-', '_');
    const nlohmann::json read = nlohmann::json::parse(value, nullptr, false);
    config[key] = read.is_discarded() ? nlohmann::json(value) : read;
}

/// --speculative-config, whole or by its paths, or the flags that say the same.
nlohmann::json config_of(const Launch& launch) {
    const auto given = launch.flags.find("speculative-config");
    nlohmann::json config = nlohmann::json::object();
    if (given != launch.flags.end()) {
        config = nlohmann::json::parse(given->second, nullptr, false);
        if (!config.is_object()) {
            stop(Exit::usage,
                 fmt::format("launch line: --speculative-config: {} is none; wanted a JSON object", given->second));
        }
    }
    for (const auto& [name, value] : launch.flags) {
        if (name.starts_with(drafts_path)) {
            take_path(name, value, config);
        }
    }
    if (const auto method = launch.flags.find("spec-method"); method != launch.flags.end()) {
        config["method"] = method->second;
    }
    if (const auto tokens = launch.flags.find("spec-tokens"); tokens != launch.flags.end()) {
        config["num_speculative_tokens"] = count_of(tokens->second, "--spec-tokens");
    }
    return config;
}

u64 tokens_of(const nlohmann::json& config, const std::string& method) {
    constexpr u64 usual_depth = 24;
    const char* key = "num_speculative_tokens";
    if (method == "suffix" && !config.contains(key)) {
        key = "suffix_decoding_max_tree_depth";
        if (!config.contains(key)) {
            return usual_depth;
        }
    }
    const nlohmann::json said = config.contains(key) ? config[key] : nlohmann::json{};
    if (!said.is_number_unsigned() || said == 0u) {
        stop(Exit::usage, fmt::format("launch line: --speculative-config: {}: {}; wanted a whole number of at least 1",
                                      key, said.is_null() ? "not said" : said.dump()));
    }
    return said.get<u64>();
}

}  // namespace

void take_drafts(Launch& launch) {
    const bool given = launch.flags.count("speculative-config") + launch.flags.count("spec-method") +
                               launch.flags.count("spec-tokens") != 0 ||
                       std::any_of(launch.flags.begin(), launch.flags.end(),
                                   [](const auto& flag) { return flag.first.starts_with(drafts_path); });
    if (launch.engine != "vllm" || !given) {
        return;
    }
    const nlohmann::json config = config_of(launch);
    const nlohmann::json named = config.contains("method") ? config["method"] : nlohmann::json{};
    const std::string method = !named.is_string() ? "" : named == "[ngram]" ? "ngram" : named.get<std::string>();
    if (method != "ngram" && method != "suffix") {
        stop(Exit::usage, fmt::format("launch line: --speculative-config: {}", why::drafts));
    }
    launch.flags["num-speculative-tokens"] = std::to_string(tokens_of(config, method));
    launch.flags["spec-method"] = method;
    launch.flags.erase("speculative-config");
    std::erase_if(launch.flags, [](const auto& flag) { return flag.first.starts_with(drafts_path); });
    launch.flags.erase("spec-tokens");
}

}  // namespace kvcap::cli
