// SPDX-License-Identifier: MIT
// The exact engine charges what the fold holds; the generic paged one equals vLLM on models of one group.
#include <kvcap/core.hpp>
#include <kvcap/engine/demand.hpp>
#include <kvcap/engine/exact.hpp>
#include <kvcap/engine/paged.hpp>
#include <kvcap/engine/vllm.hpp>

using namespace kvcap;

namespace {

static_assert(Engine<ExactEngine> && Engine<PagedEngine> && Engine<vllm::Engine>);

constexpr Bytes memory[2] = {{40ull << 30}, {38ull << 30}};
constexpr Budget one{memory, 1};
constexpr Budget two{memory, 2};

constexpr auto llama = compose(QueryHeads{32}, repeat(32, Gqa{8, 128})).value();
constexpr auto hybrid = compose(repeat(8, Gqa{8, 128}), repeat(40, Windowed{Gqa{8, 128}, 1024_tok})).value();
constexpr auto states = compose(cycle(48, GatedDelta{16, 128, 32, 128}, GatedDelta{16, 128, 32, 128},
                                      GatedDelta{16, 128, 32, 128}, Gqa{2, 256})).value();
constexpr auto strided =
    compose(repeat(20, CompressedLatent{.latent = 512, .window = 128, .ratio = 128})).value();

// Held bytes, to the byte, at lengths around every corner.
constexpr bool exact_at(const ModelSpec& model, const Lengths& lengths) {
    const PoolPlan plan = ExactEngine{}.pools(model, {}, one).value();
    return demand(plan, lengths).charged == fold(model, lengths).value().per_sequence();
}
constexpr bool exact(const ModelSpec& model) {
    bool all = exact_at(model, {});
    for (u64 n = 1; n < 5000; n = n * 2 + 1) {
        all = all && exact_at(model, {.prompt = {n}}) && exact_at(model, {.prompt = {n}, .decoded = {1}});
    }
    return all;
}
static_assert(exact(llama) && exact(hybrid) && exact(states) && exact(strided));

// As many sequences as the inverse of the fold says.
constexpr Ratio of_llama = concurrency(ExactEngine{}.pools(llama, {}, one).value(), {.prompt = 8192_tok});
static_assert(of_llama.over / of_llama.under ==
              most_sequences(llama, memory[0], {.prompt = 8192_tok}).value());

// The tighter stage binds.
static_assert(ExactEngine{}.pools(llama, {.pp = 2}, two).value().pools[0].limiting == 1);
static_assert(ExactEngine{}.pools(llama, {.pp = 2}, one).error().code == Errc::rank_out_of_range);
static_assert(ExactEngine{}.pools(llama, {.tp = 3}, one).error().code == Errc::query_heads_not_divisible);

// vLLM's rules as values.
constexpr PagedEngine like_vllm{.rules = {.block = 16, .spare = 1, .window_extra = 1, .in_flight = 8192}};
constexpr bool equals_vllm(const ModelSpec& model, const Sharding& sharding) {
    const PoolPlan a = like_vllm.pools(model, sharding, one).value();
    const PoolPlan b = vllm::Engine{}.pools(model, sharding, one).value();
    bool same = a.pools[0].units == b.pools[0].units && a.pools[0].each == b.pools[0].each;
    for (u64 n = 1; n < 100'000; n = n * 3 + 1) {
        same = same && demand(a, {.prompt = {n}}).units == demand(b, {.prompt = {n}}).units;
    }
    return same;
}
constexpr auto windows = compose(repeat(32, Windowed{Gqa{8, 128}, 4096_tok})).value();
static_assert(equals_vllm(llama, {}) && equals_vllm(llama, {.tp = 8}) && equals_vllm(windows, {}));

// Pages that round up hold at least what is held; pools of their own divide the memory.
constexpr bool covers(const PagedEngine& engine, const ModelSpec& model) {
    const PoolPlan plan = engine.pools(model, {}, one).value();
    bool all = true;
    for (u64 n = 0; n < 5000; n += 37) {
        all = all &&
              !(demand(plan, {.prompt = {n}}).charged < fold(model, {.prompt = {n}}).value().per_sequence());
    }
    u64 allocated = 0;
    for (const Pool& pool : plan.pools) {
        allocated += pool.allocated.value;
    }
    return all && allocated <= memory[0].value;
}
static_assert(covers(like_vllm, hybrid) && covers(like_vllm, states));
static_assert(covers({.rules = {.pool_per_class = true, .align = 4096}}, hybrid));
static_assert(PagedEngine{.rules = {.pool_per_class = true}}.pools(states, {}, one).value().pools.size() ==
              2);
static_assert(PagedEngine{.rules = {.block = 16}}.pools(strided, {}, one).error() ==
              Error{.code = Errc::not_divisible, .got = 16, .want = 128});
static_assert(PagedEngine{.rules = {.block = 0}}.pools(llama, {}, one).error().code == Errc::zero_dimension);

}  // namespace
