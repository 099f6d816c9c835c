// SPDX-License-Identifier: MIT
// Do the expert ranks and shards that a line says make its tensor ranks?
#pragma once

#include <kvcap/io/diagnosis.hpp>
#include <kvcap/units.hpp>
#include <string>
#include <vector>

namespace kvcap::inline v1::io {

/// ranks, shards: 0 where the line does not say them. said: by which flags, for the sentence.
struct LaunchExperts {
    u32 ranks = 0;
    u32 shards = 0;
    bool all_to_all = false;
    std::string said{};

    void say(const std::string& flag, const std::string& value) {
        said += (said.empty() ? "" : ", ") + flag + " " + value;
    }

    /// An all-to-all backend deals whole experts to every tensor rank, whatever ranks the line says. Source: SGLang,
    /// server_args.py (_handle_a2a_moe: ep_size = tp_size for all but "none"; before 0.5 by switches of their own).
    void take_backend(const std::string& flag, const std::string& backend, std::vector<Note>& notes) {
        all_to_all = backend != "none";
        if (all_to_all) {
            notes.push_back({Origin::assumed, flag, "whole experts on every rank; its buffers are in non-KV memory"});
        }
    }

    /// Over how many of the tp ranks experts are dealt whole.
    u32 whole(u32 tp) const noexcept { return all_to_all ? tp : static_cast<u32>(larger(ranks, 1)); }

    /// What is wanted instead; empty: they do. Sources: SGLang, server_args.py ("tp_size must be divisible by
    /// ep_size"); TensorRT-LLM, mapping.py (moe_tp_size x moe_ep_size = tp_size).
    std::string uneven(u32 tp) const {
        const u64 parts = u64{whole(tp)} * larger(shards, 1);
        const bool both = ranks != 0 && shards != 0;
        if (both ? parts == tp : tp % parts == 0) {
            return {};
        }
        return said + ": wanted " + (both ? "numbers whose product is" : "a number that divides") + " the " +
               std::to_string(tp) + " tensor ranks";
    }
};

}  // namespace kvcap::inline v1::io
