// SPDX-License-Identifier: MIT
// Engines at absurd sizes: heads and memory that grow together leave every pool with as many units, until the sizes
// are refused as Errc::overflow; lengths, counts and pages of any size are refused or planned within the memory.
#include "random.hpp"
#include "wide.hpp"

#include <catch2/catch.hpp>
#include <functional>
#include <kvcap/engine/exact.hpp>
#include <kvcap/engine/llamacpp.hpp>
#include <kvcap/engine/paged.hpp>
#include <kvcap/engine/sglang.hpp>
#include <kvcap/engine/trtllm.hpp>
#include <kvcap/engine/vllm.hpp>
#include <kvcap/plan/fit.hpp>
#include <vector>

namespace extremes_engines_tests {

using namespace kvcap;
using namespace property;

namespace {

struct Named {
    const char* name;
    std::function<Result<PoolPlan>(const ModelSpec&, u64 bytes)> plan;
};

template <class E>
auto planner(E engine) {
    return [engine](const ModelSpec& model, u64 bytes) {
        const Bytes memory[] = {{bytes}};
        return engine.pools(model, {}, {memory, 1});
    };
}

using kvcap::trtllm::Path;

const Named planners[] = {
    {"exact", planner(ExactEngine{})},
    {"paged", planner(PagedEngine{.rules = {.block = 16, .numerator = 9, .denominator = 10}})},
    {"paged, a pool for each class", planner(PagedEngine{.rules = {.block = 16, .pool_per_class = true}})},
    {"vllm", planner(kvcap::vllm::Engine{})},
    {"vllm, nvfp4", planner(kvcap::vllm::Engine{{.kv_dtype = kvcap::vllm::KvDtype::nvfp4}})},
    {"sglang", planner(kvcap::sglang::Engine{{.page = 64}})},
    {"sglang, windows", planner(kvcap::sglang::Engine{{.window_pool = true, .host_ratio = 2}})},
    {"sglang, fp4", planner(kvcap::sglang::Engine{{.dtype = kvcap::sglang::KvDtype::fp4}})},
    {"trtllm", planner(kvcap::trtllm::Engine{})},
    {"trtllm, C++, nvfp4", planner(kvcap::trtllm::Engine{{.dtype = kvcap::trtllm::KvDtype::nvfp4, .path = Path::cpp}})},
    {"llama.cpp", planner(kvcap::llamacpp::Engine{{.n_ctx = 65'536, .n_seq_max = 4}})},
};

/// Full and windowed layers in turn, with 8 x 2^k heads.
ModelSpec scaled_model(u32 k) {
    const Gqa heads{.kv_heads = u32{8} << k, .head_dim = 64};
    return compose(QueryHeads{u32{8} << k}, cycle(6, heads, Windowed{heads, 128_tok})).value();
}

void same_but_wider(const PoolPlan& narrow, const PoolPlan& wide, u32 k) {
    REQUIRE(narrow.pools.size() == wide.pools.size());
    for (u32 i = 0; i < narrow.pools.size(); ++i) {
        REQUIRE(wide.pools[i].units == narrow.pools[i].units);
        REQUIRE(wide.pools[i].second == narrow.pools[i].second);
        REQUIRE(wide.pools[i].each.value == wide_product(narrow.pools[i].each.value, u128{1} << k));
        REQUIRE(wide.pools[i].allocated.value == wide_product(narrow.pools[i].allocated.value, u128{1} << k));
    }
}

/// Memory that a plan says it takes: what its units take fits into what is allocated, and that into the memory.
void within_memory(const PoolPlan& plan, u64 memory) {
    u128 sum = 0;
    for (const Pool& pool : plan.pools) {
        REQUIRE_FALSE(is_off(pool.allocated.value));
        REQUIRE(wide_product(wide_product(pool.each.value, pool.units), pool.copies) <= pool.allocated.value);
        sum += pool.allocated.value;
    }
    REQUIRE(sum <= u128{memory} * 2);  // a page of each pool beside it, latents charged less than they take
}

void count_requests(const PoolPlan& plan, u64 tokens) {
    const u64 most = most_sequences(plan, {.prompt = {tokens}});
    const Verdict all = judge(plan, {.prompt = {tokens}}, most == 0 ? 1 : most);
    REQUIRE(all.fits == (most != 0));
    if (most < off_scale) {
        REQUIRE_FALSE(judge(plan, {.prompt = {tokens}}, most + 1).fits);
    }
}

}  // namespace

TEST_CASE("extremes: heads and memory that grow together leave as many units, until they are refused") {
    for (const Named& engine : planners) {
        CAPTURE(engine.name);
        const u64 bytes = u64{3} << 32;
        const auto narrow = engine.plan(scaled_model(0), bytes);
        REQUIRE(narrow);
        bool refused = false;
        for (u32 k = 1; k < 29; ++k) {
            CAPTURE(k);
            const auto wide = engine.plan(scaled_model(k), bytes << k);
            REQUIRE((wide.has_value() || (k > 18 && wide.error().code == Errc::overflow)));
            REQUIRE_FALSE((refused && wide));
            refused = !wide;
            if (wide) {
                same_but_wider(*narrow, *wide, k);
            }
        }
    }
}

TEST_CASE("extremes: any amount of memory gives its share of units, or is refused") {
    for (const Named& engine : planners) {
        CAPTURE(engine.name);
        for (const u64 bytes : {u64{1} << 60, (u64{1} << 61) + 1, u64{1} << 62, (u64{1} << 63) + 12'345, off_scale}) {
            CAPTURE(bytes);
            const auto plan = engine.plan(scaled_model(0), bytes);
            REQUIRE((plan.has_value() || (bytes > u64{1} << 61 && plan.error().code == Errc::overflow)));
            if (plan) {
                within_memory(*plan, bytes);
                for (const u64 tokens : {u64{1}, u64{1} << 40, u64{1} << 60, off_scale}) {
                    count_requests(*plan, tokens);
                }
            }
        }
    }
}

TEST_CASE("extremes: counts and lengths that people may give are refused or planned within the memory") {
    constexpr u64 memory = u64{40} << 30;
    u64 plans = 0;
    for (const u64 huge : {u64{1} << 32, u64{1} << 47, u64{1} << 60, off_scale - 1}) {
        CAPTURE(huge);
        std::vector<Named> asked{
            {"vllm length", planner(kvcap::vllm::Engine{{.max_model_len = huge}})},
            {"vllm batch", planner(kvcap::vllm::Engine{{.max_num_batched_tokens = huge}})},
            {"vllm encoder", planner(kvcap::vllm::Engine{{.encoder_tokens = huge}})},
            {"sglang page", planner(kvcap::sglang::Engine{{.page = huge}})},
            {"sglang length", planner(kvcap::sglang::Engine{{.context = huge, .window_pool = true}})},
            {"sglang window", planner(kvcap::sglang::Engine{{.window_pool = true, .effective_window = huge}})},
            {"sglang tokens", planner(kvcap::sglang::Engine{{.max_total_tokens = huge}})},
            {"sglang requests", planner(kvcap::sglang::Engine{{.window_pool = true, .max_running_requests = huge,
                                                               .prefix_cache = false}})},
            {"sglang prefill", planner(kvcap::sglang::Engine{{.window_pool = true, .max_running_requests = 1,
                                                              .chunked_prefill = huge, .prefix_cache = false}})},
            {"sglang eviction", planner(kvcap::sglang::Engine{{.window_pool = true, .max_running_requests = 4,
                                                               .eviction_interval = huge, .prefix_cache = false}})},
            {"trtllm block", planner(kvcap::trtllm::Engine{{.tokens_per_block = huge}})},
            {"trtllm length", planner(kvcap::trtllm::Engine{{.max_seq_len = huge}})},
            {"trtllm tokens", planner(kvcap::trtllm::Engine{{.max_tokens = huge}})},
            {"trtllm batch", planner(kvcap::trtllm::Engine{{.max_batch = huge}})},
            {"paged in flight", planner(PagedEngine{.rules = {.in_flight = huge}})},
        };
        const Gqa heads{.kv_heads = 8, .head_dim = 64};
        const ModelSpec models[] = {
            scaled_model(0), compose(cycle(4, heads, Windowed{heads, {huge}})).value(),
            compose(cycle(4, heads, Mamba2{.heads = 32, .head_dim = 64, .state_dim = 128})).value()};
        for (const Named& engine : asked) {
            for (const ModelSpec& model : models) {
                CAPTURE(engine.name, &model - models);
                if (const auto plan = engine.plan(model, memory)) {
                    within_memory(*plan, memory);
                    count_requests(*plan, huge);
                    ++plans;
                }
            }
        }
    }
    CHECK(plans > 60);
}

TEST_CASE("extremes: overrides of an engine's own count are refused where their bytes leave 64 bits") {
    const ModelSpec model = scaled_model(0);
    const Bytes memory[] = {40_GiB};
    const kvcap::vllm::Engine blocks{{.num_blocks_override = u64{1} << 60}};
    CHECK(blocks.pools(model, {}, {memory, 1}).error().code == Errc::overflow);
    const kvcap::trtllm::Engine tokens{{.max_tokens = u64{1} << 62, .fraction_given = false}};
    CHECK(tokens.pools(compose(repeat(2, Gqa{8, 64})).value(), {}, {memory, 1}).error().code == Errc::overflow);
    const kvcap::llamacpp::Engine context{{.n_ctx = ~u32{0}}};
    CHECK(context.pools(compose(repeat(8, Gqa{1u << 24, 64})).value(), {}, {memory, 1}).error().code == Errc::overflow);
    CHECK(kvcap::sglang::Engine{{.page = u64{1} << 60}}.pools(model, {}, {memory, 1}).error() ==
          Error{.code = Errc::overflow, .layer = 0});
    // The scarcer of two pools, when both have and want more than 32 bits.
    PoolPlan two{};
    two.pools = {2, {Pool{.units = (u64{1} << 40) + 1}, Pool{.units = u64{1} << 41}}};
    two.classes = {2, {GroupClass{.steps = {.fixed = 1u << 30}}, GroupClass{.pool = 1, .steps = {.fixed = 1u << 31}}}};
    CHECK(concurrency(two, {}) == Ratio{u64{1} << 41, u64{1} << 31});
}

}  // namespace extremes_engines_tests
