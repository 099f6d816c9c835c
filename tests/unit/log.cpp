// SPDX-License-Identifier: MIT
// Start-up logs: sentences in every form and behind every prefix, what repeats and what is last, cut and folded
// lines; and misreadings from public reports, each with the figure that sets it right.
#include <catch2/catch.hpp>
#include <kvcap/io/log.hpp>
#include <kvcap/report/diagnose.hpp>
#include <kvcap/report/diagnose/checks.hpp>

namespace log_tests {

namespace {

using namespace kvcap;
using kvcap::logs::Datum;

// No constant if a digit beyond those that are kept were summed first.
static_assert(logs::integer_of("999999999999999999") == 999999999999999999);
static_assert(!logs::integer_of("9416958777777777777") && !logs::integer_of("-9,416,958,777,777,777,777"));

LogStart only(std::string_view text) {
    LogReading reading = read_log(text);
    REQUIRE(reading.starts.size() == 1);
    return std::move(reading.starts[0]);
}

std::string said(std::string_view text, std::string_view fact) {
    const LogStart start = only(text);
    const Datum* datum = start.facts.find(fact);
    if (datum == nullptr) {
        return "null";
    }
    return datum->kind == Datum::Kind::words ? datum->words : std::to_string(datum->integer);
}

/// Whether a finding has this figure, to `decimals`.
bool figure(const LogStart& start, std::string_view name, double value, double within = 0.5) {
    for (const report::Finding& finding : report::diagnose(start)) {
        for (const report::Figure& one : finding.figures) {
            if (one.name == name && std::abs(one.value - value) <= within) {
                return true;
            }
        }
    }
    return false;
}

}  // namespace

TEST_CASE("a sentence is read behind every prefix", "[log]") {
    const std::string sentence = "Available KV cache memory: 4.8 GiB";
    for (const std::string prefix :
         {"", "INFO 07-06 10:58:56 [gpu_worker.py:508] ",
          "(EngineCore_DP0 pid=1) INFO 07-06 10:58:56 [gpu_worker.py:508] ",
          "name-1  | (Worker_TP0 pid=1) INFO 07-06 10:58:56 [gpu_worker.py:508] ",
          "2026-05-01T23:34:48.256123456Z (EngineCore pid=1) INFO ",
          "2026-05-01 23:34:48.256 | (EngineCore pid=233) INFO ", "[2026-05-01T23:34:48Z] INFO ",
          "2026-06-09 14:17:22.982 [Error] (Process) ", "Jun 04  07:54:40.027(EngineCore pid=112) INFO ",
          "\xD0\xB0\xD0\xB2\xD0\xB3 18 14:28:30 HOST python3[28212]: (Worker_TP0 pid=28212) INFO ", "\xE2\x94\x82 ",
          "\033[0;36m(EngineCore pid=1)\033[0;0m \033[32mINFO\033[0m ", "^[[36m(EngineCore pid=1)^[[0m INFO ",
          "(EngineCore pid=1) level=INFO name=vllm msg=\"",
          "2026-05-01T23:34:48.1Z stdout F (EngineCore pid=1) INFO ",
          "(EngineCore_DP0 pid=812) (RayWorkerWrapper pid=983, ip=10.0.0.1) INFO "}) {
        CHECK(said(prefix + sentence + " \xE2\x94\x82\n", "available_kv_gib") == "4.8");
    }
    CHECK(said(sentence + " [repeated 2x across cluster]\n", "available_kv_gib") == "4.8");
}

TEST_CASE("vLLM's capacity in old and new words", "[log]") {
    CHECK(said("INFO 06-12 08:23:49 llm_engine.py:45] # GPU blocks: 507, # CPU blocks: 1024\n", "gpu_blocks") ==
          "507");
    CHECK(said("# GPU blocks: 507, # CPU blocks: 1024\n", "generation") == "v0");
    CHECK(said("# GPU blocks: 507\n", "generation") == "v1");
    CHECK(said("GPU blocks: 507, # CPU blocks: 1024\n", "cpu_blocks") == "1024");
    CHECK(said("INFO [executor_base.py:113] # rocm blocks: 36184, # CPU blocks: 2340\n", "gpu_blocks") == "36184");
    CHECK(said("GPU KV cache size: 300220 tokens\n", "capacity_tokens") == "300220");
    CHECK(said("GPU KV cache size: 300,220 tokens\n", "capacity_tokens") == "300220");
    CHECK(said("GPU KV cache size: 1,249,001 tokens,\n          Maximum concurrency for 1,048,576 tokens per "
               "request: 1.19x\n",
               "concurrency") == "1.19");
    CHECK(said("GPU KV cache size: 456,320 tokens, Maximum concurrency for 16,384 tokens per request: 27.85x\n",
               "max_model_len") == "16384");
    CHECK(said("Memory profiling results: total_gpu_memory=79.22GiB initial_memory_usage=0.5GiB "
               "peak_torch_memory=16.22GiB "
               "memory_usage_post_profile=15.1GiB non_torch_memory=1.79GiB kv_cache_size=53.29GiB "
               "gpu_memory_utilization=0.90\n",
               "available_kv_gib") == "53.29");
    CHECK(said("Free memory on device cuda:0 (37.95/79.25 GiB) on startup is less than desired GPU memory "
               "utilization (0.9, 71.33 GiB).\n",
               "error_category") == "free_memory_below_share");
    CHECK(said("To serve at least one request with the models's max seq len (8192), (1.00 GB KV cache is needed, "
               "which is larger than "
               "the available KV cache memory (0.50 GB). Try\n",
               "available_kv_gib") == "0.50");
    CHECK(said("Available KV cache memory: -8.59 GiB\nEngineCore failed to start.\n", "error_category") ==
          "no_memory_for_kv");
    CHECK(said("GPU KV cache size: 10 tokens\nEngineCore failed to start.\n", "error_category") == "failed_after_kv");
    CHECK(said("Graph capturing finished in 4 secs, took 0.11 GiB\n", "graph_actual_gib") == "0.11");
}

TEST_CASE("arguments: values with commas, brackets and a cut end", "[log]") {
    const std::string line =
        "non-default args: {'model': '/m/a, b', 'served_model_name': ['other'], 'max_model_len': 4096, "
        "'enable_prefix_caching': "
        "False, 'gpu_memory_utilization': 0.85, 'compilation_config': {'a': [1, 2], 'b': None}, "
        "'tensor_parallel_size': 4, 'max_num_se";
    CHECK(said(line, "model") == "/m/a, b");
    CHECK(said(line, "served_name") == "other");
    CHECK(said(line, "gpu_memory_utilization") == "0.85");
    CHECK(said(line, "prefix_caching") == "0");
    CHECK(said(line, "tp") == "4");
    CHECK(said(line, "max_num_seqs") == "null");
    CHECK(said("vllm:cache_config_info{block_size=\"16\",cache_dtype=\"fp8\",other=\"A(b=1, "
               "c='x')\",num_gpu_blocks=\"8676\"} 1.0\n",
               "gpu_blocks") == "8676");
}

TEST_CASE("ranks: equal figures are one fact, unlike ones none", "[log]") {
    const std::string one = "(Worker_TP0 pid=1) INFO Available KV cache memory: 5.00 GiB\n";
    CHECK(said(one + "(Worker_TP1 pid=2) INFO Available KV cache memory: 5.00 GiB\n", "available_kv_gib") == "5.00");
    CHECK(said(one + "(Worker_TP1 pid=2) INFO Available KV cache memory: 4.00 GiB\n", "available_kv_gib") == "null");
    CHECK(only(one + "(Worker_TP1 pid=2) INFO Available KV cache memory: 4.00 GiB\n")
              .facts.find("available_kv_gib_by_rank")
              ->items.size() == 2);
    CHECK(said(one + "(Worker_TP1 pid=2) INFO x\n", "tp") == "2");
    CHECK(said(one, "tp") == "null");
    CHECK(said("[2025-10-16 09:31:01 TP5] Memory pool end. avail mem=11.87 GB\n", "tp_at_least") == "6");
}

TEST_CASE("several starts: the last one counts; several engines: one reading each", "[log]") {
    const std::string start =
        "non-default args: {'model': 'a', 'max_model_len': 4096}\nAvailable KV cache memory: 1.0 GiB\nEngineCore "
        "failed to start.\n";
    const LogStart again = only(start + "non-default args: {'model': 'b'}\nGPU KV cache size: 64 tokens\n");
    CHECK(again.facts.text("model") == "b");
    CHECK_FALSE(again.facts.has("error_category"));
    CHECK(again.facts.number("runs") == 2);
    CHECK(read_log("a-1  | GPU KV cache size: 64 tokens\nb-1  | GPU KV cache size: 32 tokens\n").starts.size() == 2);
    CHECK(read_log(std::string_view{"nothing of an engine\n"}).starts.empty());
}

TEST_CASE("SGLang, llama.cpp, ollama and TensorRT-LLM", "[log]") {
    CHECK(said("KV Cache is allocated. K size: 1.00 GB, V size: 1.00 GB.\n", "k_size_gb") == "1.00");
    CHECK(said("DSV4 memory calculation: bytes_per_full_token=15955.85, available_bytes=45.78 GB, "
               "c128_state_fixed=0.10 GB, full_token=3080960\n",
               "available_kv_gib") == "45.78");
    CHECK(said("Not enough memory. Please try to increase --mem-fraction-static.\n", "error_category") ==
          "no_memory_for_kv");
    CHECK(said("llama_kv_cache_unified: size =  640.00 MiB (  8192 cells,  40 layers,  1 seqs), K (f16):  320.00 "
               "MiB, V (f16):  320.00 MiB\n",
               "cells") == "8192");
    CHECK(said("KV self size  = 1166,65 MiB, K (f16): 583,32 MiB, V (f16): 583,32 MiB\n", "kv_mib") == "1166.65");
    CHECK(said("llama_memory_recurrent: size = 82.00 MiB ( 4 cells, 43 layers, 4 seqs), R (f32): 41.00 MiB, S (f32): "
               "41.00 MiB\n",
               "rs_mib") == "82.00");
    CHECK(
        said("sched_reserve: failed to allocate compute buffers\ngraph_reserve: failed to allocate compute buffers\n"
             "llama_kv_cache: size = 1.00 MiB (8 cells, 1 layers, 1/1 seqs)\n",
             "error_category") == "compute_buffer_oom");
    CHECK(said("time=2025-08-22T17:52:53Z level=INFO source=memory.go:1 msg=\"offload to cuda\" layers.model=33 "
               "memory.required.kv=\"1.0 GiB\"\n",
               "layers_model") == "33");
    CHECK(said("[TensorRT-LLM][INFO] Using 4096 tokens in paged KV cache.\n", "capacity_tokens") == "4096");
    CHECK(said("[TensorRT-LLM][INFO] Max KV cache blocks per sequence: 65 [window size=2049],\n  tokens per "
               "block=32, primary blocks=13189, max sequence length=2049\n",
               "primary_blocks") == "13189");
}

TEST_CASE("nothing from a log is shown with control characters; pieces read as the whole", "[log]") {
    constexpr const char* line = "INFO 07-30 07:27:31 [gpu_worker.py:560] Available KV cache memory: 13.33 GiB\n";
    CHECK(only(std::string{"svc_1.a-b  | "} + line).service == "svc_1.a-b");
    CHECK(only(std::string{"\xc2\x82svc  | "} + line).service.empty());
    const std::string log = "Resolved architecture: A\033[31mB\x01\xC2\x9B\xFF\nGPU KV cache size: 64 tokens\n";
    CHECK(said(log, "arch").find_first_of("\033\x01") == std::string::npos);
    LogReader pieces;
    for (const char c : log) {
        pieces.feed({&c, 1});
    }
    CHECK(pieces.finish().starts[0].facts.text("arch") == said(log, "arch"));
    LogReader far;
    const std::string filler = "(APIServer pid=1) INFO Engine 000: GPU KV cache usage: 1.0%\n";
    for (int i = 0; i < 60000; ++i) {
        far.feed(i == 30000 ? log : filler);
    }
    const LogReading reading = far.finish();
    CHECK(reading.lines == 60001);
    REQUIRE(reading.starts[0].facts.has("capacity_tokens"));
    CHECK(reading.starts[0].facts.find("capacity_tokens")->line == 30002);
}

TEST_CASE("twelve misreadings", "[log]") {
    SECTION("SGLang's GB are GiB: 24,576 bytes a token, not 22,829") {
        CHECK(figure(only("KV Cache is allocated. #tokens: 1000000, K size: 11.44 GB, V size: 11.44 GB\n"),
                     "bytes_per_token", 24576));
    }
    SECTION("two caches of one device add up: 2,734 MiB") {
        CHECK(figure(only("llama_kv_cache_iswa: creating non-SWA KV cache, size = 131072 cells\nllama_kv_cache: size "
                          "= 2560.00 MiB (131072 cells, 5 layers, "
                          "1/1 seqs), K (f16): 1280.00 MiB, V (f16): 1280.00 MiB\nllama_kv_cache_iswa: creating     "
                          "SWA KV cache, size = 1536 cells\n"
                          "llama_kv_cache: size = 174.00 MiB (1536 cells, 29 layers, 1/1 seqs), K (f16): 87.00 MiB, "
                          "V (f16): 87.00 MiB\n"),
                     "sum_mib", 2734));
    }
    SECTION("TensorRT-LLM reserves a fraction of free memory, not what a request needs") {
        const LogStart start = only(
            "Memory usage when calculating max tokens in paged kv cache: total: 79.10 GiB, available: 74.44 GiB\n"
            "[MemUsageChange] Allocated 67.00 GiB for max tokens in paged KV cache (137216).\n");
        CHECK(figure(start, "fraction", 0.9, 0.001));
        CHECK(figure(start, "bytes_per_token", 524288));
    }
    SECTION("631 blocks are 0.9 of 21.89 GiB, rounded up") {
        CHECK(figure(only("Memory usage when calculating max tokens in paged kv cache: total: 39.39 GiB, available: "
                          "21.89 GiB\nNumber of blocks in KV cache primary pool: 631\n"),
                     "bytes_per_token", 524288));
    }
    SECTION("290,864 tokens and 33.04 requests of 32,768: the second is what is admitted") {
        CHECK(figure(
            only("GPU KV cache size: 290,864 tokens\nMaximum concurrency for 32,768 tokens per request: 33.04x\n"),
            "admitted_tokens", 1082654));
    }
    SECTION("metrics that give a least block of 4 where the log set 256") {
        const LogStart start = only(
            "Setting attention block size to 256 tokens to "
            "ensure\nvllm:cache_config_info{block_size=\"4\",num_gpu_blocks=\"100\"} 1.0\n");
        const std::vector<report::Check> checks = report::checks_of(start).made;
        CHECK(std::any_of(checks.begin(), checks.end(), [](const report::Check& check) { return !check.agrees(); }));
        CHECK(start.facts.number("block_size") == 256);
    }
    SECTION("numbers decide whether a sentence is founded, words of the log do not") {
        const LogStart start = only(
            "non-default args: {'quantization': 'gptq-inf'}\nAvailable KV cache memory: 5.38 GiB\n");
        const std::vector<report::Finding> found = report::diagnose(start);
        CHECK(std::any_of(found.begin(), found.end(), [](const report::Finding& each) {
            return each.kind == "weights-not-kv" && each.seen == "gptq-inf weights";
        }));
        report::Diagnosis on{start.facts};
        on.add("words", {}, report::said("nan {} inf", std::string{"nan"}), "inf", "nan");
        CHECK(on.findings.size() == 1);
        on.add("none", {}, report::said("{:.2f}", on["total_gib"]), "x");
        on.add("none", {}, "x", report::said("{}", report::commas(on["total_gib"])));
        on.add("none", {}, "x", "x", report::said("a {}", report::said("{:.1f}", 1 / on["available_kv_gib"] / 0.0)));
        CHECK(on.findings.size() == 1);
    }
    SECTION("sliding layers hold KV: 5.38 GiB and 78,384 tokens are 73,728 bytes each") {
        CHECK(figure(only("Available KV cache memory: 5.38 GiB\nGPU KV cache size: 78,384 tokens\n"),
                     "bytes_per_token_middle", 73728, 80));
    }
    SECTION("10.12 GiB for 221,000 tokens is what fp8 needs: 49,152 bytes a token") {
        const LogStart start = only(
            "max seq len (221000), (10.12 GiB KV cache is needed, which is larger than the available KV cache memory "
            "(9.00 GiB). "
            "Based on the available memory, the estimated maximum model length is 196544.\n");
        CHECK(figure(start, "bytes_per_token", 49152, 32));
    }
    SECTION("a need that does not halve with the length: 0.53 GiB stay") {
        CHECK(figure(only("max seq len (65536), (4.76 GiB KV cache is needed, which is larger than the available KV "
                          "cache memory (1.56 GiB). Based on the "
                          "available memory, the estimated maximum model length is 15984.\n"),
                     "constant_gib", 0.53, 0.005));
    }
    SECTION("short prompts never hit: blocks of 528 tokens, not a broken cache") {
        CHECK(figure(only("Setting attention block size to 528 tokens to ensure\n"), "min_prefix", 528));
    }
    SECTION("draft failures that are the target's states: one slot needs 1,945 MiB") {
        CHECK(figure(only("llama_memory_recurrent: size = 7780.50 MiB (4 cells, 64 layers, 4 seqs 12 rs_seq), R "
                          "(f32): 292.50 MiB, S (f32): 7488.00 MiB\n"
                          "srv load_model: failed to create MTP context\n"),
                     "one_slot", 1945));
    }
    SECTION("a second engine's pool below zero is its neighbour's memory, and no larger share") {
        const LogStart start = only("Model loading took 3.85 GiB memory\nAvailable KV cache memory: -8.59 GiB\n");
        CHECK(figure(start, "available", -8.59, 0.001));
    }
}

}  // namespace log_tests
