// SPDX-License-Identifier: MIT
// Whole start-up logs of llama.cpp and ollama: every fact, and the findings' figures worked out by hand.
#include "log_starts.hpp"

namespace log_starts_llamacpp_tests {

using namespace starts;
using kvcap::report::gib;
using kvcap::report::mib;

namespace {

// 36 layers, 8 heads of 128 in f16: 8,192 cells take 1,152 MiB. The fit step prints everything once with
// zeros.
constexpr std::string_view dense =
    "CUDA0 : NVIDIA GeForce RTX 4090 (24564 MiB, 23500 MiB free)\n"
    "llama_params_fit_impl: projected to use 30000 MiB of device memory vs. 23500 MiB of free device memory\n"
    "llama_params_fit_impl: context size reduced from 40960 to 8192 -> need 4608 MiB less memory in total\n"
    "srv    load_model: loading model '/models/qwen3-8b.gguf'\n"
    "print_info: arch             = qwen3\n"
    "print_info: n_ctx_train      = 40960\n"
    "print_info: n_layer          = 36\n"
    "print_info: n_head_kv        = 8\n"
    "print_info: ssm_d_conv       = 4\n"
    "print_info: general.name     = Qwen3 8B\n"
    "load_tensors: offloaded 37/37 layers to GPU\n"
    "load_tensors:        CUDA0 model buffer size =     0.00 MiB\n"
    "load_tensors:    CUDA_Host model buffer size =     0.00 MiB\n"
    "llama_kv_cache:      CUDA0 KV buffer size =     0.00 MiB\n"
    "llama_kv_cache: size =    0.00 MiB (  8192 cells,  36 layers,  1/1 seqs), K (f16):    0.00 MiB, V "
    "(f16):    0.00 MiB\n"
    "load_tensors:        CUDA0 model buffer size =  4455.25 MiB\n"
    "llama_context: n_ctx         = 8192\n"
    "llama_context: n_seq_max     = 1\n"
    "llama_context: n_ctx_seq (8192) < n_ctx_train (40960) -- the full capacity of the model will not be "
    "utilized\n"
    "llama_kv_cache:      CUDA0 KV buffer size =  1152.00 MiB\n"
    "llama_kv_cache: size = 1152.00 MiB (  8192 cells,  36 layers,  1/1 seqs), K (f16):  576.00 MiB, V "
    "(f16):  576.00 MiB\n"
    "sched_reserve:      CUDA0 compute buffer size =   304.75 MiB\n"
    "sched_reserve:  CUDA_Host compute buffer size =    24.00 MiB\n"
    "srv    load_model: initializing, n_slots = 4, n_ctx_slot = 8192, kv_unified = 'true'\n";

// Layers of attention beside states of four slots, each stored once more for a rollback of one; a draft
// context.
constexpr std::string_view drafted =
    "print_info: n_layer          = 48\n"
    "llama_kv_cache:      CUDA0 KV buffer size =   384.00 MiB\n"
    "llama_kv_cache: size =  384.00 MiB ( 16384 cells,  12 layers,  4/1 seqs), K (f16):  192.00 MiB, V "
    "(f16):  192.00 MiB\n"
    "llama_memory_recurrent:      CUDA0 RS buffer size =   600.00 MiB\n"
    "llama_memory_recurrent: size =  600.00 MiB (     4 cells,  48 layers,  4 seqs 1 rs_seq), R (f32):   "
    "24.00 MiB, S (f32):  560.00 MiB, P (f32):   16.00 MiB\n"
    "sched_reserve:      CUDA0 compute buffer size =   500.00 MiB\n"
    "srv    load_model: creating MTP draft context against the target model\n"
    "llama_kv_cache:      CUDA0 KV buffer size =    32.00 MiB\n"
    "llama_kv_cache: size =   32.00 MiB ( 16384 cells,   1 layers,  4/1 seqs), K (f16):   16.00 MiB, V "
    "(f16):   16.00 MiB\n"
    "sched_reserve:      CUDA0 compute buffer size =   480.00 MiB\n";

constexpr std::string_view windows =
    "llama_kv_cache_iswa: creating non-SWA KV cache, size = 32768 cells\n"
    "llama_kv_cache: size =  640.00 MiB ( 32768 cells,   5 layers,  1/1 seqs), K (q4_0):  320.00 MiB, V "
    "(q4_0):  320.00 MiB\n"
    "llama_kv_cache_iswa: creating     SWA KV cache, size = 3072 cells\n"
    "llama_kv_cache: size =  348.00 MiB (  3072 cells,  29 layers,  1/1 seqs), K (f16):  174.00 MiB, V "
    "(f16):  174.00 MiB\n";

constexpr std::string_view ollama_engine =
    "time=2026-01-02T03:04:05Z level=INFO source=server.go:392 msg=\"starting runner\" "
    "cmd=\"/usr/lib/ollama/0.17.0/bin/ollama runner --model /blobs/sha256-1 --ctx-size 8192 --batch-size "
    "512 --kv-cache-type q8_0 --parallel 2\"\n"
    "time=2026-01-02T03:04:05Z level=INFO source=runner.go:1 msg=load request=\"{Operation:fit Parallel:2 "
    "BatchSize:512 FlashAttention:true KvSize:16384 KvCacheType: NumThreads:16}\"\n"
    "time=2026-01-02T03:04:05Z level=INFO source=sched.go:1 msg=\"system memory\" total=\"125.0 GiB\" "
    "free=\"12.0 GiB\" free_swap=\"0 B\"\n"
    "time=2026-01-02T03:04:05Z level=INFO source=sched.go:2 msg=\"gpu memory\" id=GPU-1 library=Metal "
    "available=\"20.0 GiB\" free=\"20.4 GiB\"\n"
    "time=2026-01-02T03:04:05Z level=INFO source=device.go:1 msg=\"model weights\" device=CUDA0 size=\"10.0 "
    "GiB\"\n"
    "time=2026-01-02T03:04:05Z level=INFO source=device.go:2 msg=\"model weights\" device=CPU size=\"1.1 "
    "GiB\"\n"
    "time=2026-01-02T03:04:05Z level=INFO source=device.go:3 msg=\"kv cache\" device=CUDA0 size=\"3.0 GiB\"\n"
    "time=2026-01-02T03:04:05Z level=INFO source=device.go:4 msg=\"kv cache\" device=CPU size=\"1.0 GiB\"\n"
    "time=2026-01-02T03:04:05Z level=INFO source=device.go:5 msg=\"compute graph\" device=CUDA0 "
    "size=\"512.0 MiB\"\n"
    "time=2026-01-02T03:04:05Z level=INFO source=device.go:6 msg=\"total memory\" size=\"15.6 GiB\"\n"
    "time=2026-01-02T03:04:05Z level=INFO source=server.go:7 msg=memory \"model layers\"=33 requested=-1\n";

constexpr std::string_view ollama_offload =
    "time=2025-08-22T17:52:53Z level=INFO source=memory.go:1 msg=offload library=cuda layers.requested=-1 "
    "layers.model=33 layers.offload=24 layers.split=\"\" memory.available=\"[7.5 GiB]\" "
    "memory.required.full=\"9.5 GiB\" memory.required.partial=\"7.3 GiB\" memory.required.kv=\"1.0 GiB\" "
    "memory.weights.total=\"4.9 GiB\" memory.weights.nonrepeating=\"411.0 MiB\" memory.graph.full=\"560.0 "
    "MiB\" memory.graph.partial=\"677.5 MiB\" projector.weights=\"992.0 MiB\" projector.graph=\"32.0 MiB\"\n";

}  // namespace

TEST_CASE("llama.cpp: every fact of a start, of its last pass", "[log]") {
    const LogStart start = only(dense);
    CHECK(start.engine == "llama.cpp");
    CHECK(facts(start) == Facts{"device_total_mib=24564",
                                "device_free_mib=23500",
                                "fit_needed_mib=30000",
                                "fit_free_mib=23500",
                                "fit_from=40960",
                                "fit_to=8192",
                                "fit_saved_mib=4608",
                                "model=/models/qwen3-8b.gguf",
                                "model_name=Qwen3 8B",
                                "arch=qwen3",
                                "n_ctx_train=40960",
                                "n_layer=36",
                                "n_head_kv=8",
                                "ssm={d_conv: 4}",
                                "offloaded=37/37",
                                "weights_mib_by_device={CUDA0: 4455.25}",
                                "dry_pass_mib=0.00",
                                "n_ctx=8192",
                                "n_ctx_seq=8192",
                                "n_seq_max=4",
                                "n_ctx_slot=8192",
                                "kv_unified=true",
                                "seqs=1",
                                "streams=1",
                                "cells=8192",
                                "kv_layers=36",
                                "kv_mib=1152.00",
                                "k_mib=576.00",
                                "v_mib=576.00",
                                "kv_type_k=f16",
                                "kv_type_v=f16",
                                "kv_buffer_mib=1152.00",
                                "kv_device=CUDA0",
                                "compute_mib=304.75"});
}

TEST_CASE("llama.cpp: what a start's amounts mean", "[log]") {
    const LogStart start = only(dense);
    CHECK(figure(start, "bytes-per-token", "bytes_per_token") == 147'456);  // 36 x 2 x 8 x 128 x 2
    CHECK(figure(start, "bytes-per-token", "per_layer") == 4'096);
    CHECK(figure(start, "amount", "kv_gib") == about(1.125));
    CHECK(figure(start, "amount", "per_sequence_mib") == about(288));
    CHECK(figure(start, "quantise", "q8_mib") == about(1'152 * 34.0 / 64));
    CHECK(figure(start, "quantise", "q4_mib") == about(1'152 * 18.0 / 64));
    CHECK(finding(start, "quantise").gain_bytes == about(1'152 * 30.0 / 64 * mib));
    CHECK(figure(start, "device-sum", "sum") == about(4'455.25 + 1'152 + 304.75));
    CHECK(finding(start, "two-passes").figures[0].words == "0.00");
    CHECK(figure(start, "two-passes", "last") == 1'152);
    CHECK(finding(start, "offload").meaning == "all of them");
    CHECK(overhead(start).first == about(304.75 / 1'024));
    CHECK(overhead(start).second == "compute buffer");
    CHECK(all_agree(start, 3));
    CHECK(finding(only("load_tensors: offloaded 20/37 layers to GPU\n"), "offload").meaning ==
          "the rest runs on the host, its cache too");
    CHECK_FALSE(all_agree(
        only("llama_kv_cache: size = 100.00 MiB ( 64 cells, 1 layers, 1/1 seqs), K (f16): 40.00 MiB, V "
             "(f16): 50.00 MiB\n"),
        1));
}

TEST_CASE("llama.cpp: the cells of a line are those of each stream", "[log]") {
    const auto line = [](const char* seqs) {
        return "llama_kv_cache: size = 4096.00 MiB (  8192 cells,  32 layers,  " + std::string{seqs} +
               " seqs), K (f16): 2048.00 MiB, V (f16): 2048.00 MiB\n";
    };
    const LogStart four = only(line("4/4"));  // 8 heads of 128 in 32 layers, 16 bits: 131,072 bytes a token
    CHECK(said(four, "streams") == "4");
    CHECK(figure(four, "bytes-per-token", "bytes_per_token") == 131'072);
    CHECK(figure(four, "bytes-per-token", "per_layer") == 4'096);
    CHECK(finding(four, "bytes-per-token").seen == "4096.00 MiB for 4 streams of 8,192 cells");
    CHECK(figure(only(line("4/1")), "bytes-per-token", "bytes_per_token") == 524'288);
    CHECK(figure(only(line("4")), "bytes-per-token", "bytes_per_token") == 524'288);
    CHECK(finding(only(line("4")), "bytes-per-token").seen == "4096.00 MiB for 8,192 cells");
    const LogStart windowed = only(
        "llama_kv_cache_iswa: creating non-SWA KV cache, size = 16384 cells\n"
        "llama_kv_cache: size = 2560.00 MiB ( 16384 cells,  10 layers,  2/2 seqs), K (f16): 1280.00 MiB, V (f16): "
        "1280.00 MiB\n"
        "llama_kv_cache_iswa: creating     SWA KV cache, size = 1536 cells\n"
        "llama_kv_cache: size = 1248.00 MiB (  1536 cells,  52 layers,  2/2 seqs), K (f16):  624.00 MiB, V (f16):  "
        "624.00 MiB\n");
    CHECK(figure(windowed, "slope-constant", "bytes_per_token") == 81'920);  // 10 layers of 16 heads of 128
    CHECK(said(windowed, "caches").find("kv_type_v: f16, streams: 2}") != std::string::npos);
    const LogStart drafts = only("print_info: n_layer = 36\n" + line("4/4") + "srv: creating MTP draft context\n" +
                                 "llama_kv_cache: size = 32.00 MiB ( 16384 cells, 1 layers, 4/1 seqs), K (f16): 16.00 "
                                 "MiB, V (f16): 16.00 MiB\n");
    CHECK(figure(drafts, "attention-layers", "bytes_per_token") ==
          about(4096 * mib / 32'768));
    CHECK(only("llama_kv_cache: size = 0.01 MiB ( 8192 cells, 1 layers, 4/4 seqs)\n").unusable.size() == 2);
    const std::string context = "llama_context: n_ctx         = 32768\n";
    CHECK(all_agree(only(context + line("4/4")), 2));
    CHECK_FALSE(all_agree(only(context + line("4/2")), 2));  // 16,384 cells for a context of 32,768
    CHECK_FALSE(all_agree(only("llama_kv_cache: size = 9.00 MiB ( 512 cells, 9 layers, 1/1 seqs), K (f16): 4.00 MiB, V "
                               "(f16): 4.00 MiB\n" + line("1/1")), 2));  // of two caches one is not its K and V
}

TEST_CASE("llama.cpp: attention beside states, and a draft's own context", "[log]") {
    const LogStart start = only(drafted);
    CHECK(said(start, "rs_seq") == "1");
    CHECK(
        said(start, "contexts") ==
        "[{cells: 16384, kv_layers: 12, kv_mib: 384.00, k_mib: 192.00, v_mib: 192.00, kv_type_k: f16, "
        "kv_type_v: f16, rs_mib: 600.00, rs_cells: 4, rs_layers_printed: 48, r_mib: 24.00, s_mib: 560.00, "
        "p_mib: 16.00, kv_buffer_mib: 384.00, kv_device: CUDA0, compute_mib: 500.00, kind: target}, "
        "{cells: 16384, kv_layers: 1, kv_mib: 32.00, k_mib: 16.00, v_mib: 16.00, kv_type_k: f16, "
        "kv_type_v: f16, kv_buffer_mib: 32.00, kv_device: CUDA0, compute_mib: 480.00, kind: mtp-draft}]");
    CHECK(said(start, "kv_mib") == "null");
    CHECK(figure(start, "attention-layers", "bytes_per_token") == about(384 * mib / 16'384));
    CHECK(figure(start, "attention-layers", "wrong_mib") == about(384 * 4));
    CHECK(finding(start, "attention-layers").seen == "12 of 48 layers hold KV");
    CHECK(figure(start, "draft-cost", "sum") == about(512));
    CHECK(figure(start, "state-rows", "per_slot") == about(150));
    CHECK(figure(start, "state-rows", "depth3") == about(1'200));  // four planes instead of two
    CHECK(finding(start, "state-rows").gain_bytes == about(450 * mib));
    CHECK(finding(start, "state-rows").seen ==
          "600.00 MiB of states for 4 slots, stored 2 times for rollback");
    CHECK(
        finding(only(std::string{drafted} + "srv load_model: failed to create draft context\n"), "real-cause")
            .change == "-np 1 or a smaller draft maximum");
}

TEST_CASE("llama.cpp: windows do not grow with the context", "[log]") {
    const LogStart start = only(windows);
    CHECK(said(start, "kinds_named") == "true");
    CHECK(said(start, "caches") ==
          "[{kind: full, cells: 32768, kv_layers: 5, kv_mib: 640.00, k_mib: 320.00, v_mib: 320.00, "
          "kv_type_k: q4_0, kv_type_v: q4_0}, {kind: window, cells: 3072, kv_layers: 29, kv_mib: 348.00, "
          "k_mib: 174.00, v_mib: 174.00, kv_type_k: f16, kv_type_v: f16}]");
    CHECK(figure(start, "several-caches", "sum_mib") == about(988));
    CHECK(figure(start, "slope-constant", "bytes_per_token") == about(640 * mib / 32'768));
    CHECK(figure(start, "slope-constant", "constant_mib") == about(348));
    CHECK(figure(start, "slope-constant", "all_full_mib") == about(640.0 / 5 * 34));
    CHECK(figure(start, "window-cells", "small_mib") == about(348.0 * (1'024 + 512) / 3'072));
    CHECK(figure(start, "q4-is-4.5-bits", "ratio") == 1.125);
    const LogStart empty = only(
        "llama_kv_cache_iswa: creating non-SWA KV cache, size = 8192 cells\n"
        "llama_kv_cache: size = 0.00 MiB ( 8192 cells, 0 layers, 1/1 seqs), K (f16): 0.00 MiB, V (f16): "
        "0.00 MiB\n"
        "llama_kv_cache_iswa: creating     SWA KV cache, size = 1024 cells\n"
        "llama_kv_cache: size = 8.00 MiB ( 1024 cells, 2 layers, 1/1 seqs), K (f16): 4.00 MiB, V (f16): "
        "4.00 MiB\n");
    CHECK(finding(empty, "empty-base").meaning == "empty by design; the memory is in the other caches");
    CHECK(std::isnan(figure(empty, "slope-constant", "bytes_per_token")));
}

TEST_CASE("llama.cpp: the micro-batch of window cells is the one that the log states", "[log]") {
    const auto start = [](const std::string& stated, int cells) {
        return only(stated + "llama_kv_cache_iswa: creating non-SWA KV cache, size = 32768 cells\n"
                    "llama_kv_cache: size = 2560.00 MiB ( 32768 cells,  10 layers,  1/1 seqs), K (f16): 1280.00 MiB, V "
                    "(f16): 1280.00 MiB\n"
                    "llama_kv_cache_iswa: creating     SWA KV cache, size = " + std::to_string(cells) + " cells\n"
                    "llama_kv_cache: size = 624.00 MiB ( " + std::to_string(cells) +
                    " cells,  52 layers,  1/1 seqs), K (f16): 312.00 MiB, V (f16): 312.00 MiB\n");
    };
    const auto small = [&](const std::string& stated, int cells) {
        return figure(start(stated, cells), "window-cells", "small_mib") * cells / 624;
    };
    const std::string swa = "print_info: n_swa                 = 1024\n";
    const auto batch = [](int size) { return "llama_context: n_ubatch      = " + std::to_string(size) + "\n"; };
    CHECK(std::isnan(small(swa + batch(512), 1536)));
    CHECK(std::isnan(small(batch(512), 1536)));
    CHECK(std::isnan(small(swa, 1536)));
    CHECK(std::isnan(small("", 1536)));  // 512 is the default, and 1,024 a window
    CHECK(small(swa + batch(2048), 3072) == about(1536));
    CHECK(small(batch(2048), 3072) == about(1536));
    CHECK(small(batch(1024), 1536) == about(1024));  // a window of 512
    CHECK(small(swa, 3072) == about(1536));
    CHECK(std::isnan(small(swa + batch(256), 1280)));
    const std::string shared = "llama_context: n_seq_max     = 4\nllama_context: kv_unified    = true\n";
    CHECK(small(swa + shared + batch(2048), 6144) == about(4608));
    CHECK(std::isnan(small(swa + shared + batch(512), 4608)));
    CHECK(std::isnan(small(swa + batch(40000), 32768)));  // cut to the context
    CHECK(finding(start("", 3072), "window-cells").meaning.find("one reading") != std::string::npos);
    CHECK(finding(start(batch(2048), 3072), "window-cells").meaning.find("one reading") == std::string::npos);
}

TEST_CASE("llama.cpp: caches without a line of their kind", "[log]") {
    const auto line = [](int cells, int layers, const char* size) {
        return "llama_kv_cache: size = " + std::string{size} + " MiB ( " + std::to_string(cells) + " cells, " +
               std::to_string(layers) + " layers,  1/1 seqs), K (f16): " + size + " MiB, V (f16): 0.00 MiB\n";
    };
    const LogStart bare = only(line(32768, 10, "2560.00") + line(1536, 52, "624.00"));
    CHECK(finding(bare, "slope-constant").seen == "2560.00 MiB grow with the context, 624.00 MiB do not");
    CHECK(figure(bare, "slope-constant", "all_full_mib") == about(2560.0 * 6.2));
    const LogStart all_full = only(line(1024, 10, "80.00") + line(1024, 52, "416.00"));  // shorter than the window
    CHECK(finding(all_full, "slope-constant").seen == "496.00 MiB grow with the context, 0.00 MiB do not");
    const LogStart indexed = only(line(32768, 61, "2196.00") + line(32768, 61, "488.00"));  // latents and index keys
    CHECK(figure(indexed, "slope-constant", "bytes_per_token") == about((2196.0 + 488) * mib / 32'768));
    CHECK(std::isnan(figure(indexed, "slope-constant", "all_full_mib")));
    const LogStart entries = only(line(32768, 0, "0.00") + line(768, 43, "32.25") + line(8192, 21, "168.00") +
                                  line(256, 20, "5.00") + line(8192, 22, "42.00"));
    CHECK(finding(entries, "slope-constant").seen == "215.00 MiB grow with the context, 32.25 MiB do not");
}

TEST_CASE("llama.cpp: lines of older builds and of forks", "[log]") {
    const LogStart old = only(
        "llama_kv_cache_init: kv_size = 8192, offload = 1, type_k = 'q8_0', type_v = 'f16', n_layer = 40\n"
        "llama_new_context_with_model: n_ctx_per_seq = 2048\n"
        "llama_new_context_with_model:        CPU compute buffer size =   100.00 MiB\n");
    CHECK(said(old, "cells") == "8192");
    CHECK(said(old, "kv_type_k") == "q8_0");
    CHECK(said(old, "kv_type_v") == "f16");
    CHECK(said(old, "kv_layers") == "40");
    CHECK(said(old, "compute_mib") == "100.00");  // the host's, where there is no other device

    const LogStart latent = only(
        "llama_kv_cache_init: layer 0: n_embd_head_qk_rope = 64, kv_lora_rank = 512\n"
        "llama_kv_cache_init: layer 60: n_embd_head_qk_rope = 64, kv_lora_rank = 512\n"
        "llama_new_context_with_model: KV self size  =   68.62 MiB, c^KV (f16):   68.62 MiB, kv^T: not used\n"
        "llama_new_context_with_model:      CUDA0 compute buffer size =  2048.00 MiB\n");
    CHECK(said(latent, "fork") == "ik");
    CHECK(said(latent, "transposed") == "not used");
    CHECK(said(latent, "latent_type") == "f16");
    CHECK(said(latent, "kv_layers") == "61");
    CHECK(figure(latent, "latent", "width") == 576);
    CHECK(figure(latent, "graph-dominates", "factor") == about(2'048 / 68.62));

    const LogStart packed = only(
        "llama_kv_cache: CUDA0 DeepSeek4 compressed KV buffer size =   96.00 MiB\n"
        "llama_kv_cache: CUDA1 DeepSeek4 compressed KV buffer size =   80.00 MiB\n");
    CHECK(said(packed, "compressed_kv_mib_by_device") == "{CUDA0: 96.00, CUDA1: 80.00}");
    CHECK(figure(packed, "uneven", "difference") == about(16));

    const LogStart two_cards = only(
        "llama_kv_cache:      CUDA0 KV buffer size =   40.00 MiB\n"
        "llama_kv_cache:      CUDA1 KV buffer size =   24.00 MiB\n"
        "llama_kv_cache:      CUDA0 RS buffer size =    1.00 MiB\n"
        "llama_context:      CUDA0 compute buffer size =   10.00 MiB\n"
        "llama_context:      CUDA1 compute buffer size =   11.00 MiB\n");
    CHECK(said(two_cards, "kv_buffer_by_device") == "{CUDA0: 40.00, CUDA1: 24.00}");
    CHECK(said(two_cards, "compute_mib_by_device") == "{CUDA0: 10.00, CUDA1: 11.00}");
    CHECK(said(two_cards, "kv_mib") == "null");
    CHECK(said(two_cards, "rs_mib") == "1.00");
}

TEST_CASE("llama.cpp: an amount without cells has as many readings as slots", "[log]") {
    const LogStart start = only(
        "llama_context: n_ctx_per_seq = 4096\n"
        "llama_kv_cache:      CUDA0 KV buffer size =   512.00 MiB\n"
        "llama_memory_recurrent:      CUDA0 RS buffer size =   600.00 MiB\n");
    CHECK(figure(start, "slots", "bytes_per_token", 0) == about(512 * mib / 4'096));
    CHECK(figure(start, "slots", "slots", 3) == 8);
    CHECK(figure(start, "slots", "bytes_per_token", 3) == about(512 * mib / 4'096 / 8));
    CHECK(finding(start, "state-exceeds-kv").meaning == "with few tokens the slots dominate");
    CHECK(finding(only("srv: verbosity = 3 (adjust with the -lv N CLI arg)\n"), "no-sizes").seen ==
          "verbosity 3 prints no sizes");
}

TEST_CASE("llama.cpp: what failed", "[log]") {
    CHECK(said("llama_init: failed to allocate buffer for kv cache\n", "error_category") ==
          "no_memory_for_kv");
    CHECK(said("alloc_tensor_range: unable to allocate CUDA0 buffer\nexiting due to model loading error\n",
               "error_category") == "weights_oom");
    CHECK(said("ggml_vulkan: Device memory allocation of size 1073741824 failed.\n", "error_category") ==
          "unknown");
    CHECK(said("ggml_vulkan: Device memory allocation of size 1073741824 failed.\n"
               "llama_server: model loaded\n",
               "error_category") == "null");
}

TEST_CASE("ollama: every fact of its engine's start", "[log]") {
    const LogStart start = only(ollama_engine);
    CHECK(start.engine == "ollama");
    CHECK(facts(start) == Facts{"ollama_words=true", "version=0.17.0", "n_ctx=16384", "batch=512",
                                "n_seq_max=2", "kv_cache_type=q8_0", "system_free=12.0 GiB",
                                "gpu_available=20.0 GiB", "weights_by_device={CUDA0: 10.0 GiB, CPU: 1.1 GiB}",
                                "kv_by_device={CUDA0: 3.0 GiB, CPU: 1.0 GiB}",
                                "compute_by_device={CUDA0: 512.0 MiB}", "total=15.6 GiB", "layers_model=33"});
    CHECK(figure(start, "kv-follows-layers", "cpu_share") == about(0.25));
    CHECK(figure(start, "kv-follows-layers", "graph") == about(0.5));
    CHECK(figure(start, "kv-follows-layers", "q8_gib") == about(4 * 34.0 / 64));
    CHECK(finding(start, "kv-follows-layers").gain_bytes == about(3 * gib * 30 / 64));
    CHECK(finding(start, "free-mismatch").seen == "20.0 GiB for the card, 12.0 GiB free in the system");
    CHECK(figure(start, "free-mismatch", "budget") == about(20));
    CHECK(said("msg=\"starting ollama engine\"\nmsg=load request=\"{KvCacheType:q4_0 NumThreads:1}\"\n",
               "kv_cache_type") == "q4_0");
}

TEST_CASE("ollama: what full offload misses", "[log]") {
    const LogStart start = only(ollama_offload);
    CHECK(said(start, "memory_available") == "7.5 GiB");
    CHECK(said(start, "layers_offload") == "24");
    CHECK(said(start, "weights_nonrepeating") == "411.0 MiB");
    CHECK(figure(start, "misses-by", "short_gib") == about(2));
    CHECK(figure(start, "misses-by", "kv_mib") == about(1'024));
    CHECK(finding(start, "misses-by").change == "a shorter context, or no projector");
    CHECK(figure(start, "projector", "gib") == about(1));
    CHECK(finding(start, "projector").meaning == "1.0 times the cache");
}

}  // namespace log_starts_llamacpp_tests
