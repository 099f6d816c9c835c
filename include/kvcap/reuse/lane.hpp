// SPDX-License-Identifier: MIT
// 512 workers as one value: what fleet questions compute with.
#pragma once

#include <kvcap/units.hpp>

namespace kvcap::inline v1 {

inline constexpr u64 lane_words = 8;
inline constexpr u64 lane_workers = 64 * lane_words;

/// 512 workers.
struct Lane {
    u64 word[lane_words];
};

/// Keeps in a what is in b too. Over a fixed count and apart in memory, so that it becomes a few wide
/// instructions.
constexpr void meet(Lane& __restrict a, const u64* __restrict b) noexcept {
    for (u64 k = 0; k < lane_words; ++k) {
        a.word[k] &= b[k];
    }
}

/// What is in both a and b.
constexpr void meet(const u64* a, const u64* b, Lane& __restrict both) noexcept {
    for (u64 k = 0; k < lane_words; ++k) {
        both.word[k] = a[k] & b[k];
    }
}

/// The workers of a that are not in b.
constexpr Lane except(const Lane& a, const Lane& b) noexcept {
    Lane left{};
    for (u64 k = 0; k < lane_words; ++k) {
        left.word[k] = a.word[k] & ~b.word[k];
    }
    return left;
}

constexpr bool any(const Lane& lane) noexcept {
    const u64(&w)[lane_words] = lane.word;
    return (w[0] | w[1] | w[2] | w[3] | w[4] | w[5] | w[6] | w[7]) != 0;
}

constexpr Lane lane_of(u64 value) noexcept {
    Lane lane{};
    for (u64 k = 0; k < lane_words; ++k) {
        lane.word[k] = value;
    }
    return lane;
}

}  // namespace kvcap::inline v1
