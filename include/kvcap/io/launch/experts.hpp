// SPDX-License-Identifier: MIT
// Do the expert ranks and shards that a line says make its tensor ranks?
#pragma once

#include <kvcap/units.hpp>
#include <string>

namespace kvcap::inline v1::io {

/// ranks, shards: 0 where the line does not say them. said: by which flags, for the sentence.
struct LaunchExperts {
    u32 ranks = 0;
    u32 shards = 0;
    std::string said{};

    void say(const std::string& flag, const std::string& value) {
        said += (said.empty() ? "" : ", ") + flag + " " + value;
    }

    /// What is wanted instead; empty: they do. Sources: SGLang, server_args.py ("tp_size must be divisible by
    /// ep_size"); TensorRT-LLM, mapping.py (moe_tp_size x moe_ep_size = tp_size).
    std::string uneven(u32 tp) const {
        const u64 parts = u64{larger(ranks, 1)} * larger(shards, 1);
        const bool both = ranks != 0 && shards != 0;
        if (both ? parts == tp : tp % parts == 0) {
            return {};
        }
        return said + ": wanted " + (both ? "numbers whose product is" : "a number that divides") + " the " +
               std::to_string(tp) + " tensor ranks";
    }
};

}  // namespace kvcap::inline v1::io
