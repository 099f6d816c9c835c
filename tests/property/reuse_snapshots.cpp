// SPDX-License-Identifier: MIT
// Snapshot placement against all subsets, on a line and in a tree.
#include "random.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <kvcap/reuse/snapshot_tree.hpp>
#include <kvcap/reuse/snapshots.hpp>
#include <vector>

namespace reuse_snapshots_tests {

using namespace kvcap;
using property::Random;

namespace {

struct Memory {
    std::vector<u64> slope, constant, before, now;
    std::vector<u32> index, choice;
    SnapshotScratch scratch{};

    Memory(u64 count, u64 most)
        : slope(count),
          constant(count),
          before(count + 1),
          now(count + 1),
          index(count),
          choice((most + 1) * (count + 1)) {
        scratch = {slope.data(), constant.data(), index.data(), before.data(), now.data(), choice.data()};
    }
};

/// By the definition: every reuse recomputes from the last snapshot at or before it.
u64 recompute(const std::vector<ReusePoint>& points, std::vector<u64> snapshots) {
    std::sort(snapshots.begin(), snapshots.end());
    u64 sum = 0;
    for (const ReusePoint& point : points) {
        u64 from = 0;
        for (const u64 at : snapshots) {
            from = at <= point.at ? at : from;
        }
        sum += point.weight * (point.at - from);
    }
    return sum;
}

TEST_CASE("snapshots: all subsets on a line", "[reuse]") {
    Random random{property::seed() + 40};
    for (u64 i = 0; i < property::cases(20'000) / 10; ++i) {
        INFO("seed " << property::seed() << ", case " << i);
        std::vector<ReusePoint> points;
        const u64 count = random.in(1, 9);
        u64 at = random.in(0, 2);
        for (u64 p = 0; p < count; ++p) {
            points.push_back({at, random.in(1, 20)});
            at += random.in(1, random.chance(50) ? 3 : 40);
        }
        REQUIRE(fault(points.data(), count).code == Errc::ok);
        // Snapshots anywhere on a short line are no better than on reuse points.
        std::vector<u64> places;
        for (const ReusePoint& point : points) {
            places.push_back(point.at);
        }
        if (points.back().at <= 10) {
            places.clear();
            for (u64 p = 0; p <= 10; ++p) {
                places.push_back(p);
            }
        }
        std::vector<u64> best(places.size() + 1, off_scale);
        for (u64 subset = 0; subset < u64{1} << places.size(); ++subset) {
            std::vector<u64> snapshots;
            for (std::size_t p = 0; p < places.size(); ++p) {
                if ((subset >> p & 1) != 0) {
                    snapshots.push_back(places[p]);
                }
            }
            best[snapshots.size()] = std::min(best[snapshots.size()], recompute(points, snapshots));
        }
        for (std::size_t k = 1; k < best.size(); ++k) {
            best[k] = std::min(best[k], best[k - 1]);
        }
        Memory memory{count, count};
        std::vector<u64> cost(count + 1);
        snapshot_costs(points.data(), count, count, cost.data(), memory.scratch);
        for (u64 k = 0; k <= count; ++k) {
            REQUIRE(cost[k] == best[k]);
            std::vector<u64> chosen(k + 1);
            chosen.resize(snapshot_places(points.data(), count, k, memory.choice.data(), chosen.data()));
            REQUIRE(chosen.size() <= k);
            REQUIRE(recompute(points, chosen) == cost[k]);
            Memory other{count, 0};
            REQUIRE(snapshot_cost(points.data(), count, k, other.scratch) == cost[k]);
            REQUIRE((k < 2 || cost[k - 2] - cost[k - 1] >= cost[k - 1] - cost[k]));  // convex
        }
    }
}

TEST_CASE("snapshots: one k by price equals all k", "[reuse]") {
    Random random{property::seed() + 41};
    std::vector<ReusePoint> points;
    u64 at = 0;
    for (u64 p = 0; p < 3000; ++p) {
        at += random.log_in(1000);
        points.push_back({at, random.log_in(50)});
    }
    Memory memory{points.size(), 200};
    std::vector<u64> cost(201);
    snapshot_costs(points.data(), points.size(), 200, cost.data(), memory.scratch);
    for (u64 k = 0; k <= 200; k += 7) {
        REQUIRE(snapshot_cost(points.data(), points.size(), k, memory.scratch) == cost[k]);
        if (k > 0) {
            const u64 step = at / k + 1;
            const Spacing evenly = every(points.data(), points.size(), step);
            REQUIRE(evenly.snapshots <= k);
            REQUIRE(cost[k] <= evenly.recompute);
        }
    }
}

TEST_CASE("snapshots: a grid", "[reuse]") {
    ReusePoint points[5]{{3, 2}, {7, 1}, {8, 4}, {15, 1}, {16, 1}};
    const Merged merged = on_grid(points, 5, 8);
    REQUIRE(merged.count == 3);
    REQUIRE(merged.lost == 2 * 3 + 7 + 7);
    REQUIRE(points[0].weight == 3);
    REQUIRE(points[1].weight == 5);
    REQUIRE(points[2].at == 16);
}

TEST_CASE("snapshots: all subsets of a tree", "[reuse]") {
    Random random{property::seed() + 42};
    for (u64 i = 0; i < property::cases(20'000) / 10; ++i) {
        INFO("seed " << property::seed() << ", case " << i);
        const u64 count = random.in(1, 10);
        std::vector<TreeNode> nodes;
        for (u64 v = 0; v < count; ++v) {
            const bool root = v == 0 || random.chance(15);
            const u32 parent = root ? no_parent : static_cast<u32>(random.in(0, v - 1));
            const u64 above = root ? 0 : nodes[parent].depth;
            nodes.push_back({parent, above + random.in(1, 9), random.in(0, 6)});
        }
        const u64 price = random.in(0, 30);
        const auto cost_of = [&](u64 subset, TreeChoice* choice) {
            u64 sum = 0;
            for (u64 v = 0; v < count; ++v) {
                u32 at = static_cast<u32>(v);
                while (at != no_parent && (subset >> at & 1) == 0) {
                    at = nodes[at].parent;
                }
                sum += nodes[v].reuses * (nodes[v].depth - (at == no_parent ? 0 : nodes[at].depth));
            }
            if (choice != nullptr) {
                choice->recompute = sum;
                choice->snapshots = static_cast<u64>(std::popcount(subset));
            }
            return sum + price * static_cast<u64>(std::popcount(subset));
        };
        u64 best = off_scale;
        for (u64 subset = 0; subset < u64{1} << count; ++subset) {
            best = std::min(best, cost_of(subset, nullptr));
        }
        std::vector<u32> level(count);
        std::vector<u64> cells(tree_cells(nodes.data(), count, level.data()));
        std::vector<u64> first(count);
        std::vector<u8> chosen(count);
        const TreeChoice got = tree_snapshots(nodes.data(), count, price, level.data(), cells.data(),
                                              first.data(), chosen.data());
        REQUIRE(got.recompute + price * got.snapshots == best);
        u64 subset = 0;
        for (u64 v = 0; v < count; ++v) {
            subset |= u64{chosen[v]} << v;
        }
        TreeChoice counted{};
        REQUIRE(cost_of(subset, &counted) == best);
        REQUIRE(counted.recompute == got.recompute);
        REQUIRE(counted.snapshots == got.snapshots);
    }
}

}  // namespace

}  // namespace reuse_snapshots_tests
