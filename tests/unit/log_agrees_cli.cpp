// SPDX-License-Identifier: MIT
// What kvcap says that an engine logs, kvcap doctor reads and agrees with: every engine over a spread of models, each
// line alone too. And every figure that a log has several of: engines, ranks, caches, pools.
#include "checked.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <optional>

namespace log_agrees_cli_tests {

namespace {

using nlohmann::json;

json doctor(const std::string& log, const std::string& arguments, int code) {
    const program::Ran ran = program::run("doctor - --json " + arguments, {}, log);
    CAPTURE(log, arguments, ran.err, ran.out);
    REQUIRE(ran.code == code);
    const json all = json::parse(ran.out);
    CHECK(schemas::violation_of(all, "doctor") == "");
    REQUIRE(all["engines"].size() == 1);
    CHECK(program::widest(program::run("doctor - " + arguments, {}, log).out) <= 80);
    return all["engines"][0];
}

/// What stands in front of the lines: arguments, as such a start prints them.
std::string head_of(const std::string& engine, const std::string& model) {
    if (engine == "vllm") {
        return "INFO 10-02 08:44:05 [utils.py:302]  version 0.28.0\n"
               "non-default args: {'model': '" + model + "', 'gpu_memory_utilization': 0.9, 'max_model_len': 32768}\n"
               "Available KV cache memory: 40.00 GiB\n";
    }
    if (engine == "sglang") {
        return "server_args=ServerArgs(model_path='" + model + "', tp_size=1)\n";
    }
    return engine == "llamacpp" ? "llama_context: n_ubatch = 512\n" : "";
}

struct Predicted {
    bool agrees = false;
    std::size_t figures = 0;
};

/// Of the lines that kvcap gives for the engine; nothing where its rules do not cover the model.
std::optional<Predicted> read_back(const std::string& engine, const std::string& model) {
    const program::Ran ran = program::run("pools " + model + " --engine " + engine +
                                          " --kv-budget 40GiB --engine-max-len 32768 --json");
    if (ran.code == 4) {
        return std::nullopt;
    }
    std::string lines = head_of(engine, model);
    const json pools = json::parse(ran.out);
    for (const json& line : pools["engines"][0]["engine_log"]) {
        const std::string one = line.get<std::string>() + '\n';
        CAPTURE(engine, model, one);
        CHECK(program::run("doctor - --json", {}, one).code == 0);  // each line is a line of a start
        lines += one;
    }
    const json prediction = doctor(lines, "--model " + model, 0)["prediction"];
    CAPTURE(engine, model, lines, prediction.dump());
    REQUIRE(prediction.contains("agrees"));
    return Predicted{prediction["agrees"].get<bool>(), 1 + prediction["also"].size()};
}

}  // namespace

TEST_CASE("doctor: reads every line that kvcap says an engine logs, and agrees", "[cli][log]") {
    if (!program::known()) {
        return;
    }
    for (const char* engine : {"vllm", "sglang", "trtllm", "llamacpp"}) {
        int asked = 0;
        for (const char* model : {"llama-3.1-8b", "gemma-3-27b", "gpt-oss-120b", "deepseek-v3.2", "qwen3-next-80b-a3b",
                                  "kimi-k2", "mistral-7b-v0.1", "qwen2.5-7b"}) {
            CAPTURE(engine, model);
            if (const auto found = read_back(engine, model)) {
                ++asked;
                CHECK(found->agrees);
            }
        }
        CHECK(asked >= 6);
    }
    CHECK(read_back("llamacpp", "gemma-3-27b")->figures == 2);           // what grows, and windows
    CHECK(read_back("llamacpp", "qwen3-next-80b-a3b")->figures == 2);    // what grows, and states
    CHECK(read_back("llamacpp", "deepseek-v3.2")->figures == 2);         // latents and index keys
    CHECK(read_back("sglang", "qwen3-next-80b-a3b")->figures == 3);      // keys, convolutions, states
}

TEST_CASE("doctor: llama.cpp's caches are predicted each by its kind", "[cli][log]") {
    if (!program::known()) {
        return;
    }
    const auto log = [](const char* window, int cells, const char* batch) {
        const std::string half = std::to_string(std::stod(window) / 2);
        return "llama_context: n_seq_max     = 2\n" + std::string{batch} +
               "llama_kv_cache_iswa: creating non-SWA KV cache, size = 16384 cells\n"
               "llama_kv_cache: size = 2560.00 MiB ( 16384 cells,  10 layers,  2/2 seqs), K (f16): 1280.00 MiB, V "
               "(f16): 1280.00 MiB\n"
               "llama_kv_cache_iswa: creating     SWA KV cache, size = " + std::to_string(cells) + " cells\n"
               "llama_kv_cache: size = " + window + " MiB ( " + std::to_string(cells) +
               " cells,  52 layers,  2/2 seqs), K (f16):  " + half + " MiB, V (f16):  " + half + " MiB\n";
    };
    const std::string usual = "llama_context: n_ubatch      = 512\n";
    const json good = doctor(log("1248.00", 1536, usual.c_str()), "--model gemma-3-27b", 0)["prediction"];
    CHECK(good["figure"] == "full_cache_mib");
    CHECK(good["printed"] == 2560);
    REQUIRE(good["also"].size() == 1);
    CHECK(good["also"][0]["figure"] == "window_cache_mib");
    CHECK(good["also"][0]["low"] == 1248);
    const json bad = doctor(log("1249.00", 1536, usual.c_str()), "--model gemma-3-27b", 1)["prediction"];
    REQUIRE(bad["also"].size() == 1);
    CHECK(bad["also"][0]["agrees"] == false);
    const json large = doctor(log("2496.00", 3072, ""), "--model gemma-3-27b", 0)["prediction"];  // -ub is not said
    CHECK(large["rules"].get<std::string>().find("micro-batches of 2,048") != std::string::npos);
    const json wide = doctor(log("13312.00", 16384, "llama_kv_cache_iswa: using full-size SWA cache (ref: x)\n"),
                             "--model gemma-3-27b", 0)["prediction"];
    REQUIRE(wide["also"].size() == 1);
    CHECK(wide["also"][0]["low"] == 13312);
}

TEST_CASE("doctor: unlike ranks and data-parallel engines are predicted with their own least", "[cli][log]") {
    if (!program::known()) {
        return;
    }
    const auto start = [](const std::string& model, int tp, int dp, const std::string& length) {
        return "(EngineCore_DP0 pid=120) INFO 11-02 08:44:15 [core.py:77] Initializing a V1 LLM engine (v0.28.0) with "
               "config: model='" + model + "', dtype=torch.bfloat16, max_seq_len=" + length +
               ", tensor_parallel_size=" + std::to_string(tp) + ", pipeline_parallel_size=1, data_parallel_size=" +
               std::to_string(dp) + ", kv_cache_dtype=auto\n";
    };
    const auto available = [](const std::string& tag, const char* gib) {
        return "(" + tag + " pid=130) INFO 11-02 08:45:10 [gpu_worker.py:298] Available KV cache memory: " + gib +
               " GiB\n";
    };
    const auto tokens = [](const char* tag, const char* count, const char* length, const char* requests) {
        const std::string front = "(" + std::string{tag} + " pid=120) INFO 11-02 08:45:10 ";
        return front + "[kv_cache_utils.py:1087] GPU KV cache size: " + count + " tokens\n" + front +
               "[kv_cache_utils.py:1091] Maximum concurrency for " + length + " tokens per request: " + requests +
               "x\n";
    };
    // 4.00 GiB are printed of amounts that do not hold one request, too: of those the engine started with none.
    const std::string whole = start("meta-llama/Llama-3.1-8B", 1, 1, "32784") + available("Worker_TP0", "4.00") +
                              tokens("EngineCore_DP0", "32,784", "32,784", "1.00");
    CHECK(doctor(whole, "", 0)["prediction"]["agrees"] == true);
    std::string ranks = start("openai/gpt-oss-120b", 8, 1, "131072");
    for (int rank = 0; rank < 8; ++rank) {
        ranks += available("Worker_TP" + std::to_string(rank), rank == 3 ? "61.00" : "61.20");
    }
    const std::string log = ranks + tokens("EngineCore_DP0", "12,622,354", "131,072", "96.30");
    const json one = doctor(log, "", 0);
    CHECK(one["prediction"]["printed"] == 12'622'354);
    CHECK(one["facts"]["available_kv_gib"].is_null());
    const std::string screen = program::run("doctor -", {}, log).out;
    CHECK(screen.find("61.00 (TP3); 61.20 (TP0, TP1, TP2, TP4") != std::string::npos);
    doctor(ranks + tokens("EngineCore_DP0", "12,663,000", "131,072", "96.61"), "", 1);  // of 61.20 GiB

    const auto engines = [&](const char* second) {
        return start("deepseek-ai/DeepSeek-V3", 1, 8, "32768") + available("EngineCore_DP0", "28.00") +
               available("EngineCore_DP1", "28.10") + tokens("EngineCore_DP0", "427,824", "32,768", "13.06") +
               tokens("EngineCore_DP1", second, "32,768", "13.10");
    };
    const json both = doctor(engines("429,344"), "", 0)["prediction"];
    CHECK(both["engine"] == "DP0");
    REQUIRE(both["also"].size() == 1);
    CHECK(both["also"][0]["engine"] == "DP1");
    CHECK(both["also"][0]["printed"] == 429'344);
    CHECK(doctor(engines("427,824"), "", 1)["prediction"]["also"][0]["agrees"] == false);
}

TEST_CASE("doctor: SGLang's tokens of what the share leaves are predicted, and told where they differ", "[cli][log]") {
    if (!program::known()) {
        return;
    }
    const auto log = [](const char* tokens, const char* size, const char* share) {
        return "server_args=ServerArgs(model_path='meta-llama/Llama-3.1-8B-Instruct', tp_size=1, mem_fraction_static=" +
               std::string{share} + ", page_size=1)\n"
               "Load weight begin. avail mem=78.60 GB\n"
               "Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=63.52 GB, mem usage=15.08 GB.\n"
               "KV Cache is allocated. #tokens: " + tokens + ", K size: " + size + " GB, V size: " + size + " GB\n"
               "max_total_num_tokens=" + tokens + ", chunked_prefill_size=8192, context_len=131072\n";
    };
    const json good = doctor(log("439234", "26.81", "0.874"), "", 0)["prediction"];
    CHECK(good["figure"] == "k_size_gb");
    REQUIRE(good["also"].size() == 1);
    CHECK(good["also"][0]["figure"] == "capacity_tokens");
    CHECK(good["also"][0]["agrees"] == true);
    CHECK(good["also"][0]["low"] <= 439'225);  // 63.52 - 78.60 x 0.126 GiB of 131,072 bytes a token
    CHECK(good["also"][0]["high"] >= 439'225);
    const json less = doctor(log("219617", "13.40", "0.874"), "", 0)["prediction"];  // a workspace was taken first
    CHECK(less["also"][0]["agrees"] == false);
    CHECK(less["also"][0]["decides"] == false);
    doctor(log("439234", "26.71", "0.874"), "", 1);  // its own keys decide
}

TEST_CASE("doctor: what is missing is named, for a prediction and for an overhead", "[cli][log]") {
    if (!program::known()) {
        return;
    }
    const std::string metrics =
        "vllm:cache_config_info{block_size=\"16\",gpu_memory_utilization=\"0.9\",num_gpu_blocks=\"27959\"} 1.0\n"
        "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"meta-llama/Llama-3.1-8B-Instruct\"} 0.0\n";
    const json prediction = doctor(metrics, "", 0)["prediction"];
    CHECK(prediction["model"] == "meta-llama/Llama-3.1-8B-Instruct");
    CHECK(prediction["reason"].get<std::string>().find("'Available KV cache memory'") != std::string::npos);
    const std::string screen = program::run("doctor -", {}, metrics).out;
    CHECK(screen.find("meta-llama/Llama-3.1-8B-Instruct") != std::string::npos);
    CHECK(screen.find("gpu_memory_utilization 0.9") != std::string::npos);
}

}  // namespace log_agrees_cli_tests
