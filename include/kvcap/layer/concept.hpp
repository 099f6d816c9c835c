// SPDX-License-Identifier: MIT
// What is a layer policy? Any regular value that can say, without throwing, which caches its layer keeps:
// `constexpr LayerForms forms() const noexcept`. Nothing below the policies ever sees more than forms.
#pragma once

#include <concepts>
#include <kvcap/form.hpp>

namespace kvcap::inline v1 {

template <class P>
concept LayerPolicy = std::regular<P> && requires(const P& policy) {
    { policy.forms() } noexcept -> std::same_as<LayerForms>;
};

/// A storage scheme: re-stores one form.
template <class Q>
concept QuantPolicy = std::regular<Q> && requires(const Q& scheme, const LayerForm& form) {
    { scheme.store(form) } noexcept -> std::same_as<LayerForm>;
};

/// Says in words why P is no LayerPolicy: a failing build stops at the first missing property.
template <class P>
consteval bool explain_policy() {
    static_assert(std::semiregular<P>, "a layer policy needs to be copyable and default constructible");
    static_assert(std::equality_comparable<P>,
                  "a layer policy needs `operator==` (write `bool operator==(const P&, const P&) = default`)");
    static_assert(requires(const P& p) { p.forms(); }, "a layer policy needs `LayerForms forms() const noexcept`");
    static_assert(requires(const P& p) { { p.forms() } -> std::same_as<LayerForms>; },
                  "`forms()` needs to return kvcap::LayerForms");
    static_assert(requires(const P& p) { { p.forms() } noexcept; }, "`forms()` needs to be noexcept");
    return LayerPolicy<P>;
}

/// Builds a form from streams. pre: at most 6 streams.
template <std::same_as<Stream>... Streams>
    requires(sizeof...(Streams) <= 6)
constexpr LayerForm form_of(Kind kind, Retention retention, const Streams&... streams) noexcept {
    LayerForm form{.retention = retention, .streams = {}, .kind = kind};
    ((form.streams.items[form.streams.count++] = streams), ...);
    return form;
}

template <std::same_as<LayerForm>... Forms>
    requires(sizeof...(Forms) <= 8)
constexpr LayerForms forms_of(const Forms&... forms) noexcept {
    LayerForms all{};
    ((all.items[all.count++] = forms), ...);
    return all;
}

/// The same forms, each passed through `change` (LayerForm -> LayerForm).
constexpr LayerForms each_form(LayerForms forms, auto change) noexcept {
    for (LayerForm& form : forms) {
        form = change(form);
    }
    return forms;
}

}  // namespace kvcap::inline v1
