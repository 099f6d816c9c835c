// SPDX-License-Identifier: MIT
// What do vLLM's gathered lines amount to? Pools by rank and by engine, sizes from tags, why a start failed.
#pragma once

#include <kvcap/io/letters.hpp>
#include <kvcap/io/log/vllm.hpp>

namespace kvcap::inline v1::logs::vllm {

/// What the failures amount to: the last cause that was said, else what follows from how far the start came.
inline std::string failure(const Start& start) {
    for (auto at = start.failures.rbegin(); at != start.failures.rend(); ++at) {
        if (!at->category.empty()) {
            return at->category;
        }
    }
    const auto available = start.facts.number("available_kv_gib");
    if (start.has_ranked("capacity_tokens") || start.facts.has("pool_decided")) {
        return "failed_after_kv";
    }
    if (available && *available <= 0) {
        return "no_memory_for_kv";
    }
    // Sizes set by hand leave one check between the layout of the pool and its capacity line: one request must fit.
    const bool laid_out = start.facts.has("manual_kv_gib") && start.facts.has("padding_layers");
    return laid_out ? "max_len_exceeds_kv" : "unknown";
}

inline bool shortens(std::string_view name, std::string_view model) {
    const std::string_view base = model.substr(model.rfind('/') + 1);
    return name == model || io::same_letters(name, base.substr(0, name.size()));
}

inline void settle_pool(Start& start) {
    for (const std::string_view name : {"weights_gb", "weights_gib", "available_kv_gib", "free_gib"}) {
        settle_ranks(start, name, std::string{name} + "_by_rank", false);
    }
    const bool by_dp = std::any_of(start.ranked.begin(), start.ranked.end(), [](const Ranked& one) {
        return one.name == "capacity_tokens" && one.rank.starts_with("DP");
    });
    settle_ranks(start, "capacity_tokens", by_dp ? "capacity_by_dp" : "capacity_by_rank", false);
    settle_ranks(start, "concurrency", by_dp ? "concurrency_by_dp" : "concurrency_by_rank", false);
    if (const Datum* weights = start.facts.find("weights_used_gib"); weights != nullptr) {
        start.facts.offer("weights_gib", *weights);
    }
    for (const char* source : {"block_size_set", "block_size_metrics", "block_size_given", "kernel_block_size"}) {
        if (const Datum* block = start.facts.find(source)) {
            start.facts.offer("block_size", *block);
        }
    }
    if (const Datum* tokens = start.facts.find("capacity_tokens_metrics");
        tokens != nullptr && !start.has_ranked("capacity_tokens")) {
        start.facts.offer("capacity_tokens", *tokens);
    }
}

/// A second stage shows by the memory that bound the length, when the first one printed more.
inline void settle_stages(Start& start) {
    const Datum* binding = start.facts.find("available_kv_gib_binding");
    const Datum* printed = start.facts.find("available_kv_gib");
    const RankCount stages = count_ranks(start, &Ranks::pp);
    if (binding != nullptr && printed != nullptr && !same_value(*binding, *printed) && stages.highest == 0) {
        start.facts.offer("pp", integer(2, binding->line));
    }
}

inline void settle(Start& start) {
    settle_pool(start);
    settle_size(start, "tp", &Ranks::tp);
    settle_size(start, "pp", &Ranks::pp);
    settle_size(start, "dp", &Ranks::dp);
    settle_stages(start);
    for (const char* source : {"utilization_noted", "utilization_desired"}) {
        if (const Datum* share = start.facts.find(source)) {
            start.facts.offer("gpu_memory_utilization", *share);
        }
    }
    if (start.facts.has("served_name") && shortens(start.facts.text("served_name"), start.facts.text("model"))) {
        start.facts.drop("served_name");
    }
    if (start.facts.has("v1_words") || start.facts.has("v0_words")) {
        start.facts.put("generation", words(start.facts.has("v1_words") ? "v1" : "v0"));
    }
    if (!start.pids.empty()) {
        start.facts.put("worker_pids_seen", integer(static_cast<std::int64_t>(start.pids.size())));
    }
    if (!start.failures.empty()) {
        start.facts.put("error_category", words(failure(start), start.failures.back().line));
    }
}

}  // namespace kvcap::inline v1::logs::vllm
