// SPDX-License-Identifier: MIT
// Why is it not more? For each group what it would allow alone, what the others would allow without it, the group or
// pair that limits, and the page, window or snapshot at which it does.
#pragma once

#include <kvcap/inplace.hpp>
#include <kvcap/reuse/descent.hpp>

namespace kvcap::inline v1 {

enum class Why : u8 {
    limit,            // all that was asked for
    last_token,       // one token must be computed, which costs the prompt's last unit
    alignment,        // the rest of the prompt is less than a unit
    missing_page,     // a page of the prefix is missing
    missing_sink,     // a page of the sinks is missing
    broken_window,    // a page of the window before the boundary is missing
    broken_chunk,     // a page of the boundary's own chunk is missing
    no_snapshot,      // no state was kept at the boundary
    source_missing,   // a page of the encoder's tokens is missing
    several,          // no group or pair limits alone: three or more miss at once
};

inline constexpr u32 no_group = ~u32{0};

/// The greatest boundary without the limiting group is `refused`; there it lacks `page` (no_page for alignment and the
/// like; for no_snapshot the place of the missing state). group: the limiting one.
struct Reason {
    Why why = Why::limit;
    u32 group = no_group;
    u64 page = no_page;
    u64 refused = 0;
    friend constexpr bool operator==(const Reason&, const Reason&) = default;
};

/// limiting: the group without which most would be gained (the first of equals), or if no single one gains, the pair.
struct Explanation {
    u64 tokens = 0;
    Inplace<u64, most_groups> alone{};
    Inplace<u64, most_groups> without{};
    Inplace<u32, 2> limiting{};
    Reason reason{};
};

/// Why a group refuses the boundary `at`. pre: it does
template <PageSource S>
constexpr Reason refusal(const Group<S>& group, u32 index, u64 at, const Grid& grid) noexcept {
    const Rule& rule = group.rule;
    const u64 end = pages_over(at, rule.page);
    Reason reason{.why = Why::missing_page, .group = index, .page = no_page, .refused = at};
    switch (rule.needs) {
        case Needs::everything: reason.page = first_missing(group.pages, 0, end); break;
        case Needs::whole:
            reason.why = Why::source_missing;
            reason.page = first_missing(group.pages, 0, group.pages.count);
            break;
        case Needs::chunk:
            reason.why = Why::broken_chunk;
            reason.page = first_missing(group.pages, pages_below(at - at % rule.reach, rule.page), end);
            break;
        case Needs::snapshot:
            reason.why = Why::no_snapshot;
            reason.page = at % rule.page == 0 || at == grid.tail ? end - 1 : no_page;
            break;
        case Needs::window: {
            const u64 sinks = pages_over(smaller(rule.sinks, at), rule.page);
            const u64 sink = first_missing(group.pages, 0, sinks);
            const u64 first = at > rule.reach ? pages_below(at - rule.reach, rule.page) : 0;
            reason.why = sink < sinks ? Why::missing_sink : Why::broken_window;
            reason.page = sink < sinks ? sink : last_missing(group.pages, first, end);
            break;
        }
        case Needs::nothing: break;
    }
    return reason;
}

/// alone and without by one pass of tiles from the right, until the common boundary is met: it is the smallest.
template <PageSource S>
constexpr void explain_tiles(const Group<S>* groups, u32 count, u64 limit, u64 (&alone)[most_groups],
                             u64 (&without)[most_groups]) noexcept {
    TileRule rules[most_groups];
    u64 most[most_groups];
    Tile after[most_groups + 1];
    for (u32 g = 0; g < count; ++g) {
        rules[g] = tile_rule(groups[g].rule);
        const u64 page = groups[g].rule.page;
        most[g] = pages_below(bound(groups[g], limit * page, {.unit = page}), page);
        alone[g] = without[g] = 0;
    }
    for (u64 word = limit == 0 ? 0 : (limit - 1) / tile_pages * tile_words; limit != 0; word -= tile_words) {
        const u64 first = 64 * word;
        after[count] = full_tile();
        after[count].cut(smaller(limit - first, tile_pages));
        Tile own[most_groups];
        for (u32 g = count; g-- > 0;) {
            own[g] = accepted(rules[g], groups[g].pages, word);
            own[g].cut(most[g] > first ? smaller(most[g] - first, tile_pages) : 0);
            after[g] = after[g + 1];
            after[g] &= own[g];
        }
        Tile before = after[count];
        for (u32 g = 0; g < count; ++g) {
            Tile others = before;
            others &= after[g + 1];
            before &= own[g];
            own[g] &= after[count];
            alone[g] = alone[g] == 0 && own[g].any() ? first + own[g].top() : alone[g];
            without[g] = without[g] == 0 && others.any() ? first + others.top() : without[g];
        }
        if (word == 0 || after[0].any()) {
            return;
        }
    }
}

template <PageSource S>
constexpr Inplace<u32, 2> limiting_groups(const Group<S>* groups, u32 count, const Ask& ask,
                                          const Explanation& known) noexcept {
    Inplace<u32, 2> limiting{};
    u64 most = known.tokens;
    for (u32 g = 0; g < count; ++g) {
        if (known.without[g] > most) {
            most = known.without[g];
            limiting.count = 1;
            limiting[0] = g;
        }
    }
    const bool all = known.tokens == ask.grid.down(ask.limit);
    for (u32 g = 0; g < count && !all && limiting.size() != 1; ++g) {
        for (u32 h = g + 1; h < count; ++h) {
            const u64 tokens = common_floor(groups, count, ask.limit, ask.grid, {g, h});
            if (tokens > most) {
                most = tokens;
                limiting.count = 2;
                limiting[0] = g;
                limiting[1] = h;
            }
        }
    }
    return limiting;
}

template <PageSource S>
constexpr Reason reason_of(const Group<S>* groups, u32 count, const Ask& ask, const Explanation& known) noexcept {
    const u64 all = ask.grid.down(ask.limit);
    if (known.tokens == all) {
        const u64 more = ask.grid.down(ask.prompt);
        const bool cut = more > all && ask.limit + 1 == ask.prompt &&
                         common_floor(groups, count, more, ask.grid) == more;
        return {.why = cut                  ? Why::last_token
                       : all != ask.limit   ? Why::alignment
                                            : Why::limit,
                .refused = cut ? more : ask.limit};
    }
    if (known.limiting.empty()) {
        return {.why = Why::several, .refused = all};
    }
    const Without without{known.limiting[0], known.limiting.size() == 2 ? known.limiting[1] : no_group};
    const u64 refused = common_floor(groups, count, ask.limit, ask.grid, without);
    for (const u32 g : known.limiting) {
        if (floor(groups[g], refused, ask.grid) != refused) {
            return refusal(groups[g], g, refused, ask.grid);
        }
    }
    return {.why = Why::several, .refused = refused};
}

/// pre: fault() finds none
template <PageSource S>
constexpr Explanation explain(const Group<S>* groups, u32 count, const Ask& ask) noexcept {
    Explanation known{};
    known.alone.count = known.without.count = count;
    if (one_page_size(groups, count, ask.grid)) {
        const u64 unit = ask.grid.unit;
        explain_tiles(groups, count, pages_below(ask.limit, unit), known.alone.items, known.without.items);
        for (u32 g = 0; g < count; ++g) {
            known.alone[g] *= unit;
            known.without[g] *= unit;
        }
    } else {
        for (u32 g = 0; g < count; ++g) {
            known.alone[g] = floor(groups[g], ask.limit, ask.grid);
            known.without[g] = common_floor(groups, count, ask.limit, ask.grid, {g});
        }
    }
    known.tokens = reusable(groups, count, ask);
    known.limiting = limiting_groups(groups, count, ask, known);
    known.reason = reason_of(groups, count, ask, known);
    return known;
}

}  // namespace kvcap::inline v1
