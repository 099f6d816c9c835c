// SPDX-License-Identifier: MIT
#pragma once

#include <kvcap/core.hpp>

namespace odr {

inline constexpr auto model =
    kvcap::compose(kvcap::QueryHeads{32}, kvcap::repeat(10, kvcap::Mla{.latent = 512, .rope = 64}),
                   kvcap::cycle(12, kvcap::Gqa{.kv_heads = 8, .head_dim = 128},
                                kvcap::Windowed{kvcap::Gqa{.kv_heads = 8, .head_dim = 128}, kvcap::Tokens{512}},
                                kvcap::Kda{.heads = 8, .head_dim = 128})).value();

const kvcap::ModelSpec* model_of_other();
kvcap::Footprint held_by_other(kvcap::u64 tokens, kvcap::u32 tp);

}  // namespace odr
