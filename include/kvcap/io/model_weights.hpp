// SPDX-License-Identifier: MIT
// The best answer to "how large are the weights?" for a config and, if there is one, the folder it lies in:
// safetensors headers, else the index's total, else a card's `weights_bytes`, else parameters derived from
// the config.
#pragma once

#include <kvcap/io/grouped.hpp>
#include <kvcap/io/hf/parameters.hpp>
#include <kvcap/io/quantisation.hpp>
#include <kvcap/io/safetensors.hpp>

namespace kvcap::inline v1 {

namespace io {

/// One equal part per layer: all that is known of a family without formulas.
inline Weights even_layers(u32 layers) {
    Weights shape{.layers = layers};
    for (u32 i = 0; i < layers; ++i) {
        shape.add({.part = WeightPart::dense, .layer = i, .parameters = 1, .bytes = 1});
    }
    return shape;
}

/// Key heads per layer and ties, which tensor names do not tell.
inline void complete(Weights& exact, const ModelSpec& model) {
    std::vector<u32> heads(model.layers, 0);
    for (const Cache& cache : model.caches) {
        const LayerForm& form = model.form_of(cache);
        if (cache.layer < model.layers && form.kind == Kind::attention) {
            heads[cache.layer] = form.streams[0].heads;
        }
    }
    exact.tied = true;
    exact.layers = model.layers;
    for (WeightGroup& group : exact.groups) {
        exact.tied = exact.tied && group.part != WeightPart::head;
        if (group.part == WeightPart::keys && group.layer < heads.size()) {
            group.heads = heads[group.layer];
        }
    }
}

/// `weights_bytes` of a card: bytes by dtype.
inline std::vector<WeightType> carded_types(JsonValue card, u64& total) {
    std::vector<WeightType> types;
    card["weights_bytes"].each([&](u32, std::string_view dtype, JsonValue bytes) {
        const u32 bits = dtype_bits(dtype);
        types.push_back({std::string{dtype}, bits == 0 ? 0 : bytes.whole() * 8 / bits, bytes.whole()});
        total = saturating_sum(total, bytes.whole());
    });
    return types;
}

/// An index says no types. Where the config says 32 bits, and the total is of that size and not of 16 bits and of parts
/// that are not derived, all of it is in 32.
inline std::vector<WeightType> indexed_types(std::string_view model_dtype, const Diagnosed<Weights>& derived,
                                             u64 total) {
    const u64 parameters = derived ? derived->parameters : 0;
    if (model_dtype != "float32" || parameters == 0 || total / 7 < parameters / 2) {
        return {};
    }
    return {{"F32", total / 4, total}};
}

/// Bytes of the types that pack two elements into one.
inline u64 packed_bytes(const std::vector<WeightType>& types) {
    u64 sum = 0;
    for (const WeightType& type : types) {
        sum = saturating_sum(sum, type.dtype == "U8" || type.dtype == "F4" ? type.bytes : 0);
    }
    return sum;
}

/// The shape by which a sum is dealt: what is derived, its experts as the config's quantisation packs them. Notes: how.
inline Diagnosed<Weights> stored_shape(Diagnosed<Weights> derived, std::string_view json_text,
                                       const std::vector<WeightType>& types) {
    derived.notes.clear();
    const std::string method = derived ? quantisation_of(json_text) : std::string{};
    if (method == "mxfp4") {
        derived.value = with_experts_in_mxfp4(*std::move(derived.value), packed_bytes(types));
        derived.notes = {{Origin::assumed, {}, "experts in MXFP4 (17 bytes for 32), the rest in 16 bits"}};
    } else if (method == "fp8") {
        derived.value = with_fp8(*std::move(derived.value));
        derived.notes = {{Origin::assumed, {}, "embedding and head in 16 bits, the rest in 8"}};
    }
    return derived;
}

/// Only the sum is known: parts in proportion to derived bytes, or layers evenly.
inline Diagnosed<Weights> summed(const Diagnosed<Weights>& shape, u32 layers, WeightSource source, u64 total,
                                 std::vector<WeightType> types) {
    const bool shaped = shape.value.has_value();
    Diagnosed<Weights> all{spread(shaped ? *shape : even_layers(layers), source, total, std::move(types))};
    all->parameters = shaped ? shape->parameters : 0;
    std::string how = shaped ? "divided among the parts in proportion to derived parameters"
                             : "divided evenly among the layers";
    for (const Note& note : shape.notes) {
        how += ": " + note.text;
    }
    all.notes.push_back({Origin::given, name_of(source), grouped(total) + " bytes of weights"});
    all.notes.push_back({Origin::assumed, name_of(source), std::move(how)});
    return all;
}

}  // namespace io

/// Weights of the model whose config is `json_text`. `folder`: where safetensors may lie, or empty.
inline Diagnosed<Weights> weights_of(std::string_view json_text, const std::filesystem::path& folder = {}) {
    const Diagnosed<ReadModel> model = read_config(json_text);
    if (!model) {
        return *model.error;
    }
    Diagnosed<Weights> exact = folder.empty() ? Diagnosed<Weights>{} : read_safetensors(folder);
    if (exact.error) {
        return exact;
    }
    if (exact && exact->source == WeightSource::safetensors) {
        io::complete(*exact, model->spec);
        exact.notes.push_back({Origin::given, folder.string(), "weights from safetensors headers"});
        return exact;
    }
    Diagnosed<Weights> derived = derived_weights(json_text);
    u64 total = exact ? exact->bytes : 0;
    WeightSource source = WeightSource::index;
    std::vector<WeightType> types = io::indexed_types(model->model_dtype, derived, total);
    if (total == 0) {
        const Diagnosed<JsonDocument> card = load_json(json_text);
        types = io::carded_types(root_of(*card), total);
        source = WeightSource::card;
    }
    if (total == 0) {
        return derived;
    }
    const Diagnosed<Weights> shape = io::stored_shape(derived, json_text, types);
    return io::summed(shape, model->spec.layers, source, total, std::move(types));
}

}  // namespace kvcap::inline v1
