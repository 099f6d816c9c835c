// SPDX-License-Identifier: MIT
// vLLM's choice of an attention backend.
#pragma once

#include "engines.hpp"

#include <kvcap/engine/vllm.hpp>

namespace kvcap::cli {

/// The backend, and what it fixes: kernel blocks, a forced block, how fp8 latents are laid out. With a refusal in
/// `answer` when there is none.
void choose_backend(const EngineQuestion& question, const vllm::Rules& rules, vllm::Options& options,
                    EngineAnswer& answer);

}  // namespace kvcap::cli
