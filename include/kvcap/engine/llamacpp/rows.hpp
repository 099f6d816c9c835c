// SPDX-License-Identifier: MIT
// What does one block store in one cache, and how many bytes is that? Per block and stream: cells x row(type,
// elements). V is absent in latent caches, and as wide as the widest block of the model when it is stored
// transposed.
// Source: llama.cpp v0.5.0, llama-kv-cache.cpp (constructor), llama-memory-recurrent.cpp,
// llama-kv-cache-dsv4.cpp.
#pragma once

#include <kvcap/engine/llamacpp/layout.hpp>

namespace kvcap::inline v1::llamacpp {

constexpr bool in_context(const Card& card, const CacheShape& cache, u32 block) noexcept {
    if (cache.draft) {
        return block >= card.layers;
    }
    return card.nextn == 0 || card.router || block < card.layers;
}

/// Whether `block` has tensors in this cache.
constexpr bool owns(const Card& card, const CacheShape& cache, u32 index) noexcept {
    const Block& block = card.blocks[index];
    const bool here = in_context(card, cache, index) && block.owner == index;
    const bool attention = here && (block.attention || cache.draft);
    switch (cache.part) {
        case Part::kv:
        case Part::mla: return attention;
        case Part::base:
        case Part::dsa_mla: return attention && !block.window;
        case Part::swa: return attention && block.window;
        case Part::indexer:
        case Part::dsa_indexer: return here && block.index;
        case Part::rs: return here && block.state;
        case Part::raw_base: return false;
        case Part::raw_swa: return true;
        case Part::csa:
        case Part::lid:
        case Part::csa_state:
        case Part::lid_state: return block.ratio == 4;
        case Part::hca:
        case Part::hca_state: return block.ratio == 128;
    }
    return false;
}

constexpr u32 blocks_in(const Card& card, const CacheShape& cache) noexcept {
    u32 count = 0;
    for (u32 i = 0; i < card.all_layers(); ++i) {
        count += owns(card, cache, i) ? 1 : 0;
    }
    return count;
}

/// Elements of one cell. pre: owns(card, cache, block)
constexpr u64 key_elements(const Card& card, const CacheShape& cache, u32 block) noexcept {
    switch (cache.part) {
        case Part::indexer:
        case Part::dsa_indexer:
        case Part::lid: return card.index_width;
        default: return card.blocks[block].key_row();
    }
}

constexpr bool keeps_values(const Card& card, const CacheShape& cache) noexcept {
    switch (cache.part) {
        case Part::kv:
        case Part::base:
        case Part::swa: return !card.latent;
        case Part::indexer: return card.index_value != 0;
        default: return false;
    }
}

constexpr u64 widest_value(const Card& card) noexcept {
    u64 widest = 0;
    for (const Block& block : card.blocks) {
        widest = larger(widest, block.value_row());
    }
    return widest;
}

constexpr u64 value_elements(const Card& card, const CacheShape& cache, u32 block) noexcept {
    if (!keeps_values(card, cache)) {
        return 0;
    }
    if (cache.part == Part::indexer) {
        return card.index_value;
    }
    return cache.transposed ? widest_value(card) : card.blocks[block].value_row();
}

/// Bytes of the tensors of one block in one cache.
struct BlockBytes {
    u64 k = 0;
    u64 v = 0;
    u64 r = 0;
    u64 s = 0;
    u64 p = 0;
    u64 compressor = 0;  ///< two tensors of this together

