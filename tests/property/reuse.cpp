// SPDX-License-Identifier: MIT
// The reuse evaluator against the token-by-token definition: verdict, alone, without, limiting groups and the
// reason.
#include "reuse_case.hpp"

#include <catch2/catch.hpp>

namespace reuse_tests {

using namespace kvcap;
using property::Oracle;
using property::Random;
using property::ReuseCase;

namespace {

/// The limiting group or pair by the definition in explain.hpp.
Inplace<u32, 2> limiting_by_definition(const ReuseCase& made, Oracle& oracle, u64 verdict, u64 limit) {
    Inplace<u32, 2> best{};
    u64 most = verdict;
    const auto consider = [&](u32 a, u32 b) {
        const u64 tokens = oracle.greatest([&](u32 g) { return g != a && g != b; });
        if (tokens > most) {
            most = tokens;
            best.count = a == b ? 1 : 2;
            best[0] = a;
            best[1] = a == b ? 0 : b;
        }
    };
    for (u32 a = 0; a < made.count(); ++a) {
        consider(a, a);
    }
    const bool pairs = best.empty() && verdict != limit;
    for (u32 a = 0; a < made.count() && pairs; ++a) {
        for (u32 b = a + 1; b < made.count(); ++b) {
            consider(a, b);
        }
    }
    return best;
}

/// What the reason says must be true: the page is missing, the group refuses there, and nobody else does.
bool reason_holds(const ReuseCase& made, Oracle& oracle, const Explanation& known) {
    const Reason& reason = known.reason;
    const Grid& grid = made.ask.grid;
    switch (reason.why) {
        case Why::limit:
        case Why::alignment:
            return known.tokens == grid.down(made.ask.limit) &&
                   (reason.why == Why::limit) == (known.tokens == made.ask.limit);
        case Why::last_token: {
            bool all = made.ask.limit + 1 == made.ask.prompt && property::on_grid(made, made.ask.prompt);
            for (u32 g = 0; g < made.count(); ++g) {
                all = all && oracle.accepts(g, made.ask.prompt);
            }
            return all && known.tokens == grid.down(made.ask.limit);
        }
        case Why::several: return known.tokens < grid.down(made.ask.limit) && known.limiting.empty();
        default: break;
    }
    const auto& group = made.groups[reason.group];
    const bool no_place = reason.why == Why::no_snapshot && reason.page == no_page;
    return !oracle.accepts(reason.group, reason.refused) && reason.refused > known.tokens &&
           (no_place || !group.held(reason.page));
}

template <class S>
void check(const ReuseCase& made, const Group<S>* groups, Oracle& oracle) {
    const u64 verdict = oracle.greatest([](u32) { return true; });
    REQUIRE(fault(groups, made.count(), made.ask).code == Errc::ok);
    REQUIRE(reusable(groups, made.count(), made.ask) == verdict);
    const Explanation known = explain(groups, made.count(), made.ask);
    REQUIRE(known.tokens == verdict);
    REQUIRE(known.alone.size() == made.count());
    REQUIRE(known.without.size() == made.count());
    for (u32 g = 0; g < made.count(); ++g) {
        REQUIRE(known.alone[g] == oracle.greatest([&](u32 other) { return other == g; }));
        REQUIRE(known.without[g] == oracle.greatest([&](u32 other) { return other != g; }));
        REQUIRE(floor(groups[g], made.ask.limit, made.ask.grid) == known.alone[g]);
    }
    REQUIRE(known.limiting ==
            limiting_by_definition(made, oracle, verdict, made.ask.grid.down(made.ask.limit)));
    REQUIRE(reason_holds(made, oracle, known));
}

TEST_CASE("reuse: verdict and explanation equal the token-by-token definition", "[reuse]") {
    Random random{property::seed()};
    u64 tokens = 0;
    u64 hits = 0;
    const u64 cases = property::cases(20'000);
    for (u64 i = 0; i < cases; ++i) {
        INFO("seed " << property::seed() << ", case " << i);
        const ReuseCase made = property::random_reuse(random, 1u << 14);
        Oracle oracle{made};
        check(made, made.bits.data(), oracle);
        check(made, made.shards.data(), oracle);
        tokens += made.ask.prompt;
        hits += reusable(made.bits.data(), made.count(), made.ask) > 0 ? 1 : 0;
    }
    WARN("seed " << property::seed() << ": " << cases << " cases, mean " << tokens / cases << " tokens, "
                 << hits << " with a hit");
    REQUIRE(hits >= property::at_least(2'001, 20'000));
    REQUIRE(cases - hits >= property::at_least(1, 20'000));
}

TEST_CASE("reuse: a callable answers like words", "[reuse]") {
    Random random{property::seed() + 1};
    for (u64 i = 0; i < property::cases(20'000) / 20; ++i) {
        INFO("seed " << property::seed() << ", case " << i);
        const ReuseCase made = property::random_reuse(random, 1u << 10);
        const auto present = [&](u32 g, u64 page) noexcept { return made.groups[g].held(page); };
        std::vector<Group<CalledPages<decltype(present)>>> called;
        for (u32 g = 0; g < made.count(); ++g) {
            called.push_back({made.groups[g].rule, {&present, g, made.groups[g].pages}});
        }
        REQUIRE(reusable(called.data(), made.count(), made.ask) ==
                reusable(made.bits.data(), made.count(), made.ask));
    }
}

}  // namespace

}  // namespace reuse_tests
