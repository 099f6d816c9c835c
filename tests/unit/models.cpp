// SPDX-License-Identifier: MIT
// configs/: each GPU of the catalogue is whole. The zoo: each constant of the build equals its card read at run time,
// forms, order of caches and query heads included.
#include <catch2/catch.hpp>
#include <fstream>
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

namespace models_tests {

using namespace kvcap;

namespace {

struct Named {
    const char* card;
    const ModelSpec& model;
};

const Named zoo[] = {
    {"deepseek/deepseek-v3", models::deepseek_v3},
    {"deepseek/deepseek-v3.2", models::deepseek_v3_2},
    {"deepseek/deepseek-v4-flash", models::deepseek_v4_flash},
    {"gemma/gemma-3-27b", models::gemma_3_27b},
    {"gemma/gemma-3n-e2b", models::gemma_3n_e2b},
    {"gemma/gemma-4-26b-a4b", models::gemma_4_26b_a4b},
    {"glm/glm-5.2", models::glm_5_2},
    {"gpt-oss/gpt-oss-120b", models::gpt_oss_120b},
    {"jamba/jamba-1.5-mini", models::jamba_1_5_mini},
    {"kimi/kimi-linear-48b-a3b", models::kimi_linear_48b_a3b},
    {"lfm/lfm2.5-vl-1.6b", models::lfm2_5_vl_1_6b},
    {"llama/llama-2-7b", models::llama_2_7b},
    {"llama/llama-3.1-8b", models::llama_3_1_8b},
    {"llama/llama-3.1-70b", models::llama_3_1_70b},
    {"llama/llama-3.2-11b-vision", models::llama_3_2_11b_vision},
    {"llama/llama-4-scout", models::llama_4_scout},
    {"mimo/mimo-v2-flash", models::mimo_v2_flash},
    {"minimax/minimax-m1", models::minimax_m1},
    {"mistral/mistral-7b-v0.1", models::mistral_7b_v0_1},
    {"nemotron/nemotron-3-nano-30b-a3b", models::nemotron_3_nano_30b_a3b},
    {"qwen/qwen3-8b", models::qwen3_8b},
    {"qwen/qwen3-next-80b-a3b", models::qwen3_next_80b_a3b},
    {"whisper/whisper-large-v3", models::whisper_large_v3},
    {"zamba/zamba2-7b", models::zamba2_7b},
};

}  // namespace

TEST_CASE("every named model equals its card") {
    for (const Named& each : zoo) {
        INFO(each.card);
        const Diagnosed<ReadModel> card =
            read_config_file(KVCAP_SOURCE_DIR "/configs/models/" + std::string{each.card} + ".json");
        REQUIRE(card);
        CHECK(card->spec == each.model);
    }
}

TEST_CASE("every GPU has names of its own, sizes that agree and a source for each number") {
    std::ifstream in(KVCAP_SOURCE_DIR "/configs/gpus.json");
    const nlohmann::json gpus = nlohmann::json::parse(in)["gpus"];
    CHECK(gpus.size() >= 15);
    std::set<std::string> names;
    for (const nlohmann::json& gpu : gpus) {
        INFO(gpu["name"]);
        CHECK(names.insert(gpu["name"].get<std::string>()).second);
        for (const nlohmann::json& also : gpu["also"]) {
            CHECK(names.insert(also.get<std::string>()).second);
        }
        const u64 nominal = gpu["nominal_bytes"].get<u64>();
        CHECK(nominal >= (16_GiB).value);
        CHECK(gpu["bandwidth"].get<u64>() >= 100'000'000'000);
        CHECK(gpu["sources"]["rates"].get<std::string>().rfind("https://", 0) == 0);
        if (!gpu["reported_mib"].is_null()) {
            const u64 reported = gpu["reported_mib"].get<u64>() << 20;
            CHECK(reported * 100 >= nominal * 93);
            CHECK(reported * 100 <= nominal * 101);
            CHECK(gpu["sources"].contains("reported_mib"));
        }
        CHECK(gpu["link"].is_null() == gpu["link_bandwidth"].is_null());
        for (const auto& [type, rate] : gpu["dense_flops"].items()) {
            CHECK(std::set<std::string>{"bf16", "fp16", "fp8", "int8", "fp4"}.count(type) == 1);
            CHECK(rate.get<u64>() >= 10'000'000'000'000);
        }
    }
}

}  // namespace models_tests
