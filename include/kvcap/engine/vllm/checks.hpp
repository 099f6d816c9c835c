// SPDX-License-Identifier: MIT
// What else does vLLM check before it serves, once its blocks are known? Steps against blocks and against requests,
// and requests against the blocks of a model with states.
// Source: config/vllm.py `validate_block_size` (0.17.0 to 0.26.0), config/scheduler.py `verify_max_model_len`,
// config/compilation.py `resolve_cudagraph_mode_and_sizes` (0.20.0 on) in the source packages.
#pragma once

#include <kvcap/engine/vllm/engine.hpp>

namespace kvcap::inline v1::vllm {

/// Tokens that a step must have where states are kept at the ends of blocks: those of the smallest block, as an
/// assertion has it; 0: nothing is asked of a step.
constexpr u64 least_step(const Design& made, const Rules& rules) noexcept {
    if (made.blocks.mode != StateMode::align || !rules.has(Change::blocks_in_step) ||
        rules.has(Change::divides_blocks)) {
        return 0;
    }
    bool states = false;
    u64 least = off_scale;
    for (const GroupKind& kind : made.grouping.kinds) {
        states = states || kind.spec.kind == SpecKind::state;
        least = smaller(least, kind.spec.block);
    }
    return states ? least : 0;
}

/// Most requests at once for which full CUDA graphs of decode steps are captured: as many as the pool has blocks where
/// a group keeps states; off_scale: any number.
constexpr u64 most_captured(const Outcome& outcome, const Rules& rules) noexcept {
    bool states = false;
    for (const GroupKind& kind : outcome.design.grouping.kinds) {
        states = states || kind.spec.kind == SpecKind::state;
    }
    return states && rules.has(Change::captures_by_block) ? outcome.sizing.blocks : off_scale;
}

}  // namespace kvcap::inline v1::vllm
