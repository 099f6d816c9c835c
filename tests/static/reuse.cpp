// SPDX-License-Identifier: MIT
// Facts of prefix reuse: what a window, a chunk, a state needs; the greatest boundary acceptable to all; why
// it is not more; and that all of it is constexpr and noexcept.
#include <kvcap/core.hpp>
#include <kvcap/reuse.hpp>
#include <kvcap/reuse/fleet.hpp>
#include <kvcap/reuse/model_rules.hpp>
#include <kvcap/reuse/probe.hpp>
#include <kvcap/reuse/repair.hpp>
#include <kvcap/reuse/snapshot_tree.hpp>
#include <kvcap/reuse/snapshots.hpp>

using namespace kvcap;

namespace {

constexpr u64 words(const char* bits) {
    u64 word = 0;
    for (u64 i = 0; bits[i] != '\0'; ++i) {
        word |= u64{bits[i] == '1' ? 1u : 0u} << i;
    }
    return word;
}

constexpr u64 count_of(const char* bits) {
    u64 n = 0;
    while (bits[n] != '\0') {
        ++n;
    }
    return n;
}

/// The floor of one group with pages of 16 tokens.
constexpr u64 floor_of(Rule rule, const char* bits, u64 at, Grid grid = {.unit = 16}) {
    rule.page = rule.page == 1 ? 16 : rule.page;
    const u64 word = words(bits);
    return floor(Group<>{rule, {&word, count_of(bits)}}, at, grid);
}

// Everything: up to the first missing page.
static_assert(floor_of({}, "1101", 64) == 32);
static_assert(floor_of({}, "1111", 63) == 48);

// A window needs only [p - w, p): early pages may be missing, whatever the convention.
constexpr Rule past{.needs = Needs::window, .reach = reach_of(33, WindowEdge::past)};
constexpr Rule full{.needs = Needs::window, .reach = reach_of(33, WindowEdge::full)};
static_assert(past.reach == 32 && full.reach == 33);
static_assert(floor_of(past, "001100", 96) == 64);
static_assert(floor_of(full, "001100", 96) == 0);
static_assert(floor_of(full, "011100", 96) == 64);
static_assert(floor_of({.needs = Needs::window, .reach = 0}, "000", 48) == 48);

// A window shorter than its reach that begins at the start is acceptable.
static_assert(floor_of({.needs = Needs::window, .reach = 1000}, "11100", 80) == 48);

// Sinks must be there too.
static_assert(floor_of({.needs = Needs::window, .reach = 32, .sinks = 4}, "100110", 96) == 80);
static_assert(floor_of({.needs = Needs::window, .reach = 32, .sinks = 4}, "000110", 96) == 0);

// Chunked attention: only the boundary's own chunk; at a chunk's end nothing at all. Missing earlier chunks
// are free.
static_assert(floor_of({.needs = Needs::chunk, .reach = 64}, "000011", 96) == 96);
static_assert(floor_of({.needs = Needs::chunk, .reach = 64}, "000000", 96) == 64);
static_assert(floor_of({.needs = Needs::chunk, .reach = 64}, "000010", 96) == 80);

// A state hits exactly at a snapshot, also finer than the pages of others.
static_assert(floor_of({.needs = Needs::snapshot}, "0100", 64) == 32);
static_assert(floor_of({.needs = Needs::snapshot}, "0100", 31) == 0);
static_assert(floor_of({.needs = Needs::snapshot, .page = 4}, "00000001000", 44, {.unit = 4}) == 32);
static_assert(floor_of({.needs = Needs::snapshot, .page = 4}, "0000001", 44, {.unit = 4}) == 28);
static_assert(floor_of({.needs = Needs::snapshot, .page = 4}, "0000001", 44, {.unit = 16}) == 0);

// Cross attention: the encoder's tokens, all of them, whatever the boundary.
static_assert(floor_of({.needs = Needs::whole}, "111", 640) == 640);
static_assert(floor_of({.needs = Needs::whole}, "101", 640) == 0);

// The short tail counts where it is a boundary, and nowhere else.
static_assert(floor_of({}, "111", 41, {.unit = 16, .tail = 41}) == 41);
static_assert(floor_of({}, "110", 41, {.unit = 16, .tail = 41}) == 32);
static_assert(floor_of({}, "111", 41) == 32);

// The answer is the greatest boundary acceptable to all: no group's own answer, and not their minimum.
constexpr u64 everything_held = words("11111111");
constexpr u64 window_held = words("01101110");
constexpr u64 states_held = words("00100010");
constexpr Group<> hybrid[3]{{{.page = 16}, {&everything_held, 8}},
                            {{.needs = Needs::window, .page = 16, .reach = 32}, {&window_held, 8}},
                            {{.needs = Needs::snapshot, .page = 16}, {&states_held, 8}}};
constexpr Ask ask = ask_for(129, 16);
static_assert(ask.limit == 128);
static_assert(reusable(hybrid, 3, ask) == 112);
constexpr u64 fewer_states = words("00110000");
constexpr Group<> gappy[3]{hybrid[0], hybrid[1], {hybrid[2].rule, {&fewer_states, 8}}};
constexpr Explanation known = explain(gappy, 3, ask);
static_assert(known.tokens == 48);
static_assert(known.alone[0] == 128 && known.alone[1] == 112 && known.alone[2] == 64);
static_assert(known.without[0] == 48 && known.without[1] == 64 && known.without[2] == 112);
static_assert(known.limiting.size() == 1 && known.limiting[0] == 2);
static_assert(known.reason == Reason{.why = Why::no_snapshot, .group = 2, .page = 6, .refused = 112});

// The last token is always computed, which costs a whole page at a boundary; a shorter rest is alignment.
constexpr Explanation whole_prompt = explain(hybrid, 1, ask_for(128, 16));
static_assert(whole_prompt.tokens == 112 && whole_prompt.reason.why == Why::last_token &&
              whole_prompt.reason.refused == 128);
static_assert(explain(hybrid, 1, ask_for(120, 16)).reason.why == Why::alignment);
static_assert(explain(hybrid, 1, {.prompt = 128, .limit = 128, .grid = {.unit = 16}}).reason.why ==
              Why::limit);

// A page counts when every rank holds its shard; a replicated group needs one rank.
constexpr u64 rank0 = words("1110");
constexpr u64 rank1 = words("1011");
constexpr const u64* ranks[2]{&rank0, &rank1};
static_assert(reusable<ShardBits>(nullptr, 0, ask) == 128);
constexpr Group<ShardBits> sharded{{.page = 16}, {ranks, 2, false, 4}};
constexpr Group<ShardBits> copied{{.page = 16}, {ranks, 2, true, 4}};
static_assert(reusable(&sharded, 1, ask) == 16 && reusable(&copied, 1, ask) == 64);

// Rules read off forms: shared layers own no group, budgeted caches are reusable only whole.
static_assert(rule_of(Windowed{Gqa{8, 128}, 1024_tok}.forms()[0].retention, 16) ==
              Rule{.needs = Needs::window, .page = 16, .reach = 1023});
static_assert(rule_of(Chunked{Gqa{8, 128}, 8192_tok}.forms()[0].retention, 16).reach == 8192);
static_assert(rule_of(Budgeted{Gqa{8, 128}, 512_tok}.forms()[0].retention, 16).needs == Needs::snapshot);
static_assert(rule_of(Cross{Gqa{8, 128}}.forms()[0].retention, 16).needs == Needs::whole);
static_assert(rule_of(last_only, 16).needs == Needs::snapshot);
static_assert(SharedWith{3}.forms().empty());

// What is wrong with a question is data.
constexpr Group<> no_page{{.page = 0}, {}};
static_assert(fault(&no_page, 1, ask) == Error{.code = Errc::zero_dimension, .layer = 0});
static_assert(fault(hybrid, 3, ask).code == Errc::ok);
static_assert(fault(hybrid, 3, {.grid = {.unit = 0}}).code == Errc::zero_dimension);

// The servable set is no interval: a window of 2 pages with {0, 1, 3, 4} serves 1, 2 and 5.
constexpr u64 servable_lengths(const char* bits) {
    const u64 word = words(bits);
    const Group<> group{{.needs = Needs::window, .page = 1, .reach = 2}, {&word, count_of(bits)}};
    u64 lengths = 0;
    servable(&group, 1, {.limit = count_of(bits)}, [&](u64 n) { lengths = lengths * 10 + n; });
    return lengths;
}
static_assert(servable_lengths("11011") == 521);

// Repair: the cheapest step beats the next boundary.
constexpr u64 bytes[3]{100, 10, 50};
constexpr Repairs repairs = repair(gappy, 3, ask, Prices<>{.bytes = bytes});
static_assert(repairs.now == 48 && repairs.cheapest == RepairStep{64, 10} &&
              repairs.longest == RepairStep{128, 60});

// Snapshots: two points, one snapshot on the heavier.
constexpr u64 one_snapshot() {
    const ReusePoint points[2]{{100, 1}, {110, 5}};
    u64 slope[2]{}, constant[2]{}, before[3]{}, now[3]{}, cost[2]{};
    u32 index[2]{};
    snapshot_costs(points, 2, 1, cost, {slope, constant, index, before, now, nullptr});
    return cost[1];
}
static_assert(one_snapshot() == 50);  // at 100: 5 reuses recompute 10 each; at 110 it would be 100

static_assert(noexcept(reusable(hybrid, 3, ask)) && noexcept(explain(hybrid, 3, ask)) &&
              noexcept(repair(hybrid, 3, ask, Prices<>{.bytes = bytes})));

}  // namespace

