// SPDX-License-Identifier: MIT
// kvcap doctor as a script sees it: exit codes, JSON, and nothing of a log on the screen that a terminal would obey.
#include "program.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace {

/// Feeds `log` to `kvcap doctor - arguments`.
program::Ran doctor(const std::string& log, const std::string& arguments = {}) {
    return program::run("doctor - " + arguments, {}, log);
}

const std::string hybrid_start =
    "INFO 03-09 13:01:38 [utils.py:302]  version 0.16.1\n"
    "INFO 03-09 13:01:38 [utils.py:238] non-default args: {'model': 'Qwen/Qwen3.5-9B', 'max_model_len': 16384, "
    "'gpu_memory_utilization': 0.48, 'kv_cache_dtype': 'fp8', 'enable_prefix_caching': True, "
    "'max_num_batched_tokens': 4096, "
    "'enable_chunked_prefill': True}\n"
    "(EngineCore_DP0 pid=1) INFO [gpu_worker.py:424] Available KV cache memory: 2.43 GiB\n";

}  // namespace

TEST_CASE("doctor: 0 when printed and predicted agree, 1 when not, 3 without an engine", "[cli][log]") {
    if (!program::known()) {
        return;
    }
    const program::Ran good = doctor(hybrid_start + "GPU KV cache size: 39,072 tokens\n", "--json");
    CHECK(good.code == 0);
    const nlohmann::json json = nlohmann::json::parse(good.out);
    CHECK(json["schema"] == "kvcap.doctor/1");
    CHECK(json["engines"][0]["prediction"]["agrees"] == true);
    CHECK(json["engines"][0]["facts"]["available_kv_gib"] == "2.43");
    CHECK(json["engines"][0]["facts"]["dp"].is_null());
    CHECK(json["engines"][0]["lines"]["available_kv_gib"] == 3);
    CHECK(doctor(hybrid_start + "GPU KV cache size: 50,688 tokens\n").code == 1);
    CHECK(doctor("# GPU blocks: 1000, # CPU blocks: 512\nMaximum concurrency for 8192 tokens per request: 9.00x\n")
              .code == 1);
    CHECK(doctor("nothing here\n").code == 3);
    CHECK(doctor("GPU KV cache size: 64 tokens\n", "--model no-such-model").code == 3);
}

TEST_CASE("doctor: control characters of a log stay there", "[cli][log]") {
    if (!program::known()) {
        return;
    }
    const std::string log =
        "Resolved architecture: A\033]0;title\007\033[31mB\x01\xC2\x9B\nGPU KV cache size: 64 tokens\n";
    for (const char* arguments : {"--color never", "--json"}) {
        const program::Ran ran = doctor(log, arguments);
        CHECK(ran.code == 0);
        CHECK(ran.out.find('A') != std::string::npos);
        for (const char c : ran.out) {
            REQUIRE((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
        }
        CHECK(ran.out.find("\xC2\x9B") == std::string::npos);
    }
}

TEST_CASE("doctor: arguments that are cut off may have asked for drafts", "[cli][log]") {
    if (!program::known()) {
        return;
    }
    // A start with three MTP tokens: 48 states of (3 + 3) convolution rows, 17 attention layers, 205 blocks of 1,600.
    const std::string start =
        "INFO 07-06 10:58:56 [gpu_worker.py:508] Available KV cache memory: 5.33 GiB\n"
        "INFO 07-06 10:58:56 [kv_cache_utils.py:2146] GPU KV cache size: 300,220 tokens\n"
        "INFO 07-06 10:48:18 [api_utils.py:273] non-default args: {'model': '/m/qwen3.6-27b-fp8', "
        "'max_model_len': 262144, 'tensor_parallel_size': 2, 'kv_cache_dtype': 'fp8', 'max_num_batched_tokens': 8192, "
        "'enable_prefix_caching': True";
    const auto cut = nlohmann::json::parse(doctor(start + ", 'enable_chunked_prefill': True\n", "--json").out);
    const nlohmann::json& drafted = cut["engines"][0]["prediction"];
    CHECK(drafted["agrees"] == true);
    CHECK(drafted["rules"].get<std::string>().find("3 draft tokens") != std::string::npos);
    CHECK(drafted["reason"].get<std::string>().find("cut off") != std::string::npos);
    const auto said = nlohmann::json::parse(
        doctor(start + ", 'gpu_memory_utilization': 0.9, "
                       "'speculative_config': {'method': 'mtp', 'num_speculative_tokens': 3}}\n", "--json").out);
    CHECK(said["engines"][0]["prediction"]["agrees"] == true);
    const auto whole =
        nlohmann::json::parse(doctor(start + ", 'gpu_memory_utilization': 0.9}\n", "--json").out);
    CHECK(whole["engines"][0]["prediction"]["agrees"] == false);
}

TEST_CASE("doctor: figures that cannot be are told with their line and value", "[cli][log]") {
    if (!program::known()) {
        return;
    }
    const auto findings = [](const std::string& log) {
        const auto json = nlohmann::json::parse(doctor(log, "--json").out);
        std::string all;
        for (const auto& finding : json["engines"][0]["findings"]) {
            if (finding["kind"] == "implausible-number") {
                all += finding["seen"].get<std::string>() + " " + finding["lines"].dump() + ";";
            }
        }
        return all;
    };
    CHECK(findings("\nGPU KV cache size: 99999999999999999999999 tokens\n") ==
          "capacity_tokens = 99999999999999999999999 [2];");
    const std::string odd = findings(
        "GPU KV cache size: 64 tokens\nnon-default args: {'tensor_parallel_size': 99999, 'block_size': -7}\n");
    CHECK(odd.find("tp = 99,999 [2];") != std::string::npos);
    CHECK(odd.find("block_size_given = -7 [2];") != std::string::npos);
    CHECK(findings("GPU KV cache size: 64 tokens\nnon-default args: {'max_model_len': 88888888888888888888}\n") ==
          "max_model_len = 88888888888888888888 [2];");
    CHECK(findings("GPU KV cache size: 64 tokens\n").empty());
    CHECK(doctor("Available KV cache memory: 99999999999999999999.9 GiB\nGPU KV cache size: 64 tokens\n").out.find(
              "99999999999999999999.9") != std::string::npos);
}
