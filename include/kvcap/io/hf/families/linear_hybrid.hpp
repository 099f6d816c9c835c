// SPDX-License-Identifier: MIT
// Families of attention and linear-attention layers: gated delta, KDA, lightning, RG-LRU and short
// convolutions. After vLLM 0.28 model code, Jet-Nemotron's cache and the transformers classes.
#pragma once

#include <cmath>
#include <kvcap/io/hf/families/latent.hpp>
#include <kvcap/io/hf/families/mamba_hybrid.hpp>

namespace kvcap::inline v1::hf {

/// Every `full_attention_interval`-th layer is full, the others gated delta (Qwen3-Next, Qwen3.5).
inline void qwen3_next(Lowering& in) {
    const u32 layers = in.layers();
    const LayerForms attention = in.gqa().forms();
    const GatedDelta state{.key_heads = in.size({"linear_num_key_heads"}, 16),
                           .key_dim = in.size({"linear_key_head_dim"}, 128),
                           .value_heads = in.size({"linear_num_value_heads"}, 32),
                           .value_dim = in.size({"linear_value_head_dim"}, 128, 1, 65535),
                           .kernel = conv_kernel(in, {"linear_conv_kernel_dim"}, 4),
                           .state_format = state_format(in)};
    in.product(2 * u64{state.key_heads}, state.key_dim, "key heads x width");
    in.product(state.value_heads, state.value_dim, "value heads x width");
    const bool listed = in["layer_types"].given();
    const u32 every = listed ? 1 : in.size({"full_attention_interval"}, 4);
    const std::vector<Mixer> kinds =
        mixers(in, layers, [=](u32 i) { return (i + 1) % every == 0 ? Mixer::full : Mixer::linear; });
    put_either(in, kinds, attention, state.forms());
}

/// OLMo hybrid: missing linear sizes come from the width: keys 0.75 width / heads, values twice that.
inline void olmo_hybrid(Lowering& in) {
    const u32 layers = in.layers();
    const LayerForms attention = in.gqa().forms();
    const u32 key_heads = in["linear_num_key_heads"].given() ? in.size({"linear_num_key_heads"}) : in.heads();
    const u32 value_heads =
        in["linear_num_value_heads"].given() ? in.size({"linear_num_value_heads"}) : in.heads();
    u32 key_dim = 3 * in.width() / 4 / key_heads;
    if (in["linear_key_head_dim"].given()) {
        key_dim = in.size({"linear_key_head_dim"});
    } else {
        in.note(Origin::derived, in.pointer("linear_key_head_dim"),
                std::to_string(key_dim) + " = 0.75 x width / heads");
    }
    const u32 value_dim =
        in["linear_value_head_dim"].given() ? in.size({"linear_value_head_dim"}) : 2 * key_dim;
    const GatedDelta state{.key_heads = key_heads,
                           .key_dim = key_dim,
                           .value_heads = value_heads,
                           .value_dim = value_dim,
                           .kernel = conv_kernel(in, {"linear_conv_kernel_dim"}, 4),
                           .state_format = state_format(in)};
    in.product(2 * u64{key_heads}, key_dim, "key heads x width");
    in.product(value_heads, value_dim, "value heads x width");
    if (value_dim > 65535) {
        in.fail(in.pointer("linear_value_head_dim"), std::to_string(value_dim), "at most 65535");
    }
    const std::vector<Mixer> kinds = mixers(in, layers, [=](u32 i) {
        return i % 4 == 3 || (layers < 4 && i + 1 == layers) ? Mixer::full : Mixer::linear;
    });
    put_either(in, kinds, attention, state.forms());
}

/// Jet-Nemotron: jet layers convolve values only; value width is expand_v x key width, rounded.
inline void jet_nemotron(Lowering& in) {
    const u32 layers = in.layers();
    const JsonValue own = in["efficient_attention_config"];
    const std::string where = in.pointer("efficient_attention_config");
    const JsonValue jet = own["jet"];
    const auto of_jet = [&](const char* key, u32 otherwise) {
        return jet[key].given() ? static_cast<u32>(in.checked(jet[key], where + "/jet/" + key, 1, 65535))
                                : otherwise;
    };
    const u32 heads = of_jet("num_heads", 6);
    const u32 key = of_jet("head_dim", 256);
    const double expand = jet["expand_v"].is_number() ? jet["expand_v"].real() : 2.0;
    if (!(expand > 0.0 && expand * static_cast<double>(key) <= 65535.0)) {
        in.fail(where + "/jet/expand_v", jet["expand_v"].shown(), "a positive factor");
    }
    const u32 value = in.failed() ? 1 : static_cast<u32>(std::llround(expand * static_cast<double>(key)));
    const u32 kernel = of_jet("conv_size", 4);
    const State state =
        state_of(Kind::gated_delta, conv_of(in.product(heads, value, "heads x value width"), kernel, bf16),
                 matrix_state(heads, key, value, f32));
    in.note(Origin::assumed, where + "/jet", "recurrent state in fp32; conv state of kernel - 1 values");
    const JsonValue window = own["swa"]["window_size"];
    const Attention caches = attention_of(
        in.gqa(), window.given() ? in.checked(window, where + "/swa/window_size", 1, most_tokens) : 0);
    const std::vector<Mixer> kinds = listed(in, layers, "layer_types");
    if (kinds.empty()) {
        in.fail(in.pointer("layer_types"), "nothing", "a list of jet, swa and attn");
    }
    in.begin(layers, in.heads());
    for (u32 i = 0; i < kinds.size() && !in.failed(); ++i) {
        if (kinds[i] != Mixer::linear && kinds[i] != Mixer::full && kinds[i] != Mixer::sliding) {
            in.fail(in.pointer("layer_types") + '/' + std::to_string(i), "another kind of layer",
                    "jet, swa or attn");
        }
        in.put(i, kinds[i] == Mixer::linear ? state.forms() : caches.of(kinds[i]));
    }
}

/// Kimi's lists count layers from 1; one of them may be missing. Without both every fourth layer is full.
inline std::vector<Mixer> kimi_kinds(Lowering& in, u32 layers, JsonValue own, const std::string& where) {
    const bool by_full = own["full_attn_layers"].given();
    const bool by_kda = own["kda_layers"].given();
    const std::vector<bool> full =
        marked(in, own["full_attn_layers"], where + "/full_attn_layers", layers, 1);
    const std::vector<bool> kda = marked(in, own["kda_layers"], where + "/kda_layers", layers, 1);
    for (u32 i = 0; i < layers && by_full && by_kda; ++i) {
        if (full[i] == kda[i]) {
            in.fail(where,
                    "layer " + std::to_string(i + 1) + " in " + (full[i] ? "both lists" : "neither list"),
                    "each layer in full_attn_layers or kda_layers");
        }
    }
    return mixers(in, layers, [&](u32 i) {
        const bool is_full = by_full ? full[i] : by_kda ? !kda[i] : i != 0 && i % 4 == 0;
        return is_full ? Mixer::full : Mixer::linear;
    });
}

/// Kimi Linear: 1-based lists; NoPE still keeps the rope part of the latent; KDA states are always fp32.
inline void kimi_linear(Lowering& in) {
    const u32 layers = in.layers();
    const JsonValue own = in["linear_attn_config"];
    const std::string where = in.pointer("linear_attn_config");
    const auto of_linear = [&](const char* key, const char* flat, u32 otherwise) {
        const JsonValue value = own[key].given() ? own[key] : in[flat];
        return value.given() ? static_cast<u32>(in.checked(value, where + '/' + key, 1, 65535)) : otherwise;
    };
    const Kda state{.heads = of_linear("num_heads", "linear_num_heads", 32),
                    .head_dim = of_linear("head_dim", "linear_head_dim", 128),
                    .kernel = of_linear("short_conv_kernel_size", "linear_conv_kernel_dim", 4)};
    in.product(3 * u64{state.heads}, state.head_dim, "KDA heads x width");
    in.note(Origin::derived, where,
            "KDA state in fp32; conv state of kernel - 1 inputs; layer numbers count from 1");
    put_either(in, kimi_kinds(in, layers, own, where), mla_of(in).forms(), state.forms());
    in.model.expanded_elements = 0;
}

/// Lightning states use all query heads; key heads do not shrink them.
inline LayerForms lightning_of(Lowering& in) {
    const u32 dim = in.head_dim();
    if (dim > 65535) {
        in.fail(in.pointer("head_dim"), std::to_string(dim), "at most 65535");
    }
    return lightning(in.heads(), dim,
                     state_format(in, bf16,
                                  "absent: lightning state in the model's 16-bit dtype "
                                  "(some engines keep fp32)"))
        .forms();
}

/// MiniMax-01 and M1: attn_type_list, 1 softmax, 0 lightning.
inline void minimax_01(Lowering& in) {
    const u32 layers = in.layers();
    const std::vector<u64> types = numbers(in, in["attn_type_list"], in.pointer("attn_type_list"), layers);
    const std::vector<Mixer> kinds = mixers(in, layers, [&](u32 i) {
        return i < types.size() && types[i] == 1 ? Mixer::full : Mixer::linear;
    });
    if (types.empty() && !in["layer_types"].given()) {
        in.fail(in.pointer("attn_type_list"), "nothing", "a list of " + std::to_string(layers) + " numbers");
    }
    put_either(in, kinds, in.gqa().forms(), lightning_of(in));
}

/// transformers' `minimax`: even layers softmax, odd ones linear.
inline void minimax(Lowering& in) {
    if (in["attn_type_list"].is_array()) {
        return minimax_01(in);
    }
    const u32 layers = in.layers();
    const std::vector<Mixer> kinds =
        mixers(in, layers, [](u32 i) { return i % 2 == 0 ? Mixer::full : Mixer::linear; });
    put_either(in, kinds, in.gqa().forms(), lightning_of(in));
}

/// Ling and Ring linear: the last of each group is softmax (and what is left over behind whole groups), the
/// others lightning, or KDA in files with a short convolution.
inline void bailing(Lowering& in) {
    const u32 layers = in.layers();
    const std::string_view said = in["full_attention_type"].text();
    const bool latent = said.empty() ? in["kv_lora_rank"].given() : said == "mla" || said == "MLA";
    LayerForms state = lightning_of(in);
    if (in["short_conv_kernel_size"].given()) {
        const Stream& matrix = state[0].streams[0];
        state = Kda{.heads = matrix.heads, .head_dim = matrix.width,
                    .kernel = conv_kernel(in, {"short_conv_kernel_size"}, 4)}.forms();
        in.product(3 * u64{matrix.heads}, matrix.width, "KDA heads x width");
    }
    const LayerForms attention = latent ? mla_of(in).forms() : in.gqa().forms();
    const bool listed = in["layer_types"].given();
    const u32 group = listed ? 1 : in.size({"layer_group_size"});
    const std::vector<Mixer> kinds = mixers(in, layers, [=](u32 i) {
        return (i + 1) % group == 0 || i >= layers / group * group ? Mixer::full : Mixer::linear;
    });
    put_either(in, kinds, attention, state);
    in.model.expanded_elements = 0;
}

/// RecurrentGemma: block_types repeat; attention keeps a window, RG-LRU an fp32 vector: nothing grows.
inline void recurrent_gemma(Lowering& in) {
    const u32 layers = in.layers();
    const JsonValue blocks = in.first({"block_types", "_block_types"});
    std::vector<bool> attention;
    blocks.each(
        [&](u32, std::string_view, JsonValue word) { attention.push_back(word.text() == "attention"); });
    if (attention.empty()) {
        in.note(Origin::assumed, in.pointer("block_types"), "absent: recurrent, recurrent, attention");
        attention = {false, false, true};
    }
    const u32 width = in["lru_width"].given() ? in.size({"lru_width"}) : in.width();
    const LayerForms window =
        attention_of(in.gqa(), in.window({"attention_window_size", "sliding_window"})).sliding;
    const LayerForms state = rg_lru(width, conv_kernel(in, {"conv1d_width"}, 4)).forms();
    std::vector<Mixer> kinds(layers);
    for (u32 i = 0; i < layers; ++i) {
        kinds[i] = attention[i % attention.size()] ? Mixer::full : Mixer::linear;
    }
    put_either(in, kinds, window, state);
}

/// LFM2: attention at full_attn_idxs or where layer_types says; without both, everywhere. conv_L_cache is the
/// kernel.
inline void lfm2(Lowering& in) {
    const u32 layers = in.layers();
    const bool by_index = in["full_attn_idxs"].given();
    const std::vector<bool> full = marked(in, in["full_attn_idxs"], in.pointer("full_attn_idxs"), layers);
    const std::vector<Mixer> kinds =
        mixers(in, layers, [&](u32 i) { return !by_index || full[i] ? Mixer::full : Mixer::conv; });
    const LayerForms state = short_conv(in.width(), conv_kernel(in, {"conv_L_cache"}, 3)).forms();
    put_either(in, kinds, in.gqa().forms(), state, Mixer::conv);
}

}  // namespace kvcap::inline v1::hf
