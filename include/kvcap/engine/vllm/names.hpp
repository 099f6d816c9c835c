// SPDX-License-Identifier: MIT
// vLLM's own words for dtypes, modes and spec kinds, both ways. nullptr or false: no such word.
#pragma once

#include <kvcap/engine/vllm/spec.hpp>

namespace kvcap::inline v1::vllm {

constexpr bool same_text(const char* a, const char* b) noexcept {
    while (*a != '\0' && *a == *b) {
        ++a;
        ++b;
    }
    return *a == *b;
}

struct DtypeName {
    KvDtype dtype{};
    const char* name = "";
};

/// The first name of a dtype is the one that is printed.
inline constexpr DtypeName dtype_names[] = {
    {KvDtype::automatic, "auto"},
    {KvDtype::fp8, "fp8"},
    {KvDtype::fp8, "fp8_e4m3"},
    {KvDtype::fp8, "fp8_e5m2"},
    {KvDtype::fp8_ds_mla, "fp8_ds_mla"},
    {KvDtype::int8_per_token_head, "int8_per_token_head"},
    {KvDtype::fp8_per_token_head, "fp8_per_token_head"},
    {KvDtype::int4_per_token_head, "int4_per_token_head"},
    {KvDtype::nvfp4, "nvfp4"},
    {KvDtype::nvfp4, "nvfp4_4over6"},
    {KvDtype::turboquant_k8v4, "turboquant_k8v4"},
    {KvDtype::turboquant_4bit_nc, "turboquant_4bit_nc"},
    {KvDtype::turboquant_k3v4_nc, "turboquant_k3v4_nc"},
    {KvDtype::turboquant_3bit_nc, "turboquant_3bit_nc"},
};

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
