// SPDX-License-Identifier: MIT
// Families without attention: each layer keeps a state of fixed size. Shapes after vLLM 0.28 (serving
// convention: a convolution of k taps keeps k - 1 inputs), flash-linear-attention and the transformers
// classes.
#pragma once

#include <cmath>
#include <kvcap/io/hf/families/plain.hpp>
#include <kvcap/layer/recurrent.hpp>

namespace kvcap::inline v1::hf {

inline void put_state(Lowering& in, const LayerForms& forms) {
    const u32 layers = in.layers();
    in.begin(layers, 0);
    for (u32 i = 0; i < layers && !in.failed(); ++i) {
        in.put(i, forms);
    }
}

/// Element format of a recurrent state: as the file hints, else `rule` with a note.
inline ElementFormat state_format(
    Lowering& in, ElementFormat rule = bf16,
    std::string_view why = "absent: recurrent state in the model's 16-bit dtype") {
    const Keys keys{"mamba_ssm_cache_dtype", "mamba_ssm_dtype"};
    const std::string_view hint = in.first(keys).text();
    const bool wide = hint == "float32" || hint == "fp32";
    if (wide || hint == "bfloat16" || hint == "float16") {
        in.note(Origin::given, in.pointer(keys), "recurrent state in " + std::string{hint});
        return wide ? f32 : bf16;
    }
    in.note(Origin::assumed, in.pointer(keys), std::string{why});
    return rule;
}

/// Kernel of a causal convolution; 1 is legal and keeps nothing.
inline u32 conv_kernel(Lowering& in, Keys keys, u32 otherwise) {
    const u32 kernel = in.size(keys, otherwise, 1, 4096);
    in.note(Origin::derived, in.pointer(keys), "conv state of " + std::to_string(kernel - 1) +
            " inputs, as serving engines keep (transformers buffers " + std::to_string(kernel) + ")");
    return kernel;
}

/// intermediate_size where given (it wins over `expand`), else expand x width.
inline u32 inner_size(Lowering& in) {
    if (in["intermediate_size"].given()) {
        return in.size({"intermediate_size"});
    }
    return in.product(in.size({"expand"}, 2), in.width(), "expand x hidden_size");
}

inline void mamba1(Lowering& in) {
    const Mamba1 each{.inner = inner_size(in), .state_dim = in.size({"state_size"}, 16),
                      .kernel = conv_kernel(in, {"conv_kernel"}, 4), .state_format = state_format(in)};
    put_state(in, each.forms());
}

/// head_dim and num_heads are the state's, not attention's.
inline void mamba2(Lowering& in) {
    const u32 inner = in.product(in.size({"expand"}, 2), in.width(), "expand x hidden_size");
    const u32 dim = in.size({"head_dim"}, 64, 1, 65535);
    const u32 heads = in.size({"num_heads"}, in.defaults().heads);
    if (u64{heads} * dim != inner) {
        in.fail(in.pointer("num_heads"), std::to_string(heads) + " heads of " + std::to_string(dim),
                "expand x hidden_size = " + std::to_string(inner) + " in all");
    }
    put_state(in, Mamba2{.heads = heads, .head_dim = dim, .state_dim = in.size({"state_size"}, 128),
                         .groups = in.size({"n_groups"}, 8), .kernel = conv_kernel(in, {"conv_kernel"}, 4),
                         .state_format = state_format(in)}.forms());
}

inline void rwkv4(Lowering& in) {
    const u32 width = in.width();
    const u32 attention = in["attention_hidden_size"].given() ? in.size({"attention_hidden_size"}) : width;
    in.note(Origin::derived, in.pointer("hidden_size"), "token shifts and state in fp32");
    put_state(in, kvcap::rwkv4(width, attention).forms());
}

/// RWKV-5, 6, 7: two token shifts of the width; heads of 64 x 64. num_attention_heads, where present, is not
/// attention.
inline void rwkv567(Lowering& in) {
    const u32 width = in.width();
    const u32 attention = in["attention_hidden_size"].given() ? in.size({"attention_hidden_size"}) : width;
    const u32 dim = in.size({"head_size", "head_dim"}, 64, 1, 65535);
    if (in["attn"].given()) {
        in.fail(in.pointer("attn"), in["attn"].shown(), "no attention layers beside RWKV", {},
                Trouble::unknown);
    }
    in.note(Origin::derived, in.pointer("head_size"), "recurrent state in fp32");
    put_state(in,
              rwkv(width, in.quotient(attention, dim, in.pointer("hidden_size"), "width / head_size"), dim)
                  .forms());
}

/// A fraction of the width under `key`, rounded to an integer.
inline u32 scaled(Lowering& in, const char* key, double otherwise, u32 width) {
    const JsonValue value = in[key];
    const double factor = value.is_number() ? value.real() : otherwise;
    const double size = factor * static_cast<double>(width);
    if (value.given() && (!value.is_number() || !(size >= 1.0) || size > double{most_size})) {
        in.fail(in.pointer(key), value.shown(), "a positive factor of the width");
        return 1;
    }
    return static_cast<u32>(std::llround(size));
}

/// Gated linear attention: heads x (expand_k width / heads) x (expand_v width / heads).
inline void gla(Lowering& in) {
    const u32 heads = in.size({"num_heads"}, in.defaults().heads);
    const u32 width = in.width();
    const u32 key = scaled(in, "expand_k", 0.5, width);
    const u32 value = scaled(in, "expand_v", 1.0, width);
    if (in["attn"].given()) {
        in.fail(in.pointer("attn"), in["attn"].shown(), "no attention layers beside GLA", {},
                Trouble::unknown);
    }
    in.note(Origin::assumed, in.pointer("num_heads"), "recurrent state in fp32");
    State state = kvcap::gla(heads, in.quotient(key, heads, in.pointer("expand_k"), "key width / heads"),
                             in.quotient(value, heads, in.pointer("expand_v"), "value width / heads"));
    if (in.flag("use_short_conv", false)) {
        const Stream conv = conv_of(2 * key + value, conv_kernel(in, {"conv_size"}, 4), bf16);
        state = state_of(Kind::gla, conv, state.streams[0]);
    }
    put_state(in, state.forms());
}

/// xLSTM: key width is qk_dim_factor x width, rounded up to 64; matrix memory, normaliser and stabiliser per
/// head.
inline void xlstm(Lowering& in) {
    const u32 heads = in.size({"num_heads"}, in.defaults().heads);
    const u32 width = in.size({"embedding_dim", "hidden_size"}, in.defaults().width);
    const u64 key = round_up(scaled(in, "qk_dim_factor", 0.5, width), 64);
    const u64 value = round_up(scaled(in, "v_dim_factor", 1.0, width), 64);
    const bool half =
        in["inference_state_dtype"].text() == "bfloat16" || in["inference_state_dtype"].text() == "float16";
    in.note(half ? Origin::given : Origin::assumed, in.pointer("inference_state_dtype"),
            half ? "state in 16 bits" : "state in fp32");
    const u32 layers = in.size({"num_hidden_layers", "num_blocks"}, in.defaults().layers, 1, most_layers);
    const LayerForms forms =
        mlstm(heads, in.quotient(key, heads, in.pointer("qk_dim_factor"), "key width / heads"),
              in.quotient(value, heads, in.pointer("v_dim_factor"), "value width / heads"), half ? bf16 : f32)
            .forms();
    in.begin(layers, 0);
    for (u32 i = 0; i < layers && !in.failed(); ++i) {
        in.put(i, forms);
    }
}

}  // namespace kvcap::inline v1::hf
