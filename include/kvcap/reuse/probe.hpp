// SPDX-License-Identifier: MIT
// How far can a prompt be skipped when every look at a page is a question to a remote store? Batches of
// questions that the caller runs as it likes; the answer is the evaluator's on the whole bitmap, no page is
// asked twice. What is held from the start is settled first: growing batches from the left, or, in a store
// declared prefix-closed (a held page implies all before it), a search that splits into batch + 1 parts.
// Windows, chunks and snapshots follow below that bound, all groups together, from the right, in doubling
// batches.
#pragma once

#include <kvcap/reuse/needed.hpp>

namespace kvcap::inline v1 {

/// closed: a group of `everything` whose held pages are always a prefix. Declared by the caller; a store that
/// lies gets a wrong answer (see Probe::contradicted).
struct RemoteGroup {
    Rule rule{};
    u64 pages = 0;
    bool closed = false;
};

/// first: pages of the first batch of a group; the next is `growth` times as long. split: questions a round
/// in a closed group. Prices of a round trip against a look-up.
struct ProbeOptions {
    u64 first = 4;
    u64 growth = 2;
    u64 split = 31;
};

/// What is known so far; what is not known counts as held.
struct HopefulBits {
    u64* asked = nullptr;
    u64* yes = nullptr;
    u64 count = 0;

    constexpr u64 raw(u64 i) const noexcept { return yes[i] | ~asked[i]; }
    constexpr bool known(u64 page) const noexcept { return (asked[page / 64] >> (page % 64) & 1) != 0; }
    constexpr void learn(u64 page, bool held) const noexcept {
        asked[page / 64] |= u64{1} << (page % 64);
        yes[page / 64] |= u64{held ? 1u : 0u} << (page % 64);
    }
    constexpr void learn(u64 first, u64 end, bool held) const noexcept {
        while (first < end) {
            const u64 stop = smaller(end, first - first % 64 + 64);
            const u64 bits = low_bits(stop - first) << (first % 64);
            asked[first / 64] |= bits;
            yes[first / 64] = held ? yes[first / 64] | bits : yes[first / 64] & ~bits;
            first = stop;
        }
    }
};

/// Words of scratch memory a probe needs.
constexpr u64 probe_words(const RemoteGroup* groups, u32 count) noexcept {
    u64 words = 0;
    for (u32 g = 0; g < count; ++g) {
        words += 2 * (groups[g].pages / 64 + 1);
    }
    return words;
}

/// next() gives the batch, answer() takes each reply, in any order, also while the batch is given; when
/// next() gives none, tokens() is the answer. pre: fault() finds none, growth > 1, first > 0, split > 0;
/// `scratch` has probe_words() words
class Probe {
public:
    constexpr Probe(const RemoteGroup* groups, u32 count, const Ask& ask, u64* scratch,
                    const ProbeOptions& options = {}) noexcept
        : options_{options}, grid_{ask.grid}, at_{ask.grid.down(ask.limit)}, count_{count} {
        for (u32 g = 0; g < count; ++g) {
            const u64 words = groups[g].pages / 64 + 1;
            for (u64 i = 0; i < 2 * words; ++i) {
                scratch[i] = 0;
            }
            groups_[g] = {groups[g].rule, {scratch, scratch + words, groups[g].pages}};
            state_[g] = {.closed = groups[g].closed && groups[g].rule.needs == Needs::everything,
                         .most = groups[g].pages};
            scratch += 2 * words;
        }
    }

    /// Calls visit(group, page) for each question of the next batch; all of the last must be answered.
    /// Returns their number; 0: done.
    template <class Visit>
    constexpr u64 next(Visit visit) noexcept {
        const u64 before = lookups_;
        if (!bounded_) {
            settle_closed();
            at_ = bound_of_all();
            bounded_ = ask_bound(visit) == 0;
        }
        if (bounded_) {
            at_ = common_floor(groups_, count_, at_, grid_);
            if (!settled()) {
                ask_tails(visit);
            }
        }
        rounds_ += lookups_ != before ? 1 : 0;
        return lookups_ - before;
    }

    constexpr void answer(u32 group, u64 page, bool held) noexcept {
        State& state = state_[group];
        if (state.closed) {
            contradicted_ = contradicted_ || (held && page >= state.most) || (!held && page < state.least);
            state.least = held ? larger(state.least, page + 1) : state.least;
            state.most = held ? state.most : smaller(state.most, page);
        } else {
            groups_[group].pages.learn(page, held);
        }
    }

    constexpr u64 tokens() const noexcept { return at_; }
    constexpr u64 lookups() const noexcept { return lookups_; }
    constexpr u64 rounds() const noexcept { return rounds_; }
    /// A store that was declared closed gave answers that no prefix gives.
    constexpr bool contradicted() const noexcept { return contradicted_; }
    /// The greatest boundary that what must be held from the start allows, once that is settled.
    constexpr u64 bounded_by() const noexcept { return bound_; }

private:
    /// cursor: tail pages from here on are asked or cannot matter. batch: pages of the next batch. least,
    /// most: of a closed group's prefix.
    struct State {
        bool closed = false;
        u64 cursor = off_scale;
        u64 batch = 0;
        u64 least = 0;
        u64 most = 0;
    };

