// SPDX-License-Identifier: MIT
// What does a Hugging Face config.json say a model caches? Finds the decoder's block, dispatches on its
// model_type and returns caches, draft layers and provenance. An architecture without a rule is refused,
// never guessed.
#pragma once

#include <kvcap/io/hf/families/registry.hpp>
#include <kvcap/io/hf/names.hpp>
#include <kvcap/io/hf/nearest.hpp>
#include <kvcap/io/hf/rope.hpp>
#include <kvcap/io/hf/types.hpp>
#include <kvcap/io/json_load.hpp>
#include <kvcap/io/text_file.hpp>
#include <span>

namespace kvcap::inline v1 {

namespace hf {

/// The block that holds the decoder's keys, its pointer and its model_type.
struct Decoder {
    JsonValue block;
    std::string where;
    std::string_view type;
    std::string_view outer;
};

inline Decoder find_decoder(JsonValue root) {
    constexpr JsonKey nested[] = {"text_config", "llm_config", "language_config"};
    Decoder found{root, {}, root["model_type"].text(), root["model_type"].text()};
    if (root["thinker_config"].is_object()) {
        found.block = root["thinker_config"];
        found.where = "/thinker_config";
    }
    const JsonValue around = found.block;
    for (const JsonKey& key : nested) {
        if (const JsonValue inner = around[key]; inner.is_object() && inner.size() > 0) {
            found.block = inner;
            found.where += '/' + std::string{key.name};
            break;
        }
    }
    if (found.where.empty()) {
        return found;
    }
    const std::string_view own = found.block["model_type"].text();
    const std::string_view inside = decoder_of(found.outer);
    found.type = own.empty() ? inside.empty() ? found.outer : inside : own;
    return found;
}

/// Draft heads declare their target's model_type: EAGLE heads keep every token whatever the target does.
inline void recognise_draft(Lowering& in, std::string_view class_name, const Family*& family,
                            Family& as_draft) {
    const auto has = [&](std::string_view word) { return class_name.find(word) != std::string_view::npos; };
    if (!has("Eagle") && !has("DFlash") && !has("DSpark")) {
        return;
    }
    in.model.is_draft = true;
    in.note(Origin::derived, "/architectures/0",
            std::string{class_name} + " is a draft model with layers of its own");
    if (has("Llama") && has("Eagle")) {
        as_draft = Family{family->type, plain, family->defaults};
        as_draft.defaults.window = 0;
        family = &as_draft;
    }
}

inline std::string_view text_of(JsonValue inner, JsonValue outer, Keys keys) noexcept {
    for (const JsonKey& key : keys) {
        if (inner[key].is_text()) {
            return inner[key].text();
        }
    }
    for (const JsonKey& key : keys) {
        if (outer[key].is_text()) {
            return outer[key].text();
        }
    }
    return {};
}

/// "fp8" from `kv_cache_scheme`: the string itself in lower case, or an object of num_bits 8 and type float.
inline std::string kv_hint(JsonValue quantization) {
    const JsonValue scheme = quantization["kv_cache_scheme"].given() ? quantization["kv_cache_scheme"]
                                                                     : quantization["kv_cache_quant_algo"];
    std::string hint = io::lower_case(scheme.text());
    if (scheme.is_object()) {
        const bool real = scheme["type"].text() == "float";
        hint = (real ? "fp" : "int") + std::to_string(scheme["num_bits"].whole());
    }
    return hint;
}

inline void add_facts(Lowering& in, const Decoder& decoder, JsonValue root) {
    ReadModel& model = in.model;
    model.name = root["_name_or_path"].text();
    model.architecture = decoder.type;
    model.outer_type = decoder.outer == decoder.type ? std::string_view{} : decoder.outer;
    if (!decoder.where.empty() && decoder.outer != decoder.type && !decoder.outer.empty() &&
        family_of(decoder.outer) == nullptr && decoder_of(decoder.outer).empty()) {
        in.note(Origin::assumed, "/model_type", std::string{decoder.outer} + " is not known here: " + decoder.where +
                " is read as its decoder");
    }
    const JsonValue beside = root["num_hidden_layers"];
    if (!decoder.where.empty() && beside.is_whole() && decoder.block["num_hidden_layers"].is_whole() &&
        beside.whole() != decoder.block["num_hidden_layers"].whole()) {
        in.note(Origin::derived, decoder.where + "/num_hidden_layers",
                decoder.block["num_hidden_layers"].shown() + "; the " + beside.shown() + " beside it are not read");
    }
    model.class_name = std::string{};
    root["architectures"].each([&](u32 i, std::string_view, JsonValue item) {
        if (i == 0) {
            model.class_name = item.text();
        }
    });
    for (const char* key : {"num_experts", "moe_num_experts", "n_routed_experts", "num_local_experts"}) {
        const JsonValue said = decoder.block[key].given() ? decoder.block[key] : root[key];
        model.experts = larger(model.experts, said.is_whole() ? said.whole() : said.is_array() ? said.size() : 0);
    }
    for (const char* key : {"intermediate_size", "moe_intermediate_size"}) {  // the second, where both are
        const JsonValue said = decoder.block[key];
        model.expert_width = model.experts != 0 && said.is_whole() ? said.whole() : model.expert_width;
    }
    model.model_dtype = text_of(decoder.block, root, {"dtype", "torch_dtype"});
    const JsonValue inner = decoder.block["quantization_config"];
    const JsonValue quantization = inner.is_object() ? inner : root["quantization_config"];
    const JsonValue of_experts = decoder.block["expert_dtype"];  // DeepSeek-V4's may be in 4 bits beside FP8
    if (quantization["quant_method"].text() == "fp8" && (!of_experts.given() || of_experts.text() == "fp8")) {
        quantization["weight_block_size"].each([&](u32 i, std::string_view, JsonValue rows) {
            model.weight_block = i == 0 ? rows.whole() : model.weight_block;
        });
    }
    model.kv_dtype_hint = kv_hint(quantization);
    if (!model.kv_dtype_hint.empty()) {
        const bool scheme = quantization["kv_cache_scheme"].given();
        in.note(Origin::given, std::string{"/quantization_config/kv_cache_"} + (scheme ? "scheme" : "quant_algo"),
                model.kv_dtype_hint + " suggested for the cache: a hint, never an order");
    }
    if (root["talker_config"].is_object()) {
        in.note(Origin::derived, "/talker_config",
                "a second decoder with a cache of its own, not counted here");
    }
    if (!model.spec.caches.empty()) {
        const bool said = model.model_dtype == "bfloat16" || model.model_dtype == "float16";
        in.note(said ? Origin::given : Origin::assumed, "/dtype",
                (model.model_dtype.empty() ? "absent" : model.model_dtype) + ": attention caches in 16 bits" +
                (said ? "" : ", as engines serve it"));
    }
}

/// Context length and what the textbook formula would read, both from optional keys.
inline void add_extent(Lowering& in, JsonValue block, JsonValue root) {
    const Keys context{"max_position_embeddings", "max_seq_len", "max_target_positions",
                       "max_decoder_position_embeddings", "n_positions", "n_ctx",
                       "seq_length", "model_max_length", "max_position_embedding", "max_sequence_length",
                       "context_length"};
    JsonValue given = in.first(context);
    for (const JsonKey& key : context) {
        given = given.given() ? given : root[key];
    }
    in.model.max_context = given.is_whole() ? given.whole() : 0;
    in.model.rope = rope_of(block, root);
    in.model.state_dtype_hint = in["mamba_ssm_dtype"].text();
    const auto whole = [&](Keys keys, u64 otherwise) {
        for (const JsonKey& key : keys) {
            if (block[key].is_whole()) {
                return block[key].whole();
            }
        }
        return otherwise;
    };
    const u64 heads = in.model.query_heads;
    const u64 width = whole({"n_embed", "hidden_size", "n_embd", "d_model"}, in.defaults().width);
    Textbook& book = in.model.textbook;
    book.layers = whole({"num_hidden_layers", "n_layer", "n_layers", "num_layers"}, in.model.spec.layers);
    book.kv_heads = heads == 0 ? 0
                               : whole({"num_key_value_heads"},
                                       block["num_key_value_heads"].is_null() || in.defaults().kv_heads == 0
                                           ? heads
                                           : in.defaults().kv_heads);
    book.head_dim = heads == 0 ? 0
                               : whole({"head_dim", "attention_head_dim", "kv_channels", "d_kv"},
                                       in.defaults().head_dim != 0 ? in.defaults().head_dim : width / heads);
}

inline Problem unknown_type(const Decoder& decoder) {
    if (decoder.type.empty()) {
        const JsonValue said = decoder.block["model_type"];
        return {Trouble::unknown, decoder.where + "/model_type", said.given() ? said.shown() : "nothing",
                "a model_type", "is this a model's config.json?"};
    }
    return {Trouble::unknown, decoder.where + "/model_type", '"' + std::string{decoder.type} + '"',
            "an architecture with a known rule", "nearest: " + nearest_types(decoder.type)};
}

/// A known key with a value of another type, or with a name that is none, in the file or in its decoder's block.
inline std::optional<Problem> wrong_key(JsonValue root, const Decoder& decoder) {
    for (const auto& [block, where] : {std::pair{root, std::string{}}, std::pair{decoder.block, decoder.where}}) {
        if (std::optional<Problem> problem = mistyped(block, where)) {
            return problem;
        }
        if (std::optional<Problem> problem = misnamed(block, where)) {
            return problem;
        }
        if (const JsonValue inner = block["text_config"]; !where.empty() && inner.is_object() && inner.size() > 0) {
            return Problem{Trouble::invalid, where + "/text_config", "a decoder's block inside a decoder's block",
                           "the decoder's own keys", {}};
        }
    }
    return std::nullopt;
}

/// Families of the caller, which are asked before the registry.
using OwnFamilies = std::span<const Family>;

/// The family of a type, or of the decoder that a type of several models has; nullptr: unknown.
inline const Family* family_of(std::string_view type, OwnFamilies own) noexcept {
    for (const Family& each : own) {
        if (each.type == type) {
            return &each;
        }
    }
    if (const Family* known = family_of(type); known != nullptr) {
        return known;
    }
    const std::string_view inside = decoder_of(type);
    return inside.empty() ? nullptr : family_of(inside);
}

inline Diagnosed<ReadModel> lower(JsonValue root, OwnFamilies own = {}) {
    const Decoder decoder = find_decoder(root);
    const Family* family = family_of(decoder.type, own);
    if (family == nullptr) {
        return unknown_type(decoder);
    }
    if (std::optional<Problem> problem = wrong_key(root, decoder)) {
        return *std::move(problem);
    }
    Lowering in{decoder.block, decoder.where, *family};
    std::string_view class_name;
    root["architectures"].each([&](u32 i, std::string_view, JsonValue item) {
        class_name = i == 0 ? item.text() : class_name;
    });
    Family as_draft{};
    recognise_draft(in, class_name, family, as_draft);
    in.use(*family);
    family->lower(in);
    if (in.problem) {
        return *std::move(in.problem);
    }
    add_facts(in, decoder, root);
    add_extent(in, decoder.block, root);
    Diagnosed<ReadModel> read{std::move(in.model)};
    read.notes = std::move(in.notes);
    return read;
}

}  // namespace hf

/// Reads the text of a config.json. own: families that the registry does not have, or has otherwise.
inline Diagnosed<ReadModel> read_config(std::string_view json_text, hf::OwnFamilies own = {}) {
    Diagnosed<JsonDocument> document = load_json(json_text);
    if (!document) {
        return *std::move(document.error);
    }
    const JsonValue root = root_of(*document);
    if (!root.is_object()) {
        return Problem{Trouble::invalid, {}, root.shown(), "a JSON object", {}};
    }
    return hf::lower(root, own);
}

/// Reads a regular file; the first 16 MiB decide.
inline Diagnosed<ReadModel> read_config_file(const std::filesystem::path& path, hf::OwnFamilies own = {}) {
    Diagnosed<std::string> text = read_text_file(path);
    if (!text) {
        return *std::move(text.error);
    }
    Diagnosed<ReadModel> read = read_config(*text, own);
    if (read.error) {
        read.error = io::in_file(path.string(), *std::move(read.error));
    }
    return read;
}

}  // namespace kvcap::inline v1
