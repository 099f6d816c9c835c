// SPDX-License-Identifier: MIT
// What do TensorRT-LLM's pools look like as a plan? One pool for each window, for cross attention and for
// states; a sequence takes blocks of its tokens, of a window that it outgrows one more, and one slot of
// states.
#pragma once

#include <kvcap/engine/plan.hpp>
#include <kvcap/engine/trtllm/stage.hpp>

namespace kvcap::inline v1::trtllm {

/// GroupClass::kind.
enum class PoolKind : u8 { window, full, cross, state };

constexpr Steps steps_of(PoolKind kind, u64 span, u64 tokens_per_block) noexcept {
    switch (kind) {
        case PoolKind::window: return {.cap = span, .per = tokens_per_block, .over = 1};
        case PoolKind::cross: return {.source = Source::encoder, .per = tokens_per_block};
        case PoolKind::state: return {.fixed = 1};
        case PoolKind::full: break;
    }
    return {.per = tokens_per_block};
}

constexpr Retention retention_of(PoolKind kind, u64 span) noexcept {
    switch (kind) {
        case PoolKind::window: return {.keep = Keep::window, .span = {span}};
        case PoolKind::cross: return {.source = Source::encoder};
        case PoolKind::state: return {.keep = Keep::last};
        case PoolKind::full: break;
    }
    return {.span = {span}};
}

/// A pool of one stage. each: bytes of a block (or slot). worker: the first of the stage.
struct StagePool {
    PoolKind kind = PoolKind::full;
    Blocks blocks{};
    u64 each = 0;
    u64 span = 0;
};

/// The pools of a stage: windows ascending, the longest counts as full when it was; cross attention; states.
constexpr Inplace<StagePool, 8> pools_of(const StageBlocks& stage, bool has_full,
                                         const Options& options) noexcept {
    const u64 per = options.tokens_per_block;
    Inplace<StagePool, 8> pools{};
    for (u32 i = 0; i < stage.layers.windows.size(); ++i) {
        const WindowElements& window = stage.layers.windows[i];
        const bool full = has_full && i + 1 == stage.layers.windows.size();
        static_cast<void>(pools.push({full ? PoolKind::full : PoolKind::window, stage.blocks[i],
                                      window.bytes(options.dtype) * per, window.tokens}));
    }
    if (stage.layers.cross != 0 && !pools.full()) {
        static_cast<void>(
            pools.push({PoolKind::cross, stage.cross, bytes_of(stage.layers.cross, options.dtype) * per, 0}));
    }
    if (stage.layers.state != 0 && !pools.full()) {
        static_cast<void>(
            pools.push({PoolKind::state, {.primary = state_slots(options)}, stage.layers.state, 0}));
    }
    return pools;
}

/// The first stage makes the pools; a later one replaces those of which it has fewer blocks. All must have
/// the same.
constexpr Error add_stage(PoolPlan& plan, const Inplace<StagePool, 8>& pools, u32 worker,
                          const Options& options) noexcept {
    const bool first = plan.pools.empty();
    if (!first && pools.size() != plan.pools.size()) {
        return {.code = Errc::refused_combination, .got = pools.size(), .want = plan.pools.size()};
    }
    for (u32 i = 0; i < pools.size(); ++i) {
        const StagePool& own = pools[i];
        const u64 padding = own.kind == PoolKind::state ? 1 : 0;  // the slot that padded batches write to
        if (saturating_product(own.each, own.blocks.primary) == off_scale) {
            return {.code = Errc::overflow};
        }
        const Pool pool{.units = own.blocks.primary, .spare = padding, .each = {own.each},
                        .second = own.blocks.secondary,
                        .allocated = {saturating_product(own.each, own.blocks.primary)}, .limiting = worker};
        if (first) {
            static_cast<void>(plan.pools.push(pool));
            static_cast<void>(
                plan.classes.push({.pool = static_cast<u16>(i),
                                   .kind = static_cast<u8>(own.kind),
                                   .retention = retention_of(own.kind, own.span),
                                   .block = own.kind == PoolKind::state ? 1 : options.tokens_per_block,
                                   .page = pool.each,
                                   .charge = pool.each,
                                   .steps = steps_of(own.kind, own.span, options.tokens_per_block)}));
        } else if (own.kind != static_cast<PoolKind>(plan.classes[i].kind)) {
            return {.code = Errc::refused_combination, .got = i, .want = plan.pools.size()};
        } else if (pool.units < plan.pools[i].units) {
            plan.pools[i] = pool;
            plan.classes[i].page = pool.each;
            plan.classes[i].charge = pool.each;
        }
    }
    return {};
}

/// A window's caches lie in the first pool that is as long, or (when all were shrunk) in the longest.
constexpr Placement place_of(const PoolPlan& plan, const LayerForm& form, const Options& options) noexcept {
    const bool state = form.retention.keep == Keep::last;
    const bool cross = form.retention.source == Source::encoder;
    if (form.retention.keep == Keep::once) {
        return nowhere;
    }
    Placement place{.group_class = nowhere.group_class};
    for (u32 c = 0; c < plan.classes.size(); ++c) {
        const u16 own = static_cast<u16>(c);
        const PoolKind kind = static_cast<PoolKind>(plan.classes[c].kind);
        if (state || cross) {
            place.group_class = kind == (state ? PoolKind::state : PoolKind::cross) ? own : place.group_class;
        } else if (kind == PoolKind::window || kind == PoolKind::full) {
            const bool longer =
                kind == PoolKind::full || plan.classes[c].retention.span.value >= window_of(form, options);
            place.group_class = own;
            if (longer) {
                break;
            }
        }
    }
    return place;
}

}  // namespace kvcap::inline v1::trtllm
