// SPDX-License-Identifier: MIT
// What does one decoded token read of each cache, and what does it compute on it? Bytes and flops by form,
// each cache at its retention: windows up to their span, states whole, sparse attention the picked entries
// and the whole index (DeepSeek-V3.2, V4; layers that use another layer's index read as those that have one).
#pragma once

#include <kvcap/roofline/attention.hpp>

namespace kvcap::inline v1 {

/// All caches of one form on a stage that read alike. entries: slots read of each. bytes, flops: of all.
struct FormWork {
    u32 form = 0;
    u32 caches = 0;
    bool picks = false;
    u64 entries = 0;
    Bytes bytes{};
    u64 flops = 0;
    constexpr Ratio intensity() const noexcept { return {flops, bytes.value}; }
    friend constexpr bool operator==(const FormWork&, const FormWork&) = default;
};

using CacheWork = Inplace<FormWork, 64>;

/// Whether the layer has a cache of this form.
constexpr bool has_form(const ModelSpec& model, u32 layer, u32 form) noexcept {
    for (const Cache& cache : model.caches) {
        if (cache.form == form && cache.layer == layer) {
            return true;
        }
    }
    return false;
}

/// Whether a query of this cache reads only what an index picked: an index of the same stride in its layer,
/// or, for latents, anywhere in the model.
constexpr bool picks(const ModelSpec& model, const Cache& cache) noexcept {
    const LayerForm& form = model.form_of(cache);
    const bool latent = form.kind == Kind::latent;
    if (form.retention.keep != Keep::everything || !(latent || form.kind == Kind::attention)) {
        return false;
    }
    for (u32 i = 0; i < model.forms.size(); ++i) {
        const LayerForm& index = model.forms[i];
        if (index.kind == Kind::index && index.retention.stride == form.retention.stride &&
            (latent || has_form(model, cache.layer, i))) {
            return true;
        }
    }
    return false;
}

/// One token's work on `caches` caches of a form. pre: the form divides over the ranks
constexpr FormWork form_work(const ModelSpec& model, FormWork part, const Lengths& lengths,
                             const Sharding& sharding, u32 cp_rank, const AttentionFacts& facts) noexcept {
    const LayerForm& form = model.forms[part.form];
    const PositionCost each = position_cost(form, model.query_heads, sharding, facts).value_or({off_scale, off_scale});
    part.entries = slots_on_rank(form, form.retention.slots(lengths), sharding, cp_rank).value;
    part.entries = part.picks ? smaller(part.entries, facts.most_entries()) : part.entries;
    const u64 times = saturating_product(part.entries, part.caches);
    part.bytes = {saturating_product(each.bytes, times)};
    part.flops = saturating_product(each.flops, times);
    return part;
}

/// Work of one token after `lengths` on a rank. Errors: those of the split.
constexpr Result<CacheWork> cache_work(const ModelSpec& model, const Lengths& lengths,
                                       const Sharding& sharding = {}, Rank rank = {},
                                       const AttentionFacts& facts = {}) noexcept {
    if (const Result<Footprint> held = fold(model, lengths, sharding, rank); !held) {
        return held.error();
    }
    const LayerRange own = layers_of_stage(model.layers, sharding, rank.stage).value();
    const u32 end = rank.stage + 1 == sharding.pp ? model.all_layers() : own.end;
    u32 counts[2][32]{};
    for (const Cache& cache : model.caches) {
        if (cache.layer >= own.begin && cache.layer < end) {
            ++counts[facts.picked != 0 && picks(model, cache) ? 1 : 0][cache.form];
        }
    }
    CacheWork work{};
    for (u32 i = 0; i < 2 * model.forms.size(); ++i) {
        const FormWork part{.form = i / 2, .caches = counts[i % 2][i / 2], .picks = i % 2 != 0};
        if (part.caches != 0 && model.forms[part.form].retention.keep != Keep::once) {
            static_cast<void>(work.push(form_work(model, part, lengths, sharding, rank.cp, facts)));
        }
    }
    return work;
}

}  // namespace kvcap::inline v1
