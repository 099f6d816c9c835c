// SPDX-License-Identifier: MIT
// What must a group of caches hold so that the first b tokens of a prompt can be skipped? A rule is read off
// the retention of a form; a boundary is a b that lies on the grid. Everything is counted in tokens.
#pragma once

#include <kvcap/form.hpp>
#include <kvcap/reuse/presence.hpp>

namespace kvcap::inline v1 {

/// Tokens (or things) that boundary b > 0 requires; b = 0 requires nothing.
///   everything: [0, b), without the youngest `lag` and without the unfinished entry of `stride` tokens
///   window:     [b - reach, b) and the sinks [0, min(sinks, b))
///   chunk:      [floor(b / reach) * reach, b): the next token's own chunk
///   snapshot:   the state at exactly b (recurrent states, budgeted caches)
///   whole:      every page there is, whatever b (cross attention: the encoder's tokens)
///   nothing:    nothing (per-model constants)
enum class Needs : u8 { everything, window, chunk, snapshot, whole, nothing };

/// page: tokens of one presence bit; for snapshots bit i is the state after (i + 1) * page tokens.
/// pre: page > 0, stride > 0; reach > 0 for a chunk
struct Rule {
    Needs needs = Needs::everything;
    u64 page = 1;
    u64 reach = 0;
    u64 sinks = 0;
    u64 stride = 1;
    u64 lag = 0;

    friend constexpr bool operator==(const Rule&, const Rule&) = default;
};

/// Two conventions for "a window of w". past: the next token is the w-th, so w - 1 earlier ones are needed
/// (engines). full: the w tokens before the boundary are needed.
enum class WindowEdge : u8 { past, full };

constexpr u64 reach_of(u64 window, WindowEdge edge) noexcept {
    return edge == WindowEdge::past && window > 0 ? window - 1 : window;
}

/// The rule of a cache with this retention, held in pages of `page` tokens.
constexpr Rule rule_of(const Retention& retention, u64 page, WindowEdge edge = WindowEdge::past) noexcept {
    Rule rule{.needs = Needs::everything, .page = page, .stride = retention.stride, .lag = retention.lag};
    if (retention.source == Source::encoder && retention.keep != Keep::once) {
        return {.needs = Needs::whole, .page = page};
    }
    switch (retention.keep) {
        case Keep::everything: return rule;
        case Keep::window:
            return {.needs = Needs::window, .page = page, .reach = reach_of(retention.span.value, edge),
                    .sinks = retention.sinks.value};
        case Keep::chunk: return {.needs = Needs::chunk, .page = page, .reach = retention.span.value};
        case Keep::budget:
        case Keep::last: return {.needs = Needs::snapshot, .page = page};
        case Keep::once: return {.needs = Needs::nothing, .page = page};
    }
    return rule;
}

/// A group of caches with equal rules and where its pages are held.
template <PageSource S = PageBits>
struct Group {
    Rule rule{};
    S pages{};
};

/// Boundaries: the multiples of `unit`, and `tail` if given: the end of what was ever stored, where the last
/// page may be short (and a last snapshot lies). Without a tail only whole units count.
struct Grid {
    u64 unit = 1;
    u64 tail = off_scale;

    /// The greatest boundary not above `at`.
    constexpr u64 down(u64 at) const noexcept { return at >= tail ? tail : at - at % unit; }
    friend constexpr bool operator==(const Grid&, const Grid&) = default;
};

/// prompt: its tokens. limit: the most tokens that may be skipped.
struct Ask {
    u64 prompt = 0;
    u64 limit = 0;
    Grid grid{};
};

/// The usual question: the last token is always computed, since its output is wanted.
constexpr Ask ask_for(u64 prompt, u64 unit, u64 tail = off_scale) noexcept {
    return {.prompt = prompt, .limit = prompt == 0 ? 0 : prompt - 1, .grid = {.unit = unit, .tail = tail}};
}

/// The unit on which every group has whole pages: the least common multiple of the page sizes that cut the
/// prompt.
template <PageSource S>
constexpr u64 common_unit(const Group<S>* groups, u32 count) noexcept {
    u64 unit = 1;
    for (u32 g = 0; g < count; ++g) {
        const Needs needs = groups[g].rule.needs;
        unit = needs == Needs::whole || needs == Needs::nothing
                   ? unit
                   : least_common_multiple(unit, groups[g].rule.page);
    }
    return unit;
}

/// The most groups one question takes; equal groups are one (AND their words).
inline constexpr u32 most_groups = 32;

/// What is wrong with a question, if anything (a size of 0, more groups than most_groups, pages beyond 2^62
/// tokens); Error::layer is the group. Every answer has it as precondition.
template <PageSource S>
constexpr Error fault(const Group<S>* groups, u32 count, const Ask& ask) noexcept {
    if (count > most_groups) {
        return {.code = Errc::capacity, .got = count, .want = most_groups};
    }
    if (ask.grid.unit == 0) {
        return {.code = Errc::zero_dimension};
    }
    for (u32 g = 0; g < count; ++g) {
        const Rule& rule = groups[g].rule;
        if (rule.page == 0 || rule.stride == 0 || (rule.needs == Needs::chunk && rule.reach == 0)) {
            return {.code = Errc::zero_dimension, .layer = g};
        }
        if (saturating_product(groups[g].pages.count, rule.page) >> 62 != 0) {
            return {.code = Errc::overflow, .layer = g, .got = groups[g].pages.count, .want = rule.page};
        }
    }
    return {};
}

}  // namespace kvcap::inline v1
