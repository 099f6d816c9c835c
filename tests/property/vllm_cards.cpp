// SPDX-License-Identifier: MIT
// vLLM over every model card: laws of its plans, and recorded cases of named models planned from the card
// alone.
#include "vllm_stored.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <kvcap/core.hpp>
#include <kvcap/engine/demand.hpp>
#include <kvcap/engine/vllm.hpp>
#include <kvcap/engine/vllm/backends.hpp>
#include <kvcap/io/hf.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

namespace vllm_cards_tests {

using namespace kvcap;
using Json = nlohmann::json;

namespace {

const std::filesystem::path source{KVCAP_SOURCE_DIR};

std::vector<std::pair<std::string, ReadModel>> cards() {
    std::vector<std::pair<std::string, ReadModel>> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source / "configs" / "models")) {
        if (entry.path().extension() == ".json") {
            const Diagnosed<ReadModel> read = read_config_file(entry.path());
            REQUIRE(read);
            all.emplace_back(entry.path().stem().string(), *read);
        }
    }
    return all;
}

vllm::Engine engine_for(const ReadModel& model, vllm::Options options) {
    options.kernel_blocks = vllm::default_backend(model.spec, options.kv_dtype).blocks;
    return {.options = vllm::for_class(model.spec, model.class_name.c_str(), options)};
}

struct Counts {
    int plans = 0;
    int refused = 0;
    int laws = 0;
};

void check_plan(const ReadModel& model, const vllm::Engine& engine, const Sharding& sharding, Bytes budget,
                Counts& counts) {
    const std::vector<Bytes> memory(sharding.pp, budget);
    const auto outcome = std::make_unique<vllm::Outcome>(
        engine.start(model.spec, sharding, {memory.data(), static_cast<u32>(memory.size())}));
    if (outcome->error.code != Errc::ok) {
        ++counts.refused;
        return;
    }
    const vllm::Sizing& sizing = outcome->sizing;
    const vllm::Design& made = outcome->design;
    const vllm::Planning with{made.layout, made.grouping, made.options, engine.rules, made.load};
    if (sizing.refusal.reason == vllm::Reason::not_enough_memory) {
        const vllm::Refusal& why = sizing.refusal;
        const u32 stage = vllm::stage_of(why.worker, sharding.pp, sharding.pp);
        const u64 usable = why.available - why.kept_back;
        const auto need = [&](u64 n) { return vllm::request_bytes(with, sizing.uses[stage], stage, n); };
        CHECK((why.longest == 0 || need(why.longest) <= usable));
        CHECK(need(why.longest + 1) > usable);
        ++counts.refused;
        return;
    }
    if (!outcome->runs()) {
        ++counts.refused;
        return;
    }
    ++counts.plans;
    const PoolPlan& plan = outcome->plan;
    if (plan.classes.empty()) {
        return;
    }
    for (const Bytes& each : plan.per_unit) {
        CHECK(each.value * plan.pools[0].units <= budget.value);
    }
    const ModelSpec stored = property::as_stored(model.spec, engine.options);
    u64 before = 0;
    for (u64 n = 1; n <= plan.max_len; n = n * 4 + 1) {
        const Lengths lengths{.prompt = {n}, .encoder = {engine.options.encoder_tokens}};
        const Demand need = demand(plan, lengths);
        CHECK(need.units[0] >= before);
        before = need.units[0];
        const Result<Footprint> held =
            fold(stored, lengths, vllm::sharding_of(sharding), {.stage = sharding.pp - 1});
        REQUIRE(held);
        CHECK(held->per_sequence().value <= plan.per_unit[sharding.pp - 1].value * need.units[0]);
        ++counts.laws;
    }
}

}  // namespace

