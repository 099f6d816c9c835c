// SPDX-License-Identifier: MIT
// What does the reuse evaluator cost, as a multiple of only reading the presence words? Three groups
// (everything, window, snapshots) of pages of 16 tokens, in ordinary shapes and in those that hurt most.
#include "reuse_yardstick.hpp"

#include <kvcap/reuse.hpp>
#include <kvcap/reuse/repair.hpp>
#include <random>
#include <string>

using namespace kvcap;

namespace {

struct Shape {
    std::string name;
    u64 need = 64;               ///< pages of the window
    double full = 1;             ///< share of the prompt that the first group holds
    bool (*window)(u64 page, u64 need, std::mt19937_64& random);
    bool (*state)(u64 page, std::mt19937_64& random);
};

bool all(u64, u64, std::mt19937_64&) { return true; }
bool hole_before_need(u64 page, u64 need, std::mt19937_64&) { return page % need != need - 1; }
bool odd(u64 page, u64, std::mt19937_64&) { return page % 2 == 1; }
bool other(u64 page, u64, std::mt19937_64&) { return page % 2 == 0; }
bool random_holes(u64, u64, std::mt19937_64& random) { return random() % 50 != 0; }
bool coin(u64, u64, std::mt19937_64& random) { return random() % 2 != 0; }
bool always(u64, std::mt19937_64&) { return true; }
bool never(u64, std::mt19937_64&) { return false; }
bool even(u64 page, std::mt19937_64&) { return page % 2 == 0; }
bool every_32(u64 page, std::mt19937_64&) { return page % 32 == 31; }
bool one_in_64(u64, std::mt19937_64& random) { return random() % 64 == 0; }
bool toss(u64, std::mt19937_64& random) { return random() % 2 != 0; }

const Shape shapes[] = {
    {"ordinary: all held, states every 32", 64, 1, all, every_32},
    {"ordinary: window held, no state anywhere", 64, 1, all, never},
    {"ordinary: full 60%, 2% holes, a state in 64", 8, 0.6, random_holes, one_in_64},
    {"worst: hole every need-1, need 8, all states", 8, 1, hole_before_need, always},
    {"worst: hole every need-1, need 64, all states", 64, 1, hole_before_need, always},
    {"worst: hole every need-1, need 512, all states", 512, 1, hole_before_need, always},
    {"worst: odd/even", 1, 1, odd, even},
    {"worst of mixed pages: every other page, all states", 1, 1, other, always},
    {"worst: coin, need 8", 8, 1, coin, toss},
    {"worst: states everywhere, window nowhere, need 512", 512, 1,
     [](u64, u64, std::mt19937_64&) { return false; }, always},
};

struct Store {
    std::vector<std::vector<u64>> words;
    std::vector<Group<>> groups;
    Ask ask{};
};

Store store_of(const Shape& shape, u64 pages) {
    std::mt19937_64 random{7};
    Store store;
    for (u32 g = 0; g < 3; ++g) {
        store.words.emplace_back(ceil_div(pages, 64));
        for (u64 page = 0; page < pages; ++page) {
            const bool held = g == 0   ? static_cast<double>(page) < shape.full * static_cast<double>(pages)
                              : g == 1 ? shape.window(page, shape.need, random)
                                       : shape.state(page, random);
            store.words[g][page / 64] |= u64{held ? 1u : 0u} << (page % 64);
        }
    }
    store.groups = {
        {{.needs = Needs::everything, .page = 16}, {store.words[0].data(), pages}},
        {{.needs = Needs::window, .page = 16, .reach = shape.need * 16}, {store.words[1].data(), pages}},
        {{.needs = Needs::snapshot, .page = 16}, {store.words[2].data(), pages}}};
    store.ask = {.prompt = pages * 16 + 1, .limit = pages * 16, .grid = {.unit = 16}};
    return store;
}

void verdict(benchmark::State& state, const Shape& shape, u64 pages) {
    Store store = store_of(shape, pages);
    yardstick::against(state, store.words, static_cast<double>(pages), [&] {
        benchmark::DoNotOptimize(store.groups.data());
        benchmark::ClobberMemory();
        benchmark::DoNotOptimize(reusable(store.groups.data(), 3, store.ask));
    });
}

void explanation(benchmark::State& state, const Shape& shape, u64 pages) {
    Store store = store_of(shape, pages);
    yardstick::against(state, store.words, static_cast<double>(pages), [&] {
        benchmark::DoNotOptimize(store.groups.data());
        benchmark::ClobberMemory();
        benchmark::DoNotOptimize(explain(store.groups.data(), 3, store.ask));
    });
}

void repairs(benchmark::State& state, const Shape& shape, u64 pages) {
    Store store = store_of(shape, pages);
    const u64 bytes[3]{2048, 512, 100'000};
    const u64 now = reusable(store.groups.data(), 3, store.ask);
    yardstick::against(state, store.words, static_cast<double>(pages - now / 16), [&] {
        benchmark::DoNotOptimize(store.groups.data());
        benchmark::ClobberMemory();
        benchmark::DoNotOptimize(repair(store.groups.data(), 3, store.ask, Prices<>{.bytes = bytes}));
    });
}

/// Pages of 64, 16 and 32 tokens: the worst shapes for groups that do not share a page size.
void mixed_pages(benchmark::State& state, const Shape& shape, u64 pages) {
    Store store = store_of(shape, pages);
    store.groups[0].rule.page = 64;
    store.groups[0].pages.count = pages / 4;
    store.groups[2].rule.page = 32;
    store.groups[2].pages.count = pages / 2;
    store.words[0].resize(ceil_div(pages / 4, 64));
    store.words[2].resize(ceil_div(pages / 2, 64));
    yardstick::against(state, store.words, static_cast<double>(pages), [&] {
        benchmark::DoNotOptimize(store.groups.data());
        benchmark::ClobberMemory();
        benchmark::DoNotOptimize(reusable(store.groups.data(), 3, store.ask));
    });
}

}  // namespace

int main(int argc, char** argv) {
    for (const u64 pages : {u64{512}, u64{4096}, u64{65'536}, u64{1} << 24}) {
        for (const Shape& shape : shapes) {
            const std::string name = std::to_string(pages) + "/" + shape.name;
            benchmark::RegisterBenchmark(("verdict/" + name).c_str(), verdict, shape, pages);
            if (pages == 65'536) {
                benchmark::RegisterBenchmark(("mixed pages/" + name).c_str(), mixed_pages, shape, pages);
            }
            if (pages <= 65'536) {
                benchmark::RegisterBenchmark(("explain/" + name).c_str(), explanation, shape, pages);
                benchmark::RegisterBenchmark(("repair/" + name).c_str(), repairs, shape, pages);
            }
        }
    }
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
}
