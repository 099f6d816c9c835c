// SPDX-License-Identifier: MIT
// What fit says of random cards, budgets and loads under vLLM: every suggested change fits, the next smaller
// step does not.
#include "cards.hpp"
#include "random.hpp"

#include <kvcap/engine/vllm.hpp>
#include <kvcap/plan/changes.hpp>
#include <memory>

namespace fit_tests {

using namespace kvcap;
using namespace property;

namespace {

vllm::Engine engine_for(const Card& card, vllm::KvDtype dtype, u64 max_len) {
    vllm::Engine engine{};
    engine.options.kv_dtype = dtype;
    engine.options.max_model_len = max_len;
    engine.options = vllm::for_class(card.read.spec, card.read.class_name.c_str(), engine.options);
    return engine;
}

struct Started {
    std::unique_ptr<vllm::Outcome> outcome;
    bool runs() const { return outcome->runs(); }
    const PoolPlan& plan() const { return outcome->plan; }
};

Started start(const Card& card, const vllm::Engine& engine, const Sharding& split, Bytes budget) {
    const std::vector<Bytes> all(split.pp, budget);
    return {std::make_unique<vllm::Outcome>(engine.start(
        vllm::registered(card.read.spec, card.read.class_name.c_str()), split, {all.data(), split.pp}))};
}

}  // namespace

TEST_CASE("fit: the answer fits, the next larger one does not", "[engine][vllm]") {
    Random random{seed() + 1};
    u64 asked = 0;
    for (u64 i = 0; i < cases(200); ++i) {
        const Card& card = cards()[random.in(0, cards().size() - 1)];
        const u64 wanted = random.log_in(1 << 18);
        const Bytes budget{u64{1} << random.in(27, 37)};
        const Setting asks{
            .tokens = {wanted}, .sequences = random.log_in(64), .sharding = {.tp = 1u << random.in32(0, 3)}};
        const auto verdict = [&](const Setting& setting) {
            const vllm::KvDtype dtype =
                setting.kv_format == 0 ? vllm::KvDtype::automatic : vllm::KvDtype::fp8;
            const vllm::Engine engine = engine_for(card, dtype, larger(setting.tokens.value, 1));
            Sharding split = setting.sharding;
            split.tp = setting.attention_dp ? 1 : split.tp;
            const Started started = start(card, engine, split, budget + setting.extra_memory);
            const u64 here = ceil_div(setting.sequences, setting.attention_dp ? setting.sharding.tp : 1);
            return started.runs() && judge(started.plan(), {.prompt = setting.tokens}, here).fits;
        };
        CAPTURE(seed(), i, card.name, wanted, budget.value, asks.sequences, asks.sharding.tp);
        if (verdict(asks)) {
            continue;
        }
        const ChangeLimits limits{
            .gpus = 64, .kv_formats = 2, .most_cp = asks.sharding.tp, .cp_among_tp = true};
        for (const Change& change : smallest_changes(asks, limits, verdict)) {
            ++asked;
            CAPTURE(static_cast<int>(change.kind));
            CHECK(verdict(change.setting));
            Setting smaller_step = change.setting;
            switch (change.kind) {
                case ChangeKind::shorter: smaller_step.tokens.value += 1; break;
                case ChangeKind::fewer: smaller_step.sequences += 1; break;
                case ChangeKind::more_memory: smaller_step.extra_memory.value -= 1; break;
                case ChangeKind::more_tp: smaller_step.sharding.tp /= 2; break;
                case ChangeKind::more_pp: smaller_step.sharding.pp /= 2; break;
                case ChangeKind::more_cp: smaller_step.sharding.cp /= 2; break;
                case ChangeKind::smaller_format: --smaller_step.kv_format; break;
                case ChangeKind::attention_dp: smaller_step.attention_dp = false; break;
                case ChangeKind::knob: break;
            }
            CHECK_FALSE(verdict(smaller_step));
        }
    }
    CHECK(asked >= at_least(21, 200));
}

}  // namespace fit_tests
