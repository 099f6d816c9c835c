// SPDX-License-Identifier: MIT
// The Llama models as constants of the build. Each equals its card in configs/models/llama, read at run time.
#pragma once

#include <kvcap/layer/attention.hpp>
#include <kvcap/layer/retain.hpp>
#include <kvcap/layer/shared.hpp>
#include <kvcap/model.hpp>

namespace kvcap::inline v1::models {

inline constexpr ModelSpec llama_2_7b =
    compose(QueryHeads{32}, repeat(32, Mha{.kv_heads = 32, .head_dim = 128})).value();

inline constexpr ModelSpec llama_3_1_8b =
    compose(QueryHeads{32}, repeat(32, Gqa{.kv_heads = 8, .head_dim = 128})).value();

inline constexpr ModelSpec llama_3_1_70b =
    compose(QueryHeads{64}, repeat(80, Gqa{.kv_heads = 8, .head_dim = 128})).value();

/// Layers 3, 8, 13 ... 38 keep image tokens only, the others text tokens only.
inline constexpr ModelSpec llama_3_2_11b_vision = [] {
    constexpr Gqa text{.kv_heads = 8, .head_dim = 128};
    return compose(QueryHeads{32}, cycle(40, text, text, text, Cross{text}, text)).value();
}();

/// Every fourth layer has no rope and keeps everything; the others keep their chunk.
inline constexpr ModelSpec llama_4_scout = [] {
    constexpr Gqa all{.kv_heads = 8, .head_dim = 128};
    constexpr Chunked chunk{all, 8192_tok};
    return compose(QueryHeads{40}, cycle(48, chunk, chunk, chunk, all)).value();
}();

}  // namespace kvcap::inline v1::models
