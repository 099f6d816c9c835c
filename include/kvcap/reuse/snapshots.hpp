// SPDX-License-Identifier: MIT
// Where along a prompt should k state snapshots lie? Reuse points x_i with weights f_i; each recomputes from
// the last snapshot at or before it (the start is free): minimise sum f_i (x_i - snapshot). Snapshots belong
// on reuse points. With F, X the sums of f and f x, a last snapshot at i costs D[i-1] - X_i + x_i F_i + X_j -
// x_i F_j at point j: a line in F_j of slope -x_i, so a queue of lines answers a layer in O(n). Exact for all
// k in O(nk); one k by a price a snapshot, since the cost is convex in k.
#pragma once

#include <kvcap/result.hpp>

namespace kvcap::inline v1 {

struct ReusePoint {
    u64 at = 0;
    u64 weight = 0;
};

/// Points strictly increasing, with weights, and sums that stay below 2^63.
constexpr Error fault(const ReusePoint* points, u64 count) noexcept {
    u64 weight = 0;
    u64 last = 0;
    for (u64 i = 0; i < count; ++i) {
        if (points[i].weight == 0) {
            return {.code = Errc::zero_dimension, .hint = i};
        }
        if (i > 0 && points[i].at <= last) {
            return {.code = Errc::negative, .got = points[i].at, .want = last, .hint = i};
        }
        last = points[i].at;
        weight = saturating_sum(weight, points[i].weight);
    }
    return {.code = saturating_product(weight, last) >> 63 != 0 ? Errc::overflow : Errc::ok};
}

struct Merged {
    u64 count = 0;
    u64 lost = 0;  ///< tokens recomputed whatever the snapshots: sum f (x - floor(x))
};

/// Snapshots only on multiples of `step`: points move down to it and equal ones become one. Sorted points
/// stay sorted.
constexpr Merged on_grid(ReusePoint* points, u64 count, u64 step) noexcept {
    Merged merged{};
    for (u64 i = 0; i < count; ++i) {
        const u64 down = points[i].at - points[i].at % step;
        merged.lost += points[i].weight * (points[i].at - down);
        if (merged.count > 0 && points[merged.count - 1].at == down) {
            points[merged.count - 1].weight += points[i].weight;
        } else {
            points[merged.count++] = {down, points[i].weight};
        }
    }
    return merged;
}

/// Snapshots at every multiple of `step`: the baseline. recompute / weight is the expected recompute of one
/// reuse.
struct Spacing {
    u64 snapshots = 0;
    u64 recompute = 0;
    u64 weight = 0;
    friend constexpr bool operator==(const Spacing&, const Spacing&) = default;
};

/// pre: step > 0
constexpr Spacing every(const ReusePoint* points, u64 count, u64 step) noexcept {
    Spacing spacing{};
    for (u64 i = 0; i < count; ++i) {
        spacing.recompute += points[i].weight * (points[i].at % step);
        spacing.weight += points[i].weight;
        spacing.snapshots = points[i].at / step;
    }
    return spacing;
}

/// Lines y = constant - slope * f with rising slopes and constants that never fall, asked at rising f for the lowest.
class LineQueue {
public:
    /// index: count places.
    constexpr LineQueue(u64* slope, u64* constant, u32* index) noexcept
        : slope_{slope}, constant_{constant}, index_{index} {}

    constexpr void add(u64 slope, u64 constant, u32 index) noexcept {
        while (end_ - begin_ >= 2 && !useful(end_ - 2, end_ - 1, slope, constant)) {
            --end_;
        }
        slope_[end_] = slope;
        constant_[end_] = constant;
        index_[end_++] = index;
    }
    /// Moves on to the lowest line at f; the last of equals. pre: a line was added
    constexpr void ask(u64 f) noexcept {
        while (end_ - begin_ >= 2 && below(begin_ + 1, begin_, f)) {
            ++begin_;
        }
    }
    constexpr u64 slope() const noexcept { return slope_[begin_]; }
    constexpr u64 constant() const noexcept { return constant_[begin_]; }
    constexpr u32 index() const noexcept { return index_[begin_]; }

private:
    /// line a is not above line b at f; slope a >= slope b.
    constexpr bool below(u64 a, u64 b, u64 f) const noexcept {
        return constant_[a] <= constant_[b] ||
               !product_exceeds(constant_[a] - constant_[b], 1, slope_[a] - slope_[b], f);
    }
    /// Whether line b is lowest anywhere between a and the new line.
    constexpr bool useful(u64 a, u64 b, u64 slope, u64 constant) const noexcept {
        return product_exceeds(constant - constant_[a], slope_[b] - slope_[a], constant_[b] - constant_[a],
                               slope - slope_[a]);
    }

