// SPDX-License-Identifier: MIT
// What do several engines make of many workers and many groups alike? The least memory of the workers of a stage, and
// the hit on which all groups agree, with what leaving out one group would gain.
#pragma once

#include <kvcap/engine/concept.hpp>
#include <kvcap/reuse/descent.hpp>

namespace kvcap::inline v1 {

/// Consecutive workers share a stage; every stage has as many.
constexpr Error check_workers(const Budget& budget, u32 stages) noexcept {
    if (stages == 0) {
        return {.code = Errc::zero_parallelism};
    }
    if (budget.workers == 0 || budget.workers % stages != 0) {
        return {.code = Errc::not_divisible, .got = budget.workers, .want = stages};
    }
    return {};
}

/// Least memory of all workers.
constexpr Bytes least_available(const Budget& budget) noexcept {
    Bytes least{off_scale};
    for (u32 i = 0; i < budget.workers; ++i) {
        least = budget.available[i] < least ? budget.available[i] : least;
    }
    return least;
}

/// The workers of one stage. pre: check_workers finds nothing
constexpr Budget workers_of(const Budget& budget, u32 stage, u32 stages) noexcept {
    const u32 each = budget.workers / stages;
    return {.available = budget.available + stage * each, .workers = each};
}

/// The greatest boundary that every group accepts. missed: how much longer it would be without the limiting group.
constexpr Result<Hit> common_hit(const Group<>* groups, u32 count, const Ask& ask) noexcept {
    if (const Error wrong = fault(groups, count, ask); wrong.code != Errc::ok) {
        return wrong;
    }
    Hit hit{.tokens = reusable(groups, count, ask)};
    for (u32 g = 0; g < count; ++g) {
        const u64 gain = common_floor(groups, count, ask.limit, ask.grid, {.first = g}) - hit.tokens;
        hit.limiting = gain > hit.missed ? g : hit.limiting;
        hit.missed = larger(hit.missed, gain);
    }
    return hit;
}

}  // namespace kvcap::inline v1
