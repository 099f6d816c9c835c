// SPDX-License-Identifier: MIT
// Exact snapshot placement on a line of 10,000 reuse points: all k up to 1,000, and one k by a price.
#include <benchmark/benchmark.h>
#include <kvcap/reuse/snapshots.hpp>
#include <random>
#include <vector>

using namespace kvcap;

namespace {

struct Line {
    std::vector<ReusePoint> points;
    std::vector<u64> slope, constant, before, now, cost;
    std::vector<u32> index, choice;
    SnapshotScratch scratch{};

    Line(u64 count, u64 most, bool places) {
        std::mt19937_64 random{5};
        u64 at = 0;
        for (u64 i = 0; i < count; ++i) {
            at += 1 + random() % 200;
            points.push_back({at, 1 + random() % 30});
        }
        slope.resize(count);
        constant.resize(count);
        index.resize(count);
        before.resize(count + 1);
        now.resize(count + 1);
        cost.resize(most + 1);
        choice.resize(places ? (most + 1) * (count + 1) : 0);
        scratch = {slope.data(), constant.data(), index.data(), before.data(), now.data(),
                   places ? choice.data() : nullptr};
    }
};

void all_k(benchmark::State& state, bool places) {
    Line line{10'000, 1000, places};
    for (auto _ : state) {
        snapshot_costs(line.points.data(), line.points.size(), 1000, line.cost.data(), line.scratch);
        benchmark::DoNotOptimize(line.cost.data());
    }
    state.counters["every_k_against_optimum_at_100"] =
        static_cast<double>(
            every(line.points.data(), line.points.size(), line.points.back().at / 100).recompute) /
        static_cast<double>(line.cost[100]);
}

void one_k(benchmark::State& state) {
    Line line{10'000, 0, false};
    for (auto _ : state) {
        benchmark::DoNotOptimize(snapshot_cost(line.points.data(), line.points.size(), 100, line.scratch));
    }
}

BENCHMARK_CAPTURE(all_k, costs, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(all_k, costs and places, true)->Unit(benchmark::kMillisecond);
BENCHMARK(one_k)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
