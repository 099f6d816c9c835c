// SPDX-License-Identifier: MIT
// Which prefix would vLLM skip? Its coordinators over the finders: the candidate is lowered until every class
// accepts it; a drafter's class pays its look-ahead block once, so the answer depends on the path and is no
// plain intersection. Source: v1/core/kv_cache_coordinator.py (2026-08-20).
#pragma once

#include <kvcap/engine/vllm/finders.hpp>

namespace kvcap::inline v1::vllm {

/// most: the most tokens that may be hit (the prompt less one). speculative: a drafter that reads hidden
/// states runs; with no flagged group every group counts as its own. context_parallel: decode context
/// parallelism is on.
struct Lookup {
    const LookupGroup* groups = nullptr;
    u32 count = 0;
    u64 most = 0;
    u64 scheduler_block = 16;
    u64 hash_block = 16;
    bool speculative = false;
    bool context_parallel = false;
};

/// tokens: hit. missed: how much longer the hit was at its best in the descent (vLLM pins that junction).
/// limiting: a group whose class lowered it last. per_group: what is handed over.
struct Lookedup {
    u64 tokens = 0;
    u64 missed = 0;
    u32 limiting = 0;
    u32 passes = 0;
    Inplace<Found, most_lookup_groups> per_group{};
};

struct Blocks {
    u64 scheduler = 0;
    u64 hash = 0;
    friend constexpr bool operator==(const Blocks&, const Blocks&) = default;
};

/// Scheduler and hash granularity (`resolve_kv_cache_block_sizes`). match_unit 0: not given. blocks of the
/// groups are the effective ones.
constexpr Result<Blocks> resolve_blocks(const LookupGroup* groups, u32 count, u64 match_unit = 0,
                                        bool hashed = true) noexcept {
    if (count == 1) {
        return Blocks{groups[0].block, groups[0].block};
    }
    u64 scheduler = 1;
    u64 finest = 0;
    bool aligned = true;
    for (u32 g = 0; g < count; ++g) {
        scheduler = least_common_multiple(scheduler, groups[g].block);
        finest = greatest_common_divisor(finest, groups[g].block);
        aligned = aligned && (groups[g].kind != SpecKind::state || groups[g].mode == StateMode::align);
    }
    const u64 hash = !hashed || !aligned ? scheduler : match_unit != 0 ? match_unit : finest;
    for (u32 g = 0; g < count; ++g) {
        if (groups[g].block % hash != 0) {
            return Error{.code = Errc::not_divisible, .layer = g, .got = groups[g].block, .want = hash};
        }
    }
    return Blocks{scheduler, hash};
}

/// The classes of a lookup: groups of one spec, those that keep everything first.
struct Classes {
    Inplace<ClassBits, most_lookup_groups> all{};
    u64 drafts = 0;     ///< bit c: class c holds a drafter's look-ahead
    bool fine = false;  ///< hits may end inside blocks
    u64 alignment = 0;
};

constexpr bool fine_grained(const Lookup& asked) noexcept {
    bool wanted = false;
    for (u32 g = 0; g < asked.count; ++g) {
        const LookupGroup& group = asked.groups[g];
        const bool state = group.kind == SpecKind::state;
        wanted = wanted || (state && group.mode == StateMode::align &&
                            (group.block > asked.hash_block ||
                             (asked.context_parallel && group.block == asked.hash_block)));
        if (!state && !is_full(group.kind) && group.block != asked.hash_block) {
            return false;
        }
    }
    return wanted;
}

constexpr void add_classes(const Lookup& asked, bool full, bool flagged, Classes& classes) noexcept {
    for (u32 g = 0; g < asked.count; ++g) {
        const LookupGroup& group = asked.groups[g];
        if (is_full(group.kind) != full) {
            continue;
        }
        u32 c = 0;
        while (c < classes.all.size() && !classes.all[c].first().same_spec(group)) {
            ++c;
        }
        if (c == classes.all.size()) {
            static_cast<void>(classes.all.push({.groups = asked.groups, .count = group.held.count}));
        }
        ClassBits& bits = classes.all[c];
        bits.members |= u64{1} << g;
        bits.count = smaller(bits.count, group.held.count);
        classes.drafts |= u64{group.drafts || (asked.speculative && !flagged) ? 1u : 0u} << c;
    }
}

/// pre: count > 0. Refused as vLLM refuses.
constexpr Result<Classes> classes_of(const Lookup& asked) noexcept {
    if (asked.count == 0 || asked.count > most_lookup_groups) {
        return Error{.code = Errc::capacity, .got = asked.count, .want = most_lookup_groups};
    }
    bool flagged = false;
    for (u32 g = 0; g < asked.count; ++g) {
        const LookupGroup& group = asked.groups[g];
        if (group.block == 0 || (group.kind == SpecKind::chunked && group.span == 0)) {
            return Error{.code = Errc::zero_dimension, .layer = g};
        }
        if (asked.context_parallel && !is_full(group.kind) && group.kind != SpecKind::state) {
            return Error{.code = Errc::refused_combination, .layer = g, .got = static_cast<u64>(group.kind)};
        }
        flagged = flagged || group.drafts;
    }
    Classes classes{.fine = asked.count > 1 && fine_grained(asked)};
    classes.alignment = asked.count == 1 ? asked.groups[0].block
                        : classes.fine   ? asked.hash_block
                                         : asked.scheduler_block;
    add_classes(asked, true, flagged, classes);
    add_classes(asked, false, flagged, classes);
    return classes;
}

/// What a class may look at to answer for `at`: its look-ahead block beyond, unless that was paid.
constexpr Wanted wanted_of(const Lookup& asked, const Classes& classes, u32 c, u64 at, bool drop) noexcept {
    const LookupGroup& group = classes.all[c].first();
    Wanted wanted{.most = at, .alignment = classes.alignment, .drop = drop};
    if (drop && group.kind != SpecKind::state) {
        const bool units = classes.fine && is_full(group.kind) && group.block > asked.hash_block;
        wanted.most = smaller(at + (units ? asked.hash_block : group.block), asked.most);
    }
    return wanted;
}

/// What group `g` would hit by itself, with its class's drop and the common alignment.
constexpr Result<u64> found_alone(const Lookup& asked, u32 g) noexcept {
    const Result<Classes> classes = classes_of(asked);
    if (!classes) {
        return classes.error();
    }
    for (u32 c = 0; c < classes->all.size(); ++c) {
        if ((classes->all[c].members >> g & 1) != 0) {
            const bool drop = (classes->drafts >> c & 1) != 0;
            const Result<Found> found = find(classes->all[c], {asked.most, classes->alignment, drop});
            return found ? Result<u64>{found->tokens} : Result<u64>{found.error()};
        }
    }
    return Error{.code = Errc::capacity, .got = g, .want = asked.count};
}

/// The longest common hit.
constexpr Result<Lookedup> look_up(const Lookup& asked) noexcept {
    const Result<Classes> known = classes_of(asked);
    if (!known) {
        return known.error();
    }
    const Classes& classes = *known;
    const u32 count = classes.all.size();
    const bool two = count == 2 && is_full(classes.all[0].first().kind);
    Inplace<Found, most_lookup_groups> found{};
    found.count = count;
    Lookedup result{.tokens = asked.most};
    u64 verified = 0;
    u64 longest = 0;
    for (bool lowered = true; lowered;) {
        u64 at = result.tokens;
        for (u32 c = 0; c < count; ++c) {
            const u64 bit = u64{1} << c;
            u64 next = smaller(at, found[c].tokens);
            if (result.passes == 0 || !is_full(classes.all[c].first().kind)) {
                const bool drop = (classes.drafts & bit) != 0 && (verified & bit) == 0;
                const Result<Found> own = find(classes.all[c], wanted_of(asked, classes, c, at, drop));
                if (!own) {
                    return own.error();
                }
                found[c] = *own;
                next = own->tokens;
                verified = drop ? verified | bit : next < at ? 0 : verified;
                longest = larger(longest, next);
            }
            result.limiting = next < at ? c : result.limiting;
            at = next;
        }
        ++result.passes;
        lowered = at < result.tokens && !(two || asked.count == 1);
        result.tokens = smaller(at, result.tokens);
    }
    if (const LookupGroup& first = classes.all[0].first(); is_full(first.kind)) {
        found[0].blocks = smaller(found[0].blocks, ceil_div(result.tokens, first.block));
    }
    result.missed = asked.count == 1 ? 0 : longest - smaller(longest, result.tokens);
    result.limiting = static_cast<u32>(std::countr_zero(classes.all[result.limiting].members));
    result.per_group.count = asked.count;
    for (u32 c = 0; c < count; ++c) {
        for (u64 rest = classes.all[c].members; rest != 0; rest &= rest - 1) {
            result.per_group[static_cast<u32>(std::countr_zero(rest))] = found[c];
        }
    }
    return result;
}

}  // namespace kvcap::inline v1::vllm
