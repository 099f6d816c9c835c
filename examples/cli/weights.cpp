// SPDX-License-Identifier: MIT
// Where a model's weights are known from: its folder, its card, or its config.
#include "cards.hpp"
#include "memory.hpp"

#include <filesystem>
#include <kvcap/io/locate.hpp>
#include <kvcap/io/model_weights.hpp>

namespace kvcap::cli {

namespace {

/// A GGUF file's tensors: all of them, and the layers in equal parts. (llama.cpp's own split knows each block.)
Weights of_gguf(const std::filesystem::path& path) {
    const Diagnosed<gguf::GgufModel> read = gguf::read_file(path.string());
    if (!read) {
        return {};
    }
    const Weights shape = io::even_layers(read->model.spec.layers);
    return spread(shape, WeightSource::gguf, read->weights.bytes, {});
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
            found = weights_of(*text, file.parent_path());
        }
    } else if (const Card* card = find_card(argument)) {
        found = weights_of(card->text);
    }
    if (!found) {
        return {};
    }
    notes.insert(notes.end(), found.notes.begin(), found.notes.end());
    return *found.value;
}

RankWeights weights_on_rank(const Weights& weights, const Sharding& sharding, bool attention_dp, u32 stage) {
    if (weights.source == WeightSource::unknown || weights.bytes == 0) {
        return {};
    }
    const WeightSplit split{.sharding = sharding, .ep = attention_dp ? sharding.tp : 1, .attention_dp = attention_dp};
    const Result<Bytes> bytes = weights_on_rank(weights, split, stage);
    if (!bytes) {
        return {};
    }
    return {*bytes, name_of(weights.source)};
}

}  // namespace kvcap::cli
