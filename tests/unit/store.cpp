// SPDX-License-Identifier: MIT
// Stores: what a tier holds and when loading pays, objects that cannot be cut, ranks that cannot be fed, the
// knee of a curve, and the estimate that a sample gives.
#include <catch2/catch.hpp>
#include <kvcap/core.hpp>
#include <kvcap/store/reshard.hpp>
#include <kvcap/store/tiers.hpp>
#include <kvcap/store/trace.hpp>
#include <random>

namespace store_tests {

using namespace kvcap;

namespace {

constexpr Gqa heads{.kv_heads = 8, .head_dim = 128};  // 4,096 bytes a token
const ModelSpec plain = compose(repeat(4, heads), QueryHeads{8}).value();
const ModelSpec windows =
    compose(repeat(2, heads), repeat(6, Windowed{heads, 1024_tok}), QueryHeads{8}).value();
const ModelSpec states =
    compose(repeat(1, heads), repeat(3, Mamba2{.heads = 8, .head_dim = 64, .state_dim = 128})).value();
const ModelSpec strided =
    compose(repeat(2, CompressedLatent{.latent = 512, .window = 128, .ratio = 128})).value();
const ModelSpec odd_rows = compose(repeat(1, Gqa{.kv_heads = 8, .head_dim = 40, .format = {32, 34}})).value();

template <class T>
Error why(const Result<T>& result) {
    CHECK_FALSE(result.has_value());
    return result.error();
}

/// Requests over a tree: most share a root, the rest of a path is drawn.
Trace random_trace(u64 requests) {
    std::mt19937_64 random{20261129};
    Trace trace;
    trace.block_tokens = 16;
    std::vector<std::vector<u32>> paths{{0}};
    trace.distinct = 1;
    for (u64 i = 0; i < requests; ++i) {
        std::vector<u32> path = paths[random() % paths.size()];
        const u64 more = random() % 4;
        for (u64 k = 0; k < more; ++k) {
            path.push_back(trace.distinct++);
        }
        trace.requests.push_back({.tokens = path.size() * 16 + 1,
                                  .first = trace.ids.size(),
                                  .blocks = static_cast<u32>(path.size())});
        trace.ids.insert(trace.ids.end(), path.begin(), path.end());
        paths.push_back(path);
    }
    return trace;
}

HitCurve curve_of(const Trace& trace) {
    PageCurve pages{trace.block_tokens};
    for (const TraceRequest& request : trace.requests) {
        const std::vector<u64> ids(trace.path(request), trace.path(request) + request.blocks);
        pages.add(request.tokens, ids.data(), request.blocks);
    }
    return pages.curve(1);
}

}  // namespace

TEST_CASE("a tier: prompts side by side, and the slots of hybrids") {
    // 4 layers of 4,096 bytes, chunks of 256: 1,000 tokens keep 3 chunks.
    CHECK(prompt_bytes(plain, 1'000, 256) == Bytes{3 * 256 * 16'384});
    CHECK(prompt_bytes(plain, 1'000, 256, {}, Copies::once, {}, TailRule::ceil) == Bytes{4 * 256 * 16'384});
    // Windows keep ceil(1,023 / 256) = 4 chunks of their six layers, however long the prompt.
    CHECK(prompt_bytes(windows, 16'384, 256) == Bytes{16'384 * 8'192 + 4 * 256 * 24'576});
    // A state is kept once.
    const u64 state = 3 * bytes_per_slot(states.forms[1]).value().value;
    CHECK(prompt_bytes(states, 4'096, 256) == Bytes{4'096 * 4'096 + state});
    CHECK(prompt_bytes(states, 100, 256) == 0_B);
    const Tier tier{.capacity = {10 * 4'096 * 16'384 + 1}, .bytes_per_second = 1e9};
    CHECK(tier_capacity(tier, plain, 4'096, 256) ==
          TierCapacity{.tokens = 40'960, .requests = 10, .each = 4'096, .chunks = 16});
    CHECK(why(tier_capacity(tier, plain, 100, 256)) ==
          Error{.code = Errc::divided_by_zero, .got = tier.capacity.value});
    CHECK(why(tier_capacity(tier, plain, 4'096, 0)).code == Errc::divided_by_zero);
    CHECK(why(tier_capacity(tier, plain, 4'096, 256, {.tp = 3})) ==
          Error{.code = Errc::heads_not_divisible, .got = 8, .want = 3});
    CHECK(why(prompt_bytes(plain, u64{1} << 60, 256)).code == Errc::overflow);
    // By slots: one full group and two capped at 4 chunks; 100 slots of one chunk each.
    const ChunkCaps caps{3, {off_scale, 4, 4}};
    CHECK(tier_capacity(100, caps, 256, 4'100) ==
          TierCapacity{.tokens = 100 * 4'096 / 24, .requests = 4, .each = 4'096, .chunks = 24});
    CHECK(tier_capacity(100, caps, 256, 4'100, RowUse::whole_row) ==
          TierCapacity{.tokens = 33 * 4'096 / 24, .requests = 1, .each = 4'096, .chunks = 24});
    CHECK(why(tier_capacity(100, caps, 0, 4'100)).code == Errc::divided_by_zero);
    CHECK(why(tier_capacity(100, caps, 256, 255)) ==
          Error{.code = Errc::does_not_fit, .got = 255, .want = 256});
}

TEST_CASE("loading a prefix pays when it is faster than computing it") {
    const Tier fast{.bytes_per_second = 25e9, .latency = 0.001};
    const LoadVerdict load = load_or_recompute({25'000'000'000}, fast, 2'000'000'000'000'000, 1e15);
    CHECK(load.load_seconds == Approx(1.001));
    CHECK(load.recompute_seconds == Approx(2));
    CHECK(load.load_pays());
    CHECK_FALSE(load_or_recompute({25'000'000'000}, fast, 1'000'000'000'000'000, 1e15).load_pays());
    CHECK(load_or_recompute(1_B, fast, 1, 0).recompute_seconds == 0);
    CHECK(break_even_bandwidth({25'000'000'000}, 1'000'000'000'000'000, 1e15) == Approx(25e9));
    CHECK(break_even_bandwidth(1_B, 0, 1e15) == 0);
}

TEST_CASE("objects that a store cannot cut are refused with the two sizes") {
    CHECK(slots_per_chunk(256, 16, 16) == u64{256});
    CHECK(slots_per_chunk(256, 128, 1) == u64{2});
    CHECK(why(slots_per_chunk(256, 0, 1)).code == Errc::zero_dimension);
    CHECK(why(slots_per_chunk(256, 16, 0)).code == Errc::zero_dimension);
    CHECK(why(slots_per_chunk(256, 100, 16)) == Error{.code = Errc::not_divisible, .got = 100, .want = 16});
    CHECK(why(slots_per_chunk(250, 16, 4)) == Error{.code = Errc::not_divisible, .got = 250, .want = 16});
    const ObjectGroup group = object_groups(plain)[0];
    CHECK(why(object_bytes(plain, group, 16, {.pp = 2}, 2)) ==
          Error{.code = Errc::rank_out_of_range, .got = 2, .want = 2});
    CHECK(why(object_bytes(odd_rows, object_groups(odd_rows)[0], 16)) ==
          Error{.code = Errc::block_not_divisible, .got = 40, .want = 32});
    CHECK(why(object_bytes(plain, group, u64{1} << 60)).code == Errc::overflow);
    CHECK(why(object_bytes(plain, group, 16, {}, 0, {.alignment = 0})).code == Errc::divided_by_zero);
    u32 refused = 0;
    for (const ObjectGroup& each : object_groups(strided)) {
        const Result<ObjectBytes> bytes = object_bytes(strided, each, 100);
        refused += bytes.error() == Error{.code = Errc::not_divisible, .got = 100, .want = 128} ? 1u : 0u;
    }
    CHECK(refused == 1);
    CHECK(why(stored_sizes(plain, 256, {.tp = 3})) ==
          Error{.code = Errc::heads_not_divisible, .got = 8, .want = 3});
    CHECK(stored_sizes(states, 256).value().snapshot == 3 * bytes_per_slot(states.forms[1]).value().value);
}

TEST_CASE("which chunks a group wants, and which kind of object it is") {
    CHECK(kind_of({}) == ObjectKind::page);
    CHECK(kind_of({.source = Source::encoder}) == ObjectKind::fixed);
    CHECK(kind_of({.keep = Keep::window, .span = 1024_tok}) == ObjectKind::tail);
    CHECK(kind_of({.keep = Keep::chunk, .span = 1024_tok}) == ObjectKind::tail);
    CHECK(kind_of({.keep = Keep::budget, .span = 1024_tok}) == ObjectKind::snapshot);
    CHECK(kind_of({.keep = Keep::last}) == ObjectKind::snapshot);
    CHECK(kind_of({.keep = Keep::once}) == ObjectKind::fixed);
    CHECK(chunks_needed({.kind = ObjectKind::page}, 256) == off_scale);
    CHECK(chunks_needed({.kind = ObjectKind::tail, .span = 1024_tok}, 256) == 4);
    CHECK(chunks_needed({.kind = ObjectKind::tail, .span = 1025_tok}, 256) == 4);
    CHECK(chunks_needed({.kind = ObjectKind::tail, .span = 1026_tok}, 256) == 5);
    CHECK(chunks_needed({.kind = ObjectKind::tail}, 256) == 0);
    CHECK(chunks_needed({.kind = ObjectKind::snapshot}, 256) == 0);
    CHECK(chunks_needed({.kind = ObjectKind::fixed}, 256) == 0);
}

TEST_CASE("context ranks must get equal parts of a chunk") {
    const ObjectGroup group = object_groups(plain)[0];
    CHECK(tokens_on_context_rank(plain, group, 256, {.cp = 4}) == u64{64});
    CHECK(why(tokens_on_context_rank(plain, group, 256, {.cp = 0})).code == Errc::zero_parallelism);
    CHECK(why(tokens_on_context_rank(plain, group, 256, {.cp = 4, .interleave = 48})) ==
          Error{.code = Errc::not_divisible, .got = 256, .want = 192});
    for (const ObjectGroup& each : object_groups(strided)) {
        if (each.kind == ObjectKind::page) {
            CHECK(why(tokens_on_context_rank(strided, each, 100, {.cp = 2})) ==
                  Error{.code = Errc::not_divisible, .got = 100, .want = 128});
        }
    }
    CHECK(why(group_bytes(plain, group, 256, {.cp = 3})) ==
          Error{.code = Errc::not_divisible, .got = 256, .want = 3});
    CHECK(why(group_bytes(plain, group, 256, {.tp = 3})).code == Errc::heads_not_divisible);
    CHECK(why(group_bytes(odd_rows, object_groups(odd_rows)[0], 256)).code == Errc::block_not_divisible);
    CHECK(why(group_bytes(plain, group, 256, {.pp = 5})) ==
          Error{.code = Errc::stages_exceed_layers, .got = 5, .want = 4});
}

TEST_CASE("a rank that does not exist feeds nobody, and is fed by nobody") {
    const Lengths lengths{.prompt = {1'000}};
    const Sharding two{.tp = 2};
    const auto moved = [&](const Sharding& from, Place source, const Sharding& to, Place target) {
        return bytes_between(plain, lengths, from, source, to, target);
    };
    CHECK(moved(two, {.tp_rank = 1}, two, {.tp_rank = 1}) == Bytes{1'000 * 8'192});
    CHECK(moved(two, {.tp_rank = 1}, two, {.tp_rank = 0}) == 0_B);
    CHECK(why(moved(two, {.tp_rank = 2}, two, {})) ==
          Error{.code = Errc::rank_out_of_range, .got = 2, .want = 2});
    CHECK(why(moved(two, {}, two, {.tp_rank = 3})) ==
          Error{.code = Errc::rank_out_of_range, .got = 3, .want = 2});
    CHECK(why(moved(two, {.cp_rank = 1}, two, {})) ==
          Error{.code = Errc::rank_out_of_range, .got = 1, .want = 1});
    CHECK(why(moved({.tp = 0}, {}, two, {})).code == Errc::zero_parallelism);
    CHECK(why(moved({.cp = 1, .interleave = 0}, {}, two, {})).code == Errc::zero_parallelism);
    CHECK(why(moved(two, {}, {.pp = 5}, {})) ==
          Error{.code = Errc::stages_exceed_layers, .got = 5, .want = 4});
    CHECK(why(moved(two, {}, {.pp = 2}, {.stage = 2})).code == Errc::rank_out_of_range);
    CHECK(why(moved({.tp = 3}, {}, two, {})) ==
          Error{.code = Errc::heads_not_divisible, .layer = 0, .got = 8, .want = 3});
    // Twelve ranks share eight heads neither evenly nor as whole copies.
    CHECK(why(moved({.tp = 12, .uneven = Uneven::ceil}, {}, two, {})) ==
          Error{.code = Errc::heads_not_divisible, .layer = 0, .got = 8, .want = 12});
    CHECK(why(moved({.tp = 3, .uneven = Uneven::ceil}, {}, two, {})) ==
          Error{.code = Errc::heads_not_divisible, .layer = 0, .got = 8, .want = 3});
    // Sixteen ranks hold each head twice; three context ranks cannot share two copies.
    CHECK(why(bytes_between(plain, lengths, {.tp = 16, .cp = 3}, {}, two, {}, ContextRanks::among_tensor)) ==
          Error{.code = Errc::not_divisible, .layer = 0, .got = 2, .want = 3});
    CHECK(why(each_source(plain, lengths, {.tp = 0}, two, {}, [](Place, Bytes) {})).code ==
          Errc::zero_parallelism);
    CHECK(why(each_source(plain, lengths, two, {.tp = 3}, {}, [](Place, Bytes) {})).code ==
          Errc::heads_not_divisible);
}

TEST_CASE("the knee of a curve is the highest point above its chord") {
    // Hits of log2(capacity) up to 1 KiB, then none until 1 MiB: the knee is where they end.
    std::vector<CurveStep> gains;
    for (u64 bytes = 1; bytes <= 1'024; bytes *= 2) {
        gains.push_back({bytes, 100});
    }
    gains.push_back({1 << 20, 1});
    const HitCurve curve{gains, 10'000};
    CHECK(curve.knee(1) == 1'024);
    CHECK(curve.knee(64) == 1'024);
    CHECK(curve.prompt_tokens() == 10'000);
    CHECK(curve.hit_tokens(1'023) == 1'000);
    CHECK(curve.ratio(curve.reachable()) == Approx(0.1101));
    CHECK(curve.knee(0) == 0);
    CHECK(curve.knee(1 << 20) == 0);
    CHECK(HitCurve{}.knee(1) == 0);
    CHECK(HitCurve{}.ratio(1) == 0);
    CHECK(HitCurve{}.bytes_for(0.5) == 0);
}

TEST_CASE("block hits of one capacity are those of the curve") {
    const Trace trace = random_trace(400);
    PageCurve pages{trace.block_tokens};
    for (const TraceRequest& request : trace.requests) {
        const std::vector<u64> ids(trace.path(request), trace.path(request) + request.blocks);
        pages.add(request.tokens, ids.data(), request.blocks);
    }
    const HitCurve curve = pages.curve(1);
    for (const u64 capacity : {u64{0}, u64{1}, u64{7}, u64{100}, u64{100'000}}) {
        CHECK(pages.hits(capacity) * trace.block_tokens == curve.hit_tokens(capacity));
    }
    CHECK(pages.distinct() == trace.distinct);
    CHECK(pages.references() == trace.ids.size());
    CHECK(pages.prompt_tokens() == trace.tokens());
    CHECK(pages.bytes() >= 12 * trace.requests.size() + 12 * trace.distinct);
}

TEST_CASE("a sample's estimate is scaled, and its parts give the error") {
    const Trace trace = random_trace(2'000);
    CHECK(shared_root(trace) == 0);
    CHECK(shared_root({}) == ~u32{0});
    const HitCurve whole = curve_of(trace);
    const u64 capacity = whole.bytes_for(1);
    // One part of one is the trace: no error can be told, and the ratio is the whole's.
    const Estimate all = estimate(whole, {whole}, capacity, 1, 1, 1);
    CHECK(all.ratio == whole.ratio(whole.hit_tokens(capacity)));
    CHECK(all.error == 0);
    CHECK_FALSE(estimate(whole, {}, 2'047, 1, 1, 1).trustworthy);
    CHECK(estimate(whole, {}, 2'048, 1, 1, 1).trustworthy);
    // Two parts of a half each: the standard error of their mean.
    const HitCurve half[2] = {curve_of(sample_trees(trace, 0, 2).trace),
                              curve_of(sample_trees(trace, 1, 2).trace)};
    const double a = half[0].ratio(half[0].hit_tokens(capacity / 2));
    const double b = half[1].ratio(half[1].hit_tokens(capacity / 2));
    const Estimate made = estimate(half[0], {half[0], half[1]}, capacity, 2, 2, 1);
    CHECK(made.ratio == a);
    CHECK(made.error == Approx(std::abs(a - b) / 2));
    CHECK(made.error > 0);
}

}  // namespace store_tests
