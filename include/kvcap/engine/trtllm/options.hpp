// SPDX-License-Identifier: MIT
// What does TensorRT-LLM let its user decide about the cache? KvCacheConfig, and which of its two managers
// divides the memory: they round differently. Rules: kvCacheManager.cpp at b35ac1b64368 and the copy with
// recurrent-state windows (early 2026), _torch/pyexecutor/resource_manager.py at 001541bad83b.
#pragma once

#include <kvcap/element.hpp>
#include <kvcap/engine/python_arithmetic.hpp>
#include <kvcap/inplace.hpp>

namespace kvcap::inline v1::trtllm {

/// Newest state of the sources whose rules these are (year and month; no day is known).
inline constexpr u32 rules_date = 20260101;

inline constexpr u64 not_set = off_scale;

/// Sequences at once of a server that is told no max_batch_size (BuildConfig, trtllm-serve).
inline constexpr u64 server_batch = 2048;

/// fp16 and bf16 are alike here. nvfp4: packed halves and one fp8 scale per 16.
enum class KvDtype : u8 { half, fp8, nvfp4 };
/// python rounds blocks down, cpp rounds those of the primary pool up.
enum class Path : u8 { python, cpp };

/// A fraction of free memory that nobody gave is 0.9, and does not cap max_tokens.
inline constexpr double default_fraction = 0.9;

struct Options {
    KvDtype dtype = KvDtype::half;
    Path path = Path::python;
    u64 tokens_per_block = 32;
    u64 max_seq_len = 131072;
    u64 max_tokens = not_set;
    double free_fraction = default_fraction;  ///< of the memory free after load
    bool fraction_given = true;
    u64 max_gpu_total_bytes = 0;              ///< 0: by fraction
    u64 host_bytes = 0;
    double cross_fraction = 0.5;              ///< of the pool, for an encoder-decoder's cross attention
    bool attention_dp = false;                ///< every rank caches all heads of its own requests
    bool model_windows = true;  ///< max_attention_window lists the model's windows; else all are full
    bool partial_reuse = true;
    bool second_manager = false;              ///< KVCacheManagerV2: another rule of reuse
    u32 beams = 1;
    u64 max_batch = 64;                       ///< sequences; states have a slot for each (a server's: server_batch)
    ElementFormat conv_format = bf16;
    ElementFormat state_format = bf16;
    Inplace<double, 8> shares{};              ///< TRTLLM_WINDOW_SIZE_SHARES; empty: equal

    friend constexpr bool operator==(const Options&, const Options&) = default;
};

constexpr u64 element_bytes(KvDtype dtype) noexcept {
    return dtype == KvDtype::half ? 2 : 1;
}

/// Bytes of the primary pool in the Python manager with one window: not cut to whole bytes.
constexpr double python_memory(u64 free_bytes, const Options& options) noexcept {
    const double part = options.free_fraction * static_cast<double>(free_bytes);
    const double cap = static_cast<double>(options.max_gpu_total_bytes);
    return options.max_gpu_total_bytes > 0 && cap < part ? cap : part;
}

/// Bytes of the primary budget. The C++ manager multiplies in single precision.
constexpr u64 primary_bytes(u64 free_bytes, const Options& options) noexcept {
    if (options.max_gpu_total_bytes > 0) {
        return options.max_gpu_total_bytes;
    }
    if (options.path == Path::cpp) {
        return truncated(
            static_cast<double>(static_cast<float>(free_bytes) * static_cast<float>(options.free_fraction)));
    }
    return truncated(static_cast<double>(free_bytes) * options.free_fraction);
}

}  // namespace kvcap::inline v1::trtllm
