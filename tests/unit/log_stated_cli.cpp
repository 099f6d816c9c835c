// SPDX-License-Identifier: MIT
// kvcap doctor asks the rules for what a log states: context ranks, attention data parallelism, and every figure that
// the log prints beside the one that is predicted.
#include "checked.hpp"

#include <catch2/catch.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace log_stated_cli_tests {

namespace {

using nlohmann::json;

struct Told {
    json start;
    std::string screen;
    int code = 0;

    json finding(const std::string& kind) const {
        for (const json& one : start["findings"]) {
            if (one["kind"] == kind) {
                return one;
            }
        }
        return {};
    }
};

Told told(const std::string& log, const std::string& arguments = {}) {
    const program::Ran shown = program::run("doctor - " + arguments, {}, log);
    const program::Ran ran = program::run("doctor - --json " + arguments, {}, log);
    CAPTURE(log, ran.err);
    const json all = json::parse(ran.out);
    CHECK(schemas::violation_of(all, "doctor") == "");
    CHECK(shown.code == ran.code);
    CHECK(program::widest(shown.out) <= 80);
    REQUIRE(all["engines"].size() == 1);
    return {all["engines"][0], shown.out, ran.code};
}

std::string at_once(const std::string& requests) {
    return "INFO 08-20 13:01:38 [utils.py:302]  version 0.28.0\n"
           "(EngineCore pid=97) INFO Available KV cache memory: 40.00 GiB\n"
           "(EngineCore pid=97) INFO GPU KV cache size: 250,231 tokens\n"
           "(EngineCore pid=97) INFO Maximum concurrency for 32,768 tokens per request: " + requests + "x\n";
}

}  // namespace

