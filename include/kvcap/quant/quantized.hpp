// SPDX-License-Identifier: MIT
// How do storage schemes meet layer policies? Quantized{policy, scheme} re-stores every form of the policy; scales that
// exist once (per tensor or head) become a cache of their own with Keep::once. Schemes touch element formats only, so
// they commute with the decorators of layer/retain.hpp, and the last of two schemes wins.
#pragma once

#include <kvcap/layer/concept.hpp>

namespace kvcap::inline v1 {

/// Streams of attention. Index keys, convolutions and states follow dtype options of their own.
constexpr bool is_attention(Role role) noexcept {
    return role == Role::key || role == Role::value || role == Role::latent || role == Role::rope;
}

/// The form with `format(stream)` on its attention streams.
constexpr LayerForm store_attention(LayerForm form, auto format) noexcept {
    for (Stream& stream : form.streams) {
        if (is_attention(stream.role)) {
            stream.format = format(stream);
        }
    }
    return form;
}

/// A scheme that also has scales which exist once: `scales(form)` gives their form, or one without streams.
template <class Q>
concept ScaledOnce = QuantPolicy<Q> && requires(const Q& scheme, const LayerForm& form) {
    { scheme.scales(form) } noexcept -> std::same_as<LayerForm>;
};

template <LayerPolicy P, QuantPolicy Q>
struct Quantized {
    P inner{};
    Q scheme{};

    /// pre: forms and their scales together are at most 8.
    constexpr LayerForms forms() const noexcept {
        LayerForms stored{};
        LayerForms scales{};
        for (const LayerForm& form : inner.forms()) {
            if (form.retention.keep == Keep::once) {
                continue;
            }
            keep(stored, scheme.store(form));
            if constexpr (ScaledOnce<Q>) {
                keep(scales, scheme.scales(form));
            }
        }
        for (const LayerForm& form : scales) {
            keep(stored, form);
        }
        return stored;
    }
    friend constexpr bool operator==(const Quantized&, const Quantized&) = default;

private:
    static constexpr void keep(LayerForms& into, const LayerForm& form) noexcept {
        if (!form.streams.empty() && !into.push(form)) {
            no_value_in_result();
        }
    }
};
template <class P, class Q>
Quantized(P, Q) -> Quantized<P, Q>;

}  // namespace kvcap::inline v1
