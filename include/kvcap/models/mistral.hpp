// SPDX-License-Identifier: MIT
// Mistral models as constants of the build. Each equals its card in configs/models/mistral, read at run time.
#pragma once

#include <kvcap/layer/attention.hpp>
#include <kvcap/layer/retain.hpp>
#include <kvcap/model.hpp>

namespace kvcap::inline v1::models {

/// Every layer slides; later versions dropped the window.
inline constexpr ModelSpec mistral_7b_v0_1 =
    compose(QueryHeads{32}, repeat(32, Windowed{Gqa{.kv_heads = 8, .head_dim = 128}, 4096_tok})).value();

}  // namespace kvcap::inline v1::models
