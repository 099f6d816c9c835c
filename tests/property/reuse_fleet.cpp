// SPDX-License-Identifier: MIT
// Many workers at once against the evaluator asked worker by worker.
#include "reuse_case.hpp"

#include <catch2/catch.hpp>
#include <kvcap/reuse/fleet.hpp>

namespace reuse_fleet_tests {

using namespace kvcap;
using property::Random;

namespace {

struct Fleet {
    std::vector<FleetGroup> groups;
    std::vector<std::vector<u64>> rows;
    Ask ask{};
    u64 workers = 0;
};

Fleet random_fleet(Random& random) {
    Fleet fleet;
    const u64 page = random.in(1, 32);
    const u64 pages = random.log_in(400);
    fleet.workers = random.chance(30) ? random.in(1, 1300) : random.in(1, 140);
    const u64 row_words = ceil_div(fleet.workers, 64);
    const u32 count = random.in32(1, 4);
    for (u32 g = 0; g < count; ++g) {
        Rule rule = property::random_rule(random, pages * page, page);
        rule.stride = 1;
        rule.lag = 0;
        if (rule.needs == Needs::chunk) {
            rule.reach = page * larger(1, rule.reach / page);
        }
        const u64 own = rule.needs == Needs::whole ? random.in(0, 20)
                                                   : pages - (random.chance(10) ? random.in(0, pages) : 0);
        std::vector<u64> rows(own * row_words + 1, 0);
        for (u64 worker = 0; worker < fleet.workers; ++worker) {
            const std::vector<u64> words = property::random_words(random, own, rule.reach / page);
            for (u64 p = 0; p < own; ++p) {
                rows[p * row_words + worker / 64] |= (words[p / 64] >> (p % 64) & 1) << (worker % 64);
            }
        }
        fleet.rows.push_back(std::move(rows));
        fleet.groups.push_back({rule, nullptr, own});
    }
    for (u32 g = 0; g < count; ++g) {
        fleet.groups[g].rows = fleet.rows[g].data();
    }
    fleet.ask = ask_for(pages * page + random.in(0, page), page);
    return fleet;
}

TEST_CASE("fleet: every worker's boundary, and the best worker", "[reuse]") {
    Random random{property::seed() + 30};
    u64 hits = 0;
    for (u64 i = 0; i < property::cases(20'000) / 100; ++i) {
        INFO("seed " << property::seed() << ", case " << i);
        const Fleet fleet = random_fleet(random);
        const u32 count = static_cast<u32>(fleet.groups.size());
        std::vector<u32> buckets(fleet_buckets(fleet.ask));
        std::vector<Lane> blocks(fleet_blocks(fleet.groups.data(), count, fleet.ask));
        std::vector<u64> boundary(fleet.workers, 77);
        REQUIRE(kvcap::fleet(fleet.groups.data(), count, fleet.workers, fleet.ask,
                             {buckets.data(), blocks.data()}, boundary.data())
                    .code == Errc::ok);
        const std::vector<u64> bytes{3, 5, 2, 11};
        BestWorker want{.worker = 0, .tokens = 0, .bytes = off_scale};
        for (u64 worker = 0; worker < fleet.workers; ++worker) {
            std::vector<Group<WorkerBits>> own;
            for (const FleetGroup& group : fleet.groups) {
                own.push_back({group.rule, {group.rows, ceil_div(fleet.workers, 64), worker, group.pages}});
            }
            const u64 tokens = reusable(own.data(), count, fleet.ask);
            REQUIRE(boundary[worker] == tokens);
            u64 cost = 0;
            missing_at(own.data(), count, fleet.ask.grid.down(fleet.ask.limit), fleet.ask.grid,
                       [&](u32 g, u64) { cost += bytes[g]; });
            if (tokens > want.tokens || (tokens == want.tokens && cost < want.bytes)) {
                want = {worker, tokens, cost};
            }
            hits += tokens > 0 ? 1 : 0;
        }
        REQUIRE(best_worker(fleet.groups.data(), count, fleet.workers, fleet.ask, bytes.data(),
                            boundary.data()) == want);
    }
    REQUIRE(hits >= property::at_least(1, 20'000));
}

TEST_CASE("fleet: pages of another size are refused by name", "[reuse]") {
    const u64 rows[4]{};
    const FleetGroup groups[2]{{{.page = 16}, rows, 4}, {{.page = 32}, rows, 2}};
    u64 boundary[1]{};
    const Error wrong = kvcap::fleet(groups, 2, 1, ask_for(64, 16), {}, boundary);
    REQUIRE(wrong == Error{.code = Errc::not_divisible, .layer = 1, .got = 32, .want = 16});
}

}  // namespace

}  // namespace reuse_fleet_tests
