// SPDX-License-Identifier: MIT
// What vLLM 0.21 makes of Gemma-3-27B on two ranks, at build time.
#include <cstdio>
#include <kvcap/core.hpp>
#include <kvcap/engine/demand.hpp>
#include <kvcap/engine/vllm.hpp>

using namespace kvcap;

constexpr Windowed near{Gqa{16, 128}, 1024_tok};
constexpr auto gemma3 = compose(cycle(62, near, near, near, near, near, Gqa{16, 128})).value();
constexpr vllm::Rules rules = vllm::rules_named("0.21").value();
constexpr vllm::Engine engine = [] {
    vllm::Engine made{.options = vllm::options_unsaid(rules, gemma3, {.memory = 80_GiB}), .rules = rules};
    made.options.max_model_len = 131'072;
    return made;
}();
constexpr Bytes memory[] = {40_GiB, 40_GiB};
constexpr PoolPlan plan = engine.pools(gemma3, {.tp = 2}, {memory, 2}).value();
static_assert(plan.pools.size() == 1 && plan.classes.size() == 2);  // 6 groups of windows, one of full layers

int main() {
    const Ratio times = concurrency(plan, {.prompt = 131'072_tok});
    std::printf("%llu blocks, %.2f requests of 131,072 tokens\n",
                static_cast<unsigned long long>(plan.pools[0].units),
                static_cast<double>(times.over) / static_cast<double>(times.under));
}
