// SPDX-License-Identifier: MIT
// DeepSeek models as constants of the build: a latent, a latent with index keys, compressed entries.
// Each equals its card in configs/models/deepseek, read at run time.
#pragma once

#include <kvcap/layer/latent.hpp>
#include <kvcap/model.hpp>

namespace kvcap::inline v1::models {

inline constexpr ModelSpec deepseek_v3 =
    compose(QueryHeads{128}, repeat(61, Mla{.latent = 512, .rope = 64})).value();

inline constexpr ModelSpec deepseek_v3_2 =
    compose(QueryHeads{128},
            repeat(61, SparseMla{.latent = 512, .rope = 64, .index_dim = 128, .index_format = fp8_scale_per_128}))
        .value();

/// Two layers with a window only, then entries of 4 and of 128 tokens in turn.
inline constexpr ModelSpec deepseek_v4_flash = [] {
    constexpr CompressedLatent window{.latent = 512, .window = 128};
    constexpr CompressedLatent sparse{.latent = 512, .window = 128, .ratio = 4, .index_dim = 128,
                                      .index_format = fp8_scale_per_128};
    constexpr CompressedLatent heavy{.latent = 512, .window = 128, .ratio = 128};
    return compose(QueryHeads{64}, repeat(2, window), cycle(41, sparse, heavy)).value();
}();

}  // namespace kvcap::inline v1::models
