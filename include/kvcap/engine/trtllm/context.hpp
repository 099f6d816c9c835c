// SPDX-License-Identifier: MIT
// How long a context does TensorRT-LLM infer from a config? Of linear and dynamic scalings the factor counts, of YaRN,
// LongRoPE and Llama 3 it is in what is stated.
// Source: TensorRT-LLM 1.x, _torch/pyexecutor/model_engine.py (_infer_max_seq_len_from_config).
#pragma once

#include <kvcap/models/rope.hpp>

namespace kvcap::inline v1::trtllm {

/// stated: tokens; 0: the config says none, and neither does this. Cut: its own rounds a fraction up.
constexpr u64 inferred_context(u64 stated, const RopeScaling& rope) noexcept {
    return rope.kind == RopeKind::other ? rope.stretched(stated) : stated;
}

}  // namespace kvcap::inline v1::trtllm
