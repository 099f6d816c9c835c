// SPDX-License-Identifier: MIT
// May experts that are quantised in blocks be divided over so many ranks?
#pragma once

#include "engines.hpp"

namespace kvcap::cli {

/// A refusal where a rank would begin inside a block of FP8 weights, which one scale covers. ranks: that share an
/// expert; whole: the flag that deals experts whole. Sources: Fp8MoEMethod.create_weights of vLLM (to 2026-08) and
/// SGLang.
void refuse_cut_blocks(const ReadModel& read, u64 ranks, std::string_view whole, EngineAnswer& answer);

/// Under --dp-attention, which deals whole experts: says so where `ranks` that share an expert would be refused.
void note_whole_experts(const ReadModel& read, u64 ranks, std::string_view whole, EngineAnswer& answer);

}  // namespace kvcap::cli
