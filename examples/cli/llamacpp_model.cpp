// SPDX-License-Identifier: MIT
// From a MODEL argument to what llama.cpp makes of it.
#include "llamacpp.hpp"

#include <kvcap/io/key_value_dtypes.hpp>
#include <kvcap/io/launch/values.hpp>
#include <kvcap/io/locate.hpp>

namespace kvcap::cli {

namespace {

u32 caches_of_encoder(const ModelSpec& model) {
    u32 caches = 0;
    for (const Cache& cache : model.caches) {
        caches += model.form_of(cache).retention.source == Source::encoder ? 1 : 0;
    }
    return caches;
}

}  // namespace

LlamaModel llama_model(const Model& model) {
    LlamaModel out{};
    if (const std::filesystem::path path = io::gguf_path(model.argument); !path.empty()) {
        Diagnosed<gguf::GgufModel> read = gguf::read_file(path.string());
        if (!read) {
            stop(*read.error);
        }
        out.card = read->card;
        out.weights = std::move(read->weights);
        out.complete = read->complete;
        out.from_file = true;
        return out;
    }
    const Result<llamacpp::Card> card = llamacpp::card_from(model.read.spec);
    if (!card) {
        const std::string about = model.label.empty() ? "" : model.label + ": ";
        stop(Exit::unknown_architecture,
             about + "llama.cpp has no memory for these caches: " + report::text_of(card.error()));
    }
    out.card = *card;
    if (std::string_view{out.card.arch().name} == "llama") {
        out.card.rule = llamacpp::rule_of_class(model.read.class_name.c_str(), out.card.rule);
    }
    out.card.context = static_cast<u32>(smaller(model.read.max_context, ~u32{0}));
    out.notes.push_back(
        {Origin::assumed, "architecture",
         std::string{out.card.arch().name} + "'s rules, by the kinds of caches; a GGUF file says its own"});
    if (llamacpp::ignores_windows(model.read.architecture) && llamacpp::drop_windows(out.card)) {
        out.notes.push_back({Origin::derived, "sliding window",
                             "llama.cpp has none for " + model.read.architecture + ": cells for all tokens"});
    }
    if (const u32 crossing = caches_of_encoder(model.read.spec); crossing != 0) {
        out.notes.push_back({Origin::derived, "cross attention",
                             report::counted(crossing, "layer keeps", "layers keep") +
                                 " nothing: llama.cpp computes an encoder's keys and values in each step"});
    }
    return out;
}

ModelOptions as_stored(ModelOptions model, const EngineFlags& said) {
    const auto keys = said.find("cache-type-k");
    const auto values = said.find("cache-type-v");
    for (const auto& type : {keys, values}) {
        if (type != said.end()) {
            static_cast<void>(cache_type(type->second, type->first));  // stops at one that llama.cpp lacks
        }
    }
    if (keys != said.end() || values != said.end()) {
        model.kv_cache_dtype = io::key_value_name(keys != said.end() ? keys->second : "f16",
                                                  values != said.end() ? values->second : "f16");
    }
    return model;
}

llamacpp::Ggml cache_type(const std::string& name, std::string_view flag) {
    std::string known;
    for (const llamacpp::GgmlType& type : llamacpp::ggml_types) {
        if (type.cache_option && name == type.name) {
            return type.id;
        }
        known += type.cache_option ? (known.empty() ? "" : ", ") + std::string{type.name} : "";
    }
    stop(Exit::usage, fmt::format("--{}: {} is none of {}", flag, name, known));
}

llamacpp::Flash flash_named(const std::string& name) {
    const std::string_view word = io::llama_switch(name);
    if (word.empty()) {
        stop(Exit::usage, fmt::format("--flash-attn: {} is none of on, off, auto{}", name.empty() ? "nothing" : name,
                                      name.empty() ? " (it takes a value since August 2025)" : ""));
    }
    return word == "on" ? llamacpp::Flash::on : word == "off" ? llamacpp::Flash::off : llamacpp::Flash::automatic;
}

std::string no_tensor_split(const llamacpp::Options& options) {
    for (const llamacpp::Ggml type : {options.type_k, options.type_v}) {
        if (!llamacpp::tensor_split_runs(type)) {
            return fmt::format("-sm tensor with a cache in {}: llama.cpp aborts at its first graph (its issue 27116); "
                               "wanted f16, bf16, f32, q8_0 or q4_0, or -sm layer",
                               llamacpp::ggml_type(type).name);
        }
    }
    return {};
}

std::string refusal_words(const Error& error) {
    const llamacpp::Refusal why = llamacpp::refusal_of(error);
    if (why == llamacpp::Refusal::none) {
        return report::text_of(error);
    }
    std::string text = llamacpp::sentence(why);
    if (error.want != 0) {
        text += fmt::format(" ({} and {}{})", error.hint, error.want,
                            error.layer == no_layer ? "" : fmt::format(", block {}", error.layer));
    }
    return text;
}

const char* part_name(llamacpp::Part part) {
    using llamacpp::Part;
    switch (part) {
        case Part::kv: return "keys and values";
        case Part::base: return "full attention";
        case Part::swa: return "windows";
        case Part::mla:
        case Part::dsa_mla: return "latents";
        case Part::indexer:
        case Part::dsa_indexer: return "index keys";
        case Part::rs: return "states";
        case Part::raw_base: return "full attention (none)";
        case Part::raw_swa: return "windows";
        case Part::csa: return "latents 4:1";
        case Part::hca: return "latents 128:1";
        case Part::lid: return "index keys 4:1";
        default: return "compressor states";
    }
}

std::vector<std::string> cache_lines(const llamacpp::Card& card, const llamacpp::Layout& layout) {
    std::vector<std::string> lines;
    for (const llamacpp::CacheShape& cache : layout.caches) {
        if (llamacpp::is_compressor(cache.part)) {
            continue;
        }
        const llamacpp::BlockBytes bytes = value_of(llamacpp::cache_bytes(card, layout, cache));
        const char* who = llamacpp::is_states(cache.part) ? "llama_memory_recurrent: " : "llama_kv_cache: ";
        lines.push_back(who + std::string{llamacpp::summary_line(card, layout, cache, bytes).text});
    }
    return lines;
}

}  // namespace kvcap::cli
