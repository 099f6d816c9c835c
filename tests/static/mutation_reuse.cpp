// SPDX-License-Identifier: MIT
// Facts that hold constants and edges of the reuse evaluator in place; mutation testing (tests/tools/mutate.py) says
// which are needed.
#include <kvcap/core.hpp>
#include <kvcap/reuse.hpp>
#include <kvcap/reuse/lane.hpp>
#include <kvcap/reuse/model_rules.hpp>
#include <kvcap/reuse/tile.hpp>

using namespace kvcap;

namespace {

// A lane is empty only when every word is.
constexpr bool sees_every_word = [] {
    bool all = !any(Lane{});
    for (u64 k = 0; k < lane_words; ++k) {
        Lane lane{};
        lane.word[k] = u64{1} << 63 >> k;
        all = all && any(lane) && any(except(lane, Lane{})) && !any(except(lane, lane));
        Lane both{};
        meet(lane.word, lane_of(off_scale).word, both);
        all = all && both.word[k] == lane.word[k];
    }
    return all;
}();
static_assert(sees_every_word);

// Chunks over a whole tile, evaluated at build time, where a step beyond its words would not compile.
constexpr u64 held_words[tile_words + 2] = {off_scale, off_scale, off_scale & ~(u64{1} << 5), off_scale, off_scale,
                                            off_scale, off_scale, off_scale, off_scale, off_scale};
constexpr Tile chunked = [] {
    TileRule rule = tile_rule({.needs = Needs::chunk, .page = 1, .reach = 48});
    return accepted(rule, PageBits{held_words, 64 * (tile_words + 2)}, 0);
}();
// The hole at page 133 breaks the chunk 96 .. 143: boundaries 134 .. 143 are out, its end is in.
static_assert(chunked.word[0] == off_scale && chunked.word[1] == off_scale && chunked.word[tile_words - 1] == off_scale);
static_assert(chunked.word[2] == (off_scale & ~(u64{0x3ff} << 5)));

constexpr Tile windowed(u64 reach) {
    TileRule rule = tile_rule({.needs = Needs::window, .page = 1, .reach = reach});
    return accepted(rule, PageBits{held_words, 64 * (tile_words + 2)}, 0);
}
static_assert(windowed(3).word[2] == (off_scale & ~(u64{0b111} << 5)));
static_assert(windowed(70).word[2] == 0x1f && windowed(70).word[3] == (off_scale & ~u64{0x7ff}));
static_assert(windowed(0).word[0] == off_scale);

// Bytes of one page or snapshot of each group of a model, its caches summed.
constexpr auto mixed = compose(repeat(3, Gqa{1, 8}), repeat(2, Kda{1, 8}), repeat(1, Windowed{Gqa{1, 8}, 40_tok}),
                               repeat(1, Budgeted{Gqa{1, 8}, 10_tok}),
                               repeat(1, CompressedLatent{.latent = 8, .window = 4, .ratio = 4})).value();
constexpr auto rules = rules_of(mixed, {.page = 16, .snapshot = 64}).value();
constexpr u64 state_bytes = bytes_per_slot(Kda{1, 8}.forms()[0]).value().value;
constexpr u64 bytes_of(Needs needs, u64 stride = 1, u32 nth = 0) {
    for (const ModelRule& each : rules) {
        if (each.rule.needs == needs && each.rule.stride == stride && nth-- == 0) {
            return each.bytes;
        }
    }
    return 0;
}
static_assert(bytes_of(Needs::everything) == 3 * 16 * 32 && rules[0].caches == 3 && rules[0].first_form == 0);
static_assert(bytes_of(Needs::everything, 4) == 16 / 4 * 16);
static_assert(bytes_of(Needs::snapshot) == 2 * state_bytes + 10 * 32 && bytes_of(Needs::window) == 16 * 32);
static_assert(rules_of(mixed, {.page = 0}).error().code == Errc::zero_dimension &&
              rules_of(mixed, {.snapshot = 0}).error().code == Errc::zero_dimension);
static_assert(PageSizes{}.page == 16 && PageSizes{}.snapshot == 16 && ModelRule{}.first_form == 0 &&
              ModelRule{}.caches == 0 && ModelRule{}.bytes == 0);

}  // namespace
