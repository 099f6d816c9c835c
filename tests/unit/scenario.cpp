// SPDX-License-Identifier: MIT
// Reuse scenarios: what is read, what is refused and where.
#include <catch2/catch.hpp>
#include <kvcap/io/scenario.hpp>

namespace scenario_tests {

using namespace kvcap;

namespace {

Problem refused(const std::string& text) {
    const Diagnosed<ReuseScenario> read = read_scenario(text);
    REQUIRE(read.error.has_value());
    return *read.error;
}

std::string with_group(const std::string& group) {
    return R"({"prompt_tokens": 100, "groups": [)" + group + "]}";
}

TEST_CASE("scenario: a full one") {
    const Diagnosed<ReuseScenario> read = read_scenario(R"({
        "prompt_tokens": 2000, "comment": "ignored",
        "groups": [
            {"name": "full", "needs": "everything", "bytes_per_page": 65536, "held": [[0, 110]]},
            {"needs": "window", "window_tokens": 512, "sink_tokens": 4, "held": [[0, 1], [60, 90], [95, 125]]},
            {"needs": "window", "window_tokens": 512, "window_edge": "full", "held": [[0, 125]]},
            {"needs": "chunk", "chunk_tokens": 512, "held": [[0, 125]]},
            {"needs": "snapshot", "page_tokens": 256, "ranks": [{"present": "01110010"}, {"held": [1, 3, 6]}]},
            {"needs": "whole", "pages": 3, "present": "111"},
            {"name": "shared", "shared_with": "full"}
        ]})");
    REQUIRE(read);
    REQUIRE(read->ask.limit == 1999);
    REQUIRE(read->ask.grid.unit == 256);
    REQUIRE(read->groups.size() == 7);
    REQUIRE(read->groups[1].rule == Rule{.needs = Needs::window, .page = 16, .reach = 511, .sinks = 4});
    REQUIRE(read->groups[2].rule.reach == 512);
    REQUIRE(read->groups[6].follows == "full");
    const ScenarioView view{*read};
    REQUIRE(view.count() == 6);
    REQUIRE(view.index[5] == 5);
    REQUIRE(held(view.groups[4].pages, 1));
    REQUIRE_FALSE(held(view.groups[4].pages, 2));  // only one rank has it
    REQUIRE(explain(view.groups.data(), view.count(), read->ask).alone[4] == 1792);
    REQUIRE(reusable(view.groups.data(), view.count(), read->ask) == 0);
}

TEST_CASE("scenario: pages that can be had nowhere") {
    const Diagnosed<ReuseScenario> read = read_scenario(with_group(
        R"({"needs": "everything", "held": [0, 1], "bytes_per_page": 10, "elsewhere": [[2, 4]]})"));
    REQUIRE(read);
    const ScenarioView view{*read};
    const Repairs repairs = repair(view.groups.data(), view.count(), read->ask, view.prices());
    REQUIRE(repairs.now == 32);
    REQUIRE(repairs.longest == RepairStep{64, 20});
}

TEST_CASE("scenario: ranges may overlap, in any order, and each page counts once") {
    const std::pair<u64, u64> spans[] = {{60, 130}, {0, 1},  {63, 65},   {64, 64},
                                         {5, 9},    {7, 60}, {128, 200}, {199, 200}};
    std::string list = "[3, 127, 3";
    std::vector<bool> wanted(200);
    wanted[3] = wanted[127] = true;
    for (const auto& [first, end] : spans) {
        list += ", [" + std::to_string(first) + ", " + std::to_string(end) + "]";
        for (u64 page = first; page < end; ++page) {
            wanted[page] = true;
        }
    }
    const Diagnosed<ReuseScenario> read = read_scenario(
        R"({"prompt_tokens": 3200, "groups": [{"needs": "everything", "held": )" + list + "]}]}");
    REQUIRE(read);
    const std::vector<u64>& words = read->groups[0].ranks[0];
    for (u64 page = 0; page < 200; ++page) {
        CAPTURE(page);
        REQUIRE((words[page / 64] >> (page % 64) & 1) == (wanted[page] ? 1u : 0u));
    }
    REQUIRE(words[3] >> 8 == 0);
}

TEST_CASE("scenario: the time of overlapping ranges is that of their number") {
    std::string list;  // 200,000 ranges over 16,000,000 pages each: page by page that would take an hour
    for (int i = 0; i < 200'000; ++i) {
        list += i == 0 ? "[0, 16000000]" : ",[0,16000000]";
    }
    const Diagnosed<ReuseScenario> read = read_scenario(
        R"({"prompt_tokens": 16000000, "groups": [{"needs": "everything", "page_tokens": 1, "held": [)" +
        list + "]}]}");
    REQUIRE(read);
    const ScenarioView view{*read};
    REQUIRE(reusable(view.groups.data(), view.count(), read->ask) == 15'999'999);
}

TEST_CASE("scenario: problems name their place") {
    REQUIRE(refused("{}").where == "/prompt_tokens");
    REQUIRE(refused(R"({"prompt_tokens": 0, "groups": []})").where == "/prompt_tokens");
    REQUIRE(refused(R"({"prompt_tokens": 4294967297, "groups": []})").wanted == "a whole number from 1 to 4294967296");
    REQUIRE(refused(R"({"prompt_tokens": 5})").where == "/groups");
    std::string many = R"({"prompt_tokens": 5, "groups": [{})";
    for (u32 i = 0; i < most_groups; ++i) {
        many += ", {}";
    }
    REQUIRE(refused(many + "]}").wanted == "at most " + std::to_string(most_groups));  // and not read one by one
    REQUIRE(refused(R"({"prompt_tokens": 5, "limit_tokens": 6, "groups": [{"needs": "whole", "held": []}]})")
                .where == "/limit_tokens");
    REQUIRE(refused(with_group(R"({"needs": "windwo", "held": []})")).hint == "did you mean window?");
    REQUIRE(refused(with_group(R"({"needs": "window", "held": []})")).where == "/groups/0/window_tokens");
    REQUIRE(refused(with_group(R"({"needs": "window", "window_tokens": 4, "window_edge": "w", "held": []})"))
                .where == "/groups/0/window_edge");
    REQUIRE(refused(with_group(R"({"needs": "chunk", "chunk_tokens": 0, "held": []})")).where ==
            "/groups/0/chunk_tokens");
    REQUIRE(refused(with_group(R"({"needs": "everything"})")).where == "/groups/0");
    REQUIRE(refused(with_group(R"({"needs": "everything", "held": [], "present": ""})")).where ==
            "/groups/0");
    REQUIRE(refused(with_group(R"({"needs": "everything", "held": [7]})")).where == "/groups/0/held/0");
    REQUIRE(refused(with_group(R"({"needs": "everything", "held": [[3, 2]]})")).where ==
            "/groups/0/held/0/1");
    REQUIRE(refused(with_group(R"({"needs": "everything", "present": "10x"})")).where == "/groups/0/present");
    REQUIRE(refused(with_group(R"({"needs": "everything", "present": "11111111"})")).where ==
            "/groups/0/present");
    REQUIRE(refused(with_group(R"({"needs": "everything", "hold": []})")).hint == "did you mean held?");
    REQUIRE(refused(with_group(R"({"needs": "everything", "page_tokens": 0, "held": []})")).where ==
            "/groups/0/page_tokens");
    REQUIRE(refused(with_group(R"({"shared_with": "full"})")).where == "/groups/0/shared_with");
    REQUIRE(refused(with_group(R"({"name": "a", "needs": "everything", "held": []}, )"
                               R"({"shared_with": "a", "held": [0]})"))
                .where == "/groups/1/held");
    REQUIRE(refused(with_group(R"({"name": "a", "needs": "everything", "held": []}, )"
                               R"({"shared_with": "a", "needs": "window"})"))
                .wanted == "nothing but a name beside shared_with: the other group's pages and rule hold");
    const std::string primes = R"({"needs": "everything", "page_tokens": 999983, "held": []}, )"
                               R"({"needs": "everything", "page_tokens": 999979, "held": []}, )"
                               R"({"needs": "everything", "page_tokens": 999961, "held": []}, )"
                               R"({"needs": "everything", "page_tokens": 999959, "held": []})";
    CHECK(refused(with_group(primes)).where == "/unit_tokens");
    for (const char* second : {R"({"name": "a", "shared_with": "a"})",
                               R"({"name": "a", "needs": "everything", "held": []})"}) {
        const Problem twice =
            refused(with_group(std::string{R"({"name": "a", "needs": "everything", "held": []}, )"} + second));
        CHECK(twice.where == "/groups/1/name");
        CHECK(twice.wanted == "a name that no earlier group has");
    }
    REQUIRE(refused(with_group(R"({"needs": "everything", "ranks": []})")).where == "/groups/0/ranks");
    REQUIRE(refused(with_group(R"({"needs": "everything", "ranks": [{"hold": []}]})")).where ==
            "/groups/0/ranks/0/hold");
    REQUIRE(
        refused(
            R"({"prompt_tokens": 1000000000, "groups": [{"needs": "everything", "page_tokens": 1, "held": []}]})")
            .where == "/groups/0");
}

TEST_CASE("scenario: what is no group, no page and no answer to yes or no") {
    CHECK(refused(R"({"prompt_tokens": 100, "groups": [7]})").text() == "/groups/0: 7; wanted an object");
    CHECK(refused(with_group(R"({"needs": "everything", "present": "1", "replicated": 1})")).text() ==
          "/groups/0/replicated: 1; wanted true or false");
    CHECK(refused(with_group(R"({"needs": "snapshot", "page_tokens": 1099511627776, "pages": 16777216, "held": []})"))
              .text() == "/groups/0/pages: pages that end beyond token 2^62; wanted fewer or smaller pages");
    CHECK(refused(with_group(R"({"name": 5, "needs": "everything", "held": []})")).text() ==
          "/groups/0/name: 5; wanted text");
    CHECK(refused(with_group(R"({"needs": "everything", "window_tokens": "x", "held": []})")).text() ==
          "/groups/0/window_tokens: \"x\"; wanted a group that needs \"window\"; this one needs \"everything\"");
    CHECK(refused(with_group(R"({"needs": "window", "window_tokens": 3, "lag_tokens": 1, "held": []})")).where ==
          "/groups/0/lag_tokens");
    std::string many = R"({"needs": "everything", "held": [0]})";
    for (int i = 0; i < 32; ++i) {
        many += R"(, {"needs": "everything", "held": [0]})";
    }
    CHECK(refused(with_group(many)).text() == "/groups: 33 groups; wanted at most 32");
    CHECK(read_scenario("{").error);
}

}  // namespace

}  // namespace scenario_tests
