// SPDX-License-Identifier: MIT
// Decoders that also attend to an encoder's tokens: the decoder's layers keep their own tokens and the
// encoder's. num_hidden_layers in these files is the encoder's. Rules: the transformers classes of that name.
#pragma once

#include <kvcap/io/hf/families/plain.hpp>

namespace kvcap::inline v1::hf {

inline void put_decoder(Lowering& in, u32 layers, u32 heads, u32 dim, Keys encoder_tokens) {
    const Gqa each{.kv_heads = heads, .head_dim = dim};
    const LayerForms self = each.forms();
    const LayerForms cross = Cross{each}.forms();
    in.begin(layers, heads);
    for (u32 i = 0; i < layers && !in.failed(); ++i) {
        in.put(i, self);
        in.put(i, cross);
    }
    in.model.encoder_tokens = in.optional_size(encoder_tokens, most_tokens);
}

/// BART and its kin, Whisper: decoder_layers, decoder_attention_heads, d_model.
inline void bart(Lowering& in) {
    const u32 layers = in.size({"decoder_layers", "num_decoder_layers", "decoder_num_hidden_layers"},
                               in.defaults().layers, 1, most_layers);
    const u32 heads =
        in.size({"decoder_attention_heads", "num_decoder_attention_heads", "decoder_num_attention_heads"},
                in.defaults().heads);
    const u32 width = in.size({"d_model", "hidden_size"}, in.defaults().width);
    put_decoder(in, layers, heads,
                in.quotient(width, heads, in.pointer("d_model"), "d_model / decoder_attention_heads"),
                {"max_source_positions", "max_encoder_position_embeddings", "max_position_embeddings"});
}

/// T5: num_decoder_layers falls back to num_layers; the inner width is num_heads x d_kv, not d_model.
inline void t5(Lowering& in) {
    const u32 layers = in.size({"num_decoder_layers", "num_layers"}, in.defaults().layers, 1, most_layers);
    const u32 heads = in.size({"num_heads"}, in.defaults().heads);
    put_decoder(in, layers, heads, in.size({"d_kv"}, 64), {"n_positions"});
}

/// Llama 3.2 Vision: cross_attention_layers keep image tokens only, the others text tokens only.
inline void mllama(Lowering& in) {
    const u32 layers = in.layers();
    const Gqa each = in.gqa();
    std::vector<bool> cross =
        marked(in, in["cross_attention_layers"], in.pointer("cross_attention_layers"), layers);
    if (!in["cross_attention_layers"].given()) {
        in.note(Origin::assumed, in.pointer("cross_attention_layers"),
                "absent: 3, 8, 13 ... 38 (class default)");
        for (u32 i = 3; i < layers && i <= 38; i += 5) {
            cross[i] = true;
        }
    }
    const LayerForms self = each.forms();
    const LayerForms image = Cross{each}.forms();
    in.begin(layers, in.heads());
    for (u32 i = 0; i < layers && !in.failed(); ++i) {
        in.put(i, cross[i] ? image : self);
    }
}

}  // namespace kvcap::inline v1::hf
