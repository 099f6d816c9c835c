// SPDX-License-Identifier: MIT
// A request trace of about the shape of published ones, for machines without one.
#pragma once

#include <algorithm>
#include <kvcap/store/trace.hpp>
#include <random>
#include <vector>

/// Prompts that continue one of the last few hundred conversations, or begin a new one below one shared root.
inline kvcap::Trace made_up_trace(std::uint32_t requests) {
    std::mt19937_64 random{20261129};
    kvcap::Trace trace;
    trace.block_tokens = 512;
    std::vector<std::vector<std::uint32_t>> open;
    std::uint32_t next = 1;
    for (std::uint32_t r = 0; r < requests; ++r) {
        std::vector<std::uint32_t> path{0};
        if (!open.empty() && random() % 100 < 45) {
            path = open[open.size() - 1 - random() % std::min<std::size_t>(open.size(), 400)];
        }
        for (std::uint64_t grow = 1 + random() % 30; grow > 0; --grow) {
            path.push_back(next++);
        }
        trace.requests.push_back({path.size() * 512 + random() % 512, trace.ids.size(),
                                  static_cast<std::uint32_t>(path.size()), static_cast<double>(r)});
        trace.ids.insert(trace.ids.end(), path.begin(), path.end());
        open.push_back(std::move(path));
    }
    trace.distinct = next;
    return trace;
}
