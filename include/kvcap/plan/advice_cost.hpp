// SPDX-License-Identifier: MIT
// What does a variant cost? Memory of the fullest GPU, a decode step, a first token and the most tokens a
// second, all bounds at the device's peak (roofline). Prefill computes every layer, so depth reuse leaves the
// first token alone.
#pragma once

#include <kvcap/plan/advice.hpp>
#include <kvcap/roofline/prefill.hpp>
#include <kvcap/roofline/weight_reads.hpp>

namespace kvcap::inline v1 {

/// What serves, beside the variant. reads(variant, tokens, stage) -> Result<WeightReads>: weights a step of
/// so many tokens reads on a rank. stored(variant, stage) -> Bytes: weights in a rank's memory. room: memory
/// of a rank for weights and cache (0: not known). gpus: as many as all replicas together take (0: one
/// replica).
template <class Reads, class Stored>
struct Site {
    Device device{};
    Bytes room{};
    u32 gpus = 0;
    u64 hidden = 0;
    AttentionFacts facts{};
    Reads reads;
    Stored stored;
};
template <class R, class S>
Site(Device, Bytes, u32, u64, AttentionFacts, R, S) -> Site<R, S>;

/// `sequences` of these lengths at once, over all replicas.
struct Wanted {
    Lengths each{};
    u64 sequences = 1;
};

/// cache, memory: of the fullest rank for what is wanted. step: seconds a token, over all stages. first:
/// seconds until one prompt is computed. rate: tokens a second when `most` sequences run. read, cache_read:
/// bytes of one step on the rank that reads most.
struct Costs {
    Bytes cache{};
    Bytes memory{};
    bool fits = true;
    u64 most = 0;
    double step = 0;
    double first = 0;
    double rate = 0;
    Bytes read{};
    Bytes cache_read{};

