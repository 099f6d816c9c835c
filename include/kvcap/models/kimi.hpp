// SPDX-License-Identifier: MIT
// Kimi Linear as a constant of the build. It equals its card in configs/models/kimi, read at run time.
#pragma once

#include <kvcap/layer/latent.hpp>
#include <kvcap/layer/recurrent.hpp>
#include <kvcap/model.hpp>

namespace kvcap::inline v1::models {

/// Three delta layers, then a latent; the last layer is a latent too.
inline constexpr ModelSpec kimi_linear_48b_a3b = [] {
    constexpr Kda state{.heads = 32, .head_dim = 128};
    constexpr Mla latent{.latent = 512, .rope = 64};
    return compose(QueryHeads{32}, cycle(24, state, state, state, latent), repeat(2, state), repeat(1, latent)).value();
}();

}  // namespace kvcap::inline v1::models
