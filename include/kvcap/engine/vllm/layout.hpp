// SPDX-License-Identifier: MIT
// Which spec has each cache of the model? Forms, the engine's options and the resolved block sizes give the
// layout that grouping starts from. Source: `get_kv_cache_spec` of the attention and state layers.
#pragma once

#include <kvcap/engine/vllm/alignment.hpp>

namespace kvcap::inline v1::vllm {

/// What a spec is made with.
struct Making {
    const Options& options;
    const Rules& rules;
    const Sharding& sharding;
    const BlockSizes& blocks;
};

constexpr Result<SpecKind> kind_of(const LayerForm& form) noexcept {
    const Retention& kept = form.retention;
    const bool latent = form.kind != Kind::attention;
    const bool encoder = kept.source == Source::encoder;
    const bool crossing = encoder && kept.keep == Keep::everything && !latent;
    if (const Uncovered what = encoder && !crossing ? Uncovered::encoder_part : unserved(kept);
        what != Uncovered::nothing) {
        return not_covered(kept, what);
    }
    if (is_state(form)) {
        return SpecKind::state;
    }
    if (crossing) {
        return SpecKind::cross;
    }
    switch (kept.keep) {
        case Keep::everything:
            return latent ? SpecKind::mla : kept.sinks.value != 0 ? SpecKind::sink : SpecKind::full;
        case Keep::window: return latent ? SpecKind::window_mla : SpecKind::window;
        case Keep::chunk:
            return latent ? Result<SpecKind>{Error{.code = Errc::unsupported, .what = Uncovered::chunked_latent}}
                          : Result<SpecKind>{SpecKind::chunked};
        default: break;
    }
    return Errc::unsupported;
}

/// Whether a spec of this kind knows its value's width.
constexpr bool knows_values(SpecKind kind, const Rules& rules) noexcept {
    return kind == SpecKind::full || kind == SpecKind::sink ? rules.has(Change::full_values)
           : kind == SpecKind::window                       ? rules.has(Change::window_values)
                                                            : rules.has(Change::values_compare);
}

/// What specs had no field for yet: a value's own width (taken to be the key's), strides.
constexpr void forget(Spec& spec, const Rules& rules) noexcept {
    if (spec.value_dim != 0 && !knows_values(spec.kind, rules)) {
        spec.cell = spec.cell + u64{spec.key_dim} * spec.dtype_bytes - u64{spec.value_dim} * spec.dtype_bytes;
        spec.value_dim = spec.key_dim;
    }
    spec.by_stride = spec.by_stride && rules.has(Change::pads_pages);
}

constexpr Result<Packing> packing_of(const LayerForm& form, KvDtype dtype, const FormFacts& facts, Spec& spec,
                                     const Sharding& sharding) noexcept {
    if (is_heads(form)) {
        const Result<Heads> heads = heads_of(form, sharding);
        if (!heads) {
            return heads.error();
        }
        spec.heads = heads->local;
        spec.key_dim = static_cast<u32>(heads->key);
        spec.value_dim = static_cast<u32>(heads->value);
        const Result<Packing> packing =
            pack_heads(dtype, heads->local, heads->key, heads->value, heads->plain);
        return packing && facts.cell != 0 ? Result<Packing>{Packing{packing->slots, facts.cell}} : packing;
    }
    u64 plain = 0;
    for (const Stream& stream : form.streams) {
        const Result<u64> row = stream.format.row_bytes(stream.width);
        if (!row) {
            return row.error();
        }
        plain += *row * stream.heads * stream.rows;
    }
    spec.heads = 1;
    spec.key_dim = static_cast<u32>(width_of(form));
    if (facts.cell != 0) {
        return Packing{1, facts.cell};
    }
    const bool fp8_keys = form.kind == Kind::index && !facts.own_format;
    return fp8_keys ? Result<Packing>{Packing{1, index_cell(width_of(form))}}
                    : pack_latent(dtype, width_of(form), plain);
}

constexpr u64 block_of(const LayerForm& form, const Spec& spec, const FormFacts& facts,
                       const Making& with) noexcept {
    if (facts.block != 0) {
        return facts.block;
    }
    const bool chooses = is_window(spec.kind) && with.rules.has(Change::windows_choose_block);
    const bool padded = spec.kind == SpecKind::window && form.kind == Kind::attention;
    return chooses ? window_block(with.options.kernel_blocks, saturating_product(spec.slots, spec.cell),
                                  padded ? with.blocks.shared_page : 0)
                   : with.blocks.block;
}

constexpr Result<Spec> state_spec(const LayerForm& form, u32 origin, const Making& with) noexcept {
    const Result<u64> bytes = state_bytes(form, with.options, with.sharding);
    if (!bytes) {
        return bytes.error();
    }
    if (with.blocks.state_page != 0 && with.blocks.state_page < *bytes) {
        return error_of({.reason = Reason::assertion});
    }
    return Spec{.kind = SpecKind::state, .mode = with.blocks.mode, .block = with.blocks.state_block,
                .spec_blocks = with.options.spec_tokens, .origin = origin, .state_bytes = *bytes,
                .padded = with.blocks.state_page};
}

/// DeepSeek-V4 has a layout for the model's dtype and for fp8 (`_resolve_dsv4_kv_cache_dtype`).
constexpr bool has_layout(const FormFacts& facts, KvDtype dtype) noexcept {
    return facts.version != deepseek_v4 || dtype <= KvDtype::fp8_ds_mla;
}

/// The spec of a form. skipped: kept unquantised by `--kv-cache-dtype-skip-layers`.
constexpr Result<Spec> spec_of(const LayerForm& form, u32 index, bool skipped, const Making& with) noexcept {
    const Result<SpecKind> kind = kind_of(form);
    if (!kind) {
        return kind.error();
    }
    if (*kind == SpecKind::state) {
        return state_spec(form, index, with);
    }
    const Options& options = with.options;
    const FormFacts facts = options.facts_of(index);
    const bool fixed = facts.own_format || form.kind == Kind::compressor;
    const KvDtype stored = skipped ? KvDtype::automatic : facts.own_dtype ? facts.dtype : options.kv_dtype;
    if (!has_layout(facts, stored)) {
        return Error{.code = Errc::unsupported, .what = Uncovered::kv_format, .got = static_cast<u64>(stored)};
    }
    Spec spec{.kind = *kind, .quant = stored};
    const Result<Packing> packing =
        packing_of(form, fixed ? KvDtype::automatic : stored, facts, spec, with.sharding);
    if (!packing) {
        return packing.error();
    }
    spec.slots = packing->slots;
    spec.cell = packing->cell;
    spec.dtype_bytes =
        !fixed && (stored != KvDtype::automatic || form.kind == Kind::index) ? u8{1} : element_bytes(form);
    spec.by_stride =
        facts.strides == Strides::backend ? options.by_stride : facts.strides == Strides::readable;
    forget(spec, with.rules);
    spec.ratio = form.retention.stride;
    spec.align = facts.align;
    spec.version = facts.version;
    spec.tag = facts.tag;
    spec.sinks = form.retention.sinks.value;
    (*kind == SpecKind::chunked ? spec.chunk : spec.window) = form.retention.span.value;
    spec.block = block_of(form, spec, facts, with);
    if (spec.block < spec.ratio) {
        return Error{.code = Errc::not_divisible, .got = spec.block, .want = spec.ratio};
    }
    const bool chained = is_window(*kind) && options.multi_module_mtp && options.spec_tokens > 1;
    spec.extra = chained && with.rules.has(Change::keeps_extra) ? options.spec_tokens - 1 : 0;
    spec.padded = *kind == SpecKind::window ? with.blocks.shared_page : 0;
    spec.padded = spec.padded_page();
    if (spec.padded != 0 && spec.padded < spec.natural_page()) {
        return error_of({.reason = Reason::assertion});
    }
    return spec;
}

constexpr bool is_skipped(const Options& options, const LayerForm& form, u32 index, u32 layer) noexcept {
    bool skipped = options.facts_of(index).unquantised ||
                   (options.skip_windows && form.retention.keep == Keep::window);
    for (const u16 number : options.skip_layers) {
        skipped = skipped || number == layer;
    }
    return skipped;
}

/// The sharding as vLLM deals layers: those left over go to the stages before the last, backwards.
constexpr Sharding sharding_of(Sharding sharding) noexcept {
    sharding.remainder = Remainder::middle;
    sharding.uneven = Uneven::refuse;
    return sharding;
}

/// Layers at which each stage ends; the last stage also owns the draft layers.
constexpr Result<Inplace<u32, 64>> stage_ends(const ModelSpec& model, const Sharding& sharding) noexcept {
    Inplace<u32, 64> ends{};
    for (u32 stage = 0; stage < sharding.pp; ++stage) {
        const Result<LayerRange> range = layers_of_stage(model.layers, sharding, stage);
        if (!range) {
            return range.error();
        }
        if (!ends.push(stage + 1 == sharding.pp ? model.all_layers() : range->end)) {
            return Error{.code = Errc::capacity, .got = sharding.pp, .want = ends.capacity()};
        }
    }
    return ends;
}

/// The spec of one cache, made once a form; the error has no layer yet.
constexpr Result<u16> spec_of_cache(const LayerForm& form, const Cache& cache, const Making& with,
                                    u16 (&known)[2][32], Layout& layout) noexcept {
    if (form.retention.keep == Keep::once) {
        return no_spec;
    }
    const bool skipped = is_skipped(with.options, form, cache.form, cache.layer);
    u16& spec = known[skipped ? 1 : 0][cache.form];
    if (spec == 0) {
        const Result<Spec> made = spec_of(form, cache.form, skipped, with);
        if (!made) {
            return made.error();
        }
        spec = static_cast<u16>(layout.index_of(*made) + 1);
    }
    return static_cast<u16>(spec - 1);
}

/// Fills `layout`. pre: with.sharding is sharding_of(...). Errors name the first layer concerned.
constexpr Error layout_of(const ModelSpec& model, const Making& with, Layout& layout) noexcept {
    const Result<Inplace<u32, 64>> ends = stage_ends(model, with.sharding);
    if (!ends) {
        return ends.error();
    }
    layout.stages = with.sharding.pp;
    u16 known[2][32]{};
    u16 stage = 0;
    for (const Cache& cache : model.caches) {
        while (cache.layer >= (*ends)[stage] && stage + 1u < ends->size()) {
            ++stage;
        }
        while (stage > 0 && cache.layer < (*ends)[stage - 1u]) {
            --stage;
        }
        const Result<u16> spec = spec_of_cache(model.form_of(cache), cache, with, known, layout);
        if (!spec) {
            Error wrong = spec.error();
            wrong.layer = cache.layer;
            return wrong;
        }
        static_cast<void>(layout.caches.push({.spec = *spec, .stage = stage}));
    }
    return {};
}

}  // namespace kvcap::inline v1::vllm
