// SPDX-License-Identifier: MIT
// What lands on a rank? Tensor parallelism deals heads, pipeline stages take layers, context parallelism deals tokens.
// Data parallelism divides whole requests: it belongs to whoever counts requests, not here.
#pragma once

#include <kvcap/model.hpp>

namespace kvcap::inline v1 {

/// Heads that do not divide: refuse (vLLM); what pools would count: floor, at least 1 (SGLang), ceil (TensorRT-LLM).
enum class Uneven : u8 { refuse, floor_at_least_one, ceil };

/// Stages that take the layers left over: the first ones; those before the last, backwards (vLLM); the last (SGLang).
enum class Remainder : u8 { first, middle, last };

/// interleave: consecutive slots that one context-parallel rank takes before the next. stage_layers: layers of each
/// stage, given outright (empty: even, with `remainder`).
struct Sharding {
    u32 tp = 1;
    u32 pp = 1;
    u32 cp = 1;
    u32 interleave = 1;
    Uneven uneven = Uneven::refuse;
    Remainder remainder = Remainder::first;
    Inplace<u16, 64> stage_layers{};

    friend constexpr bool operator==(const Sharding&, const Sharding&) = default;
};

/// One rank's coordinates. Tensor-parallel ranks of a stage hold alike.
struct Rank {
    u32 stage = 0;
    u32 cp = 0;
    friend constexpr bool operator==(const Rank&, const Rank&) = default;
};

constexpr Result<u32> dealt_or_copied(u32 heads, const Sharding& sharding) noexcept {
    const u32 tp = sharding.tp;
    if (heads % tp == 0) {
        return heads / tp;
    }
    switch (sharding.uneven) {
        case Uneven::floor_at_least_one: return static_cast<u32>(larger(heads / tp, 1));
        case Uneven::ceil: return static_cast<u32>(ceil_div(heads, tp));
        case Uneven::refuse: break;
    }
    if (heads < tp && tp % heads == 0) {
        return u32{1};
    }
    return Error{.code = Errc::heads_not_divisible, .got = heads, .want = tp};
}

/// Heads (or channels, groups) of a stream that one tensor-parallel rank stores.
constexpr Result<u32> heads_on_rank(const Stream& stream, const Sharding& sharding) noexcept {
    if (sharding.tp == 0) {
        return Errc::zero_parallelism;
    }
    if (stream.heads == 0 || sharding.tp == 1) {
        return stream.heads;
    }
    switch (stream.split) {
        case Split::replicated: return stream.heads;
        case Split::heads: return dealt_or_copied(stream.heads, sharding);
        case Split::channels:
            if (stream.heads % sharding.tp != 0) {
                return Error{.code = Errc::channels_not_divisible, .got = stream.heads, .want = sharding.tp};
            }
            return stream.heads / sharding.tp;
        case Split::groups: return stream.heads % sharding.tp == 0 ? stream.heads / sharding.tp : u32{1};
    }
    return stream.heads;
}

/// Bytes that one slot of this cache takes on a tensor-parallel rank. Errors: the split's; Errc::overflow.
constexpr Result<BytesPerSlot> bytes_per_slot(const LayerForm& form, const Sharding& sharding = {}) noexcept {
    u64 sum = 0;
    for (const Stream& stream : form.streams) {
        if (stream.is_off_scale()) {
            return Errc::overflow;
        }
        const Result<u32> heads = heads_on_rank(stream, sharding);
        if (!heads) {
            return heads.error();
        }
        const Result<u64> row = stream.format.row_bytes(stream.width);
        if (!row) {
            return row.error();
        }
        sum = saturating_sum(sum, saturating_product(u64{*heads} * stream.rows, *row));
    }
    return sum == off_scale ? Result<BytesPerSlot>{Errc::overflow} : Result<BytesPerSlot>{BytesPerSlot{sum}};
}

struct LayerRange {
    u32 begin = 0;
    u32 end = 0;
    friend constexpr bool operator==(const LayerRange&, const LayerRange&) = default;
};

/// Layers that stage `stage` gets beyond floor(layers / pp).
constexpr u32 leftover_of(u32 stage, u32 rest, const Sharding& sharding) noexcept {
    const u32 from_end = sharding.pp - stage;
    switch (sharding.remainder) {
        case Remainder::first: return stage < rest ? 1 : 0;
        case Remainder::middle: return from_end >= 2 && from_end <= rest + 1 ? 1 : 0;
        case Remainder::last: return from_end <= rest ? 1 : 0;
    }
    return 0;
}

/// The trunk layers of a stage. Draft layers are on the last stage, after the trunk.
constexpr Result<LayerRange> layers_of_stage(u32 layers, const Sharding& sharding, u32 stage) noexcept {
    if (sharding.pp == 0) {
        return Errc::zero_parallelism;
    }
    if (stage >= sharding.pp) {
        return Error{.code = Errc::rank_out_of_range, .got = stage, .want = sharding.pp};
    }
    if (sharding.pp > layers) {
        return Error{.code = Errc::stages_exceed_layers, .got = sharding.pp, .want = layers};
    }
    const bool listed = !sharding.stage_layers.empty();
    if (listed && sharding.stage_layers.size() != sharding.pp) {
        return Error{.code = Errc::stage_layers_mismatch, .got = sharding.stage_layers.size(), .want = sharding.pp};
    }
    LayerRange range{};
    u32 sum = 0;
    for (u32 i = 0; i < sharding.pp; ++i) {
        const u32 own = listed ? sharding.stage_layers[i]
                               : layers / sharding.pp + leftover_of(i, layers % sharding.pp, sharding);
        if (i == stage) {
            range = {sum, sum + own};
        }
        sum += own;
    }
    if (sum != layers) {
        return Error{.code = Errc::stage_layers_mismatch, .got = sum, .want = layers};
    }
    return range;
}

/// Items that rank `rank` of `ranks` gets when they are dealt `interleave` at a time: the ranks sum to the whole.
/// pre: ranks > 0, interleave > 0
constexpr u64 dealt(u64 items, u32 ranks, u32 interleave, u32 rank) noexcept {
    const u64 round = u64{ranks} * interleave;
    const u64 rest = items % round;
    const u64 before = u64{rank} * interleave;
    return items / round * interleave + smaller(rest > before ? rest - before : 0, interleave);
}

}  // namespace kvcap::inline v1
