// SPDX-License-Identifier: MIT
// Is each known key of the type that every family expects? A key of another type is an error at its place,
// never taken for an absent one: absent keys have defaults, and a default would be a guess here. null is left
// to the families.
#pragma once

#include <kvcap/io/diagnosis.hpp>
#include <kvcap/io/json.hpp>

namespace kvcap::inline v1::hf {

enum class Wanted : u8 { block, count, size, pattern, text, items };

struct TypedKey {
    JsonKey key;
    Wanted wanted = Wanted::block;
};

inline constexpr TypedKey typed_keys[] = {
    {"text_config", Wanted::block},
    {"llm_config", Wanted::block},
    {"language_config", Wanted::block},
    {"thinker_config", Wanted::block},
    {"linear_attn_config", Wanted::block},
    {"sparse_attention_config", Wanted::block},
    {"efficient_attention_config", Wanted::block},
    {"attn_config", Wanted::block},
    {"quantization_config", Wanted::block},
    {"per_layer_config", Wanted::block},
    {"kv_lora_rank", Wanted::count},
    {"qk_rope_head_dim", Wanted::count},
    {"mamba_ssm_dtype", Wanted::text},
    {"mamba_ssm_cache_dtype", Wanted::text},
    {"layer_types", Wanted::items},
    {"sliding_window_pattern", Wanted::pattern},
    {"max_position_embeddings", Wanted::size},
};

constexpr const char* words_of(Wanted wanted) noexcept {
    switch (wanted) {
        case Wanted::block: return "an object";
        case Wanted::count: return "a whole number, not negative";
        case Wanted::size: return "a whole number of at least 1 and at most 2^40";
        case Wanted::pattern: return "a whole number of at least 1, or letters";
        case Wanted::text: return "a text";
        case Wanted::items: return "a list with an entry for each layer";
    }
    return "";
}

inline bool suits(JsonValue value, Wanted wanted) noexcept {
    switch (wanted) {
        case Wanted::block: return value.is_object();
        case Wanted::count: return value.is_whole();
        case Wanted::size: return value.is_whole() && value.whole() != 0 && value.whole() <= (u64{1} << 40);
        case Wanted::pattern: return value.is_text() || suits(value, Wanted::size);
        case Wanted::text: return value.is_text();
        case Wanted::items: return value.is_array() && value.size() != 0;
    }
    return false;
}

/// The first key of `block` that has another type than every family expects.
inline std::optional<Problem> mistyped(JsonValue block, const std::string& where) {
    for (const TypedKey& known : typed_keys) {
        const JsonValue value = block[known.key];
        if (value.given() && !suits(value, known.wanted)) {
            return Problem{Trouble::invalid,
                           where + '/' + std::string{known.key.name},
                           value.shown(),
                           words_of(known.wanted),
                           {}};
        }
    }
    return std::nullopt;
}

}  // namespace kvcap::inline v1::hf
