// SPDX-License-Identifier: MIT
// MiMo-V2-Flash as a constant of the build. It equals its card in configs/models/mimo, read at run time.
#pragma once

#include <kvcap/layer/attention.hpp>
#include <kvcap/layer/retain.hpp>
#include <kvcap/model.hpp>

namespace kvcap::inline v1::models {

/// Values are narrower than keys; the windows have twice the key heads. Layers 0, 5, 11, 17 ... 47 are full.
inline constexpr ModelSpec mimo_v2_flash = [] {
    constexpr Gqa full{.kv_heads = 4, .head_dim = 192, .value_dim = 128};
    constexpr Windowed slide{Gqa{.kv_heads = 8, .head_dim = 192, .value_dim = 128}, 128_tok};
    return compose(QueryHeads{64}, repeat(1, full), repeat(4, slide), repeat(1, full),
                   cycle(42, slide, slide, slide, slide, slide, full))
        .value();
}();

}  // namespace kvcap::inline v1::models
