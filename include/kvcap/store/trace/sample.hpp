// SPDX-License-Identifier: MIT
// The curve of a huge trace from some of its trees. A tree is everything below one block after the shared root: whole
// paths, so windows and snapshots stay right (sampling requests would remove reuse). Capacities are scaled by the part
// that was kept, hits divided by the sampled tokens. Mean error about 0.3 to 0.7 / sqrt(trees); where a scaled capacity
// holds fewer than about 2,048 blocks a bias of -0.01 to -0.02 appears, since a request no longer fits.
#pragma once

#include <cmath>
#include <kvcap/store/trace/curve.hpp>
#include <kvcap/store/trace/requests.hpp>

namespace kvcap::inline v1 {

inline constexpr u64 trustworthy_sample_blocks = 2048;
inline constexpr u64 trustworthy_sample_trees = 10'000;

/// The root block that more than half of the requests share, if there is one.
inline u32 shared_root(const Trace& trace) {
    std::vector<u32> uses(trace.distinct);
    for (const TraceRequest& request : trace.requests) {
        if (request.blocks > 0 && ++uses[trace.path(request)[0]] * u64{2} > trace.requests.size()) {
            return trace.path(request)[0];
        }
    }
    return ~u32{0};
}

struct TreeSample {
    Trace trace;
    u64 trees = 0;
};

/// Trees whose hash falls into part `part` of `parts`. Requests without a block of their own are dealt by their number.
inline TreeSample sample_trees(const Trace& trace, u32 part, u32 parts, u64 seed = 0) {
    const u32 root = shared_root(trace);
    const auto mixed = [&](u64 value) noexcept {
        u64 x = (value + seed * 0x9e3779b97f4a7c15 + 1) * 0xbf58476d1ce4e5b9;
        x ^= x >> 31;
        x *= 0x94d049bb133111eb;
        return (x ^ (x >> 29)) % parts;
    };
    TreeSample sample;
    sample.trace.block_tokens = trace.block_tokens;
    std::vector<u32> renamed(trace.distinct, ~u32{0});
    std::vector<u8> counted(trace.distinct);
    for (u64 r = 0; r < trace.requests.size(); ++r) {
        TraceRequest request = trace.requests[r];
        const u32* path = trace.path(request);
        const u32 own = request.blocks > 0 && path[0] == root ? 1 : 0;
        const bool has_tree = request.blocks > own;
        if ((has_tree ? mixed(path[own]) : mixed(r ^ (u64{1} << 40))) != part) {
            continue;
        }
        if (has_tree && counted[path[own]] == 0) {
            counted[path[own]] = 1;
            ++sample.trees;
        }
        request.first = sample.trace.ids.size();
        for (u32 i = 0; i < request.blocks; ++i) {
            u32& name = renamed[path[i]];
            name = name == ~u32{0} ? sample.trace.distinct++ : name;
            sample.trace.ids.push_back(name);
        }
        sample.trace.requests.push_back(request);
    }
    return sample;
}

/// A hit ratio from a sample and its standard error, from disjoint parts of the sample.
struct Estimate {
    double ratio = 0;
    double error = 0;
    bool trustworthy = true;  ///< the scaled capacity holds enough blocks
};

/// parts: curves of the disjoint parts of one sample; scale: how many such parts the whole trace has.
inline Estimate estimate(const HitCurve& sample, const std::vector<HitCurve>& parts, u64 capacity, u64 sample_scale,
                         u64 part_scale, u64 block_bytes) {
    Estimate made{.ratio = sample.ratio(sample.hit_tokens(capacity / sample_scale)),
                  .trustworthy = capacity / sample_scale >= trustworthy_sample_blocks * block_bytes};
    double sum = 0;
    double squares = 0;
    for (const HitCurve& part : parts) {
        const double ratio = part.ratio(part.hit_tokens(capacity / part_scale));
        sum += ratio;
        squares += ratio * ratio;
    }
    const double count = static_cast<double>(parts.size());
    if (parts.size() > 1) {
        const double variance = (squares - sum * sum / count) / (count - 1);
        made.error = variance > 0 ? std::sqrt(variance / count) : 0;
    }
    return made;
}

}  // namespace kvcap::inline v1
