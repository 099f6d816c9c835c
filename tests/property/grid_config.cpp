// SPDX-License-Identifier: MIT
// Laws of every card as a file: the order of its keys and its blanks say nothing, experts and vocabulary change no
// cache, and what a constant of the build folds to at build time is what its card folds to at run time.
#include "cards.hpp"

#include <fstream>
#include <iterator>
#include <kvcap/core.hpp>
#include <kvcap/io/hf.hpp>
#include <kvcap/models/deepseek.hpp>
#include <kvcap/models/gemma.hpp>
#include <kvcap/models/glm.hpp>
#include <kvcap/models/gpt_oss.hpp>
#include <kvcap/models/jamba.hpp>
#include <kvcap/models/kimi.hpp>
#include <kvcap/models/lfm.hpp>
#include <kvcap/models/llama.hpp>
#include <kvcap/models/mimo.hpp>
#include <kvcap/models/minimax.hpp>
#include <kvcap/models/mistral.hpp>
#include <kvcap/models/nemotron.hpp>
#include <kvcap/models/qwen.hpp>
#include <kvcap/models/whisper.hpp>
#include <kvcap/models/zamba.hpp>
#include <nlohmann/json.hpp>
#include <set>

namespace grid_config_tests {

using namespace kvcap;
using Json = nlohmann::ordered_json;

namespace {

const std::filesystem::path folder{KVCAP_SOURCE_DIR "/configs/models"};

std::vector<std::pair<std::string, std::string>> texts() {
    std::vector<std::pair<std::string, std::string>> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        if (entry.path().extension() == ".json") {
            std::ifstream in(entry.path(), std::ios::binary);
            all.emplace_back(entry.path().stem().string(), std::string{std::istreambuf_iterator<char>(in), {}});
        }
    }
    REQUIRE(all.size() > 100);
    return all;
}

Json backwards(const Json& from) {
    Json to = from;
    if (from.is_object()) {
        to = Json::object();
        std::vector<std::string> keys;
        for (const auto& item : from.items()) {
            keys.push_back(item.key());
        }
        for (auto key = keys.rbegin(); key != keys.rend(); ++key) {
            to[*key] = backwards(from[*key]);
        }
    } else if (from.is_array()) {
        for (Json& item : to) {
            item = backwards(item);
        }
    }
    return to;
}

/// Sizes of experts and vocabulary, wherever they stand.
const std::set<std::string> weights_only{
    "num_experts", "num_local_experts", "n_routed_experts", "n_shared_experts", "num_shared_experts",
    "num_shared_expert", "num_experts_per_tok", "num_experts_per_token", "experts_per_token", "top_k_experts",
    "moe_topk", "moe_intermediate_size", "shared_expert_intermediate_size",
    "moe_shared_expert_intermediate_size", "moe_latent_size", "routed_expert_hidden_size", "share_expert_dim",
    "vocab_size", "padded_vocab_size"};

int triple_weights(Json& in) {
    int changed = 0;
    if (in.is_structured()) {
        for (auto& item : in.items()) {
            if (in.is_object() && weights_only.count(item.key()) != 0 && item.value().is_number_unsigned()) {
                item.value() = item.value().get<u64>() * 3;
                ++changed;
            }
            changed += triple_weights(item.value());
        }
    }
    return changed;
}

// --- the zoo, folded at build time ----------------------------------------------------------------------------------

constexpr Lengths lengths[] = {{}, {.prompt = 1_tok}, {.prompt = 5000_tok, .decoded = 77_tok, .encoder = 1500_tok},
                               {.prompt = 131'072_tok, .encoder = 7_tok}, {.prompt = {u64{1} << 60}}};
constexpr Sharding splits[] = {{}, {.tp = 4}, {.pp = 3, .remainder = Remainder::last},
                               {.tp = 2, .cp = 2, .interleave = 16}, {.tp = 5, .uneven = Uneven::ceil}};

struct Folded {
    Result<Footprint> at[std::size(lengths)][std::size(splits)]{
        {Errc::ok, Errc::ok, Errc::ok, Errc::ok, Errc::ok}, {Errc::ok, Errc::ok, Errc::ok, Errc::ok, Errc::ok},
        {Errc::ok, Errc::ok, Errc::ok, Errc::ok, Errc::ok}, {Errc::ok, Errc::ok, Errc::ok, Errc::ok, Errc::ok},
        {Errc::ok, Errc::ok, Errc::ok, Errc::ok, Errc::ok}};
    friend constexpr bool operator==(const Folded&, const Folded&) = default;
};

constexpr Folded folded(const ModelSpec& model) {
    Folded all{};
    for (u32 l = 0; l < std::size(lengths); ++l) {
        for (u32 s = 0; s < std::size(splits); ++s) {
            all.at[l][s] = fold(model, lengths[l], splits[s], {.stage = splits[s].pp - 1});
        }
    }
    return all;
}

template <const ModelSpec& Model>
constexpr Folded at_build_time = folded(Model);

struct Named {
    const char* card;
    const Folded& folded;
};

const Named zoo[] = {
    {"deepseek/deepseek-v3", at_build_time<models::deepseek_v3>},
    {"deepseek/deepseek-v3.2", at_build_time<models::deepseek_v3_2>},
    {"deepseek/deepseek-v4-flash", at_build_time<models::deepseek_v4_flash>},
    {"gemma/gemma-3-27b", at_build_time<models::gemma_3_27b>},
    {"gemma/gemma-3n-e2b", at_build_time<models::gemma_3n_e2b>},
    {"gemma/gemma-4-26b-a4b", at_build_time<models::gemma_4_26b_a4b>},
    {"glm/glm-5.2", at_build_time<models::glm_5_2>},
    {"gpt-oss/gpt-oss-120b", at_build_time<models::gpt_oss_120b>},
    {"jamba/jamba-1.5-mini", at_build_time<models::jamba_1_5_mini>},
    {"kimi/kimi-linear-48b-a3b", at_build_time<models::kimi_linear_48b_a3b>},
    {"lfm/lfm2.5-vl-1.6b", at_build_time<models::lfm2_5_vl_1_6b>},
    {"llama/llama-2-7b", at_build_time<models::llama_2_7b>},
    {"llama/llama-3.1-8b", at_build_time<models::llama_3_1_8b>},
    {"llama/llama-3.1-70b", at_build_time<models::llama_3_1_70b>},
    {"llama/llama-3.2-11b-vision", at_build_time<models::llama_3_2_11b_vision>},
    {"llama/llama-4-scout", at_build_time<models::llama_4_scout>},
    {"mimo/mimo-v2-flash", at_build_time<models::mimo_v2_flash>},
    {"minimax/minimax-m1", at_build_time<models::minimax_m1>},
    {"mistral/mistral-7b-v0.1", at_build_time<models::mistral_7b_v0_1>},
    {"nemotron/nemotron-3-nano-30b-a3b", at_build_time<models::nemotron_3_nano_30b_a3b>},
    {"qwen/qwen3-8b", at_build_time<models::qwen3_8b>},
    {"qwen/qwen3-next-80b-a3b", at_build_time<models::qwen3_next_80b_a3b>},
    {"whisper/whisper-large-v3", at_build_time<models::whisper_large_v3>},
    {"zamba/zamba2-7b", at_build_time<models::zamba2_7b>},
};

}  // namespace

TEST_CASE("grid: neither the order of a card's keys nor its blanks nor unknown keys say anything") {
    for (const auto& [name, text] : texts()) {
        INFO(name);
        const auto read = read_config(text);
        REQUIRE(read);
        const Json json = Json::parse(text);
        Json more = json;
        more["zz_of_no_reader"] = Json{{"a", {1, nullptr, "text"}}};
        const std::string others[] = {json.dump(), json.dump(7), backwards(json).dump(), more.dump()};
        for (const std::string& other : others) {
            const auto again = read_config(other);
            REQUIRE(again);
            REQUIRE(*again == *read);
        }
    }
}

TEST_CASE("grid: experts and vocabulary change no cache") {
    int changed = 0;
    for (const auto& [name, text] : texts()) {
        INFO(name);
        const auto read = read_config(text);
        Json json = Json::parse(text);
        changed += triple_weights(json);
        const auto again = read_config(json.dump());
        REQUIRE((read && again));
        REQUIRE(again->spec == read->spec);
        REQUIRE(again->draft == read->draft);
        REQUIRE(again->shared == read->shared);
    }
    CHECK(changed > 400);
}

TEST_CASE("grid: the zoo folds at build time to what its cards fold to at run time") {
    for (const Named& each : zoo) {
        INFO(each.card);
        const auto card = read_config_file(folder / (std::string{each.card} + ".json"));
        REQUIRE(card);
        REQUIRE(folded(card->spec) == each.folded);
        REQUIRE(each.folded.at[2][0].has_value());
    }
}

}  // namespace grid_config_tests
