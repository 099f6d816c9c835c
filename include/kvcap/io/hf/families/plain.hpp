// SPDX-License-Identifier: MIT
// Families that keep keys and values of every token on every layer: which key says how many heads and how
// wide? Rules and defaults: the transformers configuration and modeling classes of that name; remote code
// where named.
#pragma once

#include <kvcap/io/hf/attention.hpp>

namespace kvcap::inline v1::hf {

/// 2 x K x d per layer; an explicit `layer_types` with windows is honoured.
inline void plain(Lowering& in) {
    attention_layers(in, in.window(), [](u32) { return Mixer::full; });
}

/// One key head per query head, as wide as width / heads; other keys mean nothing to these classes.
inline void multi_head(Lowering& in) {
    const u32 heads = in.heads();
    every_token(in, {.kv_heads = heads, .head_dim = in.head_dim_of_width()});
}

/// GLM-4.5: without `head_dim` the class takes width / heads rounded down.
inline void glm4_moe(Lowering& in) {
    if (in["head_dim"].given()) {
        return plain(in);
    }
    const u32 kv = in.kv_heads();
    const u32 dim = in.width() / in.heads();
    in.note(Origin::assumed, in.pointer("head_dim"),
            "absent: " + std::to_string(dim) + " = hidden_size / heads, rounded down");
    every_token(in, {.kv_heads = kv, .head_dim = dim});
}

inline void bloom(Lowering& in) {
    const u32 heads = in.heads();
    const u32 width = in.size({"n_embed", "hidden_size"}, in.defaults().width);
    every_token(in, {.kv_heads = heads,
                     .head_dim = in.quotient(width, heads, in.pointer("hidden_size"), "n_embed / n_head")});
}

/// Qwen 1: one key head per query head; `kv_channels` is the head width.
inline void qwen1(Lowering& in) {
    const u32 heads = in.heads();
    every_token(in, {.kv_heads = heads, .head_dim = in.head_dim({"kv_channels"})});
}

/// One shared key head where `multi_query` is true (the class default).
inline void gpt_bigcode(Lowering& in) {
    const u32 kv = in.flag("multi_query", true) ? 1 : in.heads();
    in.note(in["multi_query"].present() ? Origin::given : Origin::assumed, in.pointer("multi_query"),
            std::to_string(kv) + " key heads");
    every_token(in, {.kv_heads = kv, .head_dim = in.head_dim_of_width()});
}

/// Three rules: new_decoder_architecture -> num_kv_heads; else multi_query (default true) -> 1; else the
/// query heads.
inline void falcon(Lowering& in) {
    const bool grouped = in.flag("new_decoder_architecture", in.type() == "RefinedWeb");
    const bool shared = in.flag("multi_query", true);
    const u32 kv = grouped ? in.kv_heads({"num_kv_heads", "n_head_kv"}) : shared ? 1 : in.heads();
    every_token(in, {.kv_heads = kv, .head_dim = in.head_dim_of_width()});
}

inline void chatglm(Lowering& in) {
    const u32 kv = in.flag("multi_query_attention", false)
                       ? in.grouped(in.heads(), in.size({"multi_query_group_num"}, 1),
                                    in.pointer("multi_query_group_num"))
                       : in.heads();
    every_token(in, {.kv_heads = kv, .head_dim = in.head_dim({"kv_channels"})});
}

/// DBRX and MPT keep their key heads in `attn_config`.
inline void attn_config(Lowering& in) {
    const JsonValue value = in["attn_config"]["kv_n_heads"];
    const std::string where = in.pointer("attn_config") + "/kv_n_heads";
    u32 kv = in.defaults().kv_heads == 0 ? in.heads() : in.defaults().kv_heads;
    if (value.given()) {
        kv = static_cast<u32>(in.checked(value, where, 1, most_size));
    } else {
        kv = in["attn_config"]["attn_type"].text() == "multiquery_attention" ? 1 : kv;
        in.note(Origin::assumed, where, "absent: " + std::to_string(kv) + " key heads");
    }
    every_token(in, {.kv_heads = in.grouped(in.heads(), kv, where), .head_dim = in.head_dim_of_width()});
}

/// Query heads = key heads x experts per token; the query-head key is absent.
inline void jetmoe(Lowering& in) {
    const u32 layers = in.layers();
    const u32 kv = in.size({"num_key_value_heads"}, in.defaults().kv_heads);
    const u32 experts = in.size({"num_experts_per_tok"}, 2);
    const LayerForms forms =
        Gqa{.kv_heads = kv, .head_dim = in.size({"kv_channels"}, in.defaults().head_dim)}.forms();
    in.begin(layers, in.product(kv, experts, "query heads"));
    for (u32 i = 0; i < layers && !in.failed(); ++i) {
        in.put(i, forms);
    }
}

/// Step-3's multi-matrix factorisation attention: one key head of 256.
inline void step3(Lowering& in) {
    const u32 groups = in.size({"num_attention_groups"}, in.defaults().kv_heads);
    every_token(in, {.kv_heads = in.grouped(in.heads(), groups, in.pointer("num_attention_groups")),
                     .head_dim = in.head_dim({"head_dim"})});
}

/// Hunyuan: with `use_cla`, layers whose index is no multiple of the factor use the cache of the layer
/// before.
inline void hunyuan(Lowering& in) {
    if (!in.flag("use_cla", false)) {
        return plain(in);
    }
    const u32 layers = in.layers();
    const LayerForms forms = in.gqa().forms();
    const u32 factor = in.size({"cla_share_factor"}, 1);
    in.begin(layers, in.heads());
    for (u32 i = 0; i < layers && !in.failed(); ++i) {
        if (i % factor == 0) {
            in.put(i, forms);
        } else {
            in.share(i, i - i % factor);
        }
    }
}

/// Nemotron-NAS (DeciLM): each layer has its own group size, a linear replacement or nothing.
inline void nemotron_nas(Lowering& in) {
    const JsonValue blocks = in["block_configs"];
    const u32 layers = in.layers();
    const u32 heads = in.heads();
    const u32 dim = in.head_dim();
    if (!blocks.is_array() || blocks.size() != layers) {
        in.fail(in.pointer("block_configs"), blocks.shown(),
                "a list of " + std::to_string(layers) + " blocks");
    }
    in.begin(layers, heads);
    blocks.each([&](u32 i, std::string_view, JsonValue block) {
        const JsonValue attention = block["attention"];
        const std::string where =
            in.pointer("block_configs") + '/' + std::to_string(i) + "/attention/n_heads_in_group";
        if (in.failed() || attention["no_op"].is_true() || attention["replace_with_linear"].is_true()) {
            return;
        }
        const u64 group = in.checked(attention["n_heads_in_group"], where, 1, heads);
        in.put(i,
               Gqa{.kv_heads = in.quotient(heads, group, where, "heads / n_heads_in_group"), .head_dim = dim}
                   .forms());
    });
}

/// Encoders: nothing is cached, but tensor parallelism still divides the query heads. With is_decoder they
/// are decoders.
inline void encoder_only(Lowering& in) {
    if (in.flag("is_decoder", false)) {
        return multi_head(in);
    }
    in.begin(in.layers(), in.heads());
    in.note(Origin::derived, in.pointer("model_type"),
            std::string{in.type()} + " is an encoder: it keeps no cache");
}

}  // namespace kvcap::inline v1::hf
