// SPDX-License-Identifier: MIT
// How many bytes does a token take in TensorRT-LLM? The manager rounds heads on a rank up, the estimate that
// runs before it rounds the product of heads and width down, so it is too low wherever heads do not divide.
// Source: resource_manager.py KVCacheManager.get_cache_bytes_per_token, _util.py get_cache_size_per_token.
#pragma once

#include <kvcap/engine/trtllm/options.hpp>

namespace kvcap::inline v1::trtllm {

/// Elements to bytes: nvfp4 packs two and adds one scale byte per 16.
constexpr u64 bytes_of(u64 elements, KvDtype dtype) noexcept {
    return dtype == KvDtype::nvfp4 ? elements / 2 + elements / 16 : elements * element_bytes(dtype);
}

/// Index keys of sparse attention: one byte each and an fp32 scale per 128.
constexpr u64 index_bytes(u64 width) noexcept {
    return width + width / 128 * 4;
}

/// Layers alike on a rank. planes: 2 for keys and values, 1 for a latent (one head, its width latent + rope).
struct AlikeLayers {
    u64 layers = 0;
    u64 kv_heads = 0;
    u64 head_dim = 0;
    u64 planes = 2;
};

/// pre: tp > 0; 1 with attention data parallelism
constexpr u64 manager_bytes(const AlikeLayers& alike, u64 tp, KvDtype dtype) noexcept {
    return bytes_of(alike.planes * alike.layers * ceil_div(alike.kv_heads, tp) * alike.head_dim, dtype);
}

/// A latent is not divided.
constexpr u64 estimator_bytes(const AlikeLayers& alike, u64 tp, KvDtype dtype) noexcept {
    const u64 row = alike.head_dim * alike.kv_heads / (alike.planes == 1 ? 1 : tp);
    const u64 elements = alike.planes * larger(alike.layers, 1) * row;
    return dtype == KvDtype::nvfp4 ? ceil_div(elements, 2) + ceil_div(elements, 16)
                                   : elements * element_bytes(dtype);
}

/// A pool of the manager: all layers of one window with so many heads. index: sparse attention's keys.
enum class PoolRole : u8 { kv, block_scales, index_keys };

constexpr u64 pool_bytes(const AlikeLayers& alike, PoolRole role, u64 index_width, u64 blocks,
                         u64 tokens_per_block, KvDtype dtype) noexcept {
    const u64 elements = alike.kv_heads * tokens_per_block * alike.head_dim;
    const u64 rows = blocks * alike.layers * alike.planes;
    switch (role) {
        case PoolRole::kv:
            return rows * (dtype == KvDtype::nvfp4 ? elements / 2 : elements * element_bytes(dtype));
        case PoolRole::block_scales: return rows * (elements / 16);
        case PoolRole::index_keys: return rows * tokens_per_block * index_bytes(index_width);
    }
    return 0;
}

}  // namespace kvcap::inline v1::trtllm
