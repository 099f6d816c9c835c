// SPDX-License-Identifier: MIT
// How many blocks has the pool, and does one request of the full length fit? Every worker divides its memory;
// the smallest number of blocks holds for all. Source: v1/core/kv_cache_utils.py `get_kv_cache_configs`.
#pragma once

#include <kvcap/capacity.hpp>
#include <kvcap/engine/concept.hpp>
#include <kvcap/engine/vllm/demand.hpp>

namespace kvcap::inline v1::vllm {

/// What the pool is made of: everything but the memory.
struct Planning {
    const Layout& layout;
    const Grouping& grouping;
    const Options& options;
    const Rules& rules;
    Load load{};
};

struct Sizing {
    Refusal refusal{};
    u64 max_len = 0;
    u64 blocks = 0;
    u32 limiting = 0;
    Inplace<Use, 64> uses{};  ///< by stage
    friend constexpr bool operator==(const Sizing&, const Sizing&) = default;
};

constexpr u32 stage_of(u32 worker, u32 workers, u32 stages) noexcept {
    return static_cast<u32>(u64{worker} * stages / workers);
}

constexpr Lengths request_of(u64 tokens, const Options& options) noexcept {
    return {.prompt = {tokens}, .encoder = {options.encoder_tokens}};
}

/// Blocks one request of `tokens` needs over all groups.
constexpr u64 blocks_for(const Planning& with, u64 tokens) noexcept {
    u64 sum = 0;
    for (const GroupKind& kind : with.grouping.kinds) {
        const Steps steps = steps_of(kind.spec, with.load, with.rules);
        sum = saturating_sum(sum,
                             saturating_product(steps.units(request_of(tokens, with.options)), kind.groups));
    }
    return sum;
}

/// Bytes of one request on a stage by the layers' own specs, ungrouped (the check until 2025-12-22).
constexpr u64 ungrouped_bytes(const Planning& with, u32 stage, u64 tokens) noexcept {
    u32 count[most_specs]{};
    for (const Member& cache : with.layout.caches) {
        if (cache.spec != no_spec && (stage == whole_model || cache.stage == stage)) {
            ++count[cache.spec];
        }
    }
    u64 sum = 0;
    for (u32 i = 0; i < with.layout.specs.size(); ++i) {
        const Spec& spec = with.layout.specs[i];
        const u64 blocks = steps_of(spec, with.load, with.rules).units(request_of(tokens, with.options));
        sum = saturating_sum(sum, saturating_product(saturating_product(blocks, spec.page()), count[i]));
    }
    return sum;
}

/// Bytes one request of `tokens` needs on a stage, as the engine's check counts them.
constexpr u64 request_bytes(const Planning& with, const Use& use, u32 stage, u64 tokens) noexcept {
    if (!with.rules.has(Change::auto_length)) {
        return ungrouped_bytes(with, stage, tokens);
    }
    if (!with.rules.has(Change::fit_counts_groups) && with.grouping.shape == Shape::general) {
        const Steps first = steps_of(with.grouping.kinds[0].spec, with.load, with.rules);
        return saturating_product(use.per_request_block, first.units(request_of(tokens, with.options)));
    }
    return saturating_product(use.per_request_block, blocks_for(with, tokens));
}

/// Longest length in [1, limit] whose request fits; 0: none.
constexpr u64 longest_fitting(const Planning& with, const Use& use, u32 stage, u64 usable,
                              u64 limit) noexcept {
    return largest(limit, [&](u64 tokens) noexcept {
        return request_bytes(with, use, stage, tokens) <= usable;
    });
}

/// Windows have no form for dealt tokens. checked_only: of the groups that the fit check looks at.
constexpr bool deals_windows(const Planning& with, bool checked_only) noexcept {
    bool windows = false;
    if (with.rules.has(Change::auto_length) || !checked_only) {
        const bool first = checked_only && !with.rules.has(Change::fit_counts_groups);
        const u64 looked_at = first ? smaller(1, with.grouping.kinds.size()) : with.grouping.kinds.size();
        for (u32 k = 0; k < looked_at; ++k) {
            windows = windows || is_window(with.grouping.kinds[k].spec.kind);
        }
    } else {
        for (const Spec& spec : with.layout.specs) {
            windows = windows || is_window(spec.kind);
        }
    }
    return windows && with.load.dcp > 1;
}

/// One worker as the check sees it.
struct Share {
    u32 worker = 0;
    u32 stage = 0;
    Use use{};
    u64 available = 0;
    u64 kept_back = 0;

