// SPDX-License-Identifier: MIT
// Which layers may share one block table? Specs that merge into one, and specs of one uniform type (equal
// token slots, own pages). Source: v1/kv_cache_interface.py `merge`,
// `UniformTypeKVCacheSpecs.is_uniform_type`.
#pragma once

#include <kvcap/engine/vllm/spec.hpp>
#include <kvcap/engine/vllm/versions.hpp>

namespace kvcap::inline v1::vllm {

/// mismatch: different window hints, which vLLM raises as an error of its own.
enum class Merging : u8 { yes, no, mismatch };

/// values: value widths count.
constexpr bool same_attention(const Spec& a, const Spec& b, bool values) noexcept {
    const bool same_values = a.value_dim == b.value_dim && a.cell == b.cell;
    return a.block == b.block && a.heads == b.heads && a.key_dim == b.key_dim && (same_values || !values) &&
           a.dtype_bytes == b.dtype_bytes && a.quant == b.quant && a.padded_page() == b.padded_page() &&
           a.by_stride == b.by_stride && a.slots == b.slots;
}

constexpr bool same_latent(const Spec& a, const Spec& b) noexcept {
    return a.tag == b.tag && a.ratio == b.ratio && a.version == b.version && a.by_stride == b.by_stride;
}

/// Full kinds: equal fields; of the hints at most one value each, and not both kinds of hint.
constexpr Merging merge_full(const Specs& specs, const SpecList& list, const Rules& rules,
                             Spec& into) noexcept {
    for (const u16 i : list) {
        if (specs[i].kind != SpecKind::full && specs[i].kind != SpecKind::sink) {
            return Merging::no;
        }
    }
    for (const u16 i : list) {
        const Spec& next = specs[i];
        const bool clash = (next.window != 0 && into.window != 0 && next.window != into.window) ||
                           (next.chunk != 0 && into.chunk != 0 && next.chunk != into.chunk);
        if (clash) {
            return Merging::mismatch;
        }
        into.window = into.window != 0 ? into.window : next.window;
        into.chunk = into.chunk != 0 ? into.chunk : next.chunk;
    }
    for (const u16 i : list) {
        if (!same_attention(specs[i], into, rules.has(Change::values_compare))) {
            return Merging::no;
        }
    }
    return into.window != 0 && into.chunk != 0 ? Merging::no : Merging::yes;
}

/// pre: list is not empty. Writes the common spec to `into` when the answer is yes.
constexpr Merging merge(const Specs& specs, const SpecList& list, const Rules& rules, Spec& into) noexcept {
    into = specs[list[0]];
    if (into.kind == SpecKind::full || into.kind == SpecKind::sink) {
        return merge_full(specs, list, rules, into);
    }
    for (const u16 i : list) {
        const Spec& next = specs[i];
        bool fits = next == into;
        if (is_latent(into.kind)) {
            const bool same = !rules.has(Change::latents_compare) || same_attention(next, into, true);
            fits = is_latent(next.kind) && same_latent(next, into) && same;
        } else if (into.kind == SpecKind::window_mla) {
            fits = next.kind == into.kind && same_latent(next, into) && next.window == into.window &&
                   next.extra == into.extra;
        }
        if (!fits) {
            return Merging::no;
        }
    }
    if (is_latent(into.kind) || into.kind == SpecKind::window_mla) {
        into.padded = into.padded_page();  // merged latents keep the padded page, not what it was padded to
        into.align = 0;
        into.window = into.kind == SpecKind::window_mla ? into.window : 0;
    }
    return Merging::yes;
}

constexpr bool of_type(const Spec& next, const Spec& first) noexcept {
    switch (first.kind) {
        case SpecKind::full:
        case SpecKind::sink:
        case SpecKind::mla:
        case SpecKind::hidden: return is_full(next.kind);
        case SpecKind::window: return is_window(next.kind) && next.window == first.window;
        case SpecKind::window_mla: return next.kind == first.kind && next.window == first.window;
        case SpecKind::chunked: return next.kind == first.kind && next.chunk == first.chunk;
        case SpecKind::cross: return next.kind == first.kind;
        case SpecKind::state: return next.kind == first.kind && next.spec_blocks == first.spec_blocks;
    }
    return false;
}

/// Whether all need the same token slots. pre: list is not empty
constexpr bool uniform_type(const Specs& specs, const SpecList& list) noexcept {
    const Spec& first = specs[list[0]];
    for (const u16 i : list) {
        if (specs[i].block != first.block || !of_type(specs[i], first)) {
            return false;
        }
    }
    return true;
}

}  // namespace kvcap::inline v1::vllm
