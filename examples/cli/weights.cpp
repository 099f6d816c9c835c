// SPDX-License-Identifier: MIT
// Where a model's weights are known from: its folder, its card, or its config.
#include "cards.hpp"
#include "engines.hpp"
#include "memory.hpp"

#include <filesystem>
#include <kvcap/io/locate.hpp>
#include <kvcap/io/model_weights.hpp>

namespace kvcap::cli {

namespace {

/// A GGUF file's tensors as it stores them.
Weights of_gguf(const std::filesystem::path& path) {
    Diagnosed<gguf::GgufModel> read = gguf::read_file(path.string());
    if (!read) {
        return {};
    }
    Weights all = std::move(read->weights.parts);
    all.layers = read->model.spec.layers;
    all.tied = read->weights.tied;
    return all;
}

/// How many bytes an element of a quantised linear layer takes, by the config's own words: 1 for 8-bit methods, 0 when
/// the words do not tell.
u32 quantised_bytes(const std::string& method) {
    const bool eight = method.find("fp8") != std::string::npos || method.find("FP8") != std::string::npos;
    const bool four = method.find("FP4") != std::string::npos || method.find("fp4") != std::string::npos;
    return eight && !four ? 1 : 0;
}

/// What says how weights are stored: the config, the file that ModelOpt writes beside it, or else the model's name.
std::string quantisation(const std::string& config, const std::filesystem::path& folder, std::string_view name) {
    std::string method = io::quantisation_of(config);
    if (method.empty() && !folder.empty()) {
        const Diagnosed<std::string> beside = read_text_file(folder / "hf_quant_config.json");
        method = beside ? io::quantisation_beside(*beside) : "";
    }
    const std::string named = method.empty() ? io::format_in_name(name) : "";
    return named.empty() ? method : named + ", by its name";
}

/// Linear layers in so many bytes a parameter; embeddings, heads and norms stay.
Weights in_bytes(const Weights& sixteen_bits, u32 bytes) {
    Weights all = sixteen_bits;
    all.groups.clear();
    all.bytes = all.parameters = 0;
    for (WeightGroup group : sixteen_bits.groups) {
        const bool linear = group.part == WeightPart::keys || group.part == WeightPart::attention ||
                            group.part == WeightPart::dense || group.part == WeightPart::experts;
        const u64 parameters = group.parameters != 0 ? group.parameters : ceil_div(group.bytes, 2);
        group.bytes = linear ? parameters * bytes : group.bytes;
        all.add(group);
    }
    return all;
}

/// What the engine makes of a checkpoint at its start. One that is quantised stays as it is. Source: vLLM,
/// quantization/fp8.py, and SGLang's of the same name: linear layers without those of the vocabulary.
Diagnosed<Weights> quantised_at_start(Diagnosed<Weights> found, const std::string& method,
                                      const std::string& asked) {
    if (!found || asked.empty() || !method.empty()) {
        return found;
    }
    if (asked != "fp8") {
        stop(Exit::usage,
             fmt::format("--quantization {}: what the engine makes of a checkpoint of 16 bits is evaluated for fp8 "
                         "alone; give --weights-bytes, or a MODEL whose config says it",
                         printable(asked)));
    }
    Diagnosed<Weights> all{in_bytes(*found, 1)};
    all.notes = std::move(found.notes);
    all.notes.push_back({Origin::assumed, "--quantization",
                         "fp8, made of 16 bits at the start: one byte a parameter of the linear layers, two of the "
                         "rest"});
    return all;
}

/// Engines serve in 16 bits and cast what is stored in 32 as they load it; states' few parameters in 32 bits beside
/// others of 16 stay. Source: vLLM, SGLang and TensorRT-LLM, dtype `auto`.
Diagnosed<Weights> cast_to_16_bits(Diagnosed<Weights> found, const std::string& method) {
    u64 wide = 0;
    for (WeightType& type : found ? found->types : std::vector<WeightType>{}) {
        wide += type.dtype == "F32" ? type.bytes : 0;
    }
    if (!method.empty() || wide == 0 || wide <= found->bytes / 2 || wide > found->bytes) {
        return found;
    }
    Diagnosed<Weights> all{spread(*found, found->source, found->bytes - wide / 2, found->types)};
    all->parameters = found->parameters;
    all.notes = std::move(found.notes);
    all.notes.push_back({Origin::assumed, "dtype",
                         "stored in 32 bits, and cast to 16 as engines load them: " + io::grouped(all->bytes) +
                             " bytes of weights are in use"});
    return all;
}

/// Parameters derived from a config count as 16-bit; its quantisation says otherwise. Embeddings, heads and
/// norms stay.
Diagnosed<Weights> requantised(Diagnosed<Weights> derived, const std::string& method) {
    if (!derived || derived->source != WeightSource::derived) {
        return derived;
    }
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
    Diagnosed<Weights> all{in_bytes(*derived, bytes)};
    all.notes = derived.notes;
    for (Note& note : all.notes) {
        constexpr std::string_view plain = ", 16 bits each";
        const std::size_t at = note.text.find(plain);
        note.text.erase(at == std::string::npos ? note.text.size() : at, plain.size());
    }
    all.notes.push_back({Origin::assumed, "weights",
                         "quantised (" + method + "): one byte a parameter of the linear layers, two of the rest"});
    return all;
}

/// What the model's files or its config count, before its quantisation is asked for; method: what says that.
struct Counted {
    Diagnosed<Weights> weights{};
    std::string method{};
    std::filesystem::path folder{};
};

Counted counted_of(const std::string& argument) {
    Counted out{};
    std::filesystem::path file = argument;
    std::error_code wrong;
    if (std::filesystem::is_directory(file, wrong)) {
        file /= "config.json";
    }
    out.folder = file.parent_path();
    if (std::filesystem::is_regular_file(file, wrong)) {
        if (const Diagnosed<std::string> text = read_text_file(file); text) {
            const bool config = file.filename() == "config.json";
            out.method = quantisation(*text, out.folder, (config ? out.folder.filename() : file.stem()).string());
            out.weights = weights_of(*text, out.folder);
        }
    } else if (const Card* card = find_card(argument)) {
        out.method = quantisation(std::string{card->text}, {}, card->hf_id);
        out.weights = weights_of(card->text);
    }
    return out;
}

}  // namespace

Weights find_weights(const std::string& argument, std::vector<Note>& notes, const Loading& loading) {
    if (const std::filesystem::path gguf = io::gguf_path(argument); !gguf.empty()) {
        return of_gguf(gguf);
    }
    Counted counted = counted_of(argument);
    Diagnosed<Weights> stored = requantised(std::move(counted.weights), counted.method);
    stored = loading.in_16_bits ? cast_to_16_bits(std::move(stored), counted.method) : std::move(stored);
    const Diagnosed<Weights> found = quantised_at_start(std::move(stored), counted.method, loading.quantization);
    if (!found) {
        // A damaged file is a mistake; a config from which none can be counted leaves them unknown.
        const Diagnosed<Weights> files = read_safetensors(counted.folder);
        if (files.error) {
            stop(Exit::bad_input, files.error->text());
        }
        return {};
    }
    notes.insert(notes.end(), found.notes.begin(), found.notes.end());
    return *found.value;
}

Weights parts_of_weights(const std::string& argument) {
    if (const std::filesystem::path gguf = io::gguf_path(argument); !gguf.empty()) {
        return of_gguf(gguf);
    }
    return counted_of(argument).weights.value.value_or(Weights{});
}

WeightSplit RankPlace::split(OtherParts others) const {
    const u32 tp = sharding.tp == 0 ? 1 : sharding.tp;
    return {.sharding = sharding, .ep = attention_dp ? tp : 1, .attention_dp = attention_dp, .others = others};
}

RankWeights weights_on_rank(const Weights& weights, const RankPlace& place, const EngineFace* face) {
    if (weights.source == WeightSource::unknown || weights.bytes == 0) {
        return {};
    }
    const bool own_rule = face != nullptr && face->weights != nullptr;
    const Result<Bytes> bytes =
        own_rule ? face->weights(weights, place) : kvcap::weights_on_rank(weights, place.split(), place.stage);
    if (!bytes) {
        return {};
    }
    return {*bytes, name_of(weights.source)};
}

}  // namespace kvcap::cli
