// SPDX-License-Identifier: MIT
// SGLang's rules, as facts of the build. Numbers of real runs are in tests/golden/sglang.
#include <kvcap/core.hpp>
#include <kvcap/engine/demand.hpp>
#include <kvcap/engine/sglang.hpp>
#include <kvcap/quant/schemes.hpp>

using namespace kvcap;
using namespace kvcap::sglang;

namespace {

// Python's arithmetic: whole quotients do not slip, fractions are cut.
static_assert(floor_div(7.0, 2.0) == 3 && floor_div(6.0, 2.0) == 3 && floor_div(-1.0, 2.0) == 0);
static_assert(floor_div(1.0, 0.1) == 9);  // 0.1 is more than a tenth: CPython gives 9.0
static_assert(floor_div(57249766572.0, 66355.2) == 862'777);
static_assert(remainder_of(5.5, 2.0) == 1.5 && remainder_of(1e18, 3.0) == 1.0);
static_assert(truncated(2.999) == 2 && truncated(-3.0) == 0);

constexpr auto llama = compose(QueryHeads{32}, repeat(32, Gqa{8, 128})).value();
constexpr Memory card{.total_before_load_gib = 78.6, .free_after_load_gib = 62.75, .static_fraction = 0.88};
constexpr RankPools rank(const ModelSpec& model, const Options& options, const Sharding& sharding = {}) {
    return rank_pools(model, sharding, 0, rest_gib(card), options).value();
}

// A budget in doubles of GiB, cut to bytes; tokens by the cell, then by pages. One page more is allocated.
static_assert(Equals<rank(llama, {}).budget, 57'249'766'572>);
static_assert(Equals<rank(llama, {}).pools.tokens, 436'781>);
static_assert(Equals<rank(llama, {.page = 64}).pools.tokens, 436'736>);
static_assert(Equals<rank(llama, {.page = 64}).allocated.k, (436'736 + 64) * 65'536ull>);

// Heads: floor, at least one. Attention data parallelism takes heads back.
static_assert(rank(llama, {}, {.tp = 16}).cell == 32 * 2 * 128 * 2.0);
static_assert(rank(llama, {.attention_dp = 8}, {.tp = 8}).cell == 131'072.0);
static_assert(rank_pools(llama, {.tp = 3}, 0, 50.0, {}).error().code == Errc::query_heads_not_divisible);

// States take ratio / (1 + ratio) of the rest, 47.4% by default, and three slots a request.
constexpr auto hybrid = compose(repeat(30, GatedDelta{16, 128, 32, 128}), repeat(10, Gqa{2, 256})).value();
constexpr RankPools states = rank(hybrid, {});
constexpr double rest = rest_gib(card) * bytes_per_gib;
constexpr double part = static_cast<double>(states.state_slots * states.state_slot.value) / rest;
static_assert(part > 0.473 && part < 0.4737);
static_assert(states.request_limit == states.state_slots / 3);
static_assert(slots_per_request({.states = StateStrategy::extra_buffer}) == 5);
static_assert(slots_per_request({.prefix_cache = false, .states = StateStrategy::extra_buffer}) == 1);

// A window pool is a share of tokens, whatever the window; an unlisted architecture has none.
constexpr auto windowed = compose(cycle(36, Windowed{Gqa{8, 64}, 128_tok}, Gqa{8, 64})).value();
constexpr Options listed = with_architecture({}, "GptOssForCausalLM", 128);
static_assert(listed.window_pool && listed.effective_window == 127);
static_assert(!with_architecture({}, "Gemma3ForCausalLM", 1024).window_pool);
static_assert(Equals<rank(windowed, listed).pools.window, 690'221>);
static_assert(rank(windowed, {}).pools.window == 0);
static_assert(rank(windowed, {}).cell == 36 * 2048.0);

// Sparse attention in fp8: 708 bytes a layer and token are charged, 788 allocated.
constexpr auto sparse = compose(repeat(61, SparseMla{.latent = 512, .rope = 64, .index_dim = 128})).value();
constexpr RankPools fp8_sparse = rank(sparse, {.dtype = KvDtype::fp8, .page = 64});
static_assert(fp8_sparse.cell == 708 * 61.0);
static_assert(fp8_sparse.allocated.kv == 788 * 61 * (fp8_sparse.pools.tokens + 64));
static_assert(fp8_sparse.allocated.kv > fp8_sparse.budget);

// Left-over layers go to the last stages; a window model's stage also counts its successor's first layer.
constexpr Sharding staged{.pp = 4, .remainder = Remainder::last};
static_assert(layers_of_stage(61, staged, 0).value() == LayerRange{0, 15});
static_assert(layers_of_stage(61, staged, 3).value() == LayerRange{45, 61});
static_assert(rank(windowed, listed, {.pp = 2}).layers.window_layers == 10);

// Drafts: the cell grows by the layers; dflash rounds up.
static_assert(rank(llama, {.speculation = {.draft = Draft::eagle, .layers = 1, .tokens = 4}}).cell ==
              135'168.0);
static_assert(rank(llama, {.speculation = {.draft = Draft::dflash, .layers = 5, .tokens = 8}}).cell ==
              151'552.0);

// The plan: pages, one dummy page outside; admission of a window charges one page more.
constexpr Bytes available[] = {budget_of(card)};
constexpr auto plan = sglang::Engine{listed}.pools(windowed, {}, {available, 1}).value();
static_assert(plan.pools.size() == 2 && plan.pools[0].extra == 1 && plan.pools[1].units == 690'221);
static_assert(demand(plan, {.prompt = 1000_tok}).units[0] == 1000);
static_assert(demand(plan, {.prompt = 1000_tok}).units[1] == 128);

// A host tier holds a multiple of the pool's tokens, and one page more than whole; it never raises the device's.
constexpr auto tiered = sglang::Engine{{.page = 64, .host_ratio = 1.5}}.pools(llama, {}, {available, 1}).value();
static_assert(tiered.pools[0].units == 6'824 && tiered.pools[0].second == 10'237);

// Hits: a window wants W live tokens before the boundary, not W - 1.
constexpr u64 all[16] = {~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull,
                         ~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull};
constexpr u64 tail[16] = {0, 0, ~0ull << 1, ~0ull};
constexpr Held held[2] = {{all, 1024}, {tail, 256}};
static_assert(sglang::Engine{listed}.hits(plan, held, {.limit = 256}).value().tokens == 256);
static_assert(sglang::Engine{listed}.hits(plan, held, {.limit = 255}).value().tokens == 0);

// Refusals carry their numbers.
static_assert(rank_pools(llama, {}, 0, -1.0, {}).error().code == Errc::no_memory);
static_assert(rank_pools(llama, {}, 0, 50.0, {.page = 64, .max_total_tokens = 50}).error() ==
              Error{.code = Errc::pool_of_no_tokens, .got = 50, .want = 64});
constexpr Error too_small = rank_pools(windowed, {}, 0, 50.0, [] {
                                Options options = listed;
                                options.window_ratio = 0.00001;
                                return options;
                            }()).error();
static_assert(too_small.code == Errc::window_pool_too_small && too_small.want == 129);

}  // namespace
