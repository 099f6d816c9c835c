// SPDX-License-Identifier: MIT
// Repair against all subsets of what is missing, and against pricing each boundary by itself.
#include "reuse_case.hpp"

#include <catch2/catch.hpp>
#include <kvcap/reuse/repair.hpp>
#include <map>

namespace reuse_repair_tests {

using namespace kvcap;
using property::Oracle;
using property::Random;
using property::ReuseCase;

namespace {

struct Object {
    u32 group;
    u64 page;
};

/// What is missing among the pages that exist, as far as the limit needs them.
std::vector<Object> missing_objects(const ReuseCase& made) {
    std::vector<Object> objects;
    for (u32 g = 0; g < made.count(); ++g) {
        for (u64 page = 0; page < made.groups[g].pages; ++page) {
            const bool reached =
                page * made.groups[g].rule.page < made.ask.limit || made.groups[g].rule.needs == Needs::whole;
            if (reached && !made.groups[g].held(page)) {
                objects.push_back({g, page});
            }
        }
    }
    return objects;
}

ReuseCase with(const ReuseCase& made, const std::vector<Object>& objects, u64 subset) {
    ReuseCase repaired;
    repaired.groups = made.groups;
    repaired.ask = made.ask;
    for (std::size_t i = 0; i < objects.size(); ++i) {
        if ((subset >> i & 1) != 0) {
            for (std::vector<u64>& words : repaired.groups[objects[i].group].ranks) {
                words[objects[i].page / 64] |= u64{1} << (objects[i].page % 64);
            }
        }
    }
    property::view(repaired);
    return repaired;
}

/// The staircase read off any set of (tokens, bytes), by definition: nobody has more tokens for as few bytes.
std::vector<RepairStep> undominated(const std::map<u64, u64>& bytes_of) {
    std::vector<RepairStep> steps;
    for (auto at = bytes_of.rbegin(); at != bytes_of.rend(); ++at) {
        if (steps.empty() || at->second < steps.back().bytes) {
            steps.push_back({at->first, at->second});
        }
    }
    return steps;
}

void check(const ReuseCase& made, const Prices<PageBits>& prices, const std::map<u64, u64>& bytes_of,
           u64 now) {
    std::vector<RepairStep> steps;
    const Repairs got = repair(made.bits.data(), made.count(), made.ask, prices,
                               [&](const RepairStep& step) { steps.push_back(step); });
    const std::vector<RepairStep> want = undominated(bytes_of);
    REQUIRE(got.now == now);
    REQUIRE(steps == want);
    REQUIRE(got.steps == want.size());
    if (want.empty()) {
        return;
    }
    REQUIRE(got.longest == want.front());
    REQUIRE(got.cheapest == want.back());
    RepairStep best = want.front();
    for (const RepairStep& step : want) {
        const auto rate = [&](const RepairStep& s) {
            return static_cast<long double>(s.tokens - now) / static_cast<long double>(s.bytes);
        };
        best = rate(step) > rate(best) ? step : best;
    }
    REQUIRE(got.best_rate == best);
}

TEST_CASE("repair: equal to all subsets of the missing objects", "[reuse]") {
    Random random{property::seed() + 10};
    u64 compared = 0;
    for (u64 i = 0; compared < property::cases(20'000) / 20; ++i) {
        INFO("seed " << property::seed() << ", case " << i);
        const ReuseCase made = property::random_reuse(random, 1u << 8, 3);
        const std::vector<Object> objects = missing_objects(made);
        if (objects.empty() || objects.size() > 10) {
            continue;
        }
        ++compared;
        std::vector<u64> bytes;
        for (u32 g = 0; g < made.count(); ++g) {
            bytes.push_back(random.chance(50) ? random.in(1, 4) : random.log_in(1u << 30));
        }
        Oracle before{made};
        const u64 now = before.greatest([](u32) { return true; });
        std::map<u64, u64> bytes_of;
        for (u64 subset = 1; subset < u64{1} << objects.size(); ++subset) {
            const ReuseCase repaired = with(made, objects, subset);
            u64 sum = 0;
            for (std::size_t k = 0; k < objects.size(); ++k) {
                sum += (subset >> k & 1) != 0 ? bytes[objects[k].group] : 0;
            }
            Oracle after{repaired};
            const u64 tokens = after.greatest([](u32) { return true; });
            if (tokens > now) {
                const auto at = bytes_of.try_emplace(tokens, sum).first;
                at->second = std::min(at->second, sum);
            }
        }
        // Pages that do not exist cannot be had.
        std::vector<std::vector<u64>> all;
        std::vector<PageBits> elsewhere;
        for (const auto& group : made.groups) {
            all.emplace_back(group.pages / 64 + 1, ~u64{0});
        }
        for (u32 g = 0; g < made.count(); ++g) {
            elsewhere.push_back({all[g].data(), made.groups[g].pages});
        }
        const Prices<PageBits> prices{bytes.data(), elsewhere.data()};
        check(made, prices, bytes_of, now);
        const Repairs got = repair(made.bits.data(), made.count(), made.ask, prices);
        if (got.steps != 0) {
            u64 subset = 0;
            missing_at(made.bits.data(), made.count(), got.cheapest.tokens, made.ask.grid,
                       [&](u32 g, u64 page) {
                           for (std::size_t k = 0; k < objects.size(); ++k) {
                               subset |= u64{objects[k].group == g && objects[k].page == page ? 1u : 0u} << k;
                           }
                       });
            const ReuseCase repaired = with(made, objects, subset);
            REQUIRE(reusable(repaired.bits.data(), repaired.count(), repaired.ask) == got.cheapest.tokens);
        }
    }
}

TEST_CASE("repair: the sweep equals pricing each boundary by itself", "[reuse]") {
    Random random{property::seed() + 11};
    u64 steps = 0;
    for (u64 i = 0; i < property::cases(20'000) / 10; ++i) {
        INFO("seed " << property::seed() << ", case " << i);
        const ReuseCase made = property::random_reuse(random, 1u << 11);
        std::vector<u64> bytes;
        for (u32 g = 0; g < made.count(); ++g) {
            bytes.push_back(random.chance(30) ? 7 : random.log_in(1u << 20));
        }
        std::vector<PageBits> elsewhere;
        std::vector<std::vector<u64>> words;
        for (const auto& group : made.groups) {
            words.push_back(property::random_words(random, group.pages, 3));
        }
        for (u32 g = 0; g < made.count(); ++g) {
            elsewhere.push_back({words[g].data(), made.groups[g].pages});
        }
        const Prices<PageBits> prices{bytes.data(), random.chance(50) ? elsewhere.data() : nullptr};
        const u64 now = reusable(made.bits.data(), made.count(), made.ask);
        std::map<u64, u64> bytes_of;
        for (u64 b = now + 1; b <= made.ask.limit; ++b) {
            const u64 cost = property::on_grid(made, b)
                                 ? repair_bytes(made.bits.data(), made.count(), b, made.ask.grid, prices)
                                 : off_scale;
            if (cost != off_scale) {
                bytes_of[b] = cost;
            }
        }
        steps += undominated(bytes_of).size();
        check(made, prices, bytes_of, now);
    }
    REQUIRE(steps >= property::at_least(1, 20'000));
}

}  // namespace

}  // namespace reuse_repair_tests
