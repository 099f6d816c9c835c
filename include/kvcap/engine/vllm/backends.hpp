// SPDX-License-Identifier: MIT
// Which attention backend does vLLM take? The block it chooses, and the granularity of its alignment, follow from it.
// Rule: the first backend in the device's order that supports the cache (platforms/cuda.py
// `_get_backend_priorities`, v1/attention/backend.py `validate_configuration`; 0.28.0).
#pragma once

#include <kvcap/engine/vllm/backend_table.hpp>
#include <kvcap/engine/vllm/classes.hpp>

namespace kvcap::inline v1::vllm {

/// What a backend must support. block 0: as the backend likes. query_heads: of a rank. width: of one head.
/// sinks: the attention has learned sinks (no cache of their own). capability: 10 x major + minor.
struct BackendNeed {
    bool latents = false;
    bool index_keys = false;
    bool sinks = false;
    KvDtype dtype = KvDtype::automatic;
    bool e5m2 = false;
    u64 width = 128;
    u64 query_heads = 0;
    u64 block = 0;
    u32 capability = 90;

    constexpr u32 major() const noexcept { return capability / 10; }
    constexpr bool quantised() const noexcept {
        return dtype != KvDtype::automatic && dtype < KvDtype::turboquant_k8v4;
    }
};

/// In the order in which vLLM lists them.
enum class Unfit : u8 { none, head_size, kv_cache_dtype, block_size, mla, sinks, sparse, capability };

/// vLLM's own words (`validate_configuration`).
constexpr const char* words_of(Unfit why, const BackendNeed& need) noexcept {
    switch (why) {
        case Unfit::none: return "";
        case Unfit::head_size: return "head_size not supported";
        case Unfit::kv_cache_dtype: return "kv_cache_dtype not supported";
        case Unfit::block_size: return "block_size not supported";
        case Unfit::mla: return need.latents ? "MLA not supported" : "non-MLA not supported";
        case Unfit::sinks: return "attention sinks not supported";
        case Unfit::sparse: return need.index_keys ? "sparse not supported" : "non-sparse not supported";
        case Unfit::capability: return "compute capability not supported";
    }
    return "";
}

namespace backend_checks {

constexpr bool is(const BackendRow& row, const char* name) noexcept { return same_text(row.name, name); }

constexpr bool head_size(const BackendRow& row, const BackendNeed& need) noexcept {
    if (is(row, "FLASH_ATTN")) {
        const bool newest_kernels = need.major() == 9 || need.major() == 10;  // FlashAttention 4
        return need.width % 8 == 0 && need.width <= (newest_kernels ? 512u : 256u);
    }
    if (is(row, "FLASHINFER")) {
        return need.width == 64 || need.width == 128 || need.width == 256 || need.width == 512;
    }
    return !is(row, "TRITON_ATTN") || need.width >= 32;
}

constexpr bool dtype(const BackendRow& row, const BackendNeed& need) noexcept {
    if ((row.dtypes >> static_cast<u32>(need.dtype) & 1) == 0) {
        return false;
    }
    const bool heads = is(row, "FLASHINFER") || is(row, "TRITON_ATTN");
    if (need.e5m2 && !heads) {
        return false;
    }
    if (is(row, "FLASH_ATTN") && need.dtype == KvDtype::fp8) {
        return need.major() == 9 || need.major() == 10;
    }
    return !is(row, "FLASHINFER") || need.dtype != KvDtype::nvfp4 || need.major() == 10;
}

/// A block must be a multiple of one kernel block (`supports_block_size`).
constexpr bool block(const BackendRow& row, u64 tokens) noexcept {
    bool any = tokens == 0;
    for (const KernelBlock& one : row.blocks) {
        any = any || tokens % one.tokens == 0;
    }
    return any;
}

constexpr bool sinks(const BackendRow& row, const BackendNeed& need) noexcept {
    if (is(row, "FLASH_ATTN")) {
        return need.major() == 9 || need.major() == 10;
    }
    return is(row, "FLASHINFER") ? need.major() == 10 || need.major() == 12 : is(row, "TRITON_ATTN");
}

}  // namespace backend_checks

/// Whether a backend cannot serve this for that reason.
constexpr bool is_unfit(Unfit why, const BackendRow& row, const BackendNeed& need) noexcept {
    using namespace backend_checks;
    switch (why) {
        case Unfit::none: break;
        case Unfit::head_size: return !head_size(row, need);
        case Unfit::kv_cache_dtype: return !dtype(row, need);
        case Unfit::block_size: return !block(row, need.block);
        case Unfit::mla: return row.latents != need.latents;
        case Unfit::sinks: return need.sinks && !sinks(row, need);
        case Unfit::sparse: return row.sparse != need.index_keys;
        case Unfit::capability: return need.capability < row.oldest || need.capability > row.newest;
    }
    return false;
}

/// The first reason; none: it can.
constexpr Unfit unfit(const BackendRow& row, const BackendNeed& need) noexcept {
    for (u8 i = 1; i <= static_cast<u8>(Unfit::capability); ++i) {
        if (is_unfit(Unfit{i}, row, need)) {
            return Unfit{i};
        }
    }
    return Unfit::none;
}

/// Backends in the order in which vLLM tries them.
using BackendOrder = Inplace<const char*, 8>;

constexpr BackendOrder backend_order(const BackendNeed& need, const Rules& rules) noexcept {
    const auto order = [](auto... names) noexcept {
        return BackendOrder{.count = static_cast<u32>(sizeof...(names)), .items = {names...}};
    };
    if (!need.latents) {
        return need.major() == 10 ? order("FLASHINFER", "FLASH_ATTN", "TRITON_ATTN", "FLEX_ATTENTION", "TURBOQUANT")
                                  : order("FLASH_ATTN", "FLASHINFER", "TRITON_ATTN", "FLEX_ATTENTION", "TURBOQUANT");
    }
    if (need.major() == 10) {
        // few query heads, or fp8: FlashMLA would pad heads
        const bool flashinfer = need.quantised() || (need.query_heads != 0 && need.query_heads <= 16);
        return flashinfer ? order("FLASHINFER_MLA", "CUTLASS_MLA", "FLASHMLA", "TRITON_MLA", "FLASHINFER_MLA_SPARSE",
                                  "FLASHMLA_SPARSE")
                          : order("FLASHINFER_MLA", "CUTLASS_MLA", "FLASHMLA", "TRITON_MLA", "FLASHMLA_SPARSE",
                                  "FLASHINFER_MLA_SPARSE");
    }
    if (need.major() == 12) {
        return order("TRITON_MLA", "FLASHINFER_MLA_SPARSE_SM120");
    }
    if (!rules.has(Change::prefers_flash_attn_mla)) {
        return order("FLASHMLA", "FLASH_ATTN_MLA", "TRITON_MLA", "FLASHMLA_SPARSE");
    }
    return rules.has(Change::flash_attn_mla_sparse)
               ? order("FLASH_ATTN_MLA", "FLASHMLA", "TRITON_MLA", "FLASH_ATTN_MLA_SPARSE", "FLASHMLA_SPARSE")
               : order("FLASH_ATTN_MLA", "FLASHMLA", "TRITON_MLA", "FLASHMLA_SPARSE");
}

/// The first that fits, or nullptr: vLLM does not start.
constexpr const BackendRow* choose_backend(const BackendNeed& need, const Rules& rules = newest_rules) noexcept {
    for (const char* name : backend_order(need, rules)) {
        const BackendRow* row = backend_named(name);
        if (unfit(*row, need) == Unfit::none) {
            return row;
        }
    }
    return nullptr;
}

/// What the model's leading attention form asks of a backend (`_find_non_ssm_backend`: the first layer that is no
/// state).
constexpr BackendNeed need_of(const ModelSpec& model, KvDtype dtype, u32 capability = 90) noexcept {
    BackendNeed need{.latents = has_kind(model, Kind::latent),
                     .index_keys = has_kind(model, Kind::latent) && has_kind(model, Kind::index),
                     .dtype = dtype,
                     .capability = capability};
    const Leading first = leading_forms(model);
    if (first.heads < model.forms.size() && !model.forms[first.heads].streams.empty()) {
        need.width = model.forms[first.heads].streams[0].width;
    }
    return need;
}

/// The blocks that decide: index keys are registered first, and their kernels read blocks of 64 (mla/indexer.py).
/// Grouped queries on Blackwell have larger pages (FLASHINFER, trtllm-gen).
constexpr KernelBlocks kernel_blocks_of(const BackendRow& row, const BackendNeed& need, bool grouped) noexcept {
    if (need.index_keys && row.sparse && row.blocks[0].tokens < 64) {
        return exactly(64u);
    }
    if (backend_checks::is(row, "FLASHINFER") && need.major() == 10 && grouped) {
        return exactly(16u, 32u, 64u, 128u, 256u, 512u, 1024u);
    }
    return row.blocks;
}

/// Until 0.17 the platform, not the backend, set the block of latents (platforms/cuda.py
/// `check_and_update_config`); 0: not set.
constexpr u32 forced_block(const BackendNeed& need, u32 asked) noexcept {
    const u32 block = asked == 0 ? 16 : asked;
    if (!need.latents) {
        return 0;
    }
    if (need.index_keys) {
        return 64;
    }
    if (need.major() == 10) {
        return block == 32 || block % 64 == 0 ? 0 : 64;
    }
    return need.major() != 9 || block % 64 == 0 ? 0 : 64;
}

/// What vLLM takes when nothing is said, on Hopper (on Blackwell for nvfp4, which only that reads); DeepSeek-V4 has
/// backends of its own.
constexpr const BackendRow& default_backend(const ModelSpec& model, KvDtype dtype) noexcept {
    if (has_kind(model, Kind::compressor)) {
        return *backend_named("FLASHMLA_SPARSE_DSV4");
    }
    BackendNeed need = need_of(model, dtype, dtype == KvDtype::nvfp4 ? 100 : 90);
    const BackendRow* row = choose_backend(need);
    if (row == nullptr) {
        row = backend_named(need.latents ? "TRITON_MLA" : "TRITON_ATTN");
    }
    return *row;
}

}  // namespace kvcap::inline v1::vllm
