// SPDX-License-Identifier: MIT
// What does a node of SGLang's prefix trees hold, and in which order would it be evicted? Simulator only:
// this header and tree.hpp use containers. Sources: mem_cache/unified_radix_cache.py, radix_cache.py,
// evict_policy.py at 8905cbd.
#pragma once

#include <kvcap/units.hpp>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kvcap::inline v1::sglang {

/// --radix-eviction-policy: which unlocked leaf goes first.
enum class Eviction : u8 { lru, lfu, fifo, mru, filo, priority, slru };

/// A tree's keys are units: tokens, or pairs of adjacent tokens for EAGLE drafts.
using Units = std::vector<u64>;

/// children: by namespace and first page. window: the node's tokens have window data (else it is a
/// tombstone). state: a recurrent state is stored at the node's end.
struct TreeNode {
    Units key;
    u64 space = 0;
    TreeNode* parent = nullptr;
    std::map<Units, std::unique_ptr<TreeNode>> children;
    u64 used = 0;
    u64 created = 0;
    u64 hits = 0;
    u64 priority = 0;
    u32 locks = 0;
    bool window = false;
    bool state = false;
    u32 window_locks = 0;
    u32 state_locks = 0;
    u64 window_mark = 0;  ///< names the upper end of a window lock

    u64 length() const noexcept { return key.size(); }
    bool leaf() const noexcept { return children.empty(); }
    bool unlocked() const noexcept { return locks + window_locks + state_locks == 0; }
};

/// Smallest goes first.
using Order = std::pair<u64, u64>;

inline Order eviction_order(const TreeNode& node, Eviction policy) noexcept {
    switch (policy) {
        case Eviction::lru: return {0, node.used};
        case Eviction::lfu: return {node.hits, node.used};
        case Eviction::fifo: return {0, node.created};
        case Eviction::mru: return {0, ~node.used};
        case Eviction::filo: return {0, ~node.created};
        case Eviction::priority: return {node.priority, node.used};
        case Eviction::slru: return {node.hits >= 2 ? 1 : 0, node.used};
    }
    return {};
}

/// A recency list of one group, most recent first.
class Recency {
public:
    void to_front(TreeNode& node) {
        remove(node);
        places_[&node] = order_.insert(order_.begin(), &node);
    }
    void remove(TreeNode& node) {
        const auto at = places_.find(&node);
        if (at != places_.end()) {
            order_.erase(at->second);
            places_.erase(at);
        }
    }
    /// These nodes become the most recent, the first of them first.
    void to_front(const std::vector<TreeNode*>& nodes) {
        for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
            to_front(**node);
        }
    }
    /// The least recent node for which `free(node)` holds.
    template <class Free>
    TreeNode* last(Free free) const {
        for (auto node = order_.rbegin(); node != order_.rend(); ++node) {
            if (free(**node)) {
                return *node;
            }
        }
        return nullptr;
    }

private:
    std::list<TreeNode*> order_;
    std::map<const TreeNode*, std::list<TreeNode*>::iterator> places_;
};

/// Time that only grows; path(level) is a stamp slightly below it, for nodes further up.
class Clock {
public:
    u64 tick() noexcept { return ++now_ << 20; }
    static u64 above(u64 stamp, u64 level) noexcept { return stamp - level; }

private:
    u64 now_ = 0;
};

/// Tokens as units of whole pages.
inline Units units_of(const std::vector<u64>& tokens, bool bigram, u64 page) {
    Units units;
    if (bigram) {
        for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
            units.push_back(tokens[i] << 32 | tokens[i + 1]);
        }
    } else {
        units = tokens;
    }
    units.resize(units.size() / page * page);
    return units;
}

/// An image placeholder's token: media identity is part of the ids.
constexpr u64 media_token(u64 content_hash) noexcept {
    return 1'000'000 + content_hash % (u64{1} << 30);
}

}  // namespace kvcap::inline v1::sglang
