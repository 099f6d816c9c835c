// SPDX-License-Identifier: MIT
// What one estimate costs: the fold of models of different shapes, and its inverse.
#include <benchmark/benchmark.h>
#include <kvcap/core.hpp>

using namespace kvcap;

namespace {

const ModelSpec& deepseek_v3() {
    static const ModelSpec model =
        compose(QueryHeads{128}, repeat(61, Mla{.latent = 512, .rope = 64})).value();
    return model;
}

const ModelSpec& hybrid() {
    static const ModelSpec model =
        compose(QueryHeads{16},
                cycle(48, GatedDelta{.key_heads = 16, .key_dim = 128, .value_heads = 32, .value_dim = 128},
                      GatedDelta{.key_heads = 16, .key_dim = 128, .value_heads = 32, .value_dim = 128},
                      GatedDelta{.key_heads = 16, .key_dim = 128, .value_heads = 32, .value_dim = 128},
                      Gqa{.kv_heads = 2, .head_dim = 256}))
            .value();
    return model;
}

void fold_of(benchmark::State& state, const ModelSpec& model) {
    u64 tokens = 32'768;
    for (auto _ : state) {
        benchmark::DoNotOptimize(tokens);
        const auto held = fold(model, {.prompt = {tokens}}, {.tp = 8});
        benchmark::DoNotOptimize(held);
    }
}

void longest_of(benchmark::State& state, const ModelSpec& model) {
    Bytes budget = 40_GiB;
    for (auto _ : state) {
        benchmark::DoNotOptimize(budget);
        benchmark::DoNotOptimize(longest(model, budget, {.tp = 8}));
    }
}

BENCHMARK_CAPTURE(fold_of, deepseek_v3, deepseek_v3());
BENCHMARK_CAPTURE(fold_of, hybrid, hybrid());
BENCHMARK_CAPTURE(longest_of, deepseek_v3, deepseek_v3());

}  // namespace

BENCHMARK_MAIN();
