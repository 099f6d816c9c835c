// SPDX-License-Identifier: MIT
// How long a context does vLLM derive from a config? YaRN stretches the positions before it, other scalings those that
// are stated; Llama 3's and LongRoPE's are in what is stated, and so are Gemma 3's.
// Source: vLLM, vllm/config/model.py (_get_and_verify_max_len), 0.10 to 0.28.
#pragma once

#include <kvcap/models/rope.hpp>
#include <string_view>

namespace kvcap::inline v1::vllm {

/// stated: tokens; 0: the config says none, and neither does this.
constexpr u64 derived_context(u64 stated, const RopeScaling& rope, std::string_view model_type) noexcept {
    const bool scaled = rope.kind == RopeKind::yarn || rope.kind == RopeKind::other;
    if (!scaled || stated == 0 || model_type.starts_with("gemma3")) {
        return stated;
    }
    return rope.stretched(rope.kind == RopeKind::yarn && rope.original != 0 ? rope.original : stated);
}

}  // namespace kvcap::inline v1::vllm
