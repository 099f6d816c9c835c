// SPDX-License-Identifier: MIT
// What does a model file give beyond its caches? The one result of every reader (config.json, GGUF, spec line).
#pragma once

#include <kvcap/io/diagnosis.hpp>
#include <kvcap/model.hpp>
#include <kvcap/models/rope.hpp>
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

/// Facts of a sparse-attention index that do not change its size: queries' index heads, entries picked per query.
struct IndexFacts {
    u64 heads = 0;
    u64 picked = 0;        ///< top-k entries, or blocks when block > 0
    u64 block = 0;         ///< tokens of a block (block-sparse attention), else 0
    friend bool operator==(const IndexFacts&, const IndexFacts&) = default;
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
    RopeScaling rope{};        ///< what engines may make another context of
    u64 encoder_tokens = 0;    ///< most encoder tokens of a cross-attention model; 0 when unknown
    std::string kv_dtype_hint; ///< quantization_config.kv_cache_scheme and the like; a hint, never an order
    std::string state_dtype_hint; ///< mamba_ssm_dtype beside the decoder's keys; empty when absent
    std::string model_dtype;   ///< torch_dtype / dtype; empty when absent
    std::string draft_key;     ///< the key that says how many draft layers there are; empty without any
    u64 query_heads = 0;       ///< as the file's top-level key says (ModelSpec has the divisor over layers); 0: none
    u64 rope_in_latent = 0;    ///< rotated elements that are part of the latent vector (DeepSeek-V4)
    u64 expanded_elements = 0; ///< per token and layer where MLA heads are cached expanded (plain transformers)
    u64 experts = 0;           ///< routed experts of a layer; 0: a dense model, or not said
    u64 expert_width = 0;      ///< rows of an expert's gate and up matrices; 0: no experts, or not said
    u64 weight_block = 0;      ///< rows that one scale of a quantised matrix covers; 0: not quantised in blocks
    IndexFacts index{};
    bool is_draft = false;     ///< the file is itself a draft model (EAGLE, DFlash, DSpark)
    friend bool operator==(const ReadModel&, const ReadModel&) = default;
};

}  // namespace kvcap::inline v1
