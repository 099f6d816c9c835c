// SPDX-License-Identifier: MIT
// Families of attention and Mamba layers: which layers are which, and how wide is the state? After vLLM 0.28
// model code and the transformers classes. Where a layer holds both, the order of caches is the engine's
// registration order.
#pragma once

#include <kvcap/io/hf/families/state.hpp>

namespace kvcap::inline v1::hf {

/// Puts attention on full layers and the state on the others, which must be of kind `other` (the word for it
/// may also be linear_attention, as newer files write every state).
inline void put_either(Lowering& in, const std::vector<Mixer>& kinds, const LayerForms& attention,
                       const LayerForms& state, Mixer other = Mixer::linear) {
    in.begin(static_cast<u32>(kinds.size()), in.heads());
    for (u32 i = 0; i < kinds.size() && !in.failed(); ++i) {
        if (kinds[i] != Mixer::full && kinds[i] != other && kinds[i] != Mixer::linear) {
            in.fail(in.pointer("layer_types") + '/' + std::to_string(i),
                    "a kind of layer that " + std::string{in.type()} + " does not have",
                    "attention or its own kind of state");
        }
        in.put(i, kinds[i] == Mixer::full ? attention : state);
    }
    draft_layers(in, attention);
}

/// mamba_n_heads of mamba_d_head; "auto" or null: inner / heads.
inline Mamba2 mamba2_of(Lowering& in, u32 inner) {
    const u32 heads = in.size({"mamba_n_heads", "mamba_num_heads"}, 128);
    const JsonValue given = in["mamba_d_head"];
    const u32 dim = given.is_whole() ? in.size({"mamba_d_head"}, 0, 1, 65535)
                                     : in.quotient(inner, heads, in.pointer("mamba_d_head"),
                                                   "mamba width / mamba_n_heads");
    if (given.given() && !given.is_whole() && given.text() != "auto") {
        in.fail(in.pointer("mamba_d_head"), given.shown(), "an integer or \"auto\"");
    }
    if (u64{heads} * dim != inner) {
        in.fail(in.pointer("mamba_d_head"), std::to_string(heads) + " heads of " + std::to_string(dim),
                std::to_string(inner) + " in all");
    }
    return {.heads = heads, .head_dim = dim, .state_dim = in.size({"mamba_d_state"}, 256),
            .groups = in.size({"mamba_n_groups"}, 1), .kernel = conv_kernel(in, {"mamba_d_conv"}, 4),
            .state_format = state_format(in)};
}

inline u32 mamba_inner(Lowering& in) {
    return in.product(in.size({"mamba_expand"}, 2), in.width(), "mamba_expand x hidden_size");
}

/// Jamba: attention where i mod attn_layer_period is attn_layer_offset, else Mamba-1.
inline void jamba(Lowering& in) {
    const u32 layers = in.layers();
    const LayerForms attention = in.gqa().forms();
    const u32 period = in.size({"attn_layer_period"}, 8);
    const u32 offset = in.size({"attn_layer_offset"}, 4, 0);
    const Mamba1 state{.inner = mamba_inner(in), .state_dim = in.size({"mamba_d_state"}, 16),
                       .kernel = conv_kernel(in, {"mamba_d_conv"}, 4), .state_format = state_format(in)};
    const std::vector<Mixer> kinds = mixers(in, layers, [&](u32 i) {
        return i % period == offset ? Mixer::full : Mixer::mamba;
    });
    put_either(in, kinds, attention, state.forms(), Mixer::mamba);
}

/// Bamba: attention at attn_layer_indices (null: nowhere), else Mamba-2.
inline void bamba(Lowering& in) {
    const u32 layers = in.layers();
    const LayerForms attention = in.gqa().forms();
    const LayerForms state = mamba2_of(in, mamba_inner(in)).forms();
    const std::vector<bool> at =
        marked(in, in["attn_layer_indices"], in.pointer("attn_layer_indices"), layers);
    const std::vector<Mixer> kinds =
        mixers(in, layers, [&](u32 i) { return at[i] ? Mixer::full : Mixer::mamba; });
    put_either(in, kinds, attention, state, Mixer::mamba);
}

/// Granite 4: as `layer_types` says; without it every layer is Mamba-2.
inline void granite_hybrid(Lowering& in) {
    const u32 layers = in.layers();
    const std::vector<Mixer> kinds = mixers(in, layers, [](u32) { return Mixer::mamba; });
    bool any_state = false;
    for (const Mixer kind : kinds) {
        any_state = any_state || kind != Mixer::full;
    }
    const LayerForms attention = in.gqa().forms();
    const LayerForms state = any_state ? mamba2_of(in, mamba_inner(in)).forms() : attention;
    put_either(in, kinds, attention, state, Mixer::mamba);
}

/// Falcon-H1: attention and Mamba-2 side by side in every layer; the state is mamba_d_ssm wide.
inline void falcon_h1(Lowering& in) {
    const u32 layers = in.layers();
    const LayerForms attention = in.gqa().forms();
    const u32 inner = in["mamba_d_ssm"].is_null() ? mamba_inner(in) : in.size({"mamba_d_ssm"}, 1024);
    const LayerForms state = mamba2_of(in, inner).forms();
    in.begin(layers, in.heads());
    for (u32 i = 0; i < layers && !in.failed(); ++i) {
        in.put(i, attention);
        in.put(i, state);
    }
}

/// Zamba and Zamba2 hold both caches on hybrid layers; the shared attention's caches are registered before
/// all states.
inline void put_zamba(Lowering& in, const std::vector<bool>& hybrid, const LayerForms& attention,
                      const LayerForms& state) {
    in.begin(static_cast<u32>(hybrid.size()), in.heads());
    for (u32 i = 0; i < hybrid.size() && !in.failed(); ++i) {
        if (hybrid[i]) {
            in.put(i, attention);
        }
    }
    for (u32 i = 0; i < hybrid.size() && !in.failed(); ++i) {
        in.put(i, state);
    }
}

/// Attention is twice as wide as the model; `kv_channels` in these files is the halved value.
inline Gqa zamba_attention(Lowering& in) {
    const u32 kv = in.kv_heads({"num_key_value_heads"});
    if (in["attention_head_dim"].given()) {
        return {.kv_heads = kv, .head_dim = in.size({"attention_head_dim"})};
    }
    const u32 wide = in.product(2, in.width(), "2 x hidden_size");
    return {.kv_heads = kv,
            .head_dim = in.quotient(wide, in.heads(), in.pointer("hidden_size"),
                                    "2 x hidden_size / num_attention_heads")};
}

inline void zamba(Lowering& in) {
    const u32 layers = in.layers();
    const u32 period = in.size({"attn_layer_period"}, 6);
    const u32 offset = in.size({"attn_layer_offset"}, 4, 0);
    std::vector<bool> hybrid(layers);
    const std::vector<Mixer> kinds = mixers(in, layers, [&](u32 i) {
        return i == 2 || (i > 2 && (i - 3) % period == offset) ? Mixer::hybrid : Mixer::mamba;
    }, "layers_block_type");
    for (u32 i = 0; i < layers; ++i) {
        hybrid[i] = kinds[i] == Mixer::hybrid;
    }
    const Gqa attention = zamba_attention(in);
    const u32 inner = mamba_inner(in);
    const u32 heads = in.size({"n_mamba_heads"}, 2);
    const u32 rows = in.quotient(inner, heads, in.pointer("n_mamba_heads"), "mamba width / n_mamba_heads");
    if (rows > 65535) {
        in.fail(in.pointer("n_mamba_heads"), std::to_string(rows) + " rows a head", "at most 65535");
    }
    const Stream conv = conv_of(inner, conv_kernel(in, {"mamba_d_conv"}, 4), bf16);
    const Stream state = matrix_state(heads, rows, in.size({"mamba_d_state"}, 16), state_format(in));
    put_zamba(in, hybrid, attention.forms(), state_of(Kind::mamba1, conv, state).forms());
}

inline void zamba2(Lowering& in) {
    const u32 layers = in.layers();
    std::vector<bool> hybrid = marked(in, in["hybrid_layer_ids"], in.pointer("hybrid_layer_ids"), layers);
    const bool listed = in["layers_block_type"].given();
    if (listed || !in["hybrid_layer_ids"].given()) {
        const std::vector<Mixer> kinds = mixers(in, layers, [](u32 i) {
            return (i < 43 && i != 0 && i % 6 == 0) || i == 47 || i == 51 ? Mixer::hybrid : Mixer::mamba;
        }, "layers_block_type");
        for (u32 i = 0; i < layers; ++i) {
            hybrid[i] = kinds[i] == Mixer::hybrid;
        }
    }
    const Gqa attention = zamba_attention(in);
    const u32 inner =
        in.product(in.size({"mamba_expand", "expansion_factor"}, 2), in.width(), "expand x hidden_size");
    const bool by_dim = in["mamba_headdim"].given();
    const u32 heads = by_dim ? in.quotient(inner, in.size({"mamba_headdim"}), in.pointer("mamba_headdim"),
                                           "mamba width / mamba_headdim")
                             : in.size({"n_mamba_heads"}, 8);
    const u32 dim = in.quotient(inner, heads, in.pointer("n_mamba_heads"), "mamba width / n_mamba_heads");
    const Mamba2 state{.heads = heads,
                       .head_dim = dim,
                       .state_dim = in.size({"mamba_d_state", "state_size"}, 64),
                       .groups = in.size({"mamba_ngroups"}, 1),
                       .kernel = conv_kernel(in, {"mamba_d_conv", "conv_dimension"}, 4),
                       .state_format = state_format(in)};
    put_zamba(in, hybrid, attention.forms(), state.forms());
}

/// Nemotron-H: one letter or word a layer. M mamba2, * attention, - mlp, E experts.
inline std::vector<Mixer> nemotron_kinds(Lowering& in) {
    std::vector<Mixer> kinds;
    const JsonValue words = in.first({"layers_block_type", "layer_types"});
    const JsonValue letters = in["hybrid_override_pattern"];
    if (words.is_array()) {
        return listed(in, words.size(),
                      in["layers_block_type"].is_array() ? "layers_block_type" : "layer_types");
    }
    for (const char letter : letters.text()) {
        kinds.push_back(letter == 'M' ? Mixer::mamba : letter == '*' ? Mixer::full : Mixer::none);
        if (letter != 'M' && letter != '*' && letter != '-' && letter != 'E') {
            in.fail(in.pointer("hybrid_override_pattern"), std::string{letter}, "letters M, *, - and E");
        }
    }
    if (kinds.empty()) {
        in.fail(in.pointer("hybrid_override_pattern"), letters.shown(),
                "a pattern, or the list layers_block_type");
    }
    return kinds;
}

inline void nemotron_draft(Lowering& in, const LayerForms& attention) {
    const u64 layers = in.optional_size({"num_nextn_predict_layers"}, most_layers);
    if (layers == 0) {
        return;
    }
    const JsonValue words = in["mtp_layers_block_type"];
    u32 caches = words.is_array() ? 0 : 1;
    words.each([&](u32, std::string_view, JsonValue word) { caches += word.text() == "attention" ? 1 : 0; });
    if (const JsonValue letters = in["mtp_hybrid_override_pattern"]; letters.is_text() && !words.is_array()) {
        caches = 0;
        for (const char letter : letters.text()) {
            caches += letter == '*' ? 1 : 0;
        }
    }
    LayerForms forms{};
    for (u32 i = 0; i < caches && i < LayerForms::capacity(); ++i) {
        forms.items[forms.count++] = attention[0];
    }
    in.put_draft(static_cast<u32>(layers), "num_nextn_predict_layers", forms);
}

inline void nemotron_h(Lowering& in) {
    const std::vector<Mixer> kinds = nemotron_kinds(in);
    const u64 said = in.optional_size({"num_hidden_layers"}, most_layers);
    const u32 layers = static_cast<u32>(kinds.size());
    if (said != 0 && said != layers && !in.failed()) {
        in.fail(in.pointer("num_hidden_layers"), std::to_string(said),
                "the pattern's length " + std::to_string(layers));
    }
    const LayerForms attention = Gqa{.kv_heads = in.kv_heads(),
                                     .head_dim = in.head_dim({"head_dim", "attention_head_dim"})}.forms();
    const Mamba2 state{
        .heads = in.size({"mamba_num_heads"}, 128),
        .head_dim = in.size({"mamba_head_dim"}, 64, 1, 65535),
        .state_dim = in.size({"ssm_state_size"}, 128),
        .groups = in.size({"n_groups"}, 8),
        .kernel = conv_kernel(in, {"conv_kernel"}, 4),
        .state_format = state_format(in, f32, "absent: recurrent state in fp32, as vLLM takes it")};
    in.product(state.heads, state.head_dim, "mamba_num_heads x mamba_head_dim");
    in.begin(layers, in.heads());
    for (u32 i = 0; i < layers && !in.failed(); ++i) {
        if (kinds[i] == Mixer::full) {
            in.put(i, attention);
        } else if (kinds[i] == Mixer::mamba || kinds[i] == Mixer::linear) {
            in.put(i, state.forms());
        } else if (kinds[i] != Mixer::none) {
            in.fail(in.pointer("layers_block_type") + '/' + std::to_string(i),
                    "a kind of layer that nemotron_h does not have", "mamba, attention, moe or mlp");
        }
    }
    nemotron_draft(in, attention);
}

/// PLaMo 2: attention where i mod mamba_step is mamba_step / 2 (short models: the last layer); no B and C in
/// the conv.
inline void plamo2(Lowering& in) {
    const u32 layers = in.layers();
    const u32 step = in.size({"mamba_step"}, 2);
    const bool states = in.flag("mamba_enabled", true);
    const u32 dim = in.size({"hidden_size_per_head"}, 128, 1, 65535);
    const LayerForms attention = Gqa{.kv_heads = in.kv_heads(), .head_dim = dim}.forms();
    const Mamba2 state{.heads = in.size({"mamba_num_heads"}, 64), .head_dim = dim,
                       .state_dim = in.size({"mamba_d_state"}, 64), .groups = 0,
                       .kernel = conv_kernel(in, {"mamba_d_conv"}, 4), .state_format = state_format(in)};
    in.product(state.heads, dim, "mamba_num_heads x hidden_size_per_head");
    std::vector<Mixer> kinds(layers, Mixer::mamba);
    for (u32 i = 0; i < layers; ++i) {
        const bool attends = !states || (layers <= step / 2 ? i + 1 == layers : i % step == step / 2);
        kinds[i] = attends ? Mixer::full : Mixer::mamba;
    }
    put_either(in, kinds, attention, state.forms(), Mixer::mamba);
}

}  // namespace kvcap::inline v1::hf
