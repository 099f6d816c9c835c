// SPDX-License-Identifier: MIT
// Why is it not more? For each group what it would allow alone, what the others would allow without it, the
// group or pair that limits, and the page, window or snapshot at which it does.
#pragma once

#include <kvcap/inplace.hpp>
#include <kvcap/reuse/needed.hpp>
#include <type_traits>

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

/// The greatest boundary without the limiting group is `refused`; there it lacks `page` (no_page for
/// alignment and the like; for no_snapshot the place of the missing state). group: the limiting one.
struct Reason {
    Why why = Why::limit;
    u32 group = no_group;
    u64 page = no_page;
    u64 refused = 0;
    friend constexpr bool operator==(const Reason&, const Reason&) = default;
};

/// A number for each group of the question. Clearing the rest would cost more than most answers do, so at run
/// time it is left as it is.
struct PerGroup {
    u32 count;
    u64 items[most_groups];

    constexpr explicit PerGroup(u32 groups) noexcept : count{groups} {
        if (std::is_constant_evaluated()) {
            for (u64& item : items) {
                item = 0;
            }
        }
    }
    constexpr u32 size() const noexcept { return count; }
    constexpr u64& operator[](u32 g) noexcept { return items[g]; }
    constexpr const u64& operator[](u32 g) const noexcept { return items[g]; }
};

/// limiting: the group without which most would be gained (the first of equals), or if no single one gains,
/// the pair.
struct Explanation {
    u64 tokens = 0;
    PerGroup alone;
    PerGroup without;
    Inplace<u32, 2> limiting{};
    Reason reason{};

    constexpr explicit Explanation(u32 groups) noexcept : alone{groups}, without{groups} {}
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

/// Whether a group that accepts a boundary accepts all below it.
constexpr bool closed_below(const Rule& rule) noexcept {
    return rule.needs == Needs::everything || rule.needs == Needs::whole || rule.needs == Needs::nothing;
}

/// An upper bound of the common floor of all groups but these two: the least of what each allows alone.
constexpr u64 least_alone(const PerGroup& alone, Without without, u64 limit) noexcept {
    for (u32 g = 0; g < alone.size(); ++g) {
        limit = without.has(g) ? limit : smaller(limit, alone[g]);
    }
    return limit;
}

template <PageSource S>
constexpr void limiting_groups(const Descent<S>& descent, const Ask& ask, Explanation& known) noexcept {
    known.reason.refused = known.tokens;
    const auto consider = [&](u64 tokens, u32 g, u32 h) noexcept {
        if (tokens > known.reason.refused) {
            known.reason.refused = tokens;
            known.limiting.count = g == h ? 1 : 2;
            known.limiting[0] = g;
            known.limiting[1] = h;
        }
    };
    for (u32 g = 0; g < descent.count; ++g) {
        consider(known.without[g], g, g);
    }
    const bool pairs = known.limiting.empty() && known.tokens != ask.grid.down(ask.limit);
    for (u32 g = 0; g < descent.count && pairs; ++g) {
        for (u32 h = g + 1; h < descent.count; ++h) {
            const u64 from = least_alone(known.alone, {g, h}, ask.limit);
            consider(from <= known.reason.refused ? from : descent.floor(from, {g, h}), g, h);
        }
    }
}

/// pre: limiting_groups() was asked; reason.refused is what they bar
template <PageSource S>
constexpr Reason reason_of(const Descent<S>& descent, const Ask& ask, const Explanation& known) noexcept {
    const u64 all = ask.grid.down(ask.limit);
    if (known.tokens == all) {
        const u64 more = ask.grid.down(ask.prompt);
        const bool cut = more > all && ask.limit + 1 == ask.prompt && descent.floor(more) == more;
        const Why why = cut ? Why::last_token : all != ask.limit ? Why::alignment : Why::limit;
        return {.why = why, .refused = cut ? more : ask.limit};
    }
    for (const u32 g : known.limiting) {
        if (known.limiting.size() == 1 || !accepts(descent.groups[g], known.reason.refused, ask.grid)) {
            return refusal(descent.groups[g], g, known.reason.refused, ask.grid);
        }
    }
    return {.why = Why::several, .refused = all};
}

/// pre: fault() finds none
template <PageSource S>
constexpr Explanation explain(const Group<S>* groups, u32 count, const Ask& ask) noexcept {
    const Descent<S> descent{groups, count, ask.grid};
    Explanation known{count};
    for (u32 g = 0; g < count; ++g) {
        known.alone[g] = descent.alone(g, ask.limit);
    }
    known.tokens = descent.floor(least_alone(known.alone, {}, ask.grid.down(ask.limit)));
    for (u32 g = 0; g < count; ++g) {
        const u64 from = least_alone(known.alone, {g}, ask.grid.down(ask.limit));
        const bool free = closed_below(groups[g].rule) && from <= known.alone[g];  // g refuses nothing there
        known.without[g] = from == known.tokens || free ? known.tokens : descent.floor(from, {g});
    }
    limiting_groups(descent, ask, known);
    known.reason = reason_of(descent, ask, known);
    return known;
}

}  // namespace kvcap::inline v1
