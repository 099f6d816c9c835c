// SPDX-License-Identifier: MIT
// Which rules did a vLLM version or day have? Each change is a row: the day its pull request was merged, the
// first release that contains it (seen in the released wheels, since releases are cut from branches), and its
// source. A result names the rules it used by `Rules::name`.
#pragma once

#include <kvcap/result.hpp>

namespace kvcap::inline v1::vllm {

enum class Change : u8 {
    scales_blocks,         // unequal pages: blocks of the smaller are scaled up; before: refused
    grows_below_1_25,      // group size: the largest bucket if below 1.25 times the smallest
    states_by_block,       // a state takes a block for every block of tokens; before: one
    full_values,           // full layers count the value's own width; before: as wide as the key
    auto_length,           // `--max-model-len auto`; the fit check asks groups, but only the first
    aligned_states,        // state mode "align"
    stage_pages,           // a mixed group's page is summed over the worker's own layers
    grows_below_1_5,       // the same with 1.5
    fit_counts_groups,     // the fit check sums the blocks of all groups
    window_values,         // windows count the value's own width
    packed_latents,        // window latents of several page sizes share one slab (DeepSeek-V4)
    override_limits_fit,   // the fit check sees `--num-gpu-blocks-override`
    logs_concurrency,      // logged tokens = concurrency x length; before: by blocks and groups
    state_drafts,          // state mode "all" adds the draft blocks
    slots_by_size,         // packed: a slot of each page size for as many layers as a group has of it
    pads_pages,            // odd pages are padded where the backend reads strides
    windows_choose_block,  // window layers take the smallest kernel block, whatever `--block-size`
    mixed_precision,       // skip layers are padded to the quantised page
    pads_states,           // states are padded to the largest page
    all_in_flight,         // windows and chunks reserve for every batch in flight
    packs_unequal,         // window latents are packed only if pages differ; before: always
    deals_hybrids,         // several groups with decode context parallelism
    match_unit,            // `--prefix-match-unit`: hits inside a block
    merges_buckets,        // layers whose specs merge share a bucket
    latents_compare,  // latents merge only with equal widths and blocks; before: by dtype and ratio
    packs_densely,   // packed groups lie densely; before: window pages are padded to a latent's
    promotes_block,  // manager off: windows take the full layers' block; before: only window latents
    latent_128,      // latents beside states: blocks are multiples of 128
    concurrency_by_blocks,  // concurrency = blocks / sum of blocks; before: by bytes of the first group
    falls_back,             // latents and windows that cannot be unified: all as full attention
    values_compare,         // specs of different value widths do not merge
    keeps_extra,            // chained draft modules make windows keep more tokens
    zero_retention,         // prefix_cache_retention_interval defaults to 0; before: dense
    spares_null_block,      // the fit check takes the null block off
    prefers_flash_attn_mla,  // Hopper: FLASH_ATTN_MLA before FLASHMLA
    backend_chooses_block,   // the block of latents is the backend's; before: 64 by the platform
    flash_attn_mla_sparse,   // Hopper: FLASH_ATTN_MLA_SPARSE beside index keys
    overlaps,                // async scheduling unless it is switched off; before: only where asked for
    larger_share,            // gpu_memory_utilization 0.92; before: 0.9
    longer_step,             // steps of 16,384 tokens on GPUs of 160 GiB and more; before: 8,192
    any_block,               // `--block-size` takes any number; before: a list (names.hpp)
    blocks_in_step,          // state mode "align": a block is at most a step (checks.hpp)
    divides_blocks,          // and no longer: a wider block is filled by several steps
    captures_by_block,       // a block for every request of decode graphs beside states (checks.hpp)
    caches_states,           // prefix caching of models with states unless it is switched off; before: on request
    aligns_states,           // then in mode "align"; before: "all" for the classes that have it (defaults.hpp)
};

/// merged: yyyymmdd (of the pull request, or of the first release where the day is not known). release: first
/// 0.N that has it.
struct ChangeRow {
    Change change{};
    u32 merged = 0;
    u16 release = 0;
    const char* source = "";
};

inline constexpr ChangeRow changes[] = {
    {Change::scales_blocks, 20251124, 12, "kv_cache_utils.py unify_kv_cache_spec_page_size"},
    {Change::grows_below_1_25, 20251124, 12, "PR 29303: kv_cache_utils.py .._groups_uniform_page_size"},
    {Change::states_by_block, 20251203, 12, "kv_cache_interface.py MambaSpec.max_memory_usage_bytes"},
    {Change::prefers_flash_attn_mla, 20251203, 12, "PR 27363: platforms/cuda.py _get_backend_priorities"},
    {Change::full_values, 20251223, 14, "kv_cache_interface.py FullAttentionSpec.head_size_v"},
    {Change::overlaps, 20251223, 14, "config/vllm.py async_scheduling"},
    {Change::auto_length, 20251223, 14, "kv_cache_utils.py _auto_fit_max_model_len"},
    {Change::aligned_states, 20260123, 15, "PR 30877: config/cache.py mamba_cache_mode"},
    {Change::stage_pages, 20260219, 17, "kv_cache_utils.py _project_kv_cache_groups_to_worker"},
    {Change::blocks_in_step, 20260307, 17, "PR 34445: config/vllm.py validate_block_size"},
    {Change::grows_below_1_5, 20260312, 18, "PR 36684: kv_cache_utils.py .._groups_uniform_page_size"},
    {Change::backend_chooses_block, 20260320, 18, "platforms/interface.py update_block_size_for_backend"},
    {Change::any_block, 20260320, 18, "config/cache.py block_size"},
    {Change::fit_counts_groups, 20260402, 19, "kv_cache_utils.py _max_memory_usage_bytes_from_groups"},
    {Change::captures_by_block, 20260331, 20, "PR 38270: config/compilation.py resolve_cudagraph_mode_.."},
    {Change::window_values, 20260427, 20, "kv_cache_interface.py SlidingWindowSpec.head_size_v"},
    {Change::packed_latents, 20260427, 20, "kv_cache_utils.py group_and_unify_kv_cache_specs"},
    {Change::larger_share, 20260427, 20, "config/cache.py gpu_memory_utilization"},
    {Change::override_limits_fit, 20260428, 21, "kv_cache_utils.py get_kv_cache_configs"},
    {Change::logs_concurrency, 20260428, 21, "PR 40694: kv_cache_utils.py _report_kv_cache_config"},
    {Change::state_drafts, 20260529, 22, "kv_cache_interface.py MambaSpec.max_memory_usage_bytes"},
    {Change::slots_by_size, 20260615, 23, "PR 44454: kv_cache_utils.py _bucket_layers_by_page_size"},
    {Change::pads_pages, 20260621, 24, "PR 45181: kv_cache_utils.py unify_kv_cache_spec_page_size"},
    {Change::windows_choose_block, 20260704, 25, "attention.py _largest_kernel_block_within"},
    {Change::flash_attn_mla_sparse, 20260704, 25, "PR 46189: platforms/cuda.py _get_backend_priorities"},
    {Change::mixed_precision, 20260711, 25, "platforms/interface.py _align_heterogeneous_kv_block_size"},
    {Change::pads_states, 20260725, 26, "kv_cache_utils.py unify_kv_cache_spec_page_size"},
    {Change::all_in_flight, 20260708, 26, "PR 47728: kv_cache_interface.py max_admission_blocks_per_request"},
    {Change::packs_unequal, 20260708, 26, "kv_cache_utils.py group_and_unify_kv_cache_specs"},
    {Change::deals_hybrids, 20260709, 26, "PR 40996: kv_cache_utils.py resolve_kv_cache_block_sizes"},
    {Change::match_unit, 20260712, 26, "PR 46384: config/cache.py prefix_match_unit"},
    {Change::merges_buckets, 20260730, 27, "PR 50000: kv_cache_utils.py .._groups_uniform_page_size"},
    {Change::latents_compare, 20260730, 27, "kv_cache_interface.py MLAAttentionSpec.merge"},
    {Change::packs_densely, 20260810, 27, "kv_cache_utils.py _get_packed_kv_cache_layout"},
    {Change::promotes_block, 20260810, 27, "kv_cache_utils.py _promote_local_kv_cache_specs"},
    {Change::latent_128, 20260730, 27, "PR 50000: platforms/interface.py _align_hybrid_block_size"},
    {Change::concurrency_by_blocks, 20260810, 27, "kv_cache_utils.py get_max_concurrency_.."},
    {Change::falls_back, 20260810, 27, "kv_cache_utils.py _try_get_full_allocation_fallback_groups"},
    {Change::divides_blocks, 20260810, 27, "core/sched/scheduler.py _mamba_block_aligned_split"},
    {Change::values_compare, 20260820, 28, "kv_cache_interface.py AttentionSpec.head_size_v"},
    {Change::longer_step, 20260820, 28, "engine/arg_utils.py get_batch_defaults"},
    {Change::caches_states, 20260820, 28, "engine/arg_utils.py .._and_prefix_caching_args"},
    {Change::aligns_states, 20260820, 28, "models/config.py MambaModelConfig"},
    {Change::keeps_extra, 20260820, 28, "kv_cache_utils.py get_kv_cache_configs, extra_retained_tokens"},
    {Change::zero_retention, 20260817, 29, "PR 52216: config/cache.py prefix_cache_retention_interval"},
    {Change::spares_null_block, 20260820, 29, "PR 47272: kv_cache_utils.py get_kv_cache_configs"},
};

/// The releases whose rules are known: 0.oldest_release to 0.newest_release. From 0.29 on vLLM plans memory
/// by layout, which these rules do not describe.
inline constexpr u32 oldest_release = 10;
inline constexpr u32 newest_release = 28;
/// The day of the newest rules (commit 2f41c894).
inline constexpr u32 newest_day = 20260820;
inline constexpr u32 oldest_day = 20250701;

/// A set of changes. release 0: by day.
struct Rules {
    u64 bits = 0;
    u32 release = 0;
    u32 patch = 0;
    u32 day = 0;

