// SPDX-License-Identifier: MIT
// What do SGLang's pools look like as a plan? A unit is a page of a pool, or a slot of states. A request
// takes whole pages of its tokens; of a window at most the window and one page more (what admission charges);
// of states the slots that its strategy keeps. DeepSeek-V4: six pools, all in steps of one page of tokens.
#pragma once

#include <kvcap/engine/plan.hpp>
#include <kvcap/engine/sglang/rank.hpp>

namespace kvcap::inline v1::sglang {

/// GroupClass::kind.
enum class PoolKind : u8 { full, window, state, quarter, hundredth, quarter_state, request_state, encoder };

constexpr Retention retention_of(PoolKind kind, const RankPools& rank) noexcept {
    switch (kind) {
        case PoolKind::window:
        case PoolKind::quarter_state: return {.keep = Keep::window, .span = {rank.layers.window_of}};
        case PoolKind::state:
        case PoolKind::request_state: return {.keep = Keep::last};
        case PoolKind::quarter: return {.stride = 4};
        case PoolKind::hundredth: return {.stride = 128};
        case PoolKind::encoder: return {.source = Source::encoder};
        case PoolKind::full: break;
    }
    return {};
}

constexpr Steps steps_of(PoolKind kind, const RankPools& rank, const Options& options) noexcept {
    switch (kind) {
        case PoolKind::window:
        case PoolKind::quarter_state: return {.cap = rank.layers.window_of, .per = options.page, .plus = 1};
        case PoolKind::state: return {.fixed = static_cast<u32>(slots_per_request(options))};
        case PoolKind::request_state: return {.fixed = 1};
        case PoolKind::encoder: return {.source = Source::encoder, .per = options.page};
        default: return {.per = options.page};
    }
}

/// Units of the host tier (HiCache): each pool has one of its own, states by the ratio alone.
constexpr u64 host_units(const Pool& pool, bool slots, const Options& options) noexcept {
    if (options.host_ratio <= 0 && options.host_size_gb <= 0) {
        return 0;
    }
    if (slots) {
        return truncated(static_cast<double>(pool.units) * options.host_ratio);
    }
    const HostTier tier{.ratio = options.host_ratio, .size_gb = options.host_size_gb};
    return host_tokens(tier, pool.units * options.page, larger(pool.each.value / options.page, 1), options.page) /
           options.page;
}

/// One pool and the class that draws from it.
constexpr void add_pool(PoolPlan& plan, PoolKind kind, Pool pool, const RankPools& rank,
                        const Options& options) noexcept {
    pool.allocated = pool.allocated.value != 0 ? pool.allocated : pool.each * (pool.units + pool.extra);
    const u16 at = static_cast<u16>(plan.pools.size());
    const bool slots = kind == PoolKind::state || kind == PoolKind::request_state;
    pool.second = host_units(pool, slots, options);
    static_cast<void>(plan.pools.push(pool));
    static_cast<void>(plan.classes.push({.pool = at,
                                         .kind = static_cast<u8>(kind),
                                         .retention = retention_of(kind, rank),
                                         .block = slots ? 1 : options.page,
                                         .page = pool.each,
                                         .charge = pool.each,
                                         .steps = steps_of(kind, rank, options)}));
}

/// Bytes that one page of a pool takes; every pool has `page` rows more than its tokens.
constexpr Pool paged(u64 tokens, u64 bytes, const Options& options) noexcept {
    const u64 units = tokens / options.page;
    return {.units = units, .extra = 1, .each = {bytes / (units + 1)}, .allocated = {bytes}};
}

/// Bytes of a page's rows in the rings of the 4-fold compressors; the average where a page is no whole number of
/// windows.
constexpr Bytes ring_page(const Pool& pool, const RankPools& rank, const Options& options) noexcept {
    const Local& local = rank.layers;
    const u64 row = 4 * (u64{local.window.latent} + local.index_width) * options.compressor_state_bytes;
    const u64 rows = options.page / local.window_of * rings(options).quarter;
    return options.page % local.window_of == 0 ? Bytes{rows * row * local.quarter_layers} : pool.each;
}

/// Rows that a pool has beside those of its pages or requests (one ring, and rounding) are in `allocated` alone, so
/// that what a request takes does not depend on the memory.
constexpr void add_compressed(PoolPlan& plan, const RankPools& rank, const Options& options) noexcept {
    const CompressedBytes bytes = compressed_bytes(rank.pools, rank.request_limit, rank.layers, options);
    const u64 full = rank.pools.full;
    add_pool(plan, PoolKind::window, paged(rank.pools.window, bytes.window, options), rank, options);
    if (rank.layers.quarter_layers != 0) {
        add_pool(plan, PoolKind::quarter, paged(full, bytes.quarter + bytes.index, options), rank, options);
        Pool rings_of_pages = paged(rank.pools.window, bytes.quarter_states, options);
        rings_of_pages.each = ring_page(rings_of_pages, rank, options);
        add_pool(plan, PoolKind::quarter_state, rings_of_pages, rank, options);
    }
    if (rank.layers.hundredth_layers != 0) {
        add_pool(plan, PoolKind::hundredth, paged(full, bytes.hundredth, options), rank, options);
        const u64 rows = request_rows(rank.request_limit, options);
        add_pool(plan, PoolKind::request_state,
                 {.units = rows, .spare = 1, .each = {request_ring_bytes(rank.layers, options)},
                  .allocated = {bytes.hundredth_states}},
                 rank, options);
    }
}

constexpr void add_tokens(PoolPlan& plan, const RankPools& rank, bool encoder,
                          const Options& options) noexcept {
    const Allocation& taken = rank.allocated;
    if (rank.layers.window_layers != 0) {
        if (rank.layers.full_layers != 0) {
            add_pool(plan, PoolKind::full, paged(rank.pools.full, taken.full, options), rank, options);
        }
        add_pool(plan, PoolKind::window, paged(rank.pools.window, taken.window, options), rank, options);
    } else {
        add_pool(plan, PoolKind::full, paged(rank.pools.tokens, taken.tokens(), options), rank, options);
    }
    if (encoder) {  // the encoder's tokens take slots of the same pool, in all its layers
        static_cast<void>(plan.classes.push({.kind = static_cast<u8>(PoolKind::encoder),
                                             .retention = retention_of(PoolKind::encoder, rank),
                                             .block = options.page, .page = plan.pools[0].each,
                                             .charge = plan.pools[0].each,
                                             .steps = steps_of(PoolKind::encoder, rank, options)}));
    }
}

constexpr void add_states(PoolPlan& plan, const RankPools& rank, const Options& options) noexcept {
    if (rank.state_slots != 0) {
        const u64 each = (rank.state.conv + rank.state.ssm).value * rank.layers.state_layers;
        add_pool(plan, PoolKind::state,
                 {.units = rank.state_slots, .extra = 1, .each = {each},
                  .allocated = {rank.allocated.conv + rank.allocated.ssm}},
                 rank, options);
    }
}

/// The class that a part of the model lies in; the number of classes when there is none.
constexpr u16 class_of(const PoolPlan& plan, PoolKind kind) noexcept {
    u16 i = 0;
    while (i < plan.classes.size() && plan.classes[i].kind != static_cast<u8>(kind)) {
        ++i;
    }
    return i;
}

constexpr PoolKind kind_of(const LayerForm& form, const Options& options) noexcept {
    const u32 stride = form.retention.stride;
    switch (part_of(form, options)) {
        case Part::window: return PoolKind::window;
        case Part::state: return PoolKind::state;
        case Part::entries: return stride == 4 ? PoolKind::quarter : PoolKind::hundredth;
        case Part::index: return stride == 4 ? PoolKind::quarter : PoolKind::full;
        case Part::compressor:
            return form.retention.span.value < 128 ? PoolKind::quarter_state : PoolKind::request_state;
        default: break;
    }
    return form.retention.source == Source::encoder ? PoolKind::encoder : PoolKind::full;
}

/// Where each cache lies. Drafts have a pool of their own beside the full one, with as many tokens.
constexpr void place(PoolPlan& plan, const ModelSpec& model, const Options& options) noexcept {
    Inplace<u16, 32> next{};
    next.count = plan.classes.size();
    for (const Cache& cache : model.caches) {
        const LayerForm& form = model.form_of(cache);
        const u16 at = class_of(plan, cache.layer < model.layers ? kind_of(form, options) : PoolKind::full);
        const bool kept = at < plan.classes.size() && part_of(form, options) != Part::none;
        static_cast<void>(plan.placed.push(kept ? Placement{at, 0, next[at]++} : nowhere));
    }
}

}  // namespace kvcap::inline v1::sglang
