// SPDX-License-Identifier: MIT
// One replay a capacity, spread over threads: the way for policies whose touches depend on what is present. Hits may
// fall as the capacity grows, so points are points: nothing between them is claimed.
#pragma once

#include <atomic>
#include <cmath>
#include <kvcap/store/trace/ranges.hpp>
#include <thread>

namespace kvcap::inline v1 {

/// `count` capacities from `least` to `most`, evenly in the logarithm. pre: 0 < least <= most, count > 1
inline std::vector<u64> log_spaced(u64 least, u64 most, u32 count) {
    std::vector<u64> points(count);
    const double low = std::log(static_cast<double>(least));
    const double high = std::log(static_cast<double>(most));
    for (u32 i = 0; i < count; ++i) {
        points[i] = static_cast<u64>(std::llround(std::exp(low + (high - low) * i / (count - 1))));
    }
    points.back() = most;
    return points;
}

/// Runs `one(capacity)` for each capacity on `threads` threads (0: as many as there are).
template <class One>
std::vector<ReplayResult> for_each_capacity(const std::vector<u64>& capacities, u32 threads, One one) {
    std::vector<ReplayResult> results(capacities.size());
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        for (std::size_t i = next++; i < capacities.size(); i = next++) {
            results[i] = one(capacities[i]);
        }
    };
    const u32 wanted = threads == 0 ? std::thread::hardware_concurrency() : threads;
    std::vector<std::thread> others;
    for (u32 i = 1; i < wanted && i < capacities.size(); ++i) {
        others.emplace_back(work);
    }
    work();
    for (std::thread& other : others) {
        other.join();
    }
    return results;
}

/// For traces that form a prefix forest; others: for_each_capacity over replay().
inline std::vector<ReplayResult> sweep(const OwnedPaths& paths, const StoredSizes& sizes, const SavePolicy& policy,
                                       const std::vector<u64>& capacities, u32 threads = 0) {
    return for_each_capacity(capacities, threads, [&](u64 capacity) {
        return RangeReplay{paths, sizes, policy, capacity}.run();
    });
}

}  // namespace kvcap::inline v1
