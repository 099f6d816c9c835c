// SPDX-License-Identifier: MIT
// What is a model to kvcap? Its distinct forms, and which layer keeps which: the same value whether composed
// at build time or read from a file. Layers without a cache count (pipeline stages divide layers, not
// caches).
#pragma once

#include <kvcap/layer/concept.hpp>

namespace kvcap::inline v1 {

struct Cache {
    u16 layer = 0;
    u16 form = 0;
    friend constexpr bool operator==(const Cache&, const Cache&) = default;
};

/// caches: in the order in which engines register them. draft_layers (MTP) are numbered after `layers`.
/// query_heads: greatest common divisor over the layers, 0 = none; tensor parallelism must divide it.
struct ModelSpec {
    Inplace<LayerForm, 32> forms{};
    Inplace<Cache, 512> caches{};
    u32 layers = 0;
    u32 draft_layers = 0;
    u32 query_heads = 0;

    /// Adds a cache. A form without streams adds nothing. Errors: Errc::zero_dimension for one with streams of no
    /// elements, with a stride of 0, or of which no position stays; sizes off their scale are Errc::overflow.
    constexpr Errc add(u32 layer, const LayerForm& form) noexcept {
        if (form.elements() == 0) {
            return form.streams.empty() ? Errc::ok : Errc::zero_dimension;
        }
        for (const Stream& stream : form.streams) {
            if (stream.is_off_scale()) {
                return Errc::overflow;
            }
        }
        if (form.retention.stride == 0 || form.retention.keeps_nothing()) {
            return Errc::zero_dimension;
        }
        if (layer > 0xffff) {
            return Errc::capacity;
        }
        const u32 at = index_of(form);
        if (at == forms.size() && !forms.push(form)) {
            return Errc::capacity;
        }
        return caches.push({static_cast<u16>(layer), static_cast<u16>(at)}) ? Errc::ok : Errc::capacity;
    }

    constexpr Errc add(u32 layer, const LayerForms& all) noexcept {
        for (const LayerForm& form : all) {
            if (const Errc code = add(layer, form); code != Errc::ok) {
                return code;
            }
        }
        return Errc::ok;
    }

    /// `count` more layers, layer i of them with pattern[i % round]. Layers that keep nothing take no time.
    constexpr Errc append(u32 count, const LayerForms* pattern, u32 round) noexcept {
        if (count > ~u32{0} - layers) {
            return Errc::capacity;
        }
        const u32 all = layers + count;
        const u32 before = caches.size();
        for (u32 i = 0; i < count; ++i) {
            if (i == round && caches.size() == before) {
                break;
            }
            if (const Errc code = add(layers, pattern[i % round]); code != Errc::ok) {
                return code;
            }
            ++layers;
        }
        layers = all;
        return Errc::ok;
    }

    constexpr const LayerForm& form_of(const Cache& cache) const noexcept { return forms[cache.form]; }
    constexpr u32 all_layers() const noexcept { return layers + draft_layers; }

    friend constexpr bool operator==(const ModelSpec&, const ModelSpec&) = default;

private:
    constexpr u32 index_of(const LayerForm& form) const noexcept {
        u32 i = 0;
        while (i < forms.size() && !(forms[i] == form)) {
            ++i;
        }
        return i;
    }
};

/// `count` layers of one policy.
template <LayerPolicy P>
struct Repeat {
    u32 count = 0;
    P policy{};

    constexpr Errc append(ModelSpec& to) const noexcept {
        const LayerForms forms = policy.forms();
        return to.append(count, &forms, 1);
    }
};

template <LayerPolicy P>
constexpr Repeat<P> repeat(u32 count, const P& policy) noexcept {
    return {count, policy};
}

/// A pattern of policies, repeated until `count` layers are there (the last round may be partial).
template <LayerPolicy... P>
constexpr auto cycle(u32 count, const P&... pattern) noexcept {
    struct Cycle {
        u32 count = 0;
        LayerForms forms[sizeof...(P)]{};

        constexpr Errc append(ModelSpec& to) const noexcept { return to.append(count, forms, sizeof...(P)); }
    };
    return Cycle{count, {pattern.forms()...}};
}

/// Query heads of the model; several calls combine to their greatest common divisor.
struct QueryHeads {
    u32 heads = 0;

    constexpr Errc append(ModelSpec& to) const noexcept {
        to.query_heads = static_cast<u32>(greatest_common_divisor(to.query_heads, heads));
        return Errc::ok;
    }
};

template <class Part>
concept ModelPart = requires(const Part& part, ModelSpec& model) {
    { part.append(model) }
    noexcept->std::same_as<Errc>;
};

/// The model made of these parts, in order. Errors name the layer that did not fit.
template <ModelPart... Parts>
constexpr Result<ModelSpec> compose(const Parts&... parts) noexcept {
    ModelSpec model{};
    Errc code = Errc::ok;
    static_cast<void>((... && ((code = parts.append(model)) == Errc::ok)));
    if (code != Errc::ok) {
        const bool kinds = code == Errc::capacity && model.caches.size() < model.caches.capacity();  // too many forms
        return Error{.code = code, .layer = model.layers, .got = kinds ? model.forms.size() : model.caches.size(),
                     .want = kinds ? model.forms.capacity() : model.caches.capacity()};
    }
    return model;
}

/// The model with a draft (MTP) model's layers after its own.
constexpr Result<ModelSpec> join(ModelSpec model, const ModelSpec& draft) noexcept {
    for (const Cache& cache : draft.caches) {
        const u32 layer = model.all_layers() + cache.layer;
        if (const Errc code = model.add(layer, draft.form_of(cache)); code != Errc::ok) {
            return Error{
                .code = code, .layer = layer, .got = model.caches.size(), .want = model.caches.capacity()};
        }
    }
    model.draft_layers += draft.all_layers();
    model.query_heads = static_cast<u32>(greatest_common_divisor(model.query_heads, draft.query_heads));
    return model;
}

/// The model with every cache stored as `rule(layer, form) -> LayerForm` says: engine options such as a KV
/// dtype.
constexpr Result<ModelSpec> restored(const ModelSpec& model, auto rule) noexcept {
    ModelSpec stored{};
    stored.layers = model.layers;
    stored.draft_layers = model.draft_layers;
    stored.query_heads = model.query_heads;
    for (const Cache& cache : model.caches) {
        const LayerForm form = rule(u32{cache.layer}, model.form_of(cache));
        if (const Errc code = stored.add(cache.layer, form); code != Errc::ok) {
            return Error{.code = code,
                         .layer = cache.layer,
                         .got = stored.forms.size(),
                         .want = stored.forms.capacity()};
        }
    }
    return stored;
}

}  // namespace kvcap::inline v1
