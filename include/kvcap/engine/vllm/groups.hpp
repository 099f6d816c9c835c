// SPDX-License-Identifier: MIT
// Which caches share a block table? Groups of equal size, so that one pool of equal blocks serves them all.
// Source: v1/core/kv_cache_utils.py `get_kv_cache_groups`, `_get_kv_cache_groups_uniform_page_size`.
#pragma once

#include <kvcap/engine/plan.hpp>
#include <kvcap/engine/vllm/unify.hpp>

namespace kvcap::inline v1::vllm {

/// none: no caches. one: a single spec. mixed: one group of one type, each cache with its own page. packed:
/// several mixed groups over one slab. general: groups of one spec each, equal pages.
enum class Shape : u8 { none, one, mixed, packed, general };

/// Equal groups. spec: what their manager works with. size: caches of the longest group. padding: caches that
/// the shorter ones lack, as vLLM warns. page: of one block of the first group, over all its caches where
/// mixed.
struct GroupKind {
    Spec spec{};
    u16 groups = 1;
    u16 caches = 0;
    u16 size = 0;
    u16 padding = 0;
    bool mixed = false;
    bool draft = false;
    u64 page = 0;
    friend constexpr bool operator==(const GroupKind&, const GroupKind&) = default;
};

struct Grouping {
    Shape shape = Shape::none;
    Reason reason = Reason::none;
    bool out_of_room = false;  ///< more than 32 kinds of groups
    bool unassigned = false;   ///< caches are in no group: vLLM stops after its memory check
    Specs specs{};             ///< of the layout, after unification
    Inplace<GroupKind, 32> kinds{};
    Inplace<Placement, 512> placed{};

