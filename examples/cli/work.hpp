// SPDX-License-Identifier: MIT
// What roofline and advise share: a model with its weights, experts and facts on a device, and its split.
#pragma once

#include "memory.hpp"

#include <kvcap/io/weight_reads.hpp>
#include <kvcap/roofline.hpp>

namespace kvcap::cli {

/// --gpu --compute --link
struct DeviceOptions {
    std::string gpu;
    std::string compute = "bf16";
    std::string link;

    void add_to(CLI::App& verb);
};

/// link_words: "NVLink 4, 450 GB/s" or what --link says.
struct Machine {
    Gpu gpu;
    Device device{};
    std::string compute;
};

/// What the catalogue lacks of a GPU to bound time at that type: "bf16 rate"; empty: nothing.
std::string unrated(const Machine& machine);

/// timed: exit 3 when the catalogue lacks any of it.
Machine machine_of(const DeviceOptions& options, bool timed);

/// weights_given: bytes of one rank, outright, of the parts that `weights` has; else `weights` divided.
struct Work {
    Model model{};
    Weights weights{};
    Mixture mixture{};
    AttentionFacts facts{};
    std::optional<Bytes> weights_given{};
    std::vector<Note> notes{};

    bool weights_known() const { return weights_given || weights.bytes != 0; }
    /// What a step of `tokens` tokens reads on a rank of `stage`; nothing when weights are not known.
    Result<WeightReads> reads(const Sharding& split, bool attention_dp, u64 tokens, u32 stage) const;
    /// Weights in the memory of a rank.
    Bytes stored(const Sharding& split, bool attention_dp, u32 stage) const;
};

/// sharding: where context ranks lie; a usage error when the model has too few copies for them there.
Work work_of(const ModelOptions& options, const ShardingOptions& sharding, const std::string& weights_bytes);

}  // namespace kvcap::cli
