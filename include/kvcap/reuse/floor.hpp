// SPDX-License-Identifier: MIT
// The one primitive of prefix reuse: floor(group, at) = the greatest boundary not above `at` that the group
// accepts. bound: the part that is closed downwards (everything, sinks, whole); tail_floor: windows, chunks,
// snapshots.
#pragma once

#include <kvcap/reuse/rule.hpp>

namespace kvcap::inline v1 {

/// Quotient with a shift where a page size is a power of two. pre: by > 0
constexpr u64 pages_below(u64 tokens, u64 by) noexcept {
    return (by & (by - 1)) == 0 ? tokens >> std::countr_zero(by) : tokens / by;
}

/// pre: by > 0
constexpr u64 pages_over(u64 tokens, u64 by) noexcept {
    return tokens == 0 ? 0 : pages_below(tokens - 1, by) + 1;
}

/// Tokens of finished entries that boundary `at` needs.
constexpr u64 finished(const Rule& rule, u64 at) noexcept {
    const u64 kept = at > rule.lag ? at - rule.lag : 0;
    return kept - kept % rule.stride;
}

/// The greatest boundary that the downward-closed part of the group's rule accepts, not above `at`.
template <PageSource S>
constexpr u64 bound(const Group<S>& group, u64 at, const Grid& grid) noexcept {
    const Rule& rule = group.rule;
    if (rule.needs == Needs::everything) {
        const u64 end = pages_over(finished(rule, at), rule.page);
        const u64 page = first_missing(group.pages, 0, end);
        if (page >= end) {
            return at;
        }
        const u64 entries = page * rule.page / rule.stride * rule.stride;
        return grid.down(smaller(at, entries + (rule.stride - 1) + rule.lag));
    }
    if (rule.needs == Needs::window && rule.sinks != 0) {
        const u64 end = pages_over(smaller(rule.sinks, at), rule.page);
        const u64 page = first_missing(group.pages, 0, end);
        return page >= end ? at : grid.down(smaller(at, page * rule.page));
    }
    if (rule.needs == Needs::whole) {
        return first_missing(group.pages, 0, group.pages.count) == group.pages.count ? at : 0;
    }
    return at;
}

template <PageSource S>
constexpr u64 window_floor(const Group<S>& group, u64 at, const Grid& grid) noexcept {
    const Rule& rule = group.rule;
    while (at > 0 && rule.reach > 0) {
        const u64 first = at > rule.reach ? pages_below(at - rule.reach, rule.page) : 0;
        const u64 hole = last_missing(group.pages, first, pages_over(at, rule.page));
        if (hole == no_page) {
            break;
        }
        at = grid.down(smaller(hole, group.pages.count) * rule.page);
    }
    return at;
}

template <PageSource S>
constexpr u64 chunk_floor(const Group<S>& group, u64 at, const Grid& grid) noexcept {
    const Rule& rule = group.rule;
    while (at > 0) {
        const u64 start = at - at % rule.reach;
        const u64 end = pages_over(at, rule.page);
        const u64 hole = first_missing(group.pages, pages_below(start, rule.page), end);
        if (start == at || hole >= end) {
            break;
        }
        at = grid.down(larger(start, hole * rule.page));
    }
    return at;
}

template <PageSource S>
constexpr u64 snapshot_floor(const Group<S>& group, u64 at, const Grid& grid) noexcept {
    const u64 page = group.rule.page;
    while (at > 0) {
        const u64 end = at == grid.tail ? pages_over(at, page) : pages_below(at, page);
        const u64 found = last_held(group.pages, 0, end);
        if (found == no_page) {
            return 0;
        }
        const u64 place = smaller((found + 1) * page, grid.tail);
        at = grid.down(place);
        if (at == place) {
            break;
        }
    }
    return at;
}

/// The greatest boundary not above the boundary `at` that the rest of the rule accepts.
template <PageSource S>
constexpr u64 tail_floor(const Group<S>& group, u64 at, const Grid& grid) noexcept {
    switch (group.rule.needs) {
        case Needs::window: return window_floor(group, at, grid);
        case Needs::chunk: return chunk_floor(group, at, grid);
        case Needs::snapshot: return snapshot_floor(group, at, grid);
        case Needs::everything:
        case Needs::whole:
        case Needs::nothing: break;
    }
    return at;
}

/// pre: fault() finds none
template <PageSource S>
constexpr u64 floor(const Group<S>& group, u64 at, const Grid& grid) noexcept {
    return tail_floor(group, bound(group, grid.down(at), grid), grid);
}

}  // namespace kvcap::inline v1
