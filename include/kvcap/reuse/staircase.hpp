// SPDX-License-Identifier: MIT
// Which longer boundaries are worth their bytes? The staircase (nobody gains more tokens for fewer bytes),
// collected from the longest down, and the sweep that prices every boundary where pages have one size: one
// addition a page and group.
#pragma once

#include <kvcap/reuse/tile.hpp>

namespace kvcap::inline v1 {

struct RepairStep {
    u64 tokens = 0;
    u64 bytes = 0;
    friend constexpr bool operator==(const RepairStep&, const RepairStep&) = default;
};

/// now: the present answer. steps: of the staircase; 0 when nothing longer can be reached. cheapest: fewest
/// bytes, the longest of equals: repairing it gives exactly that answer. best_rate: most tokens gained a
/// byte, the longest of equals.
struct Repairs {
    u64 now = 0;
    u64 steps = 0;
    RepairStep cheapest{};
    RepairStep best_rate{};
    RepairStep longest{};
    friend constexpr bool operator==(const Repairs&, const Repairs&) = default;
};

/// Collects the staircase, longest boundary first.
template <class Visit>
struct Staircase {
    Repairs found{};
    Visit visit;

    constexpr void offer(u64 tokens, u64 bytes) noexcept {
        if (found.steps != 0 && bytes >= found.cheapest.bytes) {
            return;
        }
        found.cheapest = {tokens, bytes};
        if (found.steps++ == 0) {
            found.best_rate = found.longest = found.cheapest;
        } else if (product_exceeds(tokens - found.now, found.best_rate.bytes,
                                   found.best_rate.tokens - found.now, bytes)) {
            found.best_rate = found.cheapest;
        }
        visit(found.cheapest);
    }
};

/// A word of missing pages, bit i the page of boundary base + i + 1, and what a set bit does to the price.
struct Flow {
    u64 word;
    u64 bytes;
};

/// Bits [begin, begin + 64) of the missing pages; pages below `from` count as held.
template <PageSource S>
constexpr u64 missing_from(const S& pages, u64 shift_down, u64 base, u64 from) noexcept {
    u64 word = 0;
    if (base >= shift_down) {
        const u64 begin = base - shift_down;
        const u64 by = begin % 64;
        word = ~word_of(pages, begin / 64) >> by;
        if (by != 0) {
            word |= ~word_of(pages, begin / 64 + 1) << (64 - by);
        }
        return from <= begin ? word : word & ~low_bits(from - begin);
    }
    if (shift_down - base < 64) {
        word = ~word_of(pages, 0) << (shift_down - base);
    }
    return word & ~low_bits(from + (shift_down - base));
}

template <PageSource S>
constexpr u64 count_missing(const S& pages, u64 first, u64 end) noexcept {
    u64 missing = 0;
    for (u64 page = first; page < end;) {
        const u64 stop = smaller(end, page - page % 64 + 64);
        const u64 word = ~word_of(pages, page / 64) >> (page % 64);
        missing += static_cast<u64>(std::popcount(word & low_bits(stop - page)));
        page = stop;
    }
    return missing;
}

/// Prices every boundary in (above, at], in pages, from the right: a page leaves the price at the right end
/// of what is needed and enters it at the left end of a window or chunk.
template <PageSource S>
class PageSweep {
public:
    constexpr PageSweep(const Group<S>* groups, u32 count, const u64* bytes, u64 at) noexcept
        : groups_{groups}, bytes_{bytes}, count_{count} {
        for (u32 g = 0; g < count; ++g) {
            const TileRule rule = tile_rule(groups[g].rule);
            const S& pages = groups[g].pages;
            const u64 need = rule.need;
            need_[g] = need;
            sinks_[g] =
                rule.needs == Needs::window ? pages_over(groups[g].rule.sinks, groups[g].rule.page) : 0;
            switch (rule.needs) {
                case Needs::everything: price_ += bytes[g] * count_missing(pages, 0, at); break;
                case Needs::whole: price_ += bytes[g] * count_missing(pages, 0, pages.count); break;
                case Needs::chunk: price_ += bytes[g] * count_missing(pages, at - at % need, at); break;
                case Needs::window: {
                    const u64 first = at > need ? at - need : 0;
                    price_ += bytes[g] * (count_missing(pages, first, at) +
                                          count_missing(pages, 0, smaller(first, sinks_[g])));
                    break;
                }
                case Needs::snapshot:
                case Needs::nothing: break;
            }
        }
    }

