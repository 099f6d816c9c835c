// SPDX-License-Identifier: MIT
// Which blocks can an attention backend's kernels read? The block vLLM chooses, and the granularity of its
// alignment, follow from it. Source: v1/attention/backends/*.py `get_supported_kernel_block_sizes` (0.28.0);
// names as in `--attention-backend`.
#pragma once

#include <concepts>
#include <kvcap/engine/vllm/classes.hpp>
#include <kvcap/engine/vllm/names.hpp>

namespace kvcap::inline v1::vllm {

struct BackendRow {
    const char* name = "";
    KernelBlocks blocks{};
};

constexpr KernelBlocks multiples_of(u32 tokens) noexcept { return {.count = 1, .items = {{tokens, true}}}; }

template <std::same_as<u32>... Tokens>
constexpr KernelBlocks exactly(Tokens... tokens) noexcept {
    return {.count = sizeof...(Tokens), .items = {KernelBlock{tokens, false}...}};
}

inline constexpr BackendRow backends[] = {
    {"FLASH_ATTN", multiples_of(16)},
    {"TRITON_ATTN", multiples_of(16)},
    {"FLEX_ATTENTION", multiples_of(16)},
    {"CPU_ATTN", multiples_of(16)},
    {"FLASHINFER", exactly(16u, 32u, 64u)},
    {"TURBOQUANT", exactly(16u, 32u, 64u, 128u)},
    {"FLASHMLA", exactly(64u)},
    {"FLASHMLA_SPARSE", exactly(64u)},
    {"FLASHMLA_SPARSE_DSV4", exactly(256u)},
    {"FLASHINFER_MLA_SPARSE_DSV4", exactly(256u)},
    {"FLASH_ATTN_MLA_SPARSE", exactly(64u)},
    {"CUTLASS_MLA", exactly(128u)},
    {"FLASHINFER_MLA", exactly(32u, 64u)},
    {"FLASH_ATTN_MLA", multiples_of(16)},
    {"TRITON_MLA", multiples_of(16)},
};

/// The backend's row, or nullptr.
constexpr const BackendRow* backend_named(const char* name) noexcept {
    for (const BackendRow& row : backends) {
        if (same_text(row.name, name)) {
            return &row;
        }
    }
    return nullptr;
}

/// What vLLM takes on Hopper when nothing is said: FlashMLA for latents (its sparse form beside index keys),
/// TurboQuant, FlashInfer and Triton where only they read the dtype, else FlashAttention.
constexpr const BackendRow& default_backend(bool latents, bool index_keys, KvDtype dtype) noexcept {
    const char* name = "FLASH_ATTN";
    if (latents) {
        name = index_keys ? "FLASHMLA_SPARSE" : "FLASHMLA";
    } else if (dtype >= KvDtype::turboquant_k8v4) {
        name = "TURBOQUANT";
    } else if (dtype == KvDtype::nvfp4) {
        name = "FLASHINFER";
    } else if (dtype == KvDtype::int8_per_token_head || dtype == KvDtype::fp8_per_token_head ||
               dtype == KvDtype::int4_per_token_head) {
        name = "TRITON_ATTN";
    }
    return *backend_named(name);
}

/// The same from the model's forms; DeepSeek-V4 has backends of its own.
constexpr const BackendRow& default_backend(const ModelSpec& model, KvDtype dtype) noexcept {
    if (has_kind(model, Kind::compressor)) {
        return *backend_named("FLASHMLA_SPARSE_DSV4");
    }
    return default_backend(has_kind(model, Kind::latent), has_kind(model, Kind::index), dtype);
}

}  // namespace kvcap::inline v1::vllm
