// SPDX-License-Identifier: MIT
// The hit that each engine takes from random pages, against every boundary tried by the definition; workers
// and splits that engines refuse; the rules of a paged engine in every combination of kept positions.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <kvcap/core.hpp>
#include <kvcap/engine/demand.hpp>
#include <kvcap/engine/llamacpp.hpp>
#include <kvcap/engine/paged.hpp>
#include <kvcap/engine/sglang.hpp>
#include <kvcap/engine/trtllm.hpp>
#include <kvcap/engine/vllm.hpp>
#include <random>
#include <vector>

namespace engine_hits_tests {

using namespace kvcap;

namespace {

constexpr u64 span = 128;
constexpr u32 words = 8;
constexpr Gqa heads{.kv_heads = 8, .head_dim = 64};
/// Two groups: every position, and the last 128.
const ModelSpec two_groups = compose(cycle(8, Windowed{heads, {span}}, heads), QueryHeads{8}).value();
const Bytes memory[] = {4_GiB, 3_GiB};
const Budget one{memory, 1};

/// Pages of two groups: long runs, some holes.
struct Random {
    std::mt19937_64 engine;
    u64 word[2][words]{};

    void draw(u64 pages) {
        for (auto& group : word) {
            const u64 holes = engine() % 4;
            std::fill(std::begin(group), std::end(group), ~u64{0});
            for (u64 hole = 0; hole < holes; ++hole) {
                const u64 begin = engine() % pages;
                for (u64 page = begin; page < std::min(pages, begin + 1 + engine() % 3); ++page) {
                    group[page / 64] &= ~(u64{1} << page % 64);
                }
            }
        }
    }
    /// Pages [begin, end) of a group are all there.
    bool has(u32 group, u64 begin, u64 end) const {
        for (u64 page = begin; page < end; ++page) {
            if ((word[group][page / 64] >> page % 64 & 1) == 0) {
                return false;
            }
        }
        return true;
    }
};

/// Whether the group (0 or 1 of the plan) accepts boundary b, by the engine's own definition.
using Accepts = std::function<bool(const Random&, u32 group, u64 b)>;

/// The greatest multiple of `unit` up to `limit`, or `limit` itself where tails count, that all accept.
u64 greatest(u64 limit, u64 unit, bool tail, const std::function<bool(u64)>& accepts) {
    for (u64 b = limit; b > 0; --b) {
        if ((b % unit == 0 || (tail && b == limit)) && accepts(b)) {
            return b;
        }
    }
    return 0;
}

/// `pages` random pages a case; the hit, what one group alone would have given more, and who bound it.
template <class E>
void agrees(const E& engine, const PoolPlan& plan, u64 page, u64 unit, bool tail, const Accepts& accepts) {
    Random random{std::mt19937_64{20261129}};
    const u64 pages = std::min<u64>(words * 64, 2'048 / page);
    u64 hits = 0;
    for (int i = 0; i < 300; ++i) {
        random.draw(pages);
        const u64 limit = 1 + random.engine() % (pages * page);
        const Held held[2] = {{random.word[0], static_cast<u32>(pages)},
                              {random.word[1], static_cast<u32>(pages)}};
        const Hit hit = engine.hits(plan, held, {.lengths = {.prompt = {limit + 1}}, .limit = limit}).value();
        const u64 both = greatest(limit, unit, tail,
                                  [&](u64 b) { return accepts(random, 0, b) && accepts(random, 1, b); });
        u64 alone[2];
        for (const u32 g : {0u, 1u}) {
            alone[g] = greatest(limit, unit, tail, [&](u64 b) { return accepts(random, g, b); });
        }
        REQUIRE(hit.tokens == both);
        REQUIRE(hit.missed == std::max(alone[0], alone[1]) - both);
        REQUIRE(hit.limiting == (alone[1] < alone[0] ? 1u : 0u));
        hits += both > 0 ? 1u : 0u;
    }
    CHECK(hits > 100);
}

u64 before(u64 b, u64 reach) {
    return b > reach ? b - reach : 0;
}

/// The group of the plan that keeps a window.
u32 window_of(const PoolPlan& plan) {
    REQUIRE(plan.classes.size() == 2);
    REQUIRE(plan.classes[0].retention.keep != plan.classes[1].retention.keep);
    return plan.classes[0].retention.keep == Keep::window ? 0 : 1;
}

Accepts pages_before(u32 window, u64 page, u64 reach) {
    return [=](const Random& held, u32 group, u64 b) {
        const u64 first = group == window ? before(b, reach) / page : 0;
        return held.has(group, first, (b + page - 1) / page);
    };
}

}  // namespace

TEST_CASE("hits of the exact and the paged engine are the greatest boundary by definition") {
    const PoolPlan tokens = ExactEngine{}.pools(two_groups, {}, one).value();
    agrees(ExactEngine{}, tokens, 1, 1, false, pages_before(window_of(tokens), 1, span - 1));
    for (const u64 block : {u64{16}, u64{64}}) {
        const PagedEngine engine{.rules = {.block = block}};
        const PoolPlan plan = engine.pools(two_groups, {}, one).value();
        agrees(engine, plan, block, block, false, pages_before(window_of(plan), block, span - 1));
    }
}

TEST_CASE("SGLang's hits want the whole window before the boundary") {
    for (const u64 page : {u64{1}, u64{64}}) {
        sglang::Options options = sglang::with_architecture({}, "GptOssForCausalLM", span);
        options.page = page;
        const sglang::Engine engine{options};
        const PoolPlan plan = engine.pools(two_groups, {}, one).value();
        const u64 window = plan.classes[window_of(plan)].retention.span.value;
        agrees(engine, plan, page, page, false, pages_before(window_of(plan), page, window));
    }
}

TEST_CASE("TensorRT-LLM's first manager wants whole chains, the second what the next token sees") {
    for (const bool second : {false, true}) {
        for (const bool partial : {false, true}) {
            const trtllm::Engine engine{{.partial_reuse = partial, .second_manager = second}};
            const PoolPlan plan = engine.pools(two_groups, {}, one).value();
            const u64 block = plan.hash_block;
            const u64 reach = plan.classes[window_of(plan)].retention.span.value - 1;
            agrees(engine, plan, block, block, partial,
                   pages_before(second ? window_of(plan) : 2, block, reach));
        }
    }
}

TEST_CASE("llama.cpp's hits want the window and one token more, and are longer than it") {
    const kvcap::llamacpp::Engine engine{.options = {.n_ctx = 2'048}};
    const PoolPlan plan = engine.pools(two_groups, {}, {}).value();
    const u32 window = window_of(plan);
    Random random{std::mt19937_64{7}};
    u64 hits = 0;
    for (int i = 0; i < 300; ++i) {
        random.draw(512);
        const u64 limit = 1 + random.engine() % 511;
        const Held held[2] = {{random.word[0], 512}, {random.word[1], 512}};
        const Hit hit = engine.hits(plan, held, {.limit = limit}).value();
        const u64 both = greatest(limit, 1, false, [&](u64 b) {
            return random.has(1 - window, 0, b) && random.has(window, before(b, span + 1), b);
        });
        REQUIRE(hit.tokens == (both > span ? both : 0));
        hits += hit.tokens > 0 ? 1u : 0u;
    }
    CHECK(hits > 50);
    const Held nothing[2] = {{random.word[0], 512}, {random.word[1], 512}};
    CHECK(engine.hits(plan, nothing, {.limit = 0}).value().tokens == 0);
}

TEST_CASE("vLLM's hits want the pages that the next token's window touches") {
    const vllm::Engine engine{};
    const PoolPlan plan = engine.pools(two_groups, {}, one).value();
    const u32 window = window_of(plan);
    const u64 block = plan.hash_block;
    Random random{std::mt19937_64{11}};
    u64 hits = 0;
    for (int i = 0; i < 300; ++i) {
        random.draw(64);
        const u64 limit = 1 + random.engine() % (64 * block - 1);
        const Held held[2] = {{random.word[0], 64}, {random.word[1], 64}};
        const Hit hit = engine.hits(plan, held, {.limit = limit}).value();
        REQUIRE(hit.tokens == greatest(limit, block, false, [&](u64 b) {
                    const u64 need = (span - 1 + block - 1) / block;
                    return random.has(1 - window, 0, b / block) &&
                           random.has(window, before(b / block, need), b / block);
                }));
        hits += hit.tokens > 0 ? 1u : 0u;
    }
    CHECK(hits > 100);
}

TEST_CASE("engines refuse workers that are too few or do not divide, and splits") {
    const auto codes = [&](const Sharding& sharding, const Budget& budget) {
        return std::vector<Errc>{ExactEngine{}.pools(two_groups, sharding, budget).error().code,
                                 PagedEngine{}.pools(two_groups, sharding, budget).error().code,
                                 vllm::Engine{}.pools(two_groups, sharding, budget).error().code,
                                 sglang::Engine{}.pools(two_groups, sharding, budget).error().code,
                                 trtllm::Engine{}.pools(two_groups, sharding, budget).error().code};
    };
    const Bytes three[3] = {4_GiB, 4_GiB, 4_GiB};
    CHECK(codes({.pp = 2}, one) == std::vector<Errc>(5, Errc::rank_out_of_range));
    CHECK(codes({.pp = 2}, {three, 3}) == std::vector<Errc>(5, Errc::not_divisible));
    for (const Errc code : codes({.tp = 3}, one)) {
        CHECK((code == Errc::query_heads_not_divisible || code == Errc::heads_not_divisible));
    }
    CHECK(check_workers(one, 0).code == Errc::zero_parallelism);
    CHECK(least_of_stage({memory, 2}, 1, 0) == 3_GiB);
    CHECK(least_of_stage({memory, 2}, 2, 0) == 4_GiB);
    CHECK(least_available({memory, 2}) == 3_GiB);
    Group<> broken{.rule = {.page = 0}};
    CHECK(common_hit(&broken, 1, {}).error() == Error{.code = Errc::zero_dimension, .layer = 0});
}

TEST_CASE("the paged engine holds at least what is held, whatever positions stay") {
    const ModelSpec models[] = {
        two_groups, compose(repeat(4, heads), repeat(4, Chunked{heads, 256_tok}), QueryHeads{8}).value(),
        compose(repeat(4, Budgeted{heads, 100_tok}), repeat(2, Mamba1{.inner = 64, .state_dim = 16})).value(),
        compose(repeat(2, WithSinks{Windowed{heads, 64_tok}, 4_tok}), repeat(2, Cross{heads})).value()};
    for (const ModelSpec& model : models) {
        for (const bool own : {false, true}) {
            const PagedEngine engine{.rules = {.block = 16, .pool_per_class = own, .align = 512}};
            const PoolPlan plan = engine.pools(model, {}, one).value();
            CHECK(plan.pools.size() == (own ? plan.classes.size() : 1));
            u64 allocated = 0;
            for (const Pool& pool : plan.pools) {
                CHECK(pool.allocated.value == pool.units * pool.each.value);
                allocated += pool.allocated.value;
            }
            CHECK(allocated <= memory[0].value);
            for (const u64 n : {0u, 1u, 15u, 16u, 17u, 255u, 256u, 257u, 5'000u}) {
                const Lengths lengths{.prompt = {n}, .encoder = {100}};
                CHECK_FALSE(demand(plan, lengths).charged < fold(model, lengths).value().per_sequence());
            }
        }
    }
    CHECK(PagedEngine{.rules = {.block = 0}}.pools(two_groups, {}, one).error().code == Errc::zero_dimension);
    CHECK(PagedEngine{.rules = {.block = 16}}
              .pools(compose(repeat(2, CompressedLatent{.latent = 512, .window = 128, .ratio = 128})).value(),
                     {}, one)
              .error() == Error{.code = Errc::not_divisible, .got = 16, .want = 128});
    ModelSpec nine{};
    nine.layers = 9;
    for (u32 i = 0; i < 9; ++i) {
        REQUIRE(nine.add(i, Windowed{heads, {64 + i}}.forms()) == Errc::ok);
    }
    CHECK(PagedEngine{.rules = {.pool_per_class = true}}.pools(nine, {}, one).error() ==
          Error{.code = Errc::capacity, .got = 9, .want = 8});
}

TEST_CASE("concurrency is what the scarcest pool holds") {
    const Lengths lengths{.prompt = {5'000}};
    const Ratio exact = concurrency(ExactEngine{}.pools(two_groups, {}, one).value(), lengths);
    CHECK(exact.over / exact.under == most_sequences(two_groups, memory[0], lengths).value());
    // Pools of their own: each divided by its own need, the least counts.
    const PoolPlan plan = PagedEngine{.rules = {.pool_per_class = true}}.pools(two_groups, {}, one).value();
    const Demand need = demand(plan, lengths);
    const Ratio paged = concurrency(plan, lengths);
    double least = 1e300;
    for (u32 i = 0; i < plan.pools.size(); ++i) {
        const double units = static_cast<double>(plan.pools[i].units);
        least = std::min(least, units / static_cast<double>(need.units[i]));
    }
    CHECK(static_cast<double>(paged.over) / static_cast<double>(paged.under) == Approx(least));
    CHECK(concurrency(ExactEngine{}.pools(two_groups, {}, one).value(), {}) == Ratio{.over = 0, .under = 0});
}

TEST_CASE("the exact engine charges what the fold holds, and refuses what no staircase says") {
    const ModelSpec strided =
        compose(repeat(2, CompressedLatent{.latent = 512, .window = 128, .ratio = 128})).value();
    for (const ModelSpec* model : {&two_groups, &strided}) {
        const PoolPlan plan = ExactEngine{}.pools(*model, {}, one).value();
        for (u64 n = 0; n < 5'000; n = n * 2 + 1) {
            CHECK(demand(plan, {.prompt = {n}}).charged ==
                  fold(*model, {.prompt = {n}}).value().per_sequence());
        }
    }
    CHECK(ExactEngine{}.pools(strided, {.cp = 2}, one).error().code == Errc::unsupported);
    CHECK(ExactEngine{}.pools(two_groups, {.cp = 2, .interleave = 16}, one).error() ==
          Error{.code = Errc::unsupported, .what = Uncovered::dealt_runs, .got = 16});
    // Constants that exist once a model come off the budget first.
    ModelSpec scaled = two_groups;
    LayerForm constant = Gqa{.kv_heads = 1, .head_dim = 512}.forms()[0];
    constant.retention.keep = Keep::once;
    REQUIRE(scaled.add(0, constant) == Errc::ok);
    const PoolPlan less = ExactEngine{}.pools(scaled, {}, one).value();
    CHECK(less.pools[0].units == (memory[0].value - 2'048) / less.pools[0].each.value);
    ModelSpec uncommon =
        compose(repeat(1, Gqa{1, 60'000}),
                repeat(1, Gqa{.kv_heads = 1, .head_dim = 1, .format = {.elems = 1, .bytes = 1}}))
            .value();
    CHECK(ExactEngine{}.pools(uncommon, {}, one).error().code == Errc::capacity);
}

}  // namespace engine_hits_tests
