// SPDX-License-Identifier: MIT
// Which vLLM is meant, and which KV formats does it have?
#pragma once

#include "engines.hpp"

#include <kvcap/engine/vllm.hpp>

namespace kvcap::cli {

/// The rules of a version or a day; empty: the newest. Stops at one without rules.
vllm::Rules rules_of(const std::string& version);

/// "vLLM 0.19.0", or "vLLM of 2026-08-20".
std::string name_of(const vllm::Rules& rules);

/// What --kv-cache-dtype names. as_formed: a plain format, which is in the model's forms already. Stops at a format
/// that this vLLM does not have.
vllm::KvDtype dtype_of(const EngineQuestion& question, const vllm::Rules& rules, bool& as_formed);

}  // namespace kvcap::cli
