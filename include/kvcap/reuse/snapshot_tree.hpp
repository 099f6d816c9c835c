// SPDX-License-Identifier: MIT
// Which nodes of a prefix tree should have kept a state? What hindsight would have done, beside the policies:
// with a price a snapshot, g(v, a) = min(r_v (d_v - a) + sum g(c, a), price + sum g(c, d_v)) over the nearest
// snapshot above at depth a. Exact in as many cells as there are (node, ancestor) pairs.
#pragma once

#include <kvcap/units.hpp>

namespace kvcap::inline v1 {

inline constexpr u32 no_parent = ~u32{0};

/// Nodes with parents before children. depth: tokens. reuses: how often reuse ended here.
struct TreeNode {
    u32 parent = no_parent;
    u64 depth = 0;
    u64 reuses = 0;
};

/// level[v]: ancestors of v, the free start included. Returns the cells needed. level: count places.
constexpr u64 tree_cells(const TreeNode* nodes, u64 count, u32* level) noexcept {
    u64 cells = 0;
    for (u64 v = 0; v < count; ++v) {
        level[v] = nodes[v].parent == no_parent ? 1 : level[nodes[v].parent] + 1;
        cells += level[v] + 1;
    }
    return cells;
}

struct TreeChoice {
    u64 recompute = 0;  ///< tokens
    u64 snapshots = 0;
    u64 reusable = 0;   ///< tokens a snapshot at every node would save: sum r_v d_v
    friend constexpr bool operator==(const TreeChoice&, const TreeChoice&) = default;
};

/// The optimum at `price` tokens a snapshot. level, cells: of tree_cells; first: count places; chosen: a flag
/// for each node. pre: the price of all nodes and sum r_v d_v stay below 2^63
constexpr TreeChoice tree_snapshots(const TreeNode* nodes, u64 count, u64 price, const u32* level, u64* cells,
                                    u64* first, u8* chosen) noexcept {
    u64 end = 0;
    for (u64 v = 0; v < count; ++v) {
        first[v] = end;
        end += level[v] + 1;
    }
    for (u64 i = 0; i < end; ++i) {
        cells[i] = 0;
    }
    for (u64 v = count; v-- > 0;) {
        // sum[i]: the children's cost with the nearest snapshot at v's i-th ancestor (0: the start, level: v
        // itself)
        u64* sum = cells + first[v];
        const TreeNode& node = nodes[v];
        const u64 kept = price + sum[level[v]];
        u64* above = node.parent == no_parent ? nullptr : cells + first[node.parent];
        u32 ancestor = node.parent;
        for (u32 i = level[v]; i-- > 0;) {
            const u64 from = i == 0 ? 0 : nodes[ancestor].depth;
            const u64 without = node.reuses * (node.depth - from) + sum[i];
            sum[i] = without <= kept ? without << 1 : kept << 1 | 1;
            if (above != nullptr) {
                above[i] += sum[i] >> 1;
            }
            ancestor = i == 0 ? ancestor : nodes[ancestor].parent;
        }
    }
    TreeChoice choice{};
    for (u64 v = 0; v < count; ++v) {
        // The nearest snapshot above, as an index among v's ancestors, is left in the last cell.
        const TreeNode& node = nodes[v];
        const u64 nearest = node.parent == no_parent ? 0 : cells[first[node.parent] + level[node.parent]];
        const bool keep = (cells[first[v] + nearest] & 1) != 0;
        chosen[v] = keep ? 1 : 0;
        cells[first[v] + level[v]] = keep ? level[v] : nearest;
        choice.snapshots += keep ? 1 : 0;
        choice.reusable += node.reuses * node.depth;
        u32 at = node.parent;
        for (u64 up = level[v] - 1; up > nearest; --up) {
            at = nodes[at].parent;
        }
        choice.recompute += keep ? 0 : node.reuses * (node.depth - (nearest == 0 ? 0 : nodes[at].depth));
    }
    return choice;
}

}  // namespace kvcap::inline v1
