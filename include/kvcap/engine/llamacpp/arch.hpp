// SPDX-License-Identifier: MIT
// Which rules does llama.cpp apply to an architecture? One row per `general.architecture`: the memory it
// gets, where its sliding window comes from, and the features it has. Architectures named only at the end
// have the plain rules.
// Source: llama.cpp v0.5.0 (2026-09-28), llama-arch.cpp, llama-model.cpp and models/*.cpp.
#pragma once

#include <kvcap/engine/llamacpp/types.hpp>

namespace kvcap::inline v1::llamacpp {

// clang-format off
/// Architectures with a rule of their own; all others are `plain`.
enum class Arch : u8 {
    plain, bailingmoe3, deepseek32, deepseek4, exaone4, falcon_h1, gemma3n, gemma4, glm_dsa,
    graniteswitch, grok, hrm_text, hy_v4, kimi_k3, lfm2, llama4, minimax_01, minimax_m3, nanbeige,
    nemotron_h, nemotron_h_moe, qwen35, qwen3next, qwen4exp, smallthinker, step35, t5,
};
// clang-format on

/// Families of memory; `attention` becomes one cache or two, depending on the window.
enum class Family : u8 { attention, none, recurrent, hybrid, dsa, msa, dsv4 };

enum class WindowType : u8 { none = 0, standard = 1, chunked = 2, symmetric = 3 };

/// never: the key is ignored. always: a missing key is an error unless there is a default. positive: when the
/// key is above 0. listed: always, and the block pattern must be an array.
enum class WindowRule : u8 { never, always, positive, listed };

inline constexpr u16 reads_mla = 1;          // *_mla keys make the cache latent
inline constexpr u16 rolls_back = 2;         // keeps rollback rows of states (n_rs_seq)
inline constexpr u16 no_tensor_split = 4;    // refuses -sm tensor
inline constexpr u16 four_positions = 8;     // M-RoPE: four positions a token, no shift
inline constexpr u16 four_if_sections = 16;  // M-RoPE when rope.dimension_sections says so
inline constexpr u16 reads_groups = 32;      // reads ssm.group_count
inline constexpr u16 dense_first = 64;       // the full block of a pattern comes first
inline constexpr u16 bidirectional = 128;    // never causal

struct ArchRule {
    const char* name = "";
    Family family = Family::attention;
    Arch arch = Arch::plain;
    u16 features = 0;
    WindowRule window = WindowRule::never;
    u8 period = 0;           ///< default block pattern: one full block in `period`
    u32 window_default = 0;  ///< when the key is missing; 0: required

