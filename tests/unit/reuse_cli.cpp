// SPDX-License-Identifier: MIT
// `kvcap reuse` as a script sees it.
#include "program.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

using program::Ran;
using program::text_of;

/// Runs `kvcap reuse arguments`; SCENARIO in them is a file with that text.
Ran reuse(std::string arguments, const std::string& scenario = {}) {
    const fs::path stem = fs::temp_directory_path() / ("kvcap-reuse-" + std::to_string(::getpid()));
    const std::string file = stem.string() + ".json";
    std::ofstream{file, std::ios::binary} << scenario;
    if (const auto at = arguments.find("SCENARIO"); at != std::string::npos) {
        arguments.replace(at, 8, file);
    }
    const Ran ran = program::run("reuse " + arguments);
    fs::remove(file);
    return ran;
}

const std::string hybrid = R"({"prompt_tokens": 2000, "groups": [
    {"name": "full", "needs": "everything", "bytes_per_page": 65536, "held": [[0, 110]]},
    {"name": "window", "needs": "window", "window_tokens": 512, "bytes_per_page": 32768, "held": [[32, 90], [95, 125]]},
    {"name": "state", "needs": "snapshot", "page_tokens": 256, "bytes_per_page": 2000000, "held": [1, 3, 6]},
    {"name": "upper half", "shared_with": "full"}]})";

TEST_CASE("reuse: a scenario on the screen", "[cli]") {
    if (!program::known()) {
        return;
    }
    const Ran ran = reuse("SCENARIO", hybrid);
    REQUIRE(ran.code == 0);
    REQUIRE(ran.err.empty());
    REQUIRE(ran.out.find("1,024 of 2,000 prompt tokens can be skipped.") != std::string::npos);
    REQUIRE(ran.out.find("what full needs") != std::string::npos);
    REQUIRE(ran.out.find("^ 1,024") != std::string::npos);
    REQUIRE(ran.out.find("cheapest") != std::string::npos);
}

TEST_CASE("reuse: names of a scenario are spelled out on the screen and kept in JSON", "[cli]") {
    const std::string scenario = R"({"prompt_tokens": 64, "groups": [{"name": "\u001b[31m\n", "needs": "everything",
                                     "page_tokens": 16, "held": [0]}]})";
    for (const std::string flags : {"", " --explain", " --engine vllm"}) {
        CAPTURE(flags);
        const Ran ran = reuse("SCENARIO" + flags, scenario);
        CHECK(ran.code == 0);
        CHECK(ran.out.find('\x1b') == std::string::npos);
        CHECK(ran.out.find("x1b[31m") != std::string::npos);
    }
    CHECK(json::parse(reuse("SCENARIO --json", scenario).out)["groups"][0]["name"] == "\x1b[31m\n");
}

TEST_CASE("reuse: a scenario as JSON", "[cli]") {
    if (!program::known()) {
        return;
    }
    const Ran ran = reuse("SCENARIO --json", hybrid);
    REQUIRE(ran.code == 0);
    const json answer = json::parse(ran.out);
    REQUIRE(answer["schema"] == "kvcap.reuse/1");
    REQUIRE(answer["reusable_tokens"] == 1024);
    REQUIRE(answer["limit_tokens"] == 1999);
    REQUIRE(answer["unit_tokens"] == 256);
    REQUIRE(answer["limiting"] == json{"state"});
    REQUIRE(answer["reason"] ==
            json{{"why", "no_snapshot"}, {"refused_tokens", 1280}, {"group", "state"}, {"page", 4}});
    REQUIRE(answer["groups"].size() == 3);
    REQUIRE(answer["groups"][1]["needed_range"] == json{32, 64});
    REQUIRE(answer["groups"][0]["alone_tokens"] == 1536);
    REQUIRE(answer["groups"][0]["without_tokens"] == 1024);
    const json& steps = answer["repair"]["steps"];
    REQUIRE(steps.size() == 1);
    REQUIRE(steps[0] == json{{"tokens", 1792}, {"gained_tokens", 768}, {"bytes", 5 * 32768 + 2 * 65536}});
    std::ifstream schema_file{KVCAP_SOURCE_DIR "/docs/reference/schemas/reuse.schema.json"};
    const json schema = json::parse(schema_file);
    for (const auto& [key, value] : answer.items()) {
        REQUIRE(schema["properties"].contains(key));
    }
    for (const json& key : schema["required"]) {
        REQUIRE(answer.contains(key.get<std::string>()));
    }
}

TEST_CASE("reuse: a model's rule, and a question about it", "[cli]") {
    if (!program::known()) {
        return;
    }
    const std::string model = "'8*gqa(8,128) + 40*window(1024, gqa(8,128))'";
    const Ran rule = reuse(model + " --explain");
    REQUIRE(rule.code == 0);
    REQUIRE(rule.out.find("[p - 1,023, p)") != std::string::npos);
    REQUIRE(rule.out.find("Smallest reusable prefix: 16 tokens") != std::string::npos);
    const json rules = json::parse(reuse(model + " --explain --json").out);
    REQUIRE(rules["groups"][1]["reach_tokens"] == 1023);
    REQUIRE(rules["groups"][1]["bytes_per_page"] == 16 * 40 * 4096);
    const json asked = json::parse(reuse(model + " --prompt 4k --held 1=all --held 2=100-250 --json").out);
    REQUIRE(asked["reusable_tokens"] == 4016);
    REQUIRE(asked["reason"]["why"] == "broken_window");
}

TEST_CASE("reuse: what is refused", "[cli]") {
    if (!program::known()) {
        return;
    }
    const auto refused = [](const Ran& ran, int code, const std::string& words) {
        INFO(ran.err);
        REQUIRE(ran.code == code);
        REQUIRE(ran.out.empty());
        REQUIRE(ran.err.find(words) != std::string::npos);
    };
    refused(reuse("SCENARIO", R"({"prompt_tokens": 5, "groups": [{"needs": "windwo", "held": []}]})"), 3,
            "did you mean window?");
    refused(reuse("'8*gqa(8,128)'"), 2, "--explain");
    refused(reuse("'8*gqa(8,128)' --prompt 64 --held 2=all"), 2, "--held 2=all");
    refused(reuse("'8*gqa(8,128)' --prompt 64 --held 1=0-4"), 2, "0 to 3");
    refused(reuse("'8*gqa(8,128)' --prompt 64 --window-edge w"), 2, "past or full");
    refused(reuse("no-such-model --explain"), 3, "no-such-model");
    refused(reuse("'8*gqa(8,128)' --prompt 8589934592"), 2, "at most 4,294,967,296");
    refused(reuse("'8*gqa(8,128)' --engine llamacpp --json"), 2, "--json");
    refused(reuse("'8*gqa(8,128)' --engine sglang --prompts SCENARIO --page-size 64 --max-total-tokens 10", "a:0-99\n"),
            1, "less than one page");
    // The screen and the JSON have one grid: the prompt's end counts where TensorRT-LLM reuses part of a block.
    const std::string chunk = R"({"prompt_tokens": 500, "groups": [{"name": "g", "needs": "chunk", "chunk_tokens": 16,
        "page_tokens": 32, "present": "0111111111101111"}]})";
    const json one = json::parse(reuse("SCENARIO --engine trtllm --json", chunk).out);
    REQUIRE(one["ideal_tokens"] == 499);
    REQUIRE(one["tail_tokens"] == 499);
    REQUIRE(one["groups"][0]["alone_tokens"] == 499);
    REQUIRE(reuse("SCENARIO --engine trtllm", chunk).out.find("Ideal: 499 of 500") != std::string::npos);
}

}  // namespace
