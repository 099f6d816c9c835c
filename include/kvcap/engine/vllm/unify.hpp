// SPDX-License-Identifier: MIT
// How do layers with unequal pages come to one page? Blocks are scaled, pages padded, or windows promoted to
// full attention. Source: v1/core/kv_cache_utils.py `unify_kv_cache_spec_page_size`,
// `_promote_local_kv_cache_specs`.
#pragma once

#include <kvcap/engine/vllm/merge.hpp>
#include <kvcap/engine/vllm/refusal.hpp>
#include <kvcap/engine/vllm/versions.hpp>

namespace kvcap::inline v1::vllm {

constexpr u64 largest_page(const Specs& specs, const SpecList& used) noexcept {
    u64 most = 0;
    for (const u16 i : used) {
        most = larger(most, specs[i].page());
    }
    return most;
}

constexpr bool equal_pages(const Specs& specs, const SpecList& used) noexcept {
    for (const u16 i : used) {
        if (specs[i].page() != specs[used[0]].page()) {
            return false;
        }
    }
    return true;
}

/// Brings one spec to page `most`: states are padded; a divisor scales its block; others are padded where the
/// backend reads strides.
constexpr Reason unify_one(Spec& spec, u64 most, const Rules& rules) noexcept {
    const u64 page = spec.page();
    const bool pads = rules.has(Change::pads_pages);
    if (page == most) {
        return Reason::none;
    }
    if (page == 0) {
        return Reason::assertion;
    }
    if (spec.kind == SpecKind::state && rules.has(Change::pads_states)) {
        spec.padded = most;
    } else if (most % page == 0 && rules.has(Change::scales_blocks)) {
        spec.block *= most / page;
    } else if (pads && spec.kind != SpecKind::state && spec.by_stride) {
        spec.padded = most;
    } else {
        return Reason::cannot_unify_page_size;
    }
    const bool holds = spec.padded_page() == 0 || spec.padded_page() >= spec.natural_page();
    return holds && spec.page() == most ? Reason::none : Reason::assertion;
}

/// pre: used is not empty
constexpr Reason unify_pages(Specs& specs, const SpecList& used, const Rules& rules) noexcept {
    const u64 most = largest_page(specs, used);
    for (const u16 i : used) {
        if (const Reason reason = unify_one(specs[i], most, rules); reason != Reason::none) {
            return reason;
        }
    }
    return Reason::none;
}

/// none: one spec or one type already. Error-like: window_mismatch, which vLLM raises while asking.
constexpr Reason is_one_type(const Specs& specs, const SpecList& used, const Rules& rules,
                             bool& one) noexcept {
    Spec common{};
    const Merging merging = merge(specs, used, rules, common);
    if (merging == Merging::mismatch) {
        return Reason::window_mismatch;
    }
    one = merging == Merging::yes || uniform_type(specs, used);
    return Reason::none;
}

/// A window or chunk as a full cache that keeps its span as a hint; `block` 0: its own. Before
/// Change::promotes_block it forgets that its backend reads strides.
constexpr void promote_one(Spec& spec, u64 block, const Rules& rules) noexcept {
    const u64 wide = spec.padded_page();
    const u64 own = spec.natural_page();
    const u64 old_block = spec.block;
    spec.kind = spec.kind == SpecKind::window_mla ? SpecKind::mla : SpecKind::full;
    spec.block = block != 0 ? block : old_block;
    spec.padded = wide == 0 ? 0 : larger(wide, own * spec.block / old_block);
    spec.extra = 0;
    spec.by_stride = spec.by_stride && rules.has(Change::promotes_block);
}

/// The block of the full specs: the only one, 0 when they differ; before Change::promotes_block the first
/// one's.
constexpr u64 full_block(const Specs& specs, const SpecList& used, const Rules& rules, bool& full) noexcept {
    u64 block = 0;
    bool mixed = false;
    for (const u16 i : used) {
        if (is_full(specs[i].kind)) {
            mixed = mixed || (full && block != specs[i].block);
            block = full ? block : specs[i].block;
            full = true;
        }
    }
    return mixed && rules.has(Change::promotes_block) ? 0 : block;
}

/// Turns windows and chunks into full caches beside full ones. pre: used is not empty
constexpr Reason promote(Specs& specs, const SpecList& used, const Rules& rules) noexcept {
    bool one = false;
    if (const Reason reason = is_one_type(specs, used, rules, one); reason != Reason::none || one) {
        return reason;
    }
    bool full = false;
    const u64 block = full_block(specs, used, rules, full);
    for (const u16 i : used) {
        Spec& spec = specs[i];
        const bool takes_block = spec.kind == SpecKind::window_mla || rules.has(Change::promotes_block);
        if (!full && spec.kind == SpecKind::window_mla && !rules.has(Change::promotes_block)) {
            return Reason::assertion;
        }
        if (full && (is_window(spec.kind) || spec.kind == SpecKind::chunked)) {
            promote_one(spec, takes_block ? block : 0, rules);
        }
    }
    if (const Reason reason = is_one_type(specs, used, rules, one); reason != Reason::none) {
        return reason;
    }
    return one ? Reason::none : Reason::cannot_promote_to_single_type;
}

/// Whether latents and plain windows may fall back to full allocation
/// (`_try_get_full_allocation_fallback_groups`).
constexpr bool may_fall_back(const Specs& specs, const SpecList& used) noexcept {
    bool latent = false;
    bool window = false;
    for (const u16 i : used) {
        const SpecKind kind = specs[i].kind;
        if (kind == SpecKind::hidden || kind == SpecKind::window_mla || kind == SpecKind::chunked) {
            return false;
        }
        latent = latent || kind == SpecKind::mla;
        window = window || kind == SpecKind::window;
    }
    return latent && window;
}

}  // namespace kvcap::inline v1::vllm
