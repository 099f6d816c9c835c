// SPDX-License-Identifier: MIT
// TensorRT-LLM's rules, as facts of the build. Numbers of the engine's own tests are in
// tests/golden/tensorrt_llm.
#include <kvcap/core.hpp>
#include <kvcap/engine/demand.hpp>
#include <kvcap/engine/trtllm.hpp>

using namespace kvcap;
using namespace kvcap::trtllm;

namespace {

constexpr auto llama = compose(QueryHeads{32}, repeat(32, Gqa{8, 128})).value();
constexpr Bytes available[] = {{64'424'509'440}, {64'424'509'440}};

constexpr PoolPlan plan(const ModelSpec& model, const Options& options, const Sharding& sharding = {}) {
    return trtllm::Engine{options}.pools(model, sharding, {available, sharding.pp}).value();
}

// A fraction of free memory, in blocks: down in Python, up in C++.
static_assert(Equals<plan(llama, {}).pools[0].units, 13'824>);
static_assert(plan(llama, {.max_tokens = 100'000}).pools[0].units == 3'125);
static_assert(plan(llama, {.max_tokens = 100'001}).pools[0].units == 3'125);
static_assert(plan(llama, {.path = Path::cpp, .max_tokens = 100'001}).pools[0].units == 3'126);
static_assert(plan(llama, {.dtype = KvDtype::nvfp4}).pools[0].units == 49'152);

// Heads on a rank are rounded up; the estimate before the manager rounds the product down.
constexpr AlikeLayers ten_heads{.layers = 40, .kv_heads = 10, .head_dim = 128};
static_assert(manager_bytes(ten_heads, 4, KvDtype::half) == 61'440);
static_assert(estimator_bytes(ten_heads, 4, KvDtype::half) == 51'200);

// Two windows: the same memory each, whatever their length or layers.
constexpr auto windowed = compose(cycle(36, Windowed{Gqa{8, 64}, 128_tok}, Gqa{8, 64})).value();
constexpr PoolPlan two = plan(windowed, {});
static_assert(two.pools.size() == 2 && two.pools[0].units == two.pools[1].units);
static_assert(two.pools[0].allocated == two.pools[1].allocated);

// A sequence that outgrows its window holds one block more.
static_assert(demand(two, {.prompt = 128_tok}).units[0] == 4 &&
              demand(two, {.prompt = 129_tok}).units[0] == 5);
static_assert(demand(two, {.prompt = 4096_tok}).units[1] == 128);
static_assert(most_blocks(1000, 200, {.tokens_per_block = 64, .window = 1100, .beams = 4}) == 34);

// Windows that do not fit one sequence shrink, the longest first.
constexpr Windows asked = [] {
    Windows windows{};
    static_cast<void>(windows.push({100, 128}));
    static_cast<void>(windows.push({200, 96}));
    static_cast<void>(windows.push({7000, 64}));
    return windows;
}();
static_assert(clamped(asked, 33'604, trtllm::not_set)[1].tokens == 130);
static_assert(clamped(asked, 33'604, trtllm::not_set)[2].tokens == 130);
static_assert(clamped(asked, 489'402, trtllm::not_set) == asked);

// A pool shorter than the longest sequence shortens it.
static_assert(plan(llama, {.max_seq_len = 1 << 20}).max_len == 13'824 * 32);
static_assert(window_upper_bound(100, 32, 2, 131'072) == 49 * 32);

// Beams share whole blocks of the prompt, and of an encoder's tokens; a plan's stairs count as the scheduler does.
constexpr Lengths beams{.prompt = {3096}, .decoded = {1000}, .encoder = {1500}, .branches = 4};
static_assert(steps_of(PoolKind::full, 4096, 32).units(beams) == 96 + 4 * 32);
static_assert(steps_of(PoolKind::full, 4096, 32).units(beams) == most_blocks(3096, 1000, {32, 4096, 4}));
static_assert(steps_of(PoolKind::window, 1024, 32).units(beams) == most_blocks(3096, 1000, {32, 1024, 4}));
static_assert(steps_of(PoolKind::cross, 0, 32).units(beams) == 46 + 4);

// States: a slot for each sequence of a batch and one for padding.
constexpr auto hybrid = compose(repeat(24, Mamba2{128, 64, 128, 8}), repeat(4, Gqa{8, 128})).value();
constexpr PoolPlan states = plan(hybrid, {.max_batch = 64, .state_format = f32});
static_assert(states.pools[1].units == 65 && states.pools[1].each == Bytes{102'137'856});

// Pipeline stages: blocks are the least over them.
static_assert(plan(llama, {}, {.pp = 2}).pools[0].units == 27'648);

// Hits: the first manager wants every block of a window's chain, the second what the next token sees.
constexpr u64 whole[1] = {~0ull};
constexpr u64 late[1] = {~0ull << 4};
constexpr Held held[2] = {{late, 64}, {whole, 64}};
static_assert(trtllm::Engine{}.hits(two, held, {.limit = 999}).value().tokens == 0);
static_assert(trtllm::Engine{{.second_manager = true}}.hits(two, held, {.limit = 999}).value().tokens == 999);
constexpr Held kept[2] = {{whole, 64}, {whole, 64}};
static_assert(trtllm::Engine{{.partial_reuse = false}}.hits(two, kept, {.limit = 999}).value().tokens == 992);

// Not covered, and said so.
constexpr auto wide = compose(repeat(4, Gqa{8, 192, 128})).value();
static_assert(trtllm::Engine{}.pools(wide, {}, {available, 1}).error() ==
              Error{.code = Errc::unsupported, .what = Uncovered::unequal_widths, .layer = 0, .got = 128, .want = 192});

constexpr auto bare_index = compose(repeat(4, Both{IndexKeys{.dim = 128}, Gqa{8, 128}})).value();
static_assert(trtllm::Engine{}.pools(bare_index, {}, {available, 1}).error() ==
              Error{.code = Errc::unsupported, .what = Uncovered::bare_index, .layer = 0});

}  // namespace
