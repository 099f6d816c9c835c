// SPDX-License-Identifier: MIT
// How many look-ups and round trips does probing take on stores derived from a request trace? Each request
// finds what earlier requests left (its longest known prefix), less a share of objects lost anew for every
// request. KVCAP_TRACE: a JSON-lines trace with hash_ids and input_length (blocks of 512 tokens), as
// published with Mooncake; else a made-up one. Times are of all requests, each with a store made for it.
#include "made_up_trace.hpp"

#include <benchmark/benchmark.h>
#include <cstdlib>
#include <fstream>
#include <kvcap/reuse/probe.hpp>
#include <nlohmann/json.hpp>
#include <random>
#include <unordered_set>
#include <vector>

using namespace kvcap;

namespace {

struct Query {
    u64 tokens = 0;
    u64 known = 0;  ///< blocks found from the start
};

/// Prompts after another: what is known of each, and its blocks are known from then on.
class Seen {
public:
    void add(u64 tokens, const std::vector<u64>& ids) {
        Query query{.tokens = tokens};
        while (query.known < ids.size() && seen_.count(ids[query.known]) != 0) {
            ++query.known;
        }
        seen_.insert(ids.begin(), ids.end());
        queries.push_back(query);
    }
    std::vector<Query> queries{};

private:
    std::unordered_set<u64> seen_{};
};

std::vector<Query> read_trace(const char* path) {
    std::ifstream in(path);
    Seen seen;
    for (std::string line; std::getline(in, line);) {
        const auto request = nlohmann::json::parse(line);
        seen.add(request.at("input_length").get<u64>(), request.at("hash_ids").get<std::vector<u64>>());
    }
    return seen.queries;
}

const std::vector<Query>& queries() {
    static const std::vector<Query> all = [] {
        if (const char* path = std::getenv("KVCAP_TRACE"); path != nullptr) {
            return read_trace(path);
        }
        const Trace trace = made_up_trace(2'000);
        Seen seen;
        for (const TraceRequest& request : trace.requests) {
            const u32* ids = trace.path(request);
            seen.add(request.tokens, {ids, ids + request.blocks});
        }
        return seen.queries;
    }();
    return all;
}

struct Totals {
    u64 lookups = 0, everything = 0, rounds = 0, most_rounds = 0, most_lookups = 0, wrong = 0;
};

/// page: tokens. tail: a second group, a window of two pages or a state at every page, or none.
Totals run(const std::vector<Query>& queries, u64 page, u32 lost_percent, const Rule* tail, bool closed,
           const ProbeOptions& options = {}) {
    std::mt19937_64 random{11};
    Totals totals;
    std::vector<u64> scratch;
    for (const Query& query : queries) {
        const u64 pages = ceil_div(query.tokens, page);
        const u32 count = tail == nullptr ? 1 : 2;
        std::vector<std::vector<u64>> words(count, std::vector<u64>(pages / 64 + 1));
        for (u32 g = 0; g < count; ++g) {
            for (u64 p = 0; p < smaller(pages, query.known * 512 / page); ++p) {
                words[g][p / 64] |= u64{random() % 100 >= lost_percent ? 1u : 0u} << (p % 64);
            }
        }
        RemoteGroup groups[2]{{.rule = {.page = page}, .pages = pages, .closed = closed}, {}};
        Group<> full[2]{{groups[0].rule, {words[0].data(), pages}}, {}};
        if (tail != nullptr) {
            groups[1] = {.rule = *tail, .pages = pages};
            full[1] = {*tail, {words[1].data(), pages}};
        }
        const Ask ask{
            .prompt = query.tokens, .limit = query.tokens, .grid = {.unit = page, .tail = query.tokens}};
        scratch.assign(probe_words(groups, count), 0);
        Probe probe{groups, count, ask, scratch.data(), options};
        while (probe.next([&](u32 g, u64 p) { probe.answer(g, p, held(full[g].pages, p)); }) != 0) {
        }
        totals.wrong += probe.tokens() != reusable(full, count, ask) ? 1 : 0;
        totals.lookups += probe.lookups();
        totals.everything += pages * count;
        totals.rounds += probe.rounds();
        totals.most_rounds = larger(totals.most_rounds, probe.rounds());
        totals.most_lookups = larger(totals.most_lookups, probe.lookups());
    }
    return totals;
}

/// Counters: look-ups and rounds a request, their most, and the share of all pages that was asked about.
void probing(benchmark::State& state, u64 page, u32 lost_percent, const Rule* tail, bool closed,
             const ProbeOptions& options) {
    Totals totals;
    for (auto _ : state) {
        totals = run(queries(), page, lost_percent, tail, closed, options);
    }
    if (totals.wrong != 0) {
        state.SkipWithError("a boundary that is not the definition's");
    }
    const double n = static_cast<double>(queries().size());
    state.counters["lookups"] = static_cast<double>(totals.lookups) / n;
    state.counters["most_lookups"] = static_cast<double>(totals.most_lookups);
    state.counters["of_all"] = static_cast<double>(totals.lookups) / static_cast<double>(totals.everything);
    state.counters["rounds"] = static_cast<double>(totals.rounds) / n;
    state.counters["most_rounds"] = static_cast<double>(totals.most_rounds);
}

constexpr Rule window{.needs = Needs::window, .page = 512, .reach = 1024};
constexpr Rule snapshot{.needs = Needs::snapshot, .page = 512};
constexpr ProbeOptions usual{};
constexpr ProbeOptions one_question{.split = 1};
constexpr ProbeOptions eight_ary{.split = 7};

#define KVCAP_PROBING(name, ...) BENCHMARK_CAPTURE(probing, name, __VA_ARGS__)->Unit(benchmark::kMillisecond)
KVCAP_PROBING(closed 512 one question, 512, 0, nullptr, true, one_question);
KVCAP_PROBING(closed 512 8-ary, 512, 0, nullptr, true, eight_ary);
KVCAP_PROBING(closed 16 one question, 16, 0, nullptr, true, one_question);
KVCAP_PROBING(closed 16 32-ary, 16, 0, nullptr, true, usual);
KVCAP_PROBING(nothing lost full, 512, 0, nullptr, false, usual);
KVCAP_PROBING(2% lost full, 512, 2, nullptr, false, usual);
KVCAP_PROBING(2% lost full and window, 512, 2, &window, false, usual);
KVCAP_PROBING(2% lost full and state, 512, 2, &snapshot, false, usual);
KVCAP_PROBING(10% lost full and window, 512, 10, &window, false, usual);
KVCAP_PROBING(10% lost full and state, 512, 10, &snapshot, false, usual);

}  // namespace

BENCHMARK_MAIN();
