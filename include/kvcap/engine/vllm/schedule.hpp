// SPDX-License-Identifier: MIT
// On which token boundaries does vLLM schedule and hash? scheduler = least common multiple of the groups'
// blocks, times the ranks that full caches are dealt to; hash = their greatest common divisor where every
// state mode allows. Source: v1/core/kv_cache_utils.py `resolve_kv_cache_block_sizes`.
#pragma once

#include <kvcap/engine/vllm/demand.hpp>

namespace kvcap::inline v1::vllm {

/// reported: what `cache_config.block_size` says after start-up, the smallest block of the groups.
struct Boundaries {
    u64 reported = 0;
    u64 scheduler = 0;
    u64 hash = 0;
    Reason reason = Reason::none;
    friend constexpr bool operator==(const Boundaries&, const Boundaries&) = default;
};

/// Tokens that one block of this spec spans over all ranks.
constexpr u64 effective_block(const Spec& spec, u32 dcp) noexcept {
    return spec.kind == SpecKind::state ? spec.block : saturating_product(spec.block, dcp);
}

constexpr bool divides_all(const Grouping& grouping, u32 dcp, u64 unit) noexcept {
    for (const GroupKind& kind : grouping.kinds) {
        if (unit == 0 || effective_block(kind.spec, dcp) % unit != 0) {
            return false;
        }
    }
    return true;
}

constexpr Boundaries boundaries_of(const Grouping& grouping, const Options& options, const Rules& rules,
                                   u32 dcp) noexcept {
    Boundaries at{};
    if (grouping.kinds.empty()) {
        return at;
    }
    at.reported = off_scale;
    at.scheduler = 1;
    bool aligned = true;
    u64 finest = 0;
    for (const GroupKind& kind : grouping.kinds) {
        const u64 block = effective_block(kind.spec, dcp);
        at.reported = smaller(at.reported, kind.spec.block);
        at.scheduler = least_common_multiple(at.scheduler, block);
        finest = greatest_common_divisor(finest, block);
        aligned = aligned && (kind.spec.kind != SpecKind::state || kind.spec.mode == StateMode::align);
    }
    if (grouping.groups() == 1) {
        at.scheduler = saturating_product(at.reported, dcp);
        at.hash = at.scheduler;
        return at;
    }
    if (dcp > 1 && !rules.has(Change::deals_hybrids)) {
        at.reason = Reason::context_parallel_unsupported;
    }
    at.hash = at.scheduler;
    if (!options.prefix_caching || !aligned) {
        return at;
    }
    at.hash =
        options.prefix_match_unit != 0 && rules.has(Change::match_unit) ? options.prefix_match_unit : finest;
    if (!divides_all(grouping, dcp, at.hash)) {
        at.reason = Reason::match_unit_not_divisible;
    }
    return at;
}

}  // namespace kvcap::inline v1::vllm
