// SPDX-License-Identifier: MIT
// How many bytes do SGLang's pools really take? Every pool has one page more than its tokens (page 0 takes
// writes of padding), states one slot more. Budget and allocation differ: fp8 latents of sparse attention
// take 656 bytes where 576 were charged. Sources: mem_cache/memory_pool.py, swa_memory_pool.py,
// deepseek_v4_memory_pool.py.
#pragma once

#include <kvcap/engine/sglang/compressed.hpp>
#include <kvcap/engine/sglang/states.hpp>

namespace kvcap::inline v1::sglang {

/// k, v: what the log calls K size and V size. kv: models with latents (index keys included; fp4 scales are
/// not).
struct Allocation {
    u64 k = 0;
    u64 v = 0;
    u64 kv = 0;
    u64 scales = 0;      ///< fp4 scales of latents
    u64 full = 0;        ///< of k and v, the full layers' pool
    u64 window = 0;      ///< of k and v, the window layers' pool
    u64 conv = 0;
    u64 ssm = 0;
    u64 latent_row = 0;  ///< bytes of one token's latent in one layer

    constexpr u64 tokens() const noexcept { return k + v + kv + scales; }
    constexpr u64 total() const noexcept { return tokens() + conv + ssm; }
    friend constexpr bool operator==(const Allocation&, const Allocation&) = default;
};

/// Bytes of `elements` of one token, head and plane, with their scales.
constexpr u64 stored_bytes(u64 elements, KvDtype dtype) noexcept {
    switch (dtype) {
        case KvDtype::bf16: return elements * 2;
        case KvDtype::fp8: return elements;
        case KvDtype::mxfp8: return elements + elements / 32;
        case KvDtype::fp4: return elements / 2 + elements / 16;
    }
    return 0;
}

/// fp4 pools give values the keys' width.
constexpr u64 stored_value(const Row& row, KvDtype dtype) noexcept {
    return stored_bytes(dtype == KvDtype::fp4 ? row.key : row.value, dtype);
}

/// nvfp4 decodes one layer at a time into fp8.
constexpr u64 workspace(const Row& row, const Options& options) noexcept {
    return options.dtype == KvDtype::fp4 && options.fp4 == Fp4::nvfp4 ? row.key : 0;
}

/// fp8 latents of sparse attention: an fp32 scale per 128, and the rope part in bf16.
constexpr u64 latent_row(const Local& local, const Options& options) noexcept {
    const Row& row = local.full;
    const bool indexed = local.index_width != 0;
    if (options.dtype == KvDtype::fp4) {
        return indexed ? row.elements() : row.elements() / 2;
    }
    const bool scaled = indexed && options.dtype != KvDtype::bf16 && !options.raw_latent_rows;
    return scaled ? u64{row.latent} + row.latent / 128 * 4 + u64{row.rope} * 2
                  : row.elements() * element_bytes(options.dtype);
}

/// Bytes of a latent pool and its index keys, which come in whole pages.
constexpr u64 latent_pool(u64 tokens, u64 page, u64 layers, u64 row, u64 index_row) noexcept {
    const u64 rows = tokens + page;
    return (rows * row + (rows + 1) / page * page * index_row) * layers;
}

constexpr Allocation latent_allocation(u64 tokens, const Local& local, const Options& options) noexcept {
    Allocation taken{.latent_row = latent_row(local, options)};
    taken.kv = latent_pool(tokens, options.page, local.paid_layers, taken.latent_row,
                           scaled_index_bytes(local.index_width));
    if (options.dtype == KvDtype::fp4 && local.index_width == 0) {
        taken.scales = (tokens + options.page) * (local.full.elements() / 16) * local.full_layers;
    }
    return taken;
}

/// Keys and values of one pool; an empty pool (no layers) takes nothing.
constexpr Allocation head_pool(u64 tokens, u64 layers, const Row& row, const Options& options) noexcept {
    if (layers == 0) {
        return {};
    }
    const u64 rows = tokens + options.page;
    const u64 extra = workspace(row, options);
    return {.k = rows * (stored_bytes(row.key, options.dtype) * layers + extra),
            .v = rows * (stored_value(row, options.dtype) * layers + extra)};
}

constexpr Allocation head_allocation(const TokenPools& pools, const Local& local,
                                     const Options& options) noexcept {
    const u64 full_tokens = local.window_layers != 0 ? pools.full : pools.tokens;
    const Allocation full = head_pool(full_tokens, local.full_layers, local.full, options);
    const Allocation window = head_pool(pools.window, local.window_layers, local.window, options);
    const u64 index = (pools.tokens + options.page) * local.index_width * options.index_value_bytes;
    return {.k = full.k + window.k + index * local.index_layers,
            .v = full.v + window.v + index * local.index_value_layers,
            .full = full.k + full.v,
            .window = window.k + window.v};
}

/// Bytes of each pool of a DeepSeek-V4 stage. Latent pages are padded to multiples of 576 bytes.
struct CompressedBytes {
    u64 window = 0;
    u64 quarter = 0;
    u64 hundredth = 0;
    u64 index = 0;
    u64 quarter_states = 0;
    u64 hundredth_states = 0;
    constexpr u64 total() const noexcept {
        return window + quarter + hundredth + index + quarter_states + hundredth_states;
    }
};

constexpr u64 padded_pages(u64 entries, u64 page, u64 each) noexcept {
    return (entries + page + 1) / page * round_up(page * each, 576);
}

constexpr CompressedBytes compressed_bytes(const TokenPools& pools, u64 requests, const Local& local,
                                           const Options& options) noexcept {
    const u64 latent = compressed_latent_bytes(local.window.latent, options);
    const u64 page = options.page;
    const u64 state = 4 * (u64{local.window.latent} + local.index_width) * options.compressor_state_bytes;
    const u64 ring = rings(options).quarter;
    return {.window = padded_pages(pools.window, page, latent) * local.window_layers,
            .quarter = padded_pages(pools.quarter, page / 4, latent) * local.quarter_layers,
            .hundredth = padded_pages(pools.hundredth, page / 128, latent) * local.hundredth_layers,
            .index = (pools.hundredth * 32 + page / 4 + 1) / (page / 4) * (page / 4) *
                     (u64{local.index_width} + 4) * local.quarter_layers,
            .quarter_states = round_up(pools.quarter_states + ring + 1, 4) * state * local.quarter_layers,
            .hundredth_states = request_state_bytes(requests, local, options)};
}

/// What a stage's pools take. requests: the request limit, which sizes DeepSeek-V4's fixed states.
constexpr Allocation allocation(const TokenPools& pools, u64 requests, u64 slots, const StateShape& state,
                                const Local& local, const Options& options) noexcept {
    Allocation taken{};
    if (local.compressed()) {
        taken.kv = compressed_bytes(pools, requests, local, options).total();
    } else if (local.full.is_latent()) {
        taken = latent_allocation(pools.tokens, local, options);
    } else {
        taken = head_allocation(pools, local, options);
    }
    const u64 rows = (slots + 1) * local.state_layers;
    taken.conv = state.conv.value * rows;
    taken.ssm = state.ssm.value * rows;
    return taken;
}

}  // namespace kvcap::inline v1::sglang
