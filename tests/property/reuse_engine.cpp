// SPDX-License-Identifier: MIT
// Engines' hits beside the ideal one, on random presence and random traffic: never more than the pages held
// allow, and the rules that were lifted account for every token between.
#include "random.hpp"

#include <catch2/catch.hpp>
#include <kvcap/report/reuse_sglang.hpp>
#include <kvcap/report/reuse_trtllm.hpp>
#include <kvcap/report/reuse_vllm.hpp>
#include <kvcap/reuse/needed.hpp>

namespace reuse_engine_tests {

using namespace kvcap;
using property::Random;
using report::Compared;
using report::EngineRule;
using report::Lifted;

namespace {

/// Groups with pages of powers of two, so that units stay small; `page`: all pages alike.
struct Pages {
    std::vector<std::vector<u64>> words;
    std::vector<report::EngineGroup> groups;
    Ask ask{};

    Pages(Random& random, u64 page) {
        ask = ask_for(random.in(1, 400), 1);
        const u64 count = random.in(1, 4);
        for (u64 g = 0; g < count; ++g) {
            add(random, page != 0 ? page : u64{4} << random.in(0, 2));
        }
        std::vector<Group<>> all;
        for (const report::EngineGroup& group : groups) {
            all.push_back(group.group);
        }
        ask.grid.unit =
            random.chance(50) ? common_unit(all.data(), static_cast<u32>(all.size())) : random.in(1, 20);
        ask.limit = random.chance(80) ? ask.limit : random.in(0, ask.prompt);
    }

