// SPDX-License-Identifier: MIT
// What must a device read and compute for one decoded token, and when does the cache outweigh the weights?
// Bounds, not predictions: time >= max(bytes / bandwidth, flops / peak).
#pragma once

#include <kvcap/roofline/cache_work.hpp>

namespace kvcap::inline v1 {

/// bandwidth: bytes/s of memory. peak: dense flops/s at the type computed in. link: bytes/s between devices.
struct Device {
    double bandwidth = 0;
    double peak = 0;
    double link = 0;
    /// Flops per byte at which reading and computing take equally long.
    constexpr double turning_point() const noexcept { return bandwidth > 0 ? peak / bandwidth : 0; }
    /// Seconds that reading and computing this take at least; what is not known (0) bounds nothing.
    constexpr double at_least(Bytes bytes, u64 flops) const noexcept {
        const double reading = bandwidth > 0 ? static_cast<double>(bytes.value) / bandwidth : 0;
        const double computing = peak > 0 ? static_cast<double>(flops) / peak : 0;
        return reading < computing ? computing : reading;
    }
};

/// read_bytes: weights read once per step (no input embedding, which is looked up; only the experts that are
/// routed to). active_params: parameters that take part in one token.
struct WeightCost {
    Bytes read_bytes{};
    u64 active_params = 0;
};

/// One decode step of `batch` sequences on one rank.
struct StepCost {
    Bytes weights{};
    Footprint cache{};  ///< read bytes of all sequences, by account
    u64 weight_flops = 0;
    u64 attention_flops = 0;

    constexpr Bytes bytes() const noexcept { return weights + cache.per_sequence(); }
    constexpr u64 flops() const noexcept { return saturating_sum(weight_flops, attention_flops); }
    /// Lower bound of the step's seconds.
    constexpr double at_least(const Device& device) const noexcept {
        return device.at_least(bytes(), flops());
    }
};

/// pre: weights are those of this rank. States are read and written: counted once, as a bound from below.
constexpr Result<StepCost> decode_step(const ModelSpec& model, const Lengths& lengths, u64 batch,
                                       const WeightCost& weights, const Sharding& sharding = {},
                                       Rank rank = {}, const AttentionFacts& facts = {}) noexcept {
    const Result<CacheWork> work = cache_work(model, lengths, sharding, rank, facts);
    if (!work) {
        return work.error();
    }
    StepCost step{.weights = weights.read_bytes};
    for (const FormWork& part : *work) {
        account_of(model.forms[part.form], step.cache) += part.bytes * batch;
        step.attention_flops =
            saturating_sum(step.attention_flops, saturating_product(part.flops, batch));
    }
    step.weight_flops = saturating_product(saturating_product(2, batch), weights.active_params);
    const bool off = step.bytes().value == off_scale || step.flops() == off_scale;
    return off ? Result<StepCost>{Errc::overflow} : Result<StepCost>{step};
}

/// Smallest batch whose cache reads exceed the weight reads; off_scale when one sequence reads nothing.
constexpr u64 batch_where_cache_passes(Bytes weight_reads, Bytes cache_reads_each) noexcept {
    return cache_reads_each.value == 0 ? off_scale
                                       : saturating_sum(weight_reads.value / cache_reads_each.value, 1);
}

/// Token passes through the model while n tokens are generated after a prompt of p: with a cache each token
/// once; without, every step computes all so far again: sum over i < n of (p + i) = n p + n (n - 1) / 2.
constexpr u64 passes_with_cache(u64 prompt, u64 n) noexcept {
    return n == 0 ? 0 : saturating_sum(prompt, n - 1);
}
constexpr u64 passes_without_cache(u64 prompt, u64 n) noexcept {
    const u64 half =
        n % 2 == 0 ? saturating_product(n / 2, n == 0 ? 0 : n - 1) : saturating_product(n, (n - 1) / 2);
    return saturating_sum(saturating_product(n, prompt), half);
}

}  // namespace kvcap::inline v1
