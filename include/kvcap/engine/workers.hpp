// SPDX-License-Identifier: MIT
// What do several engines make of many workers and many groups alike? The least memory of a stage's workers,
// and the hit on which all groups agree, with the group that bound it.
#pragma once

#include <kvcap/engine/concept.hpp>
#include <kvcap/reuse/descent.hpp>

namespace kvcap::inline v1 {

/// The least memory of a stage's workers. pre: budget.workers is a multiple of stages
constexpr Bytes least_of_stage(const Budget& budget, u32 stages, u32 stage) noexcept {
    const u32 each = budget.workers / stages;
    Bytes least = budget.available[stage * each];
    for (u32 w = stage * each; w < (stage + 1) * each; ++w) {
        least = budget.available[w] < least ? budget.available[w] : least;
    }
    return least;
}

/// Whether every stage has workers, and evenly many.
constexpr Error check_workers(const Budget& budget, u32 stages) noexcept {
    if (stages == 0) {
        return {.code = Errc::zero_parallelism};
    }
    if (budget.workers < stages) {
        return {.code = Errc::rank_out_of_range, .got = budget.workers, .want = stages};
    }
    if (budget.workers % stages != 0) {
        return {.code = Errc::not_divisible, .got = budget.workers, .want = stages};
    }
    return {};
}

/// The least memory of all workers.
constexpr Bytes least_available(const Budget& budget) noexcept {
    return least_of_stage(budget, 1, 0);
}

/// The greatest boundary that every group accepts. limiting: the group that alone allows the least; missed:
/// how much further some group would go.
constexpr Result<Hit> common_hit(const Group<PageBits>* groups, u32 count, const Ask& ask) noexcept {
    if (const Error wrong = fault(groups, count, ask); wrong.code != Errc::ok) {
        return wrong;
    }
    const Descent<PageBits> descent{groups, count, ask.grid};
    Hit hit{.tokens = descent.floor(ask.limit), .passes = 1};
    u64 least = off_scale;
    u64 most = hit.tokens;
    for (u32 c = 0; c < count; ++c) {
        const u64 alone = descent.alone(c, ask.limit);
        hit.limiting = alone < least ? c : hit.limiting;
        least = smaller(alone, least);
        most = larger(most, alone);
    }
    hit.missed = most - hit.tokens;
    return hit;
}

}  // namespace kvcap::inline v1
