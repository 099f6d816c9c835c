// SPDX-License-Identifier: MIT
// Does this load fit into this plan, by how much, and what is the longest or the most that does? Any engine: a request
// takes `demand` units of each pool, and a pool gives units x copies less its spare ones. Lengths are inverted on the
// plan's staircases; nothing is planned again.
#pragma once

#include <kvcap/capacity.hpp>
#include <kvcap/engine/demand.hpp>

namespace kvcap::inline v1 {

/// counts[i] requests of lengths each[i], at once.
struct Load {
    const Lengths* each = nullptr;
    const u64* counts = nullptr;
    u32 kinds = 0;
};

/// pool: the one with the least room (or the largest lack). needed, usable: its units. spare_bytes: what is left in it
/// when it fits; lacking_bytes: what is missing when it does not.
struct Verdict {
    bool fits = false;
    u32 pool = 0;
    u64 needed = 0;
    u64 usable = 0;
    Bytes spare_bytes{};
    Bytes lacking_bytes{};
    friend constexpr bool operator==(const Verdict&, const Verdict&) = default;
};

/// Units of a pool that requests can have.
constexpr u64 usable_units(const Pool& pool) noexcept {
    const u64 all = saturating_product(pool.units, larger(pool.copies, 1));
    const u64 kept = saturating_product(pool.spare, larger(pool.copies, 1));
    return all > kept ? all - kept : 0;
}

/// Units of every pool that the load takes.
constexpr Inplace<u64, 8> taken(const PoolPlan& plan, const Load& load) noexcept {
    Inplace<u64, 8> sum{};
    sum.count = plan.pools.size();
    for (u32 kind = 0; kind < load.kinds; ++kind) {
        const Demand one = demand(plan, load.each[kind]);
        for (u32 i = 0; i < sum.size(); ++i) {
            sum[i] = saturating_sum(sum[i], saturating_product(one.units[i], load.counts[kind]));
        }
    }
    return sum;
}

constexpr Verdict judge(const PoolPlan& plan, const Load& load) noexcept {
    const Inplace<u64, 8> need = taken(plan, load);
    Verdict worst{.fits = true};
    for (u32 i = 0; i < plan.pools.size(); ++i) {
        const Pool& pool = plan.pools[i];
        const u64 have = usable_units(pool);
        Verdict here{.fits = need[i] <= have, .pool = i, .needed = need[i], .usable = have};
        if (here.fits) {
            here.spare_bytes = pool.each * (have - need[i]);
        } else {
            here.lacking_bytes = pool.each * (need[i] - have);
        }
        const bool tighter = here.fits ? worst.fits && here.spare_bytes < worst.spare_bytes
                                       : worst.fits || worst.lacking_bytes < here.lacking_bytes;
        worst = i == 0 || tighter ? here : worst;
    }
    return worst;
}

constexpr Verdict judge(const PoolPlan& plan, const Lengths& lengths, u64 sequences) noexcept {
    return judge(plan, {.each = &lengths, .counts = &sequences, .kinds = 1});
}

/// Most requests of these lengths at once; off_scale when they take nothing.
constexpr u64 most_sequences(const PoolPlan& plan, const Lengths& lengths) noexcept {
    const Demand one = demand(plan, lengths);
    u64 most = off_scale;
    for (u32 i = 0; i < plan.pools.size(); ++i) {
        if (one.units[i] != 0) {
            most = smaller(most, usable_units(plan.pools[i]) / one.units[i]);
        }
    }
    return most;
}

/// Longest prompt that `sequences` requests can have at once beside what `like` says of decoded and encoder tokens; at
/// most `limit` (0 when none fits).
constexpr Tokens longest(const PoolPlan& plan, u64 sequences, Tokens limit, Lengths like = {}) noexcept {
    const u64 most = limit.value > like.decoded.value ? limit.value - like.decoded.value : 0;
    return {largest(most, [&](u64 n) noexcept {
        like.prompt = {n};
        return judge(plan, like, sequences).fits;
    })};
}

}  // namespace kvcap::inline v1
