// SPDX-License-Identifier: MIT
// Zamba2 7B as a constant of the build. It equals its card in configs/models/zamba, read at run time.
#pragma once

#include <kvcap/layer/attention.hpp>
#include <kvcap/layer/recurrent.hpp>
#include <kvcap/model.hpp>

namespace kvcap::inline v1::models {

/// All 81 layers keep a Mamba-2 state; 13 (layer 6, then 11, 17 ... 77) also run the shared attention, whose caches,
/// twice as wide as the model, are registered before all states.
inline constexpr ModelSpec zamba2_7b = [] {
    constexpr Mamba2 state{.heads = 112, .head_dim = 64, .state_dim = 64, .groups = 2};
    constexpr Gqa attention{.kv_heads = 32, .head_dim = 224};
    constexpr u32 layers = 81;
    ModelSpec model{};
    Errc code = model.add(6, attention.forms());
    for (u32 i = 11; i < layers && code == Errc::ok; i += 6) {
        code = model.add(i, attention.forms());
    }
    if (code != Errc::ok) {
        no_value_in_result();
    }
    const ModelSpec states = compose(QueryHeads{32}, repeat(layers, state)).value();
    model.layers = states.layers;
    model.query_heads = states.query_heads;
    for (const Cache& cache : states.caches) {
        if (model.add(cache.layer, states.form_of(cache)) != Errc::ok) {
            no_value_in_result();
        }
    }
    return model;
}();

}  // namespace kvcap::inline v1::models
