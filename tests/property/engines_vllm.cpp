// SPDX-License-Identifier: MIT
// vLLM's laws over all cards, splits, dtypes and budgets, and what fit says of random ones: an answer fits and the next
// larger one does not; so does every suggested change.
#include "cards.hpp"
#include "random.hpp"

#include <kvcap/engine/vllm.hpp>
#include <kvcap/plan/changes.hpp>
#include <map>
#include <memory>

using namespace kvcap;
using namespace property;

namespace {

constexpr vllm::KvDtype dtypes[] = {vllm::KvDtype::automatic, vllm::KvDtype::fp8, vllm::KvDtype::int8_per_token_head};

/// As vLLM stores it: one byte and two scales a row where that is asked, states in its own widths. Held bytes are those
/// of the model's forms, in bf16 at the most, so that states the engine keeps narrower do not count against it.
ModelSpec as_stored(const ModelSpec& model, vllm::KvDtype dtype) {
    return restored(model, [&](u32, LayerForm form) noexcept {
        for (Stream& stream : form.streams) {
            const bool attention = is_attention(stream.role) && form.kind != Kind::compressor;
            stream.format = attention && dtype != vllm::KvDtype::automatic ? fp8
                            : stream.role == Role::index && dtype == vllm::KvDtype::automatic ? stream.format
                            : is_attention(stream.role) ? bf16 : ElementFormat{.elems = 1, .bytes = 1};
        }
        return form;
    }).value_or(ModelSpec{});
}

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
    return {std::make_unique<vllm::Outcome>(engine.start(vllm::registered(card.read.spec, card.read.class_name.c_str()), split,
                                                         {all.data(), split.pp}))};
}

}  // namespace

TEST_CASE("vLLM's laws over all cards", "[engine][vllm]") {
    Random random{seed()};
    std::map<int, int> refused;
    int plans = 0;
    const u64 share = larger(cases(100), 1);  // percent of the grid
    for (const Card& card : cards()) {
        for (const u32 tp : {1u, 2u, 8u}) {
            for (const vllm::KvDtype dtype : dtypes) {
                if (!random.chance(static_cast<u32>(smaller(share, 100)))) {
                    continue;
                }
                const u64 max_len = random.log_in(1 << 17);
                const vllm::Engine engine = engine_for(card, dtype, max_len);
                const Bytes budget{(u64{1} << random.in(28, 38)) + random.in(0, 1 << 20)};
                const Sharding split{.tp = tp, .remainder = Remainder::middle};
                CAPTURE(seed(), card.name, tp, static_cast<int>(dtype), max_len, budget.value);
                const Started started = start(card, engine, split, budget);
                if (!started.runs()) {
                    const Error& error = started.outcome->error;
                    ++refused[static_cast<int>(error.code)];
                    const vllm::Refusal& why = started.outcome->sizing.refusal;
                    if (error.code == Errc::ok && why.reason == vllm::Reason::not_enough_memory && why.longest > 0) {
                        // The length that the refusal names is the longest that starts.
                        CHECK(start(card, engine_for(card, dtype, why.longest), split, budget).runs());
                    }
                    continue;
                }
                ++plans;
                const PoolPlan& plan = started.plan();
                if (plan.pools.empty() || plan.classes.empty()) {
                    continue;  // nothing is cached
                }
                REQUIRE(plan.pools[0].allocated <= budget);
                const u64 tokens = random.in(1, max_len);
                const Lengths lengths{.prompt = {tokens}};
                const Lengths longer{.prompt = {random.in(tokens, max_len)}};
                const u64 units = demand(plan, lengths).units[0];
                CHECK(units <= demand(plan, longer).units[0]);
                const auto held = fold(as_stored(card.read.spec, started.outcome->design.options.kv_dtype), lengths, split);
                REQUIRE(held);
                CHECK(held->per_sequence().value <= (plan.pools[0].each * units).value);
            }
        }
    }
    std::string words;
    for (const auto& [code, count] : refused) {
        words += " code " + std::to_string(code) + ": " + std::to_string(count) + ",";
    }
    INFO("refused:" << words << " plans: " << plans);
    CHECK(plans > 100);
}

TEST_CASE("fit: the answer fits, the next larger one does not", "[engine][vllm]") {
    Random random{seed() + 1};
    u64 asked = 0;
    for (u64 i = 0; i < cases(200); ++i) {
        const Card& card = cards()[random.in(0, cards().size() - 1)];
        const u64 wanted = random.log_in(1 << 18);
        const Bytes budget{u64{1} << random.in(27, 37)};
        const Setting asks{.tokens = {wanted}, .sequences = random.log_in(64), .sharding = {.tp = 1u << random.in32(0, 3)}};
        const auto verdict = [&](const Setting& setting) {
            const vllm::KvDtype dtype = setting.kv_format == 0 ? vllm::KvDtype::automatic : vllm::KvDtype::fp8;
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
        for (const Change& change : smallest_changes(asks, {.gpus = 64, .kv_formats = 2}, verdict)) {
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
                case ChangeKind::smaller_format: --smaller_step.kv_format; break;
                case ChangeKind::attention_dp: smaller_step.attention_dp = false; break;
            }
            CHECK_FALSE(verdict(smaller_step));
        }
    }
    CHECK(asked > 20);
}
