// SPDX-License-Identifier: MIT
// Probing against the evaluator on the whole bitmap: the same answer, no page twice, and the proved bounds.
#include "reuse_case.hpp"

#include <bit>
#include <catch2/catch.hpp>
#include <kvcap/reuse/probe.hpp>

namespace reuse_probe_tests {

using namespace kvcap;
using property::Random;
using property::ReuseCase;

namespace {

struct Run {
    u64 tokens = 0;
    u64 rounds = 0;
    u64 lookups = 0;
    u64 bounded = 0;
    bool twice = false;
    bool contradicted = false;
    std::vector<u64> of_group;
};

Run run(const ReuseCase& made, const std::vector<bool>& closed, const ProbeOptions& options = {}) {
    std::vector<RemoteGroup> remote;
    std::vector<std::vector<bool>> asked;
    for (u32 g = 0; g < made.count(); ++g) {
        remote.push_back({made.groups[g].rule, made.groups[g].pages, closed[g]});
        asked.emplace_back(made.groups[g].pages, false);
    }
    std::vector<u64> scratch(probe_words(remote.data(), made.count()));
    Probe probe{remote.data(), made.count(), made.ask, scratch.data(), options};
    Run run;
    run.of_group.assign(made.count(), 0);
    std::vector<std::pair<u32, u64>> batch;
    while (probe.next([&](u32 g, u64 page) { batch.push_back({g, page}); }) != 0) {
        for (auto at = batch.rbegin(); at != batch.rend(); ++at) {  // replies in any order
            run.twice = run.twice || asked.at(at->first).at(at->second);
            asked[at->first][at->second] = true;
            ++run.of_group[at->first];
            probe.answer(at->first, at->second, made.groups[at->first].held(at->second));
        }
        batch.clear();
    }
    run.tokens = probe.tokens();
    run.rounds = probe.rounds();
    run.lookups = probe.lookups();
    run.bounded = probe.bounded_by();
    run.contradicted = probe.contradicted();
    return run;
}

/// ceil(log_base(n)), n >= 1
u64 log_up(u64 n, u64 base) {
    u64 steps = 0;
    for (u64 reach = 1; reach < n; reach *= base) {
        ++steps;
    }
    return steps;
}

bool is_prefix(const property::RankedGroup& group) {
    for (u64 page = 1; page < group.pages; ++page) {
        if (group.held(page) && !group.held(page - 1)) {
            return false;
        }
    }
    return true;
}

TEST_CASE("probe: the evaluator's answer, no page twice", "[reuse]") {
    Random random{property::seed() + 20};
    for (u64 i = 0; i < property::cases(20'000) / 4; ++i) {
        INFO("seed " << property::seed() << ", case " << i);
        const ReuseCase made = property::random_reuse(random, 1u << 12);
        std::vector<bool> closed;
        for (const auto& group : made.groups) {
            closed.push_back(is_prefix(group) && random.chance(70));
        }
        const ProbeOptions options{
            .first = random.in(1, 8), .growth = random.in(2, 3), .split = random.in(1, 40)};
        const Run got = run(made, closed, random.chance(50) ? options : ProbeOptions{});
        REQUIRE(got.tokens == reusable(made.bits.data(), made.count(), made.ask));
        REQUIRE_FALSE(got.twice);
        REQUIRE_FALSE(got.contradicted);
    }
}

/// One group that keeps everything and one more, in pages of 1 token, so that boundaries are page numbers.
ReuseCase two_groups(Random& random, u64 pages, const Rule& tail) {
    ReuseCase made;
    for (u32 g = 0; g < 2; ++g) {
        property::RankedGroup group;
        group.rule = g == 0 ? Rule{} : tail;
        group.pages = pages;
        group.ranks.push_back(property::random_words(random, pages, tail.reach));
        made.groups.push_back(std::move(group));
    }
    made.ask = {.prompt = pages, .limit = pages};
    property::view(made);
    return made;
}

TEST_CASE("probe: bounds of look-ups and rounds", "[reuse]") {
    Random random{property::seed() + 21};
    for (u64 i = 0; i < property::cases(20'000) / 2; ++i) {
        INFO("seed " << property::seed() << ", case " << i);
        const u64 pages = random.log_in(2000);
        const bool state = random.chance(50);
        const u64 need = state ? 1 : random.log_in(pages);
        const ReuseCase made = two_groups(random, pages, state ? Rule{.needs = Needs::snapshot}
                                                               : Rule{.needs = Needs::window, .reach = need});
        ReuseCase alone = made;
        alone.bits.clear();
        alone.shards.clear();
        alone.groups.pop_back();
        property::view(alone);

        const Run full = run(alone, {false});
        const u64 bound = full.tokens;
        REQUIRE(full.lookups <= 2 * bound + 4);
        REQUIRE(full.rounds <= log_up((bound + 1 + 3) / 4 + 1, 2));
        if (is_prefix(alone.groups[0])) {
            const u64 split = random.in(1, 40);
            const Run searched = run(alone, {true}, {.split = split});
            REQUIRE(searched.tokens == bound);
            REQUIRE(searched.rounds <= log_up(pages + 1, split + 1));
            REQUIRE(searched.lookups <= searched.rounds * split);
        }
        const Run both = run(made, {false, false});
        REQUIRE(both.tokens == reusable(made.bits.data(), 2, made.ask));
        REQUIRE(both.bounded == bound);
        const u64 first = larger(need, 4);
        const u64 depth = bound - both.tokens + larger(need, 1);
        REQUIRE(both.of_group[1] <= 2 * depth + first);
        REQUIRE(both.rounds - full.rounds <= log_up((depth + first - 1) / first + 1, 2));
    }
}

TEST_CASE("probe: a store that is declared closed and lies gets a wrong answer", "[reuse]") {
    ReuseCase made;
    property::RankedGroup group;
    group.pages = 64;
    group.ranks.push_back({~u64{0} & ~(u64{1} << 9)});  // page 9 is lost, all others are there
    made.groups.push_back(std::move(group));
    made.ask = {.prompt = 64, .limit = 64};
    property::view(made);
    REQUIRE(run(made, {false}).tokens == 9);
    const Run lied_to = run(made, {true}, {.split = 1});
    REQUIRE(lied_to.tokens == 64);
    REQUIRE_FALSE(lied_to.contradicted);  // it never asked for page 9
    REQUIRE(run(made, {true}, {.split = 63}).contradicted);
}

}  // namespace

}  // namespace reuse_probe_tests