    constexpr u32 groups() const noexcept {
        u32 sum = 0;
        for (const GroupKind& kind : kinds) {
            sum += kind.groups;
        }
        return sum;
    }
    friend constexpr bool operator==(const Grouping&, const Grouping&) = default;
};

inline constexpr Placement nowhere{.group_class = 0xffff, .group = 0xffff, .place = 0xffff};

/// Everything in one group.
constexpr void place_in_one(Grouping& to, const Layout& layout, const Spec& common, bool mixed) noexcept {
    GroupKind kind{.spec = common, .mixed = mixed};
    for (u32 c = 0; c < layout.caches.size(); ++c) {
        if (const u16 spec = layout.caches[c].spec; spec != no_spec) {
            kind.page = mixed ? kind.page + to.specs[spec].page() : common.page();
            to.placed[c] = {.group_class = 0, .group = 0, .place = kind.caches++};
        }
    }
    kind.size = kind.caches;
    to.shape = mixed ? Shape::mixed : Shape::one;
    static_cast<void>(to.kinds.push(kind));
}

/// Buckets of mergeable specs. same: the first spec equal to each (unification can make specs equal).
/// of: each spec's bucket. before: caches of its bucket that come before its own.
struct Buckets {
    Inplace<SpecList, 32> lists{};
    u16 same[most_specs]{};
    u16 of[most_specs]{};
    u16 before[most_specs]{};
    u16 caches[32]{};
    bool out_of_room = false;
};

constexpr u32 bucket_for(const Specs& specs, const Buckets& buckets, u16 spec, const Rules& rules) noexcept {
    const bool merges = rules.has(Change::merges_buckets);
    for (u32 b = 0; merges && b < buckets.lists.size(); ++b) {
        SpecList joined = buckets.lists[b];
        Spec common{};
        if (joined.push(spec) && merge(specs, joined, rules, common) == Merging::yes) {
            return b;
        }
    }
    return buckets.lists.size();
}

/// Specs without equals before them, in order.
constexpr SpecList distinct(const Specs& specs, const SpecList& used, Buckets& buckets) noexcept {
    SpecList list{};
    for (const u16 spec : used) {
        buckets.same[spec] = spec;
        for (const u16 earlier : list) {
            buckets.same[spec] = specs[earlier] == specs[spec] ? earlier : buckets.same[spec];
        }
        if (buckets.same[spec] == spec) {
            static_cast<void>(list.push(spec));
        }
    }
    return list;
}

constexpr Buckets buckets_of(const Specs& specs, const Layout& layout, const SpecList& used,
                             const Rules& rules) noexcept {
    Buckets buckets{};
    const SpecList list = distinct(specs, used, buckets);
    u16 count[most_specs]{};
    for (const Member& cache : layout.caches) {
        if (cache.spec != no_spec && specs[cache.spec].kind != SpecKind::hidden) {
            ++count[buckets.same[cache.spec]];
        }
    }
    for (const u16 spec : list) {
        const u32 b = bucket_for(specs, buckets, spec, rules);
        if (b == buckets.lists.size() && !buckets.lists.push(SpecList{})) {
            buckets.out_of_room = true;
            return buckets;
        }
        static_cast<void>(buckets.lists[b].push(spec));
        buckets.of[spec] = static_cast<u16>(b);
        buckets.before[spec] = buckets.caches[b];
        buckets.caches[b] = static_cast<u16>(buckets.caches[b] + count[spec]);
    }
    return buckets;
}

/// The largest bucket if it is below 1.5 times (earlier 1.25 times, earlier never) the smallest, else the
/// smallest.
constexpr u32 group_size_of(const Buckets& buckets, const Rules& rules) noexcept {
    u32 low = buckets.caches[0];
    u32 high = 0;
    for (u32 b = 0; b < buckets.lists.size(); ++b) {
        low = buckets.caches[b] < low ? buckets.caches[b] : low;
        high = buckets.caches[b] > high ? buckets.caches[b] : high;
    }
    const bool grows = rules.has(Change::grows_below_1_5)    ? high * 2 < low * 3
                       : rules.has(Change::grows_below_1_25) ? high * 4 < low * 5
                                                             : false;
    return grows ? high : low;
}

/// Cache number n of a bucket of k groups goes to group n mod k, so that group lengths differ by at most one.
constexpr void place_in_buckets(Grouping& to, const Layout& layout, const Buckets& buckets,
                                const Rules& rules) noexcept {
    const u32 size = group_size_of(buckets, rules);
    for (u32 b = 0; b < buckets.lists.size(); ++b) {
        const u32 caches = buckets.caches[b];
        GroupKind kind{.groups = static_cast<u16>(ceil_div(caches, size)),
                       .caches = static_cast<u16>(caches)};
        static_cast<void>(merge(to.specs, buckets.lists[b], rules, kind.spec));
        kind.size = static_cast<u16>(ceil_div(caches, kind.groups));
        kind.padding = static_cast<u16>(caches % size == 0 ? 0 : size - caches % size);
        kind.page = kind.spec.page();
        static_cast<void>(to.kinds.push(kind));
    }
    u16 next[most_specs]{};
    for (u32 c = 0; c < layout.caches.size(); ++c) {
        const u16 member = layout.caches[c].spec;
        if (member == no_spec || to.specs[member].kind == SpecKind::hidden) {
            continue;
        }
        const u16 spec = buckets.same[member];
        const u32 at = buckets.before[spec] + next[spec]++;
        const u16 groups = to.kinds[buckets.of[spec]].groups;
        to.placed[c] = {.group_class = buckets.of[spec], .group = static_cast<u16>(at % groups),
                        .place = static_cast<u16>(at / groups)};
    }
}

/// Hidden-state caches: a group each, its block the largest divisor of all blocks whose tokens fit the common
/// page.
constexpr void place_hidden(Grouping& to, const Layout& layout) noexcept {
    u64 divisor = 0;
    for (const GroupKind& kind : to.kinds) {
        divisor = greatest_common_divisor(divisor, kind.spec.block);
    }
    for (u32 c = 0; c < layout.caches.size(); ++c) {
        const u16 spec = layout.caches[c].spec;
        if (spec == no_spec || to.specs[spec].kind != SpecKind::hidden) {
            continue;
        }
        GroupKind kind{.spec = to.specs[spec], .caches = 1, .size = 1, .page = to.kinds[0].page};
        const u64 token = u64{kind.spec.heads} * kind.spec.key_dim * kind.spec.dtype_bytes;
        u64 block = smaller(divisor, larger(token == 0 ? divisor : kind.page / token, 1));
        while (divisor % block != 0) {
            --block;
        }
        kind.spec.block = block;
        kind.spec.padded = kind.page;
        to.placed[c] = {.group_class = static_cast<u16>(to.kinds.size()), .group = 0, .place = 0};
        if (!to.kinds.push(kind)) {
            to.out_of_room = true;
            return;
        }
    }
}

}  // namespace kvcap::inline v1::vllm
