// SPDX-License-Identifier: MIT
// How many blocks does TensorRT-LLM make of its memory? One window: fraction x free / bytes per token, in
// blocks, down (Python) or up (C++, in single precision). Several windows: an equal share of the memory each,
// max_tokens ignored. Sources: resource_manager.py calculate_max_num_blocks(_for_vswa), kvCacheManager.cpp
// calculateMaxNumBlocks.
#pragma once

#include <kvcap/engine/trtllm/windows.hpp>

namespace kvcap::inline v1::trtllm {

struct Blocks {
    u64 primary = 0;
    u64 secondary = 0;
    friend constexpr bool operator==(const Blocks&, const Blocks&) = default;
};

/// Python, one window. The token count stays a fraction until it is cut into blocks.
constexpr Blocks python_blocks(double memory, u64 bytes_per_token, const Options& options) noexcept {
    double tokens = memory / static_cast<double>(bytes_per_token);
    const double asked = static_cast<double>(options.max_tokens);
    if (options.max_tokens != not_set && (!options.fraction_given || asked < tokens)) {
        tokens = asked;
    }
    return {.primary = floor_div(tokens, static_cast<double>(options.tokens_per_block)),
            .secondary = options.host_bytes / bytes_per_token / options.tokens_per_block};
}

/// The share of window `at` of `count`: given ones, for C++ normalised in single precision, or an equal part.
constexpr float share_of(u32 at, u32 count, const Options& options) noexcept {
    if (options.shares.empty()) {
        return 1.0f / static_cast<float>(count);
    }
    float sum = 0;
    for (const double share : options.shares) {
        sum += static_cast<float>(share);
    }
    return static_cast<float>(options.shares[at]) / sum;
}

/// C++: single-precision products, primary up, secondary down.
constexpr Blocks cpp_blocks(u64 memory, float share, u64 bytes_per_token, bool one_window,
                            const Options& options) noexcept {
    const float part = static_cast<float>(memory) * share;
    u64 tokens = truncated(static_cast<double>(part) / static_cast<double>(bytes_per_token));
    if (one_window) {
        tokens = smaller(tokens, options.max_tokens);
    }
    const float host = static_cast<float>(options.host_bytes) * share;
    const u64 host_tokens = truncated(static_cast<double>(host / static_cast<float>(bytes_per_token)));
    return {.primary = ceil_div(tokens, options.tokens_per_block),
            .secondary = host_tokens / options.tokens_per_block};
}

/// Python, several windows: doubles, both down.
constexpr Blocks shared_python_blocks(u64 memory, double share, u64 bytes_per_token,
                                      const Options& options) noexcept {
    const double each = static_cast<double>(bytes_per_token);
    const double block = static_cast<double>(options.tokens_per_block);
    const double primary = static_cast<double>(memory) * share;
    const double host = static_cast<double>(options.host_bytes) * share;
    return {.primary = floor_div(primary / each, block), .secondary = floor_div(host / each, block)};
}

/// The share of window `at` of `count` in the Python manager, which does not normalise.
constexpr double python_share(u32 at, u32 count, const Options& options) noexcept {
    return options.shares.empty() ? 1.0 / count : options.shares[at];
}

/// Blocks of window `at` of `count`, from `memory` bytes of the primary pool, where several windows divide
/// it.
constexpr Blocks blocks_of_window(u64 memory, u64 bytes_per_token, u32 at, u32 count,
                                  const Options& options) noexcept {
    return options.path == Path::cpp
               ? cpp_blocks(memory, share_of(at, count, options), bytes_per_token, count == 1, options)
               : shared_python_blocks(memory, python_share(at, count, options), bytes_per_token, options);
}

}  // namespace kvcap::inline v1::trtllm
