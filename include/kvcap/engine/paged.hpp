// SPDX-License-Identifier: MIT
// A paged engine whose rules are values: what an in-house engine states first. Caches of one retention form a
// class; a page of a class holds `block` tokens of all its caches, or one state of each; pages draw from one
// pool of equal units or from a pool per class. With vLLM's values it equals vLLM on models of one group.
#pragma once

#include <kvcap/engine/exact.hpp>

namespace kvcap::inline v1 {

/// block: tokens a page. spare: pages of each pool that are never given out. window_extra: pages a window or
/// chunk takes beyond ceil(min(span - 1 + in_flight, t) / block). state_slots: states a sequence keeps.
/// align: pages of one cache are multiples of it. numerator / denominator: the part of the budget that is
/// used.
struct PagedRules {
    u64 block = 16;
    u64 spare = 1;
    u32 window_extra = 1;
    u64 in_flight = 0;
    u32 state_slots = 1;
    bool pool_per_class = false;
    u64 align = 1;
    u64 numerator = 1;
    u64 denominator = 1;

    friend constexpr bool operator==(const PagedRules&, const PagedRules&) = default;
};

/// planned: the sequence by which the binding stage is chosen and memory is divided among pools of their own.
struct PagedEngine {
    PagedRules rules{};
    Lengths planned{.prompt = {8192}};
    u64 max_len = u64{1} << 40;

    constexpr Result<PoolPlan> pools(const ModelSpec& model, const Sharding& sharding,
                                     const Budget& budget) const noexcept {
        if (const Error wrong = checked(model, sharding, budget); wrong.code != Errc::ok) {
            return wrong;
        }
        const Result<u32> stage = binding_stage(budget, sharding.pp, [&](u32 s) noexcept -> Result<u64> {
            const Result<PoolPlan> plan = classes_of(model, sharding, s);
            return plan ? Result<u64>{need(*plan)} : Result<u64>{plan.error()};
        });
        if (!stage) {
            return stage.error();
        }
        Result<PoolPlan> plan = classes_of(model, sharding, *stage);
        if (!plan) {
            return plan.error();
        }
        const u64 available = least_of_stage(budget, sharding.pp, *stage).value;
        return with_pools(*plan, product_over(available, rules.numerator, rules.denominator), *stage);
    }

    /// Hits end at whole pages.
    constexpr Result<Hit> hits(const PoolPlan& plan, const Held* held,
                               const Request& request) const noexcept {
        return plain_hit(plan, held, request, plan.hash_block);
    }
    friend constexpr bool operator==(const PagedEngine&, const PagedEngine&) = default;

private:
    constexpr Error checked(const ModelSpec& model, const Sharding& sharding,
                            const Budget& budget) const noexcept {
        if (rules.block == 0 || rules.align == 0 || rules.denominator == 0) {
            return {.code = Errc::zero_dimension};
        }
        if (const Error wrong = check_sharding(model, sharding, {}); wrong.code != Errc::ok) {
            return wrong;
        }
        return check_workers(budget, sharding.pp);
    }

    constexpr Steps steps_of(const Retention& kept, const Sharding& sharding) const noexcept {
        Steps steps{.source = kept.source, .per = rules.block};
        switch (kept.keep) {
            case Keep::everything:
                steps.share = kept.source == Source::encoder ? 1 : sharding.cp;
                break;
            case Keep::last: return {.fixed = rules.state_slots};
            case Keep::window:
                steps.cap = saturating_sum(larger((kept.span + kept.sinks).value, 1) - 1, rules.in_flight);
                steps.plus = rules.window_extra;
                break;
            case Keep::chunk:
            case Keep::budget:
                steps.cap = saturating_sum((kept.span + kept.sinks).value, rules.in_flight);
                break;
            case Keep::once: break;
        }
        return steps;
    }

    /// Bytes of a page of one cache. A page must hold whole entries.
    constexpr Result<u64> page_of(const LayerForm& form, const Sharding& sharding) const noexcept {
        const Result<BytesPerSlot> each = bytes_per_slot(form, sharding);
        if (!each) {
            return each.error();
        }
        const bool one = form.retention.keep == Keep::last || form.retention.keep == Keep::once;
        if (!one && rules.block % form.retention.stride != 0) {
            return Error{.code = Errc::not_divisible, .got = rules.block, .want = form.retention.stride};
        }
        const u64 entries = one ? 1 : rules.block / form.retention.stride;
        return round_up(saturating_product(entries, each->value), rules.align);
    }

