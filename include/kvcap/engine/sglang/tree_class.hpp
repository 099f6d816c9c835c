// SPDX-License-Identifier: MIT
// What can one ask of SGLang's radix trees? The class behind tree.hpp: the plain tree (full attention only)
// and the unified one (with window data, states, or both on the nodes). A node is a valid end when every
// group accepts it: full always; window when W live tokens end there, or no tombstone came before; state when
// it stores one. Sources: see tree_node.hpp, and unified_cache_components/*.py.
#pragma once

#include <kvcap/engine/sglang/tree_node.hpp>
#include <set>

namespace kvcap::inline v1::sglang {

/// window: effective window in tokens, 0 for no window group. unified: false for the plain tree (full only).
struct TreeRules {
    u64 page = 1;
    u64 window = 0;
    bool states = false;
    u64 state_chunk = 64;
    bool unified = true;
    bool bigram = false;
    Eviction eviction = Eviction::lru;
};

/// branch: where a state would have helped, if anywhere. node: for lock(), until the tree changes.
struct Match {
    u64 hit = 0;
    std::optional<u64> branch{};
    TreeNode* node = nullptr;
};

struct Inserted {
    u64 present = 0;
    bool state_present = false;
};

/// Amounts of the three groups, in units and states.
struct TreeAmounts {
    u64 full = 0;
    u64 window = 0;
    u64 states = 0;
};

/// Units of a stored path that one node holds: all of them with window data or none; a state at its end.
struct PathPart {
    u64 units = 0;
    bool window = false;
    bool state = false;
};

/// released: tokens in front without window data. prior: tokens that the request had from the tree already.
struct Stored {
    std::vector<u64> tokens{};
    std::optional<std::string> extra_key{};
    u64 released = 0;
    u64 prior = 0;
    u64 priority = 0;
};

class RadixTree {
public:
    struct Lock {
        TreeNode* node = nullptr;
        std::set<const TreeNode*> without_window{};
        bool with_state = false;
        u64 mark = 0;
    };

    /// pre: rules.page > 0
    explicit RadixTree(const TreeRules& rules) : rules_{rules} {}

    Match lookup(const std::vector<u64>& tokens, const std::optional<std::string>& extra_key = {});
    Inserted insert(const Stored& stored);
    TreeAmounts evict(const TreeAmounts& wanted);
    Lock lock(TreeNode* node);
    void unlock(const Lock& lock);
    /// What is stored along these tokens, without touching it: whole pages, as far as they match.
    std::vector<PathPart> path(const std::vector<u64>& tokens,
                               const std::optional<std::string>& extra_key = {}) const;
    /// Amounts not under a lock, and under one.
    TreeAmounts evictable() const { return sum(root_, false); }
    TreeAmounts locked() const { return sum(root_, true); }

private:
    bool has_window() const noexcept { return rules_.window != 0; }
    u64 space_of(const std::optional<std::string>& extra_key);
    Units child_key(const Units& units, u64 from, u64 space) const;
    TreeNode* child_of(TreeNode& node, const Units& units, u64 from, u64 space) const;
    u64 shared(const TreeNode& node, const Units& units, u64 from) const;
    std::unique_ptr<TreeNode> upper_part(const TreeNode& node, u64 at);
    TreeNode& split(TreeNode& lower, u64 at);
    TreeNode& add_leaf(TreeNode& parent, const Units& units, u64 from, u64 space);
    Match walk(const Units& units, u64 space);
    TreeNode& descend(const Units& units, u64 space, const Stored& stored, u64& at);
    void touch_hit(TreeNode* node);
    void refresh_window(TreeNode* node);
    void heal(TreeNode& node, u64 start, const Stored& stored);
    TreeNode& place_window(TreeNode& leaf, u64 start, const Stored& stored);
    bool place_state(TreeNode& node, bool fresh);
    void set_window(TreeNode& node);
    void drop_window(TreeNode& node, TreeAmounts& freed);
    void drop_state(TreeNode& node, TreeAmounts& freed);
    void remove(TreeNode& leaf, TreeAmounts& freed);
    void collect_leaves(TreeNode& node, std::vector<TreeNode*>& leaves) const;
    void evict_full(u64 wanted, TreeAmounts& freed);
    void evict_window(u64 wanted, TreeAmounts& freed);
    void evict_states(u64 wanted, TreeAmounts& freed);
    TreeAmounts sum(const TreeNode& node, bool of_locked) const;

    TreeRules rules_;
    TreeNode root_;
    Clock clock_;
    Recency windows_;
    Recency states_;
    std::map<std::string, u64> spaces_;
    u64 marks_ = 0;
};

}  // namespace kvcap::inline v1::sglang
