// SPDX-License-Identifier: MIT
// What does it cost to ask 1,024 workers at once, as a multiple of only reading their presence rows? 4,096
// pages, three groups, a window of 64 pages.
#include "reuse_yardstick.hpp"

#include <kvcap/reuse/fleet.hpp>
#include <random>
#include <string>

using namespace kvcap;

namespace {

enum class Shape { all_held, short_workers, uniform, holes, halves };

struct Fleet {
    std::vector<std::vector<u64>> rows;
    std::vector<FleetGroup> groups;
    Ask ask{};
    u64 workers = 0;
};

Fleet fleet_of(Shape shape, u64 workers, u64 pages) {
    constexpr u64 need = 64;
    std::mt19937_64 random{3};
    Fleet fleet{.rows = std::vector<std::vector<u64>>(3, std::vector<u64>(pages * workers / 64)),
                .groups = {},
                .workers = workers};
    for (u64 worker = 0; worker < workers; ++worker) {
        const u64 length = shape == Shape::short_workers
                               ? (random() % 10 == 0 ? pages : random() % (pages / 20 + 1))
                           : shape == Shape::uniform ? random() % (pages + 1)
                                                     : pages;
        for (u64 page = 0; page < pages; ++page) {
            const bool window = shape == Shape::holes     ? page % need != need - 1
                                : shape == Shape::halves  ? page >= pages / 2
                                : shape == Shape::uniform ? random() % 100 != 0
                                                          : true;
            const bool state =
                shape == Shape::holes || (shape == Shape::halves ? page < pages / 2 : page % 32 == 31);
            const bool bits[3]{page < length, page < length && window, page < length && state};
            for (u32 g = 0; g < 3; ++g) {
                fleet.rows[g][page * (workers / 64) + worker / 64] |= u64{bits[g] ? 1u : 0u} << (worker % 64);
            }
        }
    }
    fleet.groups = {{{.needs = Needs::everything, .page = 16}, fleet.rows[0].data(), pages},
                    {{.needs = Needs::window, .page = 16, .reach = need * 16}, fleet.rows[1].data(), pages},
                    {{.needs = Needs::snapshot, .page = 16}, fleet.rows[2].data(), pages}};
    fleet.ask = {.prompt = pages * 16 + 1, .limit = pages * 16, .grid = {.unit = 16}};
    return fleet;
}

void boundaries(benchmark::State& state, Shape shape, u64 workers, u64 pages) {
    const Fleet fleet = fleet_of(shape, workers, pages);
    std::vector<u32> buckets(fleet_buckets(fleet.ask));
    std::vector<Lane> blocks(fleet_blocks(fleet.groups.data(), 3, fleet.ask));
    std::vector<u64> boundary(workers);
    yardstick::against(state, fleet.rows, static_cast<double>(workers * pages), [&] {
        benchmark::ClobberMemory();
        benchmark::DoNotOptimize(kvcap::fleet(fleet.groups.data(), 3, workers, fleet.ask,
                                              {buckets.data(), blocks.data()}, boundary.data())
                                     .code);
        benchmark::DoNotOptimize(boundary.data());
    });
}

void best(benchmark::State& state, Shape shape, u64 workers, u64 pages) {
    const Fleet fleet = fleet_of(shape, workers, pages);
    std::vector<u32> buckets(fleet_buckets(fleet.ask));
    std::vector<Lane> blocks(fleet_blocks(fleet.groups.data(), 3, fleet.ask));
    std::vector<u64> boundary(workers);
    const u64 bytes[3]{2048, 512, 100'000};
    static_cast<void>(kvcap::fleet(fleet.groups.data(), 3, workers, fleet.ask,
                                   {buckets.data(), blocks.data()}, boundary.data()));
    yardstick::against(state, fleet.rows, 1, [&] {
        benchmark::ClobberMemory();
        benchmark::DoNotOptimize(
            best_worker(fleet.groups.data(), 3, workers, fleet.ask, bytes, boundary.data()));
    });
}

BENCHMARK_CAPTURE(boundaries, all held, Shape::all_held, 1024, 4096);
BENCHMARK_CAPTURE(boundaries, 90% of workers short, Shape::short_workers, 1024, 4096);
BENCHMARK_CAPTURE(boundaries, lengths uniform and 1% holes and states every 32, Shape::uniform, 1024, 4096);
BENCHMARK_CAPTURE(boundaries, worst: hole every need-1 and all states, Shape::holes, 1024, 4096);
BENCHMARK_CAPTURE(boundaries, worst
                  : window only in the right half and states only in the left, Shape::halves, 1024, 4096);
BENCHMARK_CAPTURE(boundaries, uniform: half the pages, Shape::uniform, 1024, 2048);
BENCHMARK_CAPTURE(boundaries, uniform: twice the workers, Shape::uniform, 2048, 4096);
BENCHMARK_CAPTURE(best, lengths uniform, Shape::uniform, 1024, 4096);

}  // namespace

BENCHMARK_MAIN();
