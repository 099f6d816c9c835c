// SPDX-License-Identifier: MIT
// What vLLM refuses beside what its pool says: steps too short for requests or blocks, and more requests than the
// blocks of states that CUDA graphs are captured with.
#pragma once

#include "engines.hpp"

#include <kvcap/engine/vllm.hpp>

namespace kvcap::cli {

/// A step of `step` tokens has one of each request that --max-num-seqs lets run.
void refuse_requests(const EngineQuestion& question, u64 step, EngineAnswer& answer);

/// Blocks against the step and against the requests at once; a note where a server would take more of these than fit.
void refuse_start(const EngineQuestion& question, const vllm::Outcome& outcome, const vllm::Rules& rules,
                  EngineAnswer& answer);

/// What of states is kept where that is another than the newest vLLM's default.
void note_states(const EngineQuestion& question, const vllm::Rules& rules, const vllm::Options& options,
                 std::vector<Note>& notes);

}  // namespace kvcap::cli
