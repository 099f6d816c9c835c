// SPDX-License-Identifier: MIT
// Which ranks feed a rank when a cache moves to another sharding, and how much crosses each link?
// Per cache of a layer that both stages hold: (heads both ranks hold) x (slots both ranks hold) x bytes of a head.
// Equal copies are read from one rank, spread over the copies. Summed over sources this is exactly what the target
// rank stores, and each of its bytes has one source.
#pragma once

#include <kvcap/store/copies.hpp>

namespace kvcap::inline v1 {

/// own: context-parallel ranks stand beside the tensor-parallel ones, tp x cp ranks a stage (prefill context
/// parallelism). among_tensor: tp ranks a stage; those that would hold copies share the tokens, cp rank = tp rank mod
/// cp (vLLM's decode context parallelism).
enum class ContextRanks : u8 { own, among_tensor };

/// cp_rank: without meaning where context ranks are among the tensor ranks.
struct Place {
    u32 stage = 0;
    u32 tp_rank = 0;
    u32 cp_rank = 0;
    friend constexpr bool operator==(const Place&, const Place&) = default;
};

/// Heads [begin, end) of a stream on a rank. pre: heads_on_rank(stream, sharding) has a value
constexpr LayerRange heads_held(const Stream& stream, const Sharding& sharding, u32 rank) noexcept {
    const u32 shards = shards_of(stream, sharding).value();
    if (shards == 1) {
        return {0, stream.heads};
    }
    const u32 shard = shard_of_rank(shards, sharding.tp, rank);
    const u32 each = stream.heads / shards;
    return {shard * each, (shard + 1) * each};
}

/// One rank's part of slots that are dealt `interleave` at a time.
struct Deal {
    u32 ranks = 1;
    u32 interleave = 1;
    u32 rank = 0;

    constexpr u64 round() const noexcept { return u64{ranks} * interleave; }
    constexpr u64 below(u64 slots) const noexcept { return dealt(slots, ranks, interleave, rank); }
};

/// Of the slots [0, end), those that both deals give to their rank. One step a portion of the coarser deal, at most a
/// common period of both. pre: ranks > 0, interleave > 0, rank < ranks
constexpr u64 dealt_to_both(u64 end, const Deal& a, const Deal& b) noexcept {
    if (a.ranks == 1 || b.ranks == 1) {
        return a.ranks == 1 ? b.below(end) : a.below(end);
    }
    const Deal& coarse = a.round() > b.round() ? a : b;
    const Deal& fine = a.round() > b.round() ? b : a;
    const auto common_below = [&](u64 slots) noexcept {
        u64 sum = 0;
        for (u64 first = u64{coarse.rank} * coarse.interleave; first < slots;
             first = saturating_sum(first, coarse.round())) {
            sum += fine.below(smaller(saturating_sum(first, coarse.interleave), slots)) - fine.below(first);
        }
        return sum;
    };
    const u64 period = least_common_multiple(a.round(), b.round());
    const u64 whole = end / period;
    return (whole == 0 ? 0 : whole * common_below(period)) + common_below(end % period);
}

/// One end of a move: how the ranks are arranged and which of them it is.
struct ReshardEnd {
    const Sharding& sharding;
    Place place{};
    ContextRanks context = ContextRanks::own;

