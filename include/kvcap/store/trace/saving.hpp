// SPDX-License-Identifier: MIT
// Which tails and snapshots does one request touch, and in which order? One place for every way of running a policy.
#pragma once

#include <kvcap/store/trace/policy.hpp>

namespace kvcap::inline v1 {

/// Depths of one request: stored blocks, whole ones (a snapshot lies on a block border), the junction, what is computed
/// now (deeper than `beyond`), and a boundary to refresh (0: none).
struct SavePoints {
    u32 stored = 0;
    u32 whole = 0;
    u32 junction = 0;
    u32 beyond = 0;
    u32 again = 0;

    constexpr bool saved(const SavePolicy& policy, u32 depth) const noexcept {
        return depth <= whole &&
               ((policy.junction && depth == junction) || (policy.end && depth == whole) || depth == again ||
                (policy.every != 0 && depth > beyond && depth % policy.every == 0));
    }
    /// The greatest depth below `depth` at which a policy without `every` can save, else 0.
    constexpr u32 next_below(const SavePolicy& policy, u32 depth) const noexcept {
        const u32 candidates[] = {policy.end ? whole : 0, policy.junction ? junction : 0, again};
        u32 next = 0;
        for (const u32 candidate : candidates) {
            next = candidate < depth && candidate > next ? candidate : next;
        }
        return next;
    }
};

/// Calls touch(kind, depth) from the deepest block to the root: at each depth the snapshot (kind = number of tail
/// groups) before the tails.
void each_saved(const SavePolicy& policy, const StoredSizes& sizes, const SavePoints& points, auto&& touch) {
    const u32 tails = static_cast<u32>(sizes.tails.size());
    u64 most_need = 1;
    u64 most_sinks = 0;
    for (const TailClass& tail : sizes.tails) {
        most_need = larger(most_need, tail.need);
        most_sinks = larger(most_sinks, tail.sinks);
    }
    const bool sparse = !policy.window_blocks && policy.every == 0;
    u64 next_saved = off_scale;
    for (u32 depth = points.stored; depth > 0; --depth) {
        if (points.saved(policy, depth)) {
            next_saved = depth;
            if (sizes.snapshot != 0) {
                touch(tails, depth);
            }
        }
        for (u32 g = 0; g < tails; ++g) {
            const bool is_needed = next_saved != off_scale && sizes.tails[g].needs(depth, next_saved);
            if (is_needed || (policy.window_blocks && depth > points.beyond)) {
                touch(g, depth);
            }
        }
        if (sparse && (next_saved == off_scale || next_saved - depth + 1 >= most_need)) {
            const u64 sinks = next_saved == off_scale ? 0 : smaller(most_sinks, depth - 1);
            depth = static_cast<u32>(larger(points.next_below(policy, depth), sinks)) + 1;
        }
    }
}

}  // namespace kvcap::inline v1
