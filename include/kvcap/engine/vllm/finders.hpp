// SPDX-License-Identifier: MIT
// What does one of vLLM's cache managers find? The longest cached prefix of one class of groups, at most
// `most` tokens, aligned, with the look-ahead block of a drafter dropped. Source:
// v1/core/single_type_kv_cache_manager.py `find_longest_cache_hit` (2026-08-20).
#pragma once

#include <kvcap/engine/vllm/spec.hpp>
#include <kvcap/reuse/floor.hpp>

namespace kvcap::inline v1::vllm {

/// One group as the lookup sees it. block: effective tokens per block (times the context-parallel ranks for
/// attention). span: window or chunk. tag: tells apart specs that differ in nothing else. partial: token
/// boundaries inside blocks that are cached (fine-grained entries), in any order.
struct LookupGroup {
    SpecKind kind = SpecKind::full;
    StateMode mode = StateMode::align;
    bool drafts = false;
    u64 block = 16;
    u64 span = 0;
    u32 tag = 0;
    PageBits held{};
    const u64* partial = nullptr;
    u32 partials = 0;

    constexpr bool same_spec(const LookupGroup& other) const noexcept {
        return kind == other.kind && mode == other.mode && block == other.block && span == other.span &&
               tag == other.tag;
    }
};

inline constexpr u32 most_lookup_groups = 64;

/// Groups of one spec: a block counts only if it is cached in all of them.
struct ClassBits {
    const LookupGroup* groups = nullptr;
    u64 members = 0;
    u64 count = 0;

    constexpr const LookupGroup& first() const noexcept { return groups[std::countr_zero(members)]; }
    constexpr u64 raw(u64 i) const noexcept {
        u64 all = ~u64{0};
        for (u64 rest = members; rest != 0; rest &= rest - 1) {
            all &= groups[std::countr_zero(rest)].held.raw(i);
        }
        return all;
    }
    /// Whether every member has the fine-grained entry that ends at `tokens`.
    constexpr bool ends_at(u64 tokens) const noexcept {
        for (u64 rest = members; rest != 0; rest &= rest - 1) {
            const LookupGroup& group = groups[std::countr_zero(rest)];
            bool found = false;
            for (u32 i = 0; i < group.partials; ++i) {
                found = found || group.partial[i] == tokens;
            }
            if (!found) {
                return false;
            }
        }
        return true;
    }
    /// The highest fine-grained entry that ends in (low, high], a multiple of `unit`; `low` when there is
    /// none.
    constexpr u64 last_partial(u64 low, u64 high, u64 unit) const noexcept {
        u64 best = low;
        for (u32 i = 0; i < first().partials; ++i) {
            const u64 at = first().partial[i];
            best = at > best && at <= high && at % unit == 0 && ends_at(at) ? at : best;
        }
        return best;
    }
};

/// most: tokens that may be found. alignment: tokens; equal to the block for a lone group.
struct Wanted {
    u64 most = 0;
    u64 alignment = 16;
    bool drop = false;
};

/// tokens: found. blocks: handed over, the first `null_blocks` of them empty.
struct Found {
    u64 tokens = 0;
    u64 blocks = 0;
    u64 null_blocks = 0;
    friend constexpr bool operator==(const Found&, const Found&) = default;
};

/// Every block from the start, then a fine-grained entry inside the next block.
constexpr Found find_full(const ClassBits& bits, const Wanted& wanted) noexcept {
    const u64 block = bits.first().block;
    u64 tokens = first_missing(bits, 0, wanted.most / block) * block;
    if (wanted.alignment < block && block % wanted.alignment == 0) {
        tokens = bits.last_partial(tokens, smaller(wanted.most, tokens + block - 1), wanted.alignment);
    }
    if (wanted.drop && tokens > 0) {
        tokens -= smaller(tokens, smaller(wanted.alignment, block));
    }
    tokens -= tokens % wanted.alignment;
    return {.tokens = tokens, .blocks = ceil_div(tokens, block)};
}

/// The greatest `end` <= at whose boundary (one block less when that will be dropped) is aligned.
constexpr u64 aligned_end(u64 at, u64 block, const Wanted& wanted) noexcept {
    const u64 dropped = wanted.drop ? 1 : 0;
    while (at > 0 && block != wanted.alignment &&
           (at - smaller(at, dropped)) * block % wanted.alignment != 0) {
        --at;
    }
    return at;
}

/// ceil((window - 1) / block) blocks in a row, one more with a drafter, from the right; else what is cached
/// from block 0 on. At least one block must be cached, even for a window of 1.
constexpr Found find_window(const ClassBits& bits, const Wanted& wanted) noexcept {
    const u64 block = bits.first().block;
    const u64 need = larger(1, ceil_div(larger(bits.first().span, 1) - 1, block) + (wanted.drop ? 1 : 0));
    u64 end = aligned_end(wanted.most / block, block, wanted);
    u64 start = 0;
    while (end > 0) {
        start = end > need ? end - need : 0;
        const u64 hole = last_missing(bits, start, end);
        if (hole == no_page) {
            break;
        }
        end = aligned_end(hole, block, wanted);
    }
    const Wanted no_drop{.alignment = wanted.alignment};
    if (end < need) {
        end = aligned_end(end, block, no_drop);
    }
    if (wanted.drop && end > 0) {
        end = aligned_end(end - 1, block, no_drop);
    }
    return {.tokens = end * block, .blocks = end, .null_blocks = smaller(end == 0 ? 0 : start, end)};
}

/// The blocks before the chunk in which `most` lies need not be cached; then the run from there.
constexpr Found find_chunk(const ClassBits& bits, const Wanted& wanted) noexcept {
    const u64 block = bits.first().block;
    const u64 start = wanted.most / bits.first().span * bits.first().span / block;
    const u64 end = first_missing(bits, start, wanted.most / block);
    return {.tokens = end * block, .blocks = end, .null_blocks = start};
}

/// The rightmost aligned state, a fine-grained one included. Never dropped.
constexpr Found find_state(const ClassBits& bits, const Wanted& wanted) noexcept {
    const u64 block = bits.first().block;
    const Group<ClassBits> group{.rule = {.needs = Needs::snapshot, .page = block}, .pages = bits};
    u64 tokens = floor(group, wanted.most, Grid{.unit = wanted.alignment});
    if (wanted.alignment < block) {
        tokens = bits.last_partial(tokens, wanted.most, wanted.alignment);
    }
    const u64 blocks = ceil_div(tokens, block);
    return {.tokens = tokens, .blocks = blocks, .null_blocks = blocks == 0 ? 0 : blocks - 1};
}

/// Refused as vLLM refuses: chunked attention with a drafter or with an alignment that is not its block.
constexpr Result<Found> find(const ClassBits& bits, const Wanted& wanted) noexcept {
    switch (bits.first().kind) {
        case SpecKind::window:
        case SpecKind::window_mla: return find_window(bits, wanted);
        case SpecKind::state: return find_state(bits, wanted);
        case SpecKind::chunked:
            if (wanted.drop || bits.first().block != wanted.alignment) {
                return Error{
                    .code = Errc::refused_combination, .got = bits.first().block, .want = wanted.alignment};
            }
            return find_chunk(bits, wanted);
        case SpecKind::cross:
            return Error{.code = Errc::unsupported, .what = Uncovered::encoder_prefix};
        case SpecKind::full:
        case SpecKind::mla:
        case SpecKind::sink:
        case SpecKind::hidden: break;
    }
    return find_full(bits, wanted);
}

}  // namespace kvcap::inline v1::vllm
