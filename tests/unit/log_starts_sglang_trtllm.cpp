// SPDX-License-Identifier: MIT
// Whole start-up logs of SGLang and TensorRT-LLM: every fact, and the findings' figures worked out by hand.
// An SGLang GB is a GiB.
#include "log_starts.hpp"

namespace log_starts_sglang_trtllm_tests {

using namespace starts;
using kvcap::report::gib;

namespace {

// 36 layers, 4 heads of 128 on a rank, bf16: K takes 36,864 bytes a token.
constexpr std::string_view dense =
    "[2025-10-16 09:30:01] server_args=ServerArgs(model_path='Qwen/Qwen3-8B-FP8', served_model_name='chat', "
    "tp_size=2, ep_size=2, mem_fraction_static=0.85, context_length=None, kv_cache_dtype='auto', "
    "page_size=64, disable_radix_cache=True, attention_backend='fa3')\n"
    "[2025-10-16 09:30:10 TP0] Load weight begin. avail mem=78.60 GB\n"
    "[2025-10-16 09:30:10 TP1] Load weight begin. avail mem=78.61 GB\n"
    "[2025-10-16 09:30:20 TP0] Load weight end. type=Qwen3ForCausalLM, dtype=torch.bfloat16, quant=fp8, "
    "avail mem=74.10 GB, mem usage=4.50 GB.\n"
    "[2025-10-16 09:30:20 TP0] Using KV cache dtype: torch.bfloat16\n"
    "[2025-10-16 09:30:21 TP0] KV Cache is allocated. #tokens: 800000, K size: 27.47 GB, V size: 27.47 GB\n"
    "[2025-10-16 09:30:21 TP1] KV Cache is allocated. #tokens: 800000, K size: 27.47 GB, V size: 27.47 GB\n"
    "[2025-10-16 09:30:21 TP0] Memory pool end. avail mem=18.90 GB\n"
    "[2025-10-16 09:30:30 TP0] Capture cuda graph end. Time elapsed: 5.01 s. mem usage=1.20 GB. avail "
    "mem=17.70 GB.\n"
    "[2025-10-16 09:30:31 TP0] max_total_num_tokens=800000, chunked_prefill_size=8192, "
    "max_prefill_tokens=16384, max_running_requests=2048, context_len=40960, available_gpu_mem=17.70 GB\n"
    "[2025-10-16 09:30:31 TP0] Tree cache initialized: impl=ChunkCache, hybrid_swa=False, "
    "hierarchical=False\n";

// Seven latent layers of 512 + 64 in bf16: 8,064 bytes a token; states in 100 slots and a reserve.
constexpr std::string_view latent_and_states =
    "Using KV cache dtype: torch.bfloat16\n"
    "Mamba Cache is allocated. max_mamba_cache_size: 100, conv_state size: 0.50GB, ssm_state size: 19.70GB "
    "intermediate_ssm_state_cache size: 2.00GB intermediate_conv_window_cache size: 0.10GB\n"
    "KV Cache is allocated. #tokens: 1000000, KV size: 7.51 GB\n"
    "max_total_num_tokens=1000000, chunked_prefill_size=8192, max_running_requests=100\n";

constexpr std::string_view windows =
    "Setting swa_full_tokens_ratio to 1.0 for GptOssForCausalLM\n"
    "Use sliding window memory pool. full_layer_tokens=500000, swa_layer_tokens=500000\n"
    "KV Cache is allocated. #tokens: 500000, K size: 5.72 GB, V size: 5.72 GB\n"
    "KV Cache is allocated. #tokens: 500000, K size: 5.72 GB, V size: 5.72 GB\n"
    "SWAKVPool mem usage: 22.89 GB, swa size: 500000, full size: 500000\n";

constexpr std::string_view compressed =
    "Load weight begin. avail mem=139.00 GB\n"
    "Load weight end. type=DeepseekV4ForCausalLM, avail mem=99.00 GB, mem usage=40.00 GB.\n"
    "Memory profiling: available_gpu_memory=98.50 GB, total_gpu_memory=140.00 GB, mem_fraction_static=0.90, "
    "rest_memory=84.50 GB\n"
    "DSV4 memory calculation: bytes_per_full_token=15955.85, available_bytes=45.78 GB, "
    "c128_state_fixed=0.10 GB, full_token=3080704\n"
    "Setting page_size to 256\n"
    "Memory pool end. avail mem=12.00 GB\n";

// Two ranks' pools, each with a draft's; the user's limit binds.
constexpr std::string_view uneven =
    "[2026-01-02 03:04:05 TP0] KV pool sizing: available_bytes=8589934592 (8.00 GiB), cell_size=24576, "
    "page_size=64 -> max_total_num_tokens=349504\n"
    "[2026-01-02 03:04:05 TP1] KV pool sizing: available_bytes=7516192768 (7.00 GiB), cell_size=24576, "
    "page_size=64 -> max_total_num_tokens=305792\n"
    "[2026-01-02 03:04:05 TP0] Uneven-DCP token sizing: vector [11, 11, 10], projected 960000, hybrid mamba "
    "cap 500000, user limit 400000, EFFECTIVE max_total_num_tokens 400000\n"
    "[2026-01-02 03:04:06 TP0] KV Cache is allocated. #tokens: 137536, K size: 3.00 GB, V size: 3.00 GB\n"
    "[2026-01-02 03:04:07 TP0] KV Cache is allocated. #tokens: 400000, K size: 0.125 GB, V size: 0.125 GB\n";

}  // namespace

TEST_CASE("SGLang: every fact of a dense start over two ranks", "[log]") {
    const LogStart start = only(dense);
    CHECK(start.engine == "sglang");
    CHECK(facts(start) == Facts{"model=Qwen/Qwen3-8B-FP8",
                                "served_name=chat",
                                "tp=2",
                                "ep=2",
                                "mem_fraction_static=0.85",
                                "page_size=64",
                                "prefix_caching=false",
                                "attention_backend=fa3",
                                "arch=Qwen3ForCausalLM",
                                "weights_quant=fp8",
                                "kv_dtype=torch.bfloat16",
                                "weights_gb=4.50",
                                "avail_before_weights_gb=78.60",
                                "avail_before_weights_gb_by_rank={TP0: 78.60, TP1: 78.61}",
                                "avail_after_weights_gb=74.10",
                                "avail_after_pool_gb=18.90",
                                "graph_gb=1.20",
                                "chunked_prefill=8192",
                                "max_running_requests=2048",
                                "max_model_len=40960",
                                "available_gpu_mem_gb=17.70",
                                "max_total_num_tokens=800000",
                                "capacity_tokens=800000",
                                "k_size_gb=27.47",
                                "v_size_gb=27.47",
                                "allocated_tokens_by_rank={TP0: 800000, TP1: 800000}",
                                "tree_cache=ChunkCache",
                                "hybrid_swa=false",
                                "hierarchical=false"});
}

TEST_CASE("SGLang: what a dense start's figures mean", "[log]") {
    const LogStart start = only(dense);
    CHECK(figure(start, "bytes-per-token", "bytes_per_token") == 2 * 36'864);
    CHECK(figure(start, "length-vs-pool", "ratio") == about(800'000.0 / 40'960));
    CHECK(figure(start, "length-vs-pool", "per_request") == 390);  // of 2,048 running requests
    CHECK(finding(start, "length-vs-pool").meaning == "19.53 requests of full length");
    CHECK(figure(start, "margin", "free_gb") == 18.9);
    CHECK(figure(start, "margin", "idle") == 17.7);
    CHECK(finding(start, "margin").meaning == "the pool is capped by a setting, not by memory");
    CHECK(figure(start, "pages", "pages") == 12'500);
    CHECK(figure(start, "amounts", "kv_gib") == about(54.94));
    CHECK(figure(start, "amounts", "decimal_gb") == about(54.94 * 1.073741824));
    CHECK(figure(start, "amounts", "all_ranks_gib") == about(109.88));
    CHECK(figure(start, "in-use", "in_use_gb") == about(60.9));
    CHECK(figure(start, "hundredth", "gib_per_hundredth") == about(0.786));
    CHECK(figure(start, "hundredth", "tokens_per_hundredth") == about(0.786 / 54.94 * 800'000));
    CHECK(finding(start, "no-prefix-cache").seen == "the tree is a ChunkCache");
    CHECK(finding(start, "fp8-weights").change == "--kv-cache-dtype fp8_e4m3 halves it");
    CHECK(overhead(start).first == 0);  // 78.60 - 74.10 are the weights, and graphs lie outside
    CHECK(overhead(start).second == "free before loading - free after it - weights");
    const auto of_card = kvcap::report::overhead_of(start, 79.60 * gib);
    REQUIRE(of_card);
    CHECK(of_card->bytes / gib == about(0.85 * (79.60 - 78.60)));
    CHECK(of_card->how == "free before loading - free after it - weights + the share of what was not free before");
    CHECK(all_agree(start, 2));
}

TEST_CASE("SGLang: a latent cache beside states", "[log]") {
    const LogStart start = only(latent_and_states);
    CHECK(said(start, "intermediate_ssm_gb") == "2.00");
    CHECK(said(start, "intermediate_conv_gb") == "0.10");
    CHECK(figure(start, "bytes-per-token", "bytes_per_token") == 7 * 576 * 2);
    CHECK(figure(start, "latent", "layers") == 7);
    CHECK(figure(start, "state-share", "share") == about(20.2 / (20.2 + 7.51)));
    CHECK(figure(start, "state-per-slot", "per_slot_gib") == about(0.2));  // 20.20 GB / (100 + 1)
    CHECK(figure(start, "token-equivalent", "tokens_per_slot") == about(0.2 * gib / 8'064));
    CHECK(figure(start, "running-limit", "per_request") == 10'000);
    CHECK(overhead(start).first == -1);  // nothing says what was free
    // What is free after the pool and the graphs says nothing of what loading took.
    const std::string end = "Load weight end. type=X, avail mem=60.00 GB, mem usage=9.00 GB.\n" +
                            std::string{latent_and_states} +
                            "Memory pool end. avail mem=30.00 GB\nCapture cuda graph end. mem usage=1.50 GB.\n";
    CHECK(overhead(only(end)).first == -1);
    CHECK(overhead(only("Load weight begin. avail mem=70.25 GB\n" + end)).first == about(70.25 - 60 - 9));
}

TEST_CASE("SGLang: window and full pools of equal length save nothing", "[log]") {
    const LogStart start = only(windows);
    CHECK(said(start, "arch") == "GptOssForCausalLM");
    CHECK(said(start, "swa_ratio") == "1.0");
    CHECK(said(start, "pools") ==
          "[{kind: window, tokens: 500000, k_size_gb: 5.72, v_size_gb: 5.72}, {kind: full, tokens: "
          "500000, k_size_gb: 5.72, v_size_gb: 5.72}]");
    CHECK(said(start, "capacity_tokens") == "500000");  // of the full layers
    const auto found = finding(start, "windows-full");
    CHECK(found.seen == "window layers hold 11.44 of 22.88 GB");
    CHECK(found.meaning == "both pools have the same tokens: windows save nothing");
    CHECK(found.gain_bytes == about(11.44 * 0.8 * gib));
    CHECK(figure(start, "windows-full", "share") == about(0.5));
    std::string own{windows};
    own.replace(own.find("swa size: 500000"), 16, "swa size: 100000");
    CHECK(finding(only(own), "windows-full").meaning == "windows have a pool of their own");
    CHECK(finding(only(own), "windows-full").gain_bytes == 0);
}

TEST_CASE("SGLang: bytes of a full token, and the share of a card", "[log]") {
    const LogStart start = only(compressed);
    CHECK(said(start, "page_size") == "256");
    CHECK(said(start, "mem_fraction_static") == "0.90");
    CHECK(said(start, "full_tokens") == "3080704");
    CHECK(figure(start, "check", "tokens_before_pages") == about(45.78 * gib / 15'955.85));
    CHECK(figure(start, "check", "weights_gb") == about(139 - 12 - 45.78));
    CHECK(figure(start, "share", "rest") == about(98.5 - 140 * 0.1));
    CHECK(figure(start, "share", "gib_per_hundredth") == about(1.4));
    CHECK(figure(start, "share", "tokens_per_hundredth") == about(1.4 * gib / 15'955.85));
    CHECK(all_agree(start, 3));
    std::string wrong{compressed};
    wrong.replace(wrong.find("full_token=3080704"), 18, "full_token=2080704");
    CHECK_FALSE(all_agree(only(wrong), 3));
}

TEST_CASE("SGLang: of three token counts the effective one counts", "[log]") {
    const LogStart start = only(uneven);
    CHECK(said(start, "dcp") == "3");
    CHECK(said(start, "profiled_tokens_by_rank") == "{TP0: 349504, TP1: 305792}");
    CHECK(said(start, "cell_size") == "24576");
    CHECK(said(start, "capacity_tokens") == "400000");
    CHECK(said(start, "draft_pool_tokens") == "400000");
    CHECK(said(start, "draft_pool_mgb") == "250");
    CHECK(figure(start, "which-number", "gain") == about(2.4));
    CHECK(figure(start, "which-number", "profiled") == 349'504);
    CHECK(figure(start, "which-number", "state_cap") == 500'000);
    CHECK(finding(start, "which-number").change == "it is bound by --max-total-tokens, not by memory");
    CHECK(figure(start, "draft-pool", "draft_gb") == 0.25);
}

TEST_CASE("SGLang: starts that fail, and what would have helped", "[log]") {
    const std::string loaded =
        "server_args=ServerArgs(model_path='m', mem_fraction_static=0.80)\n"
        "Load weight end. type=X, avail mem=4.00 GB, mem usage=76.00 GB.\n";
    const LogStart full = only(
        loaded + "Not enough memory. Please try to increase --mem-fraction-static. Current value: 0.8\n");
    CHECK(said(full, "error_category") == "no_memory_for_kv");
    CHECK(figure(full, "share", "minimum_fraction") == about(1 - 4.0 / 80));
    CHECK(figure(full, "share", "budget") == about(64));
    CHECK(finding(full, "share").change == "--mem-fraction-static above 0.9500");

    const LogStart negative = only(
        "max_total_tokens=4096 is larger than the profiled value -1200. Use the profiled value instead.\n");
    CHECK(said(negative, "error_category") == "no_memory_for_kv");
    CHECK(figure(negative, "negative-pool", "tokens") == -1'200);
    const auto with_size = kvcap::report::diagnose(negative, 1'048'576.0);
    CHECK(with_size[0].figures.back().name == "gib");
    CHECK(with_size[0].figures.back().value == about(-1'200.0 / 1'024));

    CHECK(said(loaded + "Scheduler hit an exception: Traceback\n", "error_category") == "unknown");
    CHECK(said("max_total_num_tokens=64, chunked_prefill_size=1\nScheduler hit an exception: Traceback\n",
               "error_category") == "failed_after_kv");
    CHECK(finding(only(loaded + "Scheduler hit an exception: Traceback\n"), "not-kv").meaning ==
          "the cause is not in these lines: find the exception's own text above or below");
}

TEST_CASE("SGLang: tags of attention data parallelism give both sizes", "[log]") {
    std::string log;
    for (const char* rank : {"DP0 TP0", "DP1 TP1", "DP3 TP3"}) {
        log += std::string{"[2025-10-16 09:31:01 "} + rank + "] Memory pool end. avail mem=11.87 GB\n";
    }
    CHECK(said(log, "tp") == "4");
    CHECK(said(log, "dp") == "4");
    CHECK(said("[2025-10-16 09:31:01 DP0 TP0] Memory pool end. avail mem=11.87 GB\n"
               "[2025-10-16 09:31:01 DP2 TP2] Memory pool end. avail mem=11.87 GB\n",
               "tp") == "null");
}

TEST_CASE("TensorRT-LLM: every fact of a start of the C++ backend", "[log]") {
    const std::string log =
        "[TensorRT-LLM] TensorRT-LLM version: 0.17.0\n"
        "[TensorRT-LLM][INFO] Loaded engine size: 8192 MiB\n"
        "[TensorRT-LLM][INFO] TRTGptModel maxNumSequences: 256\n"
        "[TensorRT-LLM][INFO] TRTGptModel maxBatchSize: 256\n"
        "[TensorRT-LLM][INFO] TRTGptModel maxSequenceLen: 32768\n"
        "[TensorRT-LLM][INFO] TRTGptModel maxNumTokens: 16384\n"
        "[TensorRT-LLM][INFO] TRTGptModel maxInputLen: 32767\n"
        "[TensorRT-LLM][INFO] TRTGptModel mMaxAttentionWindowSize: (32768) * 32\n"
        "[TensorRT-LLM][INFO] Capacity Scheduler Policy: GUARANTEED_NO_EVICT\n"
        "[TensorRT-LLM][INFO] Context Chunking Scheduler Policy: None\n"
        "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 4096.50 MiB for execution context memory.\n"
        "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 120.25 MB GPU memory for runtime buffers.\n"
        "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 64.00 MB GPU memory for decoder.\n"
        "[TensorRT-LLM][WARNING] kv_cache_free_gpu_mem_fraction is not specified, will use default value of "
        "0.9\n"
        "[TensorRT-LLM][INFO] Memory usage when calculating max tokens in paged kv cache: total: 79.10 GiB, "
        "available: 62.50 GiB\n"
        "[TensorRT-LLM][INFO RANK 1] Number of blocks in KV cache primary pool: 14400\n"
        "[TensorRT-LLM][INFO] Number of blocks in KV cache secondary pool: 0\n"
        "[TensorRT-LLM][INFO] Number of tokens per block: 32\n"
        "[TensorRT-LLM][INFO] Max KV cache pages per sequence: 1024\n"
        "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 56.25 GiB for max tokens in paged KV cache "
        "(460800).\n"
        "[TensorRT-LLM][INFO] KV cache block reuse is disabled\n";
    const LogStart start = only(log);
    CHECK(start.engine == "tensorrt-llm");
    CHECK(facts(start) == Facts{"version=0.17.0",
                                "engine_mib=8192",
                                "max_num_sequences=256",
                                "max_batch_size=256",
                                "max_model_len=32768",
                                "max_num_tokens=16384",
                                "max_input_len=32767",
                                "window=32768",
                                "window_layers=32",
                                "scheduler=GUARANTEED_NO_EVICT",
                                "chunking=None",
                                "context_memory=4096.50 MiB",
                                "runtime_buffers=120.25 MB",
                                "decoder=64.00 MB",
                                "default_fraction=0.9",
                                "total_gib=79.10",
                                "available_gib=62.50",
                                "rank=1",
                                "primary_blocks=14400",
                                "secondary_blocks=0",
                                "tokens_per_block=32",
                                "pages_per_sequence=1024",
                                "kv_gib=56.25",
                                "capacity_tokens=460800",
                                "prefix_caching=false"});
    CHECK(figure(start, "fraction", "fraction") == about(0.9));
    CHECK(figure(start, "default-fraction", "fraction") == about(0.9));
    CHECK(figure(start, "bytes-per-token", "bytes_per_token") == 131'072);  // 14,400 blocks of 4 MiB
    CHECK(figure(start, "reserved-vs-needed", "gib_40k") == about(5));
    CHECK(figure(start, "reserved-vs-needed", "request_gib") == about(4));
    CHECK(finding(start, "reserved-vs-needed").meaning == "one request of 32,768 tokens needs 4.000 GiB");
    CHECK(finding(start, "blocks", 1).seen.empty());
    CHECK(figure(start, "reserved-vs-needed", "block_mib") == about(4));
    CHECK(figure(start, "blocks", "tokens") == 460'800);
    CHECK(figure(start, "sequences", "sequences") == about(460'800.0 / 32'768));
    CHECK(figure(start, "activation-eats-kv", "per_token_mib") == about(4'096.5 / 16'384));
    CHECK(figure(start, "activation-eats-kv", "gain_gib") == about(4'096.5 / 2 / 1'024));
    CHECK(finding(start, "activation-eats-kv").gain_bytes == about(4'096.5 / 2 * 1'048'576));
    CHECK(overhead(start).first == about(79.1 - 62.5 - 8));
    CHECK(overhead(start).second == "total - available - engine");
    CHECK(all_agree(start, 2));
}

TEST_CASE("TensorRT-LLM: one request is as long as the log says, and no block is told twice", "[log]") {
    const auto start = [](int length, int blocks, const char* amount) {
        const std::string pool = std::to_string(blocks), each = std::to_string(length / 32);
        return only("[TRT-LLM] [I] Max KV cache blocks per sequence: " + each + " [window size=" +
                    std::to_string(length) + "], tokens per block=32, primary blocks=" + pool +
                    ", secondary blocks=0, max sequence length=" + std::to_string(length) +
                    "\n[TRT-LLM] [I] [MemUsageChange] Allocated " + amount + " GiB for max tokens in paged KV cache (" +
                    std::to_string(blocks * 32) + ").\n");
    };
    const LogStart plenty = start(8192, 14904, "58.22");
    CHECK(finding(plenty, "reserved-vs-needed").meaning == "one request of 8,192 tokens needs 1.000 GiB");
    CHECK_FALSE(finding(plenty, "reserved-vs-needed").change.empty());
    CHECK(finding(plenty, "blocks").meaning == "476,928 tokens at 32 a block");
    CHECK(finding(plenty, "blocks", 1).seen.empty());
    const LogStart one = start(32768, 1024, "4.00");
    CHECK(finding(one, "reserved-vs-needed").meaning == "one request of 32,768 tokens needs 4.000 GiB");
    CHECK(finding(one, "reserved-vs-needed").change.empty());  // one request takes all of it
    const LogStart unsaid = only("[MemUsageChange] Allocated 4.00 GiB for max tokens in paged KV cache (32768).\n");
    CHECK(finding(unsaid, "reserved-vs-needed").meaning ==
          "a GiB holds 8,192 tokens; the log does not say how long a request may be");
}

TEST_CASE("TensorRT-LLM: windows have pools of their own, and one line counts them together", "[log]") {
    const LogStart start = only(
        "Max KV cache blocks per sequence: 5 [window size=128], tokens per block=32, primary blocks=18204, secondary "
        "blocks=0, max sequence length=32768\n"
        "Max KV cache blocks per sequence: 1024 [window size=32768], tokens per block=32, primary blocks=18000, "
        "secondary blocks=0, max sequence length=32768\n"
        "[MemUsageChange] Allocated 19.89 GiB for max tokens in paged KV cache (1158528).\n");
    CHECK(said(start, "primary_blocks") == "36204");
    CHECK(start.facts.find("pools")->items.size() == 2);
    CHECK(said(start, "phases") == "null");
    CHECK(figure(start, "sequences", "sequences") == about(18'000.0 / 1'024));
    CHECK(finding(start, "bytes-per-token").seen.empty());  // tokens of unlike sizes
    CHECK(finding(start, "reserved-vs-needed").seen.empty());
    CHECK(all_agree(start, 2));
}

TEST_CASE("SGLang: pools of windows are told apart by their tokens", "[log]") {
    const std::string head = "Use sliding window memory pool. full_layer_tokens=175000, swa_layer_tokens=140000\n";
    const std::string window = "KV Cache is allocated. #tokens: 140000, K size: 2.40 GB, V size: 2.40 GB\n";
    const std::string full = "KV Cache is allocated. #tokens: 175000, K size: 3.00 GB, V size: 3.00 GB\n";
    const std::string pools = "SWAKVPool mem usage: 10.8 GB, swa size: 140000, full size: 175000\n";
    for (const std::string& log : {head + window + full + pools, head + full + window, head + window + full}) {
        const LogStart start = only(log);
        CHECK(said(start, "capacity_tokens") == "175000");
        CHECK(said(start, "k_size_gb") == "null");
        CHECK(said(start, "draft_pool_tokens") == "null");
        CHECK(figure(start, "windows-full", "window_gb") == about(4.8));
        CHECK(figure(start, "windows-full", "full_gb") == about(6.0));
    }
    CHECK(said(head + full, "pools") == "[{kind: full, tokens: 175000, k_size_gb: 3.00, v_size_gb: 3.00}]");
    const LogStart alone = only(head);
    CHECK(figure(alone, "window-pool", "ratio") == about(0.8));
    CHECK(all_agree(only(head + pools + "max_total_num_tokens=175000, chunked_prefill_size=8192\n"), 3));
    CHECK_FALSE(all_agree(only(head + "SWAKVPool mem usage: 10.8 GB, swa size: 140001, full size: 175000\n"), 3));
    CHECK_FALSE(all_agree(only("KV Cache is allocated. #tokens: 64, K size: 1.00 GB, V size: 1.00 GB\n"
                               "max_total_num_tokens=65, chunked_prefill_size=8192\n"), 1));
    CHECK(kvcap::report::checks_of(only("max_total_num_tokens=64, chunked_prefill_size=8192\n")).unchecked.size() == 1);
}

TEST_CASE("TensorRT-LLM: exact bytes, and both other backends", "[log]") {
    const LogStart exact =
        only("[TensorRT-LLM][INFO] Max tokens in paged KV cache: 1000. Allocating 131072000 bytes.\n");
    CHECK(figure(exact, "bytes-per-token", "bytes_per_token") == 131'072);
    CHECK(finding(exact, "bytes-per-token").seen == "131,072,000 bytes for 1,000 tokens");
    const LogStart pytorch = only(
        "Using LLM with PyTorch backend\n"
        "Estimated max memory in KV cache : 12.50 GiB\n"
        "max_seq_len=8192, max_num_requests=64, max_num_tokens=8192\n");
    CHECK(facts(pytorch) == Facts{"backend=pytorch", "estimated_kv_gib=12.50", "max_model_len=8192",
                                  "max_num_requests=64", "max_num_tokens=8192"});
    const LogStart automatic =
        only("self.max_seq_len=4096, self.max_batch_size=8, self.page_size=64\nself.num_pages=512\n");
    CHECK(said(automatic, "backend") == "autodeploy");
    CHECK(said(automatic, "tokens_per_block") == "64");
    CHECK(figure(automatic, "blocks", "tokens") == 32'768);
    CHECK(figure(only("Number of blocks in KV cache primary pool: 100\n"), "blocks", "tokens", 1) == 3'200);
}

TEST_CASE("TensorRT-LLM: a pool that is too small cuts the context, with a warning only", "[log]") {
    const std::string phase = "[TensorRT-LLM][INFO] Max KV cache blocks per sequence: ";
    const LogStart start =
        only(phase +
             "1024 [window size=32768], tokens per block=32, primary blocks=1100, secondary blocks=0, max "
             "sequence length=32768\n" +
             phase +
             "900 [window size=28800], tokens per block=32, primary blocks=900, secondary blocks=0, max "
             "sequence length=28800\n");
    CHECK(said(start, "phases") ==
          "[{kind: estimation, blocks_per_sequence: 1024, window: 32768, tokens_per_block: 32, "
          "primary_blocks: 1100, secondary_blocks: 0, max_seq_len: 32768}, {kind: final, "
          "blocks_per_sequence: 900, window: 28800, tokens_per_block: 32, primary_blocks: 900, "
          "secondary_blocks: 0, max_seq_len: 28800}]");
    CHECK(said(start, "error_category") == "context_cut_to_pool");
    CHECK(said(start, "capacity_tokens") == "28800");
    CHECK(figure(start, "two-phases", "estimated_blocks") == 1'100);
    CHECK(figure(start, "silent-cut", "missing_blocks") == 1'024 - 900);
    CHECK(finding(start, "silent-cut").seen == "the context was cut from 32768 to 28800 without an error");

    CHECK(said("maxAttentionWindow and maxSequenceLen are too large for at least one sequence to fit in "
               "kvCache. they are reduced to 4096\n",
               "cut_to") == "4096");
    CHECK(said("maxAttentionWindow and maxSequenceLen are too large for at least one sequence to fit in "
               "kvCache. they are reduced to 4096\n",
               "error_category") == "context_cut_to_pool");
    for (const char* line : {"maxTokensInPagedKvCache must be large enough to process at least 1 sequence\n",
                             "Impossible to fit any sequence in kvCache\n"}) {
        CHECK(said(line, "error_category") == "max_len_exceeds_kv");
    }
}

}  // namespace log_starts_sglang_trtllm_tests
