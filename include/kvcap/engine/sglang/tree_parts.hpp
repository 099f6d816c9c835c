// SPDX-License-Identifier: MIT
// How do SGLang's trees look up and insert? Definitions for tree_class.hpp: the walk with its validity of
// ends, splits, healing of tombstones, and where window data and states are placed.
#pragma once

#include <kvcap/engine/sglang/tree_class.hpp>

namespace kvcap::inline v1::sglang {

/// No extra key and an empty one are different namespaces.
inline u64 RadixTree::space_of(const std::optional<std::string>& extra_key) {
    return extra_key ? spaces_.emplace(*extra_key, spaces_.size() + 1).first->second : 0;
}

inline Units RadixTree::child_key(const Units& units, u64 from, u64 space) const {
    Units key{space};
    key.insert(key.end(), units.begin() + static_cast<std::ptrdiff_t>(from),
               units.begin() + static_cast<std::ptrdiff_t>(from + rules_.page));
    return key;
}

inline TreeNode* RadixTree::child_of(TreeNode& node, const Units& units, u64 from, u64 space) const {
    if (from >= units.size()) {
        return nullptr;
    }
    const auto at = node.children.find(child_key(units, from, space));
    return at == node.children.end() ? nullptr : at->second.get();
}

/// Units of whole pages that the node and the sequence have in common.
inline u64 RadixTree::shared(const TreeNode& node, const Units& units, u64 from) const {
    const u64 most = smaller(node.length(), units.size() - from);
    u64 same = 0;
    while (same < most && node.key[same] == units[from + same]) {
        ++same;
    }
    return same / rules_.page * rules_.page;
}

/// The part of a node above the cut: everything but the state, which stays below.
inline std::unique_ptr<TreeNode> RadixTree::upper_part(const TreeNode& node, u64 at) {
    auto upper = std::make_unique<TreeNode>();
    upper->key.assign(node.key.begin(), node.key.begin() + static_cast<std::ptrdiff_t>(at));
    upper->space = node.space;
    upper->parent = node.parent;
    upper->used = clock_.tick();
    upper->created = rules_.unified ? node.created : clock_.tick();
    upper->hits = node.hits;
    upper->priority = node.priority;
    upper->locks = node.locks;
    upper->window = node.window;
    upper->window_locks = node.window_locks;
    upper->window_mark = node.window_mark;
    return upper;
}

/// Cuts a node in two and returns the upper part; the lower one stays the same object.
inline TreeNode& RadixTree::split(TreeNode& lower, u64 at) {
    std::unique_ptr<TreeNode>& slot = lower.parent->children.at(child_key(lower.key, 0, lower.space));
    std::unique_ptr<TreeNode> kept = std::move(slot);
    slot = upper_part(lower, at);
    TreeNode& upper = *slot;
    lower.window_mark = 0;
    lower.key.erase(lower.key.begin(), lower.key.begin() + static_cast<std::ptrdiff_t>(at));
    lower.parent = &upper;
    if (lower.window) {
        windows_.to_front(upper);
        windows_.to_front(lower);
    }
    if (lower.state) {
        states_.to_front(lower);
    }
    lower.used = rules_.unified ? clock_.tick() : lower.used;
    upper.children[child_key(lower.key, 0, lower.space)] = std::move(kept);
    return upper;
}

inline TreeNode& RadixTree::add_leaf(TreeNode& parent, const Units& units, u64 from, u64 space) {
    auto leaf = std::make_unique<TreeNode>();
    leaf->key.assign(units.begin() + static_cast<std::ptrdiff_t>(from), units.end());
    leaf->space = space;
    leaf->parent = &parent;
    leaf->used = clock_.tick();
    leaf->created = clock_.tick();
    return *(parent.children[child_key(units, from, space)] = std::move(leaf));
}

inline std::vector<PathPart> RadixTree::path(const std::vector<u64>& tokens,
                                             const std::optional<std::string>& extra_key) const {
    std::vector<PathPart> parts;
    const Units units = units_of(tokens, rules_.bigram, rules_.page);
    const auto space = extra_key ? spaces_.find(*extra_key) : spaces_.end();
    if (extra_key && space == spaces_.end()) {
        return parts;
    }
    const TreeNode* node = &root_;
    for (u64 matched = 0; matched < units.size();) {
        const auto child = node->children.find(child_key(units, matched, extra_key ? space->second : 0));
        if (child == node->children.end()) {
            break;
        }
        node = child->second.get();
        const u64 common = shared(*node, units, matched);
        const bool whole = common == node->length();
        parts.push_back({common, node->window, whole && node->state});
        matched += common;
        if (!whole) {
            break;
        }
    }
    return parts;
}

/// The deepest valid end on the way, and the branch point behind it.
inline Match RadixTree::walk(const Units& units, u64 space) {
    const u64 stamp = clock_.tick();
    Match best{.node = &root_};
    u64 live = off_scale;
    u64 matched = 0;
    TreeNode* node = &root_;
    while (TreeNode* child = child_of(*node, units, matched, space)) {
        child->used = rules_.unified ? child->used : stamp;
        const u64 common = shared(*child, units, matched);
        const bool whole = common == child->length();
        node = whole ? child : &split(*child, common);
        matched += common;
        live = has_window() && !node->window ? 0 : saturating_sum(live, common);
        const bool in_window = !has_window() || (node->window && live >= rules_.window);
        if (in_window && (!rules_.states || node->state)) {
            best.hit = matched;
            best.node = node;
        }
        if (!whole) {
            break;
        }
    }
    const u64 branch = matched / rules_.state_chunk * rules_.state_chunk;
    if (rules_.states && matched > best.hit && branch > 0) {
        best.branch = branch;
    }
    return best;
}

/// Window data as far as the window and a page reach becomes the most recent.
inline void RadixTree::refresh_window(TreeNode* node) {
    std::vector<TreeNode*> recent;
    for (u64 passed = 0; node != &root_ && passed < rules_.window + rules_.page; node = node->parent) {
        if (node->window) {
            recent.push_back(node);
        }
        passed += node->length();
    }
    windows_.to_front(recent);
}

inline void RadixTree::touch_hit(TreeNode* node) {
    if (has_window()) {
        refresh_window(node);
    }
    if (node->state) {
        states_.to_front(*node);
    }
    const u64 stamp = clock_.tick();
    for (u64 level = 0; node != nullptr; node = node->parent) {
        node->used = Clock::above(stamp, level++);
    }
}

inline Match RadixTree::lookup(const std::vector<u64>& tokens, const std::optional<std::string>& extra_key) {
    const Units units = units_of(tokens, rules_.bigram, rules_.page);
    if (units.empty()) {
        return {.node = &root_};
    }
    const Match found = walk(units, space_of(extra_key));
    if (rules_.unified) {
        touch_hit(found.node);
    }
    return found;
}

inline void RadixTree::set_window(TreeNode& node) {
    node.window = true;
    windows_.to_front(node);
}

/// A tombstone that the new sequence has window data for gets it, from the released boundary on.
inline void RadixTree::heal(TreeNode& node, u64 start, const Stored& stored) {
    if (node.window || stored.prior >= start + node.length() || stored.released >= start + node.length()) {
        return;
    }
    if (stored.released > start) {
        split(node, stored.released - start);
    }
    set_window(node);
}

/// Window data of a new leaf: none before the released boundary; a tail of one window is cut off, so that the
/// front can be evicted alone. Returns the lowest part.
inline TreeNode& RadixTree::place_window(TreeNode& leaf, u64 start, const Stored& stored) {
    if (stored.released >= start + leaf.length()) {
        return leaf;
    }
    if (stored.released > start) {
        split(leaf, stored.released - start);
    }
    set_window(leaf);
    const u64 tail = round_up(rules_.window, rules_.page);
    if (leaf.length() > tail) {
        split(leaf, leaf.length() - tail);
    }
    return leaf;
}

/// True when a state was there already.
inline bool RadixTree::place_state(TreeNode& node, bool fresh) {
    const bool present = node.state;
    node.state = true;
    states_.to_front(node);
    node.used = fresh ? node.used : clock_.tick();
    return present;
}

/// Down the path that is there already; returns its last node and moves `at` behind it.
inline TreeNode& RadixTree::descend(const Units& units, u64 space, const Stored& stored, u64& at) {
    const u64 stamp = clock_.tick();
    root_.used = stamp;
    TreeNode* node = &root_;
    while (TreeNode* child = child_of(*node, units, at, space)) {
        child->used = rules_.unified ? clock_.tick() : stamp;
        const u64 common = shared(*child, units, at);
        node = common < child->length() ? &split(*child, common) : child;
        node->priority = larger(node->priority, stored.priority);
        if (has_window()) {
            heal(*node, at, stored);
        }
        ++node->hits;
        at += common;
    }
    return *node;
}

inline Inserted RadixTree::insert(const Stored& stored) {
    const Units units = units_of(stored.tokens, rules_.bigram, rules_.page);
    const u64 space = space_of(stored.extra_key);
    Inserted result{.state_present = units.empty()};
    TreeNode* node = &descend(units, space, stored, result.present);
    if (units.empty()) {
        return result;
    }
    const bool fresh = result.present < units.size();
    if (fresh) {
        node = &add_leaf(*node, units, result.present, space);
        node->priority = stored.priority;
        node = has_window() ? &place_window(*node, result.present, stored) : node;
    }
    if (rules_.states) {
        result.state_present = place_state(*node, fresh);
    }
    if (has_window()) {
        refresh_window(node);
    }
    node->hits += fresh ? 1 : 0;
    return result;
}

}  // namespace kvcap::inline v1::sglang
