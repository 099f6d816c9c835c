// SPDX-License-Identifier: MIT
// Gemma models as constants of the build: windows with a full layer now and then, other head widths for the full
// layers, layers without a cache of their own. Each equals its card in configs/models/gemma, read at run time.
#pragma once

#include <kvcap/layer/attention.hpp>
#include <kvcap/layer/retain.hpp>
#include <kvcap/layer/shared.hpp>
#include <kvcap/model.hpp>

namespace kvcap::inline v1::models {

inline constexpr ModelSpec gemma_3_27b = [] {
    constexpr Gqa full{.kv_heads = 16, .head_dim = 128};
    constexpr Windowed slide{full, 1024_tok};
    return compose(QueryHeads{32}, cycle(62, slide, slide, slide, slide, slide, full)).value();
}();

/// The last ten layers read the cache of the last layer of their kind: 19 (full) or 18 (sliding).
inline constexpr ModelSpec gemma_3n_e2b = [] {
    constexpr Gqa full{.kv_heads = 2, .head_dim = 256};
    constexpr Windowed slide{full, 512_tok};
    constexpr SharedWith last_window{.layer = 18};
    return compose(QueryHeads{8}, cycle(20, slide, slide, slide, slide, full),
                   cycle(10, last_window, last_window, last_window, last_window, SharedWith{.layer = 19}))
        .value();
}();

inline constexpr ModelSpec gemma_4_26b_a4b = [] {
    constexpr Windowed slide{Gqa{.kv_heads = 8, .head_dim = 256}, 1024_tok};
    return compose(QueryHeads{16},
                   cycle(30, slide, slide, slide, slide, slide, Gqa{.kv_heads = 2, .head_dim = 512}))
        .value();
}();

}  // namespace kvcap::inline v1::models
