// SPDX-License-Identifier: MIT
// KIVI (Liu et al. 2024): keys quantised per channel in groups of `residual` tokens, values per token, and the most
// recent tokens kept at full precision. Keys: floor(n / R) groups and up to R recent ones; values: all but the youngest
// R, and those R. One min and one scale (fp16) per group: {elems, elems x bits / 8 + 4}.
#pragma once

#include <kvcap/quant/quantized.hpp>

namespace kvcap::inline v1 {

/// pre: `inner` is one cache of keys and values that keeps everything; others are passed through unchanged.
template <LayerPolicy P>
struct Kivi {
    P inner{};
    u32 residual = 128;
    u32 bits = 2;
    u32 group = 32;

    constexpr LayerForms forms() const noexcept {
        LayerForms all{};
        for (const LayerForm& form : inner.forms()) {
            add(all, form);
        }
        return all;
    }
    friend constexpr bool operator==(const Kivi&, const Kivi&) = default;

private:
    constexpr ElementFormat packed(u32 elems) const noexcept {
        return {.elems = elems, .bytes = saturated_u32(ceil_div(u64{elems} * bits, 8) + 4)};
    }
    static constexpr void keep(LayerForms& into, const LayerForm& form) noexcept {
        if (!into.push(form)) {
            no_value_in_result();
        }
    }
    constexpr void add(LayerForms& all, const LayerForm& form) const noexcept {
        if (form.retention.keep != Keep::everything || form.kind != Kind::attention) {
            return keep(all, form);
        }
        const Source source = form.retention.source;
        for (const Stream& stream : form.streams) {
            Stream old = stream;
            const bool key = stream.role == Role::key;
            if (key) {
                old.width = saturated_u32(u64{stream.width} * residual);
            }
            old.format = packed(group);
            keep(all, form_of(form.kind,
                              {.source = source, .stride = key ? residual : 1, .lag = key ? 0 : residual}, old));
            keep(all, form_of(form.kind,
                              {.keep = key ? Keep::chunk : Keep::window, .source = source, .span = {residual}},
                              stream));
        }
    }
};
template <class P>
Kivi(P, u32, u32, u32) -> Kivi<P>;

}  // namespace kvcap::inline v1
