// SPDX-License-Identifier: MIT
// gpt-oss as a constant of the build. It equals its card in configs/models/gpt-oss, read at run time.
#pragma once

#include <kvcap/layer/attention.hpp>
#include <kvcap/layer/retain.hpp>
#include <kvcap/model.hpp>

namespace kvcap::inline v1::models {

/// Even layers slide. The learned sinks are no cache entries.
inline constexpr ModelSpec gpt_oss_120b = [] {
    constexpr Gqa full{.kv_heads = 8, .head_dim = 64};
    return compose(QueryHeads{64}, cycle(36, Windowed{full, 128_tok}, full)).value();
}();

}  // namespace kvcap::inline v1::models
