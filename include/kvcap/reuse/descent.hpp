// SPDX-License-Identifier: MIT
// How far can this prompt be skipped? The greatest boundary that every group accepts. First the bound of what
// must be held from the start, then the descent: ask the groups in turn, each from the last answer, until a
// round changes nothing (leapfrog); when it drags, tiles of 512 boundaries from the right. The acceptance
// sets are fixed, so this is exactly the greatest common boundary.
#pragma once

#include <kvcap/reuse/resample.hpp>
#include <kvcap/reuse/tile.hpp>

namespace kvcap::inline v1 {

/// Up to two groups left out of a question.
struct Without {
    u32 first = ~u32{0};
    u32 second = ~u32{0};

    constexpr bool has(u32 group) const noexcept { return group == first || group == second; }
};

inline constexpr u32 patience = 2;

/// The floor of a snapshot or chunk group where boundaries are page numbers.
template <PageSource S>
constexpr u64 page_floor(const Group<S>& group, u64 at) noexcept {
    const Rule& rule = group.rule;
    if (rule.needs == Needs::snapshot) {
        const u64 found = last_held(group.pages, 0, at);
        return found == no_page ? 0 : found + 1;
    }
    if (rule.needs == Needs::chunk) {
        const u64 start = at - at % pages_below(rule.reach, rule.page);
        return first_missing(group.pages, start, at);
    }
    return at;
}

/// The floor, or for a window one step towards it: below its last hole, where it may break again.
template <PageSource S>
constexpr u64 page_step(const Group<S>& group, u64 at) noexcept {
    const Rule& rule = group.rule;
    if (rule.needs != Needs::window) {
        return page_floor(group, at);
    }
    const u64 need = pages_over(rule.reach, rule.page);
    const u64 hole = last_missing(group.pages, at > need ? at - need : 0, at);
    return hole == no_page ? at : hole;
}

/// Tiles from the right: the greatest common boundary of these groups not above `at`, in pages.
template <PageSource S>
constexpr u64 scan_tiles(const Group<S>* groups, const u32* tail, u32 tails, u64 at) noexcept {
    TileRule rules[most_groups];
    for (u32 i = 0; i < tails; ++i) {
        rules[i] = tile_rule(groups[tail[i]].rule);
    }
    for (u64 word = (at - 1) / tile_pages * tile_words;; word -= tile_words) {
        Tile common = low_tile(smaller(at - 64 * word, tile_pages));
        bool left = true;
        for (u32 i = 0; i < tails && left; ++i) {
            common = common & accepted(rules[i], groups[tail[i]].pages, word);
            left = any(common);
        }
        if (left) {
            return 64 * word + top(common);
        }
        if (word == 0) {
            return 0;
        }
    }
}

/// The common floor where boundaries are page numbers.
template <PageSource S>
constexpr u64 common_page_floor(const Group<S>* groups, u32 count, u64 at, Without without = {}) noexcept {
    u32 tail[most_groups];  // snapshots first: they leave least
    u32 tails = 0;
    u32 snapshots = 0;
    for (u32 g = 0; g < count && at > 0; ++g) {
        const Rule& rule = groups[g].rule;
        if (without.has(g)) {
            continue;
        }
        if (rule.needs == Needs::everything) {
            at = first_missing(groups[g].pages, 0, at);
            continue;
        }
        if (rule.needs == Needs::whole) {
            const u64 pages = groups[g].pages.count;
            at = first_missing(groups[g].pages, 0, pages) == pages ? at : 0;
            continue;
        }
        if (rule.needs == Needs::window) {
            at = rule.reach == 0 ? at : smaller(at, groups[g].pages.count);
            const u64 sinks = smaller(at, pages_over(rule.sinks, rule.page));
            const u64 page = first_missing(groups[g].pages, 0, sinks);
            at = page < sinks ? page : at;
        }
        tail[tails++] = g;
        if (rule.needs == Needs::snapshot) {
            tail[tails - 1] = tail[snapshots];
            tail[snapshots++] = g;
        }
    }
    u32 jumps = 0;
    for (u32 i = 0, agreed = 0; agreed < tails && at > 0; i = i + 1 == tails ? 0 : i + 1) {
        const u64 next = page_step(groups[tail[i]], at);
        agreed = next == at ? agreed + 1 : 0;
        at = next;
        if (agreed == 0 && ++jumps > patience && at > tile_pages / 8) {
            return scan_tiles(groups, tail, tails, at);
        }
    }
    return at;
}

/// The common floor of the tail groups where pages differ, in pieces of one size (piece_of). pre: at is a
/// multiple of the unit below the tail; at most most_groups - 1 groups
template <PageSource S>
constexpr u64 floor_in_pieces(const Group<S>* groups, const u32* tail, u32 tails, u64 at, const Grid& grid,
                              u64 piece) noexcept {
    Group<Resampled<S>> pieces[most_groups];
    for (u32 i = 0; i < tails; ++i) {
        pieces[i] = in_pieces(groups[tail[i]], piece);
    }
    pieces[tails] = grid_in_pieces<S>(grid, piece, at);
    return common_page_floor(pieces, tails + 1, at / piece) * piece;
}

/// tail_floor, or for a window one step towards it. A window first needs ceil(reach / page) pages in a row up
/// to the one that holds the boundary's last token: short runs are passed over in pages, many at once.
template <PageSource S>
constexpr u64 tail_step(const Group<S>& group, u64 at, const Grid& grid) noexcept {
    const Rule& rule = group.rule;
    if (rule.needs != Needs::window) {
        return tail_floor(group, at, grid);
    }
    if (rule.reach == 0) {
        return at;
    }
    const u64 first = at > rule.reach ? pages_below(at - rule.reach, rule.page) : 0;
    const u64 hole = last_missing(group.pages, first, pages_over(at, rule.page));
    return hole == no_page ? at : grid.down(common_page_floor(&group, 1, hole) * rule.page);
}

/// The common floor where pages differ.
template <PageSource S>
constexpr u64 common_mixed_floor(const Group<S>* groups, u32 count, u64 at, const Grid& grid,
                                 Without without) noexcept {
    u32 tail[most_groups];
    u32 tails = 0;
    for (u32 g = 0; g < count; ++g) {
        if (!without.has(g)) {
            const Needs needs = groups[g].rule.needs;
            at = bound(groups[g], at, grid);
            tail[tails] = g;
            tails += needs == Needs::window || needs == Needs::chunk || needs == Needs::snapshot ? 1 : 0;
        }
    }
    u64 jumps = 0;
    u64 piece = 0;
    for (u32 i = 0, agreed = 0; agreed < tails && at > 0; i = i + 1 == tails ? 0 : i + 1) {
        const u64 next = tail_step(groups[tail[i]], at, grid);
        agreed = next == at ? agreed + 1 : 0;
        at = next;
        if (agreed != 0 || ++jumps <= 4 * patience || at >= grid.tail || tails == most_groups) {
            continue;
        }
        piece = piece == 0 ? piece_of(groups, tail, tails, grid) : piece;
        if (at / piece / 1024 <=
            jumps) {  // reading the words of the pieces takes no longer than the jumps so far
            return floor_in_pieces(groups, tail, tails, at, grid, piece);
        }
    }
    return at;
}

/// One set of groups, asked more than once. pre: fault() finds none
template <PageSource S>
struct Descent {
    const Group<S>* groups;
    u32 count;
    Grid grid;
    bool paged;