    constexpr void settle_closed() noexcept {
        for (u32 g = 0; g < count_; ++g) {
            const State& state = state_[g];
            if (state.closed) {
                groups_[g].pages.learn(0, state.least, true);
                groups_[g].pages.learn(larger(state.most, state.least), groups_[g].pages.count, false);
            }
        }
    }

    constexpr u64 bound_of_all() noexcept {
        u64 at = at_;
        for (u32 g = 0; g < count_; ++g) {
            at = bound(groups_[g], at, grid_);
        }
        bound_ = at;
        return at;
    }

    /// The pages from 0 on that the group must hold for the present candidate.
    constexpr u64 needed_from_start(u32 g) const noexcept {
        const Rule& rule = groups_[g].rule;
        const u64 pages = groups_[g].pages.count;
        if (at_ == 0) {
            return 0;
        }
        if (rule.needs == Needs::whole) {
            return pages;
        }
        if (rule.needs == Needs::window) {
            return smaller(pages, pages_over(smaller(rule.sinks, at_), rule.page));
        }
        return rule.needs == Needs::everything ? smaller(pages, pages_over(finished(rule, at_), rule.page))
                                               : 0;
    }

    template <class Visit>
    constexpr u64 ask_bound(Visit& visit) noexcept {
        u64 asked = 0;
        for (u32 g = 0; g < count_; ++g) {
            const u64 end = needed_from_start(g);
            if (state_[g].closed) {
                asked += ask_split(g, end, visit);
                continue;
            }
            u64& batch = state_[g].batch;
            u64 left = batch = batch == 0 ? options_.first : batch * options_.growth;
            for (u64 page = 0; page < end && left > 0; ++page) {
                if (!groups_[g].pages.known(page)) {
                    ask_one(g, page, visit);
                    --left;
                    ++asked;
                }
            }
        }
        return asked;
    }

    /// The prefix of a closed group is one of least .. most pages; each question halves (or better) that
    /// range.
    template <class Visit>
    constexpr u64 ask_split(u32 g, u64 end, Visit& visit) noexcept {
        const u64 least = state_[g].least;
        const u64 most = smaller(state_[g].most, end);
        const u64 answers = most > least ? most - least + 1 : 1;
        const u64 parts = smaller(options_.split + 1, answers);
        for (u64 part = 1; part < parts; ++part) {
            ask_one(g, least + answers * part / parts - 1, visit);
        }
        return parts - 1;
    }

    /// Whether everything the candidate needs is known.
    constexpr bool settled() const noexcept {
        for (u32 g = 0; g < count_; ++g) {
            const PageRange range = needed(groups_[g].rule, at_, grid_, groups_[g].pages.count);
            for (u64 page = range.first; page < range.end; ++page) {
                if (!groups_[g].pages.known(page)) {
                    return false;
                }
            }
        }
        return true;
    }

    /// A snapshot that lies on no boundary is never asked for.
    constexpr bool matters(const Rule& rule, u64 page) const noexcept {
        const u64 place = smaller((page + 1) * rule.page, grid_.tail);
        return rule.needs != Needs::snapshot || grid_.down(place) == place;
    }

    template <class Visit>
    constexpr void ask_tails(Visit& visit) noexcept {
        for (u32 g = 0; g < count_; ++g) {
            const Rule& rule = groups_[g].rule;
            if (rule.needs != Needs::window && rule.needs != Needs::chunk && rule.needs != Needs::snapshot) {
                continue;
            }
            State& state = state_[g];
            const bool begins = state.cursor == off_scale;
            const PageRange range = needed(rule, at_, grid_, groups_[g].pages.count);
            state.batch =
                begins ? larger(range.end - range.first, options_.first) : state.batch * options_.growth;
            state.cursor = smaller(state.cursor, smaller(pages_over(at_, rule.page), groups_[g].pages.count));
            u64 left = rule.needs == Needs::window && rule.reach == 0 ? 0 : state.batch;
            for (; state.cursor > 0 && left > 0; --state.cursor) {
                const u64 page = state.cursor - 1;
                if (matters(rule, page)) {
                    left -= groups_[g].pages.known(page) ? 0 : 1;
                    if (!groups_[g].pages.known(page)) {
                        ask_one(g, page, visit);
                    }
                }
            }
        }
    }

    template <class Visit>
    constexpr void ask_one(u32 g, u64 page, Visit& visit) noexcept {
        ++lookups_;
        visit(g, page);
    }

    ProbeOptions options_;
    Grid grid_;
    u64 at_;
    u64 bound_ = 0;
    u64 lookups_ = 0;
    u64 rounds_ = 0;
    u32 count_;
    bool bounded_ = false;
    bool contradicted_ = false;
    Group<HopefulBits> groups_[most_groups]{};
    State state_[most_groups]{};
};

}  // namespace kvcap::inline v1
