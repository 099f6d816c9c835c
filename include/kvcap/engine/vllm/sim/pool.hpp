// SPDX-License-Identifier: MIT
// Which block is given out next, and which keys find which block? Block 0 is the null block. Blocks without a
// key are reused first, the others least recently freed first; equal keys are kept, the first block inserted
// is found. Source: v1/core/block_pool.py, v1/core/kv_cache_utils.py `FreeKVCacheBlockQueue`.
#pragma once

#include <kvcap/units.hpp>
#include <list>
#include <map>
#include <utility>
#include <vector>

namespace kvcap::inline v1::vllm {

/// A chain key in a group.
using SimKey = std::pair<u64, u32>;

class SimPool {
public:
    static constexpr u32 null_block = 0;

    /// pre: blocks > 0
    explicit SimPool(u64 blocks) : blocks_(blocks) {
        for (u32 id = 1; id < blocks_.size(); ++id) {
            blocks_[id].place = free_.insert(free_.end(), id);
        }
    }

    u64 free_blocks() const { return free_.size(); }
    bool is_free(u32 id) const { return id != null_block && blocks_[id].uses == 0; }

    /// The first block under a key; null_block: none.
    u32 find(const SimKey& key) const {
        const auto at = by_key_.find(key);
        return at == by_key_.end() ? null_block : at->second.front();
    }

    /// Takes the front of the free list and forgets its keys. pre: free_blocks() > 0
    u32 take() {
        const u32 id = free_.front();
        free_.pop_front();
        forget(id);
        blocks_[id].uses = 1;
        return id;
    }

    /// One more user of a block.
    void touch(u32 id) {
        if (id == null_block) {
            return;
        }
        if (blocks_[id].uses++ == 0) {
            free_.erase(blocks_[id].place);
        }
    }

    /// One user less each; in order of eviction.
    void release(const std::vector<u32>& ids) {
        const auto front = free_.begin();
        for (const u32 id : ids) {
            if (id == null_block || --blocks_[id].uses != 0) {
                continue;
            }
            blocks_[id].place = free_.insert(blocks_[id].keys.empty() ? front : free_.end(), id);
        }
    }

    /// Makes a block findable. A shorter prefix it stood for is forgotten.
    void insert(const SimKey& key, u32 id, u64 tokens) {
        Block& block = blocks_[id];
        if (has(key, id)) {
            return;
        }
        if (!block.keys.empty() && block.tokens < tokens) {
            forget(id);
        }
        if (block.keys.empty()) {
            block.tokens = tokens;
        }
        block.keys.push_back(key);
        by_key_[key].push_back(id);
    }

    /// The keys of one block find another from now on.
    void move_keys(u32 from, u32 to) {
        const std::vector<SimKey> keys = blocks_[from].keys;
        const u64 tokens = blocks_[from].tokens;
        forget(from);
        for (const SimKey& key : keys) {
            insert(key, to, tokens);
        }
    }

private:
    struct Block {
        u64 uses = 0;
        u64 tokens = 0;
        std::vector<SimKey> keys;
        std::list<u32>::iterator place{};
    };

    bool has(const SimKey& key, u32 id) const {
        for (const SimKey& own : blocks_[id].keys) {
            if (own == key) {
                return true;
            }
        }
        return false;
    }
    void forget(u32 id) {
        for (const SimKey& key : blocks_[id].keys) {
            std::vector<u32>& ids = by_key_[key];
            std::erase(ids, id);
            if (ids.empty()) {
                by_key_.erase(key);
            }
        }
        blocks_[id].keys.clear();
    }

    std::vector<Block> blocks_;
    std::list<u32> free_;
    std::map<SimKey, std::vector<u32>> by_key_;
};

}  // namespace kvcap::inline v1::vllm
