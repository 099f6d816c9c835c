// SPDX-License-Identifier: MIT
// Which flags of each engine say what? Long and short names as the engines document them; other flags keep
// their name.
#pragma once

#include <algorithm>
#include <iterator>
#include <kvcap/io/launch/line.hpp>
#include <kvcap/io/launch/number.hpp>

namespace kvcap::inline v1::io {

/// From count on a field is of many flags, each kept by its long name among the other flags, which see. step: a count,
/// or -1 for none. file: has flags in it.
enum class LaunchField : unsigned char {
    model,
    tp,
    pp,
    cp,
    dp,
    tokens,
    sequences,
    dtype,
    util,
    budget,
    expert_parallel,
    expert_ranks,
    expert_shards,
    expert_backend,
    attention_dp,
    context,
    gpu_layers,
    shares,
    devices,
    split_mode,
    key_type,
    value_type,
    yaml,
    flash,
    fit,
    count,
    step,
    text,
    file,
    quantization,
    ignored,
};

struct LaunchFlag {
    std::string_view name;
    LaunchField field;
    bool takes_value = true;
    Written written = Written::plain;
};

inline constexpr LaunchFlag vllm_flags[] = {
    {"--model", LaunchField::model},
    {"--tensor-parallel-size", LaunchField::tp},
    {"-tp", LaunchField::tp},
    {"--pipeline-parallel-size", LaunchField::pp},
    {"-pp", LaunchField::pp},
    {"--decode-context-parallel-size", LaunchField::cp},
    {"-dcp", LaunchField::cp},
    {"--data-parallel-size", LaunchField::dp},
    {"-dp", LaunchField::dp},
    {"--max-model-len", LaunchField::tokens, true, Written::vllm},
    {"--max-num-seqs", LaunchField::sequences},
    {"--kv-cache-dtype", LaunchField::dtype},
    {"--quantization", LaunchField::quantization},
    {"-q", LaunchField::quantization},
    {"--gpu-memory-utilization", LaunchField::util},
    {"--kv-cache-memory-bytes", LaunchField::budget, true, Written::vllm},
    {"--kv-cache-memory", LaunchField::budget, true, Written::vllm},
    {"--enable-expert-parallel", LaunchField::expert_parallel, false},
    {"--max-num-batched-tokens", LaunchField::count, true, Written::vllm},
    {"--block-size", LaunchField::count},
    {"--num-gpu-blocks-override", LaunchField::count},
    {"--attention-backend", LaunchField::text},
    {"--mamba-cache-mode", LaunchField::text},
    {"--async-scheduling", LaunchField::text, false},
    {"--no-async-scheduling", LaunchField::text, false},
    {"--enable-prefix-caching", LaunchField::text, false},
    {"--no-enable-prefix-caching", LaunchField::text, false},
    {"--enforce-eager", LaunchField::text, false},
    {"--spec-method", LaunchField::text},
    {"--spec-tokens", LaunchField::count},
    {"--disable-hybrid-kv-cache-manager", LaunchField::text, false},
    {"--config", LaunchField::file},
};

inline constexpr LaunchFlag sglang_flags[] = {
    {"--model-path", LaunchField::model},
    {"--model", LaunchField::model},
    {"--tp-size", LaunchField::tp},
    {"--tp", LaunchField::tp},
    {"--tensor-parallel-size", LaunchField::tp},
    {"--pp-size", LaunchField::pp},
    {"--pp", LaunchField::pp},
    {"--pipeline-parallel-size", LaunchField::pp},
    {"--dp-size", LaunchField::dp},
    {"--dp", LaunchField::dp},
    {"--data-parallel-size", LaunchField::dp},
    {"--ep-size", LaunchField::expert_ranks},
    {"--ep", LaunchField::expert_ranks},
    {"--expert-parallel-size", LaunchField::expert_ranks},
    {"--moe-a2a-backend", LaunchField::expert_backend},
    {"--enable-deepep-moe", LaunchField::expert_backend, false},
    {"--enable-ep-moe", LaunchField::expert_backend, false},
    {"--context-length", LaunchField::tokens, true, Written::sglang},
    {"--max-running-requests", LaunchField::sequences},
    {"--kv-cache-dtype", LaunchField::dtype},
    {"--quantization", LaunchField::quantization},
    {"--mem-fraction-static", LaunchField::util},
    {"--enable-dp-attention", LaunchField::attention_dp, false},
    {"--max-total-tokens", LaunchField::count, true, Written::sglang},
    {"--page-size", LaunchField::count},
    {"--max-mamba-cache-size", LaunchField::count},
    {"--chunked-prefill-size", LaunchField::step},
    {"--config", LaunchField::file},
    {"--mamba-full-memory-ratio", LaunchField::text},
    {"--swa-full-tokens-ratio", LaunchField::text},
    {"--disable-radix-cache", LaunchField::text, false},
    {"--disable-overlap-schedule", LaunchField::text, false},
};

inline constexpr LaunchFlag llama_flags[] = {
    {"-m", LaunchField::model},
    {"--model", LaunchField::model},
    {"-hf", LaunchField::model},
    {"-hfr", LaunchField::model},
    {"--hf-repo", LaunchField::model},
    {"-c", LaunchField::context},
    {"--ctx-size", LaunchField::context},
    {"-np", LaunchField::sequences},
    {"--parallel", LaunchField::sequences},
    {"-ctk", LaunchField::key_type},
    {"--cache-type-k", LaunchField::key_type},
    {"-ctv", LaunchField::value_type},
    {"--cache-type-v", LaunchField::value_type},
    {"-ts", LaunchField::shares},
    {"--tensor-split", LaunchField::shares},
    {"-dev", LaunchField::devices},
    {"--device", LaunchField::devices},
    {"-sm", LaunchField::split_mode},
    {"--split-mode", LaunchField::split_mode},
    {"-ngl", LaunchField::gpu_layers},
    {"--gpu-layers", LaunchField::gpu_layers},
    {"--n-gpu-layers", LaunchField::gpu_layers},
    {"-b", LaunchField::count},
    {"--batch-size", LaunchField::count},
    {"-ub", LaunchField::count},
    {"--ubatch-size", LaunchField::count},
    {"-fa", LaunchField::flash},
    {"--flash-attn", LaunchField::flash},
    {"-fit", LaunchField::fit},
    {"--fit", LaunchField::fit},
    {"-kvu", LaunchField::text, false},
    {"-no-kvu", LaunchField::ignored, false},  // where slots are said, it is so
    {"--no-kv-unified", LaunchField::ignored, false},
    {"--kv-unified", LaunchField::text, false},
    {"--swa-full", LaunchField::text, false},
};

inline constexpr LaunchFlag trtllm_flags[] = {
    {"--tp_size", LaunchField::tp},
    {"--tensor_parallel_size", LaunchField::tp},
    {"--pp_size", LaunchField::pp},
    {"--pipeline_parallel_size", LaunchField::pp},
    {"--ep_size", LaunchField::expert_ranks},
    {"--moe_expert_parallel_size", LaunchField::expert_ranks},
    {"--max_seq_len", LaunchField::tokens},
    {"--max_batch_size", LaunchField::sequences},
    {"--kv_cache_dtype", LaunchField::dtype},
    {"--kv_cache_free_gpu_memory_fraction", LaunchField::util},
    {"--free_gpu_memory_fraction", LaunchField::util},
    {"--extra_llm_api_options", LaunchField::yaml},
    {"--config", LaunchField::yaml},
    {"--max_beam_width", LaunchField::count},
};

/// Keys of TensorRT-LLM's file that are flags here; in: the key that they stand under.
struct TrtllmKey {
    std::string_view in;
    std::string_view key;
    std::string_view flag;
};

inline constexpr TrtllmKey trtllm_keys[] = {
    {"kv_cache_config", "tokens_per_block", "tokens-per-block"},
    {"kv_cache_config", "max_tokens", "max-kv-tokens"},
    {"kv_cache_config", "host_cache_size", "host-cache-size"},
    {"", "max_beam_width", "max-beam-width"},
};

/// Keys that say what a field says.
struct TrtllmSetting {
    std::string_view in;
    std::string_view key;
    LaunchField field;
};

inline constexpr TrtllmSetting trtllm_settings[] = {
    {"", "tensor_parallel_size", LaunchField::tp},
    {"", "pipeline_parallel_size", LaunchField::pp},
    {"", "moe_expert_parallel_size", LaunchField::expert_ranks},
    {"", "moe_tensor_parallel_size", LaunchField::expert_shards},
    {"", "max_seq_len", LaunchField::tokens},
    {"", "max_batch_size", LaunchField::sequences},
    {"kv_cache_config", "dtype", LaunchField::dtype},
    {"kv_cache_config", "free_gpu_memory_fraction", LaunchField::util},
    {"kv_cache_config", "max_gpu_total_bytes", LaunchField::budget},
};

/// The long name of a short flag of llama.cpp, without dashes; empty for others.
constexpr std::string_view llama_long_name(std::string_view flag) {
    constexpr std::string_view shorts[][2] = {
        {"-b", "batch-size"},       {"-ub", "ubatch-size"},     {"-fa", "flash-attn"},    {"-kvu", "kv-unified"},
        {"-nkvo", "no-kv-offload"}, {"-md", "model-draft"},     {"-cmoe", "cpu-moe"},     {"-ncmoe", "n-cpu-moe"},
        {"-ot", "override-tensor"}, {"-t", "threads"},          {"-tb", "threads-batch"}, {"-a", "alias"},
        {"-n", "n-predict"},        {"-s", "seed"},             {"-v", "verbose"},        {"-cb", "cont-batching"},
        {"-nocb", "no-cont-batching"}, {"-to", "timeout"},      {"-hff", "hf-file"},      {"-lv", "verbosity"}};
    for (const auto& [from, to] : shorts) {
        if (flag == from) {
            return to;
        }
    }
    return {};
}

/// By which name a flag is kept: "a-b" for --a-b, and for TensorRT-LLM, whose names have underscores, for --a_b. As it
/// is written where the engine would not take it for that: -q, ---a, and the other of dash and underscore.
inline std::string kept_name(std::string_view engine, std::string_view flag) {
    if (const std::string_view known = engine == "llamacpp" ? llama_long_name(flag) : ""; !known.empty()) {
        return std::string{known};
    }
    const bool two = flag.starts_with("--") && flag.size() > 2 && flag[2] != '-';
    const char foreign = engine == "trtllm" ? '-' : '_';
    if (!two || flag.find(foreign, 2) != std::string_view::npos) {
        return std::string{flag};
    }
    std::string name{flag.substr(2)};
    std::replace(name.begin(), name.end(), '_', '-');
    return name;
}

/// Flags of one engine, and how its line begins: a program or a module of Python's, and its verb where it needs one; or
/// a container's image that starts it, whatever stands behind the name (a tag, a digest, a kind of device).
struct LaunchSyntax {
    std::string_view engine;
    std::string_view program;
    std::string_view verb;
    const LaunchFlag* flags;
    std::size_t count;
    bool image = false;

