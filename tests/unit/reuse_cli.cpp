// SPDX-License-Identifier: MIT
// `kvcap reuse` as a script sees it.
#include "checked.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace reuse_cli_tests {

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

TEST_CASE("reuse: a problem inside a scenario names the file", "[cli]") {
    if (!program::known()) {
        return;
    }
    for (const char* engine : {"", " --engine vllm"}) {
        const Ran ran =
            reuse("SCENARIO" + std::string{engine},
                  R"({"prompt_tokens": 64, "groups": [{"needs": "everything", "held": [0, [1, 9]]}]})");
        CAPTURE(ran.err);
        CHECK(ran.code == 3);
        CHECK(ran.err.find(".json: /groups/0/held/1/1: 9; wanted a whole number from 1 to 4") !=
              std::string::npos);
    }
}

TEST_CASE("reuse: rules as JSON keep their schema, a model's and each engine's", "[cli]") {
    if (!program::known()) {
        return;
    }
    const auto rules = [](const std::string& arguments) {
        const Ran ran = program::run("reuse " + arguments + " --json");
        CAPTURE(arguments, ran.err);
        REQUIRE(ran.code == 0);
        const json told = json::parse(ran.out);
        CHECK(schemas::violation_of(told, "reuse_rules") == "");
        return told;
    };
    const json own = rules("gemma-3-27b --explain");
    CHECK(own["groups"][0]["reach_tokens"] == 1023);
    CHECK(own["groups"][0]["caches"].get<int>() + own["groups"][1]["caches"].get<int>() == 62);
    for (const char* engine : {"vllm", "sglang", "trtllm"}) {
        const json told = rules("gemma-3-27b --explain --engine " + std::string{engine});
        CHECK(told["engine"] == engine);
        const std::string words = program::run("reuse gemma-3-27b --explain --engine " + std::string{engine}).out;
        const std::size_t groups = told["groups"].size();  // as many as the screen numbers
        CHECK(words.find(fmt::format("\n  {}. ", groups)) != std::string::npos);
        CHECK(words.find(fmt::format("\n  {}. ", groups + 1)) == std::string::npos);
        CHECK(told["unit_tokens"].get<int>() % told["groups"][0]["page_tokens"].get<int>() == 0);
    }
    CHECK(schemas::violation_of(json{{"schema", "kvcap.reuse_rules/1"}}, "reuse_rules") != "");
}

TEST_CASE("reuse: llama-server's rule and its replay as JSON", "[cli]") {
    if (!program::known()) {
        return;
    }
    const std::string file = "/tmp/kvcap-prompts-" + std::to_string(::getpid()) + ".txt";
    std::ofstream{file} << "a:0-600 b:0-20 +8\na:0-600 b:0-30\n";
    const auto told = [](const std::string& arguments) {
        const Ran ran = program::run(arguments + " --json");
        CAPTURE(arguments, ran.err);
        REQUIRE(ran.code == 0);
        const json read = json::parse(ran.out);
        CHECK(schemas::violation_of(read, "reuse_llamacpp") == "");
        return read;
    };
    const json rule = told("reuse gemma-3-27b --engine llamacpp");
    CHECK(rule["window_tokens"] == 1024);
    CHECK(rule["states"] == false);
    CHECK(rule["checkpoints_before_end_tokens"] == json::array({516, 4}));
    CHECK(rule["chunk_reuse"] == "off");
    CHECK(told("reuse qwen3-next-80b-a3b --engine llamacpp")["states"] == true);
    for (const std::string verb : {"reuse gemma-3-27b --engine llamacpp", "llamacpp gemma-3-27b -c 32768"}) {
        const json run = told(verb + " --prompts " + file);
        CHECK(run["prompts"].size() == 2);
        CHECK(run["prompts"][1]["from_checkpoint"] == true);
        CHECK(run["prompts"][0]["computed_tokens"] == 620);
        CHECK(run["prompt_tokens"] == 1250);
        CHECK(run["skipped_tokens"] == run["prompts"][1]["skipped_tokens"]);
    }
    fs::remove(file);
}

TEST_CASE("reuse: what is wrong with a prompts file is wrong input, in every verb", "[cli]") {
    if (!program::known()) {
        return;
    }
    const std::string file = "/tmp/kvcap-prompts-" + std::to_string(::getpid()) + ".txt";
    std::string many;
    for (int i = 0; i < 4097; ++i) {
        many += "1\n";
    }
    const std::pair<std::string, const char*> wrong[] = {{"", "no prompt in it"},
                                                         {"# a remark\n\n", "no prompt in it"},
                                                         {"a:0-x\n", "line 1: 'x' is no count"},
                                                         {"a:0-9 +y\n", "line 1: 'y' is no count"},
                                                         {"a\n", "line 1: a is no piece"},
                                                         {"+8\n", "line 1: no token before"},
                                                         {"a:0-9 salt=a salt=b\n", "line 1: salt=b after salt=a"},
                                                         {"adapter=x a:0-9 adapter=x\n", "line 1: adapter=x after"},
                                                         {"a:0-600000\nb:0-500000 +9\n",
                                                          "line 2: 1,100,009 tokens in 2 prompts so far; at most "
                                                          "1,048,576 in 4,096 are run"},
                                                         {many, "line 4097: 4,097 tokens in 4,097 prompts so far"}};
    for (const auto& [text, words] : wrong) {
        std::ofstream{file} << text;
        for (const std::string verb :
             {"llamacpp llama-3.1-8b -c 4096", "reuse llama-3.1-8b --engine llamacpp",
              "reuse llama-3.1-8b --engine vllm", "reuse llama-3.1-8b --engine sglang",
              "reuse llama-3.1-8b --engine trtllm"}) {
            program::refused(verb + " --prompts " + file, 3, words);
            program::refused(verb + " --prompts " + file, 3, file);
        }
    }
    fs::remove(file);
    program::refused("llamacpp llama-3.1-8b --prompts " + file, 3, file);
}

}  // namespace

}  // namespace reuse_cli_tests
