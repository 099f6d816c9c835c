// SPDX-License-Identifier: MIT
// What does llama.cpp make of its options? The context is padded to 256 cells, divided over the sequences
// unless unified, and rounded up again; the batches are capped by the unpadded context.
// Source: llama.cpp v0.5.0, llama-context.cpp (constructor, llama_init_from_model).
#pragma once

#include <kvcap/engine/llamacpp/card.hpp>
#include <kvcap/engine/llamacpp/refusal.hpp>

namespace kvcap::inline v1::llamacpp {

enum class Flash : u8 { off, on, automatic };
enum class Context : u8 { standard, mtp };
enum class SplitMode : u8 { layer, tensor };

/// As requested; the defaults are those of the command line tools. n_ctx 0: the model's. n_ubatch 0: as
/// n_batch.
struct Options {
    u32 n_ctx = 0;
    u32 n_batch = 2048;
    u32 n_ubatch = 512;
    u32 n_seq_max = 1;
    u32 n_rs_seq = 0;
    bool kv_unified = false;
    bool swa_full = false;
    Ggml type_k = Ggml::f16;
    Ggml type_v = Ggml::f16;
    Flash flash_attn = Flash::automatic;
    Context context = Context::standard;
    SplitMode split_mode = SplitMode::layer;
    friend constexpr bool operator==(const Options&, const Options&) = default;
};

/// After the engine's rounding. n_ctx_seq: cells of one stream.
struct Resolved {
    u64 n_ctx = 0;
    u64 n_ctx_seq = 0;
    u64 n_batch = 0;
    u64 n_ubatch = 0;
    u32 n_seq_max = 1;
    u32 n_rs_seq = 0;
    bool flash_attn = true;
    bool kv_unified = false;
    bool causal = true;

    constexpr u32 streams() const noexcept { return kv_unified ? 1 : n_seq_max; }
    friend constexpr bool operator==(const Resolved&, const Resolved&) = default;
};

inline constexpr u64 cell_step = 256;
inline constexpr u32 most_sequences = 256;

/// auto counts as on when the cache is built; one architecture forces it off.
constexpr bool uses_flash(const Card& card, const Options& options) noexcept {
    return card.arch().arch != Arch::grok && options.flash_attn != Flash::off;
}

/// One head of block `i` must be whole blocks of the type. Not asked without flash attention.
constexpr Error check_heads(const Card& card, const Options& options) noexcept {
    const u32 key = ggml_type(options.type_k).format.elems;
    const u32 value = ggml_type(options.type_v).format.elems;
    for (u32 i = 0; i < card.layers; ++i) {
        const Block& block = card.blocks[i];
        if (block.key % key != 0) {
            return refused(Refusal::key_block, i, block.key, key);
        }
        if (block.value % value != 0) {
            return refused(Refusal::value_block, i, block.value, value);
        }
    }
    return {};
}

constexpr Error check(const Card& card, const Options& options) noexcept {
    const ArchRule& arch = card.arch();
    if (card.load_error != 0) {
        return refused(static_cast<Refusal>(card.load_error));
    }
    if (card.blocks.empty()) {
        return refused(Refusal::no_blocks);
    }
    if (options.split_mode == SplitMode::tensor && arch.has(no_tensor_split)) {
        return refused(Refusal::tensor_split_arch);
    }
    if (options.n_seq_max > most_sequences) {
        return refused(Refusal::too_many_sequences, no_layer, options.n_seq_max, most_sequences);
    }
    if ((card.latent || arch.arch == Arch::deepseek4) && options.type_k != options.type_v) {
        return refused(Refusal::latent_types_differ);
    }
    const bool flash = uses_flash(card, options);
    if (!flash && options.split_mode == SplitMode::tensor) {
        return refused(Refusal::tensor_split_without_flash);
    }
    if (!flash && ggml_type(options.type_v).quantized) {
        return refused(Refusal::quantized_value_without_flash);
    }
    return flash ? check_heads(card, options) : Error{};
}

/// Errors: a refusal of the engine (refusal.hpp).
constexpr Result<Resolved> resolve(const Card& card, const Options& options) noexcept {
    if (const Error wrong = check(card, options); wrong.code != Errc::ok) {
        return wrong;
    }
    Resolved to{};
    const u64 asked = options.n_ctx == 0 ? card.context : options.n_ctx;
    to.n_seq_max = static_cast<u32>(larger(options.n_seq_max, 1));
    to.n_rs_seq = card.arch().has(rolls_back) ? options.n_rs_seq : 0;
    to.kv_unified = options.kv_unified;
    to.flash_attn = uses_flash(card, options);
    to.causal = card.causal;
    to.n_batch = card.causal ? smaller(asked, options.n_batch) : options.n_batch;
    to.n_ubatch = smaller(to.n_batch, options.n_ubatch == 0 ? options.n_batch : options.n_ubatch);
    to.n_ctx = round_up(asked, cell_step);
    to.n_ctx_seq = to.n_ctx;
    if (!to.kv_unified) {
        to.n_ctx_seq = round_up(to.n_ctx / to.n_seq_max, cell_step);
        to.n_ctx = saturating_product(to.n_ctx_seq, to.n_seq_max);
    }
    return to;
}

}  // namespace kvcap::inline v1::llamacpp
