// SPDX-License-Identifier: MIT
// Laws of every engine's plan over every card, split and cache dtype: held bytes are at most what the engine
// reserves for them, demand never falls with length, branches or batch, more memory, ranks or narrower elements are
// never worse, pools stay within the budget, lengths beyond 64 bits do not fit instead of wrapping. Exceptions are
// named.
#include "grid.hpp"
#include "vllm_stored.hpp"

#include <kvcap/engine/exact.hpp>
#include <kvcap/engine/llamacpp.hpp>
#include <kvcap/engine/sglang.hpp>
#include <kvcap/engine/trtllm.hpp>
#include <kvcap/engine/vllm/backends.hpp>
#include <kvcap/io/dtypes.hpp>
#include <kvcap/plan/fit.hpp>
#include <memory>
#include <optional>

using namespace kvcap;
using namespace property;

namespace {

const Sharding splits[] = {{}, {.tp = 2}, {.tp = 8}, {.pp = 2}, {.tp = 4, .pp = 2}};
constexpr u64 dtypes = 2;  // the model's own, 8 bits

/// A plan, and what its limiting stage holds of the model as this engine stores it.
struct Planned {
    PoolPlan plan{};
    ModelSpec stored{};
    Sharding ranks{};
    u32 stage = 0;
    bool comparable = false;
    bool within_budget = true;
    bool keeps_encoder = true;
    u64 longest = off_scale;
};

using Made = std::unique_ptr<Planned>;

struct Asked {
    const ReadModel& read;
    Sharding split;
    bool bytes8;
    Bytes each;