TEST_CASE("doctor: a printed concurrency that the rules do not give disagrees", "[cli][log]") {
    if (!program::known()) {
        return;
    }
    const Told good = told(at_once("7.64"), "--model gemma-3-27b");
    CHECK(good.code == 0);
    CHECK(good.start["prediction"]["agrees"] == true);
    CHECK(good.start["prediction"]["concurrency"]["printed"] == 7.64);
    CHECK(good.start["prediction"]["concurrency"]["low"] == 7.64);
    CHECK(good.start["prediction"]["concurrency"]["high"] == 7.64);
    for (const char* other : {"3.00", "7.63", "7.65", "99.99"}) {
        const Told bad = told(at_once(other), "--model gemma-3-27b");
        CAPTURE(other, bad.screen);
        CHECK(bad.code == 1);
        CHECK(bad.start["agrees"] == false);
        CHECK(bad.start["prediction"]["agrees"] == false);
        CHECK(bad.start["prediction"]["printed"] == 250'231);
        CHECK(bad.start["prediction"]["first_budget"] == 0);
        CHECK(bad.start["prediction"]["concurrency"]["low"] == 7.64);
        CHECK(bad.screen.find("7.64 predicted") != std::string::npos);
        CHECK(bad.screen.find("DISAGREES") != std::string::npos);
    }
}

TEST_CASE("doctor: a pool of fp8 under a stated auto is told as what it is", "[cli][log]") {
    if (!program::known()) {
        return;
    }
    const auto log = [](const std::string& tokens, const std::string& dtype) {
        return "INFO 09-01 [core.py:71] Initializing a V1 LLM engine (v0.10.2) with config: "
               "model='meta-llama/Llama-3.1-8B-Instruct', tensor_parallel_size=1, pipeline_parallel_size=1, " +
               dtype + "enable_prefix_caching=True\n"
               "INFO 09-01 [gpu_worker.py:276] Available KV cache memory: 50.00 GiB\n"
               "INFO 09-01 [kv_cache_utils.py:849] GPU KV cache size: " + tokens + " tokens\n";
    };
    const auto reason = [](const Told& told) { return told.start["prediction"]["reason"].get<std::string>(); };
    const Told stated = told(log("819,200", "kv_cache_dtype=auto, "));
    CHECK(stated.start["prediction"]["agrees"] == true);
    CHECK(reason(stated).find("the log says auto, with which it does not agree") == 0);
    CHECK(reason(told(log("409,600", "kv_cache_dtype=auto, "))).find("auto") == std::string::npos);
    CHECK(reason(told(log("819,200", "kv_cache_dtype=fp8, "))).find("auto") == std::string::npos);
    CHECK(reason(told(log("819,200", ""))).find("auto") == std::string::npos);
}

TEST_CASE("doctor: of budgets that give the printed tokens, only those that give the concurrency agree", "[cli][log]") {
    if (!program::known()) {
        return;
    }
    // 0.16 prints blocks // groups x block: one count stands for several numbers of blocks, the concurrency tells them.
    const std::string start =
        "INFO 03-09 13:01:38 [utils.py:302]  version 0.16.1\n"
        "INFO 03-09 13:01:38 [utils.py:238] non-default args: {'model': 'Qwen/Qwen3.5-9B', 'max_model_len': 16384, "
        "'gpu_memory_utilization': 0.48, 'kv_cache_dtype': 'fp8', 'enable_prefix_caching': True, "
        "'max_num_batched_tokens': 4096}\n"
        "(EngineCore_DP0 pid=1) INFO [gpu_worker.py:424] Available KV cache memory: 2.43 GiB\n"
        "GPU KV cache size: 39,072 tokens\n";
    const json alone = told(start).start["prediction"];
    REQUIRE(alone["agrees"] == true);
    CHECK_FALSE(alone.contains("concurrency"));
    const Told wrong = told(start + "Maximum concurrency for 16,384 tokens per request: 99.99x\n");
    CHECK(wrong.code == 1);
    const json predicted = wrong.start["prediction"]["concurrency"];
    REQUIRE(predicted["low"] <= predicted["high"]);
    for (const char* end : {"low", "high"}) {
        char line[96];
        std::snprintf(line, sizeof line, "Maximum concurrency for 16,384 tokens per request: %.2fx\n",
                      predicted[end].get<double>());
        const Told right = told(start + line);
        CHECK(right.code == 0);
        CHECK(right.start["prediction"]["concurrency"]["low"] == predicted["low"]);
        CHECK(right.start["prediction"]["first_budget"] >= alone["first_budget"]);
        CHECK(right.start["prediction"]["last_budget"] <= alone["last_budget"]);
        CHECK(right.start["prediction"]["first_budget"] <= right.start["prediction"]["last_budget"]);
    }
}

TEST_CASE("doctor: context ranks that the log states divide tokens", "[cli][log]") {
    if (!program::known()) {
        return;
    }
    const std::string figures =
        "(EngineCore pid=1) INFO [gpu_worker.py:424] Available KV cache memory: 40.00 GiB\n"
        "(EngineCore pid=1) INFO GPU KV cache size: 4,889,472 tokens\n"
        "(EngineCore pid=1) INFO Maximum concurrency for 131,072 tokens per request: 37.30x\n";
    const std::string version = "INFO 08-09 13:01:38 [utils.py:302]  version 0.28.0\n";
    const std::string arguments = version +
        "INFO [utils.py:238] non-default args: {'model': 'deepseek-ai/DeepSeek-V3', 'max_model_len': 131072, "
        "'tensor_parallel_size': 8, 'decode_context_parallel_size': 8, 'gpu_memory_utilization': 0.9}\n";
    const std::string config =
        "INFO [core.py:58] Initializing a V1 LLM engine (v0.28.0) with config: model='deepseek-ai/DeepSeek-V3', "
        "max_seq_len=131072, tensor_parallel_size=8, pipeline_parallel_size=1, data_parallel_size=1, "
        "decode_context_parallel_size=8, kv_cache_dtype=auto\n";
    for (const std::string& said : {arguments, config}) {
        const Told start = told(said + figures);
        CAPTURE(start.screen);
        CHECK(start.start["facts"]["dcp"] == 8);
        CHECK(start.start["prediction"]["agrees"] == true);
        CHECK(start.start["prediction"]["rules"].get<std::string>().find("TP 8, DCP 8") != std::string::npos);
        CHECK(start.finding("replicated-under-tp").is_null());
        CHECK(start.code == 0);
    }
    const std::string without = version +
        "INFO [utils.py:238] non-default args: {'model': 'deepseek-ai/DeepSeek-V3', 'max_model_len': 131072, "
        "'tensor_parallel_size': 8, 'gpu_memory_utilization': 0.9}\n" + figures;
    CHECK(told(without).code == 1);
    CHECK(told(without).finding("replicated-under-tp")["numbers"]["copies"] == 8);
    const std::string half = version +
        "INFO [utils.py:238] non-default args: {'model': 'deepseek-ai/DeepSeek-V3', 'max_model_len': 131072, "
        "'tensor_parallel_size': 8, 'decode_context_parallel_size': 4, 'gpu_memory_utilization': 0.9}\n" + figures;
    CHECK(told(half).finding("replicated-under-tp")["numbers"]["copies"] == 2);
}

TEST_CASE("doctor: attention data parallelism leaves no copies, and the share explains what stays free", "[cli][log]") {
    if (!program::known()) {
        return;
    }
    const auto start = [](const std::string& more) {
        return "[2026-08-20 10:00:00] server_args=ServerArgs(model_path='deepseek-ai/DeepSeek-V3', tp_size=8, "
               "dp_size=8, " + more + ")\n"
               "[2026-08-20 10:00:10 DP0 TP0] Load weight begin. avail mem=139.00 GB\n"
               "[2026-08-20 10:01:10 DP0 TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 400000, "
               "KV size: 26.18 GB\n"
               "[2026-08-20 10:01:10 DP0 TP0] Memory pool end. avail mem=28.20 GB\n";
    };
    const Told ranks = told(start("mem_fraction_static=0.8, enable_dp_attention=True"));
    CAPTURE(ranks.screen);
    CHECK(ranks.start["facts"]["dp_attention"] == true);
    CHECK(ranks.finding("replicated-under-tp").is_null());
    CHECK(ranks.start["prediction"]["rules"].get<std::string>().find("TP 8 (1 in attention)") != std::string::npos);
    CHECK(ranks.start["prediction"]["agrees"] == true);
    CHECK(ranks.finding("margin")["meaning"] ==
          "the share of 0.8 leaves 27.80 GB outside it: --mem-fraction-static decides");
    const Told copies = told(start("mem_fraction_static=0.9, enable_dp_attention=False"));
    CHECK(copies.finding("replicated-under-tp")["numbers"]["copies"] == 8);
    CHECK(copies.finding("margin")["meaning"] == "the pool is capped by a setting, not by memory");
    CHECK(told(start("max_total_tokens=400000, mem_fraction_static=0.8")).finding("margin")["meaning"] ==
          "the pool is capped by a setting, not by memory");
    CHECK(told(start("page_size=1")).finding("margin")["meaning"] ==
          "the share leaves it, or a setting caps the pool; the log does not say the share");
}

TEST_CASE("doctor: names of digits stay names", "[cli][log]") {
    if (!program::known()) {
        return;
    }
    const std::string tokens = "GPU KV cache size: 64 tokens\n";
    const json vllm =
        told("INFO [utils.py:238] non-default args: {'model': '123', 'served_model_name': ['0456'], "
             "'tensor_parallel_size': 2}\n" + tokens).start["facts"];
    CHECK(vllm["model"] == "123");
    CHECK(vllm["served_name"] == "0456");
    CHECK(vllm["tp"] == 2);
    const json tag = told("INFO [utils.py:238] non-default args: {'model_tag': '123'}\n" + tokens).start["facts"];
    CHECK(tag["model"] == "123");
    const json sglang =
        told("server_args=ServerArgs(model_path='123', served_model_name='7', tp_size=2)\n"
             "[TP0] Load weight begin. avail mem=78.00 GB\n").start["facts"];
    CHECK(sglang["model"] == "123");
    CHECK(sglang["served_name"] == "7");
}

TEST_CASE("doctor: llama.cpp's own lines say which cache grows and what the micro-batch is", "[cli][log]") {
    if (!program::known()) {
        return;
    }
    const std::string lines = program::run("llamacpp gemma-3-27b -c 32768").out;
    REQUIRE(lines.find("1536 cells") != std::string::npos);
    const Told bare = told(lines);
    CHECK(bare.finding("slope-constant")["seen"] == "2560.00 MiB grow with the context, 624.00 MiB do not");
    CHECK(bare.finding("slope-constant")["numbers"]["bytes_per_token"] == 81'920);
    CHECK(bare.finding("window-cells").is_null());
    const std::string named =
        "print_info: n_swa                 = 1024\nllama_context: n_seq_max     = 1\n"
        "llama_context: n_ctx         = 32768\nllama_context: n_ubatch      = ";
    CHECK(told(named + "512\n" + lines).finding("window-cells").is_null());
}

TEST_CASE("doctor: a step that the log does not say is asked in every size it may have", "[cli][log]") {
    if (!program::known()) {
        return;
    }
    // 0.19 prints the tokens of blocks, whatever the step; windows of a request, and so the concurrency, follow it.
    const auto start = [](const std::string& argument, const std::string& line, const std::string& requests) {
        return "INFO 04-09 13:01:38 [utils.py:302]  version 0.19.0\n"
               "INFO [utils.py:238] non-default args: {'model': 'google/gemma-3-27b-it', 'max_model_len': 32768, " +
               argument + "'gpu_memory_utilization': 0.9}\n" + line +
               "INFO [gpu_worker.py:424] Available KV cache memory: 40.00 GiB\n"
               "INFO GPU KV cache size: 74,896 tokens\n"
               "INFO Maximum concurrency for 32,768 tokens per request: " + requests + "x\n";
    };
    const std::string argument = "'max_num_batched_tokens': 8192, ";
    const std::string line = "INFO [scheduler.py:226] Chunked prefill is enabled with max_num_batched_tokens=8192.\n";
    for (const char* requests : {"10.22", "5.95", "3.82"}) {
        CAPTURE(requests);
        const bool of_8192 = std::string{requests} == "5.95";
        CHECK(told(start("", "", requests)).code == 0);
        CHECK(told(start(argument, "", requests)).code == (of_8192 ? 0 : 1));
        CHECK(told(start("", line, requests)).code == (of_8192 ? 0 : 1));
    }
    const Told small = told(start("", "", "10.22"));
    CHECK(small.start["prediction"]["rules"].get<std::string>().find("steps of 2,048") != std::string::npos);
    CHECK(told(start("", "", "99.99")).code == 1);
}

}  // namespace log_stated_cli_tests
