// SPDX-License-Identifier: MIT
// Curves against lists: on random prefix forests every capacity of a one-pass curve equals the replay of a plain list,
// and the two replays equal each other. The list here is written from the definition alone.
#include "random.hpp"

#include <catch2/catch.hpp>
#include <kvcap/reuse/needed.hpp>
#include <kvcap/store/trace.hpp>

#include <list>
#include <map>
#include <set>

namespace store_tests {

using namespace kvcap;

namespace {

/// A tree of 1 to 40 ids; requests are paths from a root.
Trace random_forest(property::Random& random) {
    Trace trace;
    trace.block_tokens = random.in(1, 4);
    const u32 ids = random.in32(1, 40);
    const u32 roots = random.in32(1, 3);
    std::vector<u32> parent(ids), name(ids, ~u32{0});
    for (u32 i = 0; i < ids; ++i) {
        parent[i] = i < roots ? i : random.in32(random.chance(50) ? (i > 3 ? i - 3 : 0) : 0, i - 1);
    }
    const u32 requests = random.in32(3, 30);
    for (u32 r = 0; r < requests; ++r) {
        std::vector<u32> path;
        for (u32 at = random.in32(0, ids - 1);; at = parent[at]) {
            path.insert(path.begin(), at);
            if (parent[at] == at) {
                break;
            }
        }
        TraceRequest request{.first = trace.ids.size(), .blocks = static_cast<u32>(path.size())};
        request.tokens = path.size() * trace.block_tokens - random.in(0, trace.block_tokens - 1);
        for (const u32 at : path) {
            name[at] = name[at] == ~u32{0} ? trace.distinct++ : name[at];
            trace.ids.push_back(name[at]);
        }
        trace.requests.push_back(request);
    }
    return trace;
}

/// The store of the definition: a list of (kind, block), newest first.
struct ListStore {
    const StoredSizes& sizes;
    SavePolicy policy;
    u64 capacity;
    TouchOrder order = TouchOrder::deepest_first;
    std::list<std::pair<int, u32>> items{};
    u64 used = 0;
    std::set<u32> seen{};
    u64 hits = 0;

