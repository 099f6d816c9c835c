// SPDX-License-Identifier: MIT
// How long a context does SGLang derive from a config? The factor counts where the config does not say the positions
// before it, Llama 3's never.
// Source: SGLang main of 2026-07, srt/utils/hf_transformers_utils.py (get_context_length).
#pragma once

#include <kvcap/models/rope.hpp>

namespace kvcap::inline v1::sglang {

/// stated: tokens; 0: the config says none, and neither does this.
constexpr u64 derived_context(u64 stated, const RopeScaling& rope) noexcept {
    const bool counts = rope.kind != RopeKind::none && rope.kind != RopeKind::llama3 && rope.original == 0;
    return counts ? rope.stretched(stated) : stated;
}

}  // namespace kvcap::inline v1::sglang
