// SPDX-License-Identifier: MIT
// The grid of the metamorphic tests: every card, split, stored format and length. KVCAP_CASES points of it are
// visited, in an order that a seed fixes and that spreads over all axes; a number as large as the grid visits it all.
#pragma once

#include "cards.hpp"
#include "random.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace property {

inline constexpr u64 grid_lengths[] = {0, 1, 17, 127, 4'096, 32'769, 131'072, 1'000'000, u64{1} << 32};

struct Axes {
    u64 cards = 0;
    u64 splits = 0;
    u64 formats = 0;
    u64 all() const { return cards * splits * formats; }
};

struct Point {
    u64 card = 0;
    u64 split = 0;
    u64 format = 0;
};

/// Points of the grid, at most `by_default` unless KVCAP_CASES says otherwise. Neighbours in the walk differ in the
/// card, and a stride that is prime to the size reaches every point once.
inline std::vector<Point> walk(const Axes& axes, u64 by_default) {
    const u64 size = axes.all();
    u64 stride = axes.cards * 7 + 1;
    while (std::gcd(stride, size) != 1) {
        ++stride;
    }
    std::vector<Point> points;
    const u64 wanted = std::min(size, cases(by_default));
    for (u64 i = 0, at = seed() % size; i < wanted; ++i, at = (at + stride) % size) {
        points.push_back({at % axes.cards, at / axes.cards % axes.splits, at / axes.cards / axes.splits});
    }
    return points;
}

/// What a run compared, so that a law that meets nothing fails.
struct Tally {
    const char* what;
    u64 points = 0;
    u64 refused = 0;
    u64 laws = 0;

    ~Tally() {
        std::printf("%s: %llu points, %llu refused, %llu comparisons\n", what, static_cast<unsigned long long>(points),
                    static_cast<unsigned long long>(refused), static_cast<unsigned long long>(laws));
    }
};

}  // namespace property
