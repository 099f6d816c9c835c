// SPDX-License-Identifier: MIT
// How many bytes does SGLang charge its budget for a token? Its "cell size", over the stage's layers: rows x
// element bytes, with the engine's own rounding of scales, plus drafts. What it then allocates differs
// (allocated.hpp). Source: pool_configurator.DefaultPoolConfigurator._compute_cell_size,
// HybridSWAPoolConfigurator.__init__.
#pragma once

#include <kvcap/engine/sglang/layers.hpp>

namespace kvcap::inline v1::sglang {

/// Index keys of DeepSeek sparse attention are always fp8 with an fp32 scale per 128: 132 bytes for 128.
constexpr u64 scaled_index_bytes(u32 width) noexcept {
    return u64{width} + u64{width} / 128 * 4;
}

/// One layer of a window model: rows x bytes, and for mxfp8 one byte per 32 elements of the layer.
constexpr u64 layer_bytes(const Row& row, KvDtype dtype) noexcept {
    const u64 scales = dtype == KvDtype::mxfp8 && !row.is_latent() ? row.elements() / 32 : 0;
    return row.elements() * element_bytes(dtype) + scales;
}

constexpr u64 latent_cell(const Local& local, const Options& options) noexcept {
    const u64 layers = local.paid_layers;
    u64 cell = local.full.elements() * layers * element_bytes(options.dtype);
    if (options.dtype == KvDtype::fp4) {
        cell = cell / 2 + local.full.elements() / 16 * layers;
    }
    return cell + scaled_index_bytes(local.index_width) * layers;
}

constexpr u64 head_cell(const Local& local, const Options& options) noexcept {
    const u64 elements = local.full.elements() * local.full_layers;
    const u64 cell = elements * element_bytes(options.dtype);
    switch (options.dtype) {
        case KvDtype::fp4:
            return cell / 2 + u64{local.full.key} * local.full_layers * 2 / 16 + u64{local.full.key} * 2;
        case KvDtype::mxfp8: return cell + elements / 32;
        default: return cell;
    }
}

/// MiniMax sparse attention: index keys (and values, where kept) in the model's dtype; no scales are charged.
constexpr u64 indexed_head_cell(const Local& local, const Options& options) noexcept {
    const u64 vectors = u64{local.index_layers} + local.index_value_layers;
    return local.full.elements() * local.full_layers * element_bytes(options.dtype) +
           vectors * local.index_width * options.index_value_bytes;
}

/// The target's layers of a model without a window pool.
constexpr u64 target_cell(const Local& local, const Options& options) noexcept {
    if (local.full.is_latent()) {
        return latent_cell(local, options);
    }
    return local.index_width != 0 ? indexed_head_cell(local, options) : head_cell(local, options);
}

/// With the draft: eagle int(cell x (1 + draft / layers)) in doubles, dflash rounded up in whole numbers.
constexpr u64 plain_cell(const Local& local, const Options& options) noexcept {
    const u64 cell = target_cell(local, options);
    const u64 drafts = options.speculation.layers;
    const u64 layers = local.full_layers;
    if (!options.speculation.on() || drafts == 0 || layers == 0) {
        return cell;
    }
    if (options.speculation.draft == Draft::dflash) {
        return ceil_div(cell * (layers + drafts), layers);
    }
    const double share = static_cast<double>(drafts) / static_cast<double>(layers);
    return truncated(static_cast<double>(cell) * (1 + share));
}

/// Bytes per full token in a window model: full layers and drafts, and `window_ratio` of the window layers.
/// Without full layers: bytes per window token.
struct WindowCell {
    u64 full_layer = 0;
    u64 window_layer = 0;
    u64 full_part = 0;  ///< full layers and drafts
    double charged = 0;
};

constexpr WindowCell window_cell(const Local& local, const Options& options) noexcept {
    const Row& full = local.full == Row{} ? local.window : local.full;
    const bool drafts = options.speculation.draft == Draft::eagle;
    const u64 banded = drafts ? options.speculation.window_layers : 0;
    const u64 drafted = drafts ? options.speculation.layers - banded : 0;
    WindowCell cell{.full_layer = layer_bytes(full, options.dtype),
                    .window_layer = layer_bytes(local.window, options.dtype)};
    cell.full_part = cell.full_layer * (local.full_layers + drafted) + cell.window_layer * banded;
    if (local.full_layers == 0) {
        cell.charged = static_cast<double>(cell.full_part + cell.window_layer * local.window_layers);
        return cell;
    }
    const double weighted = options.window_ratio * static_cast<double>(cell.window_layer);
    const double windows = weighted * static_cast<double>(local.window_layers);
    cell.charged = static_cast<double>(cell.full_part) + windows;
    return cell;
}

}  // namespace kvcap::inline v1::sglang