TEST_CASE("vLLM's plans of every card: memory holds them, demand grows, held is at most reserved") {
    const auto all = cards();
    REQUIRE(all.size() > 100);
    Counts counts;
    for (const auto& [name, model] : all) {
        INFO(name);
        for (const vllm::KvDtype dtype :
             {vllm::KvDtype::automatic, vllm::KvDtype::fp8, vllm::KvDtype::int8_per_token_head}) {
            for (const u32 tp : {1u, 2u, 4u, 8u}) {
                for (const u64 gib : {1u, 8u, 40u}) {
                    const vllm::Engine engine = engine_for(
                        model,
                        {.kv_dtype = dtype, .max_model_len = 32'768, .encoder_tokens = model.encoder_tokens});
                    check_plan(model, engine, {.tp = tp, .pp = tp == 4 && model.spec.layers > 1 ? 2u : 1u},
                               {gib << 30}, counts);
                }
            }
        }
    }
    std::printf("vLLM over %zu cards: %d plans, %d refusals, %d comparisons of held and reserved\n",
                all.size(), counts.plans, counts.refused, counts.laws);
    CHECK(counts.plans > 1000);
    CHECK(counts.laws > 1000);
}

TEST_CASE("recorded vLLM cases of named models follow from their cards") {
    // Not here: Qwen2.5-7B at TP 8 (28 query heads) and Falcon-7B at TP 2 (71), which no server starts.
    const std::vector<std::pair<std::string, std::string>> named{
        {"gqa-llama3-8b-tp1", "llama-3-8b"},   {"gqa-llama3-8b-tp8", "llama-3-8b"},
        {"gqa-llama3-70b-tp4", "llama-3-70b"}, {"gqa-llama3-70b-pp2tp4", "llama-3-70b"},
        {"gqa-llama3-70b-tpworkers", "llama-3-70b"}, {"mha-llama2-7b", "llama-2-7b"},
        {"mha-llama2-7b-fp8", "llama-2-7b"},
        {"gqa-qwen3-32b", "qwen3-32b"},
        {"swa-mistral-7b", "mistral-7b-v0.1"}, {"gemma2-27b-tp2", "gemma-2-27b"},
        {"gemma3-27b-pp2", "gemma-3-27b"},     {"gemma3-27b-disabled-fit", "gemma-3-27b"},
        {"gptoss-20b-fp8", "gpt-oss-20b"},     {"gptoss-20b-block64", "gpt-oss-20b"},
        {"llama4-scout-hybrid", "llama-4-scout"}, {"mla-dsv3-bf16", "deepseek-v3"},
        {"mla-dsv3-fp8", "deepseek-v3"},       {"mla-dsv3-pp4", "deepseek-v3"},
        {"mla-dsv3-dcp8", "deepseek-v3"},      {"dsa-dsv32-fp8", "deepseek-v3.2"},
        {"qwen3-next-80b", "qwen3-next-80b-a3b"}, {"kimi-linear-48b", "kimi-linear-48b-a3b"},
        {"kimi-linear-dcp", "kimi-linear-48b-a3b"}, {"whisper-large", "whisper-large-v3"},
    };
    const auto all = cards();
    std::map<std::string, Json> cases;
    for (const char* file : {"full", "window", "mla", "state_hybrid"}) {
        std::ifstream in(source / "tests/golden/vllm" / (std::string{"capacity_"} + file + ".json"));
        const Json content = Json::parse(in);
        for (const Json& one : content.at("cases")) {
            cases[one.at("id")] = one;
        }
    }
    for (const auto& row : named) {
        const auto& id = row.first;
        const auto& name = row.second;
        INFO(id << " from " << name);
        const auto card =
            std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.first == name; });
        REQUIRE(card != all.end());
        const Json& given = cases.at(id).at("engine");
        const Json& want = cases.at(id).at("expected");
        vllm::Options options{.max_model_len = given.at("max_model_len"),
                              .max_num_batched_tokens = given.at("max_num_batched_tokens"),
                              .prefix_caching = given.at("prefix_caching"),
                              .block_size = given.value("block_size_requested", 0u),
                              .hybrid_manager = given.at("hybrid_manager"),
                              .encoder_tokens = given.value("encoder_tokens", u64{0})};
        REQUIRE(vllm::dtype_named(given.at("kv_dtype").get<std::string>().c_str(), options.kv_dtype));
        options.kernel_blocks.count = 0;
        for (const Json& block : given.at("kernel_block_sizes")) {
            const bool multiple = block.is_object();
            REQUIRE(options.kernel_blocks.push(
                {.tokens = multiple ? block.at("multiple_of").get<u32>() : block.get<u32>(),
                 .multiple = multiple}));
        }
        const ReadModel& model = card->second;
        const vllm::Engine engine{.options = vllm::for_class(model.spec, model.class_name.c_str(), options)};
        std::vector<Bytes> memory;
        for (const Json& bytes : given.at("available_bytes")) {
            memory.push_back({bytes.get<u64>()});
        }
        const Sharding sharding{.tp = given.at("tp"), .pp = given.at("pp"), .cp = given.at("dcp")};
        const auto outcome = std::make_unique<vllm::Outcome>(
            engine.start(vllm::registered(model.spec, model.class_name.c_str()), sharding,
                         {memory.data(), static_cast<u32>(memory.size())}));
        REQUIRE(outcome->runs());
        CHECK(outcome->plan.pools[0].units == want.at("num_blocks"));
        CHECK(outcome->log.tokens == want.at("capacity_tokens"));
        CHECK(outcome->log.request_blocks == want.at("blocks_per_request"));
        CHECK(outcome->plan.reported_block == want.at("reported_block_size"));
        CHECK(outcome->design.grouping.groups() == want.at("groups").size());
    }
}

}  // namespace vllm_cards_tests
