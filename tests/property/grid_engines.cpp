// SPDX-License-Identifier: MIT
// Laws of every engine's plan over every card, split and cache dtype: held bytes are at most what the engine
// reserves for them, demand never falls with length, branches or batch, more memory, ranks or narrower elements are
// never worse, pools stay within the budget, lengths beyond 64 bits do not fit instead of wrapping. Exceptions are
// named, and counted: what is refused or not compared must stay as rare as it is.
#include "engine_plans.hpp"

#include <kvcap/plan/fit.hpp>
#include <map>

namespace grid_engines_tests {

using namespace kvcap;
using namespace property;

namespace {

const Sharding splits[] = {{},         {.tp = 2}, {.tp = 8},          {.pp = 2},           {.tp = 4, .pp = 2},
                           {.pp = 4},  {.cp = 2}, {.tp = 4, .cp = 2}, {.tp = 8, .cp = 8}};

Bytes reserved(const PoolPlan& plan, const Lengths& lengths) {
    Bytes sum{};
    const Demand need = demand(plan, lengths);
    for (u32 i = 0; i < plan.pools.size(); ++i) {
        sum += plan.pools[i].each * need.units[i];
    }
    return sum;
}

/// The lengths compared; 0 where the planned ranks cannot hold the model as the split says.
u64 check_held(const Planned& made, Tally& tally) {
    u64 compared = 0;
    for (const u64 n : grid_lengths) {
        const u64 prompt = smaller(n, made.longest);
        const Lengths lengths{
            .prompt = {prompt}, .decoded = {smaller(n, 50)}, .encoder = {made.keeps_encoder ? 11u : 0u}};
        for (const u32 stage : made.stages) {
            const auto held = fold(made.stored, lengths, made.ranks, {.stage = stage});
            if (held) {
                CAPTURE(n, stage);
                REQUIRE(held->per_sequence() <= reserved(made.plan, lengths));
                ++compared;
            }
        }
    }
    tally.laws += compared;
    return compared;
}

void check_demand(const PoolPlan& plan, Tally& tally) {
    Demand before = demand(plan, {.prompt = {0}});
    for (const u64 n : grid_lengths) {
        const Demand now = demand(plan, {.prompt = {n}});
        const Demand decoded = demand(plan, {.prompt = {n}, .decoded = {33}});
        const Demand twice = demand(plan, {.prompt = {n}, .decoded = {33}, .branches = 2});
        const Lengths lengths{.prompt = {n}};
        const u64 three = 3;
        const auto batch = taken(plan, {.each = &lengths, .counts = &three, .kinds = 1});
        for (u32 i = 0; i < plan.pools.size(); ++i) {
            REQUIRE(before.units[i] <= now.units[i]);
            REQUIRE(now.units[i] <= decoded.units[i]);
            REQUIRE(decoded.units[i] <= twice.units[i]);
            REQUIRE(twice.units[i] <= saturating_product(2, decoded.units[i]));
            REQUIRE(batch[i] == saturating_product(3, now.units[i]));
        }
        REQUIRE(most_sequences(plan, {.prompt = {n}, .decoded = {33}}) <= most_sequences(plan, {.prompt = {n}}));
        before = now;
        tally.laws += 6;
    }
    for (const u64 huge : {u64{1} << 60, off_scale}) {
        const Lengths lengths{.prompt = {huge}, .decoded = {huge}, .encoder = {huge}, .branches = ~u32{0}};
        const Demand most = demand(plan, lengths);
        for (u32 i = 0; i < plan.pools.size(); ++i) {
            REQUIRE(most.units[i] >= before.units[i]);
        }
        REQUIRE(most_sequences(plan, lengths) <= most_sequences(plan, {.prompt = {1}}));
        ++tally.laws;
    }
}

Bytes pooled(const PoolPlan& plan) {
    Bytes sum{};
    for (const Pool& pool : plan.pools) {
        sum += pool.each * pool.units;
    }
    return sum;
}

/// Twice the memory: no pool is smaller, and one more request or token is never lost.
void check_memory(const Planned& less, const Planned& more, Tally& tally) {
    const u64 n = smaller(smaller(less.plan.max_len, more.plan.max_len), 3'000);
    REQUIRE(most_sequences(less.plan, {.prompt = {n}}) <= most_sequences(more.plan, {.prompt = {n}}));
    REQUIRE(longest(less.plan, 3, 1'000'000_tok) <= longest(more.plan, 3, 1'000'000_tok));
    tally.laws += 2;
}

/// Cheaper tokens (fewer bytes an element, more ranks): three requests are never shorter. Where an engine gives states
/// a share in whole slots (SGLang), what the last slot leaves over goes to tokens, so smaller slots may cost that much.
void check_cheaper(const Planned& dear, const Planned& cheap, Tally& tally) {
    const u64 before = longest(dear.plan, 3, 1'000'000_tok).value;
    const u64 after = longest(cheap.plan, 3, 1'000'000_tok).value;
    ++tally.laws;
    if (before <= after) {
        return;
    }
    const auto& pools = dear.plan.pools;
    REQUIRE(pools.size() == 2);
    const u64 page = dear.plan.reported_block;
    REQUIRE((before - after) * 3 / page * pools[0].each.value <= pools[1].each.value + 6 * pools[0].each.value);
}

/// Why points of an engine are refused, or not compared, and of how many in 1,000 at most.
struct Excused {
    const char* engine;
    const char* why;
    u64 per_mille;
};
constexpr Excused excused[] = {
    {"exact", "refused: N heads cannot be dealt to N ranks", 3},
    {"exact", "refused: N query heads cannot be dealt to N ranks", 23},
    {"exact", "refused: N state heads or channels cannot be dealt to N ranks", 3},
    {"exact", "refused: the model has more than N parts of one kind; kvcap keeps at most N (N asked)", 52},
    {"exact", "refused: these rules do not cover this case", 13},
    {"vllm", "refused: N bytes are needed and N are available", 5},
    {"vllm", "refused: N heads cannot be dealt to N ranks", 3},
    {"vllm", "refused: N is not a multiple of N", 112},
    {"vllm", "refused: N query heads cannot be dealt to N ranks", 23},
    {"vllm", "refused: the engine refuses these options together", 35},
    {"vllm", "refused: these rules do not cover this case", 64},
    {"sglang", "refused: N is not a multiple of N", 112},
    {"sglang", "refused: N query heads cannot be dealt to N ranks", 13},
    {"sglang", "refused: N tokens are less than one page of N", 25},
    {"sglang", "refused: these rules do not cover this case", 35},
    {"trtllm", "not compared: groups that do not divide are dealt like channels", 1},
    {"trtllm", "not compared: pools bound by different stages", 13},
    {"trtllm", "refused: N bytes are left, less than one state slot of N bytes", 1},
    {"trtllm", "refused: N query heads cannot be dealt to N ranks", 9},
    {"trtllm", "refused: no other format of 4 bits", 250},
    {"trtllm", "refused: the engine refuses these options together", 2},
    {"trtllm", "refused: these rules do not cover this case", 303},
    {"llamacpp", "not compared: a tensor split rotates what it cannot cut", 29},
    {"llamacpp", "refused: N bytes are needed and N are available", 1},
    {"llamacpp", "refused: the engine refuses these options together", 67},
    {"llamacpp", "refused: these rules do not cover this case", 445},
};

/// What became of one engine's points: plans, plans whose held bytes were compared, and why the others were not.
struct Outcomes {
    u64 points = 0;
    u64 plans = 0;
    u64 compared = 0;
    std::map<std::string, u64> excused{};

    void print(const char* engine) const {
        std::printf("  %-9s%6llu points, %llu plans, %llu of them compared\n", engine,
                    static_cast<unsigned long long>(points), static_cast<unsigned long long>(plans),
                    static_cast<unsigned long long>(compared));
        for (const auto& [why, count] : excused) {
            std::printf("  %15llu %s\n", static_cast<unsigned long long>(count), why.c_str());
        }
    }
};

/// A class of points that no law meets is known, and no larger than it was; a sample may be off by chance.
void check_excused(const char* engine, const Outcomes& outcomes, bool sampled) {
    CHECK(outcomes.compared + std::accumulate(outcomes.excused.begin(), outcomes.excused.end(), u64{0},
                                              [](u64 sum, const auto& one) { return sum + one.second; }) ==
          outcomes.points);
    for (const auto& [why, count] : outcomes.excused) {
        CAPTURE(engine, why, count, outcomes.points);
        const auto known = std::find_if(std::begin(excused), std::end(excused), [&, &reason = why](const Excused& one) {
            return engine == std::string{one.engine} && reason == one.why;
        });
        REQUIRE(known != std::end(excused));
        const double most = static_cast<double>(outcomes.points * known->per_mille) / 1000;
        CHECK(static_cast<double>(count) <= most + (sampled ? 3 * std::sqrt(most) + 3 : 0));
    }
}

void check_point(const NamedEngine& engine, const Asked& asked, Outcomes& outcomes, Tally& tally) {
    ++tally.points;
    ++outcomes.points;
    const Made less = engine.plan(asked);
    if (!*less) {
        ++tally.refused;
        ++outcomes.excused["refused: " + less->refused];
        return;
    }
    ++outcomes.plans;
    if (less->within_budget) {
        REQUIRE(pooled(less->plan) <= asked.each);
    }
    if (less->unlike == nullptr && check_held(*less, tally) != less->stages.size() * std::size(grid_lengths)) {
        less->unlike = "the split deals no whole heads";
    }
    if (less->unlike == nullptr) {
        ++outcomes.compared;
    } else {
        ++outcomes.excused["not compared: " + std::string{less->unlike}];
    }
    check_demand(less->plan, tally);
    const Made more = engine.plan({asked.read, asked.split, asked.width, 48_GiB});
    REQUIRE(*more);
    check_memory(*less, *more, tally);
    const Made wide = engine.plan({asked.read, asked.split, Width::own, asked.each});
    if (*wide) {
        check_cheaper(*wide, *less, tally);
    }
    Sharding wider = asked.split;
    wider.tp *= 2;
    const Made spread = engine.plan({asked.read, wider, asked.width, asked.each});
    if (*spread) {
        check_cheaper(*less, *spread, tally);
    }
}

}  // namespace

TEST_CASE("grid: engines reserve what is held, never wrap, and never lose by more memory, ranks or narrower elements") {
    const Axes axes{.cards = cards().size() * std::size(engines), .splits = std::size(splits), .formats = widths};
    Tally tally{"grid, engines"};
    Outcomes outcomes[std::size(engines)];
    for (const Point& point : walk(axes, 100'000)) {
        const Card& card = cards()[point.card / std::size(engines)];
        const u64 at = point.card % std::size(engines);
        CAPTURE(card.name, engines[at].name, point.split, point.format, seed());
        const Asked asked{card.read, splits[point.split], static_cast<Width>(point.format), 24_GiB};
        check_point(engines[at], asked, outcomes[at], tally);
    }
    for (u32 i = 0; i < std::size(engines); ++i) {
        outcomes[i].print(engines[i].name);
        check_excused(engines[i].name, outcomes[i], tally.points < axes.all());
    }
}

}  // namespace grid_engines_tests