    constexpr bool has(u16 feature) const noexcept { return (features & feature) != 0; }
};

// clang-format off
inline constexpr ArchRule arch_rules[] = {
    // No memory: encoders and diffusion models.
    {"bert", Family::none}, {"nomic-bert", Family::none}, {"nomic-bert-moe", Family::none},
    {"neo-bert", Family::none}, {"jina-bert-v2", Family::none}, {"jina-bert-v3", Family::none},
    {"eurobert", Family::none}, {"wavtokenizer-dec", Family::none},
    {"modern-bert", Family::none, Arch::plain, dense_first, WindowRule::positive, 3},
    {"gemma-embedding", Family::none, Arch::plain, bidirectional, WindowRule::always, 6},
    {"dream", Family::none, Arch::plain, bidirectional}, {"llada", Family::none, Arch::plain, bidirectional},
    {"llada-moe", Family::none, Arch::plain, bidirectional},
    {"rnd1", Family::none, Arch::plain, bidirectional},
    // States only.
    {"mamba", Family::recurrent, Arch::plain, no_tensor_split},
    {"mamba2", Family::recurrent, Arch::plain, no_tensor_split | reads_groups},
    {"rwkv6", Family::recurrent}, {"rwkv6qwen2", Family::recurrent}, {"rwkv7", Family::recurrent},
    {"arwkv7", Family::recurrent},
    // Attention and states.
    {"jamba", Family::hybrid, Arch::plain, no_tensor_split},
    {"granitehybrid", Family::hybrid, Arch::plain, no_tensor_split | reads_groups},
    {"plamo2", Family::hybrid, Arch::plain, no_tensor_split | reads_groups},
    {"lfm2", Family::hybrid, Arch::lfm2, rolls_back, WindowRule::positive, 0},
    {"lfm2moe", Family::hybrid, Arch::lfm2, rolls_back},
    {"kimi-linear", Family::hybrid, Arch::plain, reads_mla | no_tensor_split},
    {"kimi-k3", Family::hybrid, Arch::kimi_k3, reads_mla | rolls_back | no_tensor_split},
    {"bailingmoe3", Family::hybrid, Arch::bailingmoe3, reads_mla | rolls_back | no_tensor_split},
    {"falcon-h1", Family::hybrid, Arch::falcon_h1, no_tensor_split | reads_groups},
    {"nemotron_h", Family::hybrid, Arch::nemotron_h, rolls_back | no_tensor_split | reads_groups},
    {"nemotron_h_moe", Family::hybrid, Arch::nemotron_h_moe, rolls_back | no_tensor_split | reads_groups},
    {"qwen3next", Family::hybrid, Arch::qwen3next, reads_groups},
    {"qwen35", Family::hybrid, Arch::qwen35, rolls_back | four_positions | reads_groups},
    {"qwen35moe", Family::hybrid, Arch::qwen35, rolls_back | four_positions | reads_groups},
    {"qwen4exp", Family::hybrid, Arch::qwen4exp,
     rolls_back | four_positions | no_tensor_split | reads_groups},
    {"minimax-01", Family::hybrid, Arch::minimax_01, no_tensor_split},
    // Indexers and compressed caches.
    {"deepseek32", Family::dsa, Arch::deepseek32, reads_mla | no_tensor_split},
    {"glm-dsa", Family::dsa, Arch::glm_dsa, reads_mla | no_tensor_split},
    {"hy_v4", Family::dsa, Arch::hy_v4, reads_mla | no_tensor_split},
    {"dots3note", Family::dsa, Arch::plain, reads_mla | no_tensor_split, WindowRule::listed},
    {"minimax-m3", Family::msa, Arch::minimax_m3, no_tensor_split},
    {"deepseek4", Family::dsv4, Arch::deepseek4, rolls_back, WindowRule::always, 0},
    // Windows.
    {"gemma2", Family::attention, Arch::plain, 0, WindowRule::always, 2, 4096},
    {"gemma3", Family::attention, Arch::plain, 0, WindowRule::positive, 6},
    {"gemma3n", Family::attention, Arch::gemma3n, no_tensor_split, WindowRule::always, 5},
    {"gemma4", Family::attention, Arch::gemma4, 0, WindowRule::listed},
    {"cohere2", Family::attention, Arch::plain, 0, WindowRule::always, 4},
    {"cohere2moe", Family::attention, Arch::plain, dense_first, WindowRule::always, 4},
    {"llama4", Family::attention, Arch::llama4, 0, WindowRule::always, 4, 8192},
    {"gpt-oss", Family::attention, Arch::plain, 0, WindowRule::always, 2},
    {"exaone4", Family::attention, Arch::exaone4, 0, WindowRule::always, 4, 4096},
    {"exaone-moe", Family::attention, Arch::plain, 0, WindowRule::always, 4},
    {"olmo2", Family::attention, Arch::plain, no_tensor_split, WindowRule::positive, 4},
    {"afmoe", Family::attention, Arch::plain, 0, WindowRule::positive, 4},
    {"smallthinker", Family::attention, Arch::smallthinker, dense_first, WindowRule::positive, 4},
    {"plamo3", Family::attention, Arch::plain, 0, WindowRule::positive, 8},
    {"mellum", Family::attention, Arch::plain, 0, WindowRule::positive, 4},
    {"laguna", Family::attention, Arch::plain, dense_first, WindowRule::positive, 4},
    {"muse-glimmer", Family::attention, Arch::plain, 0, WindowRule::always, 4},
    {"mimo2", Family::attention, Arch::plain, 0, WindowRule::listed},
    {"step35", Family::attention, Arch::step35, 0, WindowRule::listed},
    {"granite_swa", Family::attention, Arch::plain, 0, WindowRule::listed},
    {"maple", Family::attention, Arch::plain, 0, WindowRule::listed},
    {"spark2_5", Family::attention, Arch::plain, 0, WindowRule::listed},
    // One full cache, with something to know.
    {"deepseek2", Family::attention, Arch::plain, reads_mla | no_tensor_split},
    {"mistral4", Family::attention, Arch::plain, reads_mla | no_tensor_split},
    {"grok", Family::attention, Arch::grok, no_tensor_split},
    {"graniteswitch", Family::attention, Arch::graniteswitch},
    {"hrm_text", Family::attention, Arch::hrm_text},
    {"nanbeige", Family::attention, Arch::nanbeige},
    {"t5", Family::attention, Arch::t5, no_tensor_split},
    {"t5encoder", Family::attention},
    {"qwen2vl", Family::attention, Arch::plain, four_positions},
    {"qwen3vl", Family::attention, Arch::plain, four_positions},
    {"qwen3vlmoe", Family::attention, Arch::plain, four_positions},
    {"qwen3tts", Family::attention, Arch::plain, four_positions | no_tensor_split},
    {"paddleocr", Family::attention, Arch::plain, four_positions},
    {"glm4", Family::attention, Arch::plain, four_if_sections},
    {"glm4moe", Family::attention, Arch::plain, four_if_sections},
    {"hunyuan_vl", Family::attention, Arch::plain, four_if_sections},
    {"mpt", Family::attention, Arch::plain, no_tensor_split},
    {"minicpm3", Family::attention, Arch::plain, no_tensor_split},
    {"olmoe", Family::attention, Arch::plain, no_tensor_split},
    {"bitnet", Family::attention, Arch::plain, no_tensor_split},
    {"minimax-m2", Family::attention, Arch::plain, no_tensor_split},
    // One full cache.
    {"llama"}, {"deci"}, {"falcon"}, {"gpt2"}, {"gptj"}, {"gptneox"}, {"baichuan"}, {"starcoder"}, {"refact"},
    {"bloom"}, {"stablelm"}, {"qwen"}, {"qwen2"}, {"qwen2moe"}, {"qwen3"}, {"qwen3moe"}, {"phi2"}, {"phi3"},
    {"phimoe"}, {"plamo"}, {"codeshell"}, {"orion"}, {"internlm2"}, {"minicpm"}, {"gemma"}, {"starcoder2"},
    {"xverse"}, {"command-r"}, {"dbrx"}, {"olmo"}, {"openelm"}, {"arctic"}, {"deepseek"}, {"deepseek2-ocr"},
    {"chatglm"}, {"jais"}, {"jais2"}, {"nemotron"}, {"exaone"}, {"granite"}, {"granitemoe"}, {"chameleon"}, {"plm"},
    {"bailingmoe"}, {"bailingmoe2"}, {"dots1"}, {"arcee"}, {"ernie4_5"}, {"ernie4_5-moe"}, {"hunyuan-moe"},
    {"hunyuan-dense"}, {"hy_v3"}, {"smollm3"}, {"seed_oss"}, {"grovemoe"}, {"apertus"}, {"cogvlm"},
    {"pangu-embedded"}, {"mistral3"}, {"llama-embed"}, {"maincoder"}, {"talkie"}, {"pockettts"},
};
// clang-format on

inline constexpr u16 arch_count = sizeof(arch_rules) / sizeof(arch_rules[0]);

/// Index into arch_rules; `arch_count` when llama.cpp v0.5.0 does not know the name (or needs a target model,
/// as draft-only architectures do).
constexpr u16 arch_index(const char* text, u64 size) noexcept {
    u16 i = 0;
    while (i < arch_count && !same_text(arch_rules[i].name, text, size)) {
        ++i;
    }
    return i;
}

}  // namespace kvcap::inline v1::llamacpp
