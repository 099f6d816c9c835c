// SPDX-License-Identifier: MIT
// How many bytes is one sequence when llama.cpp saves it (prompt cache, checkpoints, session files)? Per
// attention cache a header, 12 bytes a cell and the rows of its live cells; per state cache one row. A
// partial state keeps the window half or the state half only. Source: llama.cpp v0.5.0, state_write of
// llama-kv-cache.cpp, llama-memory-recurrent.cpp.
#pragma once

#include <kvcap/engine/llamacpp/rows.hpp>

namespace kvcap::inline v1::llamacpp {

inline constexpr u64 state_header = 8;
inline constexpr u64 cell_record = 12;
inline constexpr u64 position_record = 12;  // four positions a token, or a PLE history
inline constexpr u64 tensor_record = 12;    // type and row size

/// First and last position a sequence of `tokens` tokens still has.
struct Positions {
    u64 first = 0;
    u64 last = 0;
    friend constexpr bool operator==(const Positions&, const Positions&) = default;
};

/// Window caches reuse their cells in the order of positions once all are taken; states only have their last
/// token. pre: tokens > 0 were decoded in order, into an empty sequence.
constexpr Positions positions(const Layout& layout, u64 tokens) noexcept {
    Positions here{.first = 0, .last = tokens - 1};
    for (const CacheShape& cache : layout.caches) {
        if (is_states(cache.part)) {
            here.first = here.last;
        } else if (cache.window_type != WindowType::none && tokens > cache.cells) {
            here.first = larger(here.first, tokens - cache.cells);
        }
    }
    return here;
}

/// Tokens whose cells are saved: all, or for windows those that the next token still sees.
constexpr u64 saved_cells(const CacheShape& cache, u64 tokens) noexcept {
    return cache.window_type == WindowType::none ? tokens : smaller(tokens, cache.window);
}

constexpr Result<u64> attention_state(const Card& card, const Layout& layout, const CacheShape& cache,
                                      u64 tokens) noexcept {
    const u64 cells = saved_cells(cache, tokens);
    u64 sum = 4 + 4 * u64{cache.streams};
    if (cells == 0) {
        return sum;
    }
    const bool extended = card.four_positions || card.state.p != 0;
    sum = saturating_sum(sum + 8, saturating_product(cells, cell_record + (extended ? position_record : 0)));
    for (u32 i = 0; i < card.all_layers(); ++i) {
        if (!owns(card, cache, i)) {
            continue;
        }
        const u64 wide = keeps_values(card, cache) ? cache.part == Part::indexer ? card.index_value
                                                                                : card.blocks[i].value_row()
                                                   : 0;
        const Result<u64> k = ggml_type(layout.options.type_k).format.row_bytes(key_elements(card, cache, i));
        const Result<u64> v = ggml_type(layout.options.type_v).format.row_bytes(wide);
        if (!k || !v) {
            return k ? v.error() : k.error();
        }
        sum = saturating_sum(sum, saturating_sum(tensor_record, saturating_product(cells, *k)));
        if (keeps_values(card, cache)) {
            sum = saturating_sum(sum, saturating_sum(tensor_record, saturating_product(cells, *v)));
        }
    }
    return sum;
}

constexpr u64 recurrent_state(const Card& card, const CacheShape& cache) noexcept {
    constexpr u64 per_cell = 8;
    u64 sum = 4 + per_cell + 8;
    for (u32 i = 0; i < card.all_layers(); ++i) {
        if (owns(card, cache, i)) {
            const u64 row = saturating_sum(saturating_sum(card.state.r, card.state.s),
                                           card.blocks[i].history ? card.state.p : 0);
            const u64 records = 2 * tensor_record + (card.blocks[i].history ? 8 : 0);
            sum = saturating_sum(sum, saturating_sum(records, saturating_product(4, row)));
        }
    }
    return sum;
}

/// Whether a checkpoint keeps this cache.
constexpr bool in_partial_state(const Layout& layout, const CacheShape& cache) noexcept {
    switch (layout.memory) {
        case Memory::iswa: return cache.part == Part::swa;
        case Memory::hybrid:
        case Memory::hybrid_idx: return is_states(cache.part);
        case Memory::hybrid_iswa: return is_states(cache.part) || cache.part == Part::swa;
        default: return true;
    }
}

/// Bytes of the saved sequence. partial: what a checkpoint holds. Errors: Errc::unsupported for compressed
/// caches; Errc::overflow beyond 64 bits.
constexpr Result<u64> sequence_state(const Card& card, const Layout& layout, u64 tokens,
                                     bool partial) noexcept {
    if (layout.memory == Memory::dsv4) {
        return Error{.code = Errc::unsupported, .what = Uncovered::saved_compressed};
    }
    u64 sum = state_header;
    for (const CacheShape& cache : layout.caches) {
        if (partial && !in_partial_state(layout, cache)) {
            continue;
        }
        const Result<u64> own = is_states(cache.part) ? Result<u64>{recurrent_state(card, cache)}
                                                      : attention_state(card, layout, cache, tokens);
        if (!own) {
            return own.error();
        }
        sum = saturating_sum(sum, *own);
    }
    return sum == off_scale ? Result<u64>{Errc::overflow} : Result<u64>{sum};
}

}  // namespace kvcap::inline v1::llamacpp
