// SPDX-License-Identifier: MIT
// Names of element formats and of the parts of a form, as spec lines spell them. A format without a name is
// written elems:bytes ("every 128 elements take 132 bytes" is 128:132).
#pragma once

#include <kvcap/quant/schemes.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace kvcap::inline v1::spec {

template <class T>
struct Named {
    std::string_view name;
    T value;
};

/// The first name of a value is the one that is printed.
inline constexpr Named<ElementFormat> formats[] = {
    {"bf16", bf16},        {"f16", f16},         {"fp16", f16},         {"f32", f32},
    {"fp32", f32},         {"fp8", fp8},         {"int8", int8},        {"int4", int4},
    {"fp8_128", fp8_scale_per_128},              {"nvfp4", nvfp4},      {"mxfp4", mxfp4},
    {"mxfp8", mxfp8},      {"q8_0", ggml::q8_0}, {"q5_1", ggml::q5_1},  {"q5_0", ggml::q5_0},
    {"q4_1", ggml::q4_1},  {"q4_0", ggml::q4_0}, {"iq4_nl", ggml::iq4_nl},
};

inline constexpr Named<Role> roles[] = {
    {"key", Role::key},     {"value", Role::value}, {"latent", Role::latent}, {"rope", Role::rope},
    {"index", Role::index}, {"conv", Role::conv},   {"state", Role::state},   {"k", Role::key},
    {"v", Role::value},
};

inline constexpr Named<Split> splits[] = {
    {"replicated", Split::replicated},
    {"heads", Split::heads},
    {"channels", Split::channels},
    {"groups", Split::groups},
};

inline constexpr Named<Keep> keeps[] = {
    {"everything", Keep::everything}, {"window", Keep::window}, {"chunk", Keep::chunk},
    {"budget", Keep::budget},         {"last", Keep::last},     {"once", Keep::once},
};

inline constexpr Named<Source> sources[] = {
    {"decoder", Source::decoder}, {"prompt", Source::prompt}, {"encoder", Source::encoder},
};

inline constexpr Named<Kind> kinds[] = {
    {"attention", Kind::attention}, {"latent", Kind::latent},       {"index", Kind::index},
    {"compressor", Kind::compressor}, {"mamba1", Kind::mamba1},     {"mamba2", Kind::mamba2},
    {"gated_delta", Kind::gated_delta}, {"kda", Kind::kda},         {"lightning", Kind::lightning},
    {"gla", Kind::gla},             {"rwkv", Kind::rwkv},           {"rglru", Kind::rglru},
    {"short_conv", Kind::short_conv}, {"mlstm", Kind::mlstm},       {"state", Kind::state},
};

template <class T, std::size_t N>
constexpr std::optional<T> value_named(const Named<T> (&table)[N], std::string_view name) {
    for (const Named<T>& row : table) {
        if (row.name == name) {
            return row.value;
        }
    }
    return std::nullopt;
}

/// Empty when the value has no name.
template <class T, std::size_t N>
constexpr std::string_view name_of(const Named<T> (&table)[N], const T& value) {
    for (const Named<T>& row : table) {
        if (row.value == value) {
            return row.name;
        }
    }
    return {};
}

inline std::string text_of(ElementFormat format) {
    const std::string_view name = name_of(formats, format);
    return name.empty() ? std::to_string(format.elems) + ':' + std::to_string(format.bytes)
                        : std::string{name};
}

}  // namespace kvcap::inline v1::spec
