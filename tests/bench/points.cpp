// SPDX-License-Identifier: MIT
// A million points of the exact engine on one core (4 models x 5 splits x 50,000 lengths), and one search
// over every split of 64 devices with 4 formats and 3 block sizes, each planned by vLLM's rules. Times are of
// the whole. Beside them what they cannot go below: so many estimates, so many plans.
#include <benchmark/benchmark.h>
#include <kvcap/core.hpp>
#include <kvcap/engine/vllm.hpp>
#include <kvcap/plan/fit.hpp>
#include <kvcap/plan/search.hpp>
#include <memory>

using namespace kvcap;

namespace {

constexpr GatedDelta delta{.key_heads = 16, .key_dim = 128, .value_heads = 32, .value_dim = 128};
constexpr Windowed near{Gqa{16, 128}, 1024_tok};

const ModelSpec* models() {
    static const ModelSpec all[4] = {
        compose(QueryHeads{128}, repeat(61, Mla{.latent = 512, .rope = 64})).value(),
        compose(QueryHeads{64}, repeat(80, Gqa{8, 128})).value(),
        compose(QueryHeads{32}, cycle(62, near, near, near, near, near, Gqa{16, 128})).value(),
        compose(QueryHeads{16}, cycle(48, delta, delta, delta, Gqa{2, 256})).value(),
    };
    return all;
}

void million_points(benchmark::State& state) {
    constexpr u32 splits[] = {1, 2, 4, 8, 16};
    constexpr u64 lengths = 50'000;
    u64 points = 0;
    for (auto _ : state) {
        u64 sum = 0;
        for (u32 m = 0; m < 4; ++m) {
            for (const u32 tp : splits) {
                for (u64 n = 1; n <= lengths; ++n) {
                    const auto held = fold(models()[m], {.prompt = {n * 20}}, {.tp = tp});
                    sum += held ? held->total().value : 0;
                    ++points;
                }
            }
        }
        benchmark::DoNotOptimize(sum);
    }
    state.counters["points"] = static_cast<double>(points) / static_cast<double>(state.iterations());
    state.SetItemsProcessed(static_cast<std::int64_t>(points));
}

/// The limit of the points: as many estimates, here one of each model and split.
void twenty_folds(benchmark::State& state) {
    constexpr u32 splits[] = {1, 2, 4, 8, 16};
    u64 tokens = 500'000;
    for (auto _ : state) {
        benchmark::DoNotOptimize(tokens);
        for (u32 m = 0; m < 4; ++m) {
            for (const u32 tp : splits) {
                benchmark::DoNotOptimize(fold(models()[m], {.prompt = {tokens}}, {.tp = tp}));
            }
        }
    }
}

constexpr u32 block_sizes[] = {16, 32, 64};

void store_in_four_formats(u32 which, ModelSpec* stored) {
    constexpr ElementFormat formats[] = {bf16, fp8, nvfp4, mxfp8};
    for (u32 i = 0; i < 4; ++i) {
        stored[i] = restored(models()[which], [&](u32, const LayerForm& form) noexcept {
                        return Stored{formats[i]}.store(form);
                    }).value();
    }
}

constexpr SearchSpace space{
    .devices = 64, .formats = 4, .blocks = 3, .cp_inside_tp = true, .remainder = Remainder::middle};

Result<PoolPlan> plan_of(const Candidate& c, const ModelSpec* stored, const std::vector<Bytes>& memory) {
    const vllm::Engine engine{.options = {.max_model_len = 32'768, .block_size = block_sizes[c.block]}};
    Sharding split = c.sharding;
    split.tp = c.attention_dp ? 1 : split.tp;
    return engine.pools(stored[c.format], split, {memory.data(), split.pp});
}

/// The limit of a search: a plan of each candidate.
void plans_64(benchmark::State& state, u32 which) {
    ModelSpec stored[4]{};
    store_in_four_formats(which, stored);
    const std::vector<Bytes> memory(64, 100_GiB);
    std::vector<Candidate> candidates;
    static_cast<void>(search(space, Goal::sequences, [&](const Candidate& c) -> Result<Outcome> {
        candidates.push_back(c);
        return Errc::unsupported;
    }));
    for (auto _ : state) {
        for (const Candidate& candidate : candidates) {
            benchmark::DoNotOptimize(plan_of(candidate, stored, memory));
        }
    }
    state.counters["candidates"] = static_cast<double>(candidates.size());
}

/// Every candidate of 64 devices planned from its forms and ranked by requests of 32,768 tokens.
void search_64(benchmark::State& state, u32 which) {
    ModelSpec stored[4]{};
    store_in_four_formats(which, stored);
    const std::vector<Bytes> memory(64, 100_GiB);
    u64 candidates = 0;
    for (auto _ : state) {
        const SearchResult found = search(space, Goal::sequences, [&](const Candidate& c) -> Result<Outcome> {
            const Result<PoolPlan> plan = plan_of(c, stored, memory);
            if (!plan) {
                return plan.error();
            }
            return Outcome{.sequences = most_sequences(*plan, {.prompt = 32'768_tok}),
                           .context = longest(*plan, 1, {u64{1} << 24}).value};
        });
        candidates = found.ranked.size() + found.dropped.size();
        if (found.ranked.empty()) {
            state.SkipWithError("nothing fits");
            break;
        }
        benchmark::DoNotOptimize(candidates);
    }
    state.counters["candidates"] = static_cast<double>(candidates);
}

BENCHMARK(million_points)->Unit(benchmark::kMillisecond);
BENCHMARK(twenty_folds);
BENCHMARK_CAPTURE(plans_64, deepseek_v3, 0)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(plans_64, llama_70b, 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(plans_64, windows, 2)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(search_64, deepseek_v3, 0)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(search_64, llama_70b, 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(search_64, windows, 2)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
