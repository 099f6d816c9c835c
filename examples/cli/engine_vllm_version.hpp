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

/// Whether prefixes are cached: as asked, else as this vLLM does for the model.
bool caches_prefixes(const EngineQuestion& question, const vllm::Rules& rules);

/// What of states is kept: as --mamba-cache-mode says, else as this vLLM takes it. Stops at a mode that is none.
vllm::StateMode state_mode_of(const EngineQuestion& question, const vllm::Rules& rules);

/// Whether drafts come from the prompt itself (--spec-method ngram, suffix), without weights or caches. Stops at a
/// method that is not known.
bool drafts_from_text(const EngineQuestion& question);

/// --max-num-seqs of a server whose line does not say it; 0: no GPU is known.
u64 requests_unsaid(const EngineQuestion& question, const vllm::Rules& rules);

/// Tokens of a step: as asked. Else as unsaid, which --max-num-seqs of the full length may lower; where that is not
/// said either, at least as many as run at once, as a line that is written says.
u64 step_of(const EngineQuestion& question, const vllm::Rules& rules);

/// Whether two batches are in flight: as asked, else as this vLLM does.
bool overlaps(const EngineQuestion& question, const vllm::Rules& rules);

/// What was taken for these where nothing was said. reserves: windows or chunks reserve for what is in flight.
void note_defaults(const EngineQuestion& question, const vllm::Rules& rules, bool reserves, std::vector<Note>& notes);

}  // namespace kvcap::cli
