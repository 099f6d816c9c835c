// SPDX-License-Identifier: MIT
// The engine that wastes nothing: a pool of bytes in which a sequence takes exactly what it holds. The
// reference that others are compared with. One unit is the greatest common divisor of what the forms take per
// slot on the stage.
#pragma once

#include <kvcap/engine/workers.hpp>
#include <kvcap/fold.hpp>

namespace kvcap::inline v1 {

/// The stage whose memory holds the fewest sequences, by `need(stage) -> Result<u64>` bytes of one.
constexpr Result<u32> binding_stage(const Budget& budget, u32 stages, auto need) noexcept {
    u32 binding = 0;
    u64 fewest = off_scale;
    for (u32 stage = 0; stage < stages; ++stage) {
        const Result<u64> bytes = need(stage);
        if (!bytes) {
            return bytes.error();
        }
        const u64 fit = *bytes == 0 ? off_scale : least_of_stage(budget, stages, stage).value / *bytes;
        binding = fit < fewest ? stage : binding;
        fewest = smaller(fit, fewest);
    }
    return binding;
}

/// The greatest boundary that every class of the plan accepts, on multiples of `unit` tokens.
constexpr Result<Hit> plain_hit(const PoolPlan& plan, const Held* held, const Request& request,
                                u64 unit) noexcept {
    Group<PageBits> groups[32]{};
    const u32 count = plan.classes.size();
    for (u32 c = 0; c < count; ++c) {
        groups[c] = {.rule = rule_of(plan.classes[c].retention, plan.classes[c].block),
                     .pages = {held[c].word, held[c].count}};
    }
    const Ask ask{.prompt = request.lengths.prompt.value, .limit = request.limit, .grid = {.unit = unit}};
    return common_hit(groups, count, ask);
}

/// planned: the sequence by which the binding pipeline stage is chosen; the plan describes that stage.
struct ExactEngine {
    Lengths planned{.prompt = {8192}};
    u64 max_len = u64{1} << 40;

    /// Errors: the split's; Errc::unsupported for windows of strided entries and for dealt tokens in runs,
    /// whose exact count is no staircase; Errc::capacity when forms have no common unit of use.
    constexpr Result<PoolPlan> pools(const ModelSpec& model, const Sharding& sharding,
                                     const Budget& budget) const noexcept {
        if (const Error wrong = check_workers(budget, sharding.pp); wrong.code != Errc::ok) {
            return wrong;
        }
        const Result<u32> stage = binding_stage(budget, sharding.pp, [&](u32 s) noexcept -> Result<u64> {
            const Result<Footprint> held = fold(model, planned, sharding, {.stage = s});
            return held ? Result<u64>{held->per_sequence().value} : Result<u64>{held.error()};
        });
        if (!stage) {
            return stage.error();
        }
        return plan_of(model, sharding, *stage, least_of_stage(budget, sharding.pp, *stage));
    }

    /// Pages are single slots.
    constexpr Result<Hit> hits(const PoolPlan& plan, const Held* held,
                               const Request& request) const noexcept {
        return plain_hit(plan, held, request, 1);
    }
    friend constexpr bool operator==(const ExactEngine&, const ExactEngine&) = default;

private:
    /// Slots as a staircase: floor((t - lag) / stride) = ceil((t - lag - (stride - 1)) / stride).
    static constexpr Result<Steps> steps_of(const LayerForm& form, const Sharding& sharding) noexcept {
        const Retention& kept = form.retention;
        const bool dealt_out =
            sharding.cp > 1 && kept.keep == Keep::everything && kept.source != Source::encoder;
        const bool whole = kept.keep != Keep::everything && kept.stride != 1;
        if (whole || (dealt_out && (sharding.interleave != 1 || kept.stride != 1))) {
            const bool runs = !whole && sharding.interleave != 1;
            return Error{.code = Errc::unsupported,
                         .what = whole  ? Uncovered::strided_window
                                 : runs ? Uncovered::dealt_runs : Uncovered::dealt_stride,
                         .got = runs ? sharding.interleave : kept.stride};
        }
        Steps steps{.source = kept.source, .per = kept.stride, .share = dealt_out ? sharding.cp : 1,
                    .less = saturated_u32(u64{kept.lag} + kept.stride - 1)};
        if (kept.keep == Keep::last) {
            return Steps{.source = kept.source, .cap = 1};
        }
        if (kept.keep != Keep::everything) {
            steps.cap = (kept.span + kept.sinks).value;
        }
        return steps;
    }

    constexpr Result<PoolPlan> plan_of(const ModelSpec& model, const Sharding& sharding, u32 stage,
                                       Bytes available) const noexcept {
        const Result<Inplace<u32, 32>> counts = caches_on_stage(model, sharding, stage);
        PoolPlan plan{.max_len = max_len, .scheduler_block = 1, .hash_block = 1, .reported_block = 1};
        u64 once = 0;
        u64 unit = 0;
        for (u32 i = 0; i < model.forms.size(); ++i) {
            const LayerForm& form = model.forms[i];
            const u64 bytes = bytes_per_slot(form, sharding).value().value;
            static_cast<void>(plan.page_of_form.push({bytes}));
            const u64 own = saturating_product(bytes, (*counts)[i]);
            if (own == off_scale) {
                return Errc::overflow;
            }
            if (form.retention.keep == Keep::once) {
                once = saturating_sum(once, own);
                continue;
            }
            const Result<Steps> steps = steps_of(form, sharding);
            if (!steps) {
                return steps.error();
            }
            unit = greatest_common_divisor(unit, own);
            plan.classes[plan.classes.count++] = {.retention = form.retention, .block = form.retention.stride,
                                                  .page = {own}, .steps = *steps};
        }
        return with_pool(plan, unit == 0 ? 1 : unit, {available.value - smaller(available.value, once)},
                         stage);
    }

    static constexpr Result<PoolPlan> with_pool(PoolPlan plan, u64 unit, Bytes available,
                                                u32 stage) noexcept {
        for (GroupClass& kind : plan.classes) {
            const u64 units = kind.page.value / unit;
            if (units > 0xffff) {
                return Error{.code = Errc::capacity, .got = units, .want = 0xffff};
            }
            kind.groups = static_cast<u16>(units);
            kind.page = {unit};
            kind.charge = {unit};
        }
        plan.pools.count = 1;
        plan.pools[0] = {.units = available.value / unit, .each = {unit},
                         .allocated = {available.value / unit * unit}, .limiting = stage};
        static_cast<void>(plan.per_unit.push({unit}));
        return plan;
    }
};

}  // namespace kvcap::inline v1