    std::vector<Bytes> memory() const { return std::vector<Bytes>(split.pp, each); }
};

template <class Engine>
Made planned(const Engine& engine, const ModelSpec& model, const Asked& asked) {
    const std::vector<Bytes> memory = asked.memory();
    const auto plan = engine.pools(model, asked.split, {memory.data(), asked.split.pp});
    if (!plan) {
        REQUIRE(plan.error().code != Errc::ok);
        return nullptr;
    }
    auto made = std::make_unique<Planned>();
    made->plan = *plan;
    made->ranks = asked.split;
    return made;
}

Made plan_exact(const Asked& asked) {
    const auto stored = stored_as(asked.read.spec, {.kv = asked.bytes8 ? "fp8" : "auto"});
    REQUIRE(stored);
    Made made = planned(ExactEngine{}, *stored, asked);
    if (made) {
        made->stored = *stored;
        made->stage = made->plan.pools[0].limiting;
        made->comparable = true;
    }
    return made;
}

Made plan_vllm(const Asked& asked) {
    vllm::Options options{.kv_dtype = asked.bytes8 ? vllm::KvDtype::fp8 : vllm::KvDtype::automatic,
                          .max_model_len = 65'536, .encoder_tokens = asked.read.encoder_tokens};
    options.kernel_blocks = vllm::default_backend(asked.read.spec, options.kv_dtype).blocks;
    const char* name = asked.read.class_name.c_str();
    const vllm::Engine engine{.options = vllm::for_class(asked.read.spec, name, options)};
    Made made = planned(engine, vllm::registered(asked.read.spec, name), asked);
    if (made) {
        made->comparable = as_stored(asked.read.spec, engine.options, made->stored);
        made->stage = made->plan.pools[0].limiting;
        made->ranks = vllm::sharding_of(asked.split);
    }
    return made;
}

Made plan_sglang(const Asked& asked) {
    u64 window = 0;
    for (const LayerForm& form : asked.read.spec.forms) {
        const bool slides = form.retention.keep == Keep::window && form.kind != Kind::compressor;
        window = larger(window, slides ? form.retention.span.value : 0);
    }
    sglang::Options options{.dtype = asked.bytes8 ? sglang::KvDtype::fp8 : sglang::KvDtype::bf16,
                            .page = sglang::has_compressors(asked.read.spec) ? 256u
                                    : sglang::has_index(asked.read.spec)     ? 64u
                                                                             : 16u};
    options = sglang::with_architecture(options, asked.read.class_name.c_str(), window);
    options.window_pool = options.window_pool || sglang::has_compressors(asked.read.spec);
    Made made = planned(sglang::Engine{options}, asked.read.spec, asked);
    if (made) {
        made->stored = sglang::as_stored(asked.read.spec, options).value();
        made->ranks = sglang::attention_ranks(asked.read.spec, asked.split, options).value();
        made->comparable = asked.split.pp == 1;
        // fp8 latents of sparse attention (656 bytes for 576) and padded pages of DeepSeek-V4 are charged less.
        made->within_budget = !sglang::has_index(asked.read.spec) && !sglang::has_compressors(asked.read.spec);
    }
    return made;
}

Made plan_trtllm(const Asked& asked) {
    const trtllm::Options options{.dtype = asked.bytes8 ? trtllm::KvDtype::fp8 : trtllm::KvDtype::half};
    Made made = planned(trtllm::Engine{options}, asked.read.spec, asked);
    if (made) {
        made->stored = trtllm::as_stored(asked.read.spec, options).value();
        made->ranks = trtllm::attention_ranks(asked.read.spec, asked.split, options).value();
        made->comparable = asked.split.pp == 1;
        for (const LayerForm& form : asked.read.spec.forms) {
            for (const Stream& stream : form.streams) {  // groups that do not divide are dealt like channels
                made->comparable = made->comparable &&
                                   (stream.split != Split::groups || stream.heads % made->ranks.tp == 0);
            }
        }
        made->longest = made->plan.max_len / 2;
        made->within_budget = false;  // C++ rounds up to whole blocks: engines_sglang_trtllm.cpp has the bound
    }
    return made;
}

Made plan_llamacpp(const Asked& asked) {
    const llamacpp::Ggml type = asked.bytes8 ? llamacpp::Ggml::q8_0 : llamacpp::Ggml::f16;
    Made made = planned(llamacpp::Engine{.options = {.n_ctx = 16'384, .type_k = type, .type_v = type}},
                        asked.read.spec, asked);
    if (made) {
        const auto stored = restored(asked.read.spec, [&](u32, LayerForm form) noexcept {
            for (Stream& stream : form.streams) {
                const bool state = stream.role == Role::state || stream.role == Role::conv;
                stream.format = state ? f32 : llamacpp::ggml_type(type).format;
            }
            return form;
        });
        made->stored = *stored;
        made->comparable = asked.split.tp == 1 && asked.split.pp == 1 &&
                           !vllm::has_kind(asked.read.spec, Kind::compressor);
        made->keeps_encoder = false;
        made->longest = made->plan.max_len / 2;
    }
    return made;
}

struct Named {
    const char* name;
    Made (*plan)(const Asked&);
};
const Named engines[] = {{"exact", plan_exact}, {"vllm", plan_vllm}, {"sglang", plan_sglang},
                         {"trtllm", plan_trtllm}, {"llamacpp", plan_llamacpp}};

Bytes reserved(const PoolPlan& plan, const Lengths& lengths) {
    Bytes sum{};
    const Demand need = demand(plan, lengths);
    for (u32 i = 0; i < plan.pools.size(); ++i) {
        sum += plan.pools[i].each * need.units[i];
    }
    return sum;
}

void check_held(const Planned& made, Tally& tally) {
    for (const u64 n : grid_lengths) {
        const u64 prompt = smaller(n, made.longest);
        const Lengths lengths{
            .prompt = {prompt}, .decoded = {smaller(n, 50)}, .encoder = {made.keeps_encoder ? 11u : 0u}};
        Sharding ranks = made.ranks;
        ranks.cp = 1;
        const auto held = fold(made.stored, lengths, ranks, {.stage = made.stage});
        if (held) {
            CAPTURE(n);
            REQUIRE(held->per_sequence() <= reserved(made.plan, lengths));
            ++tally.laws;
        }
    }
}

void check_demand(const PoolPlan& plan, Tally& tally) {
    Demand before = demand(plan, {.prompt = {0}});
    for (const u64 n : grid_lengths) {
        const Demand now = demand(plan, {.prompt = {n}});
        const Demand decoded = demand(plan, {.prompt = {n}, .decoded = {33}});
        const Demand twice = demand(plan, {.prompt = {n}, .decoded = {33}, .branches = 2});
        const Lengths lengths{.prompt = {n}};
        const u64 three = 3;
        const auto batch = taken(plan, {.each = &lengths, .counts = &three, .kinds = 1});
        for (u32 i = 0; i < plan.pools.size(); ++i) {
            REQUIRE(before.units[i] <= now.units[i]);
            REQUIRE(now.units[i] <= decoded.units[i]);
            REQUIRE(decoded.units[i] <= twice.units[i]);
            REQUIRE(twice.units[i] <= saturating_product(2, decoded.units[i]));
            REQUIRE(batch[i] == saturating_product(3, now.units[i]));
        }
        REQUIRE(most_sequences(plan, {.prompt = {n}, .decoded = {33}}) <= most_sequences(plan, {.prompt = {n}}));
        before = now;
        tally.laws += 6;
    }
    for (const u64 huge : {u64{1} << 60, off_scale}) {
        const Lengths lengths{.prompt = {huge}, .decoded = {huge}, .encoder = {huge}, .branches = ~u32{0}};
        const Demand most = demand(plan, lengths);
        for (u32 i = 0; i < plan.pools.size(); ++i) {
            REQUIRE(most.units[i] >= before.units[i]);
        }
        REQUIRE(most_sequences(plan, lengths) <= most_sequences(plan, {.prompt = {1}}));
        ++tally.laws;
    }
}

Bytes pooled(const PoolPlan& plan) {
    Bytes sum{};
    for (const Pool& pool : plan.pools) {
        sum += pool.each * pool.units;
    }
    return sum;
}

/// Twice the memory: no pool is smaller, and one more request or token is never lost.
void check_memory(const Planned& less, const Planned& more, Tally& tally) {
    const u64 n = smaller(smaller(less.plan.max_len, more.plan.max_len), 3'000);
    REQUIRE(most_sequences(less.plan, {.prompt = {n}}) <= most_sequences(more.plan, {.prompt = {n}}));
    REQUIRE(longest(less.plan, 3, 1'000'000_tok) <= longest(more.plan, 3, 1'000'000_tok));
    tally.laws += 2;
}

/// Cheaper tokens (fewer bytes an element, more ranks): three requests are never shorter. Where an engine gives states
/// a share in whole slots (SGLang), what the last slot leaves over goes to tokens, so smaller slots may cost that much.
void check_cheaper(const Planned& dear, const Planned& cheap, Tally& tally) {
    const u64 before = longest(dear.plan, 3, 1'000'000_tok).value;
    const u64 after = longest(cheap.plan, 3, 1'000'000_tok).value;
    ++tally.laws;
    if (before <= after) {
        return;
    }
    const auto& pools = dear.plan.pools;
    REQUIRE(pools.size() == 2);
    const u64 page = dear.plan.reported_block;
    REQUIRE((before - after) * 3 / page * pools[0].each.value <= pools[1].each.value + 6 * pools[0].each.value);
}

}  // namespace

TEST_CASE("grid: engines reserve what is held, never wrap, and never lose by more memory, ranks or narrower elements") {
    const Axes axes{.cards = cards().size() * std::size(engines), .splits = std::size(splits), .formats = dtypes};
    Tally tally{"grid, engines"};
    u64 plans[std::size(engines)]{};
    for (const Point& point : walk(axes, 10'000)) {
        const Card& card = cards()[point.card / std::size(engines)];
        const Named& engine = engines[point.card % std::size(engines)];
        CAPTURE(card.name, engine.name, point.split, point.format, seed());
        const Asked asked{card.read, splits[point.split], point.format == 1, 24_GiB};
        ++tally.points;
        const Made less = engine.plan(asked);
        if (!less) {
            ++tally.refused;
            continue;
        }
        ++plans[point.card % std::size(engines)];
        if (less->within_budget) {
            REQUIRE(pooled(less->plan) <= asked.each);
        }
        if (less->comparable) {
            check_held(*less, tally);
        }
        check_demand(less->plan, tally);
        const Made more = engine.plan({card.read, asked.split, asked.bytes8, 48_GiB});
        REQUIRE(more);
        check_memory(*less, *more, tally);
        const Made wide = engine.plan({card.read, asked.split, false, asked.each});
        if (wide) {
            check_cheaper(*wide, *less, tally);
        }
        Sharding wider = asked.split;
        wider.tp *= 2;
        const Made spread = engine.plan({card.read, wider, asked.bytes8, asked.each});
        if (spread) {
            check_cheaper(*less, *spread, tally);
        }
    }
    for (const u64 made : plans) {
        CHECK(made > tally.points / 20);
    }
}
