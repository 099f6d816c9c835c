// SPDX-License-Identifier: MIT
// How many blocks does one request need of a group? full: ceil(ceil(L / dcp) / block). window:
// ceil(min(window - 1 + extra + F, L) / block) + 1. chunk: ceil(min(chunk + F, L) / block). cross:
// ceil(encoder tokens / block). state: 1, 2 (align) or ceil(L / block) (all), and the draft blocks. F: tokens
// in flight.
// Source: v1/kv_cache_interface.py `max_memory_usage_bytes`.
#pragma once

#include <kvcap/engine/vllm/packing.hpp>

namespace kvcap::inline v1::vllm {

/// in_flight: tokens that may be scheduled but not settled. dcp: ranks that full caches are dealt to.
struct Load {
    u64 in_flight = 0;
    u32 dcp = 1;
};

constexpr Load load_of(const Options& options, const Rules& rules, const Sharding& sharding) noexcept {
    const u64 batches = rules.has(Change::all_in_flight) ? batches_in_flight(options, sharding.pp) : 1;
    return {.in_flight = saturating_product(batches, options.max_num_batched_tokens), .dcp = sharding.cp};
}

constexpr Steps steps_of(const Spec& spec, const Load& load, const Rules& rules) noexcept {
    switch (spec.kind) {
        case SpecKind::window:
        case SpecKind::window_mla:
            return {.cap = saturating_sum(larger(saturating_sum(spec.window, spec.extra), 1) - 1, load.in_flight),
                    .per = spec.block, .plus = 1};
        case SpecKind::chunked: return {.cap = saturating_sum(spec.chunk, load.in_flight), .per = spec.block};
        case SpecKind::cross: return {.source = Source::encoder, .per = spec.block};
        case SpecKind::state:
            if (!rules.has(Change::aligned_states)) {
                return rules.has(Change::states_by_block) ? Steps{.per = spec.block} : Steps{.fixed = 1};
            }
            if (spec.mode == StateMode::all) {
                return {.per = spec.block, .plus = rules.has(Change::state_drafts) ? spec.spec_blocks : 0};
            }
            return {.fixed = (spec.mode == StateMode::align ? 2 : 1) + spec.spec_blocks};
        default: break;
    }
    return {.per = spec.block, .share = load.dcp};
}

/// Bytes on one stage (or, for `whole`, on all): that a block of the pool is divided by, what the fit check
/// counts for one block of one request, and what is allocated for a block.
struct Use {
    u64 per_block = 0;
    u64 per_request_block = 0;
    u64 allocated = 0;
    friend constexpr bool operator==(const Use&, const Use&) = default;
};

inline constexpr u32 whole_model = ~u32{0};

/// Caches and bytes of each group on one stage. Groups are numbered through, kind by kind.
struct OnStage {
    u16 first[33]{};
    u16 caches[544]{};
    u64 bytes[544]{};

    constexpr OnStage(const Grouping& grouping, const Layout& layout, u32 stage) noexcept {
        for (u32 k = 0; k < grouping.kinds.size(); ++k) {
            first[k + 1] = static_cast<u16>(first[k] + grouping.kinds[k].groups);
        }
        for (u32 c = 0; c < layout.caches.size(); ++c) {
            const Member& cache = layout.caches[c];
            const bool grouped = grouping.placed[c].group_class != nowhere.group_class;
            if (grouped && (stage == whole_model || cache.stage == stage)) {
                const GroupKind& kind = grouping.kinds[grouping.placed[c].group_class];
                const u32 at = first[grouping.placed[c].group_class] + grouping.placed[c].group;
                ++caches[at];
                bytes[at] = saturating_sum(bytes[at], kind.mixed ? grouping.specs[cache.spec].page() : kind.page);
            }
        }
    }
};

/// Packed: tuples x sum of the distinct latent pages. Groups that own nothing on the stage count as on the
/// whole; own_tuples: they count for the pages only.
constexpr u64 packed_by_tuples(const Grouping& grouping, const Layout& layout, u32 stage, const OnStage& own,
                               bool own_tuples) noexcept {
    PageCounts counts[32]{};
    for (u32 c = 0; c < layout.caches.size(); ++c) {
        const Member& cache = layout.caches[c];
        const u32 kind = grouping.placed[c].group_class;
        if (kind == nowhere.group_class) {
            continue;
        }
        const bool here = stage == whole_model || cache.stage == stage || own.caches[own.first[kind]] == 0;
        if (here) {
            counts[kind].add(grouping.specs[cache.spec].page());
        }
    }
    u32 tuples = 0;
    for (u32 k = 0; k < grouping.kinds.size(); ++k) {
        const bool counted = !own_tuples || own.caches[own.first[k]] != 0;
        tuples = counted && counts[k].most() > tuples ? counts[k].most() : tuples;
    }
    return saturating_product(tuples, counts[0].sum());
}

/// Bytes of a packed block: dense groups alias, the longest counts; before Change::packs_densely a slot of
/// each page size for every layer that some group has of it.
constexpr u64 packed_block(const Grouping& grouping, const Layout& layout, u32 stage, bool densely) noexcept {
    PageCounts counts[32]{};
    u64 longest = 0;
    Inplace<u64, most_specs> sizes{};
    for (u32 c = 0; c < layout.caches.size(); ++c) {
        const Member& cache = layout.caches[c];
        const u32 kind = grouping.placed[c].group_class;
        if (kind == nowhere.group_class || (stage != whole_model && cache.stage != stage)) {
            continue;
        }
        const u64 page = grouping.specs[cache.spec].page();
        counts[kind].add(page);
        bool known = false;
        for (const u64 size : sizes) {
            known = known || size == page;
        }
        static_cast<void>(known || sizes.push(page));
    }
    u64 slots = 0;
    for (const u64 size : sizes) {
        u64 most = 0;
        for (u32 k = 0; k < grouping.kinds.size(); ++k) {
            most = larger(most, counts[k].of(size));
        }
        slots = saturating_sum(slots, saturating_product(size, most));
    }
    for (u32 k = 0; k < grouping.kinds.size(); ++k) {
        longest = larger(longest, counts[k].bytes());
    }
    return densely ? longest : slots;
}

/// own_pages: a mixed group's page is summed over the stage's caches; before, over all of them.
constexpr Use use_of(const Grouping& grouping, const Layout& layout, u32 stage, const Rules& rules) noexcept {
    const bool own_pages = rules.has(Change::stage_pages);
    if (grouping.shape == Shape::none) {
        return {};
    }
    if (grouping.shape == Shape::mixed) {
        const OnStage own{grouping, layout, own_pages ? stage : whole_model};
        const u64 page = own.caches[0] == 0 ? grouping.kinds[0].page : own.bytes[0];
        return {page, page, own_pages ? page : OnStage{grouping, layout, stage}.bytes[0]};
    }
    const OnStage own{grouping, layout, stage};
    u64 longest = 0;
    for (u32 g = 0; g < own.first[grouping.kinds.size()]; ++g) {
        longest = larger(longest, own.bytes[g]);
    }
    if (grouping.shape != Shape::packed) {
        return {longest, longest, longest};
    }
    const u64 block = rules.has(Change::slots_by_size)
                          ? packed_block(grouping, layout, stage, rules.has(Change::packs_densely))
                          : packed_by_tuples(grouping, layout, stage, own, true);
    return {block, packed_by_tuples(grouping, layout, stage, own, false), block};
}

}  // namespace kvcap::inline v1::vllm
