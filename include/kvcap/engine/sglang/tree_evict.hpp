// SPDX-License-Identifier: MIT
// What do SGLang's trees evict, and what keeps it? Definitions for tree_class.hpp: full tokens from leaves,
// then window data, then states, by recency; what one part frees counts for the next. A lock holds the path,
// one window, and the state.
#pragma once

#include <functional>
#include <kvcap/engine/sglang/tree_class.hpp>
#include <queue>

namespace kvcap::inline v1::sglang {

inline void RadixTree::drop_window(TreeNode& node, TreeAmounts& freed) {
    freed.window += node.window ? node.length() : 0;
    node.window = false;
    windows_.remove(node);
}

inline void RadixTree::drop_state(TreeNode& node, TreeAmounts& freed) {
    freed.states += node.state ? 1 : 0;
    node.state = false;
    states_.remove(node);
}

inline void RadixTree::remove(TreeNode& leaf, TreeAmounts& freed) {
    freed.full += leaf.length();
    drop_window(leaf, freed);
    drop_state(leaf, freed);
    leaf.parent->children.erase(child_key(leaf.key, 0, leaf.space));
}

inline void RadixTree::collect_leaves(TreeNode& node, std::vector<TreeNode*>& leaves) const {
    for (auto& [key, child] : node.children) {
        if (child->leaf() && child->unlocked()) {
            leaves.push_back(child.get());
        }
        collect_leaves(*child, leaves);
    }
}

inline void RadixTree::evict_full(u64 wanted, TreeAmounts& freed) {
    if (wanted == 0) {
        return;
    }
    using Entry = std::pair<Order, TreeNode*>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> next;
    std::vector<TreeNode*> leaves;
    collect_leaves(root_, leaves);
    for (TreeNode* leaf : leaves) {
        next.emplace(eviction_order(*leaf, rules_.eviction), leaf);
    }
    while (freed.full < wanted && !next.empty()) {
        TreeNode& leaf = *next.top().second;
        next.pop();
        TreeNode& parent = *leaf.parent;
        remove(leaf, freed);
        if (&parent != &root_ && parent.leaf() && parent.unlocked()) {
            next.emplace(eviction_order(parent, rules_.eviction), &parent);
        }
    }
}

/// The least recent window data goes: with its node if that is an unlocked leaf, else with the node's state.
inline void RadixTree::evict_window(u64 wanted, TreeAmounts& freed) {
    while (freed.window < wanted) {
        TreeNode* node = windows_.last([](const TreeNode& n) { return n.window_locks == 0; });
        if (node == nullptr) {
            return;
        }
        if (node->leaf() && node->unlocked()) {
            remove(*node, freed);
            continue;
        }
        drop_window(*node, freed);
        if (node->state && node->state_locks == 0) {
            drop_state(*node, freed);
        }
    }
}

inline void RadixTree::evict_states(u64 wanted, TreeAmounts& freed) {
    while (freed.states < wanted) {
        TreeNode* node = states_.last([](const TreeNode& n) { return n.state_locks == 0; });
        if (node == nullptr) {
            return;
        }
        if (node->leaf() && node->unlocked()) {
            remove(*node, freed);
        } else {
            drop_state(*node, freed);
        }
    }
}

/// Whole nodes go, so more than asked may be freed.
inline TreeAmounts RadixTree::evict(const TreeAmounts& wanted) {
    TreeAmounts freed{};
    evict_full(wanted.full, freed);
    evict_window(wanted.window, freed);
    evict_states(wanted.states, freed);
    return freed;
}

inline RadixTree::Lock RadixTree::lock(TreeNode* node) {
    Lock lock{.node = node};
    for (TreeNode* up = node; up != &root_; up = up->parent) {
        ++up->locks;
    }
    u64 held = 0;
    for (TreeNode* up = node; has_window() && up != &root_ && held < rules_.window; up = up->parent) {
        if (!up->window) {
            lock.without_window.insert(up);
            continue;
        }
        ++up->window_locks;
        held += up->length();
        if (held >= rules_.window) {
            up->window_mark = up->window_mark == 0 ? ++marks_ : up->window_mark;
            lock.mark = up->window_mark;
        }
    }
    lock.with_state = node != &root_ && node->state;
    node->state_locks += lock.with_state ? 1 : 0;
    return lock;
}

inline void RadixTree::unlock(const Lock& lock) {
    for (TreeNode* up = lock.node; up != &root_; up = up->parent) {
        --up->locks;
    }
    for (TreeNode* up = lock.node; has_window() && up != &root_; up = up->parent) {
        if (lock.without_window.count(up) != 0 || up->window_locks == 0) {
            continue;
        }
        --up->window_locks;
        if (lock.mark != 0 && up->window_mark == lock.mark) {
            break;
        }
    }
    lock.node->state_locks -= lock.with_state ? 1 : 0;
}

inline TreeAmounts RadixTree::sum(const TreeNode& node, bool of_locked) const {
    TreeAmounts all{};
    for (const auto& [key, child] : node.children) {
        const TreeAmounts below = sum(*child, of_locked);
        all.full += below.full + ((child->locks > 0) == of_locked ? child->length() : 0);
        all.window +=
            below.window + (child->window && (child->window_locks > 0) == of_locked ? child->length() : 0);
        all.states += below.states + (child->state && (child->state_locks > 0) == of_locked ? 1 : 0);
    }
    return all;
}

}  // namespace kvcap::inline v1::sglang
