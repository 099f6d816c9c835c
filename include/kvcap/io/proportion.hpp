// SPDX-License-Identifier: MIT
// How is a whole dealt in proportion, so that the parts add up to it? By largest remainders: each part gets its share
// rounded down, and what is left goes one by one to the parts that lost most, the first ones on a tie.
#pragma once

#include <algorithm>
#include <kvcap/units.hpp>
#include <numeric>
#include <vector>

namespace kvcap::inline v1::io {

/// `total` in parts that relate as `to` and add up to it; where all of `to` are 0, the first has everything.
/// pre: `to` is not empty. A sum that leaves 64 bits is brought back by halving all of `to`.
inline std::vector<u64> in_proportion(u64 total, std::vector<u64> to) {
    u64 all = std::accumulate(to.begin(), to.end(), u64{0}, saturating_sum);
    while (all == off_scale) {
        std::for_each(to.begin(), to.end(), [](u64& each) { each /= 2; });
        all = std::accumulate(to.begin(), to.end(), u64{0}, saturating_sum);
    }
    std::vector<u64> parts(to.size(), 0);
    if (all == 0) {
        parts.front() = total;
        return parts;
    }
    std::vector<u64> rests(to.size(), 0);
    std::vector<std::size_t> order(to.size(), 0);
    u64 left = total;
    for (std::size_t i = 0; i < to.size(); ++i) {
        parts[i] = product_over(total, to[i], all);
        rests[i] = total * to[i] - parts[i] * all;  // below `all`, so exact although both products may wrap
        order[i] = i;
        left -= parts[i];
    }
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return rests[a] != rests[b] ? rests[a] > rests[b] : a < b;
    });
    for (std::size_t i = 0; i < left; ++i) {  // fewer than there are rests above 0
        ++parts[order[i]];
    }
    return parts;
}

}  // namespace kvcap::inline v1::io
