// SPDX-License-Identifier: MIT
// Which blocks of a GGUF model keep a state, and how many f32 elements are its rows R and S? The first rule
// that matches decides: RWKV, short convolution, KDA, otherwise Mamba-like.
// Source: llama.cpp v0.5.0, llama-hparams.cpp (n_embd_r, n_embd_s), llama-model.cpp (create_memory).
#pragma once

#include <kvcap/engine/llamacpp/card.hpp>
#include <kvcap/io/gguf/keys.hpp>

namespace kvcap::inline v1::gguf {

/// The numbers of state blocks, as the file gives them.
struct StateKeys {
    u32 wkv_head = 0;
    u32 shifts = 2;
    u32 taps = 0;  ///< short convolution
    u32 kda_head = 0;
    u32 kernel = 0;
    u32 inner = 0;
    u32 state = 0;
    u32 groups = 0;
    u32 rank = 0;
};

inline StateKeys read_state_keys(Keys& keys, const llamacpp::Card& card) {
    return {.wkv_head = keys.number("wkv.head_size", 0), .shifts = keys.number("token_shift_count", 2),
            .taps = keys.number("shortconv.l_cache", 0), .kda_head = keys.number("kda.head_dim", 0),
            .kernel = keys.number("ssm.conv_kernel", 0), .inner = keys.number("ssm.inner_size", 0),
            .state = keys.number("ssm.state_size", 0),
            .groups = card.arch().has(llamacpp::reads_groups) ? keys.number("ssm.group_count", 0) : 0,
            .rank = keys.number("ssm.time_step_rank", 0)};
}

/// heads: of block 0. key: head width.
inline llamacpp::StateRows state_rows(const StateKeys& k, u64 width, u64 heads, u64 key, bool lightning) {
    const u64 taps = k.kernel > 0 ? k.kernel - 1 : 0;
    if (k.wkv_head > 0) {
        return {.r = saturating_product(k.shifts, width), .s = saturating_product(width, k.wkv_head), .p = 0};
    }
    if (k.taps > 0) {
        return {.r = width * (u64{k.taps} - 1), .s = saturating_product(k.state, k.inner), .p = 0};
    }
    if (k.kda_head > 0) {
        const u64 channels = saturating_product(heads, k.kda_head);
        return {.r = saturating_product(3 * (k.kernel > 0 ? taps : 3), channels),
                .s = saturating_product(channels, k.kda_head), .p = 0};
    }
    if (lightning) {
        return {.r = 0, .s = saturating_product(saturating_product(key, key), heads), .p = 0};
    }
    const u64 b_and_c = saturating_product(2 * u64{k.groups}, k.state);
    return {.r = saturating_product(taps, saturating_sum(k.inner, b_and_c)),
            .s = saturating_product(k.state, k.inner), .p = 0};
}

/// Blocks of hybrids that alternate: a list, or every block but each interval's last.
inline void mark_by_interval(Keys& keys, llamacpp::Card& card) {
    constexpr std::string_view listed = "attention.recurrent_layers";
    const bool lightning = card.arch().arch == llamacpp::Arch::minimax_01;
    const u32 interval = keys.number("full_attention_interval", lightning ? 8 : 4);
    if (interval == 0) {
        return keys.fail("full_attention_interval", "0", "at least 1");
    }
    const std::vector<u32> flags = keys.list(listed, keys.has(listed) ? card.layers : 0);
    for (u32 i = 0; i < card.layers; ++i) {
        card.blocks[i].state = flags.empty() ? (i + 1) % interval != 0 : flags[i] != 0;
        card.blocks[i].attention = !card.blocks[i].state;
    }
}

inline void mark_states(Keys& keys, llamacpp::Card& card, const std::vector<u32>& feed_forward) {
    using llamacpp::Arch;
    const Arch arch = card.arch().arch;
    if (arch == Arch::qwen3next || arch == Arch::qwen35 || arch == Arch::qwen4exp ||
        arch == Arch::minimax_01) {
        return mark_by_interval(keys, card);
    }
    const bool nemotron = arch == Arch::nemotron_h || arch == Arch::nemotron_h_moe;
    const bool only = card.arch().family == llamacpp::Family::recurrent;
    for (u32 i = 0; i < card.layers; ++i) {
        llamacpp::Block& block = card.blocks[i];
        const bool mixes = !nemotron || feed_forward[i] == 0;
        block.state = mixes && (only || block.kv_heads == 0 || arch == Arch::falcon_h1);
        block.attention = mixes && !only && (block.kv_heads != 0 || arch == Arch::falcon_h1);
    }
}

/// The PLE history row of qwen4exp: (kernel - 1) x ngram x streams x width, on the listed blocks.
inline void read_history(Keys& keys, llamacpp::Card& card, u64 width) {
    const Value* layers = keys.find("ple.layers");
    if (layers == nullptr || !layers->array) {
        return;
    }
    const u64 kernel = keys.required("ple.conv_kernel");
    const u64 streams = keys.required("hyper_connection.count");
    card.state.p = saturating_product((kernel == 0 ? 0 : kernel - 1) * keys.required("ple.ngram_size"),
                                      saturating_product(streams, width));
    const u32 count = static_cast<u32>(smaller(layers->count, card.layers));
    for (const u32 layer : keys.list("ple.layers", count)) {
        if (layer >= card.layers) {
            return keys.fail("ple.layers", std::to_string(layer),
                             "a block below " + std::to_string(card.layers));
        }
        card.blocks[layer].history = true;
    }
}

}  // namespace kvcap::inline v1::gguf
