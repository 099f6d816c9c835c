// SPDX-License-Identifier: MIT
// What does llama.cpp refuse, and in which words? A refusal is Errc::refused_combination with `got` = the
// Refusal.
// Source: llama.cpp v0.5.0, llama-context.cpp (llama_init_from_model), llama-model.cpp.
#pragma once

#include <kvcap/result.hpp>

namespace kvcap::inline v1::llamacpp {

enum class Refusal : u8 {
    none,
    // The model does not load.
    longer_decoder,        // got: decoder blocks, want: blocks
    loop_count,            // got: blocks, want: what the loops make
    tensor_split_arch,
    // The context is not made.
    too_many_sequences,
    latent_types_differ,
    quantized_value_without_flash,
    key_block,             // got: head width, want: block
    value_block,
    tensor_split_without_flash,
    no_blocks,
};

constexpr bool refuses_model(Refusal why) noexcept {
    return why >= Refusal::longer_decoder && why <= Refusal::tensor_split_arch;
}

constexpr const char* sentence(Refusal why) noexcept {
    switch (why) {
        case Refusal::none: return "nothing is refused";
        case Refusal::longer_decoder:
            return "the decoder has more blocks than block_count says; the model does not load";
        case Refusal::loop_count: return "block_count is not layers_per_stack x h_cycles x (l_cycles + 1)";
        case Refusal::tensor_split_arch: return "-sm tensor is not implemented for this architecture";
        case Refusal::too_many_sequences: return "at most 256 parallel sequences are possible";
        case Refusal::latent_types_differ: return "a latent (MLA) cache needs equal -ctk and -ctv";
        case Refusal::quantized_value_without_flash: return "a quantized -ctv needs flash attention";
        case Refusal::key_block: return "the key head width is no multiple of the -ctk block";
        case Refusal::value_block: return "the value head width is no multiple of the -ctv block";
        case Refusal::tensor_split_without_flash: return "-sm tensor needs flash attention";
        case Refusal::no_blocks: return "the model has no blocks";
    }
    return "unknown refusal";
}

/// hint carries the second number of refusals that have two.
constexpr Error refused(Refusal why, u32 layer = no_layer, u64 number = 0, u64 wanted = 0) noexcept {
    return {.code = Errc::refused_combination, .layer = layer, .got = static_cast<u64>(why), .want = wanted,
            .hint = number};
}

constexpr Refusal refusal_of(const Error& error) noexcept {
    return error.code == Errc::refused_combination ? static_cast<Refusal>(error.got) : Refusal::none;
}

}  // namespace kvcap::inline v1::llamacpp
