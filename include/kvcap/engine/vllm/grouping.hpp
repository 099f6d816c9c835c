// SPDX-License-Identifier: MIT
// The order of vLLM's attempts: one spec, one type, packed latents, equal pages, full allocation.
// Source: v1/core/kv_cache_utils.py `get_kv_cache_groups`.
#pragma once

#include <kvcap/engine/vllm/packing.hpp>

namespace kvcap::inline v1::vllm {

constexpr bool is_packed(const Specs& specs, const SpecList& used, const Rules& rules) noexcept {
    bool windows = false;
    for (const u16 i : used) {
        windows = windows || specs[i].kind == SpecKind::window_mla;
    }
    return windows && !(rules.has(Change::packs_unequal) && equal_pages(specs, used));
}

/// Equal pages, then buckets; or the fallback.
constexpr void place_general(Grouping& to, const Layout& layout, const Rules& rules) noexcept {
    const SpecList all = specs_in_use(layout, to.specs);
    const SpecList used = specs_in_use(layout, to.specs, true);
    const Specs before = to.specs;
    to.reason = used.empty() ? Reason::assertion : unify_pages(to.specs, used, rules);
    if (to.reason == Reason::cannot_unify_page_size && rules.has(Change::falls_back) &&
        may_fall_back(before, all)) {
        Specs promoted = before;
        if (promote(promoted, all, rules) == Reason::none && uniform_type(promoted, all)) {
            to.specs = promoted;
            to.reason = Reason::none;
            return place_in_one(to, layout, promoted[all[0]], true);
        }
    }
    if (to.reason != Reason::none) {
        return;
    }
    to.shape = Shape::general;
    const Buckets buckets = buckets_of(to.specs, layout, used, rules);
    to.out_of_room = buckets.out_of_room;
    if (!to.out_of_room) {
        place_in_buckets(to, layout, buckets, rules);
        place_hidden(to, layout);
    }
}

/// Fills `grouping`: groups of every cache of the layout, or the reason why vLLM refuses.
constexpr void group(const Layout& layout, const Options& options, const Rules& rules,
                     Grouping& grouping) noexcept {
    grouping.specs = layout.specs;
    grouping.placed.count = layout.caches.size();
    for (Placement& placement : grouping.placed) {
        placement = nowhere;
    }
    const SpecList used = specs_in_use(layout, layout.specs);
    if (used.empty()) {
        return;
    }
    if (!options.hybrid_manager) {
        grouping.reason = promote(grouping.specs, used, rules);
        if (grouping.reason != Reason::none) {
            return;
        }
    }
    Spec common{};
    const Merging merging = merge(grouping.specs, used, rules, common);
    if (merging == Merging::mismatch) {
        grouping.reason = Reason::window_mismatch;
    } else if (merging == Merging::yes) {
        place_in_one(grouping, layout, common, false);
    } else if (uniform_type(grouping.specs, used)) {
        place_in_one(grouping, layout, grouping.specs[used[0]], true);
    } else if (rules.has(Change::packed_latents) && is_packed(grouping.specs, used, rules)) {
        place_packed(grouping, layout, used, options.spec_tokens > 0, rules);
    } else {
        place_general(grouping, layout, rules);
    }
}

}  // namespace kvcap::inline v1::vllm
