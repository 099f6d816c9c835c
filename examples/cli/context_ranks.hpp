// SPDX-License-Identifier: MIT
// Context ranks are ranks of their own (--cp), or tensor ranks that would hold the same copy
// (--decode-context-parallel-size, and all of vLLM's): how many GPUs they add, and whether there are enough copies.
#pragma once

#include "cli.hpp"

namespace kvcap::cli {

bool among_tensor_ranks(const ShardingOptions& options, std::string_view engine = {});

/// Ranks that context parallelism adds to each tensor rank.
u32 own_context_ranks(const ShardingOptions& options, std::string_view engine = {});

/// Why context ranks among the tensor ranks of `sharding` do not suit the model; empty when they do.
std::string context_refusal(const ModelSpec& model, const Sharding& sharding);

}  // namespace kvcap::cli
