// SPDX-License-Identifier: MIT
// Do a log's own figures agree? Each identity that an engine's printed numbers must obey, within their printed
// digits.
#pragma once

#include <kvcap/report/diagnose/finding.hpp>

namespace kvcap::inline v1::report {

/// printed: as in the log. low, high: what the other figures allow.
struct Check {
    std::string what;
    double printed = 0;
    double low = 0;
    double high = 0;
    std::vector<u64> lines{};

    bool agrees() const noexcept { return printed >= low && printed <= high; }
};

namespace checks {

inline void add(Diagnosis& on, std::vector<Check>& all, std::string_view fact, std::string what, double low,
                double high) {
    if (known(on[fact], low, high)) {
        const logs::Datum* datum = on.find(fact);
        all.push_back({std::move(what), on[fact], low, high, {}});
        if (datum->line != 0) {
            all.back().lines.push_back(datum->line);
        }
    }
}

inline void vllm(Diagnosis& on, std::vector<Check>& all) {
    const double blocks = on["gpu_blocks"], length = on["max_model_len"];
    if (on.text("generation") == "v0") {
        add(on, all, "concurrency", "concurrency is blocks x 16 / length", blocks * 16 / length - 0.0051,
            blocks * 16 / length + 0.0051);
        const double rest = on["budget_gib"] - on["weights_gib"] - on["non_torch_gib"] - on["peak_activation_gib"];
        add(on, all, "available_kv_gib", "the pool is the budget less weights, non-torch memory and activations",
            rest - 0.0251, rest + 0.0251);
    }
    add(on, all, "equivalent_utilization",
        "the share without graphs is below the share, unless the estimate is negative", -1,
        on["graph_estimate_gib"] < 0 ? 2 : on["gpu_memory_utilization"] + 0.00005);
    const double suggested = on["capacity_tokens_metrics"];
    add(on, all, "capacity_tokens", "log and metrics print the same tokens", suggested, suggested);
    const double block = on["block_size_metrics"];
    add(on, all, "block_size_set",
        "log and metrics print the same block size (vLLM until mid 2026 exports the least of all groups: vllm#51163)",
        block, block);
}

inline void sglang(Diagnosis& on, std::vector<Check>& all) {
    const double rate = on["bytes_per_full_token"], page = known(on["page_size"]) ? on["page_size"] : 1;
    const double rate_low = on.low("bytes_per_full_token"), rate_high = on.high("bytes_per_full_token");
    if (known(rate)) {
        add(on, all, "full_tokens", "tokens are the pool by bytes a token, in whole pages",
            on.low("available_kv_gib") * gib / rate_high - page, on.high("available_kv_gib") * gib / rate_low);
    }
    const double rest = on["profiled_available_gb"] - on["profiled_total_gb"] * (1 - on["profiled_fraction"]);
    add(on, all, "rest_memory_gb", "the rest is what is free less total x (1 - share)", rest - 0.0151, rest + 0.0151);
    const double total = on["avail_before_weights_gb"] - on["avail_after_weights_gb"];
    add(on, all, "weights_gb", "weights are what loading took", total - 0.0151, total + 0.0151);
}

inline void trtllm(Diagnosis& on, std::vector<Check>& all) {
    const double tokens = on["primary_blocks"] * on["tokens_per_block"];
    if (!on.has("phases")) {
        add(on, all, "capacity_tokens", "tokens are blocks x tokens a block", tokens, tokens);
    }
    add(on, all, "kv_gib", "the pool is at most what is free", 0, on.high("available_gib"));
}

inline void llamacpp(Diagnosis& on, std::vector<Check>& all) {
    const double sum = on["k_mib"] + on["v_mib"];
    add(on, all, "kv_mib", "the cache is K and V", sum - 0.0151, sum + 0.0151);
    const double buffer = on["kv_buffer_mib"];
    add(on, all, "kv_mib", "the buffer holds the cache", 0, buffer + 0.0051);
}

}  // namespace checks

inline std::vector<Check> checks_of(const LogStart& start) {
    Diagnosis on{start.facts};
    std::vector<Check> all;
    if (start.engine == "vllm") {
        checks::vllm(on, all);
    } else if (start.engine == "sglang") {
        checks::sglang(on, all);
    } else if (start.engine == "tensorrt-llm") {
        checks::trtllm(on, all);
    } else {
        checks::llamacpp(on, all);
    }
    return all;
}

}  // namespace kvcap::inline v1::report
