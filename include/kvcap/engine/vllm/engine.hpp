// SPDX-License-Identifier: MIT
// vLLM as a value: its options and the rules of one version. What it makes of a model, what it logs or why it
// refuses, and which prefix it would skip. `--max-model-len`, `--block-size` ... are fields of Options.
#pragma once

#include <kvcap/engine/scale.hpp>
#include <kvcap/engine/vllm/classes.hpp>
#include <kvcap/engine/vllm/grouping.hpp>
#include <kvcap/engine/vllm/hits.hpp>
#include <kvcap/engine/vllm/layout.hpp>
#include <kvcap/engine/vllm/log.hpp>
#include <kvcap/engine/vllm/schedule.hpp>

namespace kvcap::inline v1::vllm {

/// Everything that is decided before memory is known.
struct Design {
    Sharding sharding{};
    Options options{};
    BlockSizes blocks{};
    Layout layout{};
    Grouping grouping{};
    Load load{};
};

/// error: the model or its split is refused before vLLM's own checks. sizing.refusal: vLLM's own. Otherwise
/// the plan, and what is logged.
struct Outcome {
    Error error{};
    Design design{};
    Sizing sizing{};
    Boundaries boundaries{};
    PoolPlan plan{};
    Log log{};

    constexpr bool runs() const noexcept {
        return error.code == Errc::ok && sizing.refusal.reason == Reason::none;
    }
};

constexpr Retention retention_of(const Spec& spec) noexcept {
    switch (spec.kind) {
        case SpecKind::window:
        case SpecKind::window_mla: return {.keep = Keep::window, .span = {spec.window}};
        case SpecKind::chunked: return {.keep = Keep::chunk, .span = {spec.chunk}};
        case SpecKind::cross: return {.source = Source::encoder};
        case SpecKind::state: return {.keep = Keep::last};
        default: break;
    }
    return {.stride = spec.ratio, .span = {larger(spec.window, spec.chunk)}, .sinks = {spec.sinks}};
}

/// Whether every stage has workers, and evenly many.
constexpr Error check_budget(const Budget& budget, u32 stages) noexcept {
    if (budget.workers < stages) {
        return {.code = Errc::rank_out_of_range, .got = budget.workers, .want = stages};
    }
    if (budget.workers % stages != 0) {
        return {.code = Errc::not_divisible, .got = budget.workers, .want = stages};
    }
    return {};
}

constexpr Error check_split(const ModelSpec& model, const Sharding& sharding) noexcept {
    if (const Error wrong = check_sharding(model, sharding, {}); wrong.code != Errc::ok) {
        return wrong;
    }
    if (sharding.cp > 1 && sharding.tp % sharding.cp != 0) {
        return {.code = Errc::not_divisible, .got = sharding.tp, .want = sharding.cp};
    }
    return {};
}

struct Engine {
    Options options{};
    Rules rules = newest_rules;

    /// Blocks, specs and groups; Grouping::reason says when vLLM refuses them.
    constexpr Error design(const ModelSpec& model, const Sharding& split, Design& made) const noexcept {
        made.sharding = sharding_of(split);
        made.options = with_form_facts(model, options);
        if (const Error wrong = check_split(model, made.sharding); wrong.code != Errc::ok) {
            return wrong;
        }
        if (const Error wrong = check_scale(model, made.options.block_size); wrong.code != Errc::ok) {
            return wrong;
        }
        const Result<BlockSizes> blocks = block_sizes_of(model, made.options, rules, made.sharding);
        if (!blocks) {
            return blocks.error();
        }
        made.blocks = *blocks;
        if (const Error wrong =
                layout_of(model, {made.options, rules, made.sharding, made.blocks}, made.layout);
            wrong.code != Errc::ok) {
            return wrong;
        }
        group(made.layout, made.options, rules, made.grouping);
        if (made.grouping.out_of_room) {
            return {.code = Errc::capacity, .got = most_specs, .want = made.grouping.kinds.capacity()};
        }
        made.load = load_of(made.options, rules, made.sharding);
        return {};
    }

    /// The whole story of a start.
    constexpr Outcome start(const ModelSpec& model, const Sharding& split,
                            const Budget& budget) const noexcept {
        Outcome outcome{};
        outcome.error = design(model, split, outcome.design);
        if (outcome.error.code == Errc::ok) {
            outcome.error = check_budget(budget, outcome.design.sharding.pp);
        }
        if (outcome.error.code == Errc::ok) {
            outcome.error = check_memory(budget);
        }
        if (outcome.error.code == Errc::ok) {
            run(budget, outcome);
        }
        if (outcome.runs() && outcome.plan.pools[0].allocated.value == off_scale) {
            outcome.error = {.code = Errc::overflow};
        }
        if (outcome.runs()) {
            fill_pages(model, outcome);
        }
        return outcome;
    }

