// SPDX-License-Identifier: MIT
// Which vLLM is meant, and which KV formats does it have?
#pragma once

#include "engines.hpp"

#include <kvcap/engine/vllm.hpp>
#include <vector>

namespace kvcap::cli {

/// The rules of a version or a day; empty: the newest. Stops at one without rules.
vllm::Rules rules_of(const std::string& version);

/// "vLLM 0.19.0", or "vLLM of 2026-08-20".
std::string name_of(const vllm::Rules& rules);

/// What --kv-cache-dtype names. as_formed: a plain format, which is in the model's forms already. Stops at a format
/// that this vLLM does not have.
vllm::KvDtype dtype_of(const EngineQuestion& question, const vllm::Rules& rules, bool& as_formed);

/// Tokens of a step: as asked, else what the API server takes on the GPU named; 8,192 where none is.
u64 step_of(const EngineQuestion& question, const vllm::Rules& rules);

/// Whether two batches are in flight: as asked, else as this vLLM does.
bool overlaps(const EngineQuestion& question, const vllm::Rules& rules);

/// Whether batches overlap with pipeline stages too.
bool second_runner(const EngineQuestion& question);

/// What was taken for these where nothing was said.
void note_defaults(const EngineQuestion& question, const vllm::Rules& rules, std::vector<Note>& notes);

}  // namespace kvcap::cli
