// SPDX-License-Identifier: MIT
// Which blocks can an attention backend's kernels read, which dtypes, on which devices? A table. Source:
// v1/attention/backends/*.py `get_supported_kernel_block_sizes`, `supported_kv_cache_dtypes` and
// `supports_compute_capability` (0.28.0).
#pragma once

#include <concepts>
#include <kvcap/engine/vllm/options.hpp>
#include <kvcap/engine/vllm/names.hpp>

namespace kvcap::inline v1::vllm {

/// Bit i: KvDtype i can be read.
using DtypeSet = u32;

template <std::same_as<KvDtype>... Dtypes>
constexpr DtypeSet reads(Dtypes... dtypes) noexcept {
    return (DtypeSet{0} | ... | (DtypeSet{1} << static_cast<u32>(dtypes)));
}

/// oldest, newest: compute capabilities, 10 x major + minor. latents, sparse: for MLA; for MLA beside index keys.
struct BackendRow {
    const char* name = "";
    KernelBlocks blocks{};
    DtypeSet dtypes = reads(KvDtype::automatic, KvDtype::fp8);
    u32 oldest = 0;
    u32 newest = 999;
    bool latents = false;
    bool sparse = false;
};

constexpr KernelBlocks multiples_of(u32 tokens) noexcept { return {.count = 1, .items = {{tokens, true}}}; }

template <std::same_as<u32>... Tokens>
constexpr KernelBlocks exactly(Tokens... tokens) noexcept {
    return {.count = sizeof...(Tokens), .items = {KernelBlock{tokens, false}...}};
}

namespace dtype_sets {
inline constexpr DtypeSet plain = reads(KvDtype::automatic);
inline constexpr DtypeSet fp8 = reads(KvDtype::automatic, KvDtype::fp8);
inline constexpr DtypeSet packed = reads(KvDtype::automatic, KvDtype::fp8, KvDtype::fp8_ds_mla);
inline constexpr DtypeSet nvfp4 = fp8 | reads(KvDtype::nvfp4);
inline constexpr DtypeSet per_head = fp8 | reads(KvDtype::int8_per_token_head, KvDtype::fp8_per_token_head,
                                                 KvDtype::int4_per_token_head);
inline constexpr DtypeSet turbo = reads(KvDtype::turboquant_k8v4, KvDtype::turboquant_4bit_nc,
                                        KvDtype::turboquant_k3v4_nc, KvDtype::turboquant_3bit_nc);
}  // namespace dtype_sets

/// Names as in `--attention-backend`. FLASH_ATTN reads fp8 on major 9 and 10 only, FLASHINFER nvfp4 on 10 only.
inline constexpr BackendRow backends[] = {
    {.name = "FLASH_ATTN", .blocks = multiples_of(16), .dtypes = dtype_sets::fp8, .oldest = 80},
    {.name = "FLASHINFER", .blocks = exactly(16u, 32u, 64u), .dtypes = dtype_sets::nvfp4, .oldest = 80, .newest = 121},
    {.name = "TRITON_ATTN", .blocks = multiples_of(16), .dtypes = dtype_sets::per_head},
    {.name = "FLEX_ATTENTION", .blocks = multiples_of(16), .dtypes = dtype_sets::plain},
    {.name = "TURBOQUANT", .blocks = exactly(16u, 32u, 64u, 128u), .dtypes = dtype_sets::turbo},
    {.name = "CPU_ATTN", .blocks = multiples_of(16)},
    {.name = "FLASH_ATTN_MLA", .blocks = multiples_of(16), .dtypes = dtype_sets::plain, .oldest = 90, .newest = 99,
     .latents = true},
    {.name = "FLASHMLA", .blocks = exactly(64u), .oldest = 90, .newest = 109, .latents = true},
    {.name = "FLASHINFER_MLA", .blocks = exactly(32u, 64u), .oldest = 100, .newest = 109, .latents = true},
    {.name = "CUTLASS_MLA", .blocks = exactly(128u), .oldest = 100, .newest = 109, .latents = true},
    {.name = "TRITON_MLA", .blocks = multiples_of(16), .latents = true},
    {.name = "FLASH_ATTN_MLA_SPARSE", .blocks = exactly(64u), .dtypes = dtype_sets::plain, .oldest = 90,
     .newest = 99, .latents = true, .sparse = true},
    {.name = "FLASHMLA_SPARSE", .blocks = exactly(64u), .dtypes = dtype_sets::packed, .oldest = 90, .newest = 109,
     .latents = true, .sparse = true},
    {.name = "FLASHINFER_MLA_SPARSE", .blocks = exactly(32u, 64u), .oldest = 100, .newest = 109, .latents = true,
     .sparse = true},
    {.name = "FLASHINFER_MLA_SPARSE_SM120", .blocks = exactly(64u, 256u), .dtypes = dtype_sets::packed,
     .oldest = 120, .newest = 129, .latents = true, .sparse = true},
    {.name = "FLASHMLA_SPARSE_DSV4", .blocks = exactly(256u), .dtypes = dtype_sets::packed, .latents = true,
     .sparse = true},
    {.name = "FLASHINFER_MLA_SPARSE_DSV4", .blocks = exactly(256u), .dtypes = dtype_sets::packed, .latents = true,
     .sparse = true},
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

}  // namespace kvcap::inline v1::vllm