    constexpr u64 total() const noexcept {
        return saturating_sum(saturating_sum(saturating_sum(k, v), saturating_sum(r, s)),
                              saturating_sum(p, compressor));
    }
    constexpr BlockBytes& operator+=(const BlockBytes& more) noexcept {
        k = saturating_sum(k, more.k);
        v = saturating_sum(v, more.v);
        r = saturating_sum(r, more.r);
        s = saturating_sum(s, more.s);
        p = saturating_sum(p, more.p);
        compressor = saturating_sum(compressor, more.compressor);
        return *this;
    }
    friend constexpr bool operator==(const BlockBytes&, const BlockBytes&) = default;
};

constexpr u64 compressor_columns(const Card& card, Part part, u32 block) noexcept {
    switch (part) {
        case Part::csa_state: return 2 * card.blocks[block].key_row();
        case Part::hca_state: return card.blocks[block].key_row();
        default: return 2 * u64{card.index_width};
    }
}

/// pre: owns(card, cache, block). Errors: a row that is no multiple of the type's block.
constexpr Result<BlockBytes> block_bytes(const Card& card, const Layout& layout, const CacheShape& cache,
                                         u32 block) noexcept {
    constexpr u64 f32_bytes = 4;
    const u64 row_bytes = saturating_product(cache.rows, f32_bytes);
    if (is_states(cache.part)) {
        const u64 history = card.blocks[block].history ? card.state.p : 0;
        return BlockBytes{.r = saturating_product(card.state.r, row_bytes),
                          .s = saturating_product(card.state.s, row_bytes),
                          .p = saturating_product(history, row_bytes)};
    }
    if (is_compressor(cache.part)) {
        return BlockBytes{.compressor = saturating_product(
                              2 * compressor_columns(card, cache.part, block), row_bytes)};
    }
    const Result<u64> k = ggml_type(layout.options.type_k).format.row_bytes(key_elements(card, cache, block));
    const Result<u64> v =
        ggml_type(layout.options.type_v).format.row_bytes(value_elements(card, cache, block));
    if (!k || !v) {
        Error wrong = k ? v.error() : k.error();
        wrong.layer = block;
        return wrong;
    }
    const u64 cells = saturating_product(cache.cells, cache.streams);
    return BlockBytes{.k = saturating_product(cells, *k), .v = saturating_product(cells, *v)};
}

/// Sum over the blocks of a cache.
constexpr Result<BlockBytes> cache_bytes(const Card& card, const Layout& layout,
                                         const CacheShape& cache) noexcept {
    BlockBytes sum{};
    for (u32 i = 0; i < card.all_layers(); ++i) {
        if (owns(card, cache, i)) {
            const Result<BlockBytes> own = block_bytes(card, layout, cache, i);
            if (!own) {
                return own.error();
            }
            sum += *own;
        }
    }
    return sum;
}

/// Alignment of tensors in a buffer, and whether quantized rows are padded to 512 elements (CUDA).
struct Backend {
    u32 align = 32;
    bool pads_rows = false;
    friend constexpr bool operator==(const Backend&, const Backend&) = default;
};

inline constexpr Backend cpu_backend{};
inline constexpr Backend cuda_backend{.align = 128, .pads_rows = true};

constexpr u64 tensor_in_buffer(u64 bytes, const Backend& backend, const GgmlType& type, u64 row) noexcept {
    constexpr u64 matrix_row = 512;
    if (bytes == 0) {
        return 0;
    }
    u64 extra = 0;
    if (backend.pads_rows && type.quantized && row % matrix_row != 0) {
        extra = type.format.row_bytes(matrix_row - row % matrix_row).value_or(0);
    }
    return round_up(saturating_sum(bytes, extra), backend.align);
}

/// Bytes a block's tensors take in a backend's buffer. pre: owns(card, cache, block)
constexpr Result<u64> block_in_buffer(const Card& card, const Layout& layout, const CacheShape& cache,
                                      u32 block, const Backend& backend = cpu_backend) noexcept {
    const Result<BlockBytes> own = block_bytes(card, layout, cache, block);
    if (!own) {
        return own.error();
    }
    const GgmlType& single = ggml_type(Ggml::f32);
    const u64 compressor = tensor_in_buffer(own->compressor / 2, backend, single, 0);
    const u64 tensors[] = {
        tensor_in_buffer(own->k, backend, ggml_type(layout.options.type_k), key_elements(card, cache, block)),
        tensor_in_buffer(own->v, backend, ggml_type(layout.options.type_v), value_elements(card, cache, block)),
        tensor_in_buffer(own->r, backend, single, 0),
        tensor_in_buffer(own->s, backend, single, 0),
        tensor_in_buffer(own->p, backend, single, 0),
        compressor,
        compressor};
    u64 sum = 0;
    for (const u64 each : tensors) {
        sum = saturating_sum(sum, each);
    }
    return sum;
}

/// All caches, each byte once.
constexpr Result<BlockBytes> total_bytes(const Card& card, const Layout& layout) noexcept {
    BlockBytes sum{};
    for (const CacheShape& cache : layout.caches) {
        const Result<BlockBytes> own = cache_bytes(card, layout, cache);
        if (!own) {
            return own.error();
        }
        sum += *own;
    }
    return sum;
}

}  // namespace kvcap::inline v1::llamacpp
