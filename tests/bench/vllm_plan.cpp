// SPDX-License-Identifier: MIT
// What one vLLM plan costs, from forms to pools: a 60-layer hybrid, a window model on two stages, and DeepSeek-V3;
// beside it the copy of a plan. What the units of one request cost, beside a call.
#include <benchmark/benchmark.h>
#include <kvcap/core.hpp>
#include <kvcap/engine/demand.hpp>
#include <kvcap/engine/vllm.hpp>

using namespace kvcap;

namespace {

constexpr GatedDelta delta{.key_heads = 16, .key_dim = 128, .value_heads = 64, .value_dim = 128};

const ModelSpec& hybrid() {
    static const ModelSpec model = compose(cycle(60, delta, delta, delta, Gqa{2, 256})).value();
    return model;
}

const ModelSpec& windows() {
    static const Windowed near{Gqa{16, 128}, 1024_tok};
    static const ModelSpec model = compose(cycle(62, near, near, near, near, near, Gqa{16, 128})).value();
    return model;
}

const ModelSpec& latents() {
    static const ModelSpec model =
        compose(QueryHeads{128}, repeat(61, Mla{.latent = 512, .rope = 64})).value();
    return model;
}

void plan_of(benchmark::State& state, const ModelSpec& model, const Sharding& sharding) {
    const vllm::Engine engine{.options = {.max_model_len = 131'072, .ssm_bytes = 4}};
    const Bytes memory[2] = {40_GiB, 39_GiB};
    for (auto _ : state) {
        const Result<PoolPlan> plan = engine.pools(model, sharding, {memory, sharding.pp});
        if (!plan) {
            state.SkipWithError("refused");
            break;
        }
        benchmark::DoNotOptimize(plan);
    }
}

/// The limit of a plan: writing the value once, from another one.
void copy_of(benchmark::State& state) {
    const Bytes memory = 40_GiB;
    Result<PoolPlan> plan = vllm::Engine{}.pools(hybrid(), {}, {&memory, 1});
    for (auto _ : state) {
        benchmark::DoNotOptimize(plan);
        Result<PoolPlan> copy = plan;
        benchmark::DoNotOptimize(copy);
    }
    state.counters["bytes"] = sizeof plan;
}

[[gnu::noinline]] u64 same(u64 tokens) {
    benchmark::DoNotOptimize(tokens);
    return tokens;
}

/// The limit of a question that one function answers.
void a_call(benchmark::State& state) {
    u64 tokens = 32'768;
    for (auto _ : state) {
        benchmark::DoNotOptimize(tokens);
        benchmark::DoNotOptimize(same(tokens));
    }
}

void demand_of(benchmark::State& state) {
    const Bytes memory = 40_GiB;
    const PoolPlan plan = vllm::Engine{}.pools(hybrid(), {}, {&memory, 1}).value();
    u64 tokens = 32'768;
    for (auto _ : state) {
        benchmark::DoNotOptimize(tokens);
        benchmark::DoNotOptimize(demand(plan, {.prompt = {tokens}}));
    }
}

BENCHMARK_CAPTURE(plan_of, hybrid_60_layers, hybrid(), Sharding{.tp = 2});
BENCHMARK_CAPTURE(plan_of, windows_2_stages, windows(), Sharding{.tp = 2, .pp = 2});
BENCHMARK_CAPTURE(plan_of, deepseek_v3, latents(), Sharding{.tp = 8});
BENCHMARK(copy_of);
BENCHMARK(demand_of);
BENCHMARK(a_call);

}  // namespace

BENCHMARK_MAIN();
