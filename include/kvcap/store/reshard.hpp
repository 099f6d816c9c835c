// SPDX-License-Identifier: MIT
// Which ranks feed a rank when a cache moves to another sharding, and how much crosses each link?
// Per cache of a layer that both stages hold: (heads both ranks hold) x bytes of a head. Equal copies are read from one
// rank, spread over the copies. Summed over sources this is exactly what the target rank stores.
#pragma once

#include <kvcap/store/copies.hpp>

namespace kvcap::inline v1 {

struct Place {
    u32 stage = 0;
    u32 tp_rank = 0;
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

/// Whether `from` is the copy that `to` reads of a stream that several source ranks hold alike.
constexpr bool is_chosen_copy(u32 shards, const Sharding& of, u32 from_rank, u32 to_rank) noexcept {
    const u32 copies = of.tp / shards;
    return from_rank % copies == to_rank % copies;
}

constexpr Result<u64> stream_bytes_between(const Stream& stream, const Sharding& from, u32 from_rank,
                                           const Sharding& to, u32 to_rank) noexcept {
    const Result<u32> source_shards = shards_of(stream, from);
    const Result<u32> target_shards = shards_of(stream, to);
    const Result<u64> row = stream.format.row_bytes(stream.width);
    if (!source_shards || !target_shards || !row) {
        return !source_shards ? source_shards.error() : !target_shards ? target_shards.error() : row.error();
    }
    if (stream.heads % *source_shards != 0 || stream.heads % *target_shards != 0) {
        return Error{.code = Errc::heads_not_divisible, .got = stream.heads,
                     .want = stream.heads % *source_shards != 0 ? *source_shards : *target_shards};
    }
    if (!is_chosen_copy(*source_shards, from, from_rank, to_rank)) {
        return u64{0};
    }
    const LayerRange a = heads_held(stream, from, from_rank);
    const LayerRange b = heads_held(stream, to, to_rank);
    const u64 begin = larger(a.begin, b.begin);
    const u64 end = smaller(a.end, b.end);
    return begin < end ? saturating_product((end - begin) * stream.rows, *row) : u64{0};
}

/// Bytes of `lengths` that rank `source` sends to rank `target`. Context parallelism is not resharded here: cp = 1.
constexpr Result<Bytes> bytes_between(const ModelSpec& model, const Lengths& lengths, const Sharding& from,
                                      Place source, const Sharding& to, Place target) noexcept {
    if (from.cp != 1 || to.cp != 1) {
        return Error{.code = Errc::unsupported, .got = larger(from.cp, to.cp)};
    }
    const Result<LayerRange> own = layers_of_stage(model.layers, from, source.stage);
    const Result<LayerRange> wanted = layers_of_stage(model.layers, to, target.stage);
    if (!own || !wanted) {
        return own ? wanted.error() : own.error();
    }
    if (source.tp_rank >= from.tp || target.tp_rank >= to.tp) {
        const bool first = source.tp_rank >= from.tp;
        return Error{.code = Errc::rank_out_of_range, .got = first ? source.tp_rank : target.tp_rank,
                     .want = first ? from.tp : to.tp};
    }
    const auto holds = [&](const LayerRange& range, const Sharding& s, u32 stage, u32 layer) noexcept {
        return layer >= range.begin && layer < (stage + 1 == s.pp ? model.all_layers() : range.end);
    };
    Bytes sum{};
    for (const Cache& cache : model.caches) {
        if (!holds(*own, from, source.stage, cache.layer) || !holds(*wanted, to, target.stage, cache.layer)) {
            continue;
        }
        const LayerForm& form = model.form_of(cache);
        for (const Stream& stream : form.streams) {
            const Result<u64> each = stream_bytes_between(stream, from, source.tp_rank, to, target.tp_rank);
            if (!each) {
                Error wrong = each.error();
                wrong.layer = cache.layer;
                return wrong;
            }
            sum += form.retention.slots(lengths) * BytesPerSlot{*each};
        }
    }
    return sum.value == off_scale ? Result<Bytes>{Errc::overflow} : Result<Bytes>{sum};
}

}  // namespace kvcap::inline v1
