// SPDX-License-Identifier: MIT
// Where a model's weights are known from: its folder, its card, or its config.
#include "cards.hpp"
#include "memory.hpp"

#include <filesystem>
#include <kvcap/io/locate.hpp>
#include <kvcap/io/model_weights.hpp>

namespace kvcap::cli {

namespace {

/// A GGUF file's tensors: all of them, and the layers in equal parts. (llama.cpp's own split knows each
/// block.)
Weights of_gguf(const std::filesystem::path& path) {
    const Diagnosed<gguf::GgufModel> read = gguf::read_file(path.string());
    if (!read) {
        return {};
    }
    const Weights shape = io::even_layers(read->model.spec.layers);
    return spread(shape, WeightSource::gguf, read->weights.bytes, {});
}

/// How many bytes an element of a quantised linear layer takes, by the config's own words: 1 for 8-bit
/// methods, 0 when the words do not tell; `method` is set when the weights are quantised at all.
u32 quantised_bytes(const std::string& config, std::string& method) {
    const Diagnosed<JsonDocument> document = load_json(config);
    if (!document) {
        return 0;
    }
    const JsonValue root = root_of(*document);
    for (const JsonValue outer : {root, root["text_config"], root["llm_config"], root["language_config"]}) {
        const JsonValue words = outer["quantization_config"];
        if (words["quant_method"].is_text()) {
            method = std::string{words["quant_method"].text()};
        }
        if (words["quant_algo"].is_text()) {
            method += " " + std::string{words["quant_algo"].text()};
        }
    }
    const bool eight = method.find("fp8") != std::string::npos || method.find("FP8") != std::string::npos;
    const bool four = method.find("FP4") != std::string::npos || method.find("fp4") != std::string::npos;
    return eight && !four ? 1 : 0;
}

/// Parameters derived from a config count as 16-bit; its quantisation says otherwise. Embeddings, heads and
/// norms stay.
Diagnosed<Weights> requantised(Diagnosed<Weights> derived, const std::string& config) {
    if (!derived || derived->source != WeightSource::derived) {
        return derived;
    }
    std::string method;
    const u32 bytes = quantised_bytes(config, method);
    if (method.empty()) {
        return derived;
    }
    if (bytes == 0) {
        Diagnosed<Weights> unknown{Weights{}};
        unknown.notes.push_back({Origin::assumed, "weights",
                                 "unknown: quantised (" + method +
                                     "), and no card or file says how large they are; give "
                                     "--weights-bytes"});
        return unknown;
    }
    Weights smaller = *derived;
    smaller.groups.clear();
    smaller.bytes = smaller.parameters = 0;
    for (WeightGroup group : derived->groups) {
        const bool linear = group.part == WeightPart::keys || group.part == WeightPart::attention ||
                            group.part == WeightPart::dense || group.part == WeightPart::experts;
        group.bytes = linear ? group.parameters * bytes : group.bytes;
        smaller.add(group);
    }
    Diagnosed<Weights> all{smaller};
    all.notes = derived.notes;
    all.notes.push_back({Origin::assumed, "weights",
                         "quantised (" + method + "): one byte a parameter of the linear layers"});
    return all;
}

}  // namespace

Weights find_weights(const std::string& argument, std::vector<Note>& notes) {
    std::filesystem::path file = argument;
    std::error_code wrong;
    Diagnosed<Weights> found;
    if (std::filesystem::is_directory(file, wrong)) {
        file /= "config.json";
    }
    if (std::filesystem::is_regular_file(file, wrong)) {
        if (file.extension() == ".gguf") {
            return of_gguf(file);
        }
        if (const Diagnosed<std::string> text = read_text_file(file); text) {
            found = requantised(weights_of(*text, file.parent_path()), *text);
        }
    } else if (const Card* card = find_card(argument)) {
        found = requantised(weights_of(card->text), std::string{card->text});
    }
    if (!found) {
        // A damaged file is a mistake; a config from which none can be counted leaves them unknown.
        const Diagnosed<Weights> files = read_safetensors(file.parent_path());
        if (files.error) {
            stop(Exit::bad_input, files.error->text());
        }
        return {};
    }
    notes.insert(notes.end(), found.notes.begin(), found.notes.end());
    return *found.value;
}

RankWeights weights_on_rank(const Weights& weights, const Sharding& sharding, bool attention_dp, u32 stage,
                            bool whole_but_experts) {
    if (weights.source == WeightSource::unknown || weights.bytes == 0) {
        return {};
    }
    WeightSplit split{
        .sharding = sharding, .ep = attention_dp ? sharding.tp : 1, .attention_dp = attention_dp};
    split.sharding.tp = attention_dp && whole_but_experts ? 1 : sharding.tp;
    const Result<Bytes> bytes = weights_on_rank(weights, split, stage);
    if (!bytes) {
        return {};
    }
    return {*bytes, name_of(weights.source)};
}

}  // namespace kvcap::cli
