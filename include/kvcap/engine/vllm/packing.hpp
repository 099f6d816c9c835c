// SPDX-License-Identifier: MIT
// How does DeepSeek-V4 share a pool among caches whose pages no block scaling can equalise? All latents in
// one group; window latents by block and window, cut into groups of about as many "tuples" (one layer of each
// page size); every group lies densely in the same slab. Source: v1/core/kv_cache_utils.py
// `group_and_unify_kv_cache_specs`, `_get_kv_cache_groups_uniform_groups`, `_approximate_gcd`.
#pragma once

#include <kvcap/engine/vllm/groups.hpp>

namespace kvcap::inline v1::vllm {

/// Caches by page size, sizes in order of first appearance.
struct PageCounts {
    Inplace<u64, most_specs> page{};
    u16 count[most_specs]{};

    constexpr u32 add(u64 size) noexcept {
        u32 i = 0;
        while (i < page.size() && page[i] != size) {
            ++i;
        }
        if (i == page.size()) {
            static_cast<void>(page.push(size));
        }
        return count[i]++;
    }
    constexpr u32 index_of(u64 size) const noexcept {
        u32 i = 0;
        while (page[i] != size) {
            ++i;
        }
        return i;
    }
    constexpr u32 most() const noexcept {
        u32 high = 0;
        for (u32 i = 0; i < page.size(); ++i) {
            high = count[i] > high ? count[i] : high;
        }
        return high;
    }
    constexpr bool even() const noexcept {
        bool same = true;
        for (u32 i = 0; i < page.size(); ++i) {
            same = same && count[i] == count[0];
        }
        return same;
    }
    constexpr u64 of(u64 size) const noexcept {
        u64 own = 0;
        for (u32 i = 0; i < page.size(); ++i) {
            own = page[i] == size ? count[i] : own;
        }
        return own;
    }
    constexpr u64 bytes() const noexcept {
        u64 all = 0;
        for (u32 i = 0; i < page.size(); ++i) {
            all = saturating_sum(all, saturating_product(page[i], count[i]));
        }
        return all;
    }
    constexpr u64 sum() const noexcept {
        u64 bytes = 0;
        for (const u64 size : page) {
            bytes += size;
        }
        return bytes;
    }
};

inline constexpr u16 no_part = 0xffff;

/// Part 0 holds the latents; the others window latents of one block and window. Other kinds have no part.
struct Parts {
    SpecList specs[32]{};
    PageCounts pages[32]{};
    u16 of[most_specs]{};
    u32 count = 1;
    bool other_kinds = false;
    bool out_of_room = false;