    u64* slope_;
    u64* constant_;
    u32* index_;
    u64 begin_ = 0;
    u64 end_ = 0;
};

/// Memory of the caller. slope, constant: count words each; index: count. before, now: count + 1 words each.
/// choice: (most + 1) x (count + 1), or null when only the costs are wanted.
struct SnapshotScratch {
    u64* slope = nullptr;
    u64* constant = nullptr;
    u32* index = nullptr;
    u64* before = nullptr;
    u64* now = nullptr;
    u32* choice = nullptr;
};

/// cost[k] for k = 0 .. most: the least recompute with at most k snapshots. pre: fault() finds none
constexpr void snapshot_costs(const ReusePoint* points, u64 count, u64 most, u64* cost,
                              const SnapshotScratch& scratch) noexcept {
    u64* before = scratch.before;
    u64* now = scratch.now;
    before[0] = now[0] = 0;
    for (u64 j = 1; j <= count; ++j) {
        before[j] = before[j - 1] + points[j - 1].weight * points[j - 1].at;
    }
    cost[0] = before[count];
    for (u64 k = 1; k <= most; ++k) {
        LineQueue lines{scratch.slope, scratch.constant, scratch.index};
        u32* choice = scratch.choice == nullptr ? nullptr : scratch.choice + k * (count + 1);
        u64 weight = 0;
        u64 moment = 0;
        for (u64 j = 1; j <= count; ++j) {
            const u64 at = points[j - 1].at;
            weight += points[j - 1].weight;
            moment += points[j - 1].weight * at;
            lines.add(at, before[j - 1] + (at * weight - moment), static_cast<u32>(j));
            lines.ask(weight);
            const u64 value = lines.constant() + moment - lines.slope() * weight;
            now[j] = smaller(value, before[j]);
            if (choice != nullptr) {
                choice[j] = value < before[j] ? lines.index() : 0;
            }
        }
        cost[k] = now[count];
        u64* const swapped = before;
        before = now;
        now = swapped;
    }
}

/// The snapshots that reach cost[k], written from the last to the first into `at`; returns how many (at most
/// k). choice: from snapshot_costs.
constexpr u64 snapshot_places(const ReusePoint* points, u64 count, u64 k, const u32* choice,
                              u64* at) noexcept {
    u64 places = 0;
    for (u64 j = count; k > 0 && j > 0; --k) {
        const u32 last = choice[k * (count + 1) + j];
        if (last != 0) {
            at[places++] = points[last - 1].at;
            j = last - 1;
        }
    }
    return places;
}

struct Priced {
    u64 total = 0;      ///< recompute + price x snapshots
    u64 snapshots = 0;  ///< of some best set
};

/// The best total when every snapshot costs `price`. O(n). pre: price < 2^63
constexpr Priced price_snapshots(const ReusePoint* points, u64 count, u64 price,
                                 const SnapshotScratch& scratch) noexcept {
    u64* best = scratch.now;
    u64* used = scratch.before;
    LineQueue lines{scratch.slope, scratch.constant, scratch.index};
    best[0] = used[0] = 0;
    u64 weight = 0;
    u64 moment = 0;
    for (u64 j = 1; j <= count; ++j) {
        const u64 at = points[j - 1].at;
        weight += points[j - 1].weight;
        moment += points[j - 1].weight * at;
        lines.add(at, best[j - 1] + (at * weight - moment), static_cast<u32>(j));
        lines.ask(weight);
        const u64 value = lines.constant() + moment - lines.slope() * weight + price;
        const bool none = moment <= value;
        best[j] = none ? moment : value;
        used[j] = none ? 0 : used[lines.index() - 1] + 1;
    }
    return {best[count], used[count]};
}

/// The least recompute with at most k snapshots, in O(n log total): the greatest over prices of best total -
/// price x k.
constexpr u64 snapshot_cost(const ReusePoint* points, u64 count, u64 k,
                            const SnapshotScratch& scratch) noexcept {
    u64 high = 1;
    for (u64 j = 0; j < count; ++j) {
        high += points[j].weight * points[j].at;
    }
    u64 low = 0;
    while (low < high) {
        const u64 middle = low + (high - low) / 2;
        if (price_snapshots(points, count, middle, scratch).snapshots <= k) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    const auto bound = [&](u64 price) noexcept {
        const u64 total = price_snapshots(points, count, price, scratch).total;
        const u64 paid = saturating_product(price, k);
        return total > paid ? total - paid : 0;
    };
    return low == 0 ? bound(0) : larger(bound(low), bound(low - 1));
}

}  // namespace kvcap::inline v1
