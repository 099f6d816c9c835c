// SPDX-License-Identifier: MIT
// Observations of TensorRT-LLM: blocks, tokens and bytes of a pool with one window.
#include "observations.hpp"
#include "trtllm.hpp"

namespace golden {

namespace {

using namespace kvcap;

/// The record as the inputs of a golden case of kind pool_blocks.
Json inputs_of(const Observation& asked) {
    Json inputs = asked.model;
    for (const char* key : {"tp", "pp", "attention_dp", "dtype", "tokens_per_block", "free_fraction",
                            "max_tokens", "host_bytes", "path"}) {
        inputs[key] = asked.options.at(key);
    }
    inputs["free_bytes"] = asked.has_budget ? asked.budget : u64{1} << 50;
    return inputs;
}

Json answer(const Observation& asked) {
    const Json inputs = inputs_of(asked);
    const StrictObject in{inputs};
    Json got = trtllm_pool_blocks(in);
    in.done("the model");
    got["kv_gib_2dp"] = scaled_text(got["pool_bytes"].get<std::uint64_t>(), 30, 2);
    got["kv_bytes"] = got["pool_bytes"];
    if (asked.options.has("max_seq_len")) {
        got["blocks_per_sequence"] =
            ceil_div(asked.options.get<u64>("max_seq_len"), asked.options.get<u64>("tokens_per_block"));
    }
    return got;
}

/// Below the bytes of one token, so that every token count comes up.
std::uint64_t step(const Observation& asked) {
    return larger(answer(asked)["bytes_per_token"].get<std::uint64_t>() / 2, 1);
}

}  // namespace

extern const Observer trtllm_observer{"tensorrt_llm", answer, step};

}  // namespace golden
