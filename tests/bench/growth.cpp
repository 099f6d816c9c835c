// SPDX-License-Identifier: MIT
// How does the work grow? One estimate with layers (must be linear) and with tokens (must not grow), a vLLM plan with
// layers, one prompt's boundary with pages, a fleet's with workers.
#include "calibration.hpp"

#include <kvcap/core.hpp>
#include <kvcap/engine/vllm.hpp>
#include <kvcap/reuse.hpp>
#include <kvcap/reuse/fleet.hpp>
#include <vector>

using namespace kvcap;

namespace {

ModelSpec model_of(u32 layers) {
    const Windowed near{Gqa{8, 128}, 1024_tok};
    return compose(QueryHeads{32}, cycle(layers, near, near, near, Gqa{8, 128})).value();
}

void fold_layers(benchmark::State& state) {
    const ModelSpec model = model_of(static_cast<u32>(state.range(0)));
    u64 tokens = 32'768;
    for (auto _ : state) {
        benchmark::DoNotOptimize(tokens);
        benchmark::DoNotOptimize(fold(model, {.prompt = {tokens}}, {.tp = 8}));
    }
}

void fold_tokens(benchmark::State& state) {
    const ModelSpec model = model_of(48);
    u64 tokens = static_cast<u64>(state.range(0));
    for (auto _ : state) {
        benchmark::DoNotOptimize(tokens);
        benchmark::DoNotOptimize(fold(model, {.prompt = {tokens}}, {.tp = 8}));
    }
}

void plan_layers(benchmark::State& state) {
    const ModelSpec model = model_of(static_cast<u32>(state.range(0)));
    const vllm::Engine engine{.options = {.max_model_len = 131'072}};
    const Bytes memory = 1024_GiB;
    for (auto _ : state) {
        const Result<PoolPlan> plan = engine.pools(model, {}, {&memory, 1});
        if (!plan) {
            state.SkipWithError("refused");
            break;
        }
        benchmark::DoNotOptimize(plan);
    }
}

/// Everything held, a window that reads 64 pages, a state every 32 pages.
void boundary_pages(benchmark::State& state) {
    const u64 pages = static_cast<u64>(state.range(0));
    const std::vector<u64> all(pages / 64 + 1, ~u64{0});
    const std::vector<u64> states(pages / 64 + 1, (u64{1} << 31) | (u64{1} << 63));
    const Group<> groups[]{{{.needs = Needs::everything, .page = 16}, {all.data(), pages}},
                           {{.needs = Needs::window, .page = 16, .reach = 1023}, {all.data(), pages}},
                           {{.needs = Needs::snapshot, .page = 16}, {states.data(), pages}}};
    const Ask ask = ask_for(pages * 16, 16);
    for (auto _ : state) {
        benchmark::ClobberMemory();
        benchmark::DoNotOptimize(reusable(groups, 3, ask));
    }
}

void fleet_workers(benchmark::State& state) {
    const u64 workers = static_cast<u64>(state.range(0));
    constexpr u64 pages = 1024;
    const std::vector<u64> rows(pages * ((workers + 63) / 64), 0xfffffffffffffff7);
    const FleetGroup groups[]{{{.needs = Needs::everything, .page = 16}, rows.data(), pages},
                              {{.needs = Needs::window, .page = 16, .reach = 1023}, rows.data(), pages}};
    const Ask ask{.prompt = pages * 16 + 1, .limit = pages * 16, .grid = {.unit = 16}};
    std::vector<u32> buckets(fleet_buckets(ask));
    std::vector<Lane> blocks(fleet_blocks(groups, 2, ask));
    std::vector<u64> boundary(workers);
    for (auto _ : state) {
        benchmark::ClobberMemory();
        benchmark::DoNotOptimize(
            fleet(groups, 2, workers, ask, {buckets.data(), blocks.data()}, boundary.data()).code);
    }
}

BENCHMARK(calibration);
BENCHMARK(fold_layers)->RangeMultiplier(2)->Range(8, 256);
BENCHMARK(fold_tokens)->RangeMultiplier(32)->Range(1 << 10, 1 << 30);
BENCHMARK(plan_layers)->RangeMultiplier(2)->Range(8, 256);
BENCHMARK(boundary_pages)->RangeMultiplier(8)->Range(64, 1 << 18);
BENCHMARK(fleet_workers)->RangeMultiplier(4)->Range(64, 4096);

}  // namespace

BENCHMARK_MAIN();
