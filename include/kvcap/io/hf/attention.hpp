// SPDX-License-Identifier: MIT
// The lowering that most families share: keys and values per head on every layer, some of them in a window or
// a chunk. A family gives the rule that says which; an explicit `layer_types` overrules it.
#pragma once

#include <algorithm>
#include <kvcap/io/hf/pattern.hpp>
#include <kvcap/layer/retain.hpp>
#include <kvcap/layer/shared.hpp>

namespace kvcap::inline v1::hf {

/// Draft (MTP) layers under `num_nextn_predict_layers` or `mtp_num_hidden_layers`, each with the caches
/// `forms`.
inline void draft_layers(Lowering& in, const LayerForms& forms) {
    constexpr JsonKey keys[] = {"num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers"};
    for (const JsonKey& key : keys) {
        if (const u64 layers = in.optional_size({key}, most_layers); layers > 0) {
            return in.put_draft(static_cast<u32>(layers), key.name, forms);
        }
    }
}

/// What a layer of each kind keeps.
struct Attention {
    LayerForms full{};
    LayerForms sliding{};
    LayerForms chunked{};

    const LayerForms& of(Mixer mixer) const noexcept {
        return mixer == Mixer::sliding ? sliding : mixer == Mixer::chunked ? chunked : full;
    }
};

/// One head geometry for all kinds. A window of 0 is none: such layers keep everything.
inline Attention attention_of(const Gqa& each, u64 window, u64 chunk = 0) noexcept {
    const LayerForms all = each.forms();
    return {all, window == 0 ? all : Windowed{each, Tokens{window}}.forms(),
            chunk == 0 ? all : Chunked{each, Tokens{chunk}}.forms()};
}

/// Puts one attention cache on each layer; refuses kinds that an attention model cannot have.
inline void put_attention(Lowering& in, const std::vector<Mixer>& kinds, const Attention& caches) {
    for (u32 i = 0; i < kinds.size() && !in.failed(); ++i) {
        if (kinds[i] != Mixer::full && kinds[i] != Mixer::sliding && kinds[i] != Mixer::chunked) {
            in.fail(in.pointer("layer_types") + '/' + std::to_string(i), "a layer kind without attention",
                    "full_attention, sliding_attention or chunked_attention");
        }
        in.put(i, caches.of(kinds[i]));
    }
    const auto open = [&](Mixer kind) { return kind != Mixer::full && caches.of(kind)[0] == caches.full[0]; };
    const auto first = std::find_if(kinds.begin(), kinds.end(), open);
    if (in["layer_types"].given() && first != kinds.end()) {
        in.note(Origin::assumed, in.pointer("layer_types") + '/' + std::to_string(first - kinds.begin()),
                "listed as sliding or chunked, and no size is said: such layers keep every token");
    }
}

/// Attention on every layer; `rule(i)` says which kind where the file does not.
template <class Rule>
void attention_layers(Lowering& in, u64 window, Rule rule) {
    const u32 layers = in.layers();
    const Attention caches =
        attention_of(in.gqa(), window, in.optional_size({"attention_chunk_size"}, most_tokens));
    in.begin(layers, in.heads());
    put_attention(in, mixers(in, layers, rule), caches);
    draft_layers(in, caches.full);
}

/// Keys and values for every token on every layer.
inline void every_token(Lowering& in, const Gqa& each) {
    const u32 layers = in.layers();
    const LayerForms forms = each.forms();
    in.begin(layers, in.heads());
    for (u32 i = 0; i < layers && !in.failed(); ++i) {
        in.put(i, forms);
    }
    draft_layers(in, forms);
}

}  // namespace kvcap::inline v1::hf
