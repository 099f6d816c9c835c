// SPDX-License-Identifier: MIT
// Which vLLM is meant, which KV formats and blocks does it have, and what does it take where nothing is said?
#pragma once

#include "engines.hpp"

#include <kvcap/engine/vllm.hpp>
#include <vector>

namespace kvcap::cli {

/// The rules of a version or a day; empty: the newest. Stops at one without rules.
vllm::Rules rules_of(const std::string& version);

/// "2026-08-20".
std::string day_text(u64 day);

/// "vLLM 0.19.0", or "vLLM of 2026-08-20".
std::string name_of(const vllm::Rules& rules);

/// What --kv-cache-dtype names. as_formed: a plain format, which is in the model's forms already. Stops at a format
/// that this vLLM does not have.
vllm::KvDtype dtype_of(const EngineQuestion& question, const vllm::Rules& rules, bool& as_formed);

/// KV formats that the parser of this version takes in a launch line.
std::vector<std::string_view> line_dtypes(const std::string& version);

/// A refusal where --block-size is none of the numbers that this vLLM takes.
void refuse_block(const EngineQuestion& question, const vllm::Rules& rules, EngineAnswer& answer);

/// What vLLM's API server takes for this model on the GPU named where its command line says nothing.
vllm::Options unsaid_options(const EngineQuestion& question, const vllm::Rules& rules);

/// Tokens of a step: as asked, else as unsaid.
u64 step_of(const EngineQuestion& question, const vllm::Rules& rules);

/// Whether two batches are in flight: as asked, else as this vLLM does.
bool overlaps(const EngineQuestion& question, const vllm::Rules& rules);

/// What was taken for these where nothing was said.
void note_defaults(const EngineQuestion& question, const vllm::Rules& rules, std::vector<Note>& notes);

}  // namespace kvcap::cli