    constexpr bool has(const Member& cache) const noexcept {
        return cache.spec != no_spec && of[cache.spec] != no_part;
    }
};

constexpr Parts parts_of(const Specs& specs, const Layout& layout, const SpecList& used) noexcept {
    Parts parts{};
    for (const u16 i : used) {
        const Spec& spec = specs[i];
        if (!is_latent(spec.kind) && spec.kind != SpecKind::window_mla) {
            parts.other_kinds = true;
            parts.of[i] = no_part;
            continue;
        }
        u32 part = 0;
        if (!is_latent(spec.kind)) {
            part = 1;
            while (part < parts.count && !(specs[parts.specs[part][0]].block == spec.block &&
                                           specs[parts.specs[part][0]].window == spec.window)) {
                ++part;
            }
        }
        if (part == 32) {
            parts.out_of_room = true;
            return parts;
        }
        parts.count = part == parts.count ? part + 1 : parts.count;
        static_cast<void>(parts.specs[part].push(i));
        parts.of[i] = static_cast<u16>(part);
    }
    for (const Member& cache : layout.caches) {
        if (parts.has(cache)) {
            parts.pages[parts.of[cache.spec]].add(specs[cache.spec].page());
        }
    }
    return parts;
}

/// Before Change::packs_densely: window pages are padded to the smallest latent page that holds them; false:
/// none does.
constexpr bool pad_to_latents(Specs& specs, const SpecList& used) noexcept {
    for (const u16 i : used) {
        u64 least = off_scale;
        for (const u16 latent : used) {
            const u64 page = specs[latent].page();
            least = is_latent(specs[latent].kind) && page >= specs[i].page() ? smaller(least, page) : least;
        }
        if (specs[i].kind != SpecKind::window_mla) {
            continue;
        }
        if (least == off_scale) {
            return false;
        }
        specs[i].padded = specs[i].page() < least ? least : specs[i].padded;
        specs[i].align = specs[i].page() < least ? 0 : specs[i].align;
    }
    return true;
}

/// The d from the tuples of the latents up to the most tuples that wastes least; of equals the largest.
constexpr u32 tuples_of(const Parts& parts) noexcept {
    const u32 low = parts.pages[0].most();
    u32 high = low;
    for (u32 p = 0; p < parts.count; ++p) {
        high = parts.pages[p].most() > high ? parts.pages[p].most() : high;
    }
    u32 best = low;
    u64 least = off_scale;
    for (u32 d = low; d <= high; ++d) {
        u64 waste = 0;
        for (u32 p = 0; p < parts.count; ++p) {
            waste += round_up(parts.pages[p].most(), d) - parts.pages[p].most();
        }
        best = waste <= least ? d : best;
        least = smaller(waste, least);
    }
    return best;
}

/// One kind per sub-group, the latents' first.
constexpr void add_kinds(Grouping& to, const Parts& parts, u32 tuples, u16 (&first)[32],
                         u16 (&split)[32]) noexcept {
    for (u32 p = 0; p < parts.count; ++p) {
        const u32 sizes = parts.pages[p].page.size();
        split[p] = static_cast<u16>(p == 0 ? 1 : ceil_div(parts.pages[p].count[0], tuples));
        first[p] = static_cast<u16>(to.kinds.size());
        for (u32 i = 0; i < split[p]; ++i) {
            GroupKind kind{.spec = to.specs[parts.specs[p][0]], .mixed = true};
            const u32 rows = p == 0 ? 0 : (parts.pages[p].count[0] - i + split[p] - 1u) / split[p];
            kind.caches = static_cast<u16>(rows * sizes);
            if (!to.kinds.push(kind)) {
                to.out_of_room = true;
                return;
            }
        }
    }
}

/// pre: used holds a window latent, and pages differ. EAGLE-like drafts flag the group of the last cache.
constexpr void place_packed(Grouping& to, const Layout& layout, const SpecList& used, bool drafts,
                            const Rules& rules) noexcept {
    const bool holds = rules.has(Change::packs_densely) || pad_to_latents(to.specs, used);
    const Parts parts = parts_of(to.specs, layout, used);
    bool sound = holds && !parts.specs[0].empty() && uniform_type(to.specs, parts.specs[0]);
    for (u32 p = 1; p < parts.count; ++p) {
        sound = sound && parts.pages[p].even();
    }
    to.out_of_room = parts.out_of_room;
    to.unassigned = parts.other_kinds;
    to.shape = Shape::packed;
    if (!sound || parts.out_of_room) {
        to.reason = Reason::assertion;
        return;
    }
    u16 first[32]{};
    u16 split[32]{};
    add_kinds(to, parts, tuples_of(parts), first, split);
    PageCounts seen[32]{};
    u16 latents = 0;
    bool flagged = false;
    u16 last = 0;
    for (u32 c = 0; c < layout.caches.size() && !to.out_of_room; ++c) {
        const u16 spec = layout.caches[c].spec;
        if (!parts.has(layout.caches[c])) {
            continue;
        }
        const u32 p = parts.of[spec];
        const u64 page = to.specs[spec].page();
        const u32 row = seen[p].add(page);
        const u32 place =
            p == 0 ? latents++ : row / split[p] * parts.pages[p].page.size() + parts.pages[p].index_of(page);
        last = static_cast<u16>(first[p] + (p == 0 ? 0 : row % split[p]));
        to.placed[c] = {.group_class = last, .group = 0, .place = static_cast<u16>(place)};
        to.kinds[last].page += page;
        to.kinds[last].caches = p == 0 ? latents : to.kinds[last].caches;
        flagged = flagged || to.specs[spec].version == deepseek_v4;
    }
    for (GroupKind& kind : to.kinds) {
        kind.size = kind.caches;
    }
    if (drafts && flagged) {
        to.kinds[last].draft = true;
    }
}

}  // namespace kvcap::inline v1::vllm