    u64 bytes(int kind) const {
        return kind == -1   ? sizes.page
               : kind == -2 ? sizes.snapshot
                            : sizes.tails[static_cast<std::size_t>(kind)].bytes;
    }
    bool has(int kind, u32 block) const {
        return std::find(items.begin(), items.end(), std::pair{kind, block}) != items.end();
    }
    void touch(int kind, u32 block) {
        if (bytes(kind) == 0) {
            return;
        }
        if (has(kind, block)) {
            items.remove({kind, block});
        } else {
            used += bytes(kind);
        }
        items.push_front({kind, block});
        while (used > capacity) {
            used -= bytes(items.back().first);
            items.pop_back();
        }
    }
    bool served(const u32* path, u32 p) const {
        for (u32 i = 0; i < p; ++i) {
            if (sizes.page != 0 && !has(-1, path[i])) {
                return false;
            }
        }
        for (std::size_t g = 0; g < sizes.tails.size(); ++g) {
            const TailClass& tail = sizes.tails[g];
            const u64 first = tail.period != 0 ? p / tail.period * tail.period : p > tail.need ? p - tail.need : 0;
            for (u64 i = 0; i < p; ++i) {
                if ((i >= first || i < tail.sinks) && !has(static_cast<int>(g), path[i])) {
                    return false;
                }
            }
        }
        return sizes.snapshot == 0 || has(-2, path[p - 1]);
    }
    void add(u64 tokens, const u32* path, u32 given, u64 block, const HitRule& rule) {
        const u64 last = rule.recompute_last ? tokens - 1 : tokens;
        const bool ceil = rule.tail == TailRule::ceil;
        const u32 stored = ceil ? given : static_cast<u32>(tokens / block);
        const u32 usable = static_cast<u32>(ceil ? (last + block - 1) / block : last / block);
        const u32 whole = static_cast<u32>(tokens / block);
        u32 ever = 0;
        while (ever < stored && seen.count(path[ever]) != 0) {
            ++ever;
        }
        u32 present = sizes.page == 0 ? ever : 0;
        while (sizes.page != 0 && present < stored && has(-1, path[present])) {
            ++present;
        }
        u32 hit = std::min(std::min(usable, stored), ever);
        while (hit > 0 && !served(path, hit)) {
            --hit;
        }
        hits += std::min<u64>(u64{hit} * block, last);
        const u32 junction = policy.engine_like ? present : ever;
        const u32 beyond = policy.engine_like ? hit : ever;
        std::set<u32> saved;
        if (policy.junction && junction > 0 && junction <= whole) {
            saved.insert(junction);
        }
        if (policy.end && whole > 0) {
            saved.insert(whole);
        }
        if (policy.engine_like && hit > 0 && hit <= whole) {
            saved.insert(hit);
        }
        for (u32 p = beyond + 1; policy.every != 0 && p <= whole; ++p) {
            if (p % policy.every == 0) {
                saved.insert(p);
            }
        }
        for (u32 step = 0; step < stored; ++step) {
            const u32 p = order == TouchOrder::deepest_first ? stored - step : step + 1;
            if (saved.count(p) != 0) {
                touch(-2, path[p - 1]);
            }
            for (std::size_t g = 0; g < sizes.tails.size(); ++g) {
                const auto next = saved.lower_bound(p);
                const u64 period = sizes.tails[g].period;
                const bool tail = next != saved.end() && (period != 0 ? p > *next / period * period
                                                                      : *next - p < sizes.tails[g].need);
                const bool sink = next != saved.end() && p <= sizes.tails[g].sinks;
                if (tail || sink || (policy.window_blocks && p > beyond)) {
                    touch(static_cast<int>(g), path[p - 1]);
                }
            }
            touch(-1, path[p - 1]);
        }
        seen.insert(path, path + stored);
    }
};

u64 list_hits(const Trace& trace, const StoredSizes& sizes, const SavePolicy& policy, u64 capacity, const HitRule& rule,
              TouchOrder order = TouchOrder::deepest_first) {
    ListStore store{sizes, policy, capacity, order};
    for (const TraceRequest& request : trace.requests) {
        store.add(request.tokens, trace.path(request), request.blocks, trace.block_tokens, rule);
    }
    return store.hits;
}

StoredSizes random_sizes(property::Random& random) {
    StoredSizes sizes{.page = random.chance(90) ? random.in(1, 3) : 0, .tails = {}, .snapshot = 0};
    for (u64 g = random.in(0, 2); g > 0; --g) {
        const u64 need = random.in(0, 4);
        const bool chunked = random.chance(25);
        sizes.tails.push_back({.bytes = random.in(1, 3), .need = need, .period = chunked ? need : 0,
                               .sinks = !chunked && random.chance(40) ? random.in(1, 3) : 0});
    }
    sizes.snapshot = sizes.page == 0 || random.chance(50) ? random.in(1, 5) : 0;
    return sizes;
}

SavePolicy random_policy(property::Random& random) {
    return {.junction = random.chance(70), .end = random.chance(80), .every = random.chance(40) ? random.in32(1, 3) : 0,
            .window_blocks = random.chance(30), .engine_like = random.chance(30)};
}

HitRule random_rule(property::Random& random) {
    return {random.chance(70) ? TailRule::floor : TailRule::ceil, random.chance(70)};
}

/// One request a text: letters are block ids of one token each, one token more than blocks so that all may be hit.
Trace letters(const std::vector<std::string>& requests) {
    Trace trace;
    trace.block_tokens = 1;
    std::map<std::string, u32> names;
    for (const std::string& text : requests) {
        trace.requests.push_back(
            {.tokens = text.size(), .first = trace.ids.size(), .blocks = static_cast<u32>(text.size())});
        for (std::size_t i = 1; i <= text.size(); ++i) {
            trace.ids.push_back(names.emplace(text.substr(0, i), static_cast<u32>(names.size())).first->second);
        }
    }
    trace.distinct = static_cast<u32>(names.size());
    return trace;
}

constexpr HitRule everything{TailRule::floor, false};

}  // namespace

TEST_CASE("one pass equals a list at every capacity") {
    const u64 seed = property::seed();
    INFO("seed " << seed);
    property::Random random{seed};
    const u64 cases = property::cases(300);
    u64 compared = 0;
    for (u64 c = 0; c < cases; ++c) {
        INFO("case " << c);
        const Trace trace = random_forest(random);
        const StoredSizes sizes = random_sizes(random);
        SavePolicy policy = random_policy(random);
        const HitRule rule = random_rule(random);
        REQUIRE(is_prefix_forest(trace));
        const OwnedPaths paths{trace, rule};
        HybridCurve hybrid{sizes, policy, trace.block_tokens, rule};
        PageCurve pages{trace.block_tokens, rule};
        for (const TraceRequest& request : trace.requests) {
            const u32* path = trace.path(request);
            hybrid.add(request.tokens, path, request.blocks);
            std::vector<u64> ids(path, path + request.blocks);
            for (u64& id : ids) {
                id *= 0x0123'4567'89ab'cdef;
            }
            pages.add(request.tokens, ids.data(), request.blocks);
        }
        const HitCurve curve = hybrid.curve();
        const HitCurve of_pages = pages.curve(sizes.page);
        const u64 most = (curve.steps().empty() ? 0 : curve.steps().back().bytes) + 3;
        for (u64 capacity = 0; capacity <= most; ++capacity) {
            INFO("capacity " << capacity);
            const u64 want = list_hits(trace, sizes, policy, capacity, rule);
            REQUIRE(replay(trace, sizes, policy, {.all = capacity}, rule).hit_tokens == want);
            REQUIRE(RangeReplay{paths, sizes, policy, capacity}.run().hit_tokens == want);
            if (!policy.engine_like) {
                REQUIRE(curve.hit_tokens(capacity) == want);
                ++compared;
            }
            if (sizes.only_pages()) {
                REQUIRE(of_pages.hit_tokens(capacity) == want);
            }
        }
    }
    CHECK((cases < 100 || compared > 1000));
}

TEST_CASE("the order of touches is the caller's") {
    property::Random random{property::seed() + 1};
    for (u64 c = property::cases(100); c > 0; --c) {
        const Trace trace = random_forest(random);
        const StoredSizes sizes = random_sizes(random);
        const SavePolicy policy = random_policy(random);
        const HitRule rule = random_rule(random);
        for (u64 capacity = 0; capacity < 40; ++capacity) {
            REQUIRE(replay(trace, sizes, policy, {.all = capacity}, rule, TouchOrder::root_first).hit_tokens ==
                    list_hits(trace, sizes, policy, capacity, rule, TouchOrder::root_first));
        }
    }
    // Two blocks of room and the path a b c twice: the deepest first keeps a b, the root first keeps b c.
    const Trace twice = letters({"abc", "abc"});
    CHECK(replay(twice, {.page = 1}, {}, {.all = 2}, everything).hit_tokens == 2);
    CHECK(replay(twice, {.page = 1}, {}, {.all = 2}, everything, TouchOrder::root_first).hit_tokens == 0);
}

TEST_CASE("more capacity can mean fewer hits when a store saves junctions of what it holds") {
    const Trace trace = letters({"ab", "c", "ab", "a"});
    const StoredSizes sizes{.page = 1, .tails = {}, .snapshot = 1};
    const SavePolicy engine{.engine_like = true};
    CHECK(replay(trace, sizes, engine, {.all = 3}, everything).hit_tokens == 1);
    CHECK(replay(trace, sizes, engine, {.all = 4}, everything).hit_tokens == 0);
    CHECK(list_hits(trace, sizes, engine, 3, everything) == 1);
    CHECK(list_hits(trace, sizes, engine, 4, everything) == 0);
    const OwnedPaths paths{trace, everything};
    const std::vector<ReplayResult> swept = sweep(paths, sizes, engine, {3, 4}, 2);
    CHECK(swept[0].hit_tokens == 1);
    CHECK(swept[1].hit_tokens == 0);
}

TEST_CASE("more capacity can mean fewer hits when a store refreshes what it hits") {
    const Trace trace = letters({"a", "ab", "abc", "ad", "a"});
    const StoredSizes sizes{.page = 1, .tails = {}, .snapshot = 1};
    const SavePolicy engine{.junction = false, .engine_like = true};
    CHECK(replay(trace, sizes, engine, {.all = 3}, everything).hit_tokens == 4);
    CHECK(replay(trace, sizes, engine, {.all = 4}, everything).hit_tokens == 3);
    HybridCurve curve{sizes, end_only, 1, everything};
    for (const TraceRequest& request : trace.requests) {
        curve.add(request.tokens, trace.path(request), request.blocks);
    }
    CHECK(curve.curve().hit_tokens(3) <= curve.curve().hit_tokens(4));
}

TEST_CASE("long traces renumber and stay exact") {
    property::Random random{property::seed() + 2};
    Trace trace;
    trace.block_tokens = 2;
    std::vector<u32> parent;
    std::vector<u32> depth;
    for (u32 r = 0; r < 6000; ++r) {
        u32 at = parent.empty() || random.chance(20)
                     ? ~u32{0}
                     : random.in32(
                           random.chance(80) && parent.size() > 60 ? static_cast<u32>(parent.size()) - 60 : 0,
                           static_cast<u32>(parent.size()) - 1);
        for (u64 grow = random.in(0, 4); grow > 0; --grow) {
            parent.push_back(at);
            at = static_cast<u32>(parent.size()) - 1;
        }
        std::vector<u32> path;
        for (; at != ~u32{0}; at = parent[at]) {
            path.insert(path.begin(), at);
        }
        trace.requests.push_back({.tokens = path.size() * 2 + 1, .first = trace.ids.size(),
                                  .blocks = static_cast<u32>(path.size())});
        trace.ids.insert(trace.ids.end(), path.begin(), path.end());
    }
    trace.distinct = static_cast<u32>(parent.size());
    const OwnedPaths paths{trace};
    for (const StoredSizes& sizes : {StoredSizes{.page = 3, .tails = {}, .snapshot = 0},
                                     StoredSizes{.page = 3, .tails = {{2, 2}}, .snapshot = 5}}) {
        for (const SavePolicy& policy : {junction_and_end, every_block}) {
            HybridCurve hybrid{sizes, policy, 2};
            PageCurve pages{2};
            for (const TraceRequest& request : trace.requests) {
                const u32* path = trace.path(request);
                hybrid.add(request.tokens, path, request.blocks);
                const std::vector<u64> ids(path, path + request.blocks);
                pages.add(request.tokens, ids.data(), request.blocks);
            }
            const HitCurve curve = hybrid.curve();
            for (const u64 capacity : log_spaced(5, 60'000, 12)) {
                const u64 want = replay(trace, sizes, policy, {.all = capacity}).hit_tokens;
                CHECK(curve.hit_tokens(capacity) == want);
                CHECK(RangeReplay{paths, sizes, policy, capacity}.run().hit_tokens == want);
                if (sizes.only_pages()) {
                    CHECK(pages.curve(3).hit_tokens(capacity) == want);
                }
            }
        }
    }
}

TEST_CASE("a wrong split of one budget loses hits; bytes moved are those of the objects") {
    const Trace trace = letters({"abcd", "abcd", "abcd"});
    const StoredSizes sizes{.page = 10, .tails = {}, .snapshot = 20};
    const ReplayResult shared = replay(trace, sizes, {}, {.all = 60}, everything);
    CHECK(shared.hit_tokens == 8);
    CHECK(shared.written_bytes == 60);
    CHECK(shared.loaded_bytes == 2 * 60);
    CHECK(replay(trace, sizes, {}, {.all = 60, .snapshots = 20}, everything) == shared);
    CHECK(replay(trace, sizes, {}, {.all = 60, .snapshots = 30}, everything).hit_tokens == 0);
    CHECK(replay(trace, sizes, {}, {.all = 60, .snapshots = 10}, everything).hit_tokens == 0);
}

TEST_CASE("what a model stores of a block") {
    const auto sizes = [](const ModelSpec& model, u64 block) { return stored_sizes(model, block); };
    constexpr Gqa heads{.kv_heads = 8, .head_dim = 128};
    const ModelSpec chunked = compose(repeat(3, Chunked{heads, 8192_tok}), repeat(1, heads)).value();
    const StoredSizes cut = sizes(chunked, 512).value();
    CHECK(cut.page == 512 * 4096);
    REQUIRE(cut.tails.size() == 1);
    CHECK(cut.tails[0].bytes == 3 * 512 * 4096);
    CHECK(cut.tails[0].need_at(15) == 15);
    CHECK(cut.tails[0].need_at(16) == 0);
    CHECK(cut.tails[0].need_at(18) == 2);
    CHECK(sizes(chunked, 3000).error() == Error{.code = Errc::not_divisible, .got = 8192, .want = 3000});
    const ModelSpec window = compose(repeat(1, Windowed{heads, 1024_tok})).value();
    CHECK(sizes(window, 512)->tails[0].need_at(7) == 2);
    CHECK(sizes(window, 512)->tails[0].need_at(1) == 1);
    const ModelSpec sinks = compose(repeat(1, WithSinks{Windowed{heads, 1020_tok}, 4_tok})).value();
    const TailClass with_sinks = sizes(sinks, 512)->tails[0];
    CHECK(with_sinks.sinks == 1);
    CHECK(with_sinks.blocks_at(1) == 1);
    CHECK(with_sinks.blocks_at(2) == 2);
    CHECK(with_sinks.blocks_at(9) == 3);
    CHECK(sizes(sinks, 2)->tails[0].sinks == 2);
    for (u64 p = 1; p < 12; ++p) {  // what the evaluator asks for
        const Rule rule = rule_of(sinks.forms[0].retention, 512);
        const PageRange range = needed(rule, p * 512, {.unit = 512}, 12);
        CHECK(with_sinks.blocks_at(p) == range.sinks + range.end - range.first);
    }
    const ModelSpec chunked_sinks = compose(repeat(1, WithSinks{Chunked{heads, 1024_tok}, 4_tok})).value();
    CHECK(sizes(chunked_sinks, 512).error() == Error{.code = Errc::unsupported, .what = Uncovered::sinks, .got = 4});
    const ModelSpec latent = compose(repeat(61, Mla{.latent = 512, .rope = 64})).value();
    CHECK(stored_sizes(latent, 512, {.tp = 8})->page == 512 * 70'272);
    CHECK(stored_sizes(latent, 512, {.tp = 8}, Copies::each_rank)->page == 8 * 512 * 70'272);
}

TEST_CASE("samples keep whole trees") {
    property::Random random{property::seed() + 3};
    const Trace trace = random_forest(random);
    u64 requests = 0;
    u64 tokens = 0;
    for (u32 part = 0; part < 4; ++part) {
        const TreeSample sample = sample_trees(trace, part, 4);
        CHECK(is_prefix_forest(sample.trace));
        requests += sample.trace.requests.size();
        tokens += sample.trace.tokens();
    }
    CHECK(requests == trace.requests.size());
    CHECK(tokens == trace.tokens());
}

TEST_CASE("ids that are no prefix hashes are noticed") {
    Trace trace = letters({"ab", "cb"});
    CHECK(is_prefix_forest(trace));
    trace.ids[3] = trace.ids[1];
    CHECK_FALSE(is_prefix_forest(trace));
}

}  // namespace store_tests
