// SPDX-License-Identifier: MIT
// kvcap doctor as a script sees it: exit codes, JSON, and nothing of a log on the screen that a terminal would obey.
#include "checked.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace log_cli_tests {

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

TEST_CASE("doctor: checks that a log does not allow are named with the figures they lack", "[cli][log]") {
    if (!program::known()) {
        return;
    }
    const std::string tokens = "Available KV cache memory: 40.00 GiB\nGPU KV cache size: 389,744 tokens\n";
    const nlohmann::json alone = nlohmann::json::parse(doctor(tokens, "--json").out)["engines"][0];
    CHECK(schemas::violation_of(nlohmann::json::parse(doctor(tokens, "--json").out), "doctor") == "");
    CHECK(alone["checks"].empty());
    REQUIRE(alone["unchecked"].size() == 3);
    CHECK(alone["unchecked"][1]["what"] == "log and metrics print the same tokens");
    CHECK(alone["unchecked"][1]["missing"] == nlohmann::json::array({"capacity_tokens_metrics"}));
    CHECK(alone["unchecked"][2]["missing"] == nlohmann::json::array({"block_size_set", "block_size_metrics"}));
    const program::Ran shown = doctor(tokens);
    CHECK(shown.out.find("3 of 3 checks not made; the log lacks equivalent_utilization,") != std::string::npos);
    CHECK(program::widest(shown.out) <= 80);
    const nlohmann::json blocks = nlohmann::json::parse(
        doctor("Setting attention block size to 256 tokens to ensure\n"
               "vllm:cache_config_info{block_size=\"256\",num_gpu_blocks=\"100\"} 1.0\n",
               "--json").out)["engines"][0];
    CHECK(blocks["checks"].size() + blocks["unchecked"].size() == 3);
    CHECK(blocks["checks"].back()["agrees"] == true);
    const nlohmann::json cells = nlohmann::json::parse(
        doctor("llama_kv_cache: size = 2560.00 MiB (  8192 cells,  10 layers,  4/4 seqs), K (f16): 1280.00 MiB, "
               "V (f16): 1280.00 MiB\n",
               "--json").out)["engines"][0];
    REQUIRE(cells["checks"].size() == 1);
    CHECK(cells["unchecked"][0]["missing"] == nlohmann::json::array({"kv_buffer_mib"}));
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

TEST_CASE("doctor: nothing is computed with a figure that cannot be", "[cli][log]") {
    if (!program::known()) {
        return;
    }
    const std::string llama = "llama_context: n_seq_max = 1\n";
    const std::string sglang = "[TP0] Load weight begin. avail mem=78.00 GB\n";
    const std::string trtllm = "[TensorRT-LLM][INFO] TensorRT-LLM version: 1.0\n";
    const struct {
        std::string log;
        std::vector<std::string> unusable;  ///< facts
    } starts[] = {
        {"Model loading took -15.00 GiB memory and 3.0 seconds\nGPU KV cache size: 4,096 tokens\n",
         {"weights_gib"}},
        {"Available KV cache memory: 0.01 GiB\nGPU KV cache size: 999,999,999,999 tokens\n",
         {"capacity_tokens", "available_kv_gib"}},
        {"Available KV cache memory: -3.20 GiB\nGPU KV cache size: 64 tokens\n",
         {"capacity_tokens", "available_kv_gib"}},
        {"# GPU blocks: 0, # CPU blocks: 512\nMaximum concurrency for 32768 tokens per request: 0.00x\n",
         {"gpu_blocks", "concurrency"}},
        {"# GPU blocks: -5, # CPU blocks: -3\nMaximum concurrency for 0 tokens per request: 12.50x\n",
         {"gpu_blocks", "cpu_blocks", "max_model_len"}},
        {"max seq len (131072), (-16.00 GiB KV cache is needed, which is larger than the available KV cache "
         "memory (7.10 "
         "GiB). Based on the available memory, the estimated maximum model length is -50.\n",
         {"needed_kv_gib", "estimated_max_len"}},
        {sglang + "[TP0] KV Cache is allocated. #tokens: 999999999999, K size: 0.01 GB, V size: 0.01 GB\n",
         {"capacity_tokens", "k_size_gb", "v_size_gb"}},
        {sglang + "[TP0] KV Cache is allocated. #tokens: 4096, K size: -1.01 GB, V size: -1.01 GB\n",
         {"k_size_gb", "v_size_gb"}},
        {sglang + "[TP0] max_total_num_tokens=0, chunked_prefill_size=8192, max_running_requests=0, "
                  "context_len=0, "
                  "available_gpu_mem=-8.00 GB\n",
         {"capacity_tokens", "max_model_len", "available_gpu_mem_gb"}},
        {trtllm + "Number of tokens per block: 0.\nNumber of blocks in KV cache primary pool: "
                  "0\n[MemUsageChange] Allocated "
                  "-10.00 GiB for max tokens in paged KV cache (582528).\n",
         {"tokens_per_block", "primary_blocks", "kv_gib"}},
        {trtllm + "[MemUsageChange] Allocated 0.01 GiB for max tokens in paged KV cache (58252800000).\n",
         {"capacity_tokens", "kv_gib"}},
        {llama + "llama_kv_cache: size = -10.00 MiB ( 4096 cells,  32 layers,  1/1 seqs), K (f16):  -5.00 "
                 "MiB, V (f16): "
                 "-5.00 MiB\n",
         {"kv_mib", "k_mib", "v_mib"}},
        {llama + "llama_kv_cache: size = 0.01 MiB ( 999999999 cells,  32 layers,  1/1 seqs), K (f16): 0.01 "
                 "MiB, V (f16): "
                 "0.00 MiB\n",
         {"cells", "kv_mib"}},
        {"level=INFO source=device.go:240 msg=\"model weights\" device=CUDA0 size=\"-18.5 GiB\"\n"
         "level=INFO source=device.go:251 msg=\"kv cache\" device=CUDA0 size=\"-3.0 GiB\"\n",
         {"weights_by_device", "kv_by_device"}}};
    for (const auto& start : starts) {
        CAPTURE(start.log);
        const program::Ran screen = doctor(start.log);
        const nlohmann::json told = nlohmann::json::parse(doctor(start.log, "--json").out)["engines"][0];
        for (const std::string& fact : start.unusable) {
            CAPTURE(fact);
            CHECK(told["facts"].value(fact, nlohmann::json{}).is_null());
            CHECK(screen.out.find(fact + " = ") != std::string::npos);
        }
        std::size_t named = 0;
        for (const auto& finding : told["findings"]) {
            const bool odd = finding["kind"] == "implausible-number";
            named += odd ? 1 : 0;
            CHECK((odd || finding["seen"].get<std::string>().find('-') == std::string::npos));
        }
        CHECK(named == start.unusable.size());
        CHECK(told["checks"].empty());
        CHECK_FALSE(told["prediction"].contains("agrees"));
        CHECK(screen.code == 0);
        for (const char* never : {"nan", "inf ", "-0 "}) {
            CHECK(screen.out.find(never) == std::string::npos);
        }
    }
}

TEST_CASE("doctor: a finding is made of figures that the log states", "[cli][log]") {
    if (!program::known()) {
        return;
    }
    const std::string cells = "llama_kv_cache: size = 64.00 MiB (0 cells,  16 layers,  4/1 seqs), K (q8_0): 32.00 MiB, "
                              "V (q8_0): 32.00 MiB\n";
    const std::string draft = "srv load_model: creating MTP draft context against the target model 'a.gguf'\n"
                              "llama_kv_cache:      CUDA0 KV buffer size =     4.00 MiB\n";
    const std::string need = "To serve at least one request with the models's max seq len (";
    const std::string there = "larger than the available KV cache memory (";
    const std::string fits = "Based on the available memory, the estimated maximum model length is 158560.\n";
    const std::string phase = "Max KV cache blocks per sequence: 7 [window size=224], ";
    const struct {
        std::string log;
        std::string wanted;  ///< on the screen, where something still follows
    } starts[] = {
        {"llama_context: n_ctx = 8192\n" + cells + draft, ""},
        {"print_info: n_layer               = 65\nllama_context: n_ctx = 8192\n" + draft, ""},
        {"llama_context: n_ctx = 8192\nload_tensors: offloaded 25/25 layers to GPU\nllama_kv_cache:      CUDA0 KV "
         "buffer size =     -0.0 MiB\nsched_reserve:      CUDA0 compute buffer size =    42.58 MiB\n", "offload"},
        {need + "18446744073709551616), (11.62 GiB KV cache is needed, which is " + there + "9.38 GiB). " + fits,
         "one request of full length needs 11.62 GiB"},
        {need + "196608), (0.0 GiB KV cache is needed, which is " + there + "9.38 GiB). " + fits,
         "needed_kv_gib = 0.0"},
        {need + "196608), (1.00 GiB KV cache is needed, which is " + there + "9.38 GiB). " + fits, ""},
        {need + "196608), (11.62 GiB KV cache is needed, which is " + there + "-5.25 GiB). " + fits,
         "negative-pool"},
        {"[TensorRT-LLM][INFO] TensorRT-LLM version: 1.0\n" + phase +
             "tokens per block=32, primary blocks=129, secondary blocks=0, max sequence length=4096\n" + phase +
             "secondary blocks=0, max sequence length=224\n", "the pool is too"},
        {"kv_cache_free_gpu_mem_fraction is not specified, will use default value of -5.25\nTensorRT-LLM version: "
         "1.0\n", "default_fraction = -5.25"},
        {"TensorRT-LLM version: 1.0\nMax KV cache pages per sequence: -1\n", "pages_per_sequence = -1"},
    };
    for (const auto& start : starts) {
        CAPTURE(start.log);
        const program::Ran screen = doctor(start.log);
        CAPTURE(screen.out);
        CHECK(screen.code == 0);
        CHECK(screen.out.find(start.wanted) != std::string::npos);
        for (const char* never : {"nan ", "inf ", "-nan", "-inf", "GiB are missing, -", "constant_gib", ": -"}) {
            CHECK(screen.out.find(never) == std::string::npos);
        }
        CHECK(screen.out.find("bytes a token and -") == std::string::npos);
        const auto told = nlohmann::json::parse(doctor(start.log, "--json").out)["engines"][0];
        for (const auto& finding : told["findings"]) {
            for (const auto& figure : finding["numbers"]) {
                CHECK_FALSE(figure.is_null());
            }
        }
    }
}

TEST_CASE("doctor: long names are broken at the screen's width", "[cli][log]") {
    if (!program::known()) {
        return;
    }
    const program::Ran ran = doctor("Resolved architecture: " + std::string(90, 'A') +
                                    "\nnon-default args: {'model': '/m/" + std::string(100, 'b') +
                                    "', 'max_model_len': 4096}\nGPU KV cache size: 64 tokens\n", "--color never");
    CHECK(ran.code == 0);
    std::istringstream lines{ran.out};
    for (std::string line; std::getline(lines, line);) {
        CAPTURE(line);
        CHECK(line.size() <= 80);
    }
}

TEST_CASE("doctor: what an engine prints as a difference may be below zero", "[cli][log]") {
    if (!program::known()) {
        return;
    }
    const program::Ran ran = doctor("Available KV cache memory: -3.20 GiB\n");
    CHECK(ran.out.find("negative-pool") != std::string::npos);
    CHECK(ran.out.find("implausible-number") == std::string::npos);
    CHECK(ran.out.find("powers of ten") == std::string::npos);
}

TEST_CASE("fit: no overhead is taken from a log whose figures cannot be", "[cli][log]") {
    if (!program::known()) {
        return;
    }
    const std::string log = "/tmp/kvcap-odd-" + std::to_string(::getpid()) + ".log";
    std::ofstream{log}
        << "Available KV cache memory: 10.00 GiB\nModel loading took -15.00 GiB memory and 3.0 seconds\n";
    const program::Ran ran =
        program::run("fit llama-3.1-8b --gpu l4 --tokens 1k --engine vllm --overhead-from " + log);
    std::filesystem::remove(log);
    CHECK(ran.code == 3);
    CHECK(ran.err.find(log + " line 2: weights_gib = -15.00: less than 0") != std::string::npos);
}

TEST_CASE("doctor: ollama's request to close changes nothing of the load", "[cli][log]") {
    if (!program::known()) {
        return;
    }
    const std::string load = "level=INFO msg=load request=\"{Operation:commit Parallel:2 BatchSize:512 KvSize:4096 ";
    const std::string close = "level=INFO msg=load request=\"{Operation:close Parallel:0 BatchSize:0 KvSize:0 ";
    const auto facts = [](const std::string& log) {
        return nlohmann::json::parse(doctor(log, "--json").out)["engines"][0];
    };
    const nlohmann::json told = facts(load + "}\"\n" + close + "}\"\n");
    CHECK(told["facts"]["n_ctx"] == 4096);
    CHECK(told["facts"]["n_seq_max"] == 2);
    CHECK(told["findings"] == facts(load + "}\"\n")["findings"]);
}

}  // namespace log_cli_tests