namespace {

// A model's groups: one for each rule, whatever the number of forms; bytes of a page over all their caches.
constexpr auto gemma_like =
    compose(repeat(2, Gqa{8, 128}), repeat(10, Windowed{Gqa{8, 128}, 1024_tok}), repeat(1, Mla{512, 64}),
            repeat(3, Mamba2{.heads = 4, .head_dim = 8, .state_dim = 16, .groups = 1, .kernel = 4}))
        .value();
constexpr ModelRules rules = rules_of(gemma_like, {.page = 16, .snapshot = 64}).value();
static_assert(rules.size() == 3);
static_assert(rules[0].rule.needs == Needs::everything && rules[0].caches == 3);
static_assert(rules[0].bytes == 16 * (2 * 4096 + 1152));
static_assert(rules[1].rule == Rule{.needs = Needs::window, .page = 16, .reach = 1023} &&
              rules[1].caches == 10);
static_assert(rules[2].rule == Rule{.needs = Needs::snapshot, .page = 64} && rules[2].caches == 3);
static_assert(rules_of(gemma_like, {.page = 0}).error().code == Errc::zero_dimension);

// Presence that ends long before the limit costs nothing.
constexpr u64 short_words = words("111");
constexpr Group<> short_window{{.needs = Needs::window, .page = 16, .reach = 32}, {&short_words, 3}};
static_assert(reusable(&short_window, 1, ask_for(u64{1} << 50, 16)) == 48);
static_assert(reusable(&short_window, 1, ask_for(u64{1} << 50, 8)) == 48);

}  // namespace