    /// Offers the boundaries base + 1 .. base + bits, from the right. pre: base is a multiple of 64, bits <=
    /// 64
    template <class Visit>
    constexpr void block(u64 base, u64 bits, u64 above, u64 unit, Staircase<Visit>& stairs) noexcept {
        load(base);
        u64 changes = chunks_ != 0 ? ~u64{0} : 0;
        for (u32 f = 0; f < flows_; ++f) {
            changes |= flow_[f].word;
        }
        const u64 last = above > base ? above - base : 0;
        u64 price = price_;
        u64 best = stairs.found.steps == 0 ? off_scale : stairs.found.cheapest.bytes;
        for (u64 i = bits; i-- > last;) {
            u64 offer = price;
            for (u32 f = 0; f < snapshots_; ++f) {
                offer += flow_[f].bytes & (0 - (flow_[f].word >> i & 1));
            }
            if (offer < best) {
                stairs.offer((base + i + 1) * unit, offer);
                best = offer;
            }
            if ((changes << (63 - i)) == 0) {  // every boundary further left in this block costs as much
                break;
            }
            for (u32 f = snapshots_; f < flows_; ++f) {
                price += flow_[f].bytes & (0 - (flow_[f].word >> i & 1));
            }
            if (chunks_ != 0) {
                price += leave_chunks(base + i);
            }
        }
        price_ = price;
    }

private:
    constexpr void load(u64 base) noexcept {
        flows_ = 0;
        chunks_ = 0;
        for (u32 g = 0; g < count_; ++g) {
            if (groups_[g].rule.needs == Needs::snapshot) {
                flow_[flows_++] = {~word_of(groups_[g].pages, base / 64), bytes_[g]};
            }
        }
        snapshots_ = flows_;
        for (u32 g = 0; g < count_; ++g) {
            const Needs needs = groups_[g].rule.needs;
            const S& pages = groups_[g].pages;
            const bool sinks_only = needs == Needs::window && need_[g] == 0;
            if (needs == Needs::everything || needs == Needs::window) {
                const u64 kept = sinks_only ? low_bits(sinks_[g] - smaller(base, sinks_[g])) : ~u64{0};
                flow_[flows_++] = {~word_of(pages, base / 64) & kept, 0 - bytes_[g]};
            }
            if (needs == Needs::window && need_[g] != 0) {
                flow_[flows_++] = {missing_from(pages, need_[g], base, sinks_[g]), bytes_[g]};
            }
            chunks_ |= u64{needs == Needs::chunk ? 1u : 0u} << g;
        }
    }
    /// What the step from boundary page + 1 to boundary page changes for the chunked groups.
    constexpr u64 leave_chunks(u64 page) const noexcept {
        u64 change = 0;
        for (u64 rest = chunks_; rest != 0; rest &= rest - 1) {
            const u32 g = static_cast<u32>(std::countr_zero(rest));
            const S& pages = groups_[g].pages;
            if ((page + 1) % need_[g] == 0) {
                change += bytes_[g] * count_missing(pages, page + 1 - need_[g], page);
            } else if (!held(pages, page)) {
                change -= bytes_[g];
            }
        }
        return change;
    }

    const Group<S>* groups_;
    const u64* bytes_;
    u32 count_;
    u32 flows_ = 0;
    u32 snapshots_ = 0;
    u64 chunks_ = 0;
    u64 price_ = 0;
    u64 need_[most_groups]{};
    u64 sinks_[most_groups]{};
    Flow flow_[2 * most_groups]{};
};

template <PageSource S, class Visit>
constexpr void sweep_pages(const Group<S>* groups, u32 count, u64 at, u64 above, u64 unit, const u64* bytes,
                           Staircase<Visit>& stairs) noexcept {
    if (at <= above) {
        return;
    }
    PageSweep<S> sweep{groups, count, bytes, at};
    for (u64 base = (at - 1) / 64 * 64;; base -= 64) {
        sweep.block(base, smaller(at - base, 64), above, unit, stairs);
        if (base <= above) {
            return;
        }
    }
}

}  // namespace kvcap::inline v1