    constexpr Result<PoolPlan> pools(const ModelSpec& model, const Sharding& split,
                                     const Budget& budget) const noexcept {
        const Outcome outcome = start(model, split, budget);
        if (outcome.runs()) {
            return outcome.plan;
        }
        return outcome.error.code != Errc::ok ? outcome.error : error_of(outcome.sizing.refusal);
    }

    /// The prefix that this engine's coordinator hits.
    constexpr Result<Hit> hits(const PoolPlan& plan, const Held* held,
                               const Request& request) const noexcept {
        LookupGroup groups[32]{};
        for (u32 c = 0; c < plan.classes.size(); ++c) {
            const GroupClass& kind = plan.classes[c];
            const SpecKind spec = static_cast<SpecKind>(kind.kind);
            const u64 block = spec == SpecKind::state ? kind.block : kind.block * larger(kind.steps.share, 1);
            groups[c] = {.kind = spec, .mode = mode_of(options), .drafts = kind.draft, .block = block,
                         .span = kind.retention.span.value, .tag = c, .held = {held[c].word, held[c].count}};
        }
        const Result<Lookedup> found = look_up({.groups = groups,
                                                .count = plan.classes.size(),
                                                .most = request.limit,
                                                .scheduler_block = plan.scheduler_block,
                                                .hash_block = plan.hash_block,
                                                .speculative = options.spec_tokens > 0,
                                                .context_parallel = deals(plan)});
        if (!found) {
            return found.error();
        }
        return Hit{.tokens = found->tokens, .missed = found->missed, .limiting = found->limiting,
                   .passes = found->passes};
    }

    friend constexpr bool operator==(const Engine&, const Engine&) = default;

    /// From the groups to the plan: for those who have specs instead of a model.
    constexpr void run(const Budget& budget, Outcome& outcome) const noexcept {
        const Design& made = outcome.design;
        const Planning with{made.layout, made.grouping, made.options, rules, made.load};
        outcome.sizing = size_pool(with, budget);
        outcome.boundaries = boundaries_of(made.grouping, made.options, rules, made.load.dcp);
        if (outcome.sizing.refusal.reason == Reason::none) {
            outcome.sizing.refusal.reason = outcome.boundaries.reason;
        }
        if (outcome.runs() && !made.grouping.kinds.empty()) {
            outcome.log = log_of(with, outcome.sizing, outcome.boundaries.reported);
        }
        if (outcome.runs()) {
            fill_plan(budget, outcome);
        }
    }

private:
    static constexpr bool deals(const PoolPlan& plan) noexcept {
        bool dealt_out = false;
        for (const GroupClass& kind : plan.classes) {
            dealt_out = dealt_out || kind.steps.share > 1;
        }
        return dealt_out;
    }

    constexpr void fill_plan(const Budget& budget, Outcome& outcome) const noexcept {
        const Design& made = outcome.design;
        PoolPlan& plan = outcome.plan;
        const u32 stage = stage_of(outcome.sizing.limiting, budget.workers, made.layout.stages);
        const Use& use = outcome.sizing.uses[stage];
        plan.pools.count = 1;
        plan.pools[0] = {.units = outcome.sizing.blocks, .spare = 1, .each = {use.per_block},
                         .allocated = {saturating_product(use.allocated, outcome.sizing.blocks)},
                         .limiting = outcome.sizing.limiting};
        for (const GroupKind& kind : made.grouping.kinds) {
            GroupClass& to = plan.classes[plan.classes.count++];
            to = {.groups = kind.groups, .kind = static_cast<u8>(kind.spec.kind), .mixed = kind.mixed,
                  .draft = kind.draft, .retention = retention_of(kind.spec), .block = kind.spec.block,
                  .page = {kind.page}, .charge = {use.per_request_block},
                  .steps = steps_of(kind.spec, made.load, rules)};
        }
        plan.placed = made.grouping.placed;
        for (const Use& each : outcome.sizing.uses) {
            static_cast<void>(plan.per_unit.push({each.per_block}));
        }
        plan.max_len = outcome.sizing.max_len;
        plan.scheduler_block = outcome.boundaries.scheduler;
        plan.hash_block = outcome.boundaries.hash;
        plan.reported_block = outcome.boundaries.reported;
    }

    static constexpr void fill_pages(const ModelSpec& model, Outcome& outcome) noexcept {
        const Design& made = outcome.design;
        outcome.plan.page_of_form.count = model.forms.size();
        for (u32 c = model.caches.size(); c-- > 0;) {
            if (const u16 spec = made.layout.caches[c].spec; spec != no_spec) {
                outcome.plan.page_of_form[model.caches[c].form] = {made.grouping.specs[spec].page()};
            }
        }
    }
};

}  // namespace kvcap::inline v1::vllm
