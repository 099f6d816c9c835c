// SPDX-License-Identifier: MIT
// vLLM's sentences as a table, and those of a start that failed.
#pragma once

#include <kvcap/io/log/vllm.hpp>

namespace kvcap::inline v1::logs::vllm {

inline void read_too_long_v0(Start& start, const Hit& hit, const Words& at) {
    v0(start, hit, at);
    start.fail("max_len_exceeds_kv", hit.line);
    start.put_ranked("capacity_tokens", hit, datum_of(at.at[1], 'n', hit.line));
}

inline void read_too_long(Start& start, const Hit& hit, const Words& at) {
    v1(start, hit, at);
    start.fail("max_len_exceeds_kv", hit.line);
    if (const auto fits = seek(hit.text, "estimated maximum model length is {n}")) {
        start.facts.put("estimated_max_len", datum_of(fits->at[0], 'n', hit.line));
    }
    if (const auto have = seek(hit.text, "available KV cache memory ({d}")) {
        start.put_ranked("available_kv_gib", hit, datum_of(have->at[0], 'd', hit.line));
    }
    if (const auto need = seek(hit.text, "max seq len ({n}), ({d}")) {
        const Datum* times = start.facts.find("error_times");
        start.facts.put("error_times", integer(times == nullptr ? 1 : times->integer + 1, hit.line));
    }
}

inline void read_too_few_states(Start& start, const Hit& hit, const Words& at) {
    v1(start, hit, at);
    start.fail("seqs_exceed_states", hit.line);
}

inline void read_no_memory(Start& start, const Hit& hit, const Words&) {
    start.fail("no_memory_for_kv", hit.line);
}

inline void read_below_share(Start& start, const Hit& hit, const Words& at) {
    v1(start, hit, at);
    start.fail("free_memory_below_share", hit.line);
}

/// Startup lines that only say that something failed before.
inline void read_echo(Start& start, const Hit& hit, const Words&) {
    start.fail("", hit.line);
}

inline void read_core_echo(Start& start, const Hit& hit, const Words& at) {
    v1(start, hit, at);
    start.fail("", hit.line);
}

/// A frame of a traceback: the pool was decided, its tensors or what follows failed.
inline void read_pool_frame(Start& start, const Hit& hit, const Words&) {
    if (hit.front.find("ERROR") != hit.front.npos) {
        start.facts.put("pool_decided", flag(true, hit.line));
        start.fail("", hit.line);
    }
}

inline void read_out_of_memory(Start& start, const Hit& hit, const Words&) {
    const bool loaded =
        start.facts.has("weights_gib") || start.has_ranked("weights_gib") || start.has_ranked("weights_gb");
    const bool sized = start.has_ranked("available_kv_gib") || start.has_ranked("capacity_tokens");
    start.fail(loaded || sized ? "" : "weights_oom", hit.line);
}

inline void read_unsupported(Start& start, const Hit& hit, const Words&) {
    const std::string_view line = hit.first_line();
    const bool error = hit.front.find("Error") != hit.front.npos || hit.front.find("ERROR") != hit.front.npos;
    if (error && line.find("not support") != line.npos) {
        start.fail("kv_dtype_unsupported", hit.line);
    }
}

/// "Add 3 padding layers": the number stands in front.
inline void read_padding_layers(Start& start, const Hit& hit, const Words& at) {
    v1(start, hit, at);
    if (const auto count =
            seek(hit.front.substr(hit.front.size() - std::min<std::size_t>(hit.front.size(), 12)), "Add {n}")) {
        start.facts.put("padding_layers", datum_of(count->at[0], 'n', hit.line));
    }
}

inline void read_labels(Start& start, const Hit& hit, const Words& at) {
    v1(start, hit, at);
    start.results = true;
    each_argument(at.rest, [&](std::string_view key, std::string_view value, bool whole) {
        key.remove_prefix(key.starts_with("cache_config_") ? 13 : 0);
        const std::string_view fact = key == "block_size"                 ? "block_size_metrics"
                                      : key == "cache_dtype"              ? "kv_dtype"
                                      : key == "enable_prefix_caching"    ? "prefix_caching"
                                      : key == "gpu_memory_utilization"   ? "gpu_memory_utilization"
                                      : key == "num_gpu_blocks"           ? "gpu_blocks"
                                      : key == "num_cpu_blocks"           ? "cpu_blocks"
                                      : key == "mamba_block_size"         ? "state_block_size"
                                      : key == "mamba_cache_mode"         ? "state_mode"
                                      : key == "kv_cache_size_tokens"     ? "capacity_tokens_metrics"
                                      : key == "kv_cache_max_concurrency" ? "concurrency_metrics"
                                                                          : "";
        Datum datum = fact == "gpu_memory_utilization" ? words(unquoted(value), hit.line) : literal(value, hit.line);
        if (whole && !fact.empty() && datum.kind != Datum::Kind::none) {
            start.facts.put(fact, std::move(datum));
        }
    });
}

inline constexpr Rule rules[] = {
    {"Initializing a V1 LLM engine", {}, Keep::begin, read_initializing},
    {"Initializing an LLM engine", {}, Keep::begin, read_initializing},
    {"non-default args: {", {}, Keep::begin, read_arguments},
    {"args: Namespace(", {}, Keep::begin, read_arguments},
    {"vLLM API server version {w}", "version", Keep::begin},
    {"  version {w}", {}, Keep::weak, read_banner},
    {"  model   {w}", {}, Keep::weak, read_banner},
    {"Resolved architecture: {w}", "arch"},
    {"Asynchronous scheduling is {w}", "async_scheduling", Keep::last, v1},
    {"Using max model len {n}", "max_model_len"},
    {"Chunked prefill is enabled with max_num_batched_tokens={n}", "max_num_batched_tokens"},
    {"tensor_parallel_size={n}", "tp", Keep::last},
    {"pipeline_parallel_size={n}", "pp", Keep::last},
    {"data_parallel_size={n}", "dp", Keep::last},
    {"decode_context_parallel_size={n}", "dcp", Keep::last},
    {"Loading model weights took {d} GB", "weights_gb", Keep::by_rank},
    {"Model loading took {d} GB", "weights_gb", Keep::by_rank, v1},
    {"Model loading took {d} GiB", "weights_gib", Keep::by_rank, v1},
    {"total_gpu_memory ({d}GiB) x gpu_memory_utilization ({d}) = {d}GiB",
     "total_gib,gpu_memory_utilization,budget_gib", Keep::last, v0},
    {"total_gpu_memory={d}GiB", "total_gib", Keep::last, v0},
    {"total_gpu_memory {d}GiB", "total_gib", Keep::last, v0},
    {"gpu_memory_utilization={d}", "gpu_memory_utilization", Keep::first},
    {"gpu_memory_utilization {d}", "gpu_memory_utilization", Keep::weak},
    {"the current vLLM instance can use {d}GiB", "budget_gib", Keep::last, v0},
    {"model weights take {d}GiB", "weights_gib", Keep::last, v0},
    {"non_torch_memory takes {d}GiB", "non_torch_gib", Keep::last, v0},
    {"non_torch_memory={d}GiB", "non_torch_gib", Keep::last, v0},
    {"non_torch_memory {d}GiB", "non_torch_gib", Keep::last, v0},
    {"PyTorch activation peak memory takes {d}GiB", "peak_activation_gib", Keep::last, v0},
    {"PyTorch activation peak memory {d}GiB", "peak_activation_gib", Keep::last, v0},
    {"peak_torch_memory={d}GiB", "peak_torch_gib", Keep::last, v0},
    {"the rest of the memory reserved for KV Cache is {d}GiB", "available_kv_gib", Keep::by_rank, v0},
    {"available_kv_cache_memory {d}GiB", "available_kv_gib", Keep::by_rank, v0},
    {"kv_cache_size={d}GiB", "available_kv_gib", Keep::by_rank, v0},
    {"GPU blocks: {n}", "gpu_blocks", Keep::last, read_blocks},
    {"cuda blocks: {n}", "gpu_blocks", Keep::last, read_blocks},
    {"rocm blocks: {n}", "gpu_blocks", Keep::last, read_blocks},
    {" hpu blocks: {n}", "gpu_blocks", Keep::last, read_blocks},
    {" xpu blocks: {n}", "gpu_blocks", Keep::last, read_blocks},
    {"Available KV cache memory: {d} GiB", "available_kv_gib", Keep::by_rank, read_available},
    {"GPU KV cache size: {n} tokens", {}, Keep::last, read_capacity},
    {"CPU KV cache size: {n} tokens", {}, Keep::last, read_capacity},
    {"Maximum concurrency for {n} tokens per request: {d}x", "max_model_len,-", Keep::last, read_concurrency},
    {"Setting attention block size to {n} tokens", "block_size_set", Keep::last, v1},
    {"Padding mamba page size by {d}%", "padding_pct", Keep::last, v1},
    {"Setting kv cache block size to {n} for {w} backend", "kernel_block_size,attention_backend", Keep::last, v1},
    {"padding layers, may waste at most {d}%", "padding_waste_pct", Keep::last, read_padding_layers},
    {"Estimated CUDA graph memory: {d} GiB", "graph_estimate_gib", Keep::last, v1},
    {"Estimated MRV2 CUDA graph memory: {d} GiB", "graph_estimate_gib", Keep::last, v1},
    {"The current --gpu-memory-utilization={d} is equivalent to --gpu-memory-utilization={d}",
     "utilization_noted,equivalent_utilization", Keep::last, v1},
    {"CUDA graph pool memory: {d} GiB (actual), {d} GiB (estimated)", "graph_actual_gib,graph_estimate_gib",
     Keep::last, v1},
    {"Graph capturing finished in {d} secs, took {d} GiB", "-,graph_actual_gib"},
    {"Free memory on device{*} ({d}/{d} GiB) on startup. Desired GPU memory utilization is ({d}, {d} GiB)",
     "free_gib,total_gib,utilization_desired,desired_gib", Keep::last, read_free_memory},
    {"Free memory on device{*} ({d}/{d} GiB) on startup is less than desired GPU memory utilization ({d}, {d} GiB)",
     "free_gib,total_gib,utilization_desired,desired_gib", Keep::last, read_below_share},
    {"Initial free memory {d} GiB, reserved {d} GiB memory for KV", "free_gib,available_kv_gib", Keep::by_rank,
     read_manual},
    {"Auto-fit max_model_len: reduced from {n} to {n} to fit in available GPU memory ({d} GiB",
     "auto_fit_from,auto_fit_to,available_kv_gib_binding", Keep::last, v1},
    {"Overriding num_gpu_blocks={n} with num_gpu_blocks_override={n}", "gpu_blocks_before,gpu_blocks", Keep::last,
     read_override},
    {"KV cache page size calculated by vLLM ({n} Bytes){*}used by {w} kernel ({n} Bytes)",
     "page_bytes_planned,-,page_bytes_actual", Keep::last, read_page_sizes},
    {"Prefix caching in Mamba cache '{q}' mode", "state_mode", Keep::last, read_state_caching},
    {"Mamba cache mode is set to '{q}'", "state_mode", Keep::last, v1},
    {"Hybrid KV cache manager is disabled", {}, Keep::last, read_hybrid_off},
    {"Turning off hybrid kv cache manager", {}, Keep::last, read_hybrid_off},
    {"The model's max seq len ({n}) is larger than the maximum number of tokens that can be stored in KV cache ({n})",
     "max_model_len", Keep::last, read_too_long_v0},
    {"max seq len ({n}), ({d} GiB KV cache is needed", "max_model_len,needed_kv_gib", Keep::last, read_too_long},
    {"max seq len ({n}), ({d} GB KV cache is needed", "max_model_len,needed_kv_gb", Keep::last, read_too_long},
    {"To serve at least one request", {}, Keep::last, read_too_long},
    {"max_num_seqs ({n}) exceeds available Mamba cache blocks ({n})", "max_num_seqs,state_blocks", Keep::last,
     read_too_few_states},
    {"No available memory for the cache blocks", {}, Keep::last, read_no_memory},
    {"EngineCore failed to start", {}, Keep::last, read_core_echo},
    {"EngineCore hit an exception", {}, Keep::last, read_core_echo},
    {"EngineCore encountered", {}, Keep::last, read_core_echo},
    {"Engine core initialization failed", {}, Keep::last, read_core_echo},
    {"WorkerProc failed to start", {}, Keep::last, read_core_echo},
    {"Engine process failed to start", {}, Keep::last, read_echo},
    {"Error execut", {}, Keep::weak, read_echo},
    {"initialize_from_config", {}, Keep::weak, read_pool_frame},
    {"CUDA out of memory", {}, Keep::weak, read_out_of_memory},
    {"HIP out of memory", {}, Keep::weak, read_out_of_memory},
    {"kv_cache_dtype", {}, Keep::weak, read_unsupported},
    {"KV cache dtype", {}, Keep::weak, read_unsupported},
    {"fp8 KV cache", {}, Keep::weak, read_unsupported},
    {"vllm:cache_config_info{", {}, Keep::last, read_labels},
    {"vllm:vllm_config_info{", {}, Keep::last, read_labels},
    {"vllm:num_requests_running{{*}model_name=\"{q}\"", "served_name", Keep::first},
    {"vllm:num_requests_waiting{{*}model_name=\"{q}\"", "served_name", Keep::first},
    {"vllm:num_preemptions_total{{*}model_name=\"{q}\"", "served_name", Keep::first},
    {"vllm:gpu_cache_usage_perc{{*}model_name=\"{q}\"", "served_name", Keep::first},
    {"vllm:kv_cache_usage_perc{{*}model_name=\"{q}\"", "served_name", Keep::first},
    {"vllm:num_preemptions_total{{*}} {n}", "preemptions", Keep::last, v1},
    {"vllm:gpu_cache_usage_perc{{*}} {d}", "cache_usage", Keep::last, v1},
    {"vllm:kv_cache_usage_perc{{*}} {d}", "cache_usage", Keep::last, v1},
    {"Worker_TP", {}, Keep::tag, read_worker},
    {"Worker_PP", {}, Keep::tag, read_worker},
    {"Worker_DP", {}, Keep::tag, read_worker},
    {"VllmWorker rank=", {}, Keep::tag, read_worker},
    {"VllmWorker TP", {}, Keep::tag, read_worker},
    {"EngineCore_DP", {}, Keep::tag, read_worker},
    {"EngineCore pid=", {}, Keep::tag, v1},
    {"VllmWorkerProcess pid={n}", {}, Keep::tag, read_v0_worker},
    {"RayWorkerWrapper pid=", {}, Keep::tag, read_ray},
};
static_assert(have_stems(rules));

}  // namespace kvcap::inline v1::logs::vllm
