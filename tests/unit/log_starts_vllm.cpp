// SPDX-License-Identifier: MIT
// Whole start-up logs of vLLM, V0 and V1: every fact, the findings' figures worked out by hand, and why
// starts fail.
#include "log_starts.hpp"

namespace log_starts_vllm_tests {

using namespace starts;
using kvcap::report::gib;

namespace {

// V0: 81.1 x 0.90 = 73.00; 73.00 - 15.00 - 2.00 - 6.00 = 50.00 GiB. 25,600 blocks of 2 MiB.
constexpr std::string_view old =
    "INFO 01-20 10:00:00 llm_engine.py:234] Initializing an LLM engine (v0.6.6) with config: "
    "model='m/Model-7B', served_model_name=model-7b, dtype=torch.bfloat16, max_seq_len=32768, "
    "tensor_parallel_size=2, quantization=None, kv_cache_dtype=auto, enable_prefix_caching=False, "
    "use_async_output_proc=True\n"
    "(VllmWorkerProcess pid=101) INFO 01-20 10:00:10 model_runner.py:1] Loading model weights took 15.0000 "
    "GB\n"
    "(VllmWorkerProcess pid=102) INFO 01-20 10:00:10 model_runner.py:1] Loading model weights took 15.0000 "
    "GB\n"
    "INFO 01-20 10:00:20 worker.py:241] Memory profiling takes 6.51 seconds\n"
    "the current vLLM instance can use total_gpu_memory (81.11GiB) x gpu_memory_utilization (0.90) = "
    "73.00GiB\n"
    "model weights take 15.00GiB; non_torch_memory takes 2.00GiB; PyTorch activation peak memory takes "
    "6.00GiB; the rest of the memory reserved for KV Cache is 50.00GiB.\n"
    "INFO 01-20 10:00:20 executor_base.py:76] # GPU blocks: 25600, # CPU blocks: 2048\n"
    "INFO 01-20 10:00:20 executor_base.py:81] Maximum concurrency for 32768 tokens per request: 12.50x\n";

// V1: 256 requests allowed, 11.89 fit. Graphs: 0.80 GiB held back, 0.50 used, 0.01 of the card's 80 GiB.
constexpr std::string_view graphs =
    "non-default args: {'model_tag': 'm/Model-8B', 'served_model_name': ['model-8b'], 'max_num_seqs': 256, "
    "'gpu_memory_utilization': 0.9, 'quantization': 'online_fp8', 'enable_prefix_caching': False, "
    "'kv_cache_dtype': 'auto'}\n"
    "Model loading took 15.00 GiB memory and 3.0 seconds\n"
    "Estimated CUDA graph memory: 0.80 GiB total\n"
    "The current --gpu-memory-utilization=0.9000 is equivalent to --gpu-memory-utilization=0.8900 without "
    "CUDA graph memory profiling.\n"
    "Available KV cache memory: 40.00 GiB\n"
    "GPU KV cache size: 389,742 tokens\n"
    "Maximum concurrency for 32,768 tokens per request: 11.89x\n"
    "Graph capturing finished in 4 secs, took 0.50 GiB\n"
    "Free memory on device cuda:0 (78.50/80.00 GiB) on startup. Desired GPU memory utilization is (0.9, "
    "72.00 GiB). Actual usage is 16.00 GiB for consumed memory, 5.00 GiB for peak activation, 1.20 GiB for "
    "non-torch memory, and 0.50 GiB for CUDAGraph memory. Replace gpu_memory_utilization config with "
    "`--kv-cache-memory=41943040000` to fit into requested memory, or `--kv-cache-memory=53687091200` to "
    "fully utilize gpu memory. Current kv cache memory in use is 40.00 GiB.\n";

constexpr std::string_view cut =
    "(Worker_PP0 pid=1) INFO Auto-fit max_model_len: reduced from 262144 to 65536 to fit in available GPU "
    "memory (6.00 GiB available)\n"
    "(Worker_PP0 pid=1) INFO Available KV cache memory: 8.00 GiB\n";

}  // namespace

TEST_CASE("vLLM V0: every fact of a start", "[log]") {
    const LogStart start = only(old);
    CHECK(facts(start) == Facts{"version=0.6.6",          "generation=v0",
                                "v0_words=true",          "cut_words=true",
                                "model=m/Model-7B",       "dtype=torch.bfloat16",
                                "max_model_len=32768",    "tp=2",
                                "kv_dtype=auto",          "prefix_caching=false",
                                "worker_pids_seen=2",     "weights_gb=15.0000",
                                "total_gib=81.11",        "gpu_memory_utilization=0.90",
                                "budget_gib=73.00",       "weights_gib=15.00",
                                "non_torch_gib=2.00",     "peak_activation_gib=6.00",
                                "available_kv_gib=50.00", "gpu_blocks=25600",
                                "cpu_blocks=2048",        "concurrency=12.50"});
}

TEST_CASE("vLLM V0: budgets, blocks and ranks", "[log]") {
    const LogStart start = only(old);
    CHECK(figure(start, "budget-identity", "sum") == about(50));
    CHECK(finding(start, "budget-identity").meaning == "the pool is what is left of the share");
    CHECK(figure(start, "unused-share", "outside_gib") == about(81.11 * 0.1));
    CHECK(figure(start, "unused-share", "gain_gib") == about(81.11 * 0.05));
    CHECK(figure(start, "v0-capacity", "tokens") == 409'600);
    CHECK(figure(start, "v0-capacity", "needed_blocks") == 2'048);
    CHECK(figure(start, "block-bytes", "bytes_per_token") == 131'072);
    CHECK(figure(start, "block-bytes", "swap_gib") == about(4));
    CHECK(figure(start, "per-rank", "total") == about(30));
    CHECK(figure(start, "ranks", "ranks_seen") == 2);
    CHECK(figure(start, "one-request", "per_request_gib") == about(4));
    CHECK(finding(start, "prefix-cache-off").change == "--enable-prefix-caching");
    CHECK(overhead(start).first == about(8));
    CHECK(overhead(start).second == "non-torch memory + peak activation + graphs");
    CHECK(all_agree(start, 2));
    std::string wrong{old};
    wrong.replace(wrong.find("is 50.00GiB"), 11, "is 40.00GiB");
    CHECK_FALSE(all_agree(only(wrong), 2));
    CHECK(finding(only(wrong), "budget-identity").meaning == "the printed terms do not add up");
    // Swap space of 4 GiB by default: 2,048 CPU blocks are 2 MiB each, also where the pool is not printed.
    const LogStart blocks = only("# GPU blocks: 100, # CPU blocks: 2048\nUsing max model len 4096\n");
    CHECK(figure(blocks, "block-bytes", "mib_per_block") == about(2));
    CHECK(finding(blocks, "v0-capacity").change == "--max-model-len 1600, or a higher share");
}

TEST_CASE("vLLM: graphs, shares and suggested sizes", "[log]") {
    const LogStart start = only(graphs);
    CHECK(said(start, "model") == "m/Model-8B");
    CHECK(said(start, "served_name") == "null");  // it only shortens the model's own name
    CHECK(said(start, "online_quantization") == "online_fp8");
    CHECK(said(start, "quantization") == "null");
    CHECK(figure(start, "seqs", "preempted") == 256 - 11);
    CHECK(figure(start, "seqs", "tokens_each") == std::floor(11.89 * 32'768 / 256));
    CHECK(finding(start, "seqs").change == "allow 11 requests, or fewer tokens each: `kvcap pools` says how many");
    CHECK(figure(start, "graph-reserve", "unused_gib") == about(0.3));
    CHECK(figure(start, "graph-reserve", "gain") == about(0.02));
    CHECK(finding(start, "graph-reserve").gain_bytes == about(0.3 * gib));
    CHECK(figure(start, "card-size", "total_gib") == about(80));
    CHECK(figure(start, "card-size", "budget_gib") == about(72));
    CHECK(figure(start, "card-size", "rest_gib") == about(72 - 15 - 0.8 - 40));
    CHECK(figure(start, "suggestion", "suggested_gib") == about(39.0625));
    CHECK(figure(start, "suggestion", "max_gib") == about(50));
    CHECK(finding(start, "suggestion").gain_bytes == about(10 * gib));
    CHECK(finding(start, "suggestion").change == "--kv-cache-memory-bytes=53687091200 is the most");
    CHECK(figure(start, "spent", "beside_gib") == about(16 + 5 + 0.5));
    CHECK(figure(start, "spent", "left_gib") == about(72 - 21.5));
    CHECK(figure(start, "amounts", "share_of_card") == about(0.5));
    CHECK(overhead(start).first == about(1.2 + 5 + 0.5));
    CHECK(finding(only("non-default args: {'quantization': 'awq', 'max_model_len': 64}\nAvailable KV cache "
                       "memory: 8.00 GiB\n"),
                  "weights-not-kv")
              .gain_bytes == about(4 * gib));
}

TEST_CASE("vLLM: overhead from what a log does print", "[log]") {
    const LogStart consumed = only(
        "Model loading took 10.00 GiB memory\n"
        "Estimated CUDA graph memory: 1.00 GiB total\n"
        "Free memory on device cuda:0 (78.50/80.00 GiB) on startup. Desired GPU memory utilization is "
        "(0.9, 72.00 GiB). Actual usage is 12.00 GiB for consumed memory, 5.00 GiB for peak activation.\n");
    CHECK(overhead(consumed) ==
          std::pair{12.0 - 10 + 5 + 1, std::string{"consumed - weights + peak activation + graphs"}});
    const LogStart rest = only(
        "Model loading took 10.00 GiB memory\n"
        "Available KV cache memory: 58.00 GiB\n"
        "Free memory on device cuda:0 (78.50/80.00 GiB) on startup. Desired GPU memory utilization is "
        "(0.9, 72.00 GiB). Actual usage is 12.00 GiB for weight.\n");
    CHECK(overhead(rest).first == about(4));
    CHECK(overhead(rest).second == "share of the card - weights - cache");
    CHECK(overhead(only("Available KV cache memory: 58.00 GiB\n")).first == -1);
}

TEST_CASE("vLLM: a length cut to what one stage holds", "[log]") {
    const LogStart start = only(cut);
    CHECK(said(start, "pp") == "2");  // the printed stage is not the one that binds
    CHECK(figure(start, "length-cut", "factor") == 4);
    CHECK(figure(start, "bytes-per-token", "bytes_per_token") == 98'304);  // 6 GiB / 65,536
    CHECK(figure(start, "binding-stage", "idle") == about(2));
    CHECK(finding(start, "length-cut").seen == "max_model_len was cut from 262,144 to 65,536");
}

TEST_CASE("vLLM: engines of a data-parallel start have pools of their own", "[log]") {
    const LogStart start = only(
        "(EngineCore_DP0 pid=1) INFO 10:00:00 GPU KV cache size: 300,000 tokens\n"
        "(EngineCore_DP0 pid=1) INFO 10:00:00 GPU KV cache size: 299,984 tokens\n"
        "(EngineCore_DP1 pid=2) INFO 10:00:00 GPU KV cache size: 310,000 tokens\n");
    CHECK(said(start, "capacity_by_dp") == "[299984, 310000]");  // of one second's lines the least
    CHECK(said(start, "dp") == "2");
    CHECK(figure(start, "sum", "total") == 609'984);
    CHECK(figure(start, "sum", "difference") == 10'016);
}

TEST_CASE("vLLM: the poorest rank counts on all ranks of one engine", "[log]") {
    const auto rank = [](const char* tag, const char* amount) {
        return "(Worker_" + std::string{tag} + " pid=1) INFO Available KV cache memory: " + amount + " GiB\n";
    };
    const std::string tokens = "(EngineCore_DP0 pid=9) INFO GPU KV cache size: 655,360 tokens\n";
    const LogStart start = only(rank("TP0", "61.20") + rank("TP1", "61.0") + tokens);
    CHECK(said(start, "available_kv_gib") == "null");
    CHECK(start.ranked.size() == 3);
    CHECK(finding(start, "unlike-ranks").seen == "61.0 to 61.20 GiB on 2 ranks");
    CHECK(figure(start, "unlike-ranks", "idle_gib") == about(0.2));
    CHECK(figure(start, "amounts", "decimal_gb") == about(61 * kvcap::report::gib / 1e9));
    const LogStart alike = only(rank("TP0", "61.20") + rank("TP1", "61.20") + tokens);
    CHECK(finding(alike, "unlike-ranks").seen.empty());
    for (const auto& [one, other] : {std::pair{"PP0_TP0", "PP1_TP0"}, std::pair{"DP0_TP0", "DP1_TP0"}}) {
        const LogStart apart = only(rank(one, "61.20") + rank(other, "61.00"));  // other layers, or other engines
        CHECK(finding(apart, "unlike-ranks").seen.empty());
        CHECK(finding(apart, "amounts").seen.empty());
    }
}

TEST_CASE("vLLM: what the printed tokens are follows from the version", "[log]") {
    const auto start = [](const char* version, const char* tokens, const char* requests) {
        return only("INFO 10-02 08:44:05 [utils.py:302]  version " + std::string{version} +
                    "\nGPU KV cache size: " + tokens + " tokens\nMaximum concurrency for 131,072 tokens per request: " +
                    requests + "x\n");
    };
    const auto meaning = [&](const char* version, const char* tokens, const char* requests) {
        return finding(start(version, tokens, requests), "reported").meaning;
    };
    const char* by_requests = "tokens are concurrency x length: they hold at this length only";
    CHECK(meaning("0.28.0", "12,624,000", "96.31") == by_requests);
    CHECK(finding(start("0.28.0", "12,624,000", "96.31"), "blocks").seen.empty());
    CHECK(finding(start("0.21.0", "12,624,000", "96.31"), "blocks").seen.empty());
    CHECK(meaning("0.20.2rc1.dev3+gd1", "12,624,000", "96.31").starts_with("two readings: "));  // builds print either
    CHECK(meaning("0.20.2rc1.dev3+gd1", "12,624,001", "96.31") == by_requests);
    CHECK_FALSE(finding(start("0.20.2rc1.dev3+gd1", "12,624,000", "96.31"), "blocks").seen.empty());
    CHECK(meaning("0.19.1", "12,624,000", "96.31") ==
          "tokens are blocks x block of one group: so many requests fit at full length");
    CHECK(meaning("0.19.1", "6,312,000", "96.31").starts_with("tokens are blocks // groups x block"));
    CHECK(meaning("0.28.0", "6,312,000", "96.31").find("unlike starts") != std::string::npos);
    CHECK(finding(start("0.28.0", "6,312,000", "96.31"), "tokens-x-groups").seen.empty());
    const LogStart block = only(
        "vllm:cache_config_info{block_size=\"32\"} 1.0\nGPU KV cache size: 12,624,000 tokens\n");
    CHECK(figure(block, "blocks", "block") == 32);
    CHECK(finding(block, "blocks", 1).seen.empty());
}

TEST_CASE("vLLM: a label of /metrics names the model", "[log]") {
    const char* info = "vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"27959\"} 1.0\n";
    for (const char* metric : {"kv_cache_usage_perc", "gpu_cache_usage_perc", "num_requests_running",
                               "num_requests_waiting", "num_preemptions_total"}) {
        const std::string line =
            "vllm:" + std::string{metric} + "{engine=\"0\",model_name=\"meta-llama/Llama-3.1-8B-Instruct\"} 0.0\n";
        CHECK(said(info + line, "served_name") == "meta-llama/Llama-3.1-8B-Instruct");
        CHECK(said(line + info, "served_name") == "meta-llama/Llama-3.1-8B-Instruct");
    }
}

TEST_CASE("vLLM: no rate without a whole number of bytes, and no share left where more is used", "[log]") {
    const std::string pool = "Available KV cache memory: 16.05 GiB\nGPU KV cache size: ";
    CHECK(finding(only(pool + "33,114,807 tokens\n"), "bytes-per-token").seen.empty());  // 520.3 to 520.6
    CHECK_FALSE(finding(only(pool + "33,114 tokens\n"), "bytes-per-token").seen.empty());
    const std::string spent =
        "Free memory on device (78.00/79.00 GiB) on startup. Desired GPU memory utilization is (0.9, 71.10 GiB). "
        "Actual usage is 70.00 GiB for weight, 2.00 GiB for peak activation, 1.00 GiB for non-torch memory, and "
        "0.50 GiB for CUDAGraph memory.\n";
    CHECK(finding(only(spent), "spent").meaning == "that is 2.40 GiB more than the share");
    const auto advised = [](const char* free) {  // of the share 0.5; a start that asks for more than is free ends
        return finding(only("Free memory on device (" + std::string{free} +
                            "/80.00 GiB) on startup. Desired GPU memory utilization is (0.5, 40.00 GiB). "
                            "Actual usage is 10.00 GiB for weight.\n"),
                       "unused-share")
            .change;
    };
    CHECK(advised("79.00") == "a share of 0.95, if nothing else needs the card");
    CHECK(advised("60.50") == "a share of 0.75, if nothing else needs the card");
    CHECK(advised("40.00").empty());
}

TEST_CASE("overhead: the lines that a log lacks are named", "[log]") {
    const auto lacking = [](const char* log) { return kvcap::report::overhead::lacking(only(log)); };
    CHECK(lacking("Available KV cache memory: 40.00 GiB\nModel loading took 15.00 GiB\n") ==
          "the share (gpu_memory_utilization among the arguments), the card's size ('Free memory on device (.../... "
          "GiB)')");
    CHECK(lacking("Load weight end. type=A, avail mem=63.52 GB\n").find("'Load weight begin. avail mem'") !=
          std::string::npos);
    CHECK(lacking("Loaded engine size: 6678 MiB\n") ==
          "'Memory usage when calculating max tokens ... total, available'");
    CHECK(lacking("llama_context: n_ctx = 4096\n") == "'compute buffer size' of one device");
}

TEST_CASE("vLLM: layers that do not divide into groups", "[log]") {
    // 30 layers and 2 dummies in groups of 8; pages of 98,304 bytes: 10,923 blocks of 8 pages are 8.00 GiB.
    const LogStart start = only(
        "Setting attention block size to 16 tokens\n"
        "Padding mamba page size by 0.50%\n"
        "Add 2 padding layers, may waste at most 6.67% KV cache memory\n"
        "Available KV cache memory: 8.00 GiB\n"
        "GPU KV cache size: 171,927 tokens\n"
        "Maximum concurrency for 32,768 tokens per request: 5.25x\n");
    CHECK(said(start, "padding_layers") == "2");
    CHECK(said(start, "padding_waste_pct") == "6.67");
    CHECK(figure(start, "dummy-layers", "padded_layers") == 30);
    const double group = figure(start, "page", "group");
    const double blocks = figure(start, "page", "blocks");
    CHECK(std::fmod(32.0, group) == 0);
    CHECK(figure(start, "page", "per_request") == about(2'048 + 2 * 32 / group));
    CHECK(blocks == std::ceil(171'927 * figure(start, "page", "per_request") / 32'768));
    const double page = figure(start, "page", "page_bytes");
    CHECK(page * blocks * group >= 7.995 * gib);
    CHECK(page * blocks * group <= 8.005 * gib);
    CHECK(figure(start, "page", "state_bytes") == about(page / 1.005));
}

TEST_CASE("vLLM: pools by hand, other devices and managers", "[log]") {
    const LogStart manual = only(
        "Initial free memory 78.50 GiB, reserved 30.00 GiB memory for KV Cache as specified by "
        "kv_cache_memory_bytes config\n");
    CHECK(said(manual, "manual_kv_gib") == "30.00");
    CHECK(figure(manual, "manual", "reserved") == 30);
    CHECK(figure(manual, "manual", "free") == 78.5);

    const LogStart tpu = only(
        "INFO [tpu_runner.py:1] KV cache page size calculated by vLLM (65536 Bytes) does not match with the "
        "actual page size used by Pallas kernel (131072 Bytes)\n"
        "INFO [kv_cache_utils.py:1] Overriding num_gpu_blocks=2000 with num_gpu_blocks_override=1000\n");
    CHECK(said(tpu, "device") == "tpu");
    CHECK(said(tpu, "gpu_blocks") == "1000");
    CHECK(said(tpu, "gpu_blocks_before") == "2000");
    CHECK(figure(tpu, "kernel-padding", "factor") == 2);
    CHECK(
        said("INFO [kv_cache_utils.py:1] Overriding num_gpu_blocks=2000 with num_gpu_blocks_override=1000\n",
             "device") == "null");

    CHECK(said("Prefix caching in Mamba cache 'align' mode is enabled\n", "prefix_caching") == "true");
    CHECK(said("Prefix caching in Mamba cache 'align' mode is enabled\n", "state_mode") == "align");
    CHECK(said("Turning off hybrid kv cache manager because of --kv-events\n", "hybrid_manager") ==
          "disabled");
    CHECK(said("INFO \xE2\x96\x88\xE2\x96\x84  model   org/Model-1B\n", "model") == "org/Model-1B");
    CHECK(said("(VllmWorker rank=0 pid=1) INFO Available KV cache memory: 5.00 GiB\n"
               "(VllmWorker rank=1 pid=2) INFO Available KV cache memory: 5.00 GiB\n",
               "tp") == "2");
    const std::string labels =
        "vllm:cache_config_info{cache_config_kv_cache_size_tokens=\"4096\",kv_cache_max_concurrency=\"2.5\"} 1.0\n";
    CHECK(said(labels, "capacity_tokens") == "4096");
    CHECK(said(labels, "concurrency_metrics") == "2.5");
}

TEST_CASE("vLLM: a card that another process holds", "[log]") {
    const LogStart start = only(
        "Free memory on device cuda:0 (37.95/79.25 GiB) on startup is less than desired GPU memory "
        "utilization (0.9, 71.33 GiB). Decrease GPU memory utilization or reduce GPU memory used by other "
        "processes.\n");
    CHECK(figure(start, "card-in-use", "short_gib") == about(71.33 - 37.95));
    CHECK(figure(start, "card-in-use", "taken_gib") == about(79.25 - 37.95));
    CHECK(figure(start, "card-in-use", "highest_share") == about(37.95 / 79.25));
    const LogStart full = only(
        "total_gpu_memory (80.00GiB) x gpu_memory_utilization (0.90) = 72.00GiB\n"
        "model weights take 70.00GiB;\n");
    CHECK(finding(full, "weights-fill").seen == "weights take 97% of the budget");
    CHECK(figure(full, "weights-fill", "outside_gib") == about(8));
}

TEST_CASE("vLLM: why a start failed", "[log]") {
    const auto why = [](const std::string& log) { return said(log, "error_category"); };
    const std::string loaded = "Model loading took 15.00 GiB memory\n";
    CHECK(why("ValueError: No available memory for the cache blocks. Try increasing "
              "`gpu_memory_utilization`\n") == "no_memory_for_kv");
    const LogStart longer = only(
        "The model's max seq len (131072) is larger than the maximum number of tokens that can be stored "
        "in KV cache (65536).\n");
    CHECK(said(longer, "error_category") == "max_len_exceeds_kv");
    CHECK(said(longer, "capacity_tokens") == "65536");
    CHECK(said(longer, "generation") == "v0");
    CHECK(why(loaded + "Engine process failed to start.\n") == "unknown");
    CHECK(
        why("non-default args: {'max_model_len': 1}\ntorch.OutOfMemoryError: CUDA out of memory. Tried\n") ==
        "weights_oom");
    CHECK(why(loaded + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n") ==
          "unknown");
    CHECK(why(loaded + "ERROR [core.py:1]   File core.py, in initialize_from_config\n") == "failed_after_kv");
    CHECK(finding(only(loaded + "ERROR [core.py:1]   File core.py, in initialize_from_config\n"), "not-kv")
              .meaning == "the pool was made; the failure came later and is no question of its size");
    CHECK(why("non-default args: {'max_model_len': 1}\nValueError: fp8 KV cache is not supported here\n") ==
          "kv_dtype_unsupported");
    CHECK(why("Initial free memory 78.50 GiB, reserved 30.00 GiB memory for KV Cache\nAdd 2 padding layers, "
              "may waste at most 6.67% KV cache memory\n"
              "EngineCore failed to start.\n") == "max_len_exceeds_kv");
    CHECK(said("max seq len (8192), (1.00 GiB KV cache is needed\nmax seq len (8192), (1.00 GiB KV cache is "
               "needed\n",
               "error_times") == "2");
}

TEST_CASE("vLLM: more sequences than blocks of states", "[log]") {
    const std::string log =
        "Available KV cache memory: 4.00 GiB\nERROR [core.py:1] ValueError: max_num_seqs (256) exceeds available Mamba "
        "cache blocks (61). Each decode sequence requires one Mamba cache block, so CUDA graph capture cannot "
        "proceed.\n"
        "EngineCore failed to start.\n";
    CHECK(said(log, "error_category") == "seqs_exceed_states");
    CHECK(said(log, "state_blocks") == "61");
    const auto found = finding(only(log), "state-blocks");
    CHECK(found.seen == "max_num_seqs 256, the pool has 61 blocks for states");
    CHECK(found.change == "--max-num-seqs 61, or more memory for the pool");
}

TEST_CASE("characters that a screen may show, and those that it must not", "[log]") {
    using kvcap::logs::shown;
    for (const char* text :
         {"plain ~", "\xC3\xA9", "\xD0\xB0\xD0\xB2", "\xE2\x96\x88", "\xE4\xB8\xAD\xE6\x96\x87",
          "\xEF\xBF\xBD", "\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF"}) {
        CHECK(shown(text) == text);
    }
    const std::pair<const char*, const char*> others[] = {
        {"a\tb\x7F", "a?b?"},          // control characters
        {"\xC2\x9B", "??"},            // one of the second set
        {"\xE2\x80\xAE", "???"},       // turns the direction of writing
        {"\xE2\x80\xA8", "???"},       // ends a line
        {"\xE2\x81\xA6", "???"},       // isolates
        {"\xED\xA0\x80", "???"},       // half of a pair
        {"\xE0\x80\xAF", "???"},       // longer than it must be
        {"\xF0\x80\x80\xAF", "????"},  // likewise
        {"\xF4\x90\x80\x80", "????"},  // beyond the last character
        {"\xF5\x80\x80\x80", "????"}, {"\xE4\xB8", "??"}, {"\xE4x\xAD", "?x?"}, {"\xFF", "?"}};
    for (const auto& [text, safe] : others) {
        CHECK(shown(text) == safe);
    }
    CHECK(shown(std::string(600, 'x')).size() == 512);
    CHECK(kvcap::logs::Facts{}.empty());
}

}  // namespace log_starts_vllm_tests
