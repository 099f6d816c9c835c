// SPDX-License-Identifier: MIT
// What does a pipeline stage of SGLang see of a model? One row a layer for full attention, one for windows,
// index keys, states; how many of each. Heads on a rank = max(1, heads // tp); tp = tp // attention dp // cp;
// leftover layers go to the last stages. Sources: ModelConfig.get_num_kv_heads,
// distributed/utils.get_pp_indices, adjust_hybrid_swa_layer_ids.
#pragma once

#include <kvcap/engine/scale.hpp>
#include <kvcap/engine/sglang/options.hpp>
#include <kvcap/engine/uncovered.hpp>

namespace kvcap::inline v1::sglang {

/// Elements that one token takes in one layer of this rank.
struct Row {
    u32 key = 0;
    u32 value = 0;
    u32 latent = 0;
    u32 rope = 0;

    constexpr u64 elements() const noexcept { return u64{key} + value + latent + rope; }
    constexpr bool is_latent() const noexcept { return latent != 0; }
    friend constexpr bool operator==(const Row&, const Row&) = default;
};

/// What SGLang makes of a cache. Windows of unlisted architectures and cross caches are full ones to it. entries:
/// strided latents behind a window (DeepSeek-V4). none: constants outside the pool. unsupported: among others sinks
/// beside a window and caches of the prompt alone, for which it has no pool.
enum class Part : u8 { full, window, index, entries, compressor, state, none, unsupported };

/// Layers of one stage. window_of: tokens of the largest window.
struct Local {
    Row full{};
    Row window{};
    u32 full_layers = 0;
    u32 paid_layers = 0;        ///< full layers that this rank stores: fewer when ranks share them by layer
    u32 window_layers = 0;
    u32 index_layers = 0;
    u32 index_value_layers = 0;
    u32 index_width = 0;
    u32 state_layers = 0;
    u32 quarter_layers = 0;     ///< DeepSeek-V4, ratio 4
    u32 hundredth_layers = 0;   ///< ratio 128
    u32 state_form = no_layer;  ///< index of the state's form in the model
    u64 window_of = 0;

