// SPDX-License-Identifier: MIT
// What a family's layers weigh beside their matrices: biases, norms, gates, tied embeddings. One line per
// model_type that has been counted against its transformers class; a family without a line is not derived.
#pragma once

#include <kvcap/units.hpp>
#include <string_view>

namespace kvcap::inline v1::hf {

enum class QkNorm : u8 { none, head, whole };

/// qkv_bias, out_bias, mlp_bias: class defaults (attention_bias and mlp_bias of the file win where
/// `bias_keys`). norms: vectors of the width per layer; norm_bias: each has a bias too; last_norms: after the
/// last layer. wide_experts: experts are intermediate_size wide, whatever moe_intermediate_size says.
/// dense_first: default of first_k_dense_replace. gate: gated MLP (three matrices). tied: default of
/// tie_word_embeddings. positions: learned position embeddings.
struct Traits {
    std::string_view type;
    bool qkv_bias = false;
    bool out_bias = false;
    bool mlp_bias = false;
    bool bias_keys = false;
    u8 norms = 2;
    bool norm_bias = false;
    QkNorm qk = QkNorm::none;
    bool gate = true;
    bool tied = false;
    bool positions = false;
    bool head_bias = false;
    u8 last_norms = 1;
    u8 dense_first = 0;
    bool wide_experts = false;
    bool output_gate = false;
};

inline constexpr Traits traits[] = {
    {.type = "llama", .bias_keys = true},
    {.type = "arcee", .bias_keys = true, .gate = false},
    {.type = "baichuan"},
    {.type = "cohere", .bias_keys = true, .norms = 1, .tied = true},
    {.type = "cohere2", .bias_keys = true, .norms = 1, .tied = true},
    {.type = "cwm"},
    {.type = "deepseek", .bias_keys = true},
    {.type = "deepseek_v2", .bias_keys = true},
    {.type = "deepseek_v3", .bias_keys = true, .dense_first = 3},
    {.type = "kimi_k2", .bias_keys = true, .dense_first = 3},
    {.type = "deepseek_v32", .bias_keys = true, .dense_first = 3},
    {.type = "glm4_moe_lite", .bias_keys = true, .dense_first = 1},
    {.type = "glm_moe_dsa", .bias_keys = true, .dense_first = 3},
    {.type = "ernie4_5", .tied = true},
    {.type = "exaone4", .qk = QkNorm::head},
    {.type = "exaone4_5_text", .qk = QkNorm::head},
    {.type = "falcon", .norms = 1, .norm_bias = true, .gate = false, .tied = true},
    {.type = "flex_olmo", .qk = QkNorm::whole, .wide_experts = true},
    {.type = "gemma", .tied = true},
    {.type = "gemma2", .norms = 4, .tied = true},
    {.type = "gemma3_text", .norms = 4, .qk = QkNorm::head, .tied = true},
    {.type = "glm", .qkv_bias = true},
    {.type = "glm4", .norms = 4},
    {.type = "glm4_moe", .dense_first = 1},
    {.type = "gpt2",
     .qkv_bias = true,
     .out_bias = true,
     .mlp_bias = true,
     .norm_bias = true,
     .gate = false,
     .tied = true,
     .positions = true},
    {.type = "gpt_bigcode",
     .qkv_bias = true,
     .out_bias = true,
     .mlp_bias = true,
     .norm_bias = true,
     .gate = false,
     .tied = true,
     .positions = true},
    {.type = "gpt_neox",
     .qkv_bias = true,
     .out_bias = true,
     .mlp_bias = true,
     .norm_bias = true,
     .gate = false},
    {.type = "gpt_oss", .qkv_bias = true, .out_bias = true, .wide_experts = true},
    {.type = "gptj", .mlp_bias = true, .norms = 1, .norm_bias = true, .gate = false, .head_bias = true},
    {.type = "granite", .bias_keys = true},
    {.type = "granitemoe", .bias_keys = true, .wide_experts = true},
    {.type = "helium"},
    {.type = "hunyuan_v1_dense", .qk = QkNorm::head},
    {.type = "internlm2"},
    {.type = "ministral3"},
    {.type = "llama4_text", .wide_experts = true},
    {.type = "mamba", .tied = true},
    {.type = "mamba2"},
    {.type = "minicpm", .tied = true},
    {.type = "minimax_m2", .qk = QkNorm::whole, .wide_experts = true},
    {.type = "mistral"},
    {.type = "mixtral", .wide_experts = true},
    {.type = "nemotron", .norm_bias = true, .gate = false},
    {.type = "olmo", .norms = 0, .last_norms = 0},
    {.type = "olmo2", .qk = QkNorm::whole},
    {.type = "olmo3", .qk = QkNorm::whole},
    {.type = "olmoe", .qk = QkNorm::whole, .wide_experts = true},
    {.type = "phi",
     .qkv_bias = true,
     .out_bias = true,
     .mlp_bias = true,
     .norms = 1,
     .norm_bias = true,
     .gate = false,
     .head_bias = true},
    {.type = "phi3"},
    {.type = "phimoe", .bias_keys = true, .norm_bias = true, .wide_experts = true},
    {.type = "qwen", .qkv_bias = true},
    {.type = "qwen2", .qkv_bias = true},
    {.type = "qwen2_vl", .qkv_bias = true},
    {.type = "qwen2_5_vl", .qkv_bias = true},
    {.type = "qwen2_moe", .qkv_bias = true},
    {.type = "qwen3", .qk = QkNorm::head},
    {.type = "qwen3_moe", .qk = QkNorm::head},
    {.type = "qwen3_5_moe_text", .qk = QkNorm::head, .output_gate = true},
    {.type = "qwen3_5_text", .qk = QkNorm::head, .output_gate = true},
    {.type = "qwen3_next", .qk = QkNorm::head, .output_gate = true},
    {.type = "qwen3_vl_text", .qk = QkNorm::head, .tied = true},
    {.type = "qwen3_vl_moe_text", .qk = QkNorm::head},
    {.type = "seed_oss", .qkv_bias = true},
    {.type = "smollm3", .bias_keys = true, .tied = true},
    {.type = "stablelm", .norm_bias = true},
    {.type = "starcoder2",
     .qkv_bias = true,
     .out_bias = true,
     .mlp_bias = true,
     .norm_bias = true,
     .gate = false,
     .tied = true},
    {.type = "vaultgemma", .norms = 2, .tied = true},
    {.type = "xverse"},
    {.type = "yi"},
};

inline const Traits* traits_of(std::string_view type) noexcept {
    for (const Traits& each : traits) {
        if (each.type == type) {
            return &each;
        }
    }
    return nullptr;
}

}  // namespace kvcap::inline v1::hf
