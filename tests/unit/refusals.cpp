// SPDX-License-Identifier: MIT
// What the core and the store refuse, each with its code, place and numbers, and the sentence a person reads.
#include <catch2/catch.hpp>
#include <kvcap/core.hpp>
#include <kvcap/message.hpp>
#include <kvcap/models/lettered.hpp>
#include <kvcap/plan/depth_reuse.hpp>
#include <kvcap/store/reshard.hpp>
#include <kvcap/store/tiers.hpp>
#include <set>
#include <string>

namespace refusals_tests {

using namespace kvcap;

namespace {

std::string words(const Error& error) {
    char text[200];
    return message(error, text, sizeof text);
}

constexpr Gqa plain{.kv_heads = 8, .head_dim = 128};
const ModelSpec even = compose(repeat(4, plain), QueryHeads{32}).value();
/// 64 slots of state beside one attention layer: channels must divide.
const ModelSpec hybrid =
    compose(repeat(1, plain), repeat(1, Mamba2{.heads = 6, .head_dim = 64, .state_dim = 16}), QueryHeads{8})
        .value();
const ModelSpec vast = compose(repeat(1, Gqa{60'000, 60'000})).value();

template <class T>
Error why(const Result<T>& result) {
    CHECK_FALSE(result.has_value());
    return result.error();
}

}  // namespace

TEST_CASE("every refusal has a sentence with its two numbers in place") {
    const std::pair<Errc, const char*> all[] = {
        {Errc::ok, "no error"},
        {Errc::capacity, "the model has more than 3 parts of one kind; kvcap keeps at most 3 (7 asked)"},
        {Errc::overflow, "the number of bytes does not fit into 64 bits"},
        {Errc::negative, "7 is less than 3, so nothing is left"},
        {Errc::divided_by_zero, "7 cannot be divided into pieces of size 0"},
        {Errc::block_not_divisible, "a row of 7 elements cannot be stored in blocks of 3"},
        {Errc::heads_not_divisible, "7 heads cannot be dealt to 3 ranks"},
        {Errc::query_heads_not_divisible, "7 query heads cannot be dealt to 3 ranks"},
        {Errc::channels_not_divisible, "7 state heads or channels cannot be dealt to 3 ranks"},
        {Errc::stages_exceed_layers, "7 pipeline stages are more than the model's 3 layers"},
        {Errc::stage_layers_mismatch, "the list of layers per stage gives 7 where 3 are wanted"},
        {Errc::rank_out_of_range, "rank 7 does not exist among 3"},
        {Errc::zero_parallelism, "a parallel size of 0 is no size; 1 means not divided"},
        {Errc::no_layers, "the model has no layers"},
        {Errc::zero_dimension, "a size that must be at least 1 is 0"},
        {Errc::no_memory, "7 bytes are left for the cache, less than one unit of 3 bytes"},
        {Errc::does_not_fit, "3 bytes are needed and 7 are available"},
        {Errc::unsupported, "these rules do not cover this case"},
        {Errc::not_divisible, "7 is not a multiple of 3"},
        {Errc::refused_combination, "the engine refuses these options together"},
        {Errc::unknown_version, "no rules are known for this version"},
        {Errc::window_pool_too_small, "a window pool of 7 tokens admits no request; 3 are wanted"},
        {Errc::no_state_slots, "7 bytes are left, less than one state slot of 3 bytes"},
        {Errc::too_few_state_slots, "7 state slots are fewer than the 3 that one request takes"},
        {Errc::pool_of_no_tokens, "7 tokens are less than one page of 3"}};
    for (u8 code = 0; code <= static_cast<u8>(Errc::pool_of_no_tokens); ++code) {
        REQUIRE(all[code].first == static_cast<Errc>(code));
        CHECK(words({.code = all[code].first, .got = 7, .want = 3}) == all[code].second);
    }
    CHECK(std::string{sentence(static_cast<Errc>(200))} == "unknown error");
    std::set<std::string> features;
    for (u8 what = 0; what <= static_cast<u8>(Uncovered::bare_index); ++what) {
        features.insert(words({.code = Errc::unsupported, .what = Uncovered{what}, .got = 7, .want = 3}));
    }
    CHECK(features.size() == static_cast<u8>(Uncovered::bare_index) + 1u);
    CHECK(words({.code = Errc::unsupported, .what = Uncovered::unequal_widths, .layer = 4, .got = 128, .want = 192}) ==
          "layer 4: these rules do not cover values of width 128 beside keys of width 192");
    CHECK(std::string{words_of(static_cast<Uncovered>(200))} == "this case");
    CHECK(words({.code = Errc::not_divisible, .layer = 61, .got = 5, .want = 2}) ==
          "layer 61: 5 is not a multiple of 2");
    char few[12];
    CHECK(message({.code = Errc::no_layers}, few, sizeof few) == std::string{"the model h"});
    char none = 'x';
    message({.code = Errc::no_layers}, &none, 0);
    CHECK(none == 'x');
}

TEST_CASE("quantities: nothing wraps and nothing is divided by zero") {
    CHECK(minus(5_B, 7_B).error() == Error{.code = Errc::negative, .got = 5, .want = 7});
    CHECK(minus(7_KiB, 5_KiB) == 2048_B);
    CHECK(how_many(7_MiB, 0_B).error() == Error{.code = Errc::divided_by_zero, .got = 7 << 20});
    CHECK(how_many(7_B, 2_B) == u64{3});
    CHECK_FALSE(minus(5_B, 7_B) == 0_B);
    CHECK((off_scale * 1_B).value == off_scale);
#if defined(__SIZEOF_INT128__)
    // The product by halves, which machines without 128 bits use, against the one they have.
    for (const u64 a : {u64{0}, u64{1}, u64{0xffff'ffff}, u64{0x1'0000'0001}, ~u64{0} - 1, ~u64{0}}) {
        for (const u64 b : {u64{1}, u64{0xffff'fffe}, u64{0x8000'0000'0000'0000}, ~u64{0}}) {
            __extension__ using Wide = unsigned __int128;
            const WideProduct halves = product_by_halves(a, b);
            CHECK((static_cast<Wide>(halves.high) << 64 | halves.low) == static_cast<Wide>(a) * b);
        }
    }
#endif
    const Footprint one{.growing = 1_B, .bounded = 2_B, .state = 3_B, .cross = 4_B, .once = 5_B};
    CHECK(one + one == Footprint{.growing = 2_B, .bounded = 4_B, .state = 6_B, .cross = 8_B, .once = 10_B});
    CHECK((one + one).total() == 30_B);
}

TEST_CASE("splits are refused with the size that does not divide") {
    CHECK(why(fold(even, {}, {.tp = 0})).code == Errc::zero_parallelism);
    CHECK(why(fold(even, {}, {.cp = 0})).code == Errc::zero_parallelism);
    CHECK(why(fold(even, {}, {.pp = 2}, {.stage = 2})) ==
          Error{.code = Errc::rank_out_of_range, .got = 2, .want = 2});
    CHECK(why(fold(even, {}, {.cp = 2}, {.cp = 2})) ==
          Error{.code = Errc::rank_out_of_range, .got = 2, .want = 2});
    CHECK(why(layers_of_stage(4, {.pp = 0}, 0)).code == Errc::zero_parallelism);
    CHECK(why(layers_of_stage(4, {.pp = 5}, 0)) ==
          Error{.code = Errc::stages_exceed_layers, .got = 5, .want = 4});
    CHECK(why(layers_of_stage(4, {.pp = 2}, 3)) ==
          Error{.code = Errc::rank_out_of_range, .got = 3, .want = 2});
    Sharding listed{.pp = 2};
    static_cast<void>(listed.stage_layers.push(4));
    CHECK(why(layers_of_stage(4, listed, 0)) ==
          Error{.code = Errc::stage_layers_mismatch, .got = 1, .want = 2});
    static_cast<void>(listed.stage_layers.push(1));
    CHECK(why(layers_of_stage(4, listed, 0)) ==
          Error{.code = Errc::stage_layers_mismatch, .got = 5, .want = 4});
    const Stream heads{.role = Role::key, .heads = 8, .width = 128};
    CHECK(why(heads_on_rank(heads, {.tp = 0})).code == Errc::zero_parallelism);
    CHECK(why(dealt_or_copied(6, {.tp = 4})) ==
          Error{.code = Errc::heads_not_divisible, .got = 6, .want = 4});
    CHECK(dealt_or_copied(6, {.tp = 4, .uneven = Uneven::floor_at_least_one}) == u32{1});
    CHECK(dealt_or_copied(6, {.tp = 4, .uneven = Uneven::ceil}) == u32{2});
    CHECK(why(fold(hybrid, {}, {.tp = 4})).code == Errc::channels_not_divisible);
}

TEST_CASE("questions about held bytes pass the split's refusal on, and say what does not fit") {
    const Sharding uneven{.tp = 3};
    const Error split{.code = Errc::query_heads_not_divisible, .got = 32, .want = 3};
    CHECK(why(over_ranks(even, {}, uneven)) == split);
    CHECK(why(fullest_rank(even, {}, uneven)) == split);
    CHECK(why(longest(even, 1_GiB, uneven)) == split);
    CHECK(why(most_sequences(even, 1_GiB, {}, uneven)) == split);
    CHECK(why(bytes_per_token(hybrid, {.tp = 4})).code == Errc::channels_not_divisible);
    CHECK(why(over_ranks(plain.forms()[0], Sharding{.tp = 3})) ==
          Error{.code = Errc::heads_not_divisible, .got = 8, .want = 3});
    const Lengths beside{.decoded = {100}};
    CHECK(why(longest(even, 1_KiB, {}, 1, beside)) ==
          Error{.code = Errc::does_not_fit, .got = 1024, .want = 100 * 16'384});
    CHECK(why(over_ranks(vast, {.prompt = {u64{1} << 50}}, {})).code == Errc::overflow);
}

TEST_CASE("most sequences: a budget divided by what one takes, on the fullest stage") {
    // 4 layers x 2 x 8 x 128 x 2 bytes = 16,384 bytes a token.
    const Lengths lengths{.prompt = {1'000}};
    CHECK(most_sequences(even, {16'384'000 * 5 + 1}, lengths) == u64{5});
    CHECK(most_sequences(even, {16'384'000 - 1}, lengths) == u64{0});
    CHECK(most_sequences(even, {16'384'000}, lengths, {.pp = 2}) == u64{2});
    CHECK(most_sequences(even, {16'384'000}, lengths, {.tp = 4}) == u64{4});
    CHECK(most_sequences(compose(repeat(2, NoCache{})).value(), 1_B, lengths) == off_scale);
    // As many as fit, and not one more: the fold of n sequences.
    for (const u64 budget : {u64{1}, u64{99'999'999}, u64{1} << 34}) {
        const u64 most = most_sequences(even, {budget}, lengths, {.tp = 2, .pp = 2}).value();
        CHECK(fullest_rank(even, lengths, {.tp = 2, .pp = 2}, most).value().value <= budget);
        CHECK(fullest_rank(even, lengths, {.tp = 2, .pp = 2}, most + 1).value().value > budget);
    }
}

TEST_CASE("models that are too large for their lists, or of no size") {
    ModelSpec model{};
    LayerForm form = plain.forms()[0];
    CHECK(model.add(0x1'0000, form) == Errc::capacity);
    form.retention.stride = 0;
    CHECK(model.add(0, form) == Errc::zero_dimension);
    for (u32 i = 0; i < 33; ++i) {
        CHECK(model.add(i, Gqa{1, 8 + i}.forms()) == (i < 32 ? Errc::ok : Errc::capacity));
    }
    const Error full = why(compose(repeat(600, plain)));
    CHECK(full == Error{.code = Errc::capacity, .layer = 512, .got = 512, .want = 512});
    CHECK(why(compose(cycle(900, plain, NoCache{}, plain))).code == Errc::capacity);
    CHECK(why(compose(repeat(~u32{0}, NoCache{}), repeat(1, plain))).code == Errc::capacity);
    CHECK(why(compose(cycle(~u32{0}, NoCache{}, NoCache{}), cycle(1, plain))).code == Errc::capacity);
    CHECK(compose(cycle(0xffff'fffe, NoCache{}, NoCache{})).value().layers == 0xffff'fffe);
    CHECK(why(join(compose(repeat(512, plain)).value(), even)) ==
          Error{.code = Errc::capacity, .layer = 512, .got = 512, .want = 512});
    const auto unlike = [](u32 layer, LayerForm one) {
        one.streams[0].width += 2 * layer;
        return one;
    };
    CHECK(why(restored(compose(repeat(40, plain)).value(), unlike)) ==
          Error{.code = Errc::capacity, .layer = 32, .got = 32, .want = 32});
    CHECK(ElementFormat{0, 2}.row_bytes(8).error().code == Errc::zero_dimension);
    CHECK(ElementFormat{32, 34}.row_bytes(40).error() ==
          Error{.code = Errc::block_not_divisible, .got = 40, .want = 32});
    CHECK(ElementFormat{1, 0xffff'ffff}.row_bytes(~u64{0}).error().code == Errc::overflow);
}

TEST_CASE("a word with a letter a layer is the model it spells") {
    const Mamba2 state{.heads = 6, .head_dim = 64, .state_dim = 16};
    CHECK(compose(lettered("MEM*", letter('M', state), letter('*', plain), letter('E', NoCache{}))).value() ==
          compose(repeat(1, state), repeat(1, NoCache{}), repeat(1, state), repeat(1, plain)).value());
    CHECK(why(compose(lettered("M?", letter('M', state)))) ==
          Error{.code = Errc::unsupported, .layer = 1, .got = 1, .want = 512});
    CHECK(compose(lettered("", letter('M', state))).value().layers == 0);
}

TEST_CASE("depth reuse: layer-tokens are layers x prompt and the rest x decoded") {
    // 32 layers, 8 reuse, 1,000 prompt and 100 decoded: 32,000 + 24 x 100, and a tenth of 800 where it falls
    // back.
    CHECK(layer_tokens(32, 8, 1'000, 100) == 34'400);
    CHECK(layer_tokens(32, 8, 1'000, 100, 100) == 34'480);
    CHECK(layer_tokens(32, 8, 1'000, 100, 1'000) == 32 * 1'100);
    CHECK(step_time_bound(8, 1'000, 16'000) == 0.5);
    SimilarityTable table{};
    static_cast<void>(table.thousandths.push(0));
    CHECK(why(reusing_layers(table, 900, even)) ==
          Error{.code = Errc::stage_layers_mismatch, .got = 1, .want = 4});
    for (const u16 alike : {u16{950}, u16{100}, u16{900}}) {
        static_cast<void>(table.thousandths.push(alike));
    }
    const LayerList list = reusing_layers(table, 900, even).value();
    CHECK(list.size() == 2);
    CHECK(has(list, 1));
    CHECK_FALSE(has(list, 2));
    CHECK(has(list, 3));
    const ModelSpec fewer = with_depth_reuse(even, list).value();
    const Lengths lengths{.prompt = {1'000}, .decoded = {100}};
    CHECK(fold(fewer, lengths).value().total().value == layer_tokens(4, 2, 1'000, 100) * 4'096);
    table.format = f32;
    CHECK(why(reusing_layers(table, 900, even)) == Error{.code = Errc::refused_combination, .layer = 0});
    CHECK(reusing_layers(table, 900, even, true).value() == list);
}

}  // namespace refusals_tests
