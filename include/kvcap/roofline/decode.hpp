// SPDX-License-Identifier: MIT
// What must a device read and compute for one decoded token, and when does the cache outweigh the weights?
// Bounds, not predictions: time >= max(bytes / bandwidth, flops / peak).
#pragma once

#include <kvcap/roofline/attention.hpp>

namespace kvcap::inline v1 {

/// bandwidth: bytes/s of memory. peak: dense flops/s at the type computed in. link: bytes/s between devices.
struct Device {
    double bandwidth = 0;
    double peak = 0;
    double link = 0;
    /// Flops per byte at which reading and computing take equally long.
    constexpr double turning_point() const noexcept { return bandwidth > 0 ? peak / bandwidth : 0; }
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
        const double reading = static_cast<double>(bytes().value) / device.bandwidth;
        const double computing = static_cast<double>(flops()) / device.peak;
        return reading < computing ? computing : reading;
    }
};

/// pre: weights are those of this rank. States are read and written: counted once, as a bound from below.
constexpr Result<StepCost> decode_step(const ModelSpec& model, const Lengths& lengths, u64 batch,
                                       const WeightCost& weights, const Sharding& sharding = {},
                                       Rank rank = {}) noexcept {
    const Result<Footprint> one = fold(model, lengths, sharding, rank);
    if (!one) {
        return one.error();
    }
    StepCost step{.weights = weights.read_bytes};
    step.cache = {one->growing * batch, one->bounded * batch, one->state * batch, one->cross * batch, {}};
    step.weight_flops = saturating_product(2 * batch, weights.active_params);
    const Result<Inplace<u32, 32>> counts = caches_on_stage(model, sharding, rank.stage);
    for (u32 i = 0; counts && i < model.forms.size(); ++i) {
        const LayerForm& form = model.forms[i];
        if (form.kind != Kind::attention && form.kind != Kind::latent) {
            continue;
        }
        const Result<PositionCost> position = position_cost(form, model.query_heads, sharding);
        if (!position) {
            return position.error();
        }
        const u64 positions = slots_on_rank(form, form.retention.slots(lengths), sharding, rank.cp).value;
        step.attention_flops = saturating_sum(
            step.attention_flops,
            saturating_product(saturating_product(position->flops, positions), batch * (*counts)[i]));
    }
    return step;
}

/// Smallest batch whose cache reads exceed the weight reads; off_scale when one sequence reads nothing.
constexpr u64 batch_where_cache_passes(Bytes weight_reads, Bytes cache_reads_each) noexcept {
    return cache_reads_each.value == 0 ? off_scale : weight_reads.value / cache_reads_each.value + 1;
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

/// Prefill flops of n tokens: 2 x active parameters each, and causal attention over n (n + 1) / 2 positions
/// of the layers that keep everything (bounded ones over at most their span).
constexpr Result<u64> prefill_flops(const ModelSpec& model, u64 n, u64 active_params) noexcept {
    u64 sum = saturating_product(saturating_product(2, active_params), n);
    for (const Cache& cache : model.caches) {
        const LayerForm& form = model.form_of(cache);
        if (form.kind != Kind::attention && form.kind != Kind::latent) {
            continue;
        }
        const Result<PositionCost> position = position_cost(form, model.query_heads);
        if (!position) {
            return position.error();
        }
        const bool bounded = form.retention.keep != Keep::everything;
        const u64 span = bounded ? smaller(n, (form.retention.span + form.retention.sinks).value) : n;
        const u64 triangle =
            span % 2 == 0 ? saturating_product(span / 2, span + 1) : saturating_product(span, span / 2 + 1);
        const u64 positions =
            saturating_sum(triangle, saturating_product(n - span, span)) / form.retention.stride;
        sum = saturating_sum(sum, saturating_product(position->flops, positions));
    }
    return sum;
}

}  // namespace kvcap::inline v1
