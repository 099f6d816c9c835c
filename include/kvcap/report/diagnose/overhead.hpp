// SPDX-License-Identifier: MIT
// What did everything but weights and cache take on a rank, as the user's own engine measured it? Activations,
// graphs and what the runtime holds, from the parts that the engine prints, else as the rest of its share.
#pragma once

#include <kvcap/report/diagnose/vllm_ranks.hpp>

namespace kvcap::inline v1::report {

/// how: the sum, in the log's words.
struct Overhead {
    double bytes = 0;
    std::string how;
};

namespace overhead {

/// The first sum whose parts are all known and that is not below zero.
inline std::optional<Overhead> first(std::initializer_list<Overhead> sums) {
    for (const Overhead& sum : sums) {
        if (known(sum.bytes) && sum.bytes >= 0) {
            return sum;
        }
    }
    return std::nullopt;
}

inline double or_zero(double value) {
    return known(value) ? value : 0;
}

inline std::optional<Overhead> vllm(const Diagnosis& on) {
    const double graphs = known(on["graph_actual_gib"]) ? on["graph_actual_gib"] : or_zero(on["graph_estimate_gib"]);
    const double weights = on["weights_gib"], peak = on["peak_activation_gib"];
    return first(
        {{(on["non_torch_gib"] + peak + graphs) * gib, "non-torch memory + peak activation + graphs"},
         {(on["consumed_gib"] - weights + peak + graphs) * gib, "consumed - weights + peak activation + graphs"},
         {(on["total_gib"] * on["gpu_memory_utilization"] - weights - on["available_kv_gib"]) * gib,
          "share of the card - weights - cache"}});
}

inline std::optional<Overhead> sglang(const Diagnosis& on) {
    const double pools = known(on["swa_pool_gb"])  ? on["swa_pool_gb"]
                         : known(on["k_size_gb"])  ? on["k_size_gb"] + on["v_size_gb"]
                         : known(on["kv_size_gb"]) ? on["kv_size_gb"]
                                                   : on["available_kv_gib"];
    const double states = or_zero(on["conv_state_gb"]) + or_zero(on["ssm_state_gb"]);
    return first(
        {{(on["avail_before_weights_gb"] - on["available_gpu_mem_gb"] - on["weights_gb"] - pools - states) * gib,
          "free before loading - free at the end - weights - pools"},
         {(on["avail_after_weights_gb"] - on["avail_after_pool_gb"] + on["graph_gb"] - pools - states) * gib,
          "free after weights - free after the pool - pools + graphs"}});
}

/// A line that a sum needs, and the facts it has.
struct NeededLine {
    std::string_view engine;
    std::string_view line;
    std::initializer_list<std::string_view> facts;
};

/// Of the shortest sum of each engine, in the order of its log.
inline std::string lacking(const LogStart& start) {
    static const NeededLine lines[] = {
        {"vllm", "the share (gpu_memory_utilization among the arguments)", {"gpu_memory_utilization"}},
        {"vllm", "the card's size ('Free memory on device (.../... GiB)')", {"total_gib"}},
        {"vllm", "'Model loading took ... GiB'", {"weights_gib"}},
        {"vllm", "'Available KV cache memory'", {"available_kv_gib"}},
        {"sglang", "'Load weight end. ... avail mem'", {"avail_after_weights_gb"}},
        {"sglang", "the pool ('KV Cache is allocated' or 'SWAKVPool')",
         {"swa_pool_gb", "k_size_gb", "kv_size_gb", "available_kv_gib"}},
        {"sglang", "'Memory pool end. avail mem'", {"avail_after_pool_gb"}},
        {"sglang", "'Capture cuda graph end ... mem usage'", {"graph_gb"}},
        {"tensorrt-llm", "'Memory usage when calculating max tokens ... total, available'", {"available_gib"}},
        {"tensorrt-llm", "'Loaded engine size'", {"engine_mib"}},
        {"llama.cpp", "'compute buffer size' of one device", {"compute_mib"}},
        {"ollama", "'compute buffer size' of one device", {"compute_mib"}},
    };
    const logs::Facts facts = vllm_log::with_least(start.facts);
    std::string out;
    for (const NeededLine& one : lines) {
        const bool there = std::any_of(one.facts.begin(), one.facts.end(),
                                       [&](std::string_view fact) { return facts.has(fact); });
        out += one.engine != start.engine || there ? "" : (out.empty() ? "" : ", ") + std::string{one.line};
    }
    return out;
}

}  // namespace overhead

inline std::optional<Overhead> overhead_of(const LogStart& start) {
    const logs::Facts facts = start.engine == "vllm" ? vllm_log::with_least(start.facts) : start.facts;
    const Diagnosis on{facts};
    if (start.engine == "vllm") {
        return overhead::vllm(on);
    }
    if (start.engine == "sglang") {
        return overhead::sglang(on);
    }
    if (start.engine == "tensorrt-llm") {
        return overhead::first(
            {{(on["total_gib"] - on["available_gib"]) * gib - on["engine_mib"] * mib, "total - available - engine"}});
    }
    return overhead::first({{on["compute_mib"] * mib, "compute buffer"}});
}

}  // namespace kvcap::inline v1::report
