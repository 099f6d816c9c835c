// SPDX-License-Identifier: MIT
// LFM2.5-VL 1.6B as a constant of the build. It equals its card in configs/models/lfm, read at run time.
#pragma once

#include <kvcap/layer/attention.hpp>
#include <kvcap/layer/recurrent.hpp>
#include <kvcap/models/lettered.hpp>

namespace kvcap::inline v1::models {

/// c short convolution over three tokens, a attention.
inline constexpr ModelSpec lfm2_5_vl_1_6b =
    compose(QueryHeads{32}, lettered("ccaccaccacacacac", letter('c', short_conv(2048, 3)),
                                     letter('a', Gqa{.kv_heads = 8, .head_dim = 64})))
        .value();

}  // namespace kvcap::inline v1::models
