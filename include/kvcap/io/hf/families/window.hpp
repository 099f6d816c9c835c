// SPDX-License-Identifier: MIT
// Families in which some layers keep a window or a chunk: which layers, by which key? (i counts from 0.)
// Rules: the transformers configuration classes of that name; MiMo-V2 and Step-3.5 after vLLM and SGLang.
#pragma once

#include <kvcap/io/hf/families/plain.hpp>

namespace kvcap::inline v1::hf {

/// Every layer slides when there is a window (Mistral, Mixtral, Phi-3, StarCoder2 ...).
inline void all_slide(Lowering& in) {
    const u64 window = in.window();
    attention_layers(in, window, [=](u32) { return window == 0 ? Mixer::full : Mixer::sliding; });
}

/// `use_sliding_window`, off unless said. Turned off beside layers that are listed as sliding it is refused: the
/// configuration classes drop the window then, and the model finds none.
inline bool window_switch(Lowering& in) {
    const bool on = in.flag("use_sliding_window", false);
    if (in["use_sliding_window"].is_false() && in.window() != 0) {
        in["layer_types"].each([&](u32 i, std::string_view, JsonValue kind) {
            if (mixer_named(kind.text()) == Mixer::sliding) {
                in.fail(in.pointer("layer_types") + '/' + std::to_string(i), kind.shown(),
                        "no sliding layer beside use_sliding_window: false");
            }
        });
    }
    return on;
}

/// Qwen2, Qwen3: off unless `use_sliding_window`; then layers from `max_window_layers` on slide.
inline void switched(Lowering& in) {
    const bool on = window_switch(in);
    const bool listed = in["layer_types"].given();
    const u64 from =
        on && !listed ? in.size({"max_window_layers"}, in.defaults().layers == 80 ? 80 : 28, 0, most_layers)
                      : 0;
    attention_layers(in, on || listed ? in.window() : 0,
                     [=](u32 i) { return on && i >= from ? Mixer::sliding : Mixer::full; });
}

/// Qwen2-MoE: with the switch, even layers below `max_window_layers` slide.
inline void switched_even(Lowering& in) {
    const bool on = window_switch(in);
    const u64 below = on ? in.size({"max_window_layers"}, 28, 0, most_layers) : 0;
    attention_layers(in, on || in["layer_types"].given() ? in.window() : 0,
                     [=](u32 i) { return i % 2 == 0 && i < below ? Mixer::sliding : Mixer::full; });
}

/// dots1: layers from `max_window_layers` on slide; absent, none does.
inline void from_max_window(Lowering& in) {
    const u64 window = in.window();
    const JsonValue given = in["max_window_layers"];
    const u64 from =
        given.given() ? in.checked(given, in.pointer("max_window_layers"), 0, most_layers) : most_layers;
    attention_layers(in, window,
                     [=](u32 i) { return window != 0 && i >= from ? Mixer::sliding : Mixer::full; });
}

/// Even layers slide (Gemma 2, gpt-oss, VaultGemma).
inline void even_slides(Lowering& in) {
    attention_layers(in, in.window(), [](u32 i) { return i % 2 == 0 ? Mixer::sliding : Mixer::full; });
}

/// Layer i is full when i + 1 is a multiple of `every`.
inline void every_nth_full(Lowering& in, Keys keys, u32 otherwise) {
    const JsonValue pattern = in.first(keys);
    const u64 window = in.window();
    if (pattern.is_text() && pattern.text().find_first_not_of("LG") != std::string_view::npos) {
        return in.fail(in.pointer(keys), pattern.shown(), "a number, or letters L (local) and G (global)");
    }
    if (pattern.is_text() && !pattern.text().empty()) {
        const std::string_view letters = pattern.text();
        const u32 last = in.layers() - 1;
        return attention_layers(in, window, [=](u32 i) {
            return i != last && letters[i % letters.size()] == 'L' ? Mixer::sliding : Mixer::full;
        });
    }
    const bool listed = in["layer_types"].is_array() && in["layer_types"].size() > 0;
    const u64 every = pattern.given() ? in.checked(pattern, in.pointer(keys), 0, most_layers)
                      : listed || window == 0 ? 0 : in.size(keys, otherwise);
    attention_layers(in, window, [=](u32 i) {
        return window == 0 || every == 0 || (i + 1) % every == 0 ? Mixer::full : Mixer::sliding;
    });
}

inline void gemma3(Lowering& in) {
    every_nth_full(in, {"sliding_window_pattern", "_sliding_window_pattern"}, 6);
}
inline void every_4th_full(Lowering& in) {
    every_nth_full(in, {"sliding_window_pattern", "_sliding_window_pattern"}, 4);
}
inline void afmoe(Lowering& in) { every_nth_full(in, {"global_attn_every_n_layers"}, 4); }

/// Code World Model: layers 0, 4, 8 ... are full.
inline void every_4th_from_0(Lowering& in) {
    attention_layers(in, in.window(), [](u32 i) { return i % 4 == 0 ? Mixer::full : Mixer::sliding; });
}

/// SmolLM3: layers without rope slide, only with `use_sliding_window`.
inline void smollm3(Lowering& in) {
    const bool on = window_switch(in);
    const std::vector<u64> rope = numbers(in, in["no_rope_layers"], in.pointer("no_rope_layers"), 0);
    const u32 interval = on && rope.empty() ? in.size({"no_rope_layer_interval"}, 4) : 1;
    attention_layers(in, on || in["layer_types"].given() ? in.window() : 0, [&](u32 i) {
        const bool has_rope = i < rope.size() ? rope[i] != 0 : (i + 1) % interval != 0;
        return on && !has_rope ? Mixer::sliding : Mixer::full;
    });
}

/// Llama 4: layers with rope (value 1) keep their chunk; those without (every 4th) keep everything.
inline void llama4(Lowering& in) {
    const u32 layers = in.layers();
    const JsonValue given = in["attention_chunk_size"];
    const u64 chunk = given.is_null() ? 0 : in.size({"attention_chunk_size"}, 8192, 1, most_size << 11);
    const std::vector<u64> rope = numbers(in, in["no_rope_layers"], in.pointer("no_rope_layers"), layers);
    const u32 interval =
        rope.empty() && !in["layer_types"].given() ? in.size({"no_rope_layer_interval"}, 4) : 1;
    const Attention caches = attention_of(in.gqa(), 0, chunk);
    in.begin(layers, in.heads());
    put_attention(in, mixers(in, layers, [&](u32 i) {
        const bool has_rope = i < rope.size() ? rope[i] != 0 : (i + 1) % interval != 0;
        return has_rope ? Mixer::chunked : Mixer::full;
    }), caches);
}

/// Gemma 3n and 4: the last `num_kv_shared_layers` layers own nothing; each reads the last owner of its kind.
inline void put_shared_tail(Lowering& in, const std::vector<Mixer>& kinds, const Attention& caches,
                            u64 tail) {
    const u32 layers = static_cast<u32>(kinds.size());
    if (tail > layers) {
        return in.fail(in.pointer("num_kv_shared_layers"), std::to_string(tail),
                       "at most " + std::to_string(layers));
    }
    const u32 own = layers - static_cast<u32>(tail);
    put_attention(in, {kinds.begin(), kinds.begin() + own}, caches);
    for (u32 i = own; i < layers && !in.failed(); ++i) {
        u32 source = own;
        while (source > 0 && kinds[source - 1] != kinds[i]) {
            --source;
        }
        if (source == 0) {
            return in.fail(in.pointer("num_kv_shared_layers"), "layer " + std::to_string(i) + " shares",
                           "an earlier layer of its kind that owns a cache");
        }
        in.share(i, source - 1);
    }
}

inline void gemma3n(Lowering& in) {
    const u32 layers = in.layers();
    const Attention caches = attention_of(in.gqa(), in.window());
    in.begin(layers, in.heads());
    const JsonValue shared = in["num_kv_shared_layers"];
    const u64 tail = shared.is_null()   ? 0
                     : shared.present() ? in.optional_size({"num_kv_shared_layers"}, most_layers)
                                        : in.size({"num_kv_shared_layers"}, smaller(15, layers));
    put_shared_tail(in,
                    mixers(in, layers, [](u32 i) { return (i + 1) % 5 == 0 ? Mixer::full : Mixer::sliding; }),
                    caches, tail);
}

/// Gemma 4: full layers have their own head width and, with attention_k_eq_v, their own number of key heads.
/// K and V are both stored although they share a projection. The last layer is always full.
inline void gemma4(Lowering& in) {
    const u32 layers = in.layers();
    const Gqa local = in.gqa();
    Gqa global{.kv_heads = local.kv_heads, .head_dim = in.size({"global_head_dim"}, 512)};
    if (in.flag("attention_k_eq_v", false) && in["num_global_key_value_heads"].given()) {
        global.kv_heads = in.grouped(in.heads(), in.size({"num_global_key_value_heads"}),
                                     in.pointer("num_global_key_value_heads"));
    }
    Attention caches = attention_of(local, in.window());
    caches.full = global.forms();
    in.begin(layers, in.heads());
    std::vector<Mixer> kinds =
        mixers(in, layers, [](u32 i) { return (i + 1) % 6 == 0 ? Mixer::full : Mixer::sliding; });
    if (kinds.back() != Mixer::full) {
        in.note(Origin::derived, in.pointer("layer_types"),
                "the last layer is full attention in every Gemma 4");
        kinds.back() = Mixer::full;
    }
    put_shared_tail(in, kinds, caches, in.optional_size({"num_kv_shared_layers"}, most_layers));
}

/// MiMo-V2: sliding layers (pattern 1) have their own heads and widths; values are narrower than keys.
inline void mimo_v2(Lowering& in) {
    const u32 layers = in.layers();
    Gqa full = in.gqa();
    full.value_dim = in.size({"v_head_dim"}, full.head_dim);
    const u32 slide_heads = in.size({"swa_num_attention_heads"}, in.heads());
    const bool by_types =
        !in["hybrid_layer_pattern"].given();  // the transformers class has no swa_ keys: twice as many
    Gqa slide{.kv_heads = in.grouped(
                  slide_heads, in.size({"swa_num_key_value_heads"}, u64{full.kv_heads} * (by_types ? 2 : 1)),
                  in.pointer("swa_num_key_value_heads")),
              .head_dim = in.size({"swa_head_dim"}, full.head_dim)};
    slide.value_dim = in.size({"swa_v_head_dim"}, full.value_dim);
    const std::vector<u64> pattern =
        numbers(in, in["hybrid_layer_pattern"], in.pointer("hybrid_layer_pattern"), layers);
    Attention caches = attention_of(slide, in.window({"sliding_window_size", "sliding_window"}));
    caches.full = full.forms();
    in.begin(layers, in.heads());
    in.model.spec.query_heads = static_cast<u32>(greatest_common_divisor(in.heads(), slide_heads));
    put_attention(in, mixers(in, layers, [&](u32 i) {
        const bool slides = pattern.empty() ? i != 0 && (i + 1) % 6 != 0 : pattern[i] != 0;
        return slides ? Mixer::sliding : Mixer::full;
    }), caches);
    draft_layers(in, caches.full);
}

/// Step-3.5: `attention_other_setting` holds the heads of the sliding layers.
inline void step3p5(Lowering& in) {
    const u32 layers = in.layers();
    const Keys groups{"num_attention_groups", "num_key_value_heads"};
    const Gqa full{.kv_heads = in.kv_heads(groups), .head_dim = in.head_dim()};
    const JsonValue other = in["attention_other_setting"];
    const std::string where = in.pointer("attention_other_setting");
    const auto own = [&](const char* key, u32 otherwise) {
        const JsonValue value = other[key];
        return value.given() ? static_cast<u32>(in.checked(value, where + '/' + key, 1, most_size))
                             : otherwise;
    };
    const u32 slide_heads = own("num_attention_heads", in.heads());
    const Gqa slide{.kv_heads = in.grouped(slide_heads, own("num_attention_groups", full.kv_heads), where),
                    .head_dim = own("head_dim", full.head_dim)};
    Attention caches = attention_of(slide, in.window());
    caches.full = full.forms();
    in.begin(layers, in.heads());
    in.model.spec.query_heads = static_cast<u32>(greatest_common_divisor(in.heads(), slide_heads));
    put_attention(in, mixers(in, layers, [](u32) { return Mixer::full; }), caches);
    draft_layers(in, caches.full);
}

/// Laguna: query heads vary by layer, key heads do not.
inline void laguna(Lowering& in) {
    plain(in);
    u64 common = in.model.spec.query_heads;
    for (const u64 heads : numbers(in, in["num_attention_heads_per_layer"],
                                   in.pointer("num_attention_heads_per_layer"), in.model.spec.layers)) {
        common = greatest_common_divisor(common, heads);
    }
    in.model.spec.query_heads = static_cast<u32>(common);
}

}  // namespace kvcap::inline v1::hf
