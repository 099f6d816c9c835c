// SPDX-License-Identifier: MIT
// Golden kinds about reuse that lie in files of other formats: lookups seen in engines' own tests,
// TensorRT-LLM's presence rule, and the group folds of a storage layer.
#pragma once

#include "strict_object.hpp"

namespace golden {

/// One entry of `lookups` / `single_lookups` of engine_tests/1; begins and ends its case.
void vllm_lookup(const Json& one, Report& report);
void vllm_single_lookup(const Json& one, Report& report);

/// Kind reuse_with_block_presence: reads `inputs` and `expect`.
void trtllm_presence(const StrictObject& one, Report& report);

/// Kinds group_fold and group_unfold_range: reads `inputs` and `expected`. False for any other kind.
bool storage_group(const std::string& kind, const StrictObject& one, Report& report);

}  // namespace golden
