// SPDX-License-Identifier: MIT
// Layers defined by where their tokens or their cache come from: an encoder, the prompt only, another layer, nowhere,
// or two caches at once.
#pragma once

#include <kvcap/layer/concept.hpp>

namespace kvcap::inline v1 {

/// Constants that exist once are fed by no tokens and stay as they are, so that sources commute with storage.
constexpr LayerForms fed_by(const LayerForms& forms, Source source) noexcept {
    return each_form(forms, [&](LayerForm form) noexcept {
        form.retention.source = form.retention.keep == Keep::once ? form.retention.source : source;
        return form;
    });
}

/// Cross attention: keys and values of the encoder's tokens (T5, Whisper, Llama 3.2 Vision).
template <LayerPolicy P>
struct Cross {
    P inner{};

    constexpr LayerForms forms() const noexcept { return fed_by(inner.forms(), Source::encoder); }
    friend constexpr bool operator==(const Cross&, const Cross&) = default;
};
template <class P>
Cross(P) -> Cross<P>;

/// Depth reuse: while decoding the layer takes another layer's keys and values, so it holds prompt tokens only.
template <LayerPolicy P>
struct PromptOnly {
    P inner{};

    constexpr LayerForms forms() const noexcept { return fed_by(inner.forms(), Source::prompt); }
    friend constexpr bool operator==(const PromptOnly&, const PromptOnly&) = default;
};
template <class P>
PromptOnly(P) -> PromptOnly<P>;

/// Attends to an earlier layer's cache (Gemma 3n, YOCO, CLA): owns nothing but counts as a layer.
struct SharedWith {
    u32 layer = 0;

    constexpr LayerForms forms() const noexcept { return LayerForms{}; }
    friend constexpr bool operator==(const SharedWith&, const SharedWith&) = default;
};

/// A layer without a cache (MLP, expert or no-op layer).
struct NoCache {
    constexpr LayerForms forms() const noexcept { return LayerForms{}; }
    friend constexpr bool operator==(const NoCache&, const NoCache&) = default;
};

/// Two caches of one layer, in this order (Zamba2, Falcon-H1: attention and state side by side).
/// pre: together at most 8 caches.
template <LayerPolicy A, LayerPolicy B>
struct Both {
    A a{};
    B b{};

    constexpr LayerForms forms() const noexcept {
        LayerForms all = a.forms();
        for (const LayerForm& form : b.forms()) {
            if (!all.push(form)) {
                no_value_in_result();
            }
        }
        return all;
    }
    friend constexpr bool operator==(const Both&, const Both&) = default;
};
template <class A, class B>
Both(A, B) -> Both<A, B>;

}  // namespace kvcap::inline v1