    void add(Random& random, u64 page) {
        constexpr Needs kinds[] = {Needs::everything, Needs::window, Needs::chunk, Needs::snapshot};
        Rule rule{.needs = kinds[random.in(0, 3)], .page = page};
        rule.reach = rule.needs == Needs::window  ? random.in(0, 60)
                     : rule.needs == Needs::chunk ? page * random.in(1, 6)
                                                  : 0;
        const u64 pages = ceil_div(ask.prompt, page);
        std::vector<u64>& own = words.emplace_back(pages / 64 + 1, 0);
        const u32 held = random.in32(60, 100);
        for (u64 i = 0; i < pages; ++i) {
            own[i / 64] |= u64{random.chance(held) ? 1u : 0u} << (i % 64);
        }
        groups.push_back({.group = {rule, {own.data(), pages}}, .draft = random.chance(20)});
    }
};

u64 sum_of(const std::vector<Lifted>& lifted, bool lookup) {
    u64 sum = 0;
    for (const Lifted& one : lifted) {
        REQUIRE(one.tokens > 0);
        sum += report::is_of_lookup(one.rule) == lookup ? one.tokens : 0;
    }
    return sum;
}

void check_presence(const Pages& pages, const Compared& compared, const Grid& own_grid) {
    REQUIRE(compared.hit <= compared.ideal);
    REQUIRE(sum_of(compared.lifted, true) == compared.ideal - compared.hit);
    REQUIRE(sum_of(compared.lifted, false) == 0);
    for (const report::EngineGroup& group : pages.groups) {
        REQUIRE(accepts(group.group, compared.hit, own_grid));
    }
    REQUIRE(compared.hit <= pages.ask.limit);
}

std::vector<Group<>> bare(const Pages& pages) {
    std::vector<Group<>> all;
    for (const report::EngineGroup& group : pages.groups) {
        all.push_back(group.group);
    }
    return all;
}

/// Prompts that share stems, some with another salt, some that go on where an earlier one ended.
std::vector<report::ReplayRequest> random_traffic(Random& random) {
    std::vector<report::ReplayRequest> all;
    for (u64 n = random.in(2, 12); n-- > 0;) {
        report::ReplayRequest one;
        if (!all.empty() && random.chance(30)) {
            one = all[random.in(0, all.size() - 1)];
            one.tokens.insert(one.tokens.end(), one.generated.begin(), one.generated.end());
        } else {
            const u64 stem = random.in(1, 2) * 10'000;
            for (u64 i = random.in(0, 120); i-- > 0;) {
                one.tokens.push_back(stem + one.tokens.size());
            }
        }
        for (u64 i = random.in(1, 40); i-- > 0;) {
            one.tokens.push_back(random.in(1, 2) * 100'000 + one.tokens.size());
        }
        one.generated.clear();
        for (u64 i = random.in(0, 40); i-- > 0;) {
            one.generated.push_back(random.in(0, 1'000'000));
        }
        one.salt = random.chance(15) ? "other" : one.salt;
        all.push_back(one);
    }
    return all;
}

void check_replayed(const report::Replayed& one) {
    REQUIRE(one.hit <= one.ideal);
    REQUIRE(one.ideal <= one.seen);
    REQUIRE(one.seen < one.tokens);
    REQUIRE(sum_of(one.lifted, true) == one.ideal - one.hit);
    REQUIRE(sum_of(one.lifted, false) == one.seen - one.ideal);
}

}  // namespace

TEST_CASE("what was computed before: a tree of tokens against every request", "[reuse]") {
    Random random{2026};
    for (u32 round = 0; round < 2000; ++round) {
        report::Earlier earlier;
        std::vector<report::ReplayRequest> requests;
        for (u64 left = random.in(1, 12); left > 0; --left) {
            report::ReplayRequest now{};
            now.salt = random.chance(33) ? "x" : "";
            now.adapter = random.chance(33) ? "x" : "";
            for (u64 i = random.in(1, 6); i > 0; --i) {
                now.tokens.push_back(random.in(0, 1));
            }
            for (u64 i = random.in(0, 2); i > 0; --i) {
                now.generated.push_back(random.in(0, 1));
            }
            u64 seen = 0;
            u64 other = 0;
            for (const report::ReplayRequest& one : requests) {
                const std::vector<u64> before = one.computed();
                u64 same = 0;
                while (same < before.size() && same + 1 < now.tokens.size() && before[same] == now.tokens[same]) {
                    ++same;
                }
                u64& most = one.salt == now.salt && one.adapter == now.adapter ? seen : other;
                most = larger(most, same);
            }
            report::Replayed got{};
            earlier.look(now, got);
            REQUIRE(got.seen == seen);
            REQUIRE(got.other == (other > seen ? other : 0));
            earlier.add(now);
            requests.push_back(std::move(now));
        }
    }
}

TEST_CASE("vLLM never hits more than the pages held allow", "[property]") {
    Random random{property::seed()};
    INFO("seed " << property::seed());
    for (u64 i = 0; i < property::cases(2000); ++i) {
        const Pages pages{random, 0};
        const report::VllmLookup how{.speculative = random.chance(30)};
        const Result<Compared> got = report::compare_vllm(pages.groups, pages.ask, how);
        if (!got) {
            REQUIRE(got.error().code ==
                    Errc::refused_combination);  // chunks with a drafter, or of another block
            continue;
        }
        check_presence(pages, *got, Grid{.unit = 1});
        bool plain = !how.speculative;
        for (const report::EngineGroup& group : pages.groups) {
            const Rule& rule = group.group.rule;
            plain = plain && !group.draft && (rule.needs != Needs::window || rule.reach > 0) &&
                    (rule.needs != Needs::everything || rule.page <= got->alignment);
        }
        for (const Lifted& one : got->lifted) {
            REQUIRE(one.rule != EngineRule::own_rules);  // each has its name
        }
        if (plain) {  // then its coordinator finds the greatest boundary of its grid
            REQUIRE(got->hit == report::allowed(bare(pages), pages.ask.limit, Grid{.unit = got->alignment}));
        }
    }
}

TEST_CASE("SGLang never hits more than the pages held allow", "[property]") {
    Random random{property::seed()};
    INFO("seed " << property::seed());
    for (u64 i = 0; i < property::cases(2000); ++i) {
        const u64 page = u64{1} << random.in(0, 4);
        const Pages pages{random, page};
        const Result<Compared> got = report::compare_sglang(pages.groups, pages.ask, page);
        REQUIRE(got);
        check_presence(pages, *got, Grid{.unit = page});
        REQUIRE(got->hit % page == 0);
    }
}

TEST_CASE("TensorRT-LLM never hits more than the blocks held allow", "[property]") {
    Random random{property::seed()};
    INFO("seed " << property::seed());
    for (u64 i = 0; i < property::cases(2000); ++i) {
        const u64 block = u64{4} << random.in(0, 3);
        const Pages pages{random, block};
        const report::TrtllmLookup first{.tokens_per_block = block, .partial = random.chance(50)};
        report::TrtllmLookup second = first;
        second.second = true;
        const Result<Compared> one = report::compare_trtllm(pages.groups, pages.ask, first);
        const Result<Compared> two = report::compare_trtllm(pages.groups, pages.ask, second);
        REQUIRE(one);
        REQUIRE(two);
        const Grid end{.unit = 1, .tail = pages.ask.limit};
        check_presence(pages, *one, end);
        check_presence(pages, *two, end);
        REQUIRE(one->hit <= two->hit);
        REQUIRE(one->ideal == two->ideal);
    }
}

TEST_CASE("vLLM's requests: hit <= what was kept allows <= what was seen", "[property]") {
    Random random{property::seed()};
    INFO("seed " << property::seed());
    for (u64 i = 0; i < property::cases(60); ++i) {
        vllm::SimOptions options{.step = u64{32} << random.in(0, 3), .dense = random.chance(50)};
        options.groups.push_back({.kind = vllm::SpecKind::full, .block = 8});
        if (random.chance(50)) {
            options.groups.push_back({.kind = vllm::SpecKind::window, .block = 8, .span = random.in(2, 60)});
        }
        if (random.chance(50)) {
            options.groups.push_back({.kind = vllm::SpecKind::state, .block = u64{8} << random.in(0, 1)});
        }
        options.hash_block = 8;
        for (const vllm::SimGroup& group : options.groups) {
            options.scheduler_block =
                larger(group.block, options.scheduler_block == 16 ? 8 : options.scheduler_block);
        }
        options.speculative = random.chance(30);
        options.lookahead = options.speculative ? 2 : 0;
        options.blocks = random.chance(50) ? random.in(20, 120) : 4000;
        INFO("case " << i << " groups " << options.groups.size() << " blocks " << options.blocks);
        report::VllmReplay replay{options, 4000};
        for (const report::ReplayRequest& request : random_traffic(random)) {
            const Result<report::Replayed> got = replay.run(request);
            REQUIRE(got);
            check_replayed(*got);
        }
    }
}

TEST_CASE("SGLang's requests: hit <= what was kept allows <= what was seen", "[property]") {
    Random random{property::seed()};
    INFO("seed " << property::seed());
    for (u64 i = 0; i < property::cases(150); ++i) {
        const bool states = random.chance(40);
        const bool window = random.chance(50);
        const u64 page = states ? 1 : u64{1} << random.in(0, 3);
        sglang::ServerOptions options{.chunk = u64{16} << random.in(0, 4), .interval = random.in(1, 20)};
        options.rules = {.page = page,
                         .window = window ? random.in(2, 50) : 0,
                         .states = states,
                         .unified = states || window};
        options.tokens = random.chance(50) ? random.in(100, 600) : off_scale;
        options.window_tokens = window && random.chance(50) ? random.in(100, 600) : off_scale;
        options.states = states && random.chance(50) ? random.in(3, 8) : off_scale;
        const u64 model_window = options.rules.window + random.in(0, 1);
        const Rule rule{.needs = Needs::window, .reach = reach_of(model_window, WindowEdge::past)};
        INFO("case " << i << " page " << page << " window " << options.rules.window << " states " << states);
        report::SglangReplay replay{options, rule};
        sglang::Server server{options};
        for (const report::ReplayRequest& request : random_traffic(random)) {
            const report::Replayed got = replay.run(request);
            check_replayed(got);
            const std::optional<std::string> key =
                request.salt.empty() ? std::nullopt : std::optional{request.salt};
            REQUIRE(server.serve(request.tokens, request.generated, key).hit == got.hit);
            const sglang::TreeAmounts idle = server.tree().evictable();
            const sglang::TreeAmounts busy = server.tree().locked();
            REQUIRE(busy.full + busy.window + busy.states == 0);
            REQUIRE(idle.full <= options.tokens);
            REQUIRE(idle.window <= options.window_tokens);
            REQUIRE(idle.states <= options.states);
            if (!states && !window && options.tokens == off_scale) {
                REQUIRE(got.hit == got.seen / page * page);
            }
        }
    }
}

TEST_CASE("TensorRT-LLM's requests: hit <= what was kept allows <= what was seen", "[property]") {
    Random random{property::seed()};
    INFO("seed " << property::seed());
    for (u64 i = 0; i < property::cases(150); ++i) {
        trtllm::ReuseRules rules{.tokens_per_block = u64{4} << random.in(0, 2), .max_seq_len = 4096};
        rules.primary_blocks = random.chance(50) ? random.in(8, 60) : 2000;
        rules.secondary_blocks = random.chance(30) ? random.in(1, 40) : 0;
        rules.partial = random.chance(70);
        if (random.chance(50)) {
            rules.windows = {random.in(4, 100), 4096};
        }
        INFO("case " << i << " blocks " << rules.primary_blocks << " of " << rules.tokens_per_block);
        report::TrtllmReplay replay{rules, 2000};
        for (const report::ReplayRequest& request : random_traffic(random)) {
            const report::Replayed got = replay.run(request);
            check_replayed(got);
            for (const Lifted& one : got.lifted) {
                const bool roomy = rules.primary_blocks == 2000;
                REQUIRE((!roomy || one.rule != EngineRule::evicted));
                REQUIRE((!roomy || !rules.partial || one.rule == EngineRule::taken_over));
            }
        }
    }
}

}  // namespace reuse_engine_tests
