// SPDX-License-Identifier: MIT
// What does vLLM know of one layer's cache on a rank? A spec: its kind, block and page.
// page = head slots x (block / ratio) x cell, or the state's bytes; rounded up to `align`, or `padded`.
// Source: v1/kv_cache_interface.py (AttentionSpec, MLAAttentionSpec, SlidingWindowSpec, MambaSpec ...).
#pragma once

#include <kvcap/engine/vllm/options.hpp>

namespace kvcap::inline v1::vllm {

enum class SpecKind : u8 { full, mla, window, window_mla, chunked, cross, sink, state, hidden };

/// heads, key_dim, value_dim, dtype_bytes: compared for equality; the page follows from slots and cell.
/// window and chunk of a full kind are hints. origin: which state shapes (equal shapes, equal origin).
struct Spec {
    SpecKind kind = SpecKind::full;
    KvDtype quant = KvDtype::automatic;
    StateMode mode = StateMode::none;
    bool by_stride = true;
    u8 dtype_bytes = 2;
    u64 block = 16;
    u32 heads = 0;
    u32 key_dim = 0;
    u32 value_dim = 0;
    u32 slots = 0;
    u64 cell = 0;
    u32 ratio = 1;
    u32 align = 0;
    u32 version = 0;
    u32 tag = 0;
    u64 window = 0;
    u64 chunk = 0;
    u64 sinks = 0;
    u64 extra = 0;
    u32 spec_blocks = 0;
    u32 origin = 0;
    u64 state_bytes = 0;
    u64 padded = 0;

    constexpr u64 natural_page() const noexcept {
        return kind == SpecKind::state ? state_bytes
                                       : saturating_product(saturating_product(slots, block / ratio), cell);
    }
    /// 0: not padded. Alignment wins over an explicit page where it changes anything
    /// (`_apply_alignment_padding`).
    constexpr u64 padded_page() const noexcept {
        const u64 natural = natural_page();
        return align != 0 && natural % align != 0 ? round_up(natural, align) : padded;
    }
    constexpr u64 page() const noexcept {
        const u64 wide = padded_page();
        return wide != 0 ? wide : natural_page();
    }
    friend constexpr bool operator==(const Spec&, const Spec&) = default;
};

constexpr bool is_latent(SpecKind kind) noexcept { return kind == SpecKind::mla || kind == SpecKind::hidden; }

/// The kinds that keep every token and share one manager (subclasses of vLLM's FullAttentionSpec).
constexpr bool is_full(SpecKind kind) noexcept {
    return kind == SpecKind::full || kind == SpecKind::sink || is_latent(kind);
}

constexpr bool is_window(SpecKind kind) noexcept {
    return kind == SpecKind::window || kind == SpecKind::window_mla;
}

inline constexpr u32 most_specs = 64;
using Specs = Inplace<Spec, most_specs>;
/// Indices into a table of specs, in order of first appearance.
using SpecList = Inplace<u16, most_specs>;

inline constexpr u16 no_spec = 0xffff;

/// One cache: its spec and the pipeline stage that owns it. no_spec: vLLM keeps nothing per block for it.
struct Member {
    u16 spec = no_spec;
    u16 stage = 0;
    friend constexpr bool operator==(const Member&, const Member&) = default;
};

/// Every cache of the model in registration order, before any grouping.
struct Layout {
    Specs specs{};
    Inplace<Member, 512> caches{};
    u32 stages = 1;

    /// The index of an equal spec, added when new; most_specs when full.
    constexpr u32 index_of(const Spec& spec) noexcept {
        u32 i = 0;
        while (i < specs.size() && !(specs[i] == spec)) {
            ++i;
        }
        return i < specs.size() || specs.push(spec) ? i : most_specs;
    }
};

/// The specs in use, in order of first appearance. skip_hidden: without hidden-state caches.
constexpr SpecList specs_in_use(const Layout& layout, const Specs& specs, bool skip_hidden = false) noexcept {
    SpecList list{};
    bool seen[most_specs]{};
    for (const Member& cache : layout.caches) {
        if (cache.spec == no_spec || seen[cache.spec]) {
            continue;
        }
        seen[cache.spec] = true;
        if (!skip_hidden || specs[cache.spec].kind != SpecKind::hidden) {
            static_cast<void>(list.push(cache.spec));
        }
    }
    return list;
}

}  // namespace kvcap::inline v1::vllm
