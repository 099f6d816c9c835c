// SPDX-License-Identifier: MIT
// What does llama.cpp know about a model once it has read the metadata? A row of numbers per block: head
// widths, window, state and indexer flags. io/gguf/card.hpp fills it from a file, from_spec.hpp from any
// ModelSpec.
// Source: llama.cpp v0.5.0, llama-hparams.cpp: n_embd_k_gqa, n_embd_v_gqa, n_embd_r, n_embd_s, is_swa,
// is_recr.
#pragma once

#include <kvcap/engine/llamacpp/arch.hpp>
#include <kvcap/inplace.hpp>

namespace kvcap::inline v1::llamacpp {

inline constexpr u32 max_blocks = 512;

/// key, value: head widths of this block (those of windows on window blocks). owner: the block whose cache it
/// reads. ratio: tokens per entry of compressed caches. index: keeps index keys. history: keeps the PLE row.
struct Block {
    u32 heads = 0;
    u32 kv_heads = 0;
    u32 key = 0;
    u32 value = 0;
    u16 owner = 0;
    u16 ratio = 0;
    bool attention = true;
    bool window = false;
    bool state = false;
    bool index = false;
    bool history = false;

    constexpr u64 key_row() const noexcept { return u64{key} * kv_heads; }
    constexpr u64 value_row() const noexcept { return u64{value} * kv_heads; }
    friend constexpr bool operator==(const Block&, const Block&) = default;
};

/// Elements (f32) of one row of each state tensor: R (convolution or token shift), S (state), P (PLE
/// history).
struct StateRows {
    u64 r = 0;
    u64 s = 0;
    u64 p = 0;
    friend constexpr bool operator==(const StateRows&, const StateRows&) = default;
};

/// Shape of delta-net states, for the tensor split.
struct DeltaNet {
    u32 state_size = 0;
    u32 groups = 0;
    u32 rank = 0;
    u32 kernel = 0;
    friend constexpr bool operator==(const DeltaNet&, const DeltaNet&) = default;
};

/// layers: the trunk; the blocks after it are NextN (draft) blocks, or a router block. latent: K only (MLA).
/// index_width, index_value: widths of the indexer's K and (unused) V. load_error: a reason why it does not
/// load.
struct Card {
    u16 rule = 0;
    bool indexed = false;
    bool latent = false;
    bool causal = true;
    bool router = false;
    bool four_positions = false;
    WindowType window_type = WindowType::none;
    u8 load_error = 0;
    u32 layers = 0;
    u32 nextn = 0;
    u32 context = 0;
    u32 window = 0;
    u32 index_width = 0;
    u32 index_value = 0;
    StateRows state{};
    DeltaNet delta{};
    Inplace<Block, max_blocks> blocks{};

    constexpr const ArchRule& arch() const noexcept { return arch_rules[rule]; }
    constexpr u32 all_layers() const noexcept { return blocks.size(); }
    friend constexpr bool operator==(const Card&, const Card&) = default;
};

/// pattern(period): with `dense_first` the full block opens each period, otherwise it closes it; period 0:
/// all windows.
constexpr bool in_window_pattern(u32 block, u32 period, bool dense_first_block) noexcept {
    if (period == 0) {
        return true;
    }
    return dense_first_block ? block % period != 0 : block % period < period - 1;
}

}  // namespace kvcap::inline v1::llamacpp
