// SPDX-License-Identifier: MIT
// Which techniques make a cache smaller or its use cheaper, as choices: values that turn one variant of a
// deployment into another, so that they stack. Prices are in advice_cost.hpp, the order in advice_rank.hpp.
#pragma once

#include <kvcap/layer/latent.hpp>
#include <kvcap/layer/retain.hpp>
#include <kvcap/plan/depth_reuse.hpp>
#include <kvcap/quant/schemes.hpp>
#include <kvcap/roofline/attention.hpp>

namespace kvcap::inline v1 {

enum class Technique : u8 {
    prefix_cache,
    more_tp,
    attention_dp,
    quantised_8,
    quantised_4,
    depth_reuse,
    low_rank,
    latent,
    fewer_heads,
    window,
    budget,
};

/// size: what the technique counts: tokens of a shared prefix, of a window or of a budget; tensor ranks;
/// heads; the latent's width; thousandths of a width that a low rank keeps.
struct Choice {
    Technique technique = Technique::prefix_cache;
    u64 size = 0;
    friend constexpr bool operator==(const Choice&, const Choice&) = default;
};

/// A model on a split as it would run. held: what is stored. read: what attention reads while decoding; they
/// differ under depth reuse, where a layer reads what the layer before it stores. prompt: what attention
/// computes a prompt on (latents and low ranks are expanded there, a budget drops afterwards). `fallback`
/// thousandths of decoded tokens are held as in `read`. keys_left: thousandths of the k and v projections
/// that a step still reads. skipped: tokens of a stored prefix.
struct Variant {
    ModelSpec held{};
    ModelSpec read{};
    ModelSpec prompt{};
    Sharding sharding{};
    bool attention_dp = false;
    u64 fallback = 0;
    LayerList reusing{};
    u64 keys_left = 1000;
    u64 skipped = 0;

    /// What one rank's attention is divided by.
    constexpr Sharding attention() const noexcept {
        Sharding split = sharding;
        split.tp = attention_dp ? 1 : split.tp;
        return split;
    }
    friend constexpr bool operator==(const Variant&, const Variant&) = default;
};

constexpr Variant variant_of(const ModelSpec& model, const Sharding& sharding = {},
                             bool attention_dp = false) noexcept {
    return {
        .held = model, .read = model, .prompt = model, .sharding = sharding, .attention_dp = attention_dp};
}

/// Caches of keys and values, or of latents: those that storage, widths and heads change.
constexpr bool attends(const LayerForm& form) noexcept {
    const bool attention = form.kind == Kind::attention || form.kind == Kind::latent;
    return attention && form.retention.keep != Keep::once && !form.streams.empty();
}

/// Those of decoder tokens that keep everything: what a window or a budget cuts.
constexpr bool keeps_all(const LayerForm& form) noexcept {
    const Retention& kept = form.retention;
    return attends(form) && kept.keep == Keep::everything && kept.source != Source::encoder &&
           kept.stride == 1;
}

namespace advice {

/// pre: a latent is stored in bytes; four bits are for keys and values
constexpr LayerForm quantise(const LayerForm& form, bool four) noexcept {
    return four && form.kind == Kind::attention ? Int4PerTokenHead{}.store(form) : Stored{fp8}.store(form);
}

constexpr LayerForm keep_only(LayerForm form, Keep keep, u64 span, u64 sinks) noexcept {
    form.retention.keep = keep;
    form.retention.span = {span};
    form.retention.sinks = {sinks};
    return form;
}

constexpr LayerForm with_heads(LayerForm form, u32 heads) noexcept {
    for (Stream& stream : form.streams) {
        stream.heads = smaller(stream.heads, heads) == heads ? heads : stream.heads;
    }
    return form;
}

/// Keys and values of 1 / 1000 x size of their width (Palu, Chang et al. 2024): the rank of their
/// projections.
constexpr LayerForm with_rank(LayerForm form, u64 thousandths) noexcept {
    for (Stream& stream : form.streams) {
        stream.width = static_cast<u32>(larger(stream.width * thousandths / 1000, 1));
    }
    return form;
}

/// One latent per token for all heads, in the format of the keys (DeepSeek-V2: 4 head widths, and half of one
/// for rope).
constexpr LayerForm as_latent(const LayerForm& form, u64 latent) noexcept {
    LayerForm one = Mla{.latent = static_cast<u32>(latent),
                        .rope = static_cast<u32>(latent / 8),
                        .format = form.streams[0].format}
                        .forms()[0];
    one.retention = form.retention;
    return one;
}

constexpr LayerForm changed(const Choice& choice, const LayerForm& form) noexcept {
    const bool heads = form.kind == Kind::attention;
    switch (choice.technique) {
        case Technique::quantised_8: return quantise(form, false);
        case Technique::quantised_4: return quantise(form, true);
        case Technique::window: return keep_only(form, Keep::window, choice.size, 4);
        case Technique::budget: return keep_only(form, Keep::budget, choice.size, 0);
        case Technique::fewer_heads: return heads ? with_heads(form, static_cast<u32>(choice.size)) : form;
        case Technique::low_rank: return heads ? with_rank(form, choice.size) : form;
        case Technique::latent: return heads ? as_latent(form, choice.size) : form;
        default: return form;
    }
}

}  // namespace advice

/// KV heads of the first cache of keys and values; 0 without one.
constexpr u32 kv_heads(const ModelSpec& model) noexcept {
    for (const LayerForm& form : model.forms) {
        if (form.kind == Kind::attention && attends(form)) {
            return form.streams[0].heads;
        }
    }
    return 0;
}

/// The variant with the choice made. Depth reuse takes a list of layers: with_reuse. Errors: those of the
/// core.
constexpr Result<Variant> apply(const Choice& choice, Variant on) noexcept {
    switch (choice.technique) {
        case Technique::prefix_cache: on.skipped = choice.size; return on;
        case Technique::more_tp: on.sharding.tp = static_cast<u32>(choice.size); return on;
        case Technique::attention_dp: on.attention_dp = true; return on;
        case Technique::depth_reuse: return Error{.code = Errc::refused_combination};
        case Technique::fewer_heads:
            on.keys_left = on.keys_left * choice.size / larger(kv_heads(on.read), 1);
            break;
        default: break;
    }
    const auto rule = [&](u32, const LayerForm& form) noexcept {
        const bool cuts = choice.technique == Technique::window || choice.technique == Technique::budget;
        return (cuts ? keeps_all(form) : attends(form)) ? advice::changed(choice, form) : form;
    };
    const Result<ModelSpec> held = restored(on.held, rule);
    const Result<ModelSpec> read = restored(on.read, rule);
    if (!held || !read) {
        return held ? read.error() : held.error();
    }
    on.held = *held;
    on.read = *read;
    on.prompt = choice.technique == Technique::window ? *read : on.prompt;
    return on;
}

/// Layers that take the keys and values of the layer before while decoding; `fallback` thousandths of the
/// tokens are computed in full after all.
constexpr Result<Variant> with_reuse(Variant on, const LayerList& layers, u64 fallback = 0) noexcept {
    const Result<ModelSpec> held = with_depth_reuse(on.held, layers);
    if (!held) {
        return held.error();
    }
    on.held = *held;
    on.reusing = layers;
    on.fallback = fallback;
    return on;
}

}  // namespace kvcap::inline v1
