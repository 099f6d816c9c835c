// SPDX-License-Identifier: MIT
// What would it cost to skip more? cost(p) = bytes of all pages and snapshots that boundary p needs and that
// are missing. That set is the only smallest one that makes p acceptable, so nothing is searched for: one
// sweep from the right gives the staircase of boundaries that no other beats in both tokens and bytes.
#pragma once

#include <kvcap/reuse/needed.hpp>
#include <kvcap/reuse/staircase.hpp>

namespace kvcap::inline v1 {

/// bytes[g]: of one page or snapshot of group g. elsewhere[g]: pages that can be fetched or recomputed (null:
/// all can); a boundary that needs a missing page not found there cannot be reached.
template <PageSource S = PageBits>
struct Prices {
    const u64* bytes = nullptr;
    const S* elsewhere = nullptr;
};

/// Missing pages of [first, end): their number, and how many of them can be had nowhere.
struct Gaps {
    u64 missing = 0;
    u64 lost = 0;

    template <PageSource S>
    constexpr void add(const S& pages, const S* elsewhere, u64 first, u64 end, bool gone = false) noexcept {
        while (first < end) {
            const u64 stop = smaller(end, first - first % 64 + 64);
            const u64 bits = ~word_of(pages, first / 64) & (low_bits(stop - first) << (first % 64));
            const u64 none = elsewhere == nullptr ? 0 : bits & ~word_of(*elsewhere, first / 64);
            const u64 some = static_cast<u64>(std::popcount(bits));
            missing = gone ? missing - some : missing + some;
            lost = gone ? lost - static_cast<u64>(std::popcount(none))
                        : lost + static_cast<u64>(std::popcount(none));
            first = stop;
        }
    }
};

/// The gaps of one group at falling boundaries: what leaves is subtracted, what enters is added.
template <PageSource S>
struct FallingGaps {
    PageRange range{};
    Gaps gaps{};

    constexpr void move(const S& pages, const S* elsewhere, const PageRange& to) noexcept {
        if (to.first == to.end || to.end <= range.first || range.end <= to.first) {  // nothing in common
            gaps.add(pages, elsewhere, range.first, range.end, true);
            gaps.add(pages, elsewhere, to.first, to.end);
        } else {
            gaps.add(pages, elsewhere, to.end, range.end, true);
            gaps.add(pages, elsewhere, to.first, range.first);
        }
        gaps.add(pages, elsewhere, smaller(to.sinks, range.sinks), range.sinks, true);
        gaps.add(pages, elsewhere, range.sinks, larger(to.sinks, range.sinks));
        range = to;
    }
};

/// Any page sizes: a step a boundary.
template <PageSource S, class Visit>
constexpr void sweep_boundaries(const Group<S>* groups, u32 count, const Ask& ask, const Prices<S>& prices,
                                u64 above, Staircase<Visit>& stairs) noexcept {
    FallingGaps<S> falling[most_groups]{};
    for (u64 at = ask.grid.down(ask.limit); at > above; at = ask.grid.down(at - 1)) {
        u64 bytes = 0;
        bool reachable = true;
        for (u32 g = 0; g < count; ++g) {
            const S& pages = groups[g].pages;
            const PageRange range = needed(groups[g].rule, at, ask.grid, pages.count);
            falling[g].move(pages, prices.elsewhere == nullptr ? nullptr : prices.elsewhere + g, range);
            bytes = saturating_sum(bytes, saturating_product(falling[g].gaps.missing, prices.bytes[g]));
            reachable = reachable && !range.none && falling[g].gaps.lost == 0;
        }
        if (reachable) {
            stairs.offer(at, bytes);
        }
    }
}

/// Calls visit(group, page) for everything that boundary `at` needs and that is missing. pre: needed() gives
/// no `none`
template <PageSource S, class Visit>
constexpr void missing_at(const Group<S>* groups, u32 count, u64 at, const Grid& grid, Visit visit) noexcept {
    for (u32 g = 0; g < count; ++g) {
        const PageRange range = needed(groups[g].rule, at, grid, groups[g].pages.count);
        const auto each = [&](u64 first, u64 end) noexcept {
            for (u64 page = first; page < end; ++page) {
                if (!held(groups[g].pages, page)) {
                    visit(g, page);
                }
            }
        };
        each(0, range.sinks);
        each(range.first, range.end);
    }
}

/// Bytes of one boundary alone; off_scale when it cannot be reached.
template <PageSource S>
constexpr u64 repair_bytes(const Group<S>* groups, u32 count, u64 at, const Grid& grid,
                           const Prices<S>& prices) noexcept {
    u64 bytes = 0;
    for (u32 g = 0; g < count; ++g) {
        const PageRange range = needed(groups[g].rule, at, grid, groups[g].pages.count);
        const S* elsewhere = prices.elsewhere == nullptr ? nullptr : prices.elsewhere + g;
        Gaps gaps{};
        gaps.add(groups[g].pages, elsewhere, 0, range.sinks);
        gaps.add(groups[g].pages, elsewhere, range.first, range.end);
        if (range.none || gaps.lost != 0) {
            return off_scale;
        }
        bytes = saturating_sum(bytes, saturating_product(gaps.missing, prices.bytes[g]));
    }
    return bytes;
}

/// The staircase above the present answer, longest boundary first; with `at_least`, only boundaries from
/// there on (a target). pre: fault() finds none; the bytes of all groups' missing pages sum to less than 2^64
template <PageSource S, class Visit>
constexpr Repairs repair(const Group<S>* groups, u32 count, const Ask& ask, const Prices<S>& prices,
                         Visit visit, u64 at_least = 0) noexcept {
    const u64 now = reusable(groups, count, ask);
    Staircase<Visit> stairs{.found = {.now = now}, .visit = visit};
    const u64 above = at_least > now ? at_least - 1 : now;
    if (one_page_size(groups, count, ask.grid) && prices.elsewhere == nullptr) {
        sweep_pages(groups, count, pages_below(ask.limit, ask.grid.unit), pages_below(above, ask.grid.unit),
                    ask.grid.unit, prices.bytes, stairs);
    } else {
        sweep_boundaries(groups, count, ask, prices, above, stairs);
    }
    return stairs.found;
}

template <PageSource S>
constexpr Repairs repair(const Group<S>* groups, u32 count, const Ask& ask, const Prices<S>& prices,
                         u64 at_least = 0) noexcept {
    return repair(groups, count, ask, prices, [](const RepairStep&) noexcept {}, at_least);
}

}  // namespace kvcap::inline v1
