// SPDX-License-Identifier: MIT
// The golden files of TensorRT-LLM: single capacity rules, and prefix reuse.
#pragma once

#include "strict_object.hpp"

#include <kvcap/core.hpp>
#include <kvcap/engine/trtllm.hpp>

namespace golden {

kvcap::trtllm::KvDtype trtllm_dtype(const std::string& name);
Json trtllm_pool_blocks(const StrictObject& in);
/// The answer to a capacity case, by kind.
Json trtllm_capacity(const std::string& kind, const StrictObject& in);
void trtllm_reuse(const StrictObject& one, Report& report);

}  // namespace golden
