// SPDX-License-Identifier: MIT
// What does a store save of a request, and what does it refresh? Pages always; snapshots and window tails where a
// policy says. Names of policies stand on every curve, since dense saving buys a higher ceiling with several times
// the bytes.
#pragma once

#include <kvcap/store/copies.hpp>
#include <vector>

namespace kvcap::inline v1 {

/// junction: how far the prompt was ever seen before. end: its last block border. every: each boundary that is a
/// multiple of it and lies beyond the junction (0: none). window_blocks: window groups save every block beyond the
/// junction, not only the tails of saved boundaries. engine_like: the junction is what is present now instead of
/// ever, boundaries count from the hit, and what was hit is refreshed. Then the touches depend on the capacity: no
/// stack, only replays, and hits may fall as capacity grows.
struct SavePolicy {
    bool junction = true;
    bool end = true;
    u32 every = 0;
    bool window_blocks = false;
    bool engine_like = false;
    friend constexpr bool operator==(const SavePolicy&, const SavePolicy&) = default;
};

inline constexpr SavePolicy junction_and_end{};
inline constexpr SavePolicy end_only{.junction = false};
inline constexpr SavePolicy every_block{.every = 1};
inline constexpr SavePolicy all_window_blocks{.window_blocks = true};

/// Blocks of a window group: the last `need` before a boundary must be there, and the first `sinks`. Of a group with
/// chunked attention, those of the boundary's own chunk of `period` blocks.
struct TailClass {
    u64 bytes = 0;
    u64 need = 0;
    u64 period = 0;
    u64 sinks = 0;

    constexpr u64 need_at(u64 boundary) const noexcept {
        return period == 0 ? smaller(need, boundary) : boundary % period;
    }
    /// Sink blocks of a boundary that are not among its last ones.
    constexpr u64 sinks_at(u64 boundary) const noexcept { return smaller(sinks, boundary - need_at(boundary)); }
    constexpr u64 blocks_at(u64 boundary) const noexcept { return need_at(boundary) + sinks_at(boundary); }
    /// Whether the block that ends at `depth` is needed at a boundary not before it.
    constexpr bool needs(u64 depth, u64 boundary) const noexcept {
        return boundary - depth < need_at(boundary) || depth <= sinks;
    }
};

/// Sizes of the objects of one block: pages of all full groups together, a block of each window group, one snapshot.
/// 0 bytes: the model has no such objects.
struct StoredSizes {
    u64 page = 0;
    std::vector<TailClass> tails{};
    u64 snapshot = 0;

    bool only_pages() const noexcept { return tails.empty() && snapshot == 0; }
};

/// Errors: unsupported for sinks beside chunked attention, which no rule describes; not_divisible when a chunk is not
/// whole blocks.
constexpr Result<TailClass> tail_class(const ObjectGroup& group, u64 block, u64 bytes) noexcept {
    if (group.keep != Keep::chunk) {
        return TailClass{.bytes = bytes, .need = chunks_needed(group, block),
                         .sinks = ceil_div(group.sinks.value, block)};
    }
    if (group.sinks.value != 0) {
        return Error{.code = Errc::unsupported, .what = Uncovered::sinks, .got = group.sinks.value};
    }
    if (group.span.value % block != 0) {
        return Error{.code = Errc::not_divisible, .got = group.span.value, .want = block};
    }
    return TailClass{.bytes = bytes, .need = group.span.value / block, .period = group.span.value / block};
}

/// The objects of a model, cut at every `block` tokens: stored bytes over all ranks, copies and alignment counted.
inline Result<StoredSizes> stored_sizes(const ModelSpec& model, u64 block, const Sharding& sharding = {},
                                        Copies copies = Copies::once, const ObjectRule& rule = {}) {
    StoredSizes sizes;
    for (const ObjectGroup& group : object_groups(model)) {
        const Result<GroupBytes> each = group_bytes(model, group, block, sharding, copies, rule);
        if (!each) {
            return each.error();
        }
        const u64 bytes = each->stored.value;
        switch (group.kind) {
            case ObjectKind::page: sizes.page += bytes; break;
            case ObjectKind::tail: {
                const Result<TailClass> tail = tail_class(group, block, bytes);
                if (!tail) {
                    return tail.error();
                }
                sizes.tails.push_back(*tail);
                break;
            }
            case ObjectKind::snapshot: sizes.snapshot += bytes; break;
            case ObjectKind::fixed: break;
        }
    }
    return sizes;
}

}  // namespace kvcap::inline v1
