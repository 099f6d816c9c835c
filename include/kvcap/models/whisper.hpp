// SPDX-License-Identifier: MIT
// Whisper large v3 as a constant of the build. It equals its card in configs/models/whisper, read at run time.
#pragma once

#include <kvcap/layer/attention.hpp>
#include <kvcap/layer/shared.hpp>
#include <kvcap/model.hpp>

namespace kvcap::inline v1::models {

/// Each decoder layer keeps its own tokens and the encoder's (1,500 for 30 seconds of sound).
inline constexpr ModelSpec whisper_large_v3 = [] {
    constexpr Mha own{.kv_heads = 20, .head_dim = 64};
    return compose(QueryHeads{20}, repeat(32, Both{own, Cross{own}})).value();
}();

}  // namespace kvcap::inline v1::models
