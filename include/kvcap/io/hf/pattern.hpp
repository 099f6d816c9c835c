// SPDX-License-Identifier: MIT
// Which layer does what? `layer_types` beats every other key and may be longer than the model (draft layers
// appended); without it each family has a rule from the layer's index. Lists of numbers and words are read
// here, with their places.
#pragma once

#include <kvcap/io/hf/lowering.hpp>

namespace kvcap::inline v1::hf {

enum class Mixer : u8 { full, sliding, chunked, linear, conv, mamba, hybrid, sparse, heavy, none, unknown };

constexpr Mixer mixer_named(std::string_view word) noexcept {
    struct Word {
        std::string_view text;
        Mixer mixer;
    };
    constexpr Word words[] = {
        {"full_attention", Mixer::full},
        {"sliding_attention", Mixer::sliding},
        {"attention", Mixer::full},
        {"attn", Mixer::full},
        {"swa", Mixer::sliding},
        {"chunked_attention", Mixer::chunked},
        {"linear_attention", Mixer::linear},
        {"jet", Mixer::linear},
        {"kda", Mixer::linear},
        {"gated_deltanet", Mixer::linear},
        {"lightning_attention", Mixer::linear},
        {"conv", Mixer::conv},
        {"mamba", Mixer::mamba},
        {"mamba2", Mixer::mamba},
        {"recurrent", Mixer::linear},
        {"hybrid", Mixer::hybrid},
        {"compressed_sparse_attention", Mixer::sparse},
        {"minimax_m3_sparse", Mixer::sparse},
        {"heavily_compressed_attention", Mixer::heavy},
        {"moe", Mixer::none},
        {"mlp", Mixer::none},
        {"full", Mixer::full},
        {"sliding", Mixer::sliding},
        {"global", Mixer::full},
        {"local", Mixer::sliding},
    };
    for (const Word& each : words) {
        if (each.text == word) {
            return each.mixer;
        }
    }
    return Mixer::unknown;
}

/// The words under `key`, one per layer (a longer list is cut); empty when the key is absent, null or an
/// empty list.
inline std::vector<Mixer> listed(Lowering& in, u32 layers, const JsonKey& key) {
    std::vector<Mixer> all;
    const JsonValue list = in[key];
    if (!list.given() || (list.is_array() && list.size() == 0)) {
        return all;
    }
    if (!list.is_array() || list.size() < layers) {
        in.fail(in.pointer(key.name), list.shown(), "a list of " + std::to_string(layers) + " layer kinds");
        return all;
    }
    if (list.size() > layers) {
        in.note(Origin::derived, in.pointer(key.name), "cut to the first " + std::to_string(layers) +
                " of " + std::to_string(list.size()) + " entries (the others are draft layers)");
    }
    all.reserve(layers);
    list.each([&](u32 i, std::string_view, JsonValue item) {
        if (i < layers) {
            all.push_back(mixer_named(item.text()));
            if (all.back() == Mixer::unknown) {
                in.fail(in.pointer(key.name) + '/' + std::to_string(i), item.shown(), "a known layer kind",
                        "full_attention, sliding_attention, linear_attention, mamba, conv ...",
                        Trouble::unknown);
            }
        }
    });
    return all;
}

/// The layers' kinds: the explicit list, else `rule(i)`.
template <class Rule>
std::vector<Mixer> mixers(Lowering& in, u32 layers, Rule rule, const JsonKey& key = "layer_types") {
    std::vector<Mixer> all = listed(in, layers, key);
    for (u32 i = static_cast<u32>(all.size()); i < layers; ++i) {
        all.push_back(rule(i));
    }
    return all;
}

/// The numbers under `key` of an object, at least `least` of them; empty when absent, null or an empty list.
inline std::vector<u64> numbers(Lowering& in, JsonValue list, const std::string& where, u32 least) {
    std::vector<u64> all;
    if (!list.given() || (list.is_array() && list.size() == 0)) {
        return all;
    }
    if (!list.is_array() || list.size() < least) {
        in.fail(where, list.shown(), "a list of " + std::to_string(least) + " numbers");
        return all;
    }
    list.each([&](u32 i, std::string_view, JsonValue item) {
        const bool truth = item.is_true() || item.is_false();
        all.push_back(truth ? u64{item.is_true()}
                            : in.checked(item, where + '/' + std::to_string(i), 0, most_tokens));
    });
    return all;
}

/// A list of layer indices under `key` as one flag per layer. `first`: the index of the first layer (1 in
/// Kimi's lists).
inline std::vector<bool> marked(Lowering& in, JsonValue list, const std::string& where, u32 layers,
                                u32 first = 0) {
    std::vector<bool> all(layers, false);
    u32 beyond = 0;
    for (const u64 index : numbers(in, list, where, 0)) {
        if (index < first) {
            in.fail(where, std::to_string(index), "layer indices that count from " + std::to_string(first));
            break;
        }
        if (index - first < layers) {
            all[static_cast<std::size_t>(index - first)] = true;
        } else {
            ++beyond;
        }
    }
    if (beyond > 0) {
        in.note(Origin::derived, where, std::to_string(beyond) + " indices beyond the last layer mean nothing");
    }
    return all;
}

}  // namespace kvcap::inline v1::hf
