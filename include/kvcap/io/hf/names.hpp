// SPDX-License-Identifier: MIT
// Does a known key hold a name that means something? Types of tensors and of states, and what a quantisation says of
// the cache. A name that nobody knows is an error at its place: silence would be a guess. null means nothing was said.
#pragma once

#include <kvcap/io/diagnosis.hpp>
#include <kvcap/io/json.hpp>
#include <kvcap/io/nearest.hpp>

namespace kvcap::inline v1::hf {

/// torch's dtypes, also by their short names, and storage types that checkpoints name.
inline constexpr std::string_view dtype_names[] = {
    "auto",     "bfloat16", "float16", "float32",       "float64",     "bf16",  "fp16", "f16",   "half",
    "fp32",     "f32",      "float",   "float8_e4m3fn", "float8_e5m2", "fp8",   "fp4",  "nvfp4", "mxfp4",
    "int8",     "uint8",    "int4",    "double",
};
inline constexpr std::string_view state_names[] = {
    "auto", "bfloat16", "float16", "float32", "bf16", "fp16", "f16", "half", "fp32", "f32", "float",
};
/// In lower case; ModelOpt writes FP8 and NVFP4.
inline constexpr std::string_view cache_names[] = {
    "auto", "none", "fp8", "fp8_e4m3", "fp8_e5m2", "nvfp4", "int8", "int4", "bf16", "bfloat16", "fp16", "float16",
};

template <std::size_t n>
std::optional<Problem> unknown_name(JsonValue value, const std::string& where, const std::string_view (&names)[n]) {
    if (!value.given()) {
        return std::nullopt;
    }
    std::string name = io::lower_case(value.text());
    name = name.starts_with("torch.") ? name.substr(6) : name;
    std::string all;
    for (const std::string_view each : names) {
        if (value.is_text() && name == each) {
            return std::nullopt;
        }
        (all += all.empty() ? "" : ", ") += each;
    }
    const std::string near = value.is_text() ? nearest(name, std::vector<std::string_view>(names, names + n)) : "";
    return Problem{Trouble::invalid, where, value.shown(), "one of " + all, near.empty() ? "" : "nearest: " + near};
}

/// `kv_cache_scheme`: a name, or an object with num_bits and type.
inline std::optional<Problem> unknown_scheme(JsonValue scheme, const std::string& where) {
    if (!scheme.given() || scheme.is_text()) {
        return unknown_name(scheme, where, cache_names);
    }
    const JsonValue bits = scheme["num_bits"];
    const bool known_bits = bits.is_whole() && (bits.whole() == 4 || bits.whole() == 8 || bits.whole() == 16);
    const JsonValue type = scheme["type"];
    if (!scheme.is_object()) {
        return Problem{
            Trouble::invalid, where, scheme.shown(), "a name, or {\"num_bits\": 8, \"type\": \"float\"}", {}};
    }
    if (!known_bits) {
        return Problem{Trouble::invalid, where + "/num_bits", bits.shown(), "4, 8 or 16", {}};
    }
    if (type.text() != "float" && type.text() != "int") {
        return Problem{Trouble::invalid, where + "/type", type.shown(), "\"float\" or \"int\"", {}};
    }
    return std::nullopt;
}

/// The first key of `block` whose name nobody knows.
inline std::optional<Problem> misnamed(JsonValue block, const std::string& where) {
    for (const std::string_view key : {"dtype", "torch_dtype"}) {
        if (auto problem = unknown_name(block[JsonKey{key}], where + '/' + std::string{key}, dtype_names)) {
            return problem;
        }
    }
    for (const std::string_view key : {"mamba_ssm_dtype", "mamba_ssm_cache_dtype"}) {
        if (auto problem = unknown_name(block[JsonKey{key}], where + '/' + std::string{key}, state_names)) {
            return problem;
        }
    }
    const JsonValue quantised = block["quantization_config"];
    const std::string inside = where + "/quantization_config/";
    if (auto problem = unknown_scheme(quantised["kv_cache_scheme"], inside + "kv_cache_scheme")) {
        return problem;
    }
    return unknown_name(quantised["kv_cache_quant_algo"], inside + "kv_cache_quant_algo", cache_names);
}

}  // namespace kvcap::inline v1::hf
