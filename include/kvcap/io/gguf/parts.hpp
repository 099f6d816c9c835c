// SPDX-License-Identifier: MIT
// Which part of a model is a GGUF tensor, by its name? As io/weights.hpp counts them: keys (k and v projections), what
// else attention has, dense MLPs (shared experts among them), routed experts, and what every rank holds whole.
// Source: llama.cpp v0.5.0, llama-arch.cpp (names of tensors).
#pragma once

#include <kvcap/engine/llamacpp/card.hpp>
#include <kvcap/io/gguf/header.hpp>
#include <kvcap/io/weights.hpp>

namespace kvcap::inline v1::gguf {

inline constexpr u64 most_weight_blocks = 4096;

/// Block of a tensor named `blk.N.rest`, at most most_weight_blocks; nothing for other tensors.
inline std::optional<u64> block_of(std::string_view name) noexcept {
    if (!name.starts_with("blk.")) {
        return std::nullopt;
    }
    u64 block = 0;
    std::size_t at = 4;
    while (at < name.size() && name[at] >= '0' && name[at] <= '9') {
        block = smaller(block * 10 + static_cast<u64>(name[at++] - '0'), most_weight_blocks);
    }
    return at > 4 && at < name.size() && name[at] == '.' ? std::optional{block} : std::nullopt;
}

inline u64 elements_of(const Tensor& tensor) noexcept {
    u64 elements = 1;
    for (u32 i = 0; i < tensor.dimensions; ++i) {
        elements = saturating_product(elements, tensor.shape[i]);
    }
    return elements;
}

/// rest: of a tensor `blk.N.rest`.
inline WeightPart part_in_block(std::string_view rest) noexcept {
    const auto has = [&](std::string_view word) { return rest.find(word) != std::string_view::npos; };
    const auto begins = [&](std::initializer_list<std::string_view> words) {
        return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return rest.starts_with(word); });
    };
    if (has("norm") || has("_inp") || has("indexer") || has("exp_probs_b") ||
        begins({"attn_q_a.", "attn_kv_a_mqa."})) {
        return WeightPart::whole;
    }
    if (has("_exps.") || has("_chexps.")) {
        return WeightPart::experts;
    }
    if (begins({"attn_k.", "attn_v."})) {
        return WeightPart::keys;
    }
    return begins({"attn_", "cross_attn_", "ssm_", "shortconv", "time_mix"}) ? WeightPart::attention
                                                                            : WeightPart::dense;
}

/// Of a tensor that is of no block. What has no name of its own here is dealt as the output matrix is.
inline WeightPart part_outside(std::string_view name) noexcept {
    const bool whole = name.find("norm") != std::string_view::npos || name.starts_with("rope_");
    return name.starts_with("token_embd") ? WeightPart::embedding : whole ? WeightPart::whole : WeightPart::head;
}

/// Rows of keys and values in a matrix that has those of queries as well (attn_qkv); 0: it is none.
inline u64 fused_key_rows(std::string_view name, const Tensor& tensor, const llamacpp::Card& card, u64 block) noexcept {
    const std::size_t last = tensor.dimensions == 0 ? 0 : tensor.dimensions - 1;
    if (block >= card.all_layers() || name.find(".attn_qkv.") == std::string_view::npos ||
        !card.blocks[static_cast<u32>(block)].attention) {
        return 0;
    }
    const llamacpp::Block& own = card.blocks[static_cast<u32>(block)];
    const u64 rows = saturating_sum(own.key_row(), own.value_row());
    return rows < tensor.shape[last] ? rows : 0;
}

/// The tensor's bytes among the parts. pre: the card has the heads of its blocks
inline void add_part(kvcap::Weights& parts, const Tensor& tensor, const llamacpp::Card& card, u64 bytes) {
    const std::optional<u64> block = block_of(tensor.name);
    const u64 elements = elements_of(tensor);
    if (!block) {
        parts.add({.part = part_outside(tensor.name), .layer = no_layer, .parameters = elements, .bytes = bytes});
        return;
    }
    const u32 layer = static_cast<u32>(*block);
    const u32 heads = layer < card.all_layers() ? card.blocks[layer].kv_heads : 0;
    const std::string_view rest = std::string_view{tensor.name}.substr(tensor.name.find('.', 4) + 1);
    WeightGroup own{.part = part_in_block(rest), .layer = layer, .parameters = elements, .bytes = bytes};
    own.heads = own.part == WeightPart::keys ? heads : 0;
    if (const u64 rows = fused_key_rows(tensor.name, tensor, card, *block); rows != 0) {
        const u64 all = tensor.shape[tensor.dimensions - 1];
        const WeightGroup keys{.part = WeightPart::keys, .layer = layer, .heads = heads,
                               .parameters = elements / all * rows, .bytes = bytes / all * rows};
        own.parameters -= keys.parameters;
        own.bytes -= keys.bytes;
        parts.add(keys);
    }
    parts.add(own);
}

}  // namespace kvcap::inline v1::gguf