    constexpr u32 cached_layers() const noexcept { return full_layers + window_layers; }
    constexpr bool compressed() const noexcept { return quarter_layers + hundredth_layers != 0; }
};

/// Ranks as the attention layers see them.
constexpr Result<Sharding> attention_ranks(const ModelSpec& model, const Sharding& given,
                                           const Options& options) noexcept {
    const u64 groups = u64{options.attention_dp} * given.cp;
    if (given.tp == 0 || groups == 0 || options.page == 0) {
        return Errc::zero_parallelism;
    }
    if (const Error wrong = check_scale(model, options.page); wrong.code != Errc::ok) {
        return wrong;
    }
    if (given.tp % groups != 0) {
        return Error{.code = Errc::not_divisible, .got = given.tp, .want = groups};
    }
    Sharding ranks = given;
    ranks.tp = static_cast<u32>(given.tp / groups);
    ranks.uneven = Uneven::floor_at_least_one;
    ranks.remainder = Remainder::last;
    if (model.query_heads % ranks.tp != 0) {
        return Error{.code = Errc::query_heads_not_divisible, .got = model.query_heads, .want = ranks.tp};
    }
    return ranks;
}

/// The state kinds the engine serves (configs/hybrid_arch.py).
constexpr bool known_state(Kind kind) noexcept {
    return kind == Kind::mamba2 || kind == Kind::gated_delta || kind == Kind::kda ||
           kind == Kind::lightning || kind == Kind::short_conv;
}

/// What of a cache it has no pool for: its pools hold a request's own tokens, or all of an encoder's, and of a window
/// only the trailing tokens.
constexpr Uncovered without_pool(const LayerForm& form, const Options& options) noexcept {
    const Retention& stays = form.retention;
    if (const Uncovered what = unserved(stays); what != Uncovered::nothing) {
        return what;
    }
    if (stays.keep == Keep::last) {
        return known_state(form.kind) ? Uncovered::nothing : unserved_state(form.kind);
    }
    if (form.kind == Kind::compressor) {
        return options.window_pool ? Uncovered::nothing : Uncovered::compressor;
    }
    const bool strided = form.kind != Kind::index && stays.stride != 1 && stays.stride != 4 && stays.stride != 128;
    return strided ? Uncovered::stride : Uncovered::nothing;
}

constexpr Part part_of(const LayerForm& form, const Options& options) noexcept {
    const Retention& stays = form.retention;
    if (stays.keep == Keep::once) {
        return Part::none;
    }
    if (without_pool(form, options) != Uncovered::nothing) {
        return Part::unsupported;
    }
    if (stays.keep == Keep::last) {
        return Part::state;
    }
    if (form.kind == Kind::compressor || form.kind == Kind::index) {
        return form.kind == Kind::index ? Part::index : Part::compressor;
    }
    if (stays.stride != 1) {
        return Part::entries;
    }
    const bool windowed = stays.keep == Keep::window || stays.keep == Keep::chunk;
    return windowed && options.window_pool ? Part::window : Part::full;
}

constexpr Result<Row> row_of(const LayerForm& form, const Sharding& ranks) noexcept {
    Row row{};
    for (const Stream& stream : form.streams) {
        const Result<u32> heads = heads_on_rank(stream, ranks);
        if (!heads) {
            return heads.error();
        }
        const u32 elements = *heads * stream.rows * stream.width;
        switch (stream.role) {
            case Role::key: row.key += elements; break;
            case Role::value: row.value += elements; break;
            case Role::latent: row.latent += elements; break;
            case Role::rope: row.rope += elements; break;
            default: return Error{.code = Errc::unsupported, .what = Uncovered::stream};
        }
    }
    return row;
}

/// The engine has one geometry a pool: a second one in the same model is unsupported.
constexpr Error same_row(Row& kept, const LayerForm& form, const Sharding& ranks) noexcept {
    const Result<Row> row = row_of(form, ranks);
    if (!row) {
        return row.error();
    }
    if (!(kept == Row{}) && !(kept == *row)) {
        return {.code = Errc::unsupported, .what = Uncovered::second_shape};
    }
    kept = *row;
    return {};
}

constexpr void count(Local& local, const LayerForm& form, Part part) noexcept {
    switch (part) {
        case Part::full: ++local.full_layers; break;
        case Part::window: ++local.window_layers; break;
        case Part::state: ++local.state_layers; break;
        case Part::entries: local.hundredth_layers += form.retention.stride == 128 ? 1 : 0; break;
        case Part::index:
            ++local.index_layers;
            local.index_value_layers += form.streams.size() > 1 ? 1 : 0;
            local.quarter_layers += form.retention.stride == 4 ? 1 : 0;
            break;
        default: break;
    }
}

/// Geometry of one cache; layer and cause of a refusal.
constexpr Error geometry(Local& local, const ModelSpec& model, const Cache& cache, Part part,
                         const Sharding& ranks, const Options& options) noexcept {
    const LayerForm& form = model.form_of(cache);
    Error wrong = part == Part::unsupported ? not_covered(form.retention, without_pool(form, options)) : Error{};
    if (part == Part::full || part == Part::window) {
        wrong = same_row(part == Part::full ? local.full : local.window, form, ranks);
    }
    if (part == Part::window) {
        local.window_of = larger(local.window_of, form.retention.span.value);
    }
    if (part == Part::index) {
        local.index_width = form.streams[0].width;
    }
    if (part == Part::state) {
        if (local.state_form != no_layer && local.state_form != cache.form) {
            wrong = {.code = Errc::unsupported, .what = Uncovered::second_state};
        }
        local.state_form = cache.form;
    }
    wrong.layer = cache.layer;
    return wrong;
}

constexpr bool has_compressors(const ModelSpec& model) noexcept {
    for (const LayerForm& form : model.forms) {
        if (form.kind == Kind::compressor) {
            return true;
        }
    }
    return false;
}

constexpr bool has_index(const ModelSpec& model) noexcept {
    for (const LayerForm& form : model.forms) {
        if (form.kind == Kind::index) {
            return true;
        }
    }
    return false;
}

/// Geometry is the whole model's, counts are the stage's. In hybrid window models the engine's range of a
/// stage ends inclusively, so every stage but the last also counts (and allocates) the next stage's first
/// layer.
constexpr Result<Local> local_layers(const ModelSpec& model, const Sharding& ranks, u32 stage,
                                     const Options& options) noexcept {
    const Result<LayerRange> own = layers_of_stage(model.layers, ranks, stage);
    if (!own) {
        return own.error();
    }
    const u32 end = own->end + (options.window_pool && !has_compressors(model) ? 1 : 0);
    Local local{};
    for (const Cache& cache : model.caches) {
        if (cache.layer >= model.layers) {
            continue;
        }
        const Part part = part_of(model.form_of(cache), options);
        if (const Error wrong = geometry(local, model, cache, part, ranks, options); wrong.code != Errc::ok) {
            return wrong;
        }
        if (cache.layer >= own->begin && cache.layer < end) {
            count(local, model.form_of(cache), part);
        }
    }
    if (options.effective_window != 0) {
        local.window_of = options.effective_window;
    }
    const bool shared = options.dsa_layer_split && ranks.cp > 1 && local.index_width != 0;
    const u64 part = ceil_div(local.full_layers, ranks.cp) + 1;  // one more to read the others' layers into
    local.paid_layers = shared ? static_cast<u32>(part) : local.full_layers;
    return local;
}

/// State layers of the whole model: what the budget charges on every stage.
constexpr u32 state_layers_of_model(const ModelSpec& model) noexcept {
    u32 layers = 0;
    for (const Cache& cache : model.caches) {
        layers += cache.layer < model.layers && model.form_of(cache).retention.keep == Keep::last ? 1 : 0;
    }
    return layers;
}

}  // namespace kvcap::inline v1::sglang
