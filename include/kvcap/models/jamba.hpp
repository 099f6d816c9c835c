// SPDX-License-Identifier: MIT
// Jamba 1.5 Mini as a constant of the build. It equals its card in configs/models/jamba, read at run time.
#pragma once

#include <kvcap/layer/attention.hpp>
#include <kvcap/layer/recurrent.hpp>
#include <kvcap/model.hpp>

namespace kvcap::inline v1::models {

/// Attention where the layer's index mod 8 is 4, else Mamba.
inline constexpr ModelSpec jamba_1_5_mini = [] {
    constexpr Mamba1 state{.inner = 8192, .state_dim = 16};
    return compose(QueryHeads{32}, cycle(32, state, state, state, state, Gqa{.kv_heads = 8, .head_dim = 128}, state,
                                         state, state))
        .value();
}();

}  // namespace kvcap::inline v1::models
