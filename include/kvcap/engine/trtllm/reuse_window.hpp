// SPDX-License-Identifier: MIT
// How does TensorRT-LLM match, take, copy, store and give back the blocks of one window? Definitions for
// reuse_class.hpp.
#pragma once

#include <kvcap/engine/trtllm/reuse_class.hpp>
#include <utility>

namespace kvcap::inline v1::trtllm {

inline WindowReuse::WindowReuse(const ReuseRules& rules, u64 window)
    : rules_{rules}, window_{window}, slides_{window < rules.max_seq_len} {
    for (u64 id = 0; id < rules.primary_blocks + rules.secondary_blocks; ++id) {
        all_.push_back(std::make_unique<Block>());
        Block& block = *all_.back();
        block.id = id;
        block.primary = id < rules.primary_blocks;
        release(block);
    }
}

inline void WindowReuse::claim(Block& block) {
    if (block.queued) {
        queue_of(block).erase(block);
    }
}

inline void WindowReuse::release(Block& block) {
    queue_of(block).push(block);
}

/// An equal key; a stored short block counts as partial. Else, with `partial`, the longest common beginning:
/// of any child where copying is allowed, else of unreferenced leaves.
inline WindowReuse::Found WindowReuse::find(const Block& parent, const BlockKey& key, bool partial) const {
    if (key.tokens.empty()) {
        return {};
    }
    Found best{};
    for (Block* child : parent.children) {
        if (child->key == key) {
            return {child, key.tokens.size(), !child->full};
        }
        const bool usable = rules_.copy_on_partial || (child->refs == 0 && child->children.empty());
        const u64 common = partial && usable ? child->key.common(key) : 0;
        if (common > best.tokens) {
            best = {child, common, true};
        }
    }
    return best;
}

inline u64 WindowReuse::stored(const std::vector<BlockKey>& keys) const {
    const Block* parent = &root_;
    u64 tokens = 0;
    for (const BlockKey& key : keys) {
        Found best{};
        for (Block* child : parent->children) {
            const u64 common = child->key.common(key);
            best = common > best.tokens ? Found{child, common, !(child->key == key && child->full)} : best;
        }
        tokens += best.tokens;
        if (best.block == nullptr || best.partial) {
            break;
        }
        parent = best.block;
    }
    return tokens;
}

/// Free blocks that a prompt takes: all but whole ones that others hold already.
inline u64 WindowReuse::needed(const std::vector<BlockKey>& keys, u64 blocks) const {
    const Block* parent = &root_;
    for (const BlockKey& key : keys) {
        const Found found = find(*parent, key, false);
        if (found.block == nullptr || found.partial) {
            break;
        }
        blocks -= found.block->refs > 0 ? 1 : 0;
        parent = found.block;
    }
    return blocks;
}

/// The next free block. What it held moves to the host tier if there is room, else it and all below it are
/// forgotten.
inline Block& WindowReuse::take(u64 id, u64 priority) {
    Block* block = primary_.front();
    Block* host = secondary_.front();
    if (!block->key.tokens.empty() && block->priority >= rules_.offload_priority && host != nullptr) {
        claim(*block);
        claim(*host);
        std::swap(block->primary, host->primary);
        release(*block);
        block = host;
    }
    block->forget();
    claim(*block);
    block->priority = priority;
    const auto owner = sequences_.find(block->owner);
    if (owner != sequences_.end() && block->owner != id) {
        owner->second.robbed = true;
    }
    block->owner = id;
    return *block;
}

inline void WindowReuse::onboard(u64 id, Block& block) {
    if (!block.primary) {
        Block& room = take(id, default_priority);
        std::swap(block.primary, room.primary);
        release(room);
    }
}

inline void WindowReuse::hold(u64 id, Block& block) {
    ++block.refs;
    sequences_[id].blocks.push_back(&block);
}

/// The found block for this request. A partial one is copied while others need it, else taken over: it leaves
/// the tree.
inline Block& WindowReuse::use(u64 id, const Found& found, const BlockKey& key, std::optional<u64> priority) {
    Block& stored = *found.block;
    if (found.partial && (stored.refs > 0 || !stored.children.empty())) {
        Block& copy = take(id, stored.priority);
        copy.key = key;
        copy.full = key.tokens.size() == rules_.tokens_per_block;
        return copy;
    }
    if (found.partial) {
        stored.forget();
    }
    claim(stored);
    stored.priority = priority.value_or(stored.priority);
    onboard(id, stored);
    return stored;
}

inline Result<u64> WindowReuse::start(u64 id, const std::vector<BlockKey>& keys, u64 blocks,
                                      std::optional<u64> priority) {
    if (const u64 want = needed(keys, blocks); want > primary_.count()) {
        return Error{.code = Errc::does_not_fit, .got = primary_.count(), .want = want};
    }
    sequences_[id] = {};
    u64 matched = 0;
    const Block* parent = &root_;
    for (std::size_t i = 0; i < blocks; ++i) {
        const BlockKey key = i < keys.size() ? keys[i] : BlockKey{};
        const Found found = parent != nullptr ? find(*parent, key, rules_.partial) : Found{};
        if (found.block == nullptr) {
            Block& fresh = take(id, priority.value_or(default_priority));
            fresh.key = key;
            fresh.full = key.tokens.size() == rules_.tokens_per_block;
            parent = nullptr;
            hold(id, fresh);
            continue;
        }
        matched += found.tokens;
        hold(id, use(id, found, key, priority));
        parent = found.partial ? nullptr : found.block;
    }
    return matched;
}

/// After `tokens` tokens: front blocks leave the window, and a block begins with its first token.
inline Result<u64> WindowReuse::append(u64 id, u64 tokens) {
    Sequence& own = sequences_.at(id);
    const u64 per = rules_.tokens_per_block;
    while (slides_ && tokens - own.detached * per >= window_ + per) {
        Block& front = *own.blocks[own.detached++];
        if (--front.refs == 0) {
            release(front);
        }
    }
    if ((tokens - 1) % per == 0) {
        if (primary_.count() == 0) {
            return Error{.code = Errc::does_not_fit, .got = 0, .want = 1};
        }
        hold(id, take(id, default_priority));
    }
    return own.blocks.size();
}

/// Puts blocks into the search tree; one whose key is there already is not stored again.
inline void WindowReuse::store(u64 id, const std::vector<BlockKey>& keys) {
    const std::vector<Block*>& blocks = sequences_.at(id).blocks;
    Block* parent = &root_;
    bool matching = true;
    for (std::size_t i = 0; i < keys.size() && i < blocks.size(); ++i) {
        const Found found = matching ? find(*parent, keys[i], false) : Found{};
        if (found.block != nullptr) {
            parent = found.block;
            continue;
        }
        matching = false;
        Block& block = *blocks[i];
        block.key = keys[i];
        block.full = keys[i].tokens.size() == rules_.tokens_per_block;
        block.parent = parent;
        parent->children.push_back(&block);
        parent = &block;
    }
}

/// Blocks go to the end of the queue, the last one first.
inline void WindowReuse::finish(u64 id) {
    const Sequence own = sequences_.at(id);
    sequences_.erase(id);
    for (std::size_t i = own.blocks.size(); i-- > own.detached;) {
        if (--own.blocks[i]->refs == 0) {
            release(*own.blocks[i]);
        }
    }
}

inline std::vector<u64> WindowReuse::block_ids(u64 id) const {
    std::vector<u64> ids;
    for (const Block* block : sequences_.at(id).blocks) {
        ids.push_back(block->id);
    }
    return ids;
}

inline void WindowReuse::offload_and_onboard(u64 id) {
    for (Block* block : sequences_.at(id).blocks) {
        Block* host = secondary_.front();
        if (!block->primary || host == nullptr) {
            continue;
        }
        claim(*host);
        std::swap(block->primary, host->primary);
        release(*host);
        onboard(id, *block);
    }
}

inline std::vector<u64> WindowReuse::robbed() const {
    std::vector<u64> ids;
    for (const auto& [id, sequence] : sequences_) {
        if (sequence.robbed) {
            ids.push_back(id);
        }
    }
    return ids;
}

}  // namespace kvcap::inline v1::trtllm
