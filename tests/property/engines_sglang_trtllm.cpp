// SPDX-License-Identifier: MIT
// Laws of two engines over all model cards, with random splits, formats and budgets: what a request holds is
// never more than what it reserves, demand grows with length, pools stay within the budget, and the longest
// request is the longest. Exceptions are named.
#include "random.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <kvcap/engine/sglang.hpp>
#include <kvcap/engine/trtllm.hpp>
#include <kvcap/io/locate.hpp>
#include <kvcap/plan/fit.hpp>
#include <map>

namespace engines_sglang_trtllm_tests {

using namespace kvcap;
using namespace property;

namespace {

struct Card {
    std::string name;
    ReadModel read;
};

const std::vector<Card>& cards() {
    static const std::vector<Card> all = [] {
        std::vector<Card> found;
        for (const auto& entry :
             std::filesystem::recursive_directory_iterator(KVCAP_SOURCE_DIR "/configs/models")) {
            if (entry.path().extension() == ".json") {
                const auto read = read_model(entry.path().string());
                REQUIRE(read);
                found.push_back({entry.path().stem().string(), *read});
            }
        }
        return found;
    }();
    return all;
}

/// Refusals by code; a law that refuses everything says nothing.
struct Tally {
    int plans = 0;
    std::map<int, int> refused;
};

Lengths random_lengths(Random& random) {
    return {
        .prompt = {random.log_in(1 << 20)}, .decoded = {random.in(0, 4096)}, .encoder = {random.in(0, 3000)}};
}

Bytes reserved(const PoolPlan& plan, const Lengths& lengths) {
    Bytes sum{};
    const Demand need = demand(plan, lengths);
    for (u32 i = 0; i < plan.pools.size(); ++i) {
        sum += plan.pools[i].each * need.units[i];
    }
    return sum;
}

Bytes of_all_units(const PoolPlan& plan) {
    Bytes sum{};
    for (const Pool& pool : plan.pools) {
        sum += pool.each * pool.units;
    }
    return sum;
}

/// The laws that hold for any engine's plan. held: what the same rank keeps of the model as the engine stores
/// it.
template <class Held>
void check_plan(const PoolPlan& plan, Random& random, const Held& held) {
    const Lengths lengths = random_lengths(random);
    CHECK(held(lengths) <= reserved(plan, lengths));
    Lengths longer = lengths;
    longer.prompt += Tokens{random.log_in(1 << 16)};
    const Demand less = demand(plan, lengths);
    const Demand more = demand(plan, longer);
    for (u32 i = 0; i < plan.pools.size(); ++i) {
        CHECK(less.units[i] <= more.units[i]);
    }
    const u64 sequences = random.in(1, 40);
    const Tokens most = longest(plan, sequences, Tokens{1 << 24});
    if (most.value > 0) {
        CHECK(judge(plan, {.prompt = most}, sequences).fits);
    }
    if (most.value < (1 << 24)) {
        CHECK_FALSE(judge(plan, {.prompt = most + 1_tok}, sequences).fits);
    }
    CHECK(plan.placed.size() > 0);
}

u64 held_bytes(const ModelSpec& stored, const Lengths& lengths, Sharding ranks, u32 stage) {
    ranks.cp = 1;
    const auto kept = fold(stored, lengths, ranks, {.stage = stage});
    return kept ? kept->per_sequence().value : 0;
}

bool has_role(const ModelSpec& model, Role role) {
    for (const LayerForm& form : model.forms) {
        if (!form.streams.empty() && form.streams[0].role == role) {
            return true;
        }
    }
    return false;
}

sglang::Options sglang_options(const ReadModel& read, Random& random) {
    using namespace kvcap::sglang;
    Options options{.dtype = static_cast<KvDtype>(random.in(0, 3)), .page = u64{1} << random.in(0, 7),
                    .context = larger(read.max_context, 4096)};
    u64 window = 0;
    for (const LayerForm& form : read.spec.forms) {
        window = larger(window, form.retention.keep == Keep::window && form.kind != Kind::compressor
                                    ? form.retention.span.value : 0);
    }
    options = with_architecture(options, read.class_name.c_str(), window);
    options.rope = read.rope_in_latent != 0 ? static_cast<u32>(read.rope_in_latent) : options.rope;
    const bool indexed = has_role(read.spec, Role::index);
    options.page = sglang::has_compressors(read.spec) ? 256 : indexed ? 64 : options.page;
    options.window_pool = options.window_pool || sglang::has_compressors(read.spec);
    options.prefix_cache = random.chance(70);
    options.states = static_cast<StateStrategy>(random.in(0, 1));
    if (random.chance(30)) {
        options.max_running_requests = random.in(1, 64);
    }
    return options;
}

/// Where SGLang allocates more than it charged: fp8 latents of sparse attention (656 bytes for 576), padded
/// pages of DeepSeek-V4, scales of fp4 beside what a window model charges, and workspaces of nvfp4.
bool charged_less(const ModelSpec& model, const sglang::Options& options) {
    return sglang::has_index(model) || sglang::has_compressors(model) ||
           options.dtype == sglang::KvDtype::fp4;
}

void check_sglang(const ReadModel& read, Random& random, Tally& tally) {
    const sglang::Engine engine{sglang_options(read, random)};
    const Sharding sharding{.tp = 1u << random.in(0, 3), .pp = random.chance(30) ? 2u : 1u};
    const Bytes available[2] = {{random.in(8, 160) << 30}, {random.in(8, 160) << 30}};
    const Budget budget{available, sharding.pp};
    const auto plan = engine.pools(read.spec, sharding, budget);
    if (!plan) {
        ++tally.refused[static_cast<int>(plan.error().code)];
        return;
    }
    ++tally.plans;
    const auto stored = sglang::as_stored(read.spec, engine.options);
    const auto ranks = sglang::attention_ranks(read.spec, sharding, engine.options);
    REQUIRE(stored);
    REQUIRE(ranks);
    const u64 least = sharding.pp == 1 ? available[0].value : smaller(available[0].value, available[1].value);
    const auto rank = engine.poorest(read.spec, sharding, budget);
    check_plan(*plan, random, [&](const Lengths& lengths) {
        u64 most = off_scale;  // the plan's bytes are those of the poorest stage
        for (u32 stage = 0; stage < sharding.pp; ++stage) {
            const auto own = sglang::local_layers(read.spec, *ranks, stage, engine.options);
            most = own->full_layers == rank->layers.full_layers &&
                           own->window_layers == rank->layers.window_layers &&
                           own->state_layers == rank->layers.state_layers
                       ? smaller(most, held_bytes(*stored, lengths, *ranks, stage))
                       : most;
        }
        return Bytes{most == off_scale ? 0 : most};
    });
    if (!charged_less(read.spec, engine.options)) {
        CHECK(of_all_units(*plan).value <= least);
    }
}

trtllm::Options trtllm_options(const ReadModel& read, Random& random) {
    using namespace kvcap::trtllm;
    return {.dtype = static_cast<KvDtype>(random.in(0, 2)), .path = static_cast<Path>(random.in(0, 1)),
            .tokens_per_block = u64{8} << random.in(0, 4), .max_seq_len = larger(read.max_context, 4096),
            .host_bytes = random.in(0, 64) << 30, .max_batch = random.in(1, 64)};
}

/// Groups of Mamba-2 that do not divide are dealt like channels by this engine, and padded by others.
bool pads_groups(const ModelSpec& model, u32 tp) {
    for (const LayerForm& form : model.forms) {
        for (const Stream& stream : form.streams) {
            if (stream.split == Split::groups && stream.heads % tp != 0) {
                return true;
            }
        }
    }
    return false;
}

void check_trtllm(const ReadModel& read, Random& random, Tally& tally) {
    const trtllm::Engine engine{trtllm_options(read, random)};
    const Sharding sharding{.tp = 1u << random.in(0, 3)};
    const Bytes available[1] = {{random.in(8, 160) << 30}};
    const auto plan = engine.pools(read.spec, sharding, {available, 1});
    if (!plan) {
        ++tally.refused[static_cast<int>(plan.error().code)];
        return;
    }
    ++tally.plans;
    const auto stored = trtllm::as_stored(read.spec, engine.options);
    const auto ranks = trtllm::attention_ranks(read.spec, sharding, engine.options);
    REQUIRE(stored);
    REQUIRE(ranks);
    check_plan(*plan, random, [&](const Lengths& lengths) {
        Lengths within = lengths;  // longer sequences are not admitted, and windows were cut to it
        within.prompt.value = smaller(within.prompt.value, plan->max_len / 2);
        within.decoded.value = smaller(within.decoded.value, plan->max_len / 2);
        const bool skip = pads_groups(read.spec, ranks->tp);
        return Bytes{skip ? 0 : held_bytes(*stored, within, *ranks, 0)};
    });
    // C++ rounds up to whole blocks; Python leaves the scales of nvfp4 out where there are several windows.
    u64 spare = 0;
    for (const Pool& pool : plan->pools) {
        spare += pool.each.value;
    }
    const bool unscaled =
        engine.options.dtype == trtllm::KvDtype::nvfp4 && engine.options.path == trtllm::Path::python;
    if (!unscaled) {
        CHECK(of_all_units(*plan).value <= available[0].value + spare);
    }
}

template <class Check>
void over_cards(const char* engine, Check check) {
    Random random{seed()};
    Tally tally;
    for (const Card& card : cards()) {
        for (u64 i = 0; i < cases(12); ++i) {
            INFO(engine << " " << card.name << " case " << i << " seed " << seed());
            check(card.read, random, tally);
        }
    }
    std::string refused;
    for (const auto& [code, count] : tally.refused) {
        refused += " " + std::string{sentence(static_cast<Errc>(code))} + ": " + std::to_string(count) + ";";
    }
    WARN(engine << ": " << tally.plans << " plans; refused:" << refused);
    CHECK(static_cast<u64>(tally.plans) >= at_least(1, 12));
}

}  // namespace

TEST_CASE("SGLang's laws over all cards", "[engine][sglang]") {
    over_cards("SGLang", check_sglang);
}

TEST_CASE("TensorRT-LLM's laws over all cards", "[engine][trtllm]") {
    over_cards("TensorRT-LLM", check_trtllm);
}

}  // namespace engines_sglang_trtllm_tests
