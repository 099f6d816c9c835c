// SPDX-License-Identifier: MIT
// What does a model file give beyond its caches? The one result of every reader (config.json, GGUF, spec line).
#pragma once

#include <kvcap/io/diagnosis.hpp>
#include <kvcap/model.hpp>
#include <string>
#include <vector>

namespace kvcap::inline v1 {

/// A layer that attends to the cache of an earlier layer.
struct SharedLayer {
    u32 layer = 0;
    u32 source = 0;
    friend bool operator==(const SharedLayer&, const SharedLayer&) = default;
};

/// What the textbook formula 2 x layers x kv_heads x head_dim reads off the top-level keys.
struct Textbook {
    u64 layers = 0;
    u64 kv_heads = 0;
    u64 head_dim = 0;
    u64 elements_per_token() const noexcept { return 2 * layers * kv_heads * head_dim; }
    friend bool operator==(const Textbook&, const Textbook&) = default;
};

struct ReadModel {
    std::string name;          ///< as the file calls itself; empty when it does not
    std::string architecture;  ///< model_type of the decoder that was read
    std::string outer_type;    ///< model_type at the top level, when it differs
    std::string class_name;    ///< first entry of `architectures`, when given
    ModelSpec spec{};          ///< trunk only
    ModelSpec draft{};         ///< draft (MTP) layers the file describes; cached only with speculative decoding
    std::vector<SharedLayer> shared;
    Textbook textbook{};
    u64 max_context = 0;       ///< tokens; 0 when the file does not say
    u64 encoder_tokens = 0;    ///< most encoder tokens of a cross-attention model; 0 when unknown
    std::string kv_dtype_hint; ///< quantization_config.kv_cache_scheme and the like; a hint, never an order
    std::string model_dtype;   ///< torch_dtype / dtype; empty when absent
    friend bool operator==(const ReadModel&, const ReadModel&) = default;
};

}  // namespace kvcap::inline v1
