// SPDX-License-Identifier: MIT
// MiniMax-M1 as a constant of the build. It equals its card in configs/models/minimax, read at run time.
#pragma once

#include <kvcap/layer/attention.hpp>
#include <kvcap/layer/recurrent.hpp>
#include <kvcap/model.hpp>

namespace kvcap::inline v1::models {

/// Seven lightning layers, whose states use all 64 heads, then attention with 8 key heads.
inline constexpr ModelSpec minimax_m1 = [] {
    constexpr State state = lightning(64, 128, bf16);
    return compose(QueryHeads{64}, cycle(80, state, state, state, state, state, state, state,
                                         Gqa{.kv_heads = 8, .head_dim = 128}))
        .value();
}();

}  // namespace kvcap::inline v1::models
