// SPDX-License-Identifier: MIT
// How does SGLang divide memory between full and window layers? By a fixed ratio of tokens (0.8), not by the
// window; or, when requests are capped and the prefix cache is off, by what those requests can hold at once.
// Source: pool_configurator.HybridSWAPoolConfigurator, SWAChunkCapPoolConfigurator;
// mem_cache/allocation_sizing.py.
#pragma once

#include <kvcap/engine/sglang/cell.hpp>

namespace kvcap::inline v1::sglang {

/// tokens: what the engine logs. entries: DeepSeek-V4's compressed entries and rows of compressor states.
struct TokenPools {
    u64 tokens = 0;
    u64 full = 0;
    u64 window = 0;
    u64 quarter = 0;
    u64 hundredth = 0;
    u64 quarter_states = 0;
    friend constexpr bool operator==(const TokenPools&, const TokenPools&) = default;
};

/// Tokens a decode step may allocate with drafts, when scheduling overlaps.
constexpr u64 overlapped_draft(const Speculation& draft, u64 page) noexcept {
    const u64 topk = larger(draft.topk, 1);
    const u64 steps = larger(draft.steps, 1);
    if (page == 1 || topk == 1) {
        return larger(steps * topk, draft.tokens);
    }
    const u64 pages = saturating_sum(saturating_product(2, page - 1), steps) / page;
    return larger(saturating_product(saturating_product(pages, page), topk), draft.tokens);
}

/// The same without overlap: both lengths rounded up to pages, and a page more for each branch.
constexpr u64 serial_draft(const Speculation& draft, u64 page) noexcept {
    const u64 topk = larger(draft.topk, 1);
    const u64 steps = larger(draft.steps, 1);
    const u64 tokens = round_up(larger(draft.tokens, 1), page);
    const u64 branch = round_up(page > 1 && topk > 1 ? saturating_sum(steps, page) : steps, page);
    return larger(saturating_product(branch, topk), tokens);
}

constexpr u64 decode_allocation(const Options& options) noexcept {
    if (!options.speculation.on()) {
        return options.page;
    }
    return options.overlap ? saturating_product(2, overlapped_draft(options.speculation, options.page))
                           : serial_draft(options.speculation, options.page);
}

constexpr bool capped_by_requests(const Local& local, const Options& options) noexcept {
    return options.max_running_requests != not_set && !options.prefix_cache &&
           options.chunked_prefill != not_set && local.full_layers != 0;
}

/// Window tokens that the capped requests and the prefill chunks in flight can hold.
constexpr u64 request_cap(u64 window, const Options& options) noexcept {
    const u64 drafted = options.speculation.on() ? larger(options.speculation.tokens, 1) : 1;
    const u64 kept = saturating_sum(window, options.page);
    const u64 evicted = saturating_product(larger(options.eviction_interval, 1), drafted);
    const u64 each = saturating_sum(saturating_sum(kept, evicted), decode_allocation(options));
    const u64 running = saturating_product(each, per_worker(options.max_running_requests, options));
    if (options.decode_only) {
        return saturating_sum(running, saturating_product(kept, options.decode_extra_slots));
    }
    const u64 prefill = saturating_product(options.overlap ? 2 : 1, options.chunked_prefill);
    return saturating_sum(running, saturating_sum(prefill, options.page));
}

/// Pools from a token count of the full pool (a user's cap, or the least of all stages).
constexpr Result<TokenPools> window_pools_of(u64 tokens, const Local& local,
                                             const Options& options) noexcept {
    const u64 page = options.page;
    TokenPools pools{.tokens = round_down(tokens, page)};
    if (local.full_layers == 0) {
        pools.window = pools.tokens;
        return pools;
    }
    pools.full = pools.tokens;
    if (capped_by_requests(local, options)) {
        pools.window = smaller(round_up(request_cap(local.window_of, options), page), tokens);
        return pools;
    }
    pools.window = round_down(truncated(static_cast<double>(pools.full) * options.window_ratio), page);
    const u64 most_kept = saturating_sum(local.window_of, page);
    if (most_kept >= pools.window) {
        return Error{.code = Errc::window_pool_too_small, .got = pools.window,
                     .want = saturating_sum(most_kept, 1)};
    }
    return pools;
}

/// Pools from the budget.
constexpr Result<TokenPools> window_pools(u64 budget, const Local& local, const Options& options) noexcept {
    const WindowCell cell = window_cell(local, options);
    if (!(cell.charged > 0)) {
        return Errc::zero_dimension;
    }
    if (!capped_by_requests(local, options)) {
        return window_pools_of(floor_div(static_cast<double>(budget), cell.charged), local, options);
    }
    const u64 window = round_up(request_cap(local.window_of, options), options.page);
    const u64 fixed = saturating_product(window, cell.window_layer * local.window_layers);
    const u64 full = round_down((budget > fixed ? budget - fixed : 0) / cell.full_part, options.page);
    if (full == 0) {
        return Error{.code = Errc::no_memory, .got = budget,
                     .want = saturating_sum(fixed, cell.full_part * options.page)};
    }
    return TokenPools{.tokens = full, .full = full, .window = window};
}

}  // namespace kvcap::inline v1::sglang
