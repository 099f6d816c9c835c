// SPDX-License-Identifier: MIT
// How far could each of W workers skip this prompt, and which should get it? Presence is transposed: one row
// of W bits for every group and page. The best worker has the greatest boundary; of equals, the fewest bytes
// to move.
#pragma once

#include <kvcap/reuse/fleet_lane.hpp>
#include <kvcap/reuse/repair.hpp>

namespace kvcap::inline v1 {

/// One worker's pages of a group, for the questions about a single worker.
struct WorkerBits {
    const u64* rows = nullptr;
    u64 row_words = 0;
    u64 worker = 0;
    u64 count = 0;

    constexpr u64 raw(u64 i) const noexcept {
        u64 bits = 0;
        for (u64 k = 0; k < 64 && 64 * i + k < count; ++k) {
            bits |= (rows[(64 * i + k) * row_words + worker / 64] >> (worker % 64) & 1) << k;
        }
        return bits;
    }
};

/// Boundary of each worker in tokens. Errc::not_divisible: pages that are not of the unit's size are asked
/// worker by worker (reusable). pre: fault() finds none; `boundary` has a place for each worker
constexpr Error fleet(const FleetGroup* groups, u32 count, u64 workers, const Ask& ask,
                      const FleetScratch& scratch, u64* boundary) noexcept {
    Group<WorkerBits> rules[most_groups]{};
    for (u32 g = 0; g < count; ++g) {
        rules[g].rule = groups[g].rule;
        if (!one_page_size(rules + g, 1, ask.grid)) {
            return {
                .code = Errc::not_divisible, .layer = g, .got = groups[g].rule.page, .want = ask.grid.unit};
        }
    }
    for (u64 lane = 0; lane * lane_workers < workers; ++lane) {
        FleetLane{groups, count, workers, lane, ask, scratch}.answer(boundary + lane * lane_workers);
    }
    for (u64 worker = 0; worker < workers; ++worker) {
        boundary[worker] *= ask.grid.unit;
    }
    return {};
}

/// bytes: what the worker would have to fetch so that the whole limit can be skipped.
struct BestWorker {
    u64 worker = 0;
    u64 tokens = 0;
    u64 bytes = 0;
    friend constexpr bool operator==(const BestWorker&, const BestWorker&) = default;
};

/// The worker with the greatest boundary; of equals the one with the fewest bytes to move, then the first.
/// bytes[g]: of one page or snapshot of group g. pre: workers > 0, `boundary` from fleet()
constexpr BestWorker best_worker(const FleetGroup* groups, u32 count, u64 workers, const Ask& ask,
                                 const u64* bytes, const u64* boundary) noexcept {
    u64 most = 0;
    for (u64 worker = 0; worker < workers; ++worker) {
        most = larger(most, boundary[worker]);
    }
    BestWorker best{.worker = workers, .tokens = most, .bytes = off_scale};
    for (u64 worker = 0; worker < workers; ++worker) {
        if (boundary[worker] != most) {
            continue;
        }
        Group<WorkerBits> own[most_groups]{};
        for (u32 g = 0; g < count; ++g) {
            own[g] = {groups[g].rule, {groups[g].rows, ceil_div(workers, 64), worker, groups[g].pages}};
        }
        const u64 cost =
            repair_bytes(own, count, ask.grid.down(ask.limit), ask.grid, Prices<WorkerBits>{.bytes = bytes});
        if (best.worker == workers || cost < best.bytes) {
            best.worker = worker;
            best.bytes = cost;
        }
    }
    return best;
}

}  // namespace kvcap::inline v1
