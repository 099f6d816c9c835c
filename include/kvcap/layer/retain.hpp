// SPDX-License-Identifier: MIT
// Which positions stay? Decorators that change only the retention of what they wrap, so they commute with storage.
// They apply to caches that keep everything; a state or a per-layer constant inside the wrapped policy stays as it is.
#pragma once

#include <kvcap/layer/concept.hpp>

namespace kvcap::inline v1 {

constexpr LayerForms retain(const LayerForms& forms, Keep keep, Tokens span) noexcept {
    return each_form(forms, [&](LayerForm form) noexcept {
        if (form.retention.keep != Keep::last && form.retention.keep != Keep::once) {
            form.retention.keep = keep;
            form.retention.span = span;
        }
        return form;
    });
}

/// Sliding window: the last `span` tokens (Mistral 2023; transformers keeps span - 1 past ones).
template <LayerPolicy P>
struct Windowed {
    P inner{};
    Tokens span{};

    constexpr LayerForms forms() const noexcept { return retain(inner.forms(), Keep::window, span); }
    friend constexpr bool operator==(const Windowed&, const Windowed&) = default;
};
template <class P>
Windowed(P, Tokens) -> Windowed<P>;

/// Chunked local attention (Llama 4): tokens of the current chunk of `span`; empties at each chunk's end.
template <LayerPolicy P>
struct Chunked {
    P inner{};
    Tokens span{};

    constexpr LayerForms forms() const noexcept { return retain(inner.forms(), Keep::chunk, span); }
    friend constexpr bool operator==(const Chunked&, const Chunked&) = default;
};
template <class P>
Chunked(P, Tokens) -> Chunked<P>;

/// A fixed number of tokens, chosen by content (H2O, Zhang et al. 2023): bytes as a window, reuse as a snapshot.
template <LayerPolicy P>
struct Budgeted {
    P inner{};
    Tokens span{};

    constexpr LayerForms forms() const noexcept { return retain(inner.forms(), Keep::budget, span); }
    friend constexpr bool operator==(const Budgeted&, const Budgeted&) = default;
};
template <class P>
Budgeted(P, Tokens) -> Budgeted<P>;

/// The first `sinks` tokens stay beside a window (StreamingLLM, Xiao et al. 2023): sinks + window slots at most.
template <LayerPolicy P>
struct WithSinks {
    P inner{};
    Tokens sinks{};

    constexpr LayerForms forms() const noexcept {
        return each_form(inner.forms(), [&](LayerForm form) noexcept {
            if (form.retention.keep != Keep::last && form.retention.keep != Keep::once) {
                form.retention.sinks = sinks;
            }
            return form;
        });
    }
    friend constexpr bool operator==(const WithSinks&, const WithSinks&) = default;
};
template <class P>
WithSinks(P, Tokens) -> WithSinks<P>;

}  // namespace kvcap::inline v1