    constexpr Descent(const Group<S>* all, u32 how_many, const Grid& boundaries) noexcept
        : groups{all}, count{how_many}, grid{boundaries}, paged{one_page_size(all, how_many, boundaries)} {}

    /// The greatest boundary not above `at` that every group accepts, but for those left out.
    constexpr u64 floor(u64 at, Without without = {}) const noexcept {
        if (paged) {
            return common_page_floor(groups, count, pages_below(at, grid.unit), without) * grid.unit;
        }
        return common_mixed_floor(groups, count, grid.down(at), grid, without);
    }
    /// The same for one group only.
    constexpr u64 alone(u32 g, u64 at) const noexcept {
        if (!paged || groups[g].rule.needs == Needs::whole) {
            return common_mixed_floor(groups + g, 1, grid.down(at), grid, {});
        }
        const u64 page = pages_below(at, grid.unit);
        switch (groups[g].rule.needs) {
            case Needs::window: return common_page_floor(groups + g, 1, page) * grid.unit;
            case Needs::everything: return first_missing(groups[g].pages, 0, page) * grid.unit;
            default: return page_floor(groups[g], page) * grid.unit;
        }
    }
};

/// pre: fault() finds none
template <PageSource S>
constexpr u64 common_floor(const Group<S>* groups, u32 count, u64 at, const Grid& grid,
                           Without without = {}) noexcept {
    return Descent<S>{groups, count, grid}.floor(at, without);
}

/// How many tokens of this prompt can be skipped. pre: fault() finds none
template <PageSource S>
constexpr u64 reusable(const Group<S>* groups, u32 count, const Ask& ask) noexcept {
    return common_floor(groups, count, ask.limit, ask.grid);
}

}  // namespace kvcap::inline v1
