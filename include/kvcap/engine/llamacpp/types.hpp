// SPDX-License-Identifier: MIT
// Which storage types does ggml know? Every `format.elems` elements of a row take `format.bytes` bytes.
// Source: llama.cpp v0.5.0 (2026-09-28, ggml 0.25.1), ggml.h and ggml-common.h.
#pragma once

#include <kvcap/element.hpp>

namespace kvcap::inline v1::llamacpp {

// clang-format off
/// Values are ggml's own numbers, as GGUF files carry them.
enum class Ggml : u8 {
    f32 = 0, f16 = 1, q4_0 = 2, q4_1 = 3, q5_0 = 6, q5_1 = 7, q8_0 = 8, q8_1 = 9, q2_K = 10, q3_K = 11,
    q4_K = 12, q5_K = 13, q6_K = 14, q8_K = 15, iq2_xxs = 16, iq2_xs = 17, iq3_xxs = 18, iq1_s = 19,
    iq4_nl = 20, iq3_s = 21, iq2_s = 22, iq4_xs = 23, i8 = 24, i16 = 25, i32 = 26, i64 = 27, f64 = 28,
    iq1_m = 29, bf16 = 30, tq1_0 = 34, tq2_0 = 35, mxfp4 = 39, nvfp4 = 40, q1_0 = 41, q2_0 = 42,
};

struct GgmlType {
    Ggml id{};
    const char* name = "";
    ElementFormat format{};
    bool quantized = false;
    bool cache_option = false;  ///< accepted by the command line's -ctk and -ctv
};

inline constexpr GgmlType ggml_types[] = {
    {Ggml::f32, "f32", {1, 4}, false, true},
    {Ggml::f16, "f16", {1, 2}, false, true},
    {Ggml::bf16, "bf16", {1, 2}, false, true},
    {Ggml::q8_0, "q8_0", {32, 34}, true, true},
    {Ggml::q4_0, "q4_0", {32, 18}, true, true},
    {Ggml::q4_1, "q4_1", {32, 20}, true, true},
    {Ggml::iq4_nl, "iq4_nl", {32, 18}, true, true},
    {Ggml::q5_0, "q5_0", {32, 22}, true, true},
    {Ggml::q5_1, "q5_1", {32, 24}, true, true},
    {Ggml::q8_1, "q8_1", {32, 36}, true, false},
    {Ggml::q2_K, "q2_K", {256, 84}, true, false},
    {Ggml::q3_K, "q3_K", {256, 110}, true, false},
    {Ggml::q4_K, "q4_K", {256, 144}, true, false},
    {Ggml::q5_K, "q5_K", {256, 176}, true, false},
    {Ggml::q6_K, "q6_K", {256, 210}, true, false},
    {Ggml::q8_K, "q8_K", {256, 292}, true, false},
    {Ggml::iq2_xxs, "iq2_xxs", {256, 66}, true, false},
    {Ggml::iq2_xs, "iq2_xs", {256, 74}, true, false},
    {Ggml::iq3_xxs, "iq3_xxs", {256, 98}, true, false},
    {Ggml::iq1_s, "iq1_s", {256, 50}, true, false},
    {Ggml::iq3_s, "iq3_s", {256, 110}, true, false},
    {Ggml::iq2_s, "iq2_s", {256, 82}, true, false},
    {Ggml::iq4_xs, "iq4_xs", {256, 136}, true, false},
    {Ggml::iq1_m, "iq1_m", {256, 56}, true, false},
    {Ggml::tq1_0, "tq1_0", {256, 54}, true, false},
    {Ggml::tq2_0, "tq2_0", {256, 66}, true, false},
    {Ggml::mxfp4, "mxfp4", {32, 17}, true, false},
    {Ggml::nvfp4, "nvfp4", {64, 36}, true, false},
    {Ggml::q1_0, "q1_0", {128, 18}, true, false},
    {Ggml::q2_0, "q2_0", {64, 18}, true, false},
    {Ggml::i8, "i8", {1, 1}, false, false},
    {Ggml::i16, "i16", {1, 2}, false, false},
    {Ggml::i32, "i32", {1, 4}, false, false},
    {Ggml::i64, "i64", {1, 8}, false, false},
    {Ggml::f64, "f64", {1, 8}, false, false},
};
// clang-format on

/// Null when ggml has no such number (removed or newer than these rules).
constexpr const GgmlType* ggml_type(u64 id) noexcept {
    for (const GgmlType& type : ggml_types) {
        if (static_cast<u64>(type.id) == id) {
            return &type;
        }
    }
    return nullptr;
}

constexpr const GgmlType& ggml_type(Ggml id) noexcept { return *ggml_type(static_cast<u64>(id)); }

/// Whether `text` of `size` characters is the NUL-terminated `name`.
constexpr bool same_text(const char* name, const char* text, u64 size) noexcept {
    u64 i = 0;
    while (i < size && name[i] != '\0' && name[i] == text[i]) {
        ++i;
    }
    return i == size && name[i] == '\0';
}

constexpr const GgmlType* ggml_type(const char* text, u64 size) noexcept {
    for (const GgmlType& type : ggml_types) {
        if (same_text(type.name, text, size)) {
            return &type;
        }
    }
    return nullptr;
}

}  // namespace kvcap::inline v1::llamacpp
