// SPDX-License-Identifier: MIT
// 512 workers answered at once, from one row of bits for every group and page. Left to right: where each worker's prefix
// ends; right to left: the first boundary below that its windows, chunks and snapshots accept. A window's AND is that of
// its own block up to the boundary and of what it reaches of the block before: three ANDs a page, whatever its length.
#pragma once

#include <kvcap/reuse/tile.hpp>

namespace kvcap::inline v1 {

/// rows: page p of worker w is bit w % 64 of rows[p * row_words + w / 64], row_words = ceil(W / 64).
struct FleetGroup {
    Rule rule{};
    const u64* rows = nullptr;
    u64 pages = 0;
};

inline constexpr u64 lane_words = 8;
inline constexpr u64 lane_workers = 64 * lane_words;

/// 512 workers.
struct Lane {
    u64 word[lane_words];

    constexpr Lane& operator&=(const Lane& other) noexcept {
        for (u64 k = 0; k < lane_words; ++k) {
            word[k] &= other.word[k];
        }
        return *this;
    }
    constexpr bool any() const noexcept {
        u64 all = 0;
        for (u64 k = 0; k < lane_words; ++k) {
            all |= word[k];
        }
        return all != 0;
    }
};

constexpr Lane lane_of(u64 value) noexcept {
    Lane lane{};
    for (u64 k = 0; k < lane_words; ++k) {
        lane.word[k] = value;
    }
    return lane;
}

/// Memory a fleet question needs beside its answer.
struct FleetScratch {
    u32* buckets = nullptr;  ///< fleet_buckets(pages)
    Lane* blocks = nullptr;  ///< fleet_blocks(groups, count, ask)
};

constexpr u64 fleet_pages(const Ask& ask) noexcept { return pages_below(ask.limit, ask.grid.unit); }
constexpr u64 fleet_buckets(const Ask& ask) noexcept { return fleet_pages(ask) + 1 + lane_workers; }

constexpr u64 block_pages(const Rule& rule, u64 pages) noexcept {
    return rule.needs == Needs::window || rule.needs == Needs::chunk ? smaller(tile_rule(rule).need, pages) : 0;
}

constexpr u64 fleet_blocks(const FleetGroup* groups, u32 count, const Ask& ask) noexcept {
    u64 lanes = 0;
    for (u32 g = 0; g < count; ++g) {
        lanes += block_pages(groups[g].rule, fleet_pages(ask));
    }
    return lanes;
}

/// One lane of workers: rows of the groups, the workers whose prefix ends at each boundary, and the running ANDs.
class FleetLane {
public:
    constexpr FleetLane(const FleetGroup* groups, u32 count, u64 workers, u64 lane, const Ask& ask,
                        const FleetScratch& scratch) noexcept
        : groups_{groups}, count_{count}, row_words_{ceil_div(workers, 64)}, first_word_{lane * lane_words},
          pages_{fleet_pages(ask)}, head_{scratch.buckets}, next_{scratch.buckets + pages_ + 1} {
        Lane* blocks = scratch.blocks;
        for (u32 g = 0; g < count; ++g) {
            const u64 size = block_pages(groups[g].rule, pages_);
            tail_[g] = {.prefix = blocks, .size = size, .block = 0, .suffix = lane_of(~u64{0})};
            blocks += size;
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

    /// prefix[i]: AND of the pages of the block that holds the boundary, up to its i-th. suffix: AND of the pages of
    /// the window before that block.
    struct Tail {
        Lane* prefix;
        u64 size;
        u64 block;
        Lane suffix;
    };

    constexpr Lane row(u32 g, u64 page) const noexcept {
        Lane lane{};
        const FleetGroup& group = groups_[g];
        if (page >= group.pages) {
            return lane;
        }
        const u64* words = group.rows + page * row_words_ + first_word_;
        if (first_word_ + lane_words <= row_words_) {
            for (u64 k = 0; k < lane_words; ++k) {
                lane.word[k] = words[k];
            }
        } else {
            for (u64 k = 0; first_word_ + k < row_words_; ++k) {
                lane.word[k] = words[k];
            }
        }
        return lane;
    }

    constexpr void drop(const Lane& dropped, u64 page) noexcept {
        for (u64 k = 0; k < lane_words; ++k) {
            for (u64 rest = dropped.word[k]; rest != 0; rest &= rest - 1) {
                const u32 worker = static_cast<u32>(64 * k + static_cast<u64>(std::countr_zero(rest)));
                next_[worker] = head_[page];
                head_[page] = worker;
            }
        }
        waiting_ -= page == 0 ? count_bits(dropped) : 0;
    }

    static constexpr u64 count_bits(const Lane& lane) noexcept {
        u64 bits = 0;
        for (u64 k = 0; k < lane_words; ++k) {
            bits += static_cast<u64>(std::popcount(lane.word[k]));
        }
        return bits;
    }

    constexpr Lane needed_from_start(u64 page) const noexcept {
        Lane all = lane_of(~u64{0});
        for (u32 g = 0; g < count_; ++g) {
            const Rule& rule = groups_[g].rule;
            const bool sink = rule.needs == Needs::window && page * rule.page < rule.sinks;
            if (rule.needs == Needs::everything || sink) {
                all &= row(g, page);
            }
        }
        return all;
    }

    constexpr void find_prefixes() noexcept {
        Lane whole = lane_of(~u64{0});
        for (u32 g = 0; g < count_; ++g) {
            for (u64 page = 0; groups_[g].rule.needs == Needs::whole && page < groups_[g].pages; ++page) {
                whole &= row(g, page);
            }
        }
        cut(whole, 0);
        u64 page = 0;
        for (; page < pages_ && alive_.any(); ++page) {
            cut(needed_from_start(page), page);
        }
        top_ = page;
        if (page == pages_) {
            drop(alive_, pages_);
        }
    }

    constexpr void cut(const Lane& kept, u64 page) noexcept {
        Lane dropped = alive_;
        for (u64 k = 0; k < lane_words; ++k) {
            dropped.word[k] &= ~kept.word[k];
        }
        if (dropped.any()) {
            drop(dropped, page);
            alive_ &= kept;
        }
    }

    /// Makes the running ANDs of group g right for the boundary after `page`.
    constexpr void enter(u32 g, u64 page) noexcept {
        Tail& tail = tail_[g];
        tail.block = page - page % tail.size;
        const u64 end = smaller(tail.block + tail.size, pages_);
        Lane all = lane_of(~u64{0});
        for (u64 p = tail.block; p < end; ++p) {
            tail.prefix[p - tail.block] = all &= row(g, p);
        }
        tail.suffix = lane_of(~u64{0});
        if (groups_[g].rule.needs == Needs::window) {
            for (u64 p = page + 1 > tail.size ? page + 1 - tail.size : 0; p < tail.block; ++p) {
                tail.suffix &= row(g, p);
            }
        }
    }

    /// From the boundary after page + 1 to the one after `page`.
    constexpr void step(u32 g, u64 page) noexcept {
        Tail& tail = tail_[g];
        if (page < tail.block) {
            enter(g, page);
        } else if (groups_[g].rule.needs == Needs::window && page + 1 >= tail.size) {
            tail.suffix &= row(g, page + 1 - tail.size);
        }
    }

    /// Workers whose tail groups accept the boundary after `page`.
    constexpr Lane accepting(u64 page, Lane workers) const noexcept {
        for (u32 g = 0; g < count_; ++g) {
            const Tail& tail = tail_[g];
            switch (groups_[g].rule.needs) {
                case Needs::snapshot: workers &= row(g, page); break;
                case Needs::window:
                    if (tail.size != 0) {
                        workers &= tail.prefix[page - tail.block];
                        workers &= tail.suffix;
                    }
                    break;
                case Needs::chunk:
                    if ((page + 1) % tile_rule(groups_[g].rule).need != 0) {
                        workers &= tail.prefix[page - tail.block];
                    }
                    break;
                case Needs::everything:
                case Needs::whole:
                case Needs::nothing: break;
            }
        }
        return workers;
    }

    constexpr void settle(u64* boundary) noexcept {
        Lane pending = lane_of(0);
        bool entered = false;
        for (u64 at = top_; at > 0 && waiting_ > 0; --at) {
            for (u32 worker = head_[at]; worker != none; worker = next_[worker]) {
                pending.word[worker / 64] |= u64{1} << (worker % 64);
            }
            for (u32 g = 0; g < count_; ++g) {
                if (tail_[g].size != 0 && entered) {
                    step(g, at - 1);
                } else if (tail_[g].size != 0) {
                    enter(g, at - 1);
                }
            }
            entered = true;
            if (!pending.any()) {
                continue;
            }
            const Lane accepted = accepting(at - 1, pending);
            if (!accepted.any()) {
                continue;
            }
            for (u64 k = 0; k < lane_words; ++k) {
                pending.word[k] &= ~accepted.word[k];
                for (u64 rest = accepted.word[k]; rest != 0; rest &= rest - 1) {
                    boundary[64 * k + static_cast<u64>(std::countr_zero(rest))] = at;
                    --waiting_;
                }
            }
        }
    }

    const FleetGroup* groups_;
    u32 count_;
    u64 row_words_;
    u64 first_word_;
    u64 pages_;
    u64 top_ = 0;
    u64 waiting_ = 0;  ///< workers without an answer
    u32* head_;
    u32* next_;
    Lane alive_{};
    Tail tail_[most_groups];
};

}  // namespace kvcap::inline v1