    static constexpr GroupClass& class_for(PoolPlan& plan, const Retention& kept) noexcept {
        u32 c = 0;
        while (c < plan.classes.size() && !(plan.classes[c].retention == kept)) {
            ++c;
        }
        plan.classes.count = c == plan.classes.size() ? c + 1 : plan.classes.size();
        return plan.classes[c];
    }

    /// Classes and pages of a stage, without pools. Constants that exist once a model are left to the
    /// caller's budget.
    constexpr Result<PoolPlan> classes_of(const ModelSpec& model, const Sharding& sharding,
                                          u32 stage) const noexcept {
        const Result<Inplace<u32, 32>> counts = caches_on_stage(model, sharding, stage);
        if (!counts) {
            return counts.error();
        }
        PoolPlan plan{.max_len = max_len, .scheduler_block = rules.block, .hash_block = rules.block,
                      .reported_block = rules.block};
        for (u32 i = 0; i < model.forms.size(); ++i) {
            const LayerForm& form = model.forms[i];
            const Result<u64> page = page_of(form, sharding);
            if (!page) {
                return page.error();
            }
            static_cast<void>(plan.page_of_form.push({*page}));
            if (form.retention.keep == Keep::once || (*counts)[i] == 0) {
                continue;
            }
            GroupClass& to = class_for(plan, form.retention);
            to.retention = form.retention;
            to.block = rules.block;
            to.steps = steps_of(form.retention, sharding);
            to.mixed = to.page.value != 0;
            to.page += Bytes{*page} * u64{(*counts)[i]};
            to.charge = to.page;
            if (to.page.value == off_scale) {
                return Errc::overflow;
            }
        }
        return plan;
    }

    /// Bytes of the planned sequence.
    constexpr u64 need(const PoolPlan& plan) const noexcept {
        u64 sum = 0;
        u64 widest = 0;
        for (const GroupClass& kind : plan.classes) {
            widest = larger(widest, kind.page.value);
        }
        for (const GroupClass& kind : plan.classes) {
            const u64 page = rules.pool_per_class ? kind.page.value : widest;
            sum = saturating_sum(sum, saturating_product(page, kind.steps.units(planned)));
        }
        return sum;
    }

    constexpr void add_pool(PoolPlan& plan, u64 bytes, u64 each, u32 stage) const noexcept {
        plan.pools[plan.pools.count++] = {.units = each == 0 ? 0 : bytes / each,
                                          .spare = rules.spare,
                                          .each = {each},
                                          .allocated = {each == 0 ? 0 : bytes / each * each},
                                          .limiting = stage};
    }

    constexpr Result<PoolPlan> with_pools(PoolPlan plan, u64 bytes, u32 stage) const noexcept {
        if (!rules.pool_per_class) {
            u64 widest = 0;
            for (GroupClass& kind : plan.classes) {
                widest = larger(widest, kind.page.value);
            }
            for (GroupClass& kind : plan.classes) {
                kind.charge = {widest};
            }
            add_pool(plan, bytes, widest, stage);
            static_cast<void>(plan.per_unit.push({widest}));
            return plan;
        }
        if (plan.classes.size() > plan.pools.capacity()) {
            return Error{.code = Errc::capacity, .got = plan.classes.size(), .want = plan.pools.capacity()};
        }
        const u64 all = need(plan);
        if (all == off_scale) {
            return Errc::overflow;
        }
        for (u32 c = 0; c < plan.classes.size(); ++c) {
            GroupClass& kind = plan.classes[c];
            const u64 own = saturating_product(kind.page.value, kind.steps.units(planned));
            kind.pool = static_cast<u16>(c);
            add_pool(plan, all == 0 ? 0 : product_over(bytes, own, all), kind.page.value, stage);
        }
        return plan;
    }
};

}  // namespace kvcap::inline v1
