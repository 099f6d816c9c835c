// SPDX-License-Identifier: MIT
// How many bytes does one sequence hold on one rank? The one loop over caches:
// sum over the caches of the stage of slots(retention, lengths) x bytes_per_slot(form, tp).
#pragma once

#include <kvcap/sharding.hpp>

namespace kvcap::inline v1 {

/// Bytes by how they behave: growing with the tokens, bounded (windows, chunks, budgets), state (fixed once a sequence
/// begins, and what compressors still see), cross (encoder tokens), once (per model, not per sequence).
struct Footprint {
    Bytes growing{};
    Bytes bounded{};
    Bytes state{};
    Bytes cross{};
    Bytes once{};

    constexpr Bytes per_sequence() const noexcept { return growing + bounded + state + cross; }
    constexpr Bytes total() const noexcept { return per_sequence() + once; }
    friend constexpr Footprint operator+(const Footprint& a, const Footprint& b) noexcept {
        return {a.growing + b.growing, a.bounded + b.bounded, a.state + b.state, a.cross + b.cross, a.once + b.once};
    }
    friend constexpr bool operator==(const Footprint&, const Footprint&) = default;
};

/// Where a form's bytes are booked.
constexpr Bytes& account_of(const LayerForm& form, Footprint& in) noexcept {
    const Role role = form.streams.empty() ? Role::key : form.streams[0].role;
    if (form.retention.keep == Keep::once) {
        return in.once;
    }
    if (role == Role::state || role == Role::conv) {
        return in.state;
    }
    if (form.retention.source == Source::encoder) {
        return in.cross;
    }
    return form.retention.keep == Keep::everything ? in.growing : in.bounded;
}

/// How many slots a cache is charged for. The default: those that hold content. Engines that round have their own.
struct HeldSlots {
    constexpr Slots operator()(const LayerForm& form, const Lengths& lengths) const noexcept {
        return form.retention.slots(lengths);
    }
};

/// Context parallelism deals the slots of caches that keep every decoder token; all others stay whole on each rank.
constexpr bool is_dealt_out(const LayerForm& form) noexcept {
    return form.retention.keep == Keep::everything && form.retention.source != Source::encoder;
}
constexpr Slots slots_on_rank(const LayerForm& form, Slots all, const Sharding& sharding, u32 cp_rank) noexcept {
    const bool dealt_out = sharding.cp > 1 && is_dealt_out(form);
    return dealt_out ? Slots{dealt(all.value, sharding.cp, sharding.interleave, cp_rank)} : all;
}

constexpr Error check_sharding(const ModelSpec& model, const Sharding& sharding, Rank rank) noexcept {
    if (sharding.tp == 0 || sharding.pp == 0 || sharding.cp == 0 || sharding.interleave == 0) {
        return {.code = Errc::zero_parallelism};
    }
    if (rank.cp >= sharding.cp) {
        return {.code = Errc::rank_out_of_range, .got = rank.cp, .want = sharding.cp};
    }
    if (sharding.uneven == Uneven::refuse && model.query_heads % sharding.tp != 0) {
        return {.code = Errc::query_heads_not_divisible, .got = model.query_heads, .want = sharding.tp};
    }
    return {};
}

/// Caches of each form that lie on a stage.
constexpr Result<Inplace<u32, 32>> caches_on_stage(const ModelSpec& model, const Sharding& sharding,
                                                   u32 stage) noexcept {
    const Result<LayerRange> own = layers_of_stage(model.layers, sharding, stage);
    if (!own) {
        return own.error();
    }
    const u32 end = stage + 1 == sharding.pp ? model.all_layers() : own->end;
    const u32 begin = own->begin;
    Inplace<u32, 32> counts{};
    counts.count = model.forms.size();
    for (const Cache& cache : model.caches) {
        counts[cache.form] += cache.layer >= begin && cache.layer < end ? 1 : 0;
    }
    return counts;
}

/// Held bytes of one sequence on one rank. Errors: a split that does not divide, named with its layer and both numbers;
/// Errc::overflow when the sum leaves 64 bits.
template <class Slotting = HeldSlots>
constexpr Result<Footprint> fold(const ModelSpec& model, const Lengths& lengths, const Sharding& sharding = {},
                                 Rank rank = {}, const Slotting& slotting = {}) noexcept {
    if (const Error wrong = check_sharding(model, sharding, rank); wrong.code != Errc::ok) {
        return wrong;
    }
    const Result<Inplace<u32, 32>> counts = caches_on_stage(model, sharding, rank.stage);
    if (!counts) {
        return counts.error();
    }
    Footprint sum{};
    for (u32 i = 0; i < model.forms.size(); ++i) {
        const LayerForm& form = model.forms[i];
        const Result<BytesPerSlot> each = bytes_per_slot(form, sharding);
        if (!each) {
            Error wrong = each.error();
            for (u32 c = model.caches.size(); c-- > 0;) {
                wrong.layer = model.caches[c].form == i ? model.caches[c].layer : wrong.layer;
            }
            return wrong;
        }
        const Slots slots = slots_on_rank(form, slotting(form, lengths), sharding, rank.cp);
        account_of(form, sum) += slots * *each * u64{(*counts)[i]};
    }
    if (sum.total().value == off_scale) {
        return Errc::overflow;
    }
    return sum;
}

}  // namespace kvcap::inline v1
