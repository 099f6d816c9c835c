// SPDX-License-Identifier: MIT
// What does an engine make of a model? Pools of equal units, group classes that draw from them, and where each cache
// lies. Everything an engine would log follows from this value; demand.hpp answers every capacity question from it.
#pragma once

#include <kvcap/sharding.hpp>

namespace kvcap::inline v1 {

/// Units one request of a group class takes, as a staircase in its tokens t (of `source`; without the `less` youngest;
/// dealt to `share` ranks): `fixed` if not 0, else ceil(min(ceil(t / share), cap) / per) + plus + (t > cap ? over : 0).
struct Steps {
    Source source = Source::decoder;
    u64 cap = off_scale;
    u64 per = 1;
    u32 plus = 0;
    u32 over = 0;
    u32 fixed = 0;
    u32 share = 1;
    u32 less = 0;

    constexpr u64 units_at(u64 tokens) const noexcept {
        if (fixed != 0) {
            return fixed;
        }
        tokens -= smaller(tokens, less);
        const u64 here = smaller(ceil_div(tokens, share), cap);
        return saturating_sum(ceil_div(here, per), u64{plus} + (tokens > cap ? over : 0));
    }
    /// Units of one request with branches: whole units of the kept prompt part (and of encoder tokens) are shared, the
    /// rest is per branch.
    constexpr u64 units(const Lengths& lengths) const noexcept {
        const u64 all = units_at(lengths.from(source));
        if (lengths.branches <= 1 || fixed != 0) {
            return saturating_product(all, larger(lengths.branches, 1));
        }
        const u64 kept = smaller(lengths.from(source), cap);
        const u64 own = source == Source::encoder ? 0 : lengths.decoded.value;
        const u64 shared = smaller(kept > own ? (kept - own) / per : 0, all);
        return saturating_sum(shared, saturating_product(all - shared, lengths.branches));
    }
    friend constexpr bool operator==(const Steps&, const Steps&) = default;
};

/// Groups of caches that an engine treats alike. block: tokens per unit. page: bytes of one unit of one group.
/// charge: bytes the engine's own fit check counts for one unit (it may differ from the pool's).
struct GroupClass {
    u16 pool = 0;
    u16 groups = 1;
    u8 kind = 0;
    bool mixed = false;
    bool draft = false;
    Retention retention{};
    u64 block = 0;
    Bytes page{};
    Bytes charge{};
    Steps steps{};
    friend constexpr bool operator==(const GroupClass&, const GroupClass&) = default;
};

/// units: allocatable, `spare` of them inside but never given out (null block), `extra` outside (dummy page).
/// copies: streams or replicas of the whole pool. second: units of a second tier. limiting: the worker that binds.
struct Pool {
    u64 units = 0;
    u64 spare = 0;
    u64 extra = 0;
    u64 copies = 1;
    Bytes each{};
    u64 second = 0;
    Bytes allocated{};
    u32 limiting = 0;
    friend constexpr bool operator==(const Pool&, const Pool&) = default;
};

/// Where a cache lies: its class, which group of the class, and its place in that group.
struct Placement {
    u16 group_class = 0;
    u16 group = 0;
    u16 place = 0;
    friend constexpr bool operator==(const Placement&, const Placement&) = default;
};

/// A cache that lies in no pool (constants beside it).
inline constexpr Placement nowhere{.group_class = 0xffff, .group = 0xffff, .place = 0xffff};

struct PoolPlan {
    Inplace<Pool, 8> pools{};
    Inplace<GroupClass, 32> classes{};
    Inplace<Placement, 512> placed{};
    Inplace<Bytes, 32> page_of_form{};
    Inplace<Bytes, 64> per_unit{};
    u64 max_len = 0;
    u64 scheduler_block = 0;
    u64 hash_block = 0;
    u64 reported_block = 0;
    friend constexpr bool operator==(const PoolPlan&, const PoolPlan&) = default;
};

}  // namespace kvcap::inline v1
