// SPDX-License-Identifier: MIT
// Which caches does the model of a GGUF file keep, whatever engine runs it? The card's blocks as layer
// policies: windows and chunks as such, latents once, states in the shapes of their kind. Formats are the
// policies' own defaults.
#pragma once

#include <kvcap/core.hpp>
#include <kvcap/io/gguf/card.hpp>

namespace kvcap::inline v1::gguf {

/// Elements over all streams of all forms.
constexpr u64 elements_of(const LayerForms& forms) noexcept {
    u64 sum = 0;
    for (const LayerForm& form : forms) {
        sum = saturating_sum(sum, form.elements());
    }
    return sum;
}

inline LayerForms mamba_like(const StateKeys& k, const llamacpp::Card& card) {
    using llamacpp::Arch;
    const Arch arch = card.arch().arch;
    if (arch == Arch::qwen3next || arch == Arch::qwen35 || arch == Arch::qwen4exp) {
        return GatedDelta{.key_heads = k.groups,
                          .key_dim = k.state,
                          .value_heads = k.rank,
                          .value_dim = k.state,
                          .kernel = k.kernel}
            .forms();
    }
    const bool grouped = card.arch().has(llamacpp::reads_groups);
    if (!grouped || k.rank == 0 || k.inner % k.rank != 0) {
        return Mamba1{.inner = k.inner, .state_dim = k.state, .kernel = k.kernel}.forms();
    }
    return Mamba2{.heads = k.rank, .head_dim = k.inner / k.rank, .state_dim = k.state, .groups = k.groups,
                  .kernel = k.kernel}.forms();
}

/// The state of one block. Shapes that fit no known kind keep their two rows as they are.
inline LayerForms state_forms(Keys& keys, const llamacpp::Card& card, const llamacpp::Block& block,
                              u32 width) {
    const StateKeys k = read_state_keys(keys, card);
    LayerForms forms{};
    if (k.wkv_head > 0) {
        State shifted = rwkv(width, width / k.wkv_head, k.wkv_head);
        shifted.streams[0].rows = static_cast<u16>(k.shifts);
        forms = shifted.forms();
    } else if (k.taps > 0) {
        forms = short_conv(width, k.taps).forms();
    } else if (k.kda_head > 0) {
        forms =
            Kda{.heads = card.blocks[0].heads, .head_dim = k.kda_head, .kernel = k.kernel > 0 ? k.kernel : 4}
                .forms();
    } else if (card.arch().arch == llamacpp::Arch::minimax_01) {
        forms = lightning(card.blocks[0].heads, card.blocks[0].key).forms();
    } else {
        forms = mamba_like(k, card);
    }
    const u64 history = block.history ? card.state.p : 0;
    if (larger(larger(card.state.r, card.state.s), history) > 0xffff'ffff) {
        keys.fail("ssm.state_size", "a state of more than 2^32 elements", "a smaller one");
        return forms;
    }
    if (elements_of(forms) != card.state.r + card.state.s) {
        forms = state_of(Kind::state, Stream{.role = Role::conv, .width = static_cast<u32>(card.state.r)},
                         Stream{.role = Role::state, .width = static_cast<u32>(card.state.s), .format = f32})
                    .forms();
    }
    if (history != 0) {
        static_cast<void>(forms[0].streams.push(
            Stream{.role = Role::conv, .width = static_cast<u32>(history), .format = f32}));
    }
    return forms;
}

inline LayerForms latent_forms(Keys& keys, const llamacpp::Block& block) {
    const char* rank_key = block.window ? "attention.kv_lora_rank_swa" : "attention.kv_lora_rank";
    const u32 rank = keys.number(rank_key, 0);
    const bool split = rank > 0 && rank < block.key;
    return Mla{.latent = split ? rank : block.key, .rope = split ? block.key - rank : 0}.forms();
}

inline LayerForms attention_forms(Keys& keys, const llamacpp::Card& card, const llamacpp::Block& block) {
    using llamacpp::Family;
    if (card.arch().family == Family::dsv4) {
        return CompressedLatent{.latent = block.key, .window = card.window, .ratio = block.ratio,
                                .index_dim = block.ratio == 4 ? card.index_width : 0}.forms();
    }
    LayerForms forms = card.latent ? latent_forms(keys, block)
                                   : Gqa{.kv_heads = block.kv_heads, .head_dim = block.key,
                                         .value_dim = block.value}.forms();
    if (block.window) {
        const bool chunked = card.window_type == llamacpp::WindowType::chunked;
        forms = retain(forms, chunked ? Keep::chunk : Keep::window, {card.window});
    }
    return forms;
}

/// All caches of a block: index keys, then attention (with cross attention where there is any), then states.
inline Errc add_block(Keys& keys, const llamacpp::Card& card, u32 index, u32 width, ModelSpec& to,
                      u32 layer) {
    const llamacpp::Block& block = card.blocks[index];
    Errc code = Errc::ok;
    const auto add = [&](const LayerForms& forms) {
        code = code == Errc::ok ? to.add(layer, forms) : code;
    };
    const bool own = block.owner == index;
    if (own && block.index && card.arch().family != llamacpp::Family::dsv4) {
        add(IndexKeys{.dim = card.index_width}.forms());
    }
    if (own && block.attention && block.key_row() + block.value_row() != 0) {
        add(attention_forms(keys, card, block));
    }
    if (own && card.arch().arch == llamacpp::Arch::t5) {
        add(Cross{Gqa{.kv_heads = block.kv_heads, .head_dim = block.key, .value_dim = block.value}}.forms());
    }
    if (block.state) {
        add(state_forms(keys, card, block, width));
    }
    return code;
}

}  // namespace kvcap::inline v1::gguf
