// SPDX-License-Identifier: MIT
// A GGUF header as a model: the engine-neutral ModelSpec with what else the file says, and llama.cpp's own
// card of it.
#pragma once

#include <kvcap/io/gguf/lower.hpp>
#include <kvcap/io/gguf/weights.hpp>
#include <kvcap/io/read_model.hpp>

namespace kvcap::inline v1::gguf {

/// experts: routed ones, of which a token visits `experts_used`; 0: none, or not said. width: of the residual stream.
/// complete: all shards were there. truncated: the file ends before its tensor data does (or has none).
struct GgufModel {
    ReadModel model;
    llamacpp::Card card{};
    Weights weights;
    u32 version = 0;
    u32 shards = 1;
    u32 experts = 0;
    u32 experts_used = 0;
    u32 width = 0;
    bool complete = true;
    bool truncated = false;
    friend bool operator==(const GgufModel&, const GgufModel&) = default;
};

inline std::string text_of(const Header& header, std::string_view key) {
    const Value* value = header.find(key);
    const std::optional<std::string_view> text = value == nullptr ? std::nullopt : value->text();
    return text ? printable(*text) : std::string{};
}

inline u64 query_heads_of(const llamacpp::Card& card) {
    u64 divisor = 0;
    for (u32 i = 0; i < card.layers; ++i) {
        divisor = greatest_common_divisor(divisor, card.blocks[i].attention ? card.blocks[i].heads : 0);
    }
    return divisor;
}

/// What the textbook formula would take: the widest block's heads, the first block's width.
inline Textbook textbook_of(const llamacpp::Card& card) {
    u64 heads = 0;
    for (const llamacpp::Block& block : card.blocks) {
        heads = larger(heads, block.kv_heads);
    }
    return {
        .layers = card.layers, .kv_heads = heads, .head_dim = card.blocks.empty() ? 0 : card.blocks[0].key};
}

inline std::optional<Problem> lower_blocks(Keys& keys, const llamacpp::Card& card, ReadModel& to) {
    const u32 width = keys.number("embedding_length", 0);
    const bool cached = card.arch().family != llamacpp::Family::none;
    to.spec.layers = card.router ? card.all_layers() : card.layers;
    to.spec.query_heads = static_cast<u32>(query_heads_of(card));
    to.draft.layers = card.router ? 0 : card.nextn;
    Errc code = Errc::ok;
    for (u32 i = 0; cached && i < card.all_layers() && code == Errc::ok; ++i) {
        const bool trunk = i < card.layers || card.router;
        code = add_block(keys, card, i, width, trunk ? to.spec : to.draft, trunk ? i : i - card.layers);
        if (card.blocks[i].owner != i) {
            to.shared.push_back({i, card.blocks[i].owner});
        }
    }
    if (code != Errc::ok) {
        return Problem{.trouble = Trouble::invalid,
                       .where = "block_count",
                       .found = "more kinds of blocks than are kept",
                       .wanted = "at most 32 kinds and 512 caches",
                       .hint = {}};
    }
    return keys.problem();
}

/// Blocks that have projections of keys need heads, and no tensor is of a block that is not counted: llama.cpp does not
/// load the file otherwise. Whether projections are as wide as their heads is not asked.
inline std::optional<Problem> check_blocks(const Header& header, const llamacpp::Card& card) {
    for (const Tensor& tensor : header.tensors) {
        const u64 at = block_of(tensor.name).value_or(card.all_layers());
        if (block_of(tensor.name) && at >= card.all_layers() && at < most_weight_blocks) {
            return Problem{.trouble = Trouble::invalid,
                           .where = std::string{card.arch().name} + ".block_count",
                           .found = std::to_string(card.all_layers()) + " blocks",
                           .wanted = "as many as tensor " + printable(tensor.name) + " asks for",
                           .hint = {}};
        }
        const bool keys = tensor.name.ends_with(".attn_k.weight") && elements_of(tensor) != 0;
        if (!keys || at >= card.all_layers()) {
            continue;
        }
        const llamacpp::Block& block = card.blocks[static_cast<u32>(at)];
        if (block.attention && block.key_row() == 0) {
            const bool queries = block.heads == 0;
            return Problem{.trouble = Trouble::invalid,
                           .where = std::string{card.arch().name} + ".attention.head_count" + (queries ? "" : "_kv"),
                           .found = "0 heads of block " + std::to_string(at),
                           .wanted = "as many as tensor " + printable(tensor.name) + " has, which is " +
                                     std::to_string(tensor.shape[0]) + " x " +
                                     std::to_string(elements_of(tensor) / larger(tensor.shape[0], 1)),
                           .hint = {}};
        }
    }
    return std::nullopt;
}

/// Errors name the key. Weights are those of this header's tensors only.
inline Diagnosed<GgufModel> read_model(const Header& header) {
    const Diagnosed<llamacpp::Card> card = read_card(header);
    if (!card) {
        return *card.error;
    }
    GgufModel out{.model = {}, .card = *card, .weights = {}, .version = header.version};
    Keys keys{header, card->arch().name};
    if (auto problem = lower_blocks(keys, *card, out.model)) {
        return *problem;
    }
    if (auto problem = check_blocks(header, *card)) {
        return *problem;
    }
    if (auto problem = add_weights(out.weights, header, out.card)) {
        return *problem;
    }
    out.model.name = text_of(header, "general.name");
    out.model.architecture = card->arch().name;
    out.model.max_context = card->context;
    out.model.query_heads = out.model.spec.query_heads;
    out.model.textbook = textbook_of(*card);
    out.model.draft_key = card->nextn > 0 && !card->router ? "nextn_predict_layers" : "";
    out.model.index = {.heads = keys.number("attention.indexer.head_count", 0),
                       .picked = keys.number("attention.indexer.top_k", 0),
                       .block = keys.number("attention.indexer.block_size", 0)};
    out.experts = keys.number("expert_count", 0);
    out.experts_used = keys.number("expert_used_count", 0);
    out.width = keys.number("embedding_length", 0);
    if (keys.failed()) {
        return *keys.problem();
    }
    Diagnosed<GgufModel> read{std::move(out)};
    read.notes = card.notes;
    return read;
}

}  // namespace kvcap::inline v1::gguf
