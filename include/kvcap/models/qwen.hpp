// SPDX-License-Identifier: MIT
// Qwen models as constants of the build. Each equals its card in configs/models/qwen, read at run time.
#pragma once

#include <kvcap/layer/attention.hpp>
#include <kvcap/layer/recurrent.hpp>
#include <kvcap/model.hpp>

namespace kvcap::inline v1::models {

inline constexpr ModelSpec qwen3_8b =
    compose(QueryHeads{32}, repeat(36, Gqa{.kv_heads = 8, .head_dim = 128})).value();

/// Three gated delta nets, then attention.
inline constexpr ModelSpec qwen3_next_80b_a3b = [] {
    constexpr GatedDelta state{.key_heads = 16, .key_dim = 128, .value_heads = 32, .value_dim = 128};
    return compose(QueryHeads{16}, cycle(48, state, state, state, Gqa{.kv_heads = 2, .head_dim = 256})).value();
}();

}  // namespace kvcap::inline v1::models
