// SPDX-License-Identifier: MIT
// Facts that hold constants and edges of the reuse evaluator in place; mutation testing (tests/tools/mutate.py) says
// which are needed.
#include <kvcap/core.hpp>
#include <kvcap/reuse.hpp>
#include <kvcap/reuse/fleet.hpp>
#include <kvcap/reuse/lane.hpp>
#include <kvcap/reuse/model_rules.hpp>
#include <kvcap/reuse/probe.hpp>
#include <kvcap/reuse/repair.hpp>
#include <kvcap/reuse/snapshot_tree.hpp>
#include <kvcap/reuse/snapshots.hpp>
#include <kvcap/reuse/tile.hpp>

using namespace kvcap;

namespace {

// Values without arguments.
static_assert(Rule{}.page == 1 && Rule{}.reach == 0 && Rule{}.sinks == 0 && Rule{}.stride == 1 && Rule{}.lag == 0);
static_assert(Grid{}.unit == 1 && Grid{}.tail == off_scale && Ask{}.prompt == 0 && Ask{}.limit == 0);
static_assert(Without{}.first == 0xffff'ffff && Without{}.second == 0xffff'ffff);
static_assert(Reason{}.refused == 0 && PageBits{}.count == 0 &&
              ShardBits{}.count == 0 &&
              ShardBits{}.ranks == 1 && !ShardBits{}.replicated && Resampled<PageBits>{}.factor == 1 &&
              !Resampled<PageBits>{}.ends && Resampled<PageBits>{}.count == 0);
static_assert(WorkerBits{}.row_words == 0 && WorkerBits{}.worker == 0 && WorkerBits{}.count == 0 &&
              BestWorker{}.worker == 0 && BestWorker{}.tokens == 0 && BestWorker{}.bytes == 0 &&
              FleetGroup{}.pages == 0);
static_assert(PageRange{}.first == 0 && PageRange{}.end == 0 && PageRange{}.sinks == 0 && !PageRange{}.none);
static_assert(RemoteGroup{}.pages == 0 && !RemoteGroup{}.closed && ProbeOptions{}.first == 4 &&
              ProbeOptions{}.growth == 2 && ProbeOptions{}.split == 31 && HopefulBits{}.count == 0);
static_assert(TreeNode{}.depth == 0 && TreeNode{}.reuses == 0 && TreeChoice{}.recompute == 0 &&
              TreeChoice{}.snapshots == 0 && TreeChoice{}.reusable == 0);
static_assert(ReusePoint{}.at == 0 && ReusePoint{}.weight == 0 && Merged{}.count == 0 && Merged{}.lost == 0 &&
              Spacing{}.snapshots == 0 && Spacing{}.recompute == 0 && Spacing{}.weight == 0 &&
              Priced{}.total == 0 &&
              Priced{}.snapshots == 0);
static_assert(RepairStep{}.tokens == 0 && RepairStep{}.bytes == 0 && Repairs{}.now == 0 && Repairs{}.steps == 0 &&
              Gaps{}.missing == 0 && Gaps{}.lost == 0);

// What a question may be.
constexpr Group<PageBits> many[most_groups + 1]{};
constexpr Error asked(u32 count, Rule rule = {}, Ask ask = {}, u64 pages = 0) {
    Group<PageBits> groups[most_groups + 1]{};
    groups[0].rule = rule;
    groups[0].pages.count = pages;
    return fault(groups, count, ask);
}
static_assert(most_groups == 32 && fault(many, most_groups, Ask{}) == Error{});
static_assert(asked(33) == Error{.code = Errc::capacity, .got = 33, .want = 32} && asked(0) == Error{});
static_assert(asked(1, {.page = 0}).code == Errc::zero_dimension &&
              asked(1, {.stride = 0}).code == Errc::zero_dimension);
static_assert(asked(1, {.needs = Needs::chunk}) == Error{.code = Errc::zero_dimension, .layer = 0} &&
              asked(1, {.needs = Needs::chunk, .reach = 1}) == Error{} &&
              asked(1, {.needs = Needs::window}) == Error{});
static_assert(asked(1, {}, {.grid = {.unit = 0}}) == Error{.code = Errc::zero_dimension});
static_assert(asked(1, {.page = 2}, {}, u64{1} << 61).code == Errc::overflow &&
              asked(1, {.page = 2}, {}, (u64{1} << 61) - 1) == Error{});
static_assert(reach_of(4, WindowEdge::past) == 3 && reach_of(4, WindowEdge::full) == 4 &&
              reach_of(0, WindowEdge::past) == 0 && reach_of(1, WindowEdge::past) == 0);
constexpr Rule ruled(Retention kept) { return rule_of(kept, 16); }
static_assert(ruled({.stride = 4, .lag = 3}) == Rule{.page = 16, .stride = 4, .lag = 3});
static_assert(ruled({.keep = Keep::window, .span = 9_tok, .sinks = 2_tok}) ==
              Rule{.needs = Needs::window, .page = 16, .reach = 8, .sinks = 2});
static_assert(ruled({.keep = Keep::chunk, .span = 9_tok}) == Rule{.needs = Needs::chunk, .page = 16, .reach = 9});
static_assert(ruled({.keep = Keep::budget, .span = 9_tok}).needs == Needs::snapshot &&
              ruled({.keep = Keep::last}).needs == Needs::snapshot &&
              ruled({.keep = Keep::once}).needs == Needs::nothing);
static_assert(ruled({.source = Source::encoder}).needs == Needs::whole &&
              ruled({.keep = Keep::once, .source = Source::encoder}).needs == Needs::nothing &&
              ruled({.source = Source::prompt}).needs == Needs::everything);

// One page among many words is found wherever it lies, from either side, held or missing.
constexpr bool found_everywhere = [] {
    bool all = true;
    for (u64 page = 0; page < 64 * 20; page += 61) {
        u64 held[20]{};
        u64 missing[20]{};
        for (u64& word : missing) {
            word = off_scale;
        }
        held[page / 64] = u64{1} << page % 64;
        missing[page / 64] = ~held[page / 64];
        const PageBits one{held, 64 * 20};
        const PageBits rest{missing, 64 * 20};
        all = all && last_held(one, 0, 64 * 20) == page && last_missing(rest, 0, 64 * 20) == page;
        all = all && first_missing(rest, 0, 64 * 20) == page && last_held(one, 0, page) == no_page;
        all = all && last_held(one, page, page + 1) == page && first_missing(rest, page + 1, 64 * 20) == 64 * 20;
    }
    return all;
}();
static_assert(found_everywhere);

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
static_assert(chunked.word[0] == off_scale && chunked.word[1] == off_scale &&
              chunked.word[tile_words - 1] == off_scale);
static_assert(chunked.word[2] == (off_scale & ~(u64{0x3ff} << 5)));

constexpr Tile windowed(u64 reach) {
    TileRule rule = tile_rule({.needs = Needs::window, .page = 1, .reach = reach});
    return accepted(rule, PageBits{held_words, 64 * (tile_words + 2)}, 0);
}
static_assert(windowed(3).word[2] == (off_scale & ~(u64{0b111} << 5)));
static_assert(windowed(70).word[2] == 0x1f && windowed(70).word[3] == (off_scale & ~u64{0x7ff}));
static_assert(windowed(0).word[0] == off_scale);

// Tiles from the right begin with the one that has the last page, on both sides of a border.
constexpr u64 floor_by_tiles(u64 at) {
    constexpr u64 held[2 * tile_words] = {0, 0, 0, 0, 0, 0, 0, u64{1} << 62, 1};  // boundaries 511 and 513
    const Group<> states{{.needs = Needs::snapshot, .page = 1}, {held, 64 * 2 * tile_words}};
    const u32 tail[] = {0};
    return scan_tiles(&states, tail, 1, at);
}
static_assert(floor_by_tiles(600) == 513 && floor_by_tiles(513) == 513 && floor_by_tiles(512) == 511);
static_assert(floor_by_tiles(511) == 511 && floor_by_tiles(510) == 0);

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
