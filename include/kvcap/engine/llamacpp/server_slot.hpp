// SPDX-License-Identifier: MIT
// What does llama-server keep about a slot? The tokens it believes its memory holds, and checkpoints: copies
// of what the memory was when a batch began. Source: llama.cpp v0.5.0, tools/server/server-context.cpp.
#pragma once

#include <kvcap/units.hpp>
#include <vector>

namespace kvcap::inline v1::llamacpp {

using TokenList = std::vector<u32>;

/// checkpoints: most a slot keeps (0: none). reuse_chunk: --cache-reuse. ram: --cache-ram in bytes (0: off).
struct ReuseOptions {
    u32 checkpoints = 32;
    u64 min_step = 8192;
    u64 reuse_chunk = 0;
    u64 ram = u64{8192} << 20;
};

/// tokens: decoded when it was taken. first, last: positions the memory held. kept: positions of the window
/// half that were saved. task: the request that took it.
struct Checkpoint {
    u64 tokens = 0;
    u64 first = 0;
    u64 last = 0;
    u64 task = 0;
    u64 bytes = 0;
    std::vector<u64> kept;
};

/// history: what the server believes the memory holds. truth: the tokens the state was really computed over.
/// state_at: position of the state's last token.
struct SlotContent {
    TokenList history;
    TokenList truth;
    std::vector<Checkpoint> checkpoints;
    u64 state_at = 0;
};

inline u64 common_prefix(const TokenList& a, const TokenList& b) {
    u64 n = 0;
    while (n < a.size() && n < b.size() && a[n] == b[n]) {
        ++n;
    }
    return n;
}

inline double part_of(u64 part, std::size_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// The newest checkpoint that reaches `next` and still has what a window needs (`threshold`).
inline const Checkpoint* newest_usable(const std::vector<Checkpoint>& all, u64 next, u64 threshold) {
    for (auto at = all.rbegin(); at != all.rend(); ++at) {
        if (at->last <= next && (at->first < threshold || at->first == 0)) {
            return &*at;
        }
    }
    return nullptr;
}

/// Adds a checkpoint; one with as many tokens is replaced. A full list first loses those of earlier requests
/// that are close to their predecessor, then the oldest. pre: options.checkpoints > 0
inline void keep_checkpoint(std::vector<Checkpoint>& all, Checkpoint now, const ReuseOptions& options) {
    std::erase_if(all, [&](const Checkpoint& c) { return c.tokens == now.tokens; });
    while (all.size() >= options.checkpoints) {
        std::size_t gone = 0;
        for (std::size_t i = 1; i < all.size() && gone == 0; ++i) {
            const bool close = all[i].tokens < saturating_sum(all[i - 1].tokens, options.min_step);
            gone = all[i].task != now.task && close ? i : 0;
        }
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(gone));
    }
    all.push_back(std::move(now));
}

}  // namespace kvcap::inline v1::llamacpp
