// SPDX-License-Identifier: MIT
// What do several attention windows do to TensorRT-LLM's pools? Each distinct window gets the same memory,
// whatever its length; windows that do not fit a single sequence shrink. Sources: resource_manager.py
// adjust_window_sizes_for_vswa, kvCacheManager.cpp BlockManager::calculateWindowSizeToShare,
// getMaxAttentionWindowUpperBound, WindowBlockManager.
#pragma once

#include <kvcap/engine/trtllm/bytes.hpp>

namespace kvcap::inline v1::trtllm {

/// The layers of one window on a rank. bytes: of one token in all of them.
struct WindowLayers {
    u64 tokens = 0;
    u64 bytes = 0;
    friend constexpr bool operator==(const WindowLayers&, const WindowLayers&) = default;
};

/// Ascending by tokens.
using Windows = Inplace<WindowLayers, 8>;

/// The part of the memory that window `at` would get by length x bytes. The engine has this rule and does not
/// use it.
constexpr double proportional_share(const Windows& windows, u32 at) noexcept {
    double sum = 0;
    for (const WindowLayers& window : windows) {
        sum += static_cast<double>(window.tokens * window.bytes);
    }
    return static_cast<double>(windows[at].tokens * windows[at].bytes) / sum;
}

/// The windows as they fit `pool` bytes, for one sequence: ascending, each step of length costs all layers
/// that still grow. Two windows may become equal. max_tokens: not_set or the user's cap.
constexpr Windows clamped(const Windows& windows, u64 pool, u64 max_tokens) noexcept {
    u64 growing = 0;
    u64 need = 0;
    for (const WindowLayers& window : windows) {
        growing += window.bytes;
        need = saturating_sum(need, saturating_product(window.tokens, window.bytes));
    }
    Windows fitted = windows;
    if (need < pool) {
        return fitted;
    }
    u64 reached = 0;
    u64 before = 0;
    for (WindowLayers& window : fitted) {
        if (pool > 0 && growing > 0) {
            const u64 step = smaller(pool / growing, window.tokens - before);
            pool -= step * growing;
            reached += step;
            const bool stopped = reached < window.tokens || (max_tokens != not_set && reached >= max_tokens);
            reached = smaller(reached, max_tokens);
            pool = stopped ? 0 : pool;
        }
        growing -= window.bytes;
        before = window.tokens;
        window.tokens = reached;
    }
    return fitted;
}

/// Longest window that `blocks` hold for all beams; with beams one block less when the context is longer.
constexpr u64 window_upper_bound(u64 blocks, u64 tokens_per_block, u64 beams, u64 max_seq_len) noexcept {
    const u64 bound = blocks / beams * tokens_per_block;
    return beams > 1 && max_seq_len > bound ? bound - smaller(bound, tokens_per_block) : bound;
}

/// Tokens beyond the window that a chunked prefill holds for a while.
constexpr u64 temporary_window(u64 max_input, u64 max_num_tokens, u64 window) noexcept {
    return max_input > window ? smaller(max_num_tokens, max_input - window) : 0;
}

/// Blocks of a window sequence at so many tokens. listed: with those already detached from its front.
struct WindowBlocks {
    u64 listed = 0;
    u64 detached = 0;
    constexpr u64 live() const noexcept { return listed - detached; }
};

/// A front block goes once window + one block of tokens are behind it.
constexpr WindowBlocks window_blocks(u64 tokens, u64 window, u64 max_seq_len, u64 tokens_per_block) noexcept {
    const bool slides = window < max_seq_len && tokens > window;
    return {.listed = ceil_div(tokens, tokens_per_block),
            .detached = slides ? (tokens - window) / tokens_per_block : 0};
}

}  // namespace kvcap::inline v1::trtllm