    /// Whether the word is that program, in any folder, or that image, of any registry.
    constexpr bool named(std::string_view word) const {
        const std::size_t at = image ? word.find(program) : word.size() - smaller(word.size(), program.size());
        if (at == std::string_view::npos || word.substr(at, program.size()) != program) {
            return false;
        }
        const std::string_view rest = word.substr(at + program.size());
        return (at == 0 || word[at - 1] == '/') && (rest.empty() || rest[0] == ':' || rest[0] == '@' || rest[0] == '-');
    }
};

inline constexpr LaunchSyntax launch_syntaxes[] = {
    {"vllm", "vllm", "serve", vllm_flags, std::size(vllm_flags)},
    {"vllm", "vllm.entrypoints.openai.api_server", "", vllm_flags, std::size(vllm_flags)},
    {"vllm", "vllm.entrypoints.api_server", "", vllm_flags, std::size(vllm_flags)},
    {"vllm", "vllm.entrypoints.cli.main", "serve", vllm_flags, std::size(vllm_flags)},
    {"sglang", "sglang.launch_server", "", sglang_flags, std::size(sglang_flags)},
    {"sglang", "sglang", "serve", sglang_flags, std::size(sglang_flags)},
    {"llamacpp", "llama-server", "", llama_flags, std::size(llama_flags)},
    {"trtllm", "trtllm-serve", "", trtllm_flags, std::size(trtllm_flags)},
    {"vllm", "vllm/vllm-openai", "", vllm_flags, std::size(vllm_flags), true},
    {"llamacpp", "ggml-org/llama.cpp:server", "", llama_flags, std::size(llama_flags), true},
};

}  // namespace kvcap::inline v1::io
