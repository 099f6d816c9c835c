// SPDX-License-Identifier: MIT
// What did everything but weights and cache take of a rank's share, as the user's own engine measured it? Activations,
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

/// SGLang takes its share of what is free before loading, and keeps activations and graphs outside of it: what the
/// weights' line does not say of loading, and that share of the part of `total` that was not free. Amounts have two
/// digits behind the point.
inline std::optional<Overhead> sglang(const Diagnosis& on, double total) {
    const bool profiled = known(on["profiled_total_gb"], on["profiled_available_gb"]);
    const double before = profiled ? on["profiled_total_gb"] : on["avail_before_weights_gb"];
    const double after = profiled ? on["profiled_available_gb"] : on["avail_after_weights_gb"];
    const double beside = before - after - on["weights_gb"];
    const double taken = known(on["mem_fraction_static"]) ? (total / gib - before) * on["mem_fraction_static"] : 0;
    const bool shared = taken > 0;
    const double rounded = beside > -0.02 && beside < 0.02 ? 0 : beside;
    return first({{(rounded + (shared ? taken : 0)) * gib,
                   std::string{"free before loading - free after it - weights"} +
                       (shared ? " + the share of what was not free before" : "")}});
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
        {"sglang", "'Load weight begin. avail mem'", {"avail_before_weights_gb", "profiled_total_gb"}},
        {"sglang", "'Load weight end. ... avail mem'", {"avail_after_weights_gb", "profiled_available_gb"}},
        {"sglang", "'Load weight end. ... mem usage'", {"weights_gb"}},
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

/// total: bytes of the device that it is asked for; not a number: the log's own.
inline std::optional<Overhead> overhead_of(const LogStart& start, double total = std::nan("")) {
    const logs::Facts facts = start.engine == "vllm" ? vllm_log::with_least(start.facts) : start.facts;
    const Diagnosis on{facts};
    if (start.engine == "vllm") {
        return overhead::vllm(on);
    }
    if (start.engine == "sglang") {
        return overhead::sglang(on, total);
    }
    if (start.engine == "tensorrt-llm") {
        return overhead::first(
            {{(on["total_gib"] - on["available_gib"]) * gib - on["engine_mib"] * mib, "total - available - engine"}});
    }
    return overhead::first({{on["compute_mib"] * mib, "compute buffer"}});
}

}  // namespace kvcap::inline v1::report