    constexpr bool has_memory() const noexcept { return available > kept_back; }
    constexpr u64 usable() const noexcept { return has_memory() ? available - kept_back : 0; }
};

constexpr Refusal check_share(const Planning& with, const Share& share, u64 max_len) noexcept {
    Refusal refusal{.worker = share.worker, .available = share.available, .kept_back = share.kept_back};
    if (!share.has_memory()) {
        refusal.reason = Reason::no_memory;
        return refusal;
    }
    if (deals_windows(with, true)) {
        return {.reason = Reason::context_parallel_unsupported};
    }
    refusal.needed = request_bytes(with, share.use, share.stage, max_len);
    if (refusal.needed <= share.usable()) {
        return {};
    }
    refusal.reason = Reason::not_enough_memory;
    refusal.longest = longest_fitting(with, share.use, share.stage, share.usable(), max_len);
    return refusal;
}

/// The shares that are checked: one a worker; from 0.14 to 0.16 the whole model against the least memory.
constexpr Share share_of(const Planning& with, const Budget& budget, u32 worker,
                         const Sizing& sizing) noexcept {
    const Options& options = with.options;
    Share share{.worker = worker, .stage = stage_of(worker, budget.workers, with.layout.stages)};
    share.use = sizing.uses[share.stage];
    share.available = budget.available[worker].value;
    if (with.rules.has(Change::auto_length) && !with.rules.has(Change::stage_pages)) {
        for (u32 w = 0; w < budget.workers; ++w) {
            if (budget.available[w].value < share.available) {
                share.worker = w;
                share.available = budget.available[w].value;
            }
        }
        share.stage = whole_model;
        share.use = use_of(with.grouping, with.layout, whole_model, with.rules);
    }
    if (options.num_blocks_override != 0 && with.rules.has(Change::override_limits_fit)) {
        share.available = saturating_product(options.num_blocks_override, share.use.per_block);
    }
    share.kept_back = with.rules.has(Change::spares_null_block) ? share.use.per_block : 0;
    return share;
}

constexpr Refusal fit_length(const Planning& with, const Budget& budget, Sizing& sizing) noexcept {
    sizing.max_len = with.options.max_model_len;
    if (!with.options.auto_length || !with.rules.has(Change::auto_length)) {
        return {};
    }
    if (deals_windows(with, true)) {
        return {.reason = Reason::context_parallel_unsupported};
    }
    for (u32 worker = 0; worker < budget.workers; ++worker) {
        const Share share = share_of(with, budget, worker, sizing);
        const u64 longest = share.has_memory() ? longest_fitting(with, share.use, share.stage, share.usable(),
                                                                 with.options.max_model_len)
                                               : 0;
        sizing.max_len = smaller(sizing.max_len, longest);
        if (longest == 0) {
            return {.reason = Reason::auto_fit_impossible, .worker = worker, .available = share.available,
                    .kept_back = share.kept_back};
        }
    }
    return {};
}

/// Blocks of every worker; the fewest hold for all.
constexpr void count_blocks(const Planning& with, const Budget& budget, Sizing& sizing) noexcept {
    sizing.blocks = off_scale;
    for (u32 worker = 0; worker < budget.workers; ++worker) {
        const Use& use = sizing.uses[stage_of(worker, budget.workers, with.layout.stages)];
        const u64 fitting = use.per_block == 0 ? 0 : budget.available[worker].value / use.per_block;
        const u64 own = with.options.num_blocks_override != 0 ? with.options.num_blocks_override : fitting;
        if (use.per_block == 0 || own == 0 || with.grouping.unassigned) {
            sizing.refusal.reason = Reason::assertion;
            return;
        }
        sizing.limiting = own < sizing.blocks ? worker : sizing.limiting;
        sizing.blocks = smaller(own, sizing.blocks);
    }
    if (deals_windows(with, false)) {
        sizing.refusal.reason = Reason::context_parallel_unsupported;
    }
}

constexpr void check_shares(const Planning& with, const Budget& budget, Sizing& sizing) noexcept {
    for (u32 worker = 0; worker < budget.workers && sizing.refusal.reason == Reason::none; ++worker) {
        sizing.refusal = check_share(with, share_of(with, budget, worker, sizing), sizing.max_len);
    }
}

/// pre: every stage has a worker. Until auto_length memory is checked before anything is grouped.
constexpr Sizing size_pool(const Planning& with, const Budget& budget) noexcept {
    Sizing sizing{.max_len = with.options.max_model_len};
    const bool groups = with.grouping.shape != Shape::none && with.grouping.reason == Reason::none;
    for (u32 stage = 0; stage < with.layout.stages; ++stage) {
        static_cast<void>(
            sizing.uses.push(groups ? use_of(with.grouping, with.layout, stage, with.rules) : Use{}));
    }
    const bool early =
        !with.rules.has(Change::auto_length) && !specs_in_use(with.layout, with.layout.specs).empty();
    if (early) {
        check_shares(with, budget, sizing);
    }
    if (sizing.refusal.reason == Reason::none) {
        sizing.refusal.reason = with.grouping.reason;
    }
    if (!groups || sizing.refusal.reason != Reason::none) {
        sizing.blocks = 1;
        return sizing;
    }
    if (!early) {
        sizing.refusal = fit_length(with, budget, sizing);
        check_shares(with, budget, sizing);
    }
    if (sizing.refusal.reason == Reason::none) {
        count_blocks(with, budget, sizing);
    }
    return sizing;
}

}  // namespace kvcap::inline v1::vllm
