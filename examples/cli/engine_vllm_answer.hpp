// SPDX-License-Identifier: MIT
// What vLLM's start says, as the answer that verbs show: rows of pools, lines of its log, blocks beyond the memory.
#pragma once

#include "engines.hpp"

#include <kvcap/engine/vllm.hpp>

namespace kvcap::cli {

/// vLLM allocates the blocks that --num-gpu-blocks-override names whatever there is, and runs out of memory.
void judge_override(const vllm::Outcome& outcome, const EngineQuestion& question, EngineAnswer& answer);

/// One row a class of groups; padding: pages of the class less what its caches really need.
void fill_rows(const vllm::Outcome& outcome, EngineAnswer& answer, const Lengths& lengths);

/// The lines that it prints.
void fill_log(const vllm::Outcome& outcome, EngineAnswer& answer);

}  // namespace kvcap::cli