    constexpr double cache_share() const noexcept {
        return read.value == 0 ? 0 : static_cast<double>(cache_read.value) / static_cast<double>(read.value);
    }
};

namespace advice {

constexpr u64 replicas(u32 gpus, const Variant& on) noexcept {
    const u64 each = saturating_product(u64{on.sharding.tp} * on.sharding.pp, on.sharding.cp);
    return larger(gpus / larger(each, 1), 1);
}

/// Ranks that hold whole requests of their own.
constexpr u64 holders(u32 gpus, const Variant& on) noexcept {
    return replicas(gpus, on) * (on.attention_dp ? on.sharding.tp : 1);
}

struct Held {
    Bytes own{};     ///< of each sequence
    Bytes shared{};  ///< once: a stored prefix, and constants of the model
};

/// What `lengths` hold on a stage: fallback tokens as without reuse, a shared prefix once where caches keep
/// everything.
constexpr Result<Held> held_on(const Variant& on, const Lengths& lengths, u32 stage) noexcept {
    const Result<Footprint> least = fold(on.held, lengths, on.attention(), {.stage = stage});
    const Result<Footprint> most = fold(on.read, lengths, on.attention(), {.stage = stage});
    const Lengths prefix{.prompt = {smaller(on.skipped, lengths.prompt.value)}};
    const Result<Footprint> before = fold(on.held, prefix, on.attention(), {.stage = stage});
    if (!least || !most || !before) {
        return least ? most ? before.error() : most.error() : least.error();
    }
    const u64 saved =
        most->per_sequence().value - smaller(least->per_sequence().value, most->per_sequence().value);
    const Bytes back{ceil_div(saturating_product(saved, on.fallback), 1000)};
    const Bytes all = least->per_sequence() + back;
    return Held{minus(all, before->growing).value_or({}), before->growing + least->once};
}

/// Bytes of k and v projections that reusing layers do not read, on a rank: hidden x elements of their
/// caches, at the bytes a parameter of the attention takes.
constexpr Bytes skipped_projections(const Variant& on, const WeightReads& reads, u64 hidden,
                                    u32 stage) noexcept {
    const u64 params = saturating_sum(reads.attention.active, reads.keys.active);
    const LayerRange own = layers_of_stage(on.read.layers, on.sharding, stage).value_or({});
    double skipped = 0;
    for (const u16 layer : on.reusing) {
        const LayerForm* form = growing_cache(on.read, layer);
        if (form == nullptr || layer < own.begin || layer >= own.end) {
            continue;
        }
        for (const Stream& stream : form->streams) {
            const u64 heads = heads_on_rank(stream, on.attention()).value_or(0);
            skipped +=
                static_cast<double>(hidden) * static_cast<double>(saturating_product(heads, stream.width));
        }
    }
    const double each = params == 0 ? 0
                                    : static_cast<double>((reads.attention.read + reads.keys.read).value) /
                                          static_cast<double>(params);
    return Bytes{
        static_cast<u64>(skipped * each * static_cast<double>(1000 - smaller(on.fallback, 1000)) / 1000)};
}

/// One decode step of `each` sequences on a rank of a stage.
constexpr Result<StepCost> step_on(const Variant& on, const auto& site, const Lengths& lengths, u64 each,
                                   u32 stage) noexcept {
    const u64 tokens = saturating_product(each, on.attention_dp ? on.sharding.tp : 1);
    const Result<WeightReads> reads = site.reads(on, tokens, stage);
    if (!reads) {
        return reads.error();
    }
    WeightCost weights = reads->total();
    const u64 gone = reads->keys.read.value / 1000 * (1000 - smaller(on.keys_left, 1000));
    const Bytes less = Bytes{gone} + skipped_projections(on, *reads, site.hidden, stage);
    weights.read_bytes = minus(weights.read_bytes, less).value_or({});
    return decode_step(on.read, lengths, each, weights, on.attention(), {.stage = stage}, site.facts);
}

}  // namespace advice

/// Seconds of a step of `each` sequences on every rank that holds requests: the stages after one another.
constexpr Result<double> step_seconds(const Variant& on, const auto& site, const Lengths& lengths,
                                      u64 each) noexcept {
    double sum = 0;
    for (u32 stage = 0; stage < on.sharding.pp; ++stage) {
        const Result<StepCost> step = advice::step_on(on, site, lengths, each, stage);
        if (!step) {
            return step.error();
        }
        sum += step->at_least(site.device);
    }
    return sum;
}

/// Seconds until one prompt is computed at peak, less what its stored prefix saves: never all of it, since the last
/// token is always computed, and computing any reads the weights and the prefix once.
constexpr Result<double> first_seconds(const Variant& on, const auto& site, const Lengths& lengths) noexcept {
    u64 active = 0;
    u64 head = 0;
    for (u32 stage = 0; stage < on.sharding.pp; ++stage) {
        const Result<WeightReads> reads = site.reads(on, lengths.prompt.value, stage);
        if (!reads) {
            return reads.error();
        }
        const u64 spread = on.attention_dp ? on.sharding.tp : 1;  // one prompt's experts are on all ranks
        active += reads->total().active_params - reads->head.active - reads->experts.active +
                  reads->experts.active / spread;
        head += reads->head.active;
    }
    const u64 stored = smaller(on.skipped, lengths.prompt.value - smaller(lengths.prompt.value, 1));
    Variant plain = on;  // a prompt is computed in every layer
    plain.read = on.prompt;
    plain.reusing = {};
    const Result<double> once =
        step_seconds(plain, site, {.prompt = {stored}, .encoder = lengths.encoder}, 1);
    const Result<u64> all =
        prefill_flops(on.prompt, lengths.prompt.value, active, on.attention(), site.facts);
    const Result<u64> known = prefill_flops(on.prompt, stored, active, on.attention(), site.facts);
    if (!all || !known || !once) {
        return all ? known ? once.error() : known.error() : all.error();
    }
    const u64 rest = saturating_sum(*all - smaller(*known, *all), saturating_product(2, head));  // for the last token
    const double computed = site.device.at_least({}, rest);
    return computed < *once ? *once : computed;
}

/// Prices of a variant. Errors: a split that does not divide, Errc::overflow.
constexpr Result<Costs> costs_of(const Variant& on, const auto& site, const Wanted& wanted) noexcept {
    Costs costs{.most = off_scale};
    const u64 holders = advice::holders(site.gpus, on);
    const u64 each = ceil_div(wanted.sequences, holders);
    for (u32 stage = 0; stage < on.sharding.pp; ++stage) {
        const Result<advice::Held> held = advice::held_on(on, wanted.each, stage);
        const Result<StepCost> step = advice::step_on(on, site, wanted.each, each, stage);
        if (!held || !step) {
            return held ? step.error() : held.error();
        }
        const Bytes weights = site.stored(on, stage);
        const Bytes cache = held->own * each + held->shared;
        costs.cache = cache < costs.cache ? costs.cache : cache;
        costs.memory = weights + cache < costs.memory ? costs.memory : weights + cache;
        const u64 left = minus(site.room, weights + held->shared).value_or({}).value;
        const u64 here = site.room.value == 0   ? each
                         : held->own.value == 0 ? off_scale
                                                : left / held->own.value;
        costs.most = smaller(costs.most, here);
        if (!(step->bytes() < costs.read)) {
            costs.read = step->bytes();
            costs.cache_read = step->cache.per_sequence();
        }
    }
    if (costs.memory.value == off_scale || costs.read.value == off_scale) {
        return Errc::overflow;
    }
    costs.fits = site.room.value == 0 || costs.most >= each;
    costs.most = smaller(costs.most, u64{1} << 20);
    const Result<double> step = step_seconds(on, site, wanted.each, each);
    const Result<double> full = step_seconds(on, site, wanted.each, larger(costs.most, 1));
    const Result<double> first = first_seconds(on, site, wanted.each);
    if (!step || !full || !first) {
        return step ? full ? first.error() : full.error() : step.error();
    }
    costs.step = *step;
    costs.first = *first;
    costs.rate = *full > 0 ? static_cast<double>(saturating_product(costs.most, holders)) / *full : 0;
    costs.rate *= static_cast<double>(on.sharding.pp);  // stages work on different tokens
    costs.most = saturating_product(costs.most, holders);
    return costs;
}

}  // namespace kvcap::inline v1
