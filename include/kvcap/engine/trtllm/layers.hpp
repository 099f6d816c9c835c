// SPDX-License-Identifier: MIT
// What does a pipeline stage of TensorRT-LLM see of a model? Its layers by attention window, with bytes per
// token: heads on a rank rounded up, latents whole; cross attention and states apart. Left-over layers go to
// the first stages. Sources: resource_manager.py _get_window_size_to_layers, mapping.py pp_layers;
// kvCacheManager.cpp groupLayersByWindowSize.
#pragma once

#include <kvcap/engine/scale.hpp>
#include <kvcap/engine/trtllm/blocks.hpp>
#include <kvcap/engine/trtllm/states.hpp>
#include <kvcap/engine/uncovered.hpp>

namespace kvcap::inline v1::trtllm {

/// elements: of one token in all layers of the window. index: bytes of their index keys. place: of its pool
/// in a plan.
struct WindowElements {
    u64 tokens = 0;
    u64 elements = 0;
    u64 index = 0;

    constexpr u64 bytes(KvDtype dtype) const noexcept { return bytes_of(elements, dtype) + index; }
    /// What the Python manager divides by where there are several windows: no scales.
    constexpr u64 without_scales(KvDtype dtype) const noexcept {
        return dtype == KvDtype::nvfp4 ? elements / 2 + index : bytes(dtype);
    }
    friend constexpr bool operator==(const WindowElements&, const WindowElements&) = default;
};

/// windows: ascending. cross: elements of encoder tokens. state: bytes of one slot in all state layers of the
/// stage.
struct StageLayers {
    Inplace<WindowElements, 7> windows{};
    u64 cross = 0;
    u64 state = 0;
};

/// Ranks as the attention layers see them.
constexpr Result<Sharding> attention_ranks(const ModelSpec& model, const Sharding& given,
                                           const Options& options) noexcept {
    if (given.tp == 0 || options.tokens_per_block == 0) {
        return Errc::zero_parallelism;
    }
    if (const Error wrong = check_scale(model, options.tokens_per_block); wrong.code != Errc::ok) {
        return wrong;
    }
    if (given.cp != 1) {
        return Error{.code = Errc::unsupported, .what = Uncovered::context_ranks, .got = given.cp};
    }
    Sharding ranks = given;
    ranks.tp = options.attention_dp ? 1 : given.tp;
    ranks.uneven = Uneven::ceil;
    ranks.remainder = Remainder::first;
    if (model.query_heads % ranks.tp != 0) {
        return Error{.code = Errc::query_heads_not_divisible, .got = model.query_heads, .want = ranks.tp};
    }
    return ranks;
}

constexpr u64 window_of(const LayerForm& form, const Options& options) noexcept {
    const bool windowed = form.retention.keep == Keep::window || form.retention.keep == Keep::chunk;
    return windowed && options.model_windows ? smaller(form.retention.span.value, options.max_seq_len)
                                             : options.max_seq_len;
}

/// Keys and values need one width; strided and compressed caches are not covered. Sinks beside a window are refused by
/// its own check ("streamLLM is not supported at the moment", kvCacheManager.cpp). pre: no state
constexpr Error check_cover(const LayerForm& form) noexcept {
    if (form.kind == Kind::compressor) {
        return {.code = Errc::unsupported, .what = Uncovered::compressor};
    }
    if (form.retention.stride != 1) {
        return not_covered(form.retention, Uncovered::stride);
    }
    const bool pair = form.streams.size() == 2 && form.streams[0].role == Role::key;
    if (pair && form.streams[0].width != form.streams[1].width) {
        return {.code = Errc::unsupported, .what = Uncovered::unequal_widths, .got = form.streams[1].width,
                .want = form.streams[0].width};
    }
    return {};
}

constexpr Result<u64> elements_of(const LayerForm& form, const Sharding& ranks) noexcept {
    u64 sum = 0;
    for (const Stream& stream : form.streams) {
        const Result<u32> heads = heads_on_rank(stream, ranks);
        if (!heads) {
            return heads.error();
        }
        sum += u64{*heads} * stream.rows * stream.width;
    }
    return sum;
}

/// The entry of a window, inserted in ascending order. False when there is no room.
constexpr bool add_window(StageLayers& stage, u64 tokens, u64 elements, u64 index) noexcept {
    u32 at = 0;
    while (at < stage.windows.size() && stage.windows[at].tokens < tokens) {
        ++at;
    }
    if (at == stage.windows.size() || stage.windows[at].tokens != tokens) {
        if (!stage.windows.push({})) {
            return false;
        }
        for (u32 i = stage.windows.size() - 1; i > at; --i) {
            stage.windows[i] = stage.windows[i - 1];
        }
        stage.windows[at] = {.tokens = tokens};
    }
    stage.windows[at].elements += elements;
    stage.windows[at].index += index;
    return true;
}

/// Mamba-2 and gated delta nets are the states it serves.
constexpr Error add_state(StageLayers& stage, const LayerForm& form, const Sharding& ranks,
                          const Options& options) noexcept {
    if (form.kind != Kind::mamba2 && form.kind != Kind::gated_delta) {
        return {.code = Errc::unsupported, .what = unserved_state(form.kind)};
    }
    const Result<StateBytes> bytes = state_bytes(form, ranks.tp, options);
    stage.state += bytes ? bytes->total() : 0;
    return bytes.error();
}

constexpr Error add_cache(StageLayers& stage, const LayerForm& form, const Sharding& ranks,
                          const Options& options) noexcept {
    if (form.retention.keep == Keep::once) {
        return {};
    }
    if (const Uncovered what = unserved(form.retention); what != Uncovered::nothing) {
        return not_covered(form.retention, what);
    }
    if (form.retention.keep == Keep::last) {
        return add_state(stage, form, ranks, options);
    }
    if (const Error wrong = check_cover(form); wrong.code != Errc::ok) {
        return wrong;
    }
    const bool index = form.kind == Kind::index;
    const Result<u64> elements = index ? Result<u64>{u64{0}} : elements_of(form, ranks);
    if (!elements) {
        return elements.error();
    }
    if (form.retention.source == Source::encoder) {
        stage.cross += *elements;
        return {};
    }
    const u64 keys = index ? index_bytes(form.streams[0].width) : 0;
    const bool room = add_window(stage, window_of(form, options), *elements, keys);
    return {.code = room ? Errc::ok : Errc::capacity, .want = stage.windows.capacity()};
}

/// Index keys that it keeps lie beside latents (DeepSeek sparse attention).
constexpr bool has_latents(const ModelSpec& model) noexcept {
    for (const LayerForm& form : model.forms) {
        if (form.kind == Kind::latent) {
            return true;
        }
    }
    return false;
}

/// Drafts (layers after the trunk) are on the last stage.
constexpr Result<StageLayers> layers_on_stage(const ModelSpec& model, const Sharding& ranks, u32 stage,
                                              const Options& options) noexcept {
    const Result<LayerRange> own = layers_of_stage(model.layers, ranks, stage);
    if (!own) {
        return own.error();
    }
    const u32 end = stage + 1 == ranks.pp ? model.all_layers() : own->end;
    StageLayers layers{};
    for (const Cache& cache : model.caches) {
        if (cache.layer < own->begin || cache.layer >= end) {
            continue;
        }
        const LayerForm& form = model.form_of(cache);
        Error wrong = form.kind == Kind::index && !has_latents(model)
                          ? not_covered(form.retention, Uncovered::bare_index)
                          : add_cache(layers, form, ranks, options);
        if (wrong.code != Errc::ok) {
            wrong.layer = cache.layer;
            return wrong;
        }
    }
    return layers;
}

}  // namespace kvcap::inline v1::trtllm
