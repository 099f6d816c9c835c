// SPDX-License-Identifier: MIT
// Is a stored prefix worth loading, and what else wants the link? Break-even bandwidth = bytes of the prefix
// / seconds of recomputing it. Expert traffic per token = MoE layers x experts per token x hidden x (dispatch
// + combine bytes).
#pragma once

#include <kvcap/roofline/decode.hpp>

namespace kvcap::inline v1 {

/// Bytes per second above which loading a prefix beats computing it again at `flops_per_second`.
constexpr double break_even_bandwidth(Bytes prefix, u64 recompute_flops, double flops_per_second) noexcept {
    return recompute_flops == 0
               ? 0
               : static_cast<double>(prefix.value) * flops_per_second / static_cast<double>(recompute_flops);
}

/// Seconds to move a prefix from a prefill to a decode worker.
constexpr double transfer_seconds(Bytes moved, double bytes_per_second, double latency = 0) noexcept {
    return latency + static_cast<double>(moved.value) / bytes_per_second;
}

/// One token's expert traffic, before node-limited routing reduces it. combine is usually bf16 (2), dispatch
/// fp8 (1).
struct ExpertTraffic {
    u32 moe_layers = 0;
    u32 experts_per_token = 0;
    u32 hidden = 0;
    u32 dispatch_bytes = 1;
    u32 combine_bytes = 2;

    constexpr Bytes per_token() const noexcept {
        return Bytes{saturating_product(u64{moe_layers} * experts_per_token,
                                        saturating_product(hidden, u64{dispatch_bytes} + combine_bytes))};
    }
};

/// Share of a link that moving caches takes beside expert traffic at equal token rates.
constexpr Ratio cache_share_of_link(Bytes cache_per_token, Bytes expert_per_token) noexcept {
    return {cache_per_token.value, (cache_per_token + expert_per_token).value};
}

/// Two streams on one link, each as tokens per second that alone would fill it: the smaller one saturates it
/// first.
struct LinkLimits {
    double cache_tokens = 0;
    double expert_tokens = 0;
    constexpr bool experts_first() const noexcept { return expert_tokens < cache_tokens; }
};

/// pre: both streams carry bytes
constexpr LinkLimits link_limits(double bytes_per_second, Bytes cache_per_token,
                                 Bytes expert_per_token) noexcept {
    return {bytes_per_second / static_cast<double>(cache_per_token.value),
            bytes_per_second / static_cast<double>(expert_per_token.value)};
}

}  // namespace kvcap::inline v1
