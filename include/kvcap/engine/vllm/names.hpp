// SPDX-License-Identifier: MIT
// vLLM's own words for dtypes, modes and spec kinds, both ways. nullptr or false: no such word.
#pragma once

#include <kvcap/engine/vllm/spec.hpp>
#include <kvcap/engine/vllm/versions.hpp>

namespace kvcap::inline v1::vllm {

constexpr bool same_text(const char* a, const char* b) noexcept {
    while (*a != '\0' && *a == *b) {
        ++a;
        ++b;
    }
    return *a == *b;
}

/// release, day: first 0.N whose source has the format, and the day it appeared; 0: all known releases have it.
struct DtypeName {
    KvDtype dtype{};
    const char* name = "";
    u16 release = 0;
    u32 day = 0;
};

/// The first name of a dtype is the one that is printed.
/// Source: CacheDType (config/cache.py; 0.10: config/__init__.py) in the source packages of 0.10.0 to 0.28.0.
/// 0.11.0 has fp8_ds_mla as what it makes of fp8, 0.11.1 as a word of its own. nvfp4_4over6: PR 45187.
inline constexpr DtypeName dtype_names[] = {
    {KvDtype::automatic, "auto"},
    {KvDtype::fp8, "fp8"},
    {KvDtype::fp8, "fp8_e4m3"},
    {KvDtype::fp8, "fp8_e5m2"},
    {KvDtype::fp8_ds_mla, "fp8_ds_mla", 11, 20251004},
    {KvDtype::int8_per_token_head, "int8_per_token_head", 20, 20260427},
    {KvDtype::fp8_per_token_head, "fp8_per_token_head", 20, 20260427},
    {KvDtype::int4_per_token_head, "int4_per_token_head", 25, 20260711},
    {KvDtype::nvfp4, "nvfp4", 20, 20260427},
    {KvDtype::nvfp4, "nvfp4_4over6", 28, 20260820},
    {KvDtype::turboquant_k8v4, "turboquant_k8v4", 20, 20260427},
    {KvDtype::turboquant_4bit_nc, "turboquant_4bit_nc", 20, 20260427},
    {KvDtype::turboquant_k3v4_nc, "turboquant_k3v4_nc", 20, 20260427},
    {KvDtype::turboquant_3bit_nc, "turboquant_3bit_nc", 20, 20260427},
};

/// Whether a vLLM has the format.
constexpr bool has(const Rules& rules, const DtypeName& format) noexcept {
    return rules.release != 0 ? rules.release >= format.release : rules.day >= format.day;
}

/// What `--block-size` takes before it takes any number, and since when.
/// Source: BlockSize (config/cache.py; 0.10.0: config.py) in the source packages of 0.10.0 to 0.17.0.
struct ListedBlock {
    u32 tokens = 0;
    Since since{};
};

inline constexpr ListedBlock listed_blocks[] = {{1}, {8}, {16}, {32}, {64}, {128}, {256, {11, 1, 20251119}}};

/// Whether `--block-size` takes this many tokens.
constexpr bool takes_block(const Rules& rules, u64 tokens) noexcept {
    bool takes = rules.has(Change::any_block);
    for (const ListedBlock& each : listed_blocks) {
        takes = takes || (each.tokens == tokens && has(rules, each.since));
    }
    return takes;
}

constexpr const char* name_of(KvDtype dtype) noexcept {
    for (const DtypeName& row : dtype_names) {
        if (row.dtype == dtype) {
            return row.name;
        }
    }
    return nullptr;
}

constexpr bool dtype_named(const char* name, KvDtype& to) noexcept {
    for (const DtypeName& row : dtype_names) {
        if (same_text(row.name, name)) {
            to = row.dtype;
            return true;
        }
    }
    return false;
}

/// `kv_quant_mode`; nullptr: not quantised.
constexpr const char* quant_mode_of(KvDtype dtype) noexcept {
    switch (dtype) {
        case KvDtype::automatic: return nullptr;
        case KvDtype::fp8:
        case KvDtype::fp8_ds_mla: return "fp8_per_tensor";
        default: break;
    }
    return name_of(dtype);
}

constexpr const char* name_of(StateMode mode) noexcept {
    switch (mode) {
        case StateMode::none: return "none";
        case StateMode::align: return "align";
        case StateMode::all: return "all";
    }
    return nullptr;
}

constexpr bool mode_named(const char* name, StateMode& to) noexcept {
    for (u8 i = 0; i <= static_cast<u8>(StateMode::all); ++i) {
        if (same_text(name_of(StateMode{i}), name)) {
            to = StateMode{i};
            return true;
        }
    }
    return false;
}

constexpr const char* name_of(SpecKind kind) noexcept {
    switch (kind) {
        case SpecKind::full: return "full_attention";
        case SpecKind::mla: return "mla_attention";
        case SpecKind::window: return "sliding_window";
        case SpecKind::window_mla: return "sliding_window_mla";
        case SpecKind::chunked: return "chunked_local_attention";
        case SpecKind::cross: return "cross_attention";
        case SpecKind::sink: return "sink_full_attention";
        case SpecKind::state: return "state";
        case SpecKind::hidden: return "hidden_state";
    }
    return nullptr;
}

}  // namespace kvcap::inline v1::vllm
