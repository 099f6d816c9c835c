// SPDX-License-Identifier: MIT
// How does a config say that its weights are quantised, and how large is each part then? fp8 leaves the vocabulary in
// 16 bits, MXFP4 (gpt-oss) packs the matrices of experts alone.
#pragma once

#include <algorithm>
#include <iterator>
#include <kvcap/io/json_load.hpp>
#include <kvcap/io/letters.hpp>
#include <kvcap/io/proportion.hpp>
#include <kvcap/io/weights.hpp>

namespace kvcap::inline v1::io {

/// "fp8", "modelopt NVFP4" ...: the method in the config's own words; empty when it says none.
inline std::string quantisation_of(std::string_view json_text) {
    std::string method;
    const Diagnosed<JsonDocument> document = load_json(json_text);
    if (!document) {
        return method;
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
    return method;
}

/// The quantised format that a model's name says, as it says it: "NVFP4" of "nvidia/DeepSeek-V3.1-NVFP4"; empty: none.
inline std::string format_in_name(std::string_view name) {
    constexpr std::string_view formats[] = {"nvfp4", "fp4",   "mxfp4", "fp8",  "awq",  "gptq", "int4",
                                            "int8",  "w4a16", "w8a8",  "4bit", "8bit", "bnb",  "nf4"};
    for (std::size_t from = name.rfind('/') + 1; from < name.size();) {
        const std::size_t end = smaller(name.find_first_of("-_.", from), name.size());
        const std::string_view word = name.substr(from, end - from);
        if (std::find(std::begin(formats), std::end(formats), lower_case(word)) != std::end(formats)) {
            return std::string{word};
        }
        from = end + 1;
    }
    return {};
}

/// quantization.quant_algo of an hf_quant_config.json: "NVFP4"; empty when it says none.
inline std::string quantisation_beside(std::string_view json_text) {
    const Diagnosed<JsonDocument> document = load_json(json_text);
    const JsonValue said = document ? root_of(*document)["quantization"]["quant_algo"] : JsonValue{};
    return said.is_text() ? std::string{said.text()} : std::string{};
}

/// `shape` (16 bits a parameter) with 8 bits a parameter outside the embedding and the head.
inline Weights with_fp8(Weights shape) {
    shape.bytes = 0;
    for (WeightGroup& group : shape.groups) {
        const bool vocabulary = group.part == WeightPart::embedding || group.part == WeightPart::head;
        group.bytes = vocabulary ? group.bytes : group.parameters;
        shape.bytes = saturating_sum(shape.bytes, group.bytes);
    }
    return shape;
}

/// `shape` (16 bits a parameter) with the matrices of its experts in MXFP4: 17 bytes, of which one is a scale, for 32
/// parameters. packed: bytes of these, where a card states them, and what they do not reach (biases) stays at 16 bits;
/// 0: not known, and all of the experts are packed.
inline Weights with_experts_in_mxfp4(Weights shape, u64 packed) {
    std::vector<u64> experts;
    u64 parameters = 0;
    for (const WeightGroup& group : shape.groups) {
        experts.push_back(group.part == WeightPart::experts ? group.parameters : 0);
        parameters = saturating_sum(parameters, experts.back());
    }
    if (parameters == 0) {
        return shape;
    }
    const u64 stored = packed == 0 ? parameters : smaller(product_over(packed, 32, 17), parameters);
    const std::vector<u64> four_bits =
        in_proportion(packed == 0 ? product_over(stored, 17, 32) : packed, experts);
    const std::vector<u64> sixteen = in_proportion(saturating_product(2, parameters - stored), experts);
    shape.bytes = 0;
    for (std::size_t i = 0; i < shape.groups.size(); ++i) {
        WeightGroup& group = shape.groups[i];
        group.bytes = group.part == WeightPart::experts ? saturating_sum(four_bits[i], sixteen[i]) : group.bytes;
        shape.bytes = saturating_sum(shape.bytes, group.bytes);
    }
    return shape;
}

}  // namespace kvcap::inline v1::io
