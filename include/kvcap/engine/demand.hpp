// SPDX-License-Identifier: MIT
// What does one request take of a plan, and how many fit? One function for every engine, because demand is data:
// each group class carries its staircase (Steps).
#pragma once

#include <kvcap/engine/plan.hpp>

namespace kvcap::inline v1 {

/// units: per pool. charged: bytes in the engine's own fit check.
struct Demand {
    Inplace<u64, 8> units{};
    Bytes charged{};
    friend constexpr bool operator==(const Demand&, const Demand&) = default;
};

/// A quotient that stays exact until it is printed.
struct Ratio {
    u64 over = 0;
    u64 under = 1;
    friend constexpr bool operator==(const Ratio&, const Ratio&) = default;
};

constexpr Demand demand(const PoolPlan& plan, const Lengths& lengths) noexcept {
    Demand sum{};
    sum.units.count = plan.pools.size();
    for (const GroupClass& group_class : plan.classes) {
        const u64 units = saturating_product(group_class.steps.units(lengths), group_class.groups);
        u64& pool = sum.units[group_class.pool];
        pool = saturating_sum(pool, units);
        sum.charged += group_class.charge * units;
    }
    return sum;
}

/// Requests of these lengths that the scarcest pool holds, as units / demand; all units count, spare ones too, as
/// engines log it. Nothing demanded: {0, 0}.
constexpr Ratio concurrency(const PoolPlan& plan, const Lengths& lengths) noexcept {
    const Demand need = demand(plan, lengths);
    Ratio least{.over = 0, .under = 0};
    for (u32 i = 0; i < plan.pools.size(); ++i) {
        const u64 have = saturating_product(plan.pools[i].units, plan.pools[i].copies);
        const u64 want = need.units[i];
        const bool scarcer = least.under == 0 || product_exceeds(least.over, want, have, least.under);
        if (want != 0 && scarcer) {
            least = {have, want};
        }
    }
    return least;
}

}  // namespace kvcap::inline v1
