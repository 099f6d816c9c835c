// SPDX-License-Identifier: MIT
// Which context ranks (`--decode-context-parallel-size`) does a vLLM have? They join what each has computed of its
// tokens by the log-sum-exp of the scores, so the attention backend's decode must return one.
// Source: config/parallel.py, v1/worker/cp_utils.py check_attention_cp_compatibility (until 0.12 gpu_model_runner.py)
// and `can_return_lse_for_decode` of v1/attention/backends/**, in the source packages of 0.10.0 to 0.28.0.
#pragma once

#include <kvcap/engine/vllm/names.hpp>

namespace kvcap::inline v1::vllm {

/// PR 23734. 0.10.1.1 has no such flag.
inline constexpr Since first_context_ranks{10, 2, 20250913};
/// PR 44044: over latents in fp8.
inline constexpr Since first_fp8_context_ranks{25, 0, 20260711};

struct SharedBackend {
    const char* name = "";
    Since since{};
};

/// Backends whose decode returns a log-sum-exp. With heads of keys and values: PRs 24864 and 25438. No others do up to
/// 0.28.0: neither TRITON_ATTN nor FLASHMLA_SPARSE, for two.
inline constexpr SharedBackend shared_backends[] = {
    {"FLASHMLA", first_context_ranks},
    {"FLASH_ATTN_MLA", first_context_ranks},
    {"CUTLASS_MLA", first_context_ranks},
    {"TRITON_MLA", {11, 0, 20251004}},
    {"FLASH_ATTN", {11, 1, 20251119}},
    {"FLASHINFER", {11, 1, 20251119}},
    {"FLASHINFER_MLA", {25, 0, 20260711}},
    {"FLASHINFER_MLA_SPARSE", {25, 0, 20260711}},
};

/// Since when context ranks share a backend; nullptr: in no known version.
constexpr const Since* shared_since(const char* backend) noexcept {
    for (const SharedBackend& each : shared_backends) {
        if (same_text(each.name, backend)) {
            return &each.since;
        }
    }
    return nullptr;
}

/// Why context ranks cannot be: this vLLM has none, its backend returns no log-sum-exp, or its decode asserts for fp8
/// latents ("DCP not support fp8 kvcache now.").
enum class Unshared : u8 { none, version, backend, fp8_latents };

constexpr Unshared unshared(const Rules& rules, const char* backend, bool latents, KvDtype dtype) noexcept {
    if (!has(rules, first_context_ranks)) {
        return Unshared::version;
    }
    const Since* since = shared_since(backend);
    if (since == nullptr || !has(rules, *since)) {
        return Unshared::backend;
    }
    const bool fp8 = dtype == KvDtype::fp8 || dtype == KvDtype::fp8_ds_mla;
    return latents && fp8 && !has(rules, first_fp8_context_ranks) ? Unshared::fp8_latents : Unshared::none;
}

}  // namespace kvcap::inline v1::vllm
