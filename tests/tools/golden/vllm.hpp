// SPDX-License-Identifier: MIT
// What vLLM's golden formats share: models lowered from layer types, specs read as they are, and results as
// JSON.
#pragma once

#include "strict_object.hpp"

#include <kvcap/core.hpp>
#include <kvcap/engine/vllm.hpp>
#include <string>
#include <vector>

namespace golden {

using namespace kvcap;

inline bool of_vllm(const File& file, const char* schema) {
    return file.says("engine", "vllm") && file.says("schema", schema);
}

/// A capacity case: a model in forms, the engine, its split and memory. types: of each form; caches:
/// "layer:type".
struct VllmCase {
    ModelSpec model{};
    vllm::Options options{};
    Sharding sharding{};
    std::vector<Bytes> available;
    std::vector<std::string> types;
    std::vector<std::string> caches;
    std::string model_dtype;
    std::string conv_dtype;
    std::string ssm_dtype;
};

/// `engine` and `model` of capacity/1, or `options` and `model` of an observation (whose memory keys are left
/// unread).
VllmCase vllm_case(const StrictObject& engine, const StrictObject& model);

/// One rank-local spec as vLLM reports it (`resolved.layer_types`, engine_tests/1). shapes: those seen, for
/// equality.
vllm::Spec vllm_spec(const Json& json, std::vector<Json>& shapes);

/// Caches by group and worker.
struct VllmGroups {
    const vllm::Design& made;
    std::vector<std::vector<std::vector<u32>>> members;  ///< [kind][group] cache numbers, in place order

    explicit VllmGroups(const vllm::Design& design);
    std::vector<u32> on_stage(u32 kind, u32 group, u32 stage) const;
};

/// The tensors of one worker; `names` of the caches, under `key`.
Json vllm_tensors(const VllmGroups& groups, u32 stage, u64 blocks, const std::vector<std::string>& names,
                  const char* key);

/// vLLM's word for the kind of a group.
std::string vllm_group_kind(const VllmGroups& groups, u32 kind);

/// Category and numbers of a refusal.
Json vllm_error(const vllm::Refusal& refusal);

/// printf("%.2f").
std::string two_decimals(double value);

}  // namespace golden
