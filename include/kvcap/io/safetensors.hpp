// SPDX-License-Identifier: MIT
// Exact weights from safetensors headers: 8 bytes of length (little endian) and a JSON object of tensors with
// dtype, shape and offsets; an index lists the files of a model. Parts follow from tensor names.
#pragma once

#include <kvcap/io/json_load.hpp>
#include <kvcap/io/text_file.hpp>
#include <kvcap/io/weights.hpp>

namespace kvcap::inline v1 {

namespace io {

/// Bits of one element. 0: not a safetensors dtype.
constexpr u32 dtype_bits(std::string_view name) noexcept {
    struct Bits {
        std::string_view name;
        u32 bits;
    };
    constexpr Bits known[] = {{"BF16", 16},   {"F16", 16},    {"F32", 32}, {"F64", 64},    {"F8_E4M3", 8},
                              {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"F4", 4},   {"F6_E2M3", 6}, {"F6_E3M2", 6},
                              {"I8", 8},      {"U8", 8},      {"I16", 16}, {"U16", 16},    {"I32", 32},
                              {"U32", 32},    {"I64", 64},    {"U64", 64}, {"BOOL", 8}};
    for (const Bits& each : known) {
        if (each.name == name) {
            return each.bits;
        }
    }
    return 0;
}

/// As many layers as a config may have.
inline constexpr u32 most_weight_layers = 4096;

constexpr bool contains(std::string_view text, std::string_view what) noexcept {
    return text.find(what) != std::string_view::npos;
}

/// The layer in ".layers.N." (or .h.N. .blocks.N.), else no_layer.
inline u32 layer_in(std::string_view tensor) noexcept {
    for (const std::string_view mark : {"layers.", "h.", "blocks.", "block."}) {
        const std::size_t at = tensor.find(mark);
        const bool whole = at != std::string_view::npos && (at == 0 || tensor[at - 1] == '.');
        std::size_t i = whole ? at + mark.size() : tensor.size();
        u32 layer = 0;
        const std::size_t from = i;
        while (i < tensor.size() && tensor[i] >= '0' && tensor[i] <= '9' && layer < 100'000) {
            layer = layer * 10 + static_cast<u32>(tensor[i++] - '0');
        }
        if (i > from) {
            return layer;
        }
    }
    return no_layer;
}

/// What parallelism does to a tensor of this name.
inline WeightPart part_of(std::string_view name) noexcept {
    if (contains(name, "vision") || contains(name, "visual") || contains(name, "audio_tower")) {
        return WeightPart::whole;
    }
    if (contains(name, "embed_tokens") || contains(name, "wte.") || contains(name, "word_embeddings")) {
        return WeightPart::embedding;
    }
    if (contains(name, "lm_head") || contains(name, "embed_out") || begins_with(name, "output.")) {
        return WeightPart::head;
    }
    if (contains(name, ".experts.")) {
        return WeightPart::experts;
    }
    if (contains(name, "norm") || contains(name, "router") || contains(name, ".gate.weight") ||
        contains(name, "_a_proj") || contains(name, "kv_a_proj_with_mqa") || contains(name, "indexer")) {
        return WeightPart::whole;
    }
    if (contains(name, "k_proj") || contains(name, "v_proj")) {
        return WeightPart::keys;
    }
    return contains(name, "attn") || contains(name, "attention") || contains(name, "mixer")
               ? WeightPart::attention
               : WeightPart::dense;
}

inline void add_type(std::vector<WeightType>& types, std::string_view dtype, u64 parameters, u64 bytes) {
    for (WeightType& type : types) {
        if (type.dtype == dtype) {
            type.parameters = saturating_sum(type.parameters, parameters);
            type.bytes = saturating_sum(type.bytes, bytes);
            return;
        }
    }
    types.push_back({std::string{dtype}, parameters, bytes});
}

inline std::optional<Problem> add_tensor(Weights& weights, std::string_view name, JsonValue tensor) {
    const std::string_view dtype = tensor["dtype"].text();
    const u32 bits = dtype_bits(dtype);
    if (bits == 0 || !tensor["shape"].is_array()) {
        return Problem{Trouble::invalid,
                       "/" + std::string{name},
                       tensor["dtype"].shown(),
                       "a tensor's dtype and shape",
                       {}};
    }
    u64 elements = 1;
    bool whole = true;
    tensor["shape"].each([&](u32, std::string_view, JsonValue size) {
        whole = whole && size.is_whole();
        elements = saturating_product(elements, size.whole());
    });
    const u64 bytes = ceil_div(saturating_product(elements, bits), 8);
    JsonValue offsets = tensor["data_offsets"];
    u64 ends[2]{0, bytes};
    offsets.each([&](u32 i, std::string_view, JsonValue end) { ends[i < 2 ? i : 1] = end.whole(); });
    if (!whole || elements == off_scale || ends[1] - ends[0] != bytes) {
        return Problem{Trouble::invalid, "/" + std::string{name}, "a shape that does not fill its bytes",
                       std::to_string(bytes) + " bytes", {}};
    }
    const u32 layer = layer_in(name);
    if (layer != no_layer && layer >= most_weight_layers) {
        return Problem{Trouble::invalid, "/" + std::string{name}, "layer " + std::to_string(layer),
                       "a layer below " + std::to_string(most_weight_layers), {}};
    }
    weights.layers =
        layer == no_layer ? weights.layers : static_cast<u32>(larger(weights.layers, u64{layer} + 1));
    weights.add({.part = part_of(name), .layer = layer, .parameters = elements, .bytes = bytes});
    add_type(weights.types, dtype, elements, bytes);
    return std::nullopt;
}

inline Diagnosed<JsonDocument> load_header(const std::filesystem::path& path) {
    std::ifstream in{path, std::ios::binary};
    unsigned char size[8]{};
    in.read(reinterpret_cast<char*>(size), 8);
    u64 length = 0;
    for (int i = 7; i >= 0; --i) {
        length = length << 8 | size[i];
    }
    if (!in || length > (u64{16} << 20)) {
        return Problem{Trouble::unreadable, {}, "no safetensors header", "a length up to 16 MiB and JSON", {}};
    }
    std::string text(static_cast<std::size_t>(length), '\0');
    in.read(text.data(), static_cast<std::streamsize>(length));
    text.resize(static_cast<std::size_t>(in.gcount()));
    return load_json(text, {.values = u32{1} << 21});
}

inline std::optional<Problem> add_tensors(Weights& weights, const JsonDocument& header) {
    std::optional<Problem> problem;
    if (!root_of(header).is_object()) {
        problem = Problem{Trouble::invalid, {}, root_of(header).shown(), "an object of tensors", {}};
    }
    root_of(header).each([&](u32, std::string_view name, JsonValue tensor) {
        if (!problem && name != "__metadata__") {
            problem = add_tensor(weights, name, tensor);
        }
    });
    return problem;
}

inline std::optional<Problem> add_safetensors(Weights& weights, const std::filesystem::path& path) {
    const Diagnosed<JsonDocument> header = load_header(path);
    std::optional<Problem> problem = header ? add_tensors(weights, *header) : header.error;
    return problem ? std::optional{in_file(path.string(), *std::move(problem))} : std::nullopt;
}

}  // namespace io

/// Exact weights of a folder: all its safetensors headers; with files missing, the index's total_size alone
/// (no groups). No value and no error: the folder has neither.
inline Diagnosed<Weights> read_safetensors(const std::filesystem::path& folder) {
    std::error_code wrong;
    const std::filesystem::path list = folder / "model.safetensors.index.json";
    Weights weights{.source = WeightSource::safetensors};
    std::vector<std::filesystem::path> files;
    Diagnosed<JsonDocument> index;
    if (std::filesystem::is_regular_file(list, wrong)) {
        const Diagnosed<std::string> text = read_text_file(list);
        if (!text) {
            return *text.error;
        }
        index = load_json(*text, {.values = u32{1} << 20});
        if (!index) {
            return io::in_file(list.string(), *std::move(index.error));
        }
        root_of(*index)["weight_map"].each([&](u32, std::string_view, JsonValue file) {
            files.push_back(folder / std::filesystem::path{file.text()}.filename());
        });
        std::sort(files.begin(), files.end());
        files.erase(std::unique(files.begin(), files.end()), files.end());
    } else if (std::filesystem::is_regular_file(folder / "model.safetensors", wrong)) {
        files.push_back(folder / "model.safetensors");
    }
    const bool all = std::all_of(files.begin(), files.end(),
                                 [&](const auto& file) { return std::filesystem::exists(file, wrong); });
    if (files.empty()) {
        return {};
    }
    if (!all) {
        const u64 total = root_of(*index)["metadata"]["total_size"].whole();
        return total == 0 ? Diagnosed<Weights>{} : Weights{.source = WeightSource::index, .bytes = total};
    }
    for (const std::filesystem::path& file : files) {
        if (std::optional<Problem> problem = io::add_safetensors(weights, file)) {
            return *std::move(problem);
        }
    }
    return weights;
}

}  // namespace kvcap::inline v1
