// SPDX-License-Identifier: MIT
// GLM-5.2 as a constant of the build: latents everywhere, index keys on 21 of 78 layers.
// It equals its card in configs/models/glm, read at run time.
#pragma once

#include <kvcap/layer/latent.hpp>
#include <kvcap/model.hpp>

namespace kvcap::inline v1::models {

/// The first three layers own index keys, then every fourth.
inline constexpr ModelSpec glm_5_2 = [] {
    constexpr SparseMla owner{.latent = 512, .rope = 64, .index_dim = 128, .index_format = fp8_scale_per_128};
    constexpr Mla reuser{.latent = 512, .rope = 64};
    return compose(QueryHeads{64}, repeat(3, owner), cycle(75, reuser, reuser, reuser, owner)).value();
}();

}  // namespace kvcap::inline v1::models