    constexpr bool has(Change change) const noexcept { return (bits >> static_cast<u32>(change) & 1) != 0; }
    friend constexpr bool operator==(const Rules&, const Rules&) = default;
};

/// Rules of a day (yyyymmdd). Days after newest_day have the newest rules; days before oldest_day are
/// refused.
constexpr Result<Rules> rules_of_day(u32 day) noexcept {
    if (day < oldest_day) {
        return Error{.code = Errc::unknown_version, .got = day, .want = oldest_day, .hint = newest_day};
    }
    Rules rules{.day = day};
    for (const ChangeRow& row : changes) {
        rules.bits |= row.merged <= day ? u64{1} << static_cast<u32>(row.change) : 0;
    }
    return rules;
}

/// Rules of release 0.`release`. Error: Errc::unknown_version with got = the release, want = the nearest
/// known.
constexpr Result<Rules> rules_of_release(u32 release, u32 patch = 0) noexcept {
    if (release < oldest_release || release > newest_release) {
        return Error{.code = Errc::unknown_version, .got = release,
                     .want = release < oldest_release ? oldest_release : newest_release};
    }
    Rules rules{.release = release, .patch = patch};
    for (const ChangeRow& row : changes) {
        rules.bits |= row.release <= release ? u64{1} << static_cast<u32>(row.change) : 0;
    }
    return rules;
}

/// The first 0.`release`.`patch` that has something, and the day of it, for rules that are a day's.
struct Since {
    u16 release = 0;
    u16 patch = 0;
    u32 day = 0;
    friend constexpr bool operator==(const Since&, const Since&) = default;
};

constexpr bool has(const Rules& rules, const Since& since) noexcept {
    if (rules.release == 0) {
        return rules.day >= since.day;
    }
    return rules.release != since.release ? rules.release > since.release : rules.patch >= since.patch;
}

inline constexpr Rules newest_rules = rules_of_day(newest_day).value();

/// A day that the calendar has.
constexpr bool is_day(u64 year, u64 month, u64 day) noexcept {
    constexpr u64 lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return year >= 1 && year <= 9999 && month >= 1 && month <= 12 && day >= 1 &&
           day <= lengths[month - 1] + (month == 2 && leap ? 1u : 0u);
}

/// "rc" and a number, and nothing behind it.
constexpr bool is_candidate(const char* text) noexcept {
    const bool named = text[0] == 'r' && text[1] == 'c' && text[2] >= '0' && text[2] <= '9';
    const char* s = named ? text + 2 : text;
    while (named && *s >= '0' && *s <= '9') {
        ++s;
    }
    return named && *s == '\0';
}

/// Reads "0.19", "0.18.1", "2026-05" (the first of the month) or "2026-05-20". A release candidate, "0.18.1rc1", has
/// the rules of its release, from which they may differ: `candidate_named` tells.
constexpr Result<Rules> rules_named(const char* text) noexcept {
    u64 part[3]{};
    u32 parts = 0;
    char between = '\0';
    const char* s = text;
    while (parts < 3 && *s >= '0' && *s <= '9') {
        u64 number = 0;
        while (*s >= '0' && *s <= '9' && number < 100'000'000) {
            number = number * 10 + static_cast<u64>(*s++ - '0');
        }
        part[parts++] = number;
        const bool goes_on = (*s == '.' || *s == '-') && (between == '\0' || *s == between) && parts < 3;
        if (!goes_on || s[1] < '0' || s[1] > '9') {
            break;
        }
        between = *s++;
    }
    const u64 day = parts == 3 ? part[2] : 1;
    if (between == '-' && *s == '\0' && is_day(part[0], part[1], day)) {
        return rules_of_day(static_cast<u32>(part[0] * 10'000 + part[1] * 100 + day));
    }
    if (between == '.' && part[0] == 0 && (*s == '\0' || (parts == 3 && is_candidate(s)))) {
        return rules_of_release(static_cast<u32>(part[1]), static_cast<u32>(part[2]));
    }
    const bool release = between == '.' && part[0] == 0;
    return Error{.code = Errc::unknown_version, .got = part[0],
                 .want = release ? larger(smaller(part[1], newest_release), oldest_release) : newest_release};
}

/// Whether a text that rules_named reads is a release candidate.
constexpr bool candidate_named(const char* text) noexcept {
    while (*text != '\0' && *text != 'r') {
        ++text;
    }
    return is_candidate(text);
}

}  // namespace kvcap::inline v1::vllm
