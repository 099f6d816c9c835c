// SPDX-License-Identifier: MIT
// How many experts does a token visit, of how many, in how many layers? From the same config keys that count
// the parameters. What a step reads and what expert traffic costs follow from it.
#pragma once

#include <cmath>
#include <kvcap/io/hf.hpp>
#include <kvcap/io/weights.hpp>

namespace kvcap::inline v1 {

/// layers: those with routed experts. Dense models: all 0 but `hidden`.
struct Mixture {
    u32 layers = 0;
    u32 experts = 0;
    u32 per_token = 0;
    u32 hidden = 0;

    constexpr bool routed() const noexcept { return layers != 0 && experts != 0 && per_token != 0; }

    /// Share of all experts that `tokens` tokens visit in one layer when routing is even: 1 - (1 - k / E)^n.
    double share(u64 tokens) const {
        const double missed = 1 - static_cast<double>(per_token) / static_cast<double>(experts);
        return routed() ? 1 - std::pow(missed, static_cast<double>(tokens)) : 1;
    }
    friend constexpr bool operator==(const Mixture&, const Mixture&) = default;
};

/// `weights` of the same config tell which layers have experts.
inline Mixture mixture_of(std::string_view config, const Weights& weights) {
    const Diagnosed<JsonDocument> document = load_json(config);
    if (!document) {
        return {};
    }
    const JsonValue block = hf::find_decoder(root_of(*document)).block;
    const auto first = [&](std::initializer_list<const char*> keys) {
        u64 found = 0;
        for (const char* key : keys) {
            found = found == 0 ? block[key].whole() : found;
        }
        return static_cast<u32>(smaller(found, 1u << 30));
    };
    Mixture mixture{.hidden = first({"hidden_size", "d_model", "n_embd"})};
    for (const WeightGroup& group : weights.groups) {
        mixture.layers += group.part == WeightPart::experts ? 1 : 0;
    }
    if (mixture.layers != 0) {
        mixture.experts = first({"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"});
        mixture.per_token = first({"num_experts_per_tok", "num_experts_per_token", "experts_per_token",
                                   "top_k_experts", "moe_topk", "moe_k"});
    }
    return mixture;
}

}  // namespace kvcap::inline v1
