// SPDX-License-Identifier: MIT
// Which blocks of a GGUF model attend to a window only, and how wide is it? The key counts for some
// architectures, is a constant or ignored for others. Source: llama.cpp v0.5.0, models/*.cpp
// (load_arch_hparams, load_swa_pattern).
#pragma once

#include <kvcap/engine/llamacpp/card.hpp>
#include <kvcap/io/gguf/keys.hpp>

namespace kvcap::inline v1::gguf {

inline constexpr std::string_view window_key = "attention.sliding_window";
inline constexpr std::string_view pattern_key = "attention.sliding_window_pattern";

/// 0: this model has no window.
inline u32 window_of(Keys& keys, const llamacpp::Card& card) {
    using llamacpp::Arch;
    using llamacpp::WindowRule;
    const llamacpp::ArchRule& rule = card.arch();
    if (rule.window == WindowRule::never) {
        return 0;
    }
    const bool given = keys.has(window_key);
    if (rule.window == WindowRule::positive) {
        const u32 window = keys.number(window_key, 0);
        return window != 0 && rule.arch == Arch::smallthinker ? 4096 : window;
    }
    if (rule.arch == Arch::llama4) {
        return given && keys.number(window_key, 0) == 0 ? 0 : rule.window_default;
    }
    if (rule.arch == Arch::exaone4 && card.layers != 64) {
        return keys.number(window_key, 0);
    }
    if (rule.window_default == 0) {
        return keys.required(window_key);
    }
    if (!given) {
        keys.note(Origin::assumed, window_key,
                  "missing; llama.cpp takes " + std::to_string(rule.window_default));
    }
    return keys.number(window_key, rule.window_default);
}

inline llamacpp::WindowType window_type_of(const llamacpp::Card& card, bool listed_or_found) {
    using llamacpp::Arch;
    using llamacpp::WindowType;
    if (!listed_or_found || (card.arch().arch == Arch::exaone4 && card.layers != 64)) {
        return WindowType::none;
    }
    if (card.arch().family == llamacpp::Family::none) {
        return WindowType::symmetric;
    }
    return card.arch().arch == Arch::llama4 ? WindowType::chunked : WindowType::standard;
}

/// Marks the window blocks. An array of flags wins over a period, which wins over the architecture's own;
/// only flags reach the NextN blocks.
inline void mark_windows(Keys& keys, llamacpp::Card& card) {
    using llamacpp::Arch;
    const llamacpp::ArchRule& rule = card.arch();
    const bool listed = keys.is_array(pattern_key);
    if (rule.window == llamacpp::WindowRule::listed && !listed) {
        keys.fail(pattern_key, keys.has(pattern_key) ? "a single number" : "is missing",
                  "one flag per block");
        return;
    }
    const std::vector<u32> flags = keys.list(pattern_key, listed ? card.all_layers() : 0);
    const u32 period = listed ? 0 : keys.number(pattern_key, rule.period);
    const bool only_attention = rule.arch == Arch::lfm2;
    const u32 end = listed || rule.arch == Arch::deepseek4 ? card.all_layers() : card.layers;
    for (u32 i = 0; i < end; ++i) {
        llamacpp::Block& block = card.blocks[i];
        const bool in_pattern = llamacpp::in_window_pattern(i, period, rule.has(llamacpp::dense_first));
        block.window = rule.arch == Arch::deepseek4 ? true
                       : only_attention             ? block.attention
                       : listed                     ? flags[i] != 0
                                                    : in_pattern;
    }
}

/// Window, its type and its blocks. Needs card.layers and the blocks' attention flags.
inline void read_windows(Keys& keys, llamacpp::Card& card) {
    card.window = window_of(keys, card);
    const bool optional_window = card.arch().window == llamacpp::WindowRule::positive ||
                                 card.arch().arch == llamacpp::Arch::llama4;
    const bool has =
        card.arch().window != llamacpp::WindowRule::never && !(optional_window && card.window == 0);
    card.window_type = window_type_of(card, has);
    if (card.window_type != llamacpp::WindowType::none) {
        mark_windows(keys, card);
    }
}

/// Head widths of window blocks differ where the file says so.
inline void widen_windows(Keys& keys, llamacpp::Card& card) {
    for (llamacpp::Block& block : card.blocks) {
        if (block.window) {
            block.key = keys.number("attention.key_length_swa", block.key);
            block.value = keys.number("attention.value_length_swa", block.value);
        }
    }
}

}  // namespace kvcap::inline v1::gguf
