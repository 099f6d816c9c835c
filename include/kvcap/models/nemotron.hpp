// SPDX-License-Identifier: MIT
// Nemotron 3 Nano as a constant of the build: most layers are experts and keep nothing.
// It equals its card in configs/models/nemotron, read at run time.
#pragma once

#include <kvcap/layer/attention.hpp>
#include <kvcap/layer/recurrent.hpp>
#include <kvcap/layer/shared.hpp>
#include <kvcap/models/lettered.hpp>

namespace kvcap::inline v1::models {

/// The word of the model's own file: M Mamba-2 with a state in fp32, * attention, E experts.
inline constexpr ModelSpec nemotron_3_nano_30b_a3b =
    compose(QueryHeads{32},
            lettered("MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
                     letter('M', Mamba2{.heads = 64, .head_dim = 64, .state_dim = 128, .groups = 8,
                                        .state_format = f32}),
                     letter('*', Gqa{.kv_heads = 2, .head_dim = 128}), letter('E', NoCache{})))
        .value();

}  // namespace kvcap::inline v1::models
