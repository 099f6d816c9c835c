// SPDX-License-Identifier: MIT
// Families that keep a latent vector: MLA, MLA with index keys (DSA), compressed entries (DeepSeek-V4), and
// MiniMax-M3, whose block-sparse layers keep an index key beside ordinary keys and values. After vLLM 0.28
// model code.
#pragma once

#include <kvcap/io/hf/families/plain.hpp>
#include <kvcap/layer/latent.hpp>

namespace kvcap::inline v1::hf {

/// fp8 with one fp32 scale per 128 elements (at least one).
constexpr ElementFormat index_format(u32 dim) noexcept {
    return dim % 128 == 0
               ? fp8_scale_per_128
               : ElementFormat{.elems = dim, .bytes = dim + 4 * static_cast<u32>(ceil_div(dim, 128))};
}

inline Mla mla_of(Lowering& in) {
    const bool small = in.type() == "minicpm3";
    const Mla latent{.latent = in.size({"kv_lora_rank"}, small ? 256 : 512),
                     .rope = in.size({"qk_rope_head_dim"}, small ? 32 : 64, 0)};
    const u64 nope = in.optional_size({"qk_nope_head_dim"});
    const u64 value =
        small && !in["v_head_dim"].given() ? in.width() / in.heads() : in.optional_size({"v_head_dim"});
    if (nope != 0 && value != 0) {
        in.model.expanded_elements = in.heads() * (nope + latent.rope + value);
    }
    in.note(Origin::derived, in.pointer("kv_lora_rank"),
            "one latent of " + std::to_string(latent.latent) + " + " + std::to_string(latent.rope) +
            " per token for all heads, on every rank; num_key_value_heads and head_dim mean nothing here");
    return latent;
}

inline void put_everywhere(Lowering& in, u32 layers, const LayerForms& forms) {
    in.begin(layers, in.heads());
    for (u32 i = 0; i < layers && !in.failed(); ++i) {
        in.put(i, forms);
    }
    draft_layers(in, forms);
}

inline void sparse_mla(Lowering& in);

/// DeepSeek-V2 and later: the latent of every token. Without MLA keys (DeepSeek-VL2 tiny) ordinary attention. A file
/// with `index_topk` has the indexer of DeepSeek-V3.2, whatever its model_type (vLLM, deepseek_v2.py, `is_v32`).
inline void mla(Lowering& in) {
    if (in["index_topk"].given()) {
        in.note(Origin::derived, in.pointer("index_topk"),
                "an indexer, as engines take this key: index keys are cached");
        return sparse_mla(in);
    }
    const JsonValue rank = in["kv_lora_rank"];
    if (in["use_mla"].is_false() ||
        (rank.present() && (rank.is_null() || rank.whole() == 0) && !rank.is_text())) {
        in.note(Origin::derived, in.pointer("kv_lora_rank"), "no MLA in this file: keys and values per head");
        const u32 kv = in.kv_heads();
        return every_token(in, {.kv_heads = kv, .head_dim = in.head_dim_of_width()});
    }
    const u32 layers = in.layers();
    put_everywhere(in, layers, mla_of(in).forms());
}

inline void minicpm3(Lowering& in) {
    mla(in);
    in.note(Origin::assumed, in.pointer("kv_lora_rank"),
            "SGLang keeps the latent; vLLM and the remote code keep " +
                std::to_string(in.model.expanded_elements) + " expanded elements a layer");
}

/// LongCat-Flash: two attentions and so two caches in each of `num_layers` blocks.
inline void longcat(Lowering& in) {
    u32 blocks = 28;
    const JsonValue doubled = in["num_hidden_layers"];
    if (in["num_layers"].given() || !doubled.given()) {
        blocks = in.size({"num_layers"}, 28, 1, most_layers);
    } else if (doubled.whole() != 28 && doubled.whole() != 56) {
        in.fail(in.pointer("num_hidden_layers"), doubled.shown(), "num_layers beside it",
                "writers mean blocks or twice the blocks by it");
    }
    const LayerForms once = mla_of(in).forms();
    put_everywhere(in, blocks, forms_of(once[0], once[0]));
    if (in.model.draft.layers > 0) {
        in.model.draft = ModelSpec{};
        draft_layers(in, once);
    }
}

/// Which DSA layers own index keys: `indexer_types`, else the pattern's letters, else a period with an
/// offset.
inline std::vector<bool> index_owners(Lowering& in, u32 layers) {
    std::vector<bool> own(layers, true);
    const JsonValue types = in["indexer_types"];
    const JsonValue pattern = in["index_topk_pattern"];
    const JsonValue list = types.given() ? types : pattern;
    const std::string where = in.pointer(types.given() ? "indexer_types" : "index_topk_pattern");
    if (list.is_text() || list.is_array()) {
        const u32 size = list.is_text() ? static_cast<u32>(list.text().size()) : list.size();
        if (size < layers) {
            in.fail(where, list.shown(), std::to_string(layers) + " entries");
            return own;
        }
        for (u32 i = 0; list.is_text() && i < layers; ++i) {
            own[i] = list.text()[i] != 'S';
        }
        list.each([&](u32 i, std::string_view, JsonValue item) {
            if (i < layers) {
                own[i] = item.text() != "shared" && item.text() != "S";
            }
        });
        return own;
    }
    const u64 period = in["index_topk_freq"].given() ? in.size({"index_topk_freq"}) : 1;
    const u64 offset = period > 1 ? in.size({"index_skip_topk_offset"}, 2, 0) : 2;
    for (u32 i = 0; i < layers; ++i) {
        own[i] = i + 1 <= offset || (i + 1 - offset) % period == 0;
    }
    return own;
}

inline SparseMla sparse_mla_of(Lowering& in) {
    const Mla latent = mla_of(in);
    const u32 dim = in.size({"index_head_dim"}, 128);
    in.model.index = {.heads = in.size({"index_n_heads"}, in.type() == "deepseek_v32" ? 64 : 32),
                      .picked = in.size({"index_topk"}, 2048)};
    in.note(Origin::assumed, in.pointer("index_head_dim"),
            "index keys in fp8 with an fp32 scale per 128, as engines store them");
    return {
        .latent = latent.latent, .rope = latent.rope, .index_dim = dim, .index_format = index_format(dim)};
}

/// DeepSeek-V3.2, GLM-5: index keys first, then the latent; sparsity saves reads, not memory.
inline void sparse_mla(Lowering& in) {
    const u32 layers = in.layers();
    const SparseMla each = sparse_mla_of(in);
    const LayerForms owner = each.forms();
    const LayerForms reuser = Mla{.latent = each.latent, .rope = each.rope}.forms();
    const std::vector<bool> own = index_owners(in, layers);
    in.begin(layers, in.heads());
    for (u32 i = 0; i < layers && !in.failed(); ++i) {
        in.put(i, own[i] ? owner : reuser);
    }
    draft_layers(in, owner);
}

/// Ratios of DeepSeek-V4's layers: `compress_ratios` (draft layers appended), else layer_types with
/// compress_rates, else two heavy layers and then heavy and sparse ones in turn.
inline std::vector<u64> compress_ratios(Lowering& in, u32 layers) {
    std::vector<u64> ratios = numbers(in, in["compress_ratios"], in.pointer("compress_ratios"), layers);
    if (!ratios.empty()) {
        return ratios;
    }
    const JsonValue rates = in["compress_rates"];
    const auto rate = [&](const char* key, const char* legacy, u64 otherwise) {
        const JsonValue value = rates[key].given() ? rates[key] : in[legacy];
        return value.given() ? in.checked(value, in.pointer("compress_rates") + '/' + key, 1, most_size)
                             : otherwise;
    };
    const u64 sparse = rate("compressed_sparse_attention", "compress_rate_csa", 4);
    const u64 heavy = rate("heavily_compressed_attention", "compress_rate_hca", 128);
    for (const Mixer kind :
         mixers(in, layers, [](u32 i) { return i < 2 || i % 2 == 0 ? Mixer::heavy : Mixer::sparse; })) {
        ratios.push_back(kind == Mixer::sparse ? sparse : kind == Mixer::heavy ? heavy : 0);
        if (kind != Mixer::sparse && kind != Mixer::heavy && kind != Mixer::sliding) {
            in.fail(in.pointer("layer_types"), "a layer kind without a window of latents",
                    "sliding_attention, compressed_sparse_attention or heavily_compressed_attention");
        }
    }
    return ratios;
}

inline void deepseek_v4(Lowering& in) {
    const u32 layers = in.layers();
    const u32 dim = in.size({"head_dim"}, 512);
    const u32 index = in.size({"index_head_dim"}, 128);
    const u64 window = in.window();
    const std::vector<u64> ratios = compress_ratios(in, layers);
    in.model.rope_in_latent = in.size({"qk_rope_head_dim"}, 64, 0);
    in.model.index = {.heads = in.size({"index_n_heads"}, 64), .picked = in.size({"index_topk"}, 512)};
    in.note(Origin::assumed, in.pointer("index_head_dim"),
            "index keys in fp8 with an fp32 scale per 128; compressor "
            "windows in fp32; growing elements per token are averages");
    const auto forms_at = [&](u64 ratio) {
        if (ratio != 0 && ratio != 4 && ratio != 128) {
            in.fail(in.pointer("compress_ratios"), std::to_string(ratio), "0, 4 or 128");
        }
        return CompressedLatent{.latent = dim,
                                .window = static_cast<u32>(window),
                                .ratio = static_cast<u32>(ratio),
                                .index_dim = ratio == 4 ? index : 0,
                                .index_format = index_format(index)}
            .forms();
    };
    in.begin(layers, in.heads());
    for (u32 i = 0; i < layers && !in.failed(); ++i) {
        in.put(i, forms_at(ratios[i]));
    }
    draft_layers(in, forms_at(ratios.size() > layers ? ratios[layers] : 0));
}

/// MTP modules of MiniMax: modules x layers each. M3 also gives num_nextn_predict_layers: modules count,
/// noted.
inline void minimax_draft(Lowering& in, const LayerForms& forms) {
    const u64 modules = in["use_mtp"].is_false() ? 0 : in.optional_size({"num_mtp_modules"}, most_layers);
    const u64 nextn = in.optional_size({"num_nextn_predict_layers"}, most_layers);
    if (modules == 0) {
        return draft_layers(in, forms);
    }
    const u64 each = in["mtp_transformer_layers"].given() ? in.optional_size({"mtp_transformer_layers"}) : 1;
    const bool disagree = nextn != 0 && nextn != modules;
    if (disagree) {
        in.note(Origin::assumed, in.pointer("num_mtp_modules"), "num_nextn_predict_layers says " +
                std::to_string(nextn) + ": modules trained against layers used; say which you run");
    }
    in.put_draft(in.product(modules, each, "draft layers"),
                 disagree ? "num_mtp_modules / num_nextn_predict_layers" : "num_mtp_modules", forms);
}

inline void minimax_m2(Lowering& in) {
    const u32 layers = in.layers();
    const LayerForms forms = in.gqa().forms();
    in.begin(layers, in.heads());
    for (u32 i = 0; i < layers && !in.failed(); ++i) {
        in.put(i, forms);
    }
    minimax_draft(in, forms);
}

/// MiniMax-M3: layers marked in sparse_attention_freq keep one index key per token beside all keys and
/// values.
inline void minimax_m3(Lowering& in) {
    const u32 layers = in.layers();
    const LayerForms forms = in.gqa().forms();
    const JsonValue sparse = in["sparse_attention_config"];
    const std::string where = in.pointer("sparse_attention_config");
    const auto own = [&](const char* nested, const char* flat, u32 otherwise) {
        const JsonValue value = sparse[nested].given() ? sparse[nested] : in[flat];
        return value.given() ? static_cast<u32>(in.checked(value, where + '/' + nested, 1, most_size))
                             : otherwise;
    };
    const u32 dim = own("sparse_index_dim", "index_head_dim", 128);
    std::vector<u64> freq =
        numbers(in, sparse["sparse_attention_freq"], where + "/sparse_attention_freq", layers);
    if (freq.empty()) {
        for (const Mixer kind : listed(in, layers, "layer_types")) {
            freq.push_back(kind == Mixer::sparse ? 1 : 0);
        }
    }
    if (sparse["use_sparse_attention"].is_false()) {
        freq.clear();
    }
    const LayerForms both = forms_of(IndexKeys{.dim = dim}.forms()[0], forms[0]);
    in.begin(layers, in.heads());
    for (u32 i = 0; i < layers && !in.failed(); ++i) {
        in.put(i, i < freq.size() && freq[i] != 0 ? both : forms);
    }
    if (!freq.empty()) {
        in.model.index = {.heads = own("sparse_num_index_heads", "index_n_heads", 4),
                          .picked = own("sparse_topk_blocks", "index_topk_blocks", 16),
                          .block = own("sparse_block_size", "index_block_size", 128)};
    }
    minimax_draft(in, forms);
}

}  // namespace kvcap::inline v1::hf
