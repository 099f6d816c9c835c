// SPDX-License-Identifier: MIT
// 512 workers answered at once, from one row of bits for every group and page. Left to right: where each
// worker's prefix ends; right to left: the first boundary below that its windows, chunks and snapshots
// accept. A window's AND is that of its own block up to the boundary and of what it reaches of the block
// before: three ANDs a page, whatever its length.
#pragma once

#include <kvcap/reuse/lane.hpp>
#include <kvcap/reuse/tile.hpp>

namespace kvcap::inline v1 {

/// rows: page p of worker w is bit w % 64 of rows[p * row_words + w / 64], row_words = ceil(W / 64).
struct FleetGroup {
    Rule rule{};
    const u64* rows = nullptr;
    u64 pages = 0;
};

/// Memory a fleet question needs beside its answer.
struct FleetScratch {
    u32* buckets = nullptr;  ///< fleet_buckets(ask)
    Lane* blocks = nullptr;  ///< fleet_blocks(groups, count, ask)
};

constexpr u64 fleet_pages(const Ask& ask) noexcept { return pages_below(ask.limit, ask.grid.unit); }
constexpr u64 fleet_buckets(const Ask& ask) noexcept { return fleet_pages(ask) + 1 + lane_workers; }

constexpr u64 block_pages(const Rule& rule, u64 pages) noexcept {
    return rule.needs == Needs::window || rule.needs == Needs::chunk ? smaller(tile_rule(rule).need, pages)
                                                                     : 0;
}

constexpr u64 fleet_blocks(const FleetGroup* groups, u32 count, const Ask& ask) noexcept {
    u64 lanes = 0;
    for (u32 g = 0; g < count; ++g) {
        lanes += block_pages(groups[g].rule, fleet_pages(ask));
    }
    return lanes;
}

/// One lane of workers: rows of the groups, the workers whose prefix ends at each boundary, and the running
/// ANDs.
class FleetLane {
public:
    constexpr FleetLane(const FleetGroup* groups, u32 count, u64 workers, u64 lane, const Ask& ask,
                        const FleetScratch& scratch) noexcept
        : groups_{groups},
          count_{count},
          row_words_{ceil_div(workers, 64)},
          first_word_{lane * lane_words},
          words_{smaller(row_words_ - first_word_, lane_words)},
          pages_{fleet_pages(ask)},
          head_{scratch.buckets},
          next_{scratch.buckets + pages_ + 1} {
        Lane* blocks = scratch.blocks;
        for (u32 g = 0; g < count; ++g) {
            const TileRule rule = tile_rule(groups[g].rule);
            const u64 size = block_pages(groups[g].rule, pages_);
            tail_[g] = {.accept = blocks, .size = size, .block = off_scale, .chunk = rule.need};
            blocks += size;
            if (rule.needs == Needs::snapshot) {
                order_[tails_++] = g;
            }
        }
        snapshots_ = tails_;
        for (u32 g = 0; g < count; ++g) {
            if (tail_[g].size != 0) {
                order_[tails_++] = g;
            }
        }
        waiting_ = smaller(workers - lane * lane_workers, lane_workers);
        for (u64 k = 0; k < lane_words; ++k) {
            alive_.word[k] = low_bits(waiting_ - smaller(waiting_, 64 * k));
        }
    }

    /// Fills the boundaries, in pages, of the lane's workers.
    constexpr void answer(u64* boundary) noexcept {
        for (u64 worker = 0; worker < waiting_; ++worker) {
            boundary[worker] = 0;
        }
        for (u64 page = 0; page <= pages_; ++page) {
            head_[page] = none;
        }
        find_prefixes();
        settle(boundary);
    }

private:
    static constexpr u32 none = ~u32{0};

    /// accept[i]: workers whose window (or chunk) that ends with page block + i is held.
    struct Tail {
        Lane* accept;
        u64 size;
        u64 block;
        u64 chunk;
    };

    /// The row of a page: the words of this lane. The last lane of few workers is copied, what lies beyond is
    /// missing.
    constexpr const u64* row(u32 g, u64 page) noexcept {
        if (page >= groups_[g].pages) {
            return nobody_.word;
        }
        const u64* words = groups_[g].rows + page * row_words_ + first_word_;
        if (words_ == lane_words) {
            return words;
        }
        for (u64 k = 0; k < words_; ++k) {
            short_.word[k] = words[k];
        }
        return short_.word;
    }

    /// Keeps in `all` who holds pages [from, to).
    constexpr void meet_rows(Lane& all, u32 g, u64 from, u64 to) noexcept {
        if (words_ == lane_words && to <= groups_[g].pages) {
            const u64* words = groups_[g].rows + from * row_words_ + first_word_;
            for (; from < to; ++from, words += row_words_) {
                meet(all, words);
            }
        }
        for (; from < to; ++from) {
            meet(all, row(g, from));
        }
    }

