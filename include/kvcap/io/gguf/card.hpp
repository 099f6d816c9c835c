// SPDX-License-Identifier: MIT
// What does llama.cpp read off the metadata of a GGUF file? Head counts and widths per block, latent and
// indexer caches, windows and states: one Card, for every architecture that llama.cpp v0.5.0 knows.
// Source: llama.cpp v0.5.0, llama-model.cpp (load_hparams), models/*.cpp (load_arch_hparams).
#pragma once

#include <kvcap/engine/llamacpp/refusal.hpp>
#include <kvcap/io/gguf/states.hpp>
#include <kvcap/io/gguf/windows.hpp>

namespace kvcap::inline v1::gguf {

/// Blocks that the file describes, and blocks that the engine makes of them.
struct BlockCounts {
    u32 given = 0;
    u32 trunk = 0;
    u32 after = 0;
};

inline bool has_nextn_tensors(const Header& header) {
    return std::any_of(header.tensors.begin(), header.tensors.end(), [](const Tensor& tensor) {
        return tensor.name.find(".nextn.") != std::string_view::npos;
    });
}

inline BlockCounts count_blocks(Keys& keys, const llamacpp::ArchRule& rule) {
    using llamacpp::Arch;
    BlockCounts counts{.given = keys.required("block_count")};
    u32 nextn = keys.number("nextn_predict_layers", 0);
    if (rule.arch == Arch::deepseek4 && nextn != 0 && !has_nextn_tensors(keys.header())) {
        keys.note(Origin::derived, "nextn_predict_layers", "ignored: the file has no NextN tensors");
        nextn = 0;
    }
    const u32 loops = rule.arch == Arch::nanbeige ? keys.number("num_loops", 1) : 1;
    if (counts.given == 0) {
        keys.fail("block_count", "0", "at least one block");
    }
    if (nextn > counts.given) {
        keys.fail("nextn_predict_layers", std::to_string(nextn), "at most block_count");
    }
    const u64 all = u64{counts.given} * loops + (rule.arch == Arch::graniteswitch ? 1 : 0);
    if (all > llamacpp::max_blocks) {
        keys.fail("block_count", std::to_string(all) + " blocks",
                  "at most " + std::to_string(llamacpp::max_blocks));
    }
    if (!keys.failed()) {
        counts.trunk = counts.given * loops - nextn;
        counts.after = rule.arch == Arch::graniteswitch ? 1 : nextn;
    }
    return counts;
}

/// Width of a head: given, or the model's width over its query heads. None without query heads in block 0.
inline u32 head_width(Keys& keys, std::string_view key, u32 width, u32 heads) {
    if (heads == 0) {
        return 0;
    }
    if (!keys.has(key)) {
        keys.note(Origin::derived, key,
                  "embedding_length / attention.head_count = " + std::to_string(width / heads));
    }
    return keys.number(key, width / heads);
}

inline void read_blocks(Keys& keys, llamacpp::Card& card, const BlockCounts& counts, u32 width) {
    const std::vector<u32> none(counts.given, 0);
    const std::vector<u32> heads = keys.per_block("attention.head_count", counts.given, none);
    const std::vector<u32> kv = keys.per_block("attention.head_count_kv", counts.given, heads);
    const u32 first = heads.empty() ? 0 : heads[0];
    const u32 key = head_width(keys, "attention.key_length", width, first);
    u32 value = head_width(keys, "attention.value_length", width, first);
    if (card.arch().arch == llamacpp::Arch::kimi_k3) {
        value = keys.required("attention.kv_lora_rank");
    }
    for (u32 i = 0; i < counts.trunk + counts.after; ++i) {
        const u32 at = counts.given == 0 ? 0 : i % counts.given;
        llamacpp::Block block{.heads = heads[at], .kv_heads = kv[at], .key = key, .value = value,
                              .owner = static_cast<u16>(i)};
        if (card.router && i == counts.trunk) {
            block.heads = block.kv_heads = 1;
        }
        static_cast<void>(card.blocks.push(block));
    }
}

/// Blocks from `owners` on read an earlier cache: the last full one, or for windows the one before it.
inline void share_caches(Keys& keys, llamacpp::Card& card) {
    using llamacpp::Arch;
    const u32 all = card.all_layers();
    u32 owners = all;
    if (card.arch().arch == Arch::gemma3n) {
        owners = static_cast<u32>(smaller(all, 20));
    } else if (card.arch().arch == Arch::gemma4) {
        const u32 shared = keys.number("attention.shared_kv_layers", 0);
        owners = shared <= all ? all - shared : 0;
    }
    if (owners < all && owners < 2) {
        return keys.fail("attention.shared_kv_layers", std::to_string(all - owners),
                         "two blocks with a cache at least");
    }
    for (u32 i = owners; i < all; ++i) {
        card.blocks[i].owner = static_cast<u16>(owners - (card.blocks[i].window ? 2 : 1));
    }
}

/// Blocks with index keys: the flagged ones; all without flags, except for GLM-5.2's long-context files.
inline void mark_flagged_indexers(Keys& keys, llamacpp::Card& card) {
    constexpr std::string_view flags_key = "attention.indexer.types";
    const bool flagged = card.arch().arch != llamacpp::Arch::deepseek32 && keys.has(flags_key);
    const std::vector<u32> flags = keys.list(flags_key, flagged ? card.layers : 0);
    const bool built_in = card.arch().arch == llamacpp::Arch::glm_dsa && card.context >= 1'048'576;
    if (!flagged && built_in) {
        keys.note(Origin::assumed, flags_key, "missing; llama.cpp takes GLM-5.2's own pattern");
    }
    for (u32 i = 0; i < card.layers; ++i) {
        const bool glm52 = i < 2 || i % 4 == 2;
        card.blocks[i].index = flagged ? flags[i] == 1 : !built_in || glm52;
    }
}

inline void read_indexer(Keys& keys, llamacpp::Card& card) {
    using llamacpp::Arch;
    const Arch arch = card.arch().arch;
    const bool needed = card.arch().family >= llamacpp::Family::dsa;
    if (!needed && arch != Arch::qwen4exp) {
        return;
    }
    constexpr std::string_view width_key = "attention.indexer.key_length";
    if (arch == Arch::hy_v4 && keys.number("attention.indexer.top_k", 0) == 0) {
        return;
    }
    card.index_width = needed ? keys.required(width_key) : keys.number(width_key, 0);
    card.indexed = card.index_width != 0;
    if (card.arch().family == llamacpp::Family::dsa) {
        return mark_flagged_indexers(keys, card);
    }
    const u32 dense = keys.number("leading_dense_block_count", 0);
    const std::vector<u32> ratios = keys.list("attention.compress_ratios", card.all_layers());
    for (u32 i = 0; i < card.layers; ++i) {
        card.blocks[i].index = arch == Arch::minimax_m3 ? i >= dense
                                                        : arch == Arch::qwen4exp && card.indexed &&
                                                              card.blocks[i].attention;
    }
    for (u32 i = 0; arch == Arch::deepseek4 && i < card.all_layers(); ++i) {
        card.blocks[i].ratio = static_cast<u16>(smaller(ratios[i], 0xffff));
    }
    card.index_value = arch == Arch::minimax_m3 && !card.blocks.empty() ? card.blocks[0].value : 0;
}

inline void read_positions(Keys& keys, llamacpp::Card& card) {
    const std::vector<u32> sections = keys.is_array("rope.dimension_sections")
                                          ? keys.list("rope.dimension_sections", 2) : std::vector<u32>(2);
    const bool by_sections =
        card.arch().has(llamacpp::four_if_sections) && sections[0] > 0 && sections[1] > 0;
    card.four_positions = card.arch().has(llamacpp::four_positions) || by_sections;
    card.causal = !card.arch().has(llamacpp::bidirectional) && keys.flag("attention.causal", true);
}

inline llamacpp::Refusal load_error(Keys& keys, const llamacpp::Card& card, const BlockCounts& counts) {
    using llamacpp::Arch;
    using llamacpp::Refusal;
    if (card.arch().arch == Arch::t5 && keys.number("decoder_block_count", counts.given) > counts.given) {
        return Refusal::longer_decoder;
    }
    if (card.arch().arch == Arch::hrm_text && keys.has("hrm.layers_per_stack")) {
        const u64 made = u64{keys.number("hrm.layers_per_stack", 0)} * keys.number("hrm.h_cycles", 0) *
                         (u64{keys.number("hrm.l_cycles", 0)} + 1);
        return made == counts.given ? Refusal::none : Refusal::loop_count;
    }
    return Refusal::none;
}

inline void read_states(Keys& keys, llamacpp::Card& card, const BlockCounts& counts, u32 width) {
    using llamacpp::Arch;
    using llamacpp::Family;
    if (card.arch().family != Family::recurrent && card.arch().family != Family::hybrid) {
        return;
    }
    const std::vector<u32> ff =
        keys.per_block("feed_forward_length", counts.given, std::vector<u32>(counts.given));
    if (keys.failed()) {
        return;
    }
    mark_states(keys, card, ff);
    const StateKeys state = read_state_keys(keys, card);
    const llamacpp::Block first = card.blocks.empty() ? llamacpp::Block{} : card.blocks[0];
    card.state = state_rows(state, width, first.heads, first.key, card.arch().arch == Arch::minimax_01);
    card.delta = {
        .state_size = state.state, .groups = state.groups, .rank = state.rank, .kernel = state.kernel};
    if (card.arch().arch == Arch::qwen4exp) {
        read_history(keys, card, width);
    }
}

/// The architecture's row, or a Problem that names the unknown one.
inline Diagnosed<u16> arch_of(const Header& header) {
    const Value* value = header.find("general.architecture");
    const std::optional<std::string_view> name = value == nullptr ? std::nullopt : value->text();
    if (!name) {
        return Problem{.trouble = Trouble::invalid, .where = "general.architecture",
                       .found = value == nullptr ? "is missing" : "no text", .wanted = "a name", .hint = {}};
    }
    const u16 rule = llamacpp::arch_index(name->data(), name->size());
    if (rule == llamacpp::arch_count) {
        return Problem{.trouble = Trouble::unknown,
                       .where = "general.architecture",
                       .found = printable(*name),
                       .wanted = "an architecture of llama.cpp v0.5.0",
                       .hint = "adapters, projectors and draft models have no cache of their own"};
    }
    return rule;
}

/// The card of a model. Notes say what was derived or assumed.
inline Diagnosed<llamacpp::Card> read_card(const Header& header) {
    const Diagnosed<u16> rule = arch_of(header);
    if (!rule) {
        return *rule.error;
    }
    Keys keys{header, llamacpp::arch_rules[*rule].name};
    llamacpp::Card card{.rule = *rule};
    const BlockCounts counts = count_blocks(keys, card.arch());
    const u32 width = keys.required("embedding_length");
    card.context = keys.required("context_length");
    card.layers = counts.trunk;
    card.nextn = counts.after;
    card.router = card.arch().arch == llamacpp::Arch::graniteswitch;
    if (!keys.failed()) {
        read_blocks(keys, card, counts, width);
        card.latent = card.arch().has(llamacpp::reads_mla) &&
                      keys.number("attention.key_length_mla", 0) != 0 &&
                      keys.number("attention.value_length_mla", 0) != 0;
        read_states(keys, card, counts, width);
    }
    if (!keys.failed()) {
        read_windows(keys, card);
        widen_windows(keys, card);
        share_caches(keys, card);
        read_indexer(keys, card);
        read_positions(keys, card);
        card.load_error = static_cast<u8>(load_error(keys, card, counts));
    }
    if (keys.failed()) {
        return *keys.problem();
    }
    Diagnosed<llamacpp::Card> read{card};
    read.notes = keys.notes();
    return read;
}

}  // namespace kvcap::inline v1::gguf
