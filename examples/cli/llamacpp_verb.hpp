// SPDX-License-Identifier: MIT
// What the parts of the verb `llamacpp` share: its options, and everything that its screen and JSON show.
#pragma once

#include "llamacpp.hpp"

#include <algorithm>
#include <optional>

namespace kvcap::cli {

struct LlamaOptions {
    ModelOptions model;
    std::string context = "0";
    std::string batch = "2048";
    std::string ubatch = "512";
    int parallel = 1;
    u32 rollback = 0;
    std::string type_k = "f16";
    std::string type_v = "f16";
    std::string flash = "auto";
    bool swa_full = false;
    bool unified = false;
    bool server = false;
    bool no_kv_offload = false;
    bool context_said = false;
    bool parallel_said = false;
    u32 gpu_layers = ~u32{0};
    u32 host_experts = 0;
    bool all_on_host = false;
    std::string split_mode = "layer";
    std::vector<float> shares;
    std::vector<std::string> devices;
    std::string gpu;
    u32 gpus = 0;
    u32 threads = 0;
    std::string compute;
    std::string prompts;
    u32 checkpoints = 32;
    std::string min_step = "8192";
    std::string reuse_chunk = "0";
    std::string ram = "8GiB";
    Output output;
};

/// Everything the screen and the JSON show.
struct LlamaFinding {
    LlamaModel model;
    llamacpp::Options options{};
    llamacpp::Layout layout{};
    llamacpp::Devices devices{};
    llamacpp::DeviceMemory memory{};
    llamacpp::PerDevice caches{};
    llamacpp::PerDevice weights{};
    std::vector<u64> experts{};  ///< bytes of each block's; empty: the model has none
    u32 host_experts = 0;        ///< of so many first blocks they are on the CPU
    u32 largest_context = 0;
    u32 most_offloaded = 0;
    std::optional<u32> least_host_experts{};
    bool sized = false;   ///< devices have sizes
    bool by_fit = false;  ///< --fit chose n_ctx
    u32 of_model = 0;     ///< the longest n_ctx that the model allows, for all sequences; 0: not said

    bool layered() const { return options.split_mode == llamacpp::SplitMode::layer; }
    u64 on(int device) const {
        const u64 compute = device == llamacpp::on_cpu ? 0 : memory.compute[device];
        return saturating_sum(saturating_sum(caches.at(device), weights.at(device)), compute);
    }
    /// Whether compute buffers are given: without them what fits is one of what they leave.
    bool computes() const {
        const u64* const end = memory.compute + devices.count;
        return std::any_of(memory.compute, end, [](u64 bytes) { return bytes != 0; });
    }
    bool fits() const {
        bool all = true;
        for (u32 d = 0; d < devices.count; ++d) {
            all = all && on(static_cast<int>(d)) <= memory.available[d];
        }
        return all;
    }
};

/// llama.cpp's own options, as the flags and --server have them, before --fit lowers anything.
llamacpp::Options options_of(const LlamaOptions& o, const llamacpp::Card& card);
/// Stops where llama.cpp refuses.
LlamaFinding finding_of(const LlamaOptions& o, const Model& model);

std::string screen_of(const LlamaFinding& found, const Model& model, report::Unit unit, const Session& session);
std::string json_of(const LlamaFinding& found, const Model& model);

}  // namespace kvcap::cli