    /// Puts the workers of `gone`, whose prefix ends in pages [from, to), into the bucket of the page they
    /// lack.
    constexpr void drop(const Lane& gone, u64 from, u64 to) noexcept {
        for (u64 k = 0; k < lane_words; ++k) {
            for (u64 rest = gone.word[k]; rest != 0; rest &= rest - 1) {
                const u64 bit = rest & (0 - rest);
                u64 page = from;
                while (page + 1 < to && (needed_word(page, k) & bit) != 0) {
                    ++page;
                }
                const u32 worker = static_cast<u32>(64 * k + static_cast<u64>(std::countr_zero(rest)));
                next_[worker] = head_[page];
                head_[page] = worker;
                waiting_ -= page == 0 ? 1 : 0;
            }
        }
        for (u64 k = 0; k < lane_words; ++k) {
            alive_.word[k] &= ~gone.word[k];
        }
    }

    constexpr u64 needed_word(u64 page, u64 k) noexcept {
        u64 all = ~u64{0};
        for (u32 g = 0; g < count_; ++g) {
            all &= page < first_[g] ? row(g, page)[k] : all;
        }
        return all;
    }

    /// Workers that hold what boundaries beyond them need of pages [from, to).
    constexpr Lane needed_from_start(u64 from, u64 to) noexcept {
        Lane all = lane_of(~u64{0});
        for (u32 g = 0; g < count_; ++g) {
            meet_rows(all, g, from, smaller(to, first_[g]));
        }
        return all;
    }

    constexpr void find_prefixes() noexcept {
        Lane whole = lane_of(~u64{0});
        for (u32 g = 0; g < count_; ++g) {
            const Rule& rule = groups_[g].rule;
            const bool sinks = rule.needs == Needs::window && rule.sinks != 0;
            first_[g] = rule.needs == Needs::everything ? pages_
                        : sinks                         ? pages_over(rule.sinks, rule.page)
                                                        : 0;
            meet_rows(whole, g, 0, rule.needs == Needs::whole ? groups_[g].pages : 0);
        }
        drop(except(alive_, whole), 0, 0);
        for (; top_ < pages_ && any(alive_); top_ = smaller(top_ + 8, pages_)) {
            const u64 end = smaller(top_ + 8, pages_);
            const Lane gone = except(alive_, needed_from_start(top_, end));
            if (any(gone)) {
                drop(gone, top_, end);
            }
        }
        drop(alive_, pages_, pages_);
    }

    /// Fills accept for the block that ends with `page` or later: the AND from the block's start to each
    /// page, and for a window that of the pages it reaches before the block.
    constexpr void enter(u32 g, u64 page) noexcept {
        Tail& tail = tail_[g];
        tail.block = page - page % tail.size;
        Lane all = lane_of(~u64{0});
        for (u64 p = tail.block; p <= page; ++p) {
            meet(all, row(g, p));
            tail.accept[p - tail.block] = all;
        }
        if (groups_[g].rule.needs != Needs::window || tail.block == 0) {
            return;
        }
        all = lane_of(~u64{0});
        meet_rows(all, g, page + 1 - tail.size, tail.block);
        for (u64 p = page; p > tail.block; --p) {
            meet(tail.accept[p - tail.block], all.word);
            meet(all, row(g, p - tail.size));
        }
        meet(tail.accept[0], all.word);
    }

    /// Those of `asking` whose tail groups accept the boundary after `page`; false when there are none.
    constexpr bool accept(u64 page, const Lane& asking, Lane& workers) noexcept {
        meet(snapshots_ == 0 ? asking.word : row(order_[0], page), asking.word, workers);
        for (u32 i = 1; i < snapshots_; ++i) {
            meet(workers, row(order_[i], page));
        }
        for (u32 i = snapshots_; i < tails_ && any(workers); ++i) {
            const u32 g = order_[i];
            if (page < tail_[g].block || tail_[g].block == off_scale) {
                enter(g, page);
            }
            const bool chunk_ends = groups_[g].rule.needs == Needs::chunk && (page + 1) % tail_[g].chunk == 0;
            if (!chunk_ends) {
                meet(workers, tail_[g].accept[page - tail_[g].block].word);
            }
        }
        return any(workers);
    }

    constexpr void settle(u64* boundary) noexcept {
        Lane pending = lane_of(0);
        Lane accepted{};
        u64 asking = 0;
        for (u64 at = top_; at > 0 && waiting_ > 0; --at) {
            for (u32 worker = head_[at]; worker != none; worker = next_[worker], ++asking) {
                pending.word[worker / 64] |= u64{1} << (worker % 64);
            }
            if (asking == 0) {
                continue;
            }
            if (!accept(at - 1, pending, accepted)) {
                continue;
            }
            for (u64 k = 0; k < lane_words; ++k) {
                for (u64 rest = accepted.word[k]; rest != 0; rest &= rest - 1) {
                    boundary[64 * k + static_cast<u64>(std::countr_zero(rest))] = at;
                    --waiting_;
                    --asking;
                }
            }
            pending = except(pending, accepted);
        }
    }

    const FleetGroup* groups_;
    u32 count_;
    u64 row_words_;
    u64 first_word_;
    u64 words_;
    u64 pages_;
    u64 top_ = 0;
    u64 waiting_ = 0;          ///< workers without an answer
    u64 first_[most_groups]{};  ///< pages that must be held from the start
    u32* head_;
    u32* next_;
    Lane alive_{};
    Lane nobody_{};
    Lane short_{};
    u32 snapshots_ = 0;
    u32 tails_ = 0;
    u32 order_[most_groups]{};  ///< snapshots, then windows and chunks
    Tail tail_[most_groups];
};

}  // namespace kvcap::inline v1
