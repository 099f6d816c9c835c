// SPDX-License-Identifier: MIT
// Which context ranks (--decode-context-parallel-size) does vLLM refuse?
#pragma once

#include "engines.hpp"

#include <kvcap/engine/vllm.hpp>

namespace kvcap::cli {

/// A refusal where there are context ranks that this vLLM, the answer's backend or the model's heads cannot have.
/// pre: answer.backend is chosen
void refuse_context(const EngineQuestion& question, const vllm::Rules& rules, vllm::KvDtype dtype,
                    EngineAnswer& answer);

}  // namespace kvcap::cli
