// SPDX-License-Identifier: MIT
// Where a model's weights are known from: its folder, its card, or its config.
#include "cards.hpp"
#include "memory.hpp"

#include <filesystem>
#include <kvcap/engine/llamacpp/engine.hpp>
#include <kvcap/engine/llamacpp/offload.hpp>
#include <kvcap/io/locate.hpp>
#include <kvcap/io/model_weights.hpp>

namespace kvcap::cli {

namespace {

/// A GGUF file's tensors as it stores them: each block, the input embedding, and the rest as the output layer.
Weights of_gguf(const std::filesystem::path& path) {
    const Diagnosed<gguf::GgufModel> read = gguf::read_file(path.string());
    if (!read) {
        return {};
    }
    const gguf::Weights& file = read->weights;
    Weights all{.source = WeightSource::gguf, .layers = read->model.spec.layers, .tied = file.tied};
    all.add({.part = WeightPart::embedding, .layer = no_layer, .bytes = file.input});
    for (std::size_t i = 0; i < file.blocks.size(); ++i) {
        all.add({.part = WeightPart::dense, .layer = static_cast<u32>(i), .bytes = file.blocks[i]});
    }
    all.add({.part = WeightPart::head, .layer = no_layer, .bytes = file.output});
    return all;
}

/// How many bytes an element of a quantised linear layer takes, by the config's own words: 1 for 8-bit methods, 0 when
/// the words do not tell.
u32 quantised_bytes(const std::string& method) {
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
    const std::string method = io::quantisation_of(config);
    const u32 bytes = quantised_bytes(method);
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

namespace {

/// How an engine deals weights to a rank, other than llama.cpp.
WeightSplit split_of(const RankPlace& place) {
    WeightSplit split{.sharding = place.sharding, .attention_dp = place.attention_dp};
    if (place.engine == "vllm") {
        const u64 experts = saturating_product(split.tp(), place.dp);
        split.sharding.tp = place.attention_dp ? 1 : place.sharding.tp;  // such ranks are data-parallel ones of TP 1
        split.ep = static_cast<u32>(smaller(experts, ~u32{0}));
        split.attention_dp = false;
        return split;
    }
    split.ep = place.attention_dp ? split.tp() : 1;
    split.others = place.engine == "sglang"   ? OtherParts::embedding_whole
                   : place.engine == "trtllm" ? OtherParts::whole
                                              : OtherParts::divided;
    return split;
}

/// What is dense in a layer with routed experts are its shared ones.
Weights with_whole_shared_experts(Weights weights) {
    std::vector<bool> routed(io::most_weight_layers, false);
    for (const WeightGroup& group : weights.groups) {
        if (group.part == WeightPart::experts && group.layer < routed.size()) {
            routed[group.layer] = true;
        }
    }
    for (WeightGroup& group : weights.groups) {
        const bool shared = group.part == WeightPart::dense && group.layer < routed.size() && routed[group.layer];
        group.part = shared ? WeightPart::whole : group.part;
    }
    return weights;
}

/// By the rule of every engine but llama.cpp.
Result<Bytes> on_rank(const Weights& weights, const RankPlace& place) {
    return place.whole_shared_experts
               ? weights_on_rank(with_whole_shared_experts(weights), split_of(place), place.stage)
               : weights_on_rank(weights, split_of(place), place.stage);
}

/// The groups as llama.cpp knows them: blocks, the input embedding, and the output layer with everything else.
Bytes of_blocks_on_device(const Weights& weights, const RankPlace& place) {
    std::vector<u64> blocks(weights.layers, 0);
    llamacpp::BlockWeights file{.tied = weights.tied};
    for (const WeightGroup& group : weights.groups) {
        if (group.layer != no_layer && group.layer >= blocks.size()) {
            blocks.resize(smaller(u64{group.layer} + 1, gguf::most_weight_blocks), 0);
        }
        u64& to = group.layer < blocks.size()             ? blocks[group.layer]
                  : group.part == WeightPart::embedding ? file.input
                                                        : file.output;
        to = saturating_sum(to, group.bytes);
    }
    llamacpp::Card card{};
    card.blocks.count = static_cast<u32>(smaller(blocks.size(), llamacpp::max_blocks));
    file.blocks = blocks.data();
    file.count = static_cast<u32>(blocks.size());
    return {llamacpp::weights_per_device(card, llamacpp::devices_of(card, place.sharding), file).device[place.stage]};
}

/// -sm tensor cuts rows, else whole blocks lie on a device. What more devices than llama.cpp has would hold is nothing.
Result<Bytes> on_llama_device(const Weights& weights, const RankPlace& place) {
    if (place.sharding.pp > llamacpp::most_devices) {
        return Bytes{};
    }
    if (place.sharding.tp == 1) {
        return of_blocks_on_device(weights, place);
    }
    Weights here = weights;
    std::erase_if(here.groups, [](const WeightGroup& group) { return group.part == WeightPart::embedding; });
    for (const WeightGroup& group : weights.groups) {
        if (weights.tied && group.part == WeightPart::embedding) {
            here.add({.part = WeightPart::head, .layer = no_layer, .bytes = group.bytes});
        }
    }
    return weights_on_rank(here, {.sharding = place.sharding}, place.stage);
}

}  // namespace

RankWeights weights_on_rank(const Weights& weights, const RankPlace& place) {
    if (weights.source == WeightSource::unknown || weights.bytes == 0) {
        return {};
    }
    const Result<Bytes> bytes =
        place.engine == "llamacpp" ? on_llama_device(weights, place) : on_rank(weights, place);
    if (!bytes) {
        return {};
    }
    return {*bytes, name_of(weights.source)};
}

}  // namespace kvcap::cli
