// SPDX-License-Identifier: MIT
// What does ollama say around llama.cpp's lines? key=value lines; amounts are words with their unit, "18.5 GiB".
#pragma once

#include <kvcap/io/log/llamacpp.hpp>

namespace kvcap::inline v1::logs::ollama {

inline void mark(Start& start, const Hit& hit, const Words&) {
    start.facts.offer("ollama_words", flag(true, hit.line));
}

/// key="value" or key=value behind the sentence, on its line; "[11.1 GiB]" without its brackets.
inline std::string_view value_of(std::string_view line, std::string_view key) {
    for (std::size_t at = line.find(key); at != line.npos; at = line.find(key, at + 1)) {
        const std::size_t equals = at + key.size();
        const bool own = (at == 0 || blank(line[at - 1]) || line[at - 1] == '"') && equals < line.size();
        const std::size_t shift = own && line[equals] == '"' ? 1 : 0;
        if (own && equals + shift < line.size() && line[equals + shift] == '=') {
            const std::string_view rest = line.substr(equals + shift + 1);
            const std::string_view value = rest.starts_with('"') ? rest.substr(1, rest.substr(1).find('"'))
                                                                 : rest.substr(0, rest.find_first_of(" \t\r"));
            return trimmed(value, " []");
        }
    }
    return {};
}

inline void put(Start& start, const Hit& hit, std::string_view key, std::string_view fact) {
    if (const std::string_view value = value_of(hit.first_line(), key); !value.empty()) {
        start.facts.put(
            fact, integer_length(value) == value.size() ? datum_of(value, 'n', hit.line) : words(value, hit.line));
    }
}

inline void put_by_device(Start& start, const Hit& hit, std::string_view fact) {
    start.results = true;
    mark(start, hit, {});
    llamacpp::put_device(start.facts, fact, value_of(hit.first_line(), "device"),
                         words(value_of(hit.first_line(), "size"), hit.line));
}
inline void read_weights(Start& start, const Hit& hit, const Words&) {
    put_by_device(start, hit, "weights_by_device");
}
inline void read_cache(Start& start, const Hit& hit, const Words&) {
    put_by_device(start, hit, "kv_by_device");
}
inline void read_graph(Start& start, const Hit& hit, const Words&) {
    put_by_device(start, hit, "compute_by_device");
}

inline void read_total(Start& start, const Hit& hit, const Words& at) {
    mark(start, hit, at);
    put(start, hit, "size", "total");
}
inline void read_system(Start& start, const Hit& hit, const Words& at) {
    mark(start, hit, at);
    put(start, hit, "free", "system_free");
}
inline void read_gpu(Start& start, const Hit& hit, const Words& at) {
    mark(start, hit, at);
    put(start, hit, "available", "gpu_available");
}
inline void read_layers(Start& start, const Hit& hit, const Words& at) {
    mark(start, hit, at);
    start.facts.put("layers_model", datum_of(at.at[0], 'n', hit.line));
}

/// memory.go's one line: "offload to cuda" or msg=offload.
inline void read_offload(Start& start, const Hit& hit, const Words& at) {
    mark(start, hit, at);
    start.results = true;
    for (const auto& [key, fact] :
         {std::pair{"layers.model", "layers_model"}, std::pair{"layers.offload", "layers_offload"},
          std::pair{"memory.available", "memory_available"}, std::pair{"memory.required.full", "required_full"},
          std::pair{"memory.required.partial", "required_partial"}, std::pair{"memory.required.kv", "required_kv"},
          std::pair{"memory.weights.total", "weights_total"},
          std::pair{"memory.weights.nonrepeating", "weights_nonrepeating"},
          std::pair{"memory.graph.full", "graph_full"}, std::pair{"memory.graph.partial", "graph_partial"},
          std::pair{"projector.weights", "projector_weights"}, std::pair{"projector.graph", "projector_graph"}}) {
        put(start, hit, key, fact);
    }
}

/// ".../ollama/0.17.0/bin/ollama"
inline void read_version_in_path(Start& start, const Hit& hit) {
    const std::string_view line = hit.first_line();
    const std::size_t folder = line.find("/ollama/");
    const std::string_view name = folder == line.npos ? std::string_view{} : line.substr(folder + 8, 32);
    const std::string_view version = name.substr(0, name.find('/'));
    if (digits_at(version, 0) > 0 && version.find('.') != version.npos && version.size() < name.size()) {
        start.facts.offer("version", words(version, hit.line));
    }
}

inline void read_command(Start& start, const Hit& hit, const Words& at) {
    mark(start, hit, at);
    const auto take = [&](std::string_view pattern, std::string_view fact) {
        if (const auto found = seek(hit.first_line(), pattern)) {
            start.facts.put(fact, datum_of(found->at[0], found->kind[0], hit.line));
        }
    };
    take("--ctx-size {n}", "n_ctx");
    take("--batch-size {n}", "batch");
    take("--parallel {n}", "n_seq_max");
    take("--kv-cache-type {w}", "kv_cache_type");
    read_version_in_path(start, hit);
}

/// A request to close has zeros, which say nothing of the load.
inline void read_request(Start& start, const Hit& hit, const Words& at) {
    mark(start, hit, at);
    const auto take = [&](std::string_view pattern, std::string_view fact) {
        if (const auto found = seek(hit.first_line(), pattern); found && found->at[0] != "0") {
            start.facts.put(fact, datum_of(found->at[0], found->kind[0], hit.line));
        }
    };
    take("Parallel:{n}", "n_seq_max");
    take("BatchSize:{n}", "batch");
    take("KvSize:{n}", "n_ctx");
    if (const auto type = seek(hit.first_line(), "KvCacheType:{w}");
        type && type->at[0].find(':') == type->at[0].npos) {
        start.facts.put("kv_cache_type", words(type->at[0], hit.line));
    }
}

inline constexpr Rule rules[] = {
    {" ollama[{n}]", {}, Keep::tag, mark},
    {"source=server.go:", {}, Keep::tag, mark},
    {"source=device.go:", {}, Keep::tag, mark},
    {"source=sched.go:", {}, Keep::tag, mark},
    {"source=memory.go:", {}, Keep::tag, mark},
    {"source=backend.go:", {}, Keep::tag, mark},
    {"source=ggml.go:", {}, Keep::tag, mark},
    {"source=routes.go:", {}, Keep::tag, mark},
    {"source=runner.go:", {}, Keep::tag, mark},
    {"msg=\"model weights\"", {}, Keep::last, read_weights},
    {"msg=\"kv cache\"", {}, Keep::last, read_cache},
    {"msg=\"compute graph\"", {}, Keep::last, read_graph},
    {"msg=\"total memory\"", {}, Keep::last, read_total},
    {"msg=\"system memory\"", {}, Keep::last, read_system},
    {"msg=\"gpu memory\"", {}, Keep::last, read_gpu},
    {"\"model layers\"={n}", {}, Keep::last, read_layers},
    {"msg=offload", {}, Keep::last, read_offload},
    {"msg=\"offload to ", {}, Keep::last, read_offload},
    {"msg=\"starting llama server\"", {}, Keep::last, read_command},
    {"msg=\"starting runner\"", {}, Keep::last, read_command},
    {"msg=\"starting ollama engine\"", {}, Keep::last, read_command},
    {"msg=load request=", {}, Keep::last, read_request},
};
static_assert(have_stems(rules));

}  // namespace kvcap::inline v1::logs::ollama