    constexpr bool deals(const Retention& kept) const noexcept {
        return sharding.cp > 1 && kept.keep == Keep::everything && kept.source != Source::encoder;
    }
    constexpr u32 cp_rank() const noexcept {
        return context == ContextRanks::own ? place.cp_rank : place.tp_rank % sharding.cp;
    }
    constexpr Deal deal() const noexcept { return {sharding.cp, sharding.interleave, cp_rank()}; }
    /// Context ranks that share the copies of a dealt stream among themselves.
    constexpr u32 sharing() const noexcept { return context == ContextRanks::own ? 1 : sharding.cp; }
};

/// What is wrong with an end: a rank that does not exist, a size of 0.
constexpr Error fault(const ReshardEnd& end) noexcept {
    const Sharding& s = end.sharding;
    if (s.tp == 0 || s.cp == 0 || s.interleave == 0) {
        return {.code = Errc::zero_parallelism};
    }
    if (end.place.tp_rank >= s.tp) {
        return {.code = Errc::rank_out_of_range, .got = end.place.tp_rank, .want = s.tp};
    }
    if (end.context == ContextRanks::own && end.place.cp_rank >= s.cp) {
        return {.code = Errc::rank_out_of_range, .got = end.place.cp_rank, .want = s.cp};
    }
    return {};
}

/// Whether heads divide over shards, and copies over the context ranks among them. Errors: heads_not_divisible,
/// not_divisible.
constexpr Result<u32> even_shards(const Stream& stream, const Retention& kept, const ReshardEnd& end) noexcept {
    const Result<u32> shards = shards_of(stream, end.sharding);
    if (!shards) {
        return shards;
    }
    if (stream.heads % *shards != 0) {
        return Error{.code = Errc::heads_not_divisible, .got = stream.heads, .want = *shards};
    }
    const u32 copies = end.sharding.tp / *shards;
    if (end.deals(kept) && copies % end.sharing() != 0) {
        return Error{.code = Errc::not_divisible, .got = copies, .want = end.sharing()};
    }
    return shards;
}

/// Whether `from` is the copy that `to` reads, of all source ranks that hold the same heads and slots.
constexpr bool is_chosen_copy(u32 shards, const Retention& kept, const ReshardEnd& from,
                              const ReshardEnd& to) noexcept {
    const u32 sharing = from.deals(kept) ? from.sharing() : 1;
    const u32 copies = from.sharding.tp / shards;
    const bool chosen = from.place.tp_rank % copies / sharing == to.place.tp_rank % (copies / sharing);
    const bool whole_on_each = from.context == ContextRanks::own && !from.deals(kept);
    return chosen && (!whole_on_each || from.place.cp_rank == to.cp_rank() % from.sharding.cp);
}

/// Bytes of one stream and slot that `from` sends to `to`.
constexpr Result<u64> stream_bytes_between(const Stream& stream, const Retention& kept, const ReshardEnd& from,
                                           const ReshardEnd& to) noexcept {
    const Result<u32> source_shards = even_shards(stream, kept, from);
    const Result<u32> target_shards = even_shards(stream, kept, to);
    const Result<u64> row = stream.format.row_bytes(stream.width);
    if (!source_shards || !target_shards || !row) {
        return !source_shards ? source_shards.error() : !target_shards ? target_shards.error() : row.error();
    }
    if (!is_chosen_copy(*source_shards, kept, from, to)) {
        return u64{0};
    }
    const LayerRange a = heads_held(stream, from.sharding, from.place.tp_rank);
    const LayerRange b = heads_held(stream, to.sharding, to.place.tp_rank);
    const u64 begin = larger(a.begin, b.begin);
    const u64 end = smaller(a.end, b.end);
    return begin < end ? saturating_product((end - begin) * stream.rows, *row) : u64{0};
}

/// Slots of a cache that both ends hold.
constexpr Slots slots_between(const Retention& kept, const Lengths& lengths, const ReshardEnd& from,
                              const ReshardEnd& to) noexcept {
    const Slots all = kept.slots(lengths);
    return {dealt_to_both(all.value, from.deals(kept) ? from.deal() : Deal{}, to.deals(kept) ? to.deal() : Deal{})};
}

constexpr Result<Bytes> bytes_between(const ModelSpec& model, const Lengths& lengths, const ReshardEnd& from,
                                      const ReshardEnd& to) noexcept {
    const Error wrong_source = fault(from);
    const Error wrong_target = fault(to);
    if (wrong_source.code != Errc::ok || wrong_target.code != Errc::ok) {
        return wrong_source.code != Errc::ok ? wrong_source : wrong_target;
    }
    const Result<LayerRange> own = layers_of_stage(model.layers, from.sharding, from.place.stage);
    const Result<LayerRange> wanted = layers_of_stage(model.layers, to.sharding, to.place.stage);
    if (!own || !wanted) {
        return own ? wanted.error() : own.error();
    }
    const auto holds = [&](const LayerRange& range, const ReshardEnd& end, u32 layer) noexcept {
        const bool last = end.place.stage + 1 == end.sharding.pp;
        return layer >= range.begin && layer < (last ? model.all_layers() : range.end);
    };
    Bytes sum{};
    for (const Cache& cache : model.caches) {
        if (!holds(*own, from, cache.layer) || !holds(*wanted, to, cache.layer)) {
            continue;
        }
        const LayerForm& form = model.form_of(cache);
        const Slots slots = slots_between(form.retention, lengths, from, to);
        for (const Stream& stream : form.streams) {
            const Result<u64> each = stream_bytes_between(stream, form.retention, from, to);
            if (!each) {
                Error wrong = each.error();
                wrong.layer = cache.layer;
                return wrong;
            }
            sum += slots * BytesPerSlot{*each};
        }
    }
    return sum.value == off_scale ? Result<Bytes>{Errc::overflow} : Result<Bytes>{sum};
}

/// Bytes of `lengths` that rank `source` sends to rank `target`.
constexpr Result<Bytes> bytes_between(const ModelSpec& model, const Lengths& lengths, const Sharding& from,
                                      Place source, const Sharding& to, Place target,
                                      ContextRanks of_source = ContextRanks::own,
                                      ContextRanks of_target = ContextRanks::own) noexcept {
    return bytes_between(model, lengths, {from, source, of_source}, {to, target, of_target});
}

/// Calls visit(Place, Bytes) for every source rank that feeds `target`; returns what arrives in all.
constexpr Result<Bytes> each_source(const ModelSpec& model, const Lengths& lengths, const Sharding& from,
                                    const Sharding& to, Place target, auto&& visit,
                                    ContextRanks of_source = ContextRanks::own,
                                    ContextRanks of_target = ContextRanks::own) noexcept {
    if (const Error wrong = fault(ReshardEnd{from, {}, of_source}); wrong.code != Errc::ok) {
        return wrong;
    }
    const u32 contexts = of_source == ContextRanks::own ? from.cp : 1;
    const u64 sources = u64{from.pp} * contexts * from.tp;
    Bytes sum{};
    for (u64 i = 0; i < sources; ++i) {
        const u32 tp_rank = static_cast<u32>(i % from.tp);
        const u32 beside = static_cast<u32>(i / from.tp % contexts);
        const Place source{.stage = static_cast<u32>(i / from.tp / contexts), .tp_rank = tp_rank,
                           .cp_rank = of_source == ContextRanks::own ? beside : tp_rank % from.cp};
        const Result<Bytes> bytes = bytes_between(model, lengths, from, source, to, target, of_source, of_target);
        if (!bytes) {
            return bytes;
        }
        if (bytes->value != 0) {
            visit(source, *bytes);
        }
        sum += *bytes;
    }
    return sum.value == off_scale ? Result<Bytes>{Errc::overflow} : Result<Bytes>{sum};
}

}  // namespace kvcap::inline v1
