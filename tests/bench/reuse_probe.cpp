// SPDX-License-Identifier: MIT
// How many look-ups and round trips does probing take on stores derived from a request trace? Each request
// finds what earlier requests left (its longest known prefix), less a share of objects lost anew for every
// request. KVCAP_TRACE: a JSON-lines trace with hash_ids and input_length (blocks of 512 tokens), as
// published with Mooncake.
#include <cstdio>
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

std::vector<Query> read_trace(const char* path) {
    std::ifstream in(path);
    std::unordered_set<u64> seen;
    std::vector<Query> queries;
    for (std::string line; std::getline(in, line);) {
        const auto request = nlohmann::json::parse(line);
        const auto ids = request.at("hash_ids").get<std::vector<u64>>();
        Query query{.tokens = request.at("input_length").get<u64>()};
        while (query.known < ids.size() && seen.count(ids[query.known]) != 0) {
            ++query.known;
        }
        seen.insert(ids.begin(), ids.end());
        queries.push_back(query);
    }
    return queries;
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

void print(const char* name, const std::vector<Query>& queries, const Totals& totals) {
    const double n = static_cast<double>(queries.size());
    std::printf("%-44s look-ups %7.2f (max %5llu) of %7.2f = %.3f; rounds %.2f (max %llu); wrong %llu\n",
                name, static_cast<double>(totals.lookups) / n,
                static_cast<unsigned long long>(totals.most_lookups),
                static_cast<double>(totals.everything) / n,
                static_cast<double>(totals.lookups) / static_cast<double>(totals.everything),
                static_cast<double>(totals.rounds) / n, static_cast<unsigned long long>(totals.most_rounds),
                static_cast<unsigned long long>(totals.wrong));
}

}  // namespace

int main() {
    const char* path = std::getenv("KVCAP_TRACE");
    if (path == nullptr) {
        std::puts("KVCAP_TRACE names no trace; nothing to probe");
        return 0;
    }
    const std::vector<Query> queries = read_trace(path);
    const Rule window{.needs = Needs::window, .page = 512, .reach = 1024};
    const Rule state{.needs = Needs::snapshot, .page = 512};
    print("closed, 512-token pages, one question", queries,
          run(queries, 512, 0, nullptr, true, {.split = 1}));
    print("closed, 512-token pages, 8-ary", queries, run(queries, 512, 0, nullptr, true, {.split = 7}));
    print("closed, 16-token pages, one question", queries, run(queries, 16, 0, nullptr, true, {.split = 1}));
    print("closed, 16-token pages, 32-ary", queries, run(queries, 16, 0, nullptr, true));
    print("not closed, nothing lost, full", queries, run(queries, 512, 0, nullptr, false));
    print("2% lost, full", queries, run(queries, 512, 2, nullptr, false));
    print("2% lost, full and window of 2", queries, run(queries, 512, 2, &window, false));
    print("2% lost, full and state", queries, run(queries, 512, 2, &state, false));
    print("10% lost, full and window of 2", queries, run(queries, 512, 10, &window, false));
    print("10% lost, full and state", queries, run(queries, 512, 10, &state, false));
}
