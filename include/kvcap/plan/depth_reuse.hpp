// SPDX-License-Identifier: MIT
// What does it save when, while decoding, a layer takes the keys and values of the layer before it? Memory: such layers
// hold prompt tokens only, so L layers of which R reuse hold L x P + (L - R) x D layer-tokens (+ R x D x fallback).
// Time: at most the K and V projections that are not read; prefill computes them all and gains nothing.
#pragma once

#include <kvcap/capacity.hpp>

namespace kvcap::inline v1 {

/// How alike the keys and values of layer i and i - 1 were when measured: thousandths, one per layer (layer 0 unused).
/// A table holds for the storage format and the attention kind it was measured under.
struct SimilarityTable {
    Inplace<u16, 256> thousandths{};
    Kind kind = Kind::attention;
    ElementFormat format = bf16;
    friend constexpr bool operator==(const SimilarityTable&, const SimilarityTable&) = default;
};

/// First growing cache of a layer, if it has one.
constexpr const LayerForm* growing_cache(const ModelSpec& model, u32 layer) noexcept {
    for (const Cache& cache : model.caches) {
        const LayerForm& form = model.form_of(cache);
        if (cache.layer == layer && form.retention.keep == Keep::everything && form.kind != Kind::index) {
            return &form;
        }
    }
    return nullptr;
}

/// A table measured under another format or attention kind says nothing about this model (0.98 in bf16 was 0.995 in
/// INT8): Errc::refused_combination names the layer.
constexpr Error stale(const SimilarityTable& table, const ModelSpec& model) noexcept {
    for (u32 layer = 0; layer < model.layers; ++layer) {
        const LayerForm* form = growing_cache(model, layer);
        if (form != nullptr && !(form->kind == table.kind && form->streams[0].format == table.format)) {
            return {.code = Errc::refused_combination, .layer = layer};
        }
    }
    return {};
}

using LayerList = Inplace<u16, 256>;

/// Layers at least `threshold` thousandths alike to the one before. Errors: a table of another length, a stale one
/// unless accepted.
constexpr Result<LayerList> reusing_layers(const SimilarityTable& table, u16 threshold, const ModelSpec& model,
                                           bool accept_stale = false) noexcept {
    if (table.thousandths.size() != model.layers) {
        return Error{.code = Errc::stage_layers_mismatch, .got = table.thousandths.size(), .want = model.layers};
    }
    if (const Error old = stale(table, model); old.code != Errc::ok && !accept_stale) {
        return old;
    }
    LayerList list{};
    for (u32 layer = 1; layer < model.layers; ++layer) {
        if (table.thousandths[layer] >= threshold && growing_cache(model, layer) != nullptr &&
            !list.push(static_cast<u16>(layer))) {
            return Error{.code = Errc::capacity, .layer = layer, .got = layer, .want = LayerList::capacity()};
        }
    }
    return list;
}

constexpr bool has(const LayerList& list, u32 layer) noexcept {
    for (const u16 one : list) {
        if (one == layer) {
            return true;
        }
    }
    return false;
}

/// The model whose listed layers keep the prompt only.
constexpr Result<ModelSpec> with_depth_reuse(const ModelSpec& model, const LayerList& layers) noexcept {
    return restored(model, [&](u32 layer, LayerForm form) noexcept {
        if (has(layers, layer) && form.retention.keep == Keep::everything) {
            form.retention.source = Source::prompt;
        }
        return form;
    });
}

/// Layer-tokens held when a `fallback` share (thousandths) of the decoded tokens is computed in every layer after all.
constexpr u64 layer_tokens(u64 layers, u64 reusing, u64 prompt, u64 decoded, u64 fallback = 0) noexcept {
    const u64 own = saturating_sum(saturating_product(layers, prompt), saturating_product(layers - reusing, decoded));
    const u64 back = saturating_product(saturating_product(reusing, decoded), fallback);
    return back == off_scale ? off_scale : saturating_sum(own, ceil_div(back, 1000));
}

/// Upper bound of the share of a decode step saved: K and V projection weights not read / weights read. Attention over
/// the cached positions is not saved.
constexpr double step_time_bound(u64 reusing, u64 kv_projection_params_per_layer, u64 params_read) noexcept {
    return static_cast<double>(reusing) * static_cast<double>(kv_projection_params_per_layer) /
           static_cast<double>(params_read);
}

}  // namespace kvcap::inline v1
