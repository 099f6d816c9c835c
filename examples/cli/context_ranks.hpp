// SPDX-License-Identifier: MIT
// Context ranks are ranks of their own (--cp), or tensor ranks that would hold the same copy
// (--decode-context-parallel-size, and all of vLLM's): how many GPUs they add, which engines have them. Ranks of
// attention data parallelism, and which splits no model can be dealt by.
#pragma once

#include "engines.hpp"

namespace kvcap::cli {

/// SGLang's, which divide a prompt's work or, without rules here, its tokens. Source: its documents of prefill and of
/// decode context parallelism (0.5); tensor ranks of attention are TP / (their number).
inline constexpr std::string_view sglang_context_ranks =
    "SGLang's context ranks of --attn-cp-size each hold every token, and of those of --dcp-size, which divide the "
    "tokens, kvcap has no rules; leave it out";

bool among_tensor_ranks(const ShardingOptions& options, std::string_view engine = {});

/// Ranks that context parallelism adds to each tensor rank.
u32 own_context_ranks(const ShardingOptions& options, std::string_view engine = {});

/// Why context ranks among the tensor ranks of `sharding` do not suit the model; empty when they do.
std::string context_refusal(const ModelSpec& model, const Sharding& sharding);

/// A usage error when context ranks are asked of an engine without.
void refuse_context_ranks(const ShardingOptions& options, const EngineFace& face);

/// --dp counts replicas of the whole split in every verb, and --dp-attention is among the --tp ranks of each. A usage
/// error when --dp is said for those ranks, or the engine has none.
void refuse_attention_ranks(const ShardingOptions& typed, std::string_view engine = {});

/// Whether the engine can deal the rest of a model to `tp` ranks under attention data parallelism. SGLang divides all
/// but attention and the input embedding by them; of its sizes the query heads are known.
Error attention_ranks_error(const ModelSpec& model, u32 tp, const EngineFace& face);

inline constexpr std::string_view llama_attention_ranks =
    "llama.cpp has no ranks that each hold whole requests; leave it out";

/// The split that was asked for, with spare layers where the engine puts them. A usage error when --pp-split wants them
/// elsewhere.
Sharding split_under(const EngineFace& face, const ShardingOptions& typed);

/// A usage error when the model cannot be dealt so, whatever memory there is. attention: what one rank's caches are
/// split by, tp 1 under attention data parallelism. vLLM's conditions also hold where no cache is divided (windows,
/// states).
void refuse_split(const Model& model, const Sharding& attention, const ShardingOptions& typed, const EngineFace& face);

}  // namespace kvcap::cli
