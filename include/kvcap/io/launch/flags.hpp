// SPDX-License-Identifier: MIT
// Which flags of each engine say what? Long and short names as the engines document them; other flags keep
// their name.
#pragma once

#include <charconv>
#include <iterator>
#include <kvcap/io/launch/line.hpp>
#include <optional>

namespace kvcap::inline v1::io {

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
    attention_dp,
    context,
    gpu_layers,
    devices,
    split_mode,
    key_type,
    value_type,
    yaml,
    ignored,
};

struct LaunchFlag {
    std::string_view name;
    LaunchField field;
    bool takes_value = true;
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
    {"--max-model-len", LaunchField::tokens},
    {"--max-num-seqs", LaunchField::sequences},
    {"--kv-cache-dtype", LaunchField::dtype},
    {"--gpu-memory-utilization", LaunchField::util},
    {"--kv-cache-memory-bytes", LaunchField::budget},
    {"--kv-cache-memory", LaunchField::budget},
    {"--enable-expert-parallel", LaunchField::expert_parallel, false},
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
    {"--ep-size", LaunchField::ignored},
    {"--context-length", LaunchField::tokens},
    {"--max-running-requests", LaunchField::sequences},
    {"--kv-cache-dtype", LaunchField::dtype},
    {"--mem-fraction-static", LaunchField::util},
    {"--enable-dp-attention", LaunchField::attention_dp, false},
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
    {"-ts", LaunchField::devices},
    {"--tensor-split", LaunchField::devices},
    {"-sm", LaunchField::split_mode},
    {"--split-mode", LaunchField::split_mode},
    {"-ngl", LaunchField::gpu_layers},
    {"--gpu-layers", LaunchField::gpu_layers},
    {"--n-gpu-layers", LaunchField::gpu_layers},
};

inline constexpr LaunchFlag trtllm_flags[] = {
    {"--tp_size", LaunchField::tp},
    {"--pp_size", LaunchField::pp},
    {"--ep_size", LaunchField::ignored},
    {"--max_seq_len", LaunchField::tokens},
    {"--max_batch_size", LaunchField::sequences},
    {"--kv_cache_dtype", LaunchField::dtype},
    {"--kv_cache_free_gpu_memory_fraction", LaunchField::util},
    {"--free_gpu_memory_fraction", LaunchField::util},
    {"--extra_llm_api_options", LaunchField::yaml},
    {"--config", LaunchField::yaml},
};

/// What of TensorRT-LLM's kv_cache_config is a flag here.
struct TrtllmKey {
    std::string_view flag;
    std::string_view key;
};

inline constexpr TrtllmKey trtllm_keys[] = {
    {"tokens-per-block", "tokens_per_block"},
    {"max-kv-tokens", "max_tokens"},
    {"host-cache-size", "host_cache_size"},
};

/// Short names of llama.cpp's other flags.
inline std::string long_name(std::string_view flag) {
    constexpr std::pair<std::string_view, std::string_view> shorts[] = {
        {"-b", "batch-size"},       {"-ub", "ubatch-size"},     {"-fa", "flash-attn"},
        {"-kvu", "kv-unified"},     {"-nkvo", "no-kv-offload"}, {"-md", "model-draft"},
        {"-ot", "override-tensor"}, {"-cmoe", "cpu-moe"},       {"-ncmoe", "n-cpu-moe"}};
    for (const auto& [from, to] : shorts) {
        if (flag == from) {
            return std::string{to};
        }
    }
    std::string name{flag.substr(flag.find_first_not_of('-'))};
    for (char& c : name) {
        c = c == '_' ? '-' : c;
    }
    return name;
}

/// Flags of one engine, and how its line begins: a program or a module of Python's, and its verb where it needs one.
struct LaunchSyntax {
    std::string_view engine;
    std::string_view program;
    std::string_view verb;
    const LaunchFlag* flags;
    std::size_t count;
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
};

/// What a suffix multiplies by; 0: none of a number. vLLM reads k, m, g, t as powers of 1,000 and K, M, G, T as powers
/// of 1,024. Source: human_readable_int.
inline constexpr u64 launch_suffix(char suffix) {
    constexpr std::string_view all = "kmgtKMGT";
    const std::size_t at = all.find(suffix);
    u64 times = at == std::string_view::npos ? 0 : 1;
    for (std::size_t power = 0; times != 0 && power <= at % 4; ++power) {
        times *= at < 4 ? 1000 : 1024;
    }
    return times;
}

/// "65536", "64k", "64K" and "25.6k"; fractions only of powers of 1,000 and, as vLLM reads them, as doubles cut to
/// whole numbers. The other engines write plain numbers.
inline std::optional<u64> launch_number(std::string_view text) {
    const char* const end = text.data() + text.size();
    u64 digits = 0;
    std::from_chars_result read = std::from_chars(text.data(), end, digits);
    double scale = 1;
    if (read.ec == std::errc{} && read.ptr != end && *read.ptr == '.') {
        const char* const point = read.ptr;
        for (read.ptr = point + 1; read.ptr != end && *read.ptr >= '0' && *read.ptr <= '9'; ++read.ptr) {
            digits = saturating_sum(saturating_product(digits, 10), static_cast<u64>(*read.ptr - '0'));
            scale *= 10;
        }
        const bool exact = digits < u64{1} << 53 && scale <= 1e22;  // then digits / scale is the nearest double
        if (read.ptr == point + 1 || read.ptr == end || *read.ptr < 'a' || !exact) {
            return std::nullopt;
        }
    }
    const u64 times = read.ptr == end ? 1 : launch_suffix(*read.ptr);
    if (read.ec != std::errc{} || end - read.ptr > 1 || times == 0) {
        return std::nullopt;
    }
    return scale == 1 ? saturating_product(digits, times)
                      : static_cast<u64>(static_cast<double>(digits) / scale * static_cast<double>(times));
}

}  // namespace kvcap::inline v1::io
