// SPDX-License-Identifier: MIT
// How do requests of TensorRT-LLM become keys, and what do all windows make of them? Definitions for
// reuse_class.hpp.
#pragma once

#include <algorithm>
#include <kvcap/engine/trtllm/reuse_class.hpp>
#include <set>

namespace kvcap::inline v1::trtllm {

inline BlockReuse::BlockReuse(const ReuseRules& rules) : rules_{rules} {
    if (rules.windows.empty()) {
        windows_.push_back(std::make_unique<WindowReuse>(rules, rules.max_seq_len));
    }
    ReuseRules own = rules;
    for (std::size_t i = 0; i < rules.windows.size(); ++i) {
        own.primary_blocks = i < rules.primary_of.size() ? rules.primary_of[i] : rules.primary_blocks;
        own.secondary_blocks = i < rules.secondary_of.size() ? rules.secondary_of[i] : rules.secondary_blocks;
        windows_.push_back(std::make_unique<WindowReuse>(own, smaller(rules.windows[i], rules.max_seq_len)));
    }
}

/// Keys of the first `tokens` tokens; short_tail: also of a last block that is not full.
inline std::vector<BlockKey> BlockReuse::keys_of(const Prompt& prompt, u64 tokens, bool short_tail) const {
    std::vector<BlockKey> keys;
    const u64 per = rules_.tokens_per_block;
    for (u64 begin = 0; begin < tokens && (short_tail || begin + per <= tokens); begin += per) {
        const u64 end = smaller(begin + per, tokens);
        BlockKey key{.extra_ids = !prompt.extra.empty(), .adapter = prompt.adapter, .salt = prompt.salt};
        for (u64 i = begin; i < end; ++i) {
            key.tokens.push_back({prompt.tokens[i], i < prompt.extra.size() ? prompt.extra[i] : 0});
        }
        for (const MediaItem& item : prompt.media) {
            if (end > item.start && begin < item.start + item.length) {
                key.media.push_back({item.hash, begin > item.start ? begin - item.start : 0});
            }
        }
        keys.push_back(key);
    }
    return keys;
}

inline std::vector<u64> BlockReuse::stored(const Prompt& prompt) const {
    std::vector<u64> tokens;
    const std::vector<BlockKey> keys = keys_of(prompt, prompt.tokens.size() - smaller(1, prompt.tokens.size()), true);
    for (const auto& window : windows_) {
        tokens.push_back(window->stored(keys));
    }
    return tokens;
}

inline Result<u64> BlockReuse::start(u64 id, const Prompt& prompt) {
    if (prompt.tokens.empty()) {
        return Errc::zero_dimension;
    }
    const std::vector<BlockKey> keys = keys_of(prompt, prompt.tokens.size() - 1, true);
    const u64 blocks = ceil_div(prompt.tokens.size(), rules_.tokens_per_block);
    u64 reused = off_scale;
    for (const auto& window : windows_) {
        const Result<u64> own = window->start(id, keys, blocks, prompt.priority);
        if (!own) {
            return own;
        }
        reused = smaller(reused, *own);
    }
    running_[id] = prompt;
    return reused;
}

inline Result<u64> BlockReuse::generate(u64 id, u64 token) {
    Prompt& own = running_.at(id);
    own.tokens.push_back(token);
    Result<u64> blocks = u64{0};
    for (const auto& window : windows_) {
        blocks = window->append(id, own.tokens.size());
        if (!blocks) {
            return blocks;
        }
    }
    return blocks;
}

inline void BlockReuse::store_prefill(u64 id) {
    const Prompt& own = running_.at(id);
    for (const auto& window : windows_) {
        if (!window->slides()) {
            window->store(id, keys_of(own, own.tokens.size() - 1, false));
        }
    }
}

inline void BlockReuse::finish(u64 id, u64 tokens) {
    const Prompt own = running_.at(id);
    const u64 kept = smaller(tokens, own.tokens.size());
    const bool keep = storable(id);
    for (const auto& window : windows_) {
        if (keep && kept > 0) {
            window->store(id, keys_of(own, kept - 1, true));
        }
        window->finish(id);
    }
    running_.erase(id);
}

inline bool BlockReuse::storable(u64 id) const {
    const std::vector<u64> lost = not_storable();
    return std::find(lost.begin(), lost.end(), id) == lost.end();
}

inline std::vector<u64> BlockReuse::not_storable() const {
    std::set<u64> lost;
    for (const auto& window : windows_) {
        const std::vector<u64> own = window->robbed();
        lost.insert(own.begin(), own.end());
    }
    return {lost.begin(), lost.end()};
}

}  // namespace kvcap::inline v1::trtllm
