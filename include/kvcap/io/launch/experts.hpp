// SPDX-License-Identifier: MIT
// Do the expert ranks and shards that a line says make its tensor ranks?
#pragma once

#include <functional>
#include <kvcap/units.hpp>
#include <map>
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

    /// An all-to-all backend deals whole experts to every tensor rank, whatever ranks the line says. Source: SGLang,
    /// server_args.py (_handle_a2a_moe: ep_size = tp_size for all but "none"; before 0.5 by a switch).
    void take_backend(const std::map<std::string, std::string, std::less<>>& flags, u32 tp) {
        const auto backend = flags.find("--moe-a2a-backend");
        const bool dealt = backend != flags.end() && backend->second != "none";
        if (dealt || flags.count("--enable-deepep-moe") + flags.count("--enable-ep-moe") != 0) {
            ranks = tp;
        }
    }

    u32 whole() const noexcept { return static_cast<u32>(larger(ranks, 1)); }

    /// What is wanted instead; empty: they do. Sources: SGLang, server_args.py ("tp_size must be divisible by
    /// ep_size"); TensorRT-LLM, mapping.py (moe_tp_size x moe_ep_size = tp_size).
    std::string uneven(u32 tp) const {
        const u64 parts = u64{whole()} * larger(shards, 1);
        const bool both = ranks != 0 && shards != 0;
        if (both ? parts == tp : tp % parts == 0) {
            return {};
        }
        return said + ": wanted " + (both ? "numbers whose product is" : "a number that divides") + " the " +
               std::to_string(tp) + " tensor ranks";
    }
};

}  // namespace kvcap::inline v1::io
