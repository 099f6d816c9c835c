// SPDX-License-Identifier: MIT
// Which pages are held? One bit a page in the caller's words, an AND (or OR) over rank shards, or a callable;
// and the scans that every reuse question stands on: first missing, last missing, last held page of a range.
#pragma once

#include <bit>
#include <concepts>
#include <kvcap/units.hpp>

namespace kvcap::inline v1 {

inline constexpr u64 no_page = off_scale;

/// The `n` lowest bits. pre: n <= 64
constexpr u64 low_bits(u64 n) noexcept {
    return n >= 64 ? ~u64{0} : (u64{1} << n) - 1;
}

/// raw(i): pages [64 i, 64 i + 64), one bit each; bits at or beyond `count` may be anything and are not held.
/// pre of raw: 64 i < count
template <class S>
concept PageSource = requires(const S& source, u64 i) {
    { source.count } -> std::convertible_to<u64>;
    { source.raw(i) } noexcept -> std::same_as<u64>;
};

/// The caller's words; ceil(count / 64) of them are read.
struct PageBits {
    const u64* words = nullptr;
    u64 count = 0;

    constexpr u64 raw(u64 i) const noexcept { return words[i]; }
};

/// Shards of one group on several ranks: a page counts when every rank holds its shard, or, for a group that
/// is replicated over these ranks, when any rank does. words[r]: the words of rank r.
struct ShardBits {
    const u64* const* words = nullptr;
    u32 ranks = 1;
    bool replicated = false;
    u64 count = 0;

    constexpr u64 raw(u64 i) const noexcept {
        u64 all = words[0][i];
        for (u32 rank = 1; rank < ranks; ++rank) {
            all = replicated ? all | words[rank][i] : all & words[rank][i];
        }
        return all;
    }
};

/// A callable `present(group, page) -> bool`, asked for 64 pages at a time. For a store where each question
/// costs, see reuse/probe.hpp.
template <class F>
struct CalledPages {
    const F* present = nullptr;
    u32 group = 0;
    u64 count = 0;

    constexpr u64 raw(u64 i) const noexcept {
        u64 bits = 0;
        for (u64 k = 0; k < 64 && 64 * i + k < count; ++k) {
            bits |= u64{(*present)(group, 64 * i + k) ? 1u : 0u} << k;
        }
        return bits;
    }
};

template <PageSource S>
constexpr bool held(const S& source, u64 page) noexcept {
    return page < source.count && ((source.raw(page / 64) >> (page % 64)) & 1) != 0;
}

/// Pages [64 i, 64 i + 64) with everything beyond `count` missing.
template <PageSource S>
constexpr u64 word_of(const S& source, u64 i) noexcept {
    if (64 * i >= source.count) {
        return 0;
    }
    return source.raw(i) & low_bits(source.count - 64 * i);
}

/// First page of [begin, end) that is not held; `end` when all are.
template <PageSource S>
constexpr u64 first_missing(const S& source, u64 begin, u64 end) noexcept {
    const u64 stop = smaller(end, source.count);
    if (begin >= stop) {
        return smaller(begin, end);
    }
    u64 i = begin / 64;
    const u64 last = (stop - 1) / 64;
    u64 missing = ~source.raw(i) & ~low_bits(begin % 64);
    while (missing == 0 && i < last) {
        while (last - i > 8 &&
               (source.raw(i + 1) & source.raw(i + 2) & source.raw(i + 3) & source.raw(i + 4) &
                source.raw(i + 5) & source.raw(i + 6) & source.raw(i + 7) & source.raw(i + 8)) == ~u64{0}) {
            i += 8;
        }
        missing = ~source.raw(++i);
    }
    if (missing == 0) {
        return stop;
    }
    return smaller(64 * i + static_cast<u64>(std::countr_zero(missing)), stop);
}

/// The word from `i` - 1 down to `first` that has a bit set, `flip` XORed in; off_scale when there is none.
template <PageSource S>
constexpr u64 word_below(const S& source, u64 first, u64 i, u64 flip) noexcept {
    const auto all = [&](u64 at) noexcept {
        return (source.raw(at - 1) ^ flip) | (source.raw(at - 2) ^ flip) | (source.raw(at - 3) ^ flip) |
               (source.raw(at - 4) ^ flip) | (source.raw(at - 5) ^ flip) | (source.raw(at - 6) ^ flip) |
               (source.raw(at - 7) ^ flip) | (source.raw(at - 8) ^ flip);
    };
    while (i - first >= 8 && all(i) == 0) {
        i -= 8;
    }
    while (i > first) {
        if ((source.raw(--i) ^ flip) != 0) {
            return i;
        }
    }
    return off_scale;
}

/// Last page of [begin, end) whose bit, with `flip` XORed in, is set; no_page when there is none. pre: end <=
/// count
template <PageSource S>
constexpr u64 last_set(const S& source, u64 begin, u64 end, u64 flip) noexcept {
    if (begin >= end) {
        return no_page;
    }
    u64 i = (end - 1) / 64;
    u64 found = (source.raw(i) ^ flip) & low_bits((end - 1) % 64 + 1);
    if (found == 0) {
        const u64 first = begin / 64;
        i = i > first ? word_below(source, first, i, flip) : off_scale;
        if (i == off_scale) {
            return no_page;
        }
        found = source.raw(i) ^ flip;
    }
    const u64 page = 64 * i + 63 - static_cast<u64>(std::countl_zero(found));
    return page >= begin ? page : no_page;
}

/// Last page of [begin, end) that is not held; no_page when all are.
template <PageSource S>
constexpr u64 last_missing(const S& source, u64 begin, u64 end) noexcept {
    if (end > source.count) {
        return begin < end ? end - 1 : no_page;
    }
    return last_set(source, begin, end, ~u64{0});
}

/// Last page of [begin, end) that is held; no_page when none is.
template <PageSource S>
constexpr u64 last_held(const S& source, u64 begin, u64 end) noexcept {
    return last_set(source, begin, smaller(end, source.count), 0);
}

}  // namespace kvcap::inline v1
