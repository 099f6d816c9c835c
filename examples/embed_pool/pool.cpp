// SPDX-License-Identifier: MIT
// An engine that sizes its page pools with kvcap: at build time for the deployment it ships with, at start-up
// for whatever memory is free. Then it serves requests from those pools, token by token, and checks that it
// serves as many as kvcap promised.
#include <cstdio>
#include <cstdlib>
#include <kvcap/core.hpp>
#include <kvcap/engine/paged.hpp>
#include <kvcap/plan/fit.hpp>
#include <vector>

namespace mine {

using namespace kvcap;

// --- what is served, and by which rules the engine takes pages ---
constexpr Gqa attention{.kv_heads = 4, .head_dim = 128};
constexpr Windowed near{attention, 1024_tok};
constexpr auto model = compose(cycle(24, near, near, near, near, near, attention)).value();
constexpr Lengths request{.prompt = 30'000_tok, .decoded = 2000_tok};
constexpr PagedEngine engine{.rules = {.block = 16, .pool_per_class = true}, .planned = request};

// --- at build time: the deployment that we ship, 12 GiB on each of two ranks ---
constexpr Bytes shipped_memory[] = {12_GiB, 12_GiB};
constexpr PoolPlan shipped = engine.pools(model, {.tp = 2}, {shipped_memory, 2}).value();
static_assert(judge(shipped, request, 80).fits, "80 requests of 32,000 tokens no longer fit");

// A page of a class holds 16 tokens of its layers: 2 heads of 128, keys and values, 2 bytes each, on a rank.
static_assert(shipped.classes[0].page == Bytes{20 * 16 * 2 * 128 * 2 * 2});  // 20 layers with a window
static_assert(shipped.classes[1].page == Bytes{4 * 16 * 2 * 128 * 2 * 2});   // 4 that keep everything

// One pool of equal pages would be simpler, and would serve a quarter: every page is as large as the largest.
constexpr PagedEngine one_pool{.rules = {.block = 16}, .planned = request};
static_assert(most_sequences(one_pool.pools(model, {.tp = 2}, {shipped_memory, 2}).value(), request) == 19);

// --- at start-up: the memory that is free ---
Result<PoolPlan> size_pools(Bytes free_on_each_rank) {
    const Bytes free[] = {free_on_each_rank, free_on_each_rank};
    return engine.pools(model, {.tp = 2}, {free, 2});
}

// --- serving: pages are taken as a request grows and given back as windows move on ---
struct Running {
    u64 tokens = 0;
    std::vector<u64> pages;  // per class of the plan
};

class Pages {
public:
    explicit Pages(const PoolPlan& plan) : plan_{plan} {
        for (const Pool& pool : plan.pools) {
            free_.push_back(usable_units(pool));
        }
    }

    Running start() const { return {.tokens = 0, .pages = std::vector<u64>(plan_.classes.size())}; }

    /// One token more; false when a page is missing.
    bool grow(Running& running) {
        ++running.tokens;
        for (u32 c = 0; c < plan_.classes.size(); ++c) {
            u64& free = free_[plan_.classes[c].pool];
            const u64 want = pages_at(plan_.classes[c], running.tokens);
            if (want > running.pages[c] + free) {
                return false;
            }
            free = free + running.pages[c] - want;
            running.pages[c] = want;
        }
        return true;
    }

private:
    /// Pages that hold a token which the newest one sees.
    static u64 pages_at(const GroupClass& kind, u64 tokens) {
        const u64 span = kind.retention.span.value;
        const u64 first = kind.retention.keep == Keep::window && tokens > span ? tokens - span : 0;
        return ceil_div(tokens, kind.block) - first / kind.block;
    }

    const PoolPlan& plan_;
    std::vector<u64> free_;
};

/// Requests that the pools really serve when all grow together, each to its full length.
bool serves(const PoolPlan& plan, u64 requests) {
    Pages pages{plan};
    std::vector<Running> running(requests, pages.start());
    for (u64 step = 0; step < (request.prompt + request.decoded).value; ++step) {
        for (Running& one : running) {
            if (!pages.grow(one)) {
                return false;
            }
        }
    }
    return true;
}

}  // namespace mine

int main(int argc, char** argv) {
    using namespace kvcap;
    const u64 mebibytes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 3000;
    if (mebibytes > 1 << 20) {
        std::fprintf(stderr, "usage: kvcap-embed-pool [MiB free on each rank, at most 1048576]\n");
        return 2;
    }
    const Result<PoolPlan> plan = mine::size_pools(1_MiB * mebibytes);
    if (!plan) {
        char text[160];
        std::fprintf(stderr, "%s\n", message(plan.error(), text, sizeof text));
        return 1;
    }
    for (const Pool& pool : plan->pools) {
        std::printf("%llu pages of %llu bytes\n", static_cast<unsigned long long>(pool.units),
                    static_cast<unsigned long long>(pool.each.value));
    }
    const u64 most = most_sequences(*plan, mine::request);
    std::printf("%llu requests of 32,000 tokens\n", static_cast<unsigned long long>(most));
    if (most == 0) {
        return 1;
    }
    const bool kept = mine::serves(*plan, most);
    const bool exact = !mine::serves(*plan, most + 1);
    std::printf("served: %s; one more: %s\n", kept ? "yes" : "no", exact ? "no" : "yes");
    return kept && exact ? 0 : 1;
}
