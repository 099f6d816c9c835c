// SPDX-License-Identifier: MIT
// One window cache of all sequences serves every one of them: a request takes its window, the micro-batch is kept
// back once.
#include <kvcap/engine/llamacpp.hpp>
#include <kvcap/plan/fit.hpp>

namespace {

using namespace kvcap;

constexpr PoolPlan unified(u32 each) {
    LayerForm full{};
    static_cast<void>(full.streams.push({.role = Role::key, .heads = 8, .width = 64, .format = bf16}));
    static_cast<void>(full.streams.push({.role = Role::value, .heads = 8, .width = 64, .format = bf16}));
    LayerForm window = full;
    window.retention = {.keep = Keep::window, .span = {128}};
    ModelSpec model{};
    model.layers = 2;
    model.query_heads = 64;
    static_cast<void>(model.add(0, full));
    static_cast<void>(model.add(1, window));
    llamacpp::Engine engine{};
    engine.options.kv_unified = true;
    engine.options.n_seq_max = 8;
    engine.options.n_ctx = 8 * each;
    return engine.pools(model, {}, {}).value();
}

constexpr PoolPlan plan = unified(4096);
static_assert(plan.pools[1].units == 1536 && plan.pools[1].spare == 512);
static_assert(judge(plan, {.prompt = {4096}}, 8).fits);
static_assert(!judge(plan, {.prompt = {4097}}, 8).fits);
static_assert(demand(plan, {.prompt = {4096}}).units[1] == 128);
static_assert(judge(unified(60), {.prompt = {60}}, 8).fits);

}  // namespace
