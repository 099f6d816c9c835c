// SPDX-License-Identifier: MIT
// Acceptance of 512 boundaries at once, where every group has pages of one size: bit i of a tile is the
// boundary after page i. Windows by doubling erosion of the held bits, of 64 pages or more by runs; chunks
// and snapshots directly.
#pragma once

#include <kvcap/reuse/floor.hpp>

namespace kvcap::inline v1 {

inline constexpr u64 tile_words = 8;
inline constexpr u64 tile_pages = 64 * tile_words;

struct Tile {
    u64 word[tile_words];
};

// By value and over a fixed count, so that compilers turn each loop into a few wide instructions.
constexpr Tile operator&(Tile a, const Tile b) noexcept {
    for (u64 k = 0; k < tile_words; ++k) {
        a.word[k] &= b.word[k];
    }
    return a;
}

constexpr bool any(const Tile& tile) noexcept {
    const u64(&w)[tile_words] = tile.word;
    return (w[0] | w[1] | w[2] | w[3] | w[4] | w[5] | w[6] | w[7]) != 0;
}

/// The `n` lowest bits.
constexpr Tile low_tile(u64 n) noexcept {
    Tile tile{};
    for (u64 k = 0; k < tile_words; ++k) {
        tile.word[k] = n > 64 * k ? low_bits(n - 64 * k) : 0;
    }
    return tile;
}

/// 1 + the highest set bit. pre: any(tile)
constexpr u64 top(const Tile& tile) noexcept {
    u64 k = tile_words - 1;
    while (tile.word[k] == 0) {
        --k;
    }
    return 64 * k + 64 - static_cast<u64>(std::countl_zero(tile.word[k]));
}

/// A rule in pages: need of a window, length of a chunk. Tiles are asked for from right to left, and what one
/// found is kept for the next. Window: pages [run_from, tile) are held, the one before (if hole) is missing.
/// Chunk: run_from is its start, run_to its first missing page.
struct TileRule {
    Needs needs;
    bool hole;
    u64 need;
    u64 run_from;
    u64 run_to;
};

template <PageSource S>
constexpr Tile held_tile(const S& source, u64 word) noexcept {
    Tile tile{};
    if ((word + tile_words) * 64 <= source.count) {
        for (u64 k = 0; k < tile_words; ++k) {
            tile.word[k] = source.raw(word + k);
        }
    } else {
        for (u64 k = 0; k < tile_words; ++k) {
            tile.word[k] = word_of(source, word + k);
        }
    }
    return tile;
}

/// Bit i stays when the `need` bits up to it are set. below: each word's lower neighbour, so that the words
/// are independent of each other. pre: 1 <= need < 64
constexpr Tile eroded(Tile tile, Tile below, u64 need) noexcept {
    for (u64 done = 1; done < need;) {
        const u64 by = smaller(done, need - done);
        for (u64 k = 0; k < tile_words; ++k) {
            tile.word[k] &= tile.word[k] << by | below.word[k] >> (64 - by);
        }
        for (u64 k = 0; k < tile_words; ++k) {
            below.word[k] &= below.word[k] << by;
        }
        done += by;
    }
    return tile;
}

/// The lower neighbours of the words of a tile; below page 0 everything counts as held.
template <PageSource S>
constexpr Tile below_tile(const S& source, u64 word) noexcept {
    if (word > 0) {
        return held_tile(source, word - 1);
    }
    const bool whole = tile_pages <= source.count;
    Tile below{};
    below.word[0] = ~u64{0};
    for (u64 k = 1; k < tile_words; ++k) {
        below.word[k] = whole ? source.raw(k - 1) : word_of(source, k - 1);
    }
    return below;
}

/// First bit of the word at page `base` whose window of `need` pages is clear below the word.
template <PageSource S>
constexpr u64 first_clear(TileRule& rule, const S& source, u64 base) noexcept {
    if (rule.run_from > base) {
        rule.run_from = base;
        rule.hole = false;
    }
    while (!rule.hole && rule.run_from > 0 && base - rule.run_from < rule.need) {
        const u64 from = rule.run_from > rule.need ? rule.run_from - rule.need : 0;
        const u64 missing = last_missing(source, from, rule.run_from);
        rule.hole = missing != no_page;
        rule.run_from = rule.hole ? missing + 1 : from;
    }
    return rule.hole && base - rule.run_from < rule.need ? rule.need - (base - rule.run_from) - 1 : 0;
}

/// Windows of a word or more: only the run at the word's start can be accepted, from where the last hole is
/// out.
template <PageSource S>
constexpr void accept_wide(TileRule& rule, const S& source, u64 word, Tile& tile) noexcept {
    for (u64 k = tile_words; k-- > 0;) {
        const u64 run = static_cast<u64>(std::countr_one(tile.word[k]));
        if (run == 0) {
            tile.word[k] = 0;
            continue;
        }
        const u64 from = first_clear(rule, source, 64 * (word + k));
        tile.word[k] = from < run ? low_bits(run) & ~low_bits(from) : 0;
    }
}

/// Whether the chunk from `start` is held up to page `from`.
template <PageSource S>
constexpr bool begun(TileRule& rule, const S& source, u64 start, u64 from) noexcept {
    if (from != start && rule.run_from != start) {
        rule.run_from = start;
        rule.run_to = first_missing(source, start, start + rule.need);
    }
    return from == start || rule.run_to >= from;
}

/// Chunks: the run from the chunk's start, and the boundary at the chunk's end.
template <PageSource S>
constexpr void accept_chunks(TileRule& rule, const S& source, u64 word, Tile& tile) noexcept {
    for (u64 k = 0; k < tile_words; ++k) {
        const u64 base = 64 * (word + k);
        u64 accepted = 0;
        for (u64 start = base - base % rule.need; start < base + 64; start += rule.need) {
            const u64 end = smaller(start + rule.need, base + 64);
            const u64 from = larger(start, base);
            const u64 rest = tile.word[k] >> (from - base);
            const u64 run = begun(rule, source, start, from) ? static_cast<u64>(std::countr_one(rest)) : 0;
            accepted |= low_bits(smaller(run, end - from)) << (from - base);
            if (end == start + rule.need) {
                accepted |= u64{1} << (end - 1 - base);
            }
        }
        tile.word[k] = accepted;
    }
}

/// Boundaries of the tile at `word` that the group's tail rule accepts.
template <PageSource S>
constexpr Tile accepted(TileRule& rule, const S& source, u64 word) noexcept {
    if (rule.needs == Needs::snapshot) {
        return held_tile(source, word);
    }
    if ((rule.needs != Needs::window && rule.needs != Needs::chunk) || rule.need == 0) {
        return low_tile(tile_pages);
    }
    Tile tile = held_tile(source, word);
    if (rule.needs == Needs::chunk) {
        accept_chunks(rule, source, word, tile);
    } else if (rule.need < 64) {
        return eroded(tile, below_tile(source, word), rule.need);
    } else {
        accept_wide(rule, source, word, tile);
    }
    return tile;
}

/// Every group that cuts the prompt has pages of the unit's size, so that boundaries are page numbers.
template <PageSource S>
constexpr bool one_page_size(const Group<S>* groups, u32 count, const Grid& grid) noexcept {
    bool one = grid.tail == off_scale;
    for (u32 g = 0; g < count; ++g) {
        const Rule& rule = groups[g].rule;
        one = one && rule.stride == 1 && rule.lag == 0 &&
              (rule.page == grid.unit || rule.needs == Needs::whole || rule.needs == Needs::nothing) &&
              (rule.needs != Needs::chunk || rule.reach % grid.unit == 0);
    }
    return one;
}

constexpr TileRule tile_rule(const Rule& rule) noexcept {
    const bool chunk = rule.needs == Needs::chunk;
    const bool window = rule.needs == Needs::window;
    const u64 need = chunk    ? pages_below(rule.reach, rule.page)
                     : window ? pages_over(rule.reach, rule.page)
                              : 0;
    return {.needs = rule.needs, .hole = false, .need = need, .run_from = off_scale, .run_to = 0};
}

}  // namespace kvcap::inline v1
