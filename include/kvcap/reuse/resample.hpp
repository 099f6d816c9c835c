// SPDX-License-Identifier: MIT
// How do groups with pages of different sizes become groups with pages of one? By cutting every page into
// equal pieces of the greatest common divisor: a piece is held when its page is, a snapshot lies at its
// page's last piece, and the grid of boundaries is one more group. Nothing is stored: words are made when
// they are read.
#pragma once

#include <kvcap/reuse/rule.hpp>

namespace kvcap::inline v1 {

/// The 32 lowest bits, bit i moved to 2 i.
constexpr u64 spread_by_two(u64 bits) noexcept {
    bits &= 0x00000000ffffffff;
    bits = (bits | bits << 16) & 0x0000ffff0000ffff;
    bits = (bits | bits << 8) & 0x00ff00ff00ff00ff;
    bits = (bits | bits << 4) & 0x0f0f0f0f0f0f0f0f;
    bits = (bits | bits << 2) & 0x3333333333333333;
    return (bits | bits << 1) & 0x5555555555555555;
}

/// pages: null stands for pages that are all held. factor: pieces of a page. ends: only a page's last piece
/// counts.
template <PageSource S>
struct Resampled {
    const S* pages = nullptr;
    u64 factor = 1;
    bool ends = false;
    u64 count = 0;

    constexpr u64 raw(u64 i) const noexcept {
        if ((factor & (factor - 1)) == 0 && factor <= 64) {
            const u64 page = 64 / factor * i;
            u64 bits = (pages == nullptr ? ~u64{0} : word_of(*pages, page / 64) >> (page % 64)) &
                       low_bits(64 / factor);
            for (u64 by = 1; by < factor; by *= 2) {
                bits = spread_by_two(bits);
            }
            return ends ? bits << (factor - 1) : bits * low_bits(factor);
        }
        u64 bits = 0;
        for (u64 page = 64 * i / factor; page * factor < 64 * i + 64; ++page) {
            const u64 begin = larger(page * factor, 64 * i) - 64 * i;
            const u64 end = smaller((page + 1) * factor, 64 * i + 64) - 64 * i;
            const bool whole = (page + 1) * factor <= 64 * i + 64;
            if (pages == nullptr || held(*pages, page)) {
                const u64 piece = ends ? (whole ? u64{1} << (end - 1) : 0) : low_bits(end - begin) << begin;
                bits |= piece;
            }
        }
        return bits;
    }
};

/// The size of the pieces that all of these groups' pages, chunks and boundaries are made of.
template <PageSource S>
constexpr u64 piece_of(const Group<S>* groups, const u32* tail, u32 tails, const Grid& grid) noexcept {
    u64 piece = grid.unit;
    for (u32 i = 0; i < tails; ++i) {
        const Rule& rule = groups[tail[i]].rule;
        piece = greatest_common_divisor(piece, rule.page);
        piece = rule.needs == Needs::chunk ? greatest_common_divisor(piece, rule.reach) : piece;
    }
    return piece;
}

/// The group in pieces; what must be held from the start is left to others.
template <PageSource S>
constexpr Group<Resampled<S>> in_pieces(const Group<S>& group, u64 piece) noexcept {
    const u64 factor = group.rule.page / piece;
    return {.rule = {.needs = group.rule.needs, .page = piece, .reach = group.rule.reach},
            .pages = {&group.pages, factor, group.rule.needs == Needs::snapshot,
                      saturating_product(group.pages.count, factor)}};
}

/// The boundaries up to `at` as snapshots that are all there.
template <PageSource S>
constexpr Group<Resampled<S>> grid_in_pieces(const Grid& grid, u64 piece, u64 at) noexcept {
    return {.rule = {.needs = Needs::snapshot, .page = piece},
            .pages = {nullptr, grid.unit / piece, true, at / piece + 1}};
}

}  // namespace kvcap::inline v1
