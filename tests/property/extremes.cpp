// SPDX-License-Identifier: MIT
// Absurd sizes against 128-bit arithmetic: what the core, the roofline and the store answer is the exact number, or
// Errc::overflow where that number (or one it is made of) needs 64 bits or more.
#include "random.hpp"
#include "wide.hpp"

#include <catch2/catch.hpp>
#include <kvcap/kvcap.hpp>

namespace extremes_tests {

using namespace kvcap;
using namespace property;

namespace {

/// Slots of a retention, with no scale to leave.
u128 slots_of(const Retention& kept, const Lengths& at) {
    const u128 seen = kept.source == Source::decoder   ? u128{at.prompt.value} + at.decoded.value
                      : kept.source == Source::prompt ? u128{at.prompt.value}
                                                      : u128{at.encoder.value};
    const u128 here = seen > kept.lag ? seen - kept.lag : 0;
    const u128 span = u128{kept.span.value} + kept.sinks.value;
    switch (kept.keep) {
        case Keep::everything: return here / kept.stride;
        case Keep::last: return seen < 1 ? 0 : 1;
        case Keep::once: return 1;
        default: return (here < span ? here : span) / kept.stride;
    }
}

u128 slot_bytes(const LayerForm& form) {
    u128 sum = 0;
    for (const Stream& stream : form.streams) {
        sum += u128{stream.heads} * stream.rows * (stream.width / stream.format.elems) * stream.format.bytes;
    }
    return sum;  // below 2^100
}

/// What a sequence holds, or (once) what exists once beside all of them.
u128 held_bytes(const ModelSpec& model, const Lengths& at, bool once) {
    u128 sum = 0;
    for (const Cache& cache : model.caches) {
        const LayerForm& form = model.form_of(cache);
        if ((form.retention.keep == Keep::once) == once) {
            sum = wide_sum(sum, wide_product(slots_of(form.retention, at), slot_bytes(form)));
        }
    }
    return sum;
}

/// Anything up to the top, the top itself often.
u64 any_size(Random& r, u64 top) { return r.chance(5) ? top : smaller(r.log_in(top), top); }

/// A form of one or two streams, each size anything up to its member's top.
LayerForm wide_form(Random& r) {
    constexpr Keep keeps[] = {Keep::everything, Keep::everything, Keep::window, Keep::chunk,
                              Keep::budget,     Keep::last,       Keep::once};
    constexpr ElementFormat formats[] = {f32, bf16, fp8, fp8_scale_per_128, nvfp4};
    LayerForm form{};
    form.retention.keep = keeps[r.in(0, 6)];
    form.retention.source = static_cast<Source>(r.in(0, 2));
    form.retention.stride = r.chance(70) ? 1 : static_cast<u32>(any_size(r, ~u32{0}));
    form.retention.lag = r.chance(80) ? 0 : static_cast<u32>(any_size(r, ~u32{0}));
    form.retention.span = {any_size(r, off_scale)};
    form.retention.sinks = {r.chance(70) ? 0 : any_size(r, off_scale)};
    for (u64 i = r.in(1, 2); i-- > 0;) {
        Stream stream{.role = i == 0 ? Role::value : Role::key, .split = Split::heads, .format = formats[r.in(0, 4)]};
        const u64 width = any_size(r, r.chance(50) ? 4096 : 0xffff'fffe);
        stream.rows = static_cast<u16>(r.chance(80) ? 1 : any_size(r, 0xfffe));
        stream.heads = static_cast<u32>(any_size(r, r.chance(50) ? 64 : 0xffff'fffe));
        stream.width = static_cast<u32>(larger(width / stream.format.elems, 1) * stream.format.elems);
        REQUIRE(form.streams.push(stream));
    }
    return form;
}

ModelSpec wide_model(Random& r) {
    ModelSpec model{};
    const u64 kinds = r.in(1, 3);
    model.layers = 4;
    for (u64 i = 0; i < kinds; ++i) {
        const LayerForm form = wide_form(r);
        for (u64 times = r.in(1, 40); times-- > 0;) {
            REQUIRE(model.add(static_cast<u32>(r.in(0, 3)), form) == Errc::ok);
        }
    }
    return model;
}

Lengths wide_lengths(Random& r) {
    return {.prompt = {any_size(r, off_scale)}, .decoded = {r.chance(50) ? 0 : any_size(r, off_scale)},
            .encoder = {any_size(r, off_scale)}};
}

/// What the oracle cannot know to be refused: a length that is itself off the scale, or a cache whose slot is.
bool off_scale_by_itself(const ModelSpec& model, const Lengths& at) {
    bool off = is_off(u128{at.prompt.value} + at.decoded.value) || is_off(at.encoder.value);
    for (const LayerForm& form : model.forms) {
        off = off || is_off(slot_bytes(form)) || is_off(u128{form.retention.span.value} + form.retention.sinks.value);
    }
    return off;
}

}  // namespace

TEST_CASE("extremes: held bytes and their inverses are exact or refused") {
    Random random{seed()};
    Sided sided;
    for (u64 i = 0; i < cases(20'000); ++i) {
        const ModelSpec model = wide_model(random);
        const Lengths at = wide_lengths(random);
        const u128 each = held_bytes(model, at, false);
        const u128 once = held_bytes(model, at, true);
        const u128 exact = wide_sum(each, once);
        const bool excused = off_scale_by_itself(model, at);
        CAPTURE(i, seed(), excused);
        REQUIRE(sided.agrees(fold(model, at), exact, excused, [](const Footprint& f) { return f.total().value; }));
        REQUIRE(sided.agrees(over_ranks(model, at, {}), exact, excused,
                             [](const Spread& ranks) { return ranks.unique.value; }));
        const u64 batch = larger(any_size(random, off_scale), 1);
        REQUIRE(sided.agrees(fullest_rank(model, at, {}, batch), wide_sum(wide_product(each, batch), once), excused,
                             [](Bytes bytes) { return bytes.value; }));
        const u64 budget = any_size(random, off_scale);
        const auto most = most_sequences(model, Bytes{budget}, at);
        if (most && !excused && each != 0) {
            REQUIRE((*most == 0 || wide_product(each, *most) + once <= budget));
            REQUIRE(wide_product(each, u128{*most} + 1) + once > budget);
        }
        const auto fits = longest(model, Bytes{budget}, {}, 1, {}, Tokens{off_scale - 2});
        if (fits && !off_scale_by_itself(model, {})) {
            const Lengths last{.prompt = *fits};
            const Lengths more{.prompt = {fits->value + 1}};
            REQUIRE(wide_sum(held_bytes(model, last, false), once) <= budget);
            REQUIRE((fits->value == off_scale - 2 || wide_sum(held_bytes(model, more, false), once) > budget));
        }
    }
    CHECK(sided.exact > at_least(10'000, 20'000));
    CHECK(sided.refused > at_least(10'000, 20'000));
}

TEST_CASE("extremes: what decoding and a prompt read and compute is exact or refused") {
    Random random{seed()};
    Sided sided;
    for (u64 i = 0; i < cases(20'000); ++i) {
        const u32 heads = static_cast<u32>(any_size(random, ~u32{0}));
        const Gqa one{static_cast<u32>(any_size(random, 0xffff'fffe)), static_cast<u32>(any_size(random, 0xffff'fffe))};
        const u32 layers = static_cast<u32>(random.in(1, 200));
        const auto model = compose(QueryHeads{heads}, repeat(layers, one));
        REQUIRE(model);
        const u64 n = random.log_in(off_scale);
        const u64 batch = random.log_in(off_scale);
        const u64 active = any_size(random, off_scale);
        CAPTURE(i, seed(), heads, one.kv_heads, one.head_dim, layers, n, batch, active);
        const u128 slot = u128{4} * one.kv_heads * one.head_dim;
        const u128 position = u128{4} * heads * one.head_dim;
        const u128 steps = wide_product(u128{n} * layers, batch);
        const u128 read = wide_product(slot, steps);
        const u128 flops = wide_sum(wide_product(position, steps), wide_product(u128{2} * batch, active));
        const auto step = decode_step(*model, {.prompt = {n}}, batch, {.active_params = active});
        REQUIRE(sided.agrees(step, is_off(flops) ? flops : read, false,
                             [](const StepCost& cost) { return cost.bytes().value; }));
        REQUIRE((!step || step->flops() == flops));
        const u128 positions = u128{n} * (u128{n} + 1) / 2;
        const u128 all = wide_sum(wide_product(wide_product(position, positions), layers),
                                  wide_product(u128{2} * active, n));
        REQUIRE(sided.agrees(prefill_flops(*model, n, active), all, is_off(slot), [](u64 sum) { return sum; }));
    }
    CHECK(sided.exact > at_least(1'000, 20'000));
    CHECK(sided.refused > at_least(10'000, 20'000));
    CHECK(expanded_mla(~u32{0}, ~u32{0}, ~u32{0}, 2) == PositionCost{off_scale, off_scale});
    CHECK(batch_where_cache_passes(Bytes{off_scale}, 1_B) == off_scale);
    CHECK(ExpertTraffic{~u32{0}, ~u32{0}, ~u32{0}, ~u32{0}, ~u32{0}}.per_token() == Bytes{off_scale});
    CHECK(layer_tokens(u64{1} << 40, 1, u64{1} << 40, 0) == off_scale);
    CHECK(layer_tokens(8, 8, 0, u64{1} << 62, 1000) == off_scale);
}

TEST_CASE("extremes: what a store keeps of a prompt, and how much of it fits, is exact or refused") {
    Random random{seed()};
    Sided sided;
    for (u64 i = 0; i < cases(20'000); ++i) {
        const Gqa one{static_cast<u32>(any_size(random, 0xffff'fffe)), static_cast<u32>(any_size(random, 0xffff'fffe))};
        const u32 layers = static_cast<u32>(random.in(1, 200));
        const ModelSpec model = compose(repeat(layers, one)).value();
        const u64 chunk = random.log_in(off_scale);
        const u64 tokens = random.log_in(off_scale);
        const u64 replicas = random.in(1, 9);
        CAPTURE(i, seed(), one.kv_heads, one.head_dim, layers, chunk, tokens, replicas);
        const u128 slot = u128{4} * one.kv_heads * one.head_dim;
        const u128 object = wide_product(wide_product(slot, u128{chunk} * layers), replicas);
        const u128 stored = wide_product(object, tokens / chunk);
        const ObjectRule rule{.replicas = replicas};
        const auto bytes = prompt_bytes(model, tokens, chunk, {}, Copies::once, rule);
        REQUIRE(sided.agrees(bytes, stored, is_off(object), [](Bytes b) { return b.value; }));
        const u64 room = any_size(random, off_scale);
        const auto tier = tier_capacity({.capacity = {room}}, model, tokens, chunk, {}, Copies::once, rule);
        if (tier) {
            REQUIRE(tier->requests == room / stored);
            REQUIRE(tier->tokens == u128{tier->requests} * (tokens / chunk * chunk));
        }
        const u64 cap = random.log_in(off_scale);
        const auto slots = tier_capacity(room, ChunkCaps{2, {off_scale, cap}}, chunk, tokens);
        const u64 asked = tokens / chunk;
        const u128 pieces = u128{asked} + smaller(asked, cap);
        const u128 fit = pieces == 0 ? 0 : u128{room} * (tokens / chunk * chunk) / pieces;
        REQUIRE((pieces == 0 ? slots.error().code == Errc::does_not_fit
                             : sided.agrees(slots, fit, is_off(pieces),
                                            [](const TierCapacity& t) { return t.tokens; })));
    }
    CHECK(sided.exact > at_least(1'000, 20'000));
    CHECK(sided.refused > at_least(1'000, 20'000));
    // Ranks that deal the most there is: each slot once, and the walk over their common period ends.
    const Deal first{2, ~u32{0}, 0};
    const Deal second{2, ~u32{0}, 1};
    CHECK(dealt_to_both(off_scale, first, first) + dealt_to_both(off_scale, second, second) == off_scale);
    const Deal all{~u32{0}, ~u32{0}, 0};
    CHECK(dealt_to_both(off_scale, all, all) == 2 * u64{~u32{0}});
}

}  // namespace extremes_tests
