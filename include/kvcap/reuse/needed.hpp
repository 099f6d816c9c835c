// SPDX-License-Identifier: MIT
// Which pages does boundary b need of a group, and which boundaries can be served at all? The servable set
// need not be an interval: a window of 2 with pages {0, 1, 3, 4} serves 1, 2 and 5, so no search by halves
// finds its maximum.
#pragma once

#include <kvcap/reuse/descent.hpp>

namespace kvcap::inline v1 {

/// Pages [0, sinks) and [first, end); the two do not overlap.
struct PageRange {
    u64 first = 0;
    u64 end = 0;
    u64 sinks = 0;
    bool none = false;  ///< the boundary can never be accepted: it is no place of a snapshot
    friend constexpr bool operator==(const PageRange&, const PageRange&) = default;
};

/// pages: how many the group has in all (an encoder's). pre: page, stride and a chunk's reach > 0
constexpr PageRange needed(const Rule& rule, u64 at, const Grid& grid, u64 pages) noexcept {
    const u64 end = pages_over(at, rule.page);
    if (at == 0) {
        return {};
    }
    switch (rule.needs) {
        case Needs::everything: return {.end = pages_over(finished(rule, at), rule.page)};
        case Needs::window: {
            const u64 first = rule.reach == 0   ? end
                              : at > rule.reach ? pages_below(at - rule.reach, rule.page)
                                                : 0;
            return {.first = first, .end = end,
                    .sinks = smaller(first, pages_over(smaller(rule.sinks, at), rule.page))};
        }
        case Needs::chunk: {
            const u64 start = at - at % rule.reach;
            return {.first = start == at ? end : pages_below(start, rule.page), .end = end};
        }
        case Needs::snapshot:
            return {.first = end - 1, .end = end, .none = at % rule.page != 0 && at != grid.tail};
        case Needs::whole: return {.end = pages};
        case Needs::nothing: break;
    }
    return {};
}

/// Whether the group accepts the boundary `at`.
template <PageSource S>
constexpr bool accepts(const Group<S>& group, u64 at, const Grid& grid) noexcept {
    const PageRange range = needed(group.rule, at, grid, group.pages.count);
    return !range.none && first_missing(group.pages, 0, range.sinks) >= range.sinks &&
           first_missing(group.pages, range.first, range.end) >= range.end;
}

/// Calls visit(tokens) for every boundary up to the limit that all groups accept, from the greatest down, 0
/// left out. pre: fault() finds none
template <PageSource S, class Visit>
constexpr void servable(const Group<S>* groups, u32 count, const Ask& ask, Visit visit) noexcept {
    for (u64 at = ask.limit; at > 0; --at) {
        at = common_floor(groups, count, at, ask.grid);
        if (at == 0) {
            return;
        }
        visit(at);
    }
}

}  // namespace kvcap::inline v1
