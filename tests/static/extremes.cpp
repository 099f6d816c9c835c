// SPDX-License-Identifier: MIT
// Absurd sizes: every product that leaves its member or 64 bits is Errc::overflow, and nothing wraps.
#include <kvcap/core.hpp>

using namespace kvcap;

namespace {

constexpr u32 top = ~u32{0};
constexpr u32 half = u32{1} << 31;

constexpr Errc code_of(auto policy) { return compose(repeat(1, policy)).error().code; }
template <class P>
constexpr Errc folded(P policy, Tokens tokens = 1_tok) {
    const auto model = compose(repeat(1, policy));
    return model ? fold(*model, {.prompt = tokens}).error().code : model.error().code;
}

// Members narrower than 64 bits stop at their top.
static_assert(saturated_u32(top) == top && saturated_u32(u64{top} + 1) == top &&
              saturated_u32(top - 1u) == top - 1);
static_assert(saturated_u16(0xffff) == 0xffff && saturated_u16(0x1'0000) == 0xffff &&
              saturated_u16(0xfffe) == 0xfffe);

// Products of two words, whole, with 128-bit numbers and without.
constexpr u64 words[] = {0, 1, 3, 0xffff'ffff, u64{1} << 32, 0x1234'5678'9abc'def0, u64{1} << 63,
              off_scale - 1, off_scale};
constexpr bool compares_products = [] {
    for (const u64 a : words) {
        for (const u64 b : words) {
            for (const u64 c : words) {
                for (const u64 d : words) {
                    if (product_exceeds(a, b, c, d) != (product_by_halves(a, b) > product_by_halves(c, d))) {
                        return false;
                    }
                }
            }
        }
    }
    return true;
}();
static_assert(compares_products);
static_assert(product_by_halves(off_scale, off_scale) == WideProduct{off_scale - 1, 1});
static_assert(product_by_halves(off_scale, 2) == WideProduct{1, off_scale - 1});
static_assert(product_by_halves(0xffff'ffff, 0xffff'ffff) == WideProduct{0, 0xffff'fffe'0000'0001});
static_assert(product_by_halves(u64{3} << 32, u64{5} << 32) == WideProduct{15, 0});

// Sizes that fit are summed, however large.
static_assert(fold(compose(repeat(1, Gqa{half, 1u << 30})).value(), {.prompt = 1_tok}).value().total() ==
              Bytes{u64{1} << 63});
static_assert(folded(Gqa{half, half}) == Errc::overflow);
static_assert(folded(Mla{top - 1, 64}) == Errc::ok && folded(Mla{top, 64}) == Errc::overflow);
static_assert(folded(Gqa{8, 128}, {u64{1} << 60}) == Errc::overflow);
static_assert(folded(Gqa{8, 128}, {u64{1} << 51}) == Errc::ok &&
              folded(Gqa{8, 128}, {u64{1} << 52}) == Errc::overflow);
static_assert(folded(Windowed{Gqa{8, 128}, 128_tok}, {off_scale}) == Errc::ok);

// Products of a layer's own sizes.
static_assert(code_of(Mamba2{.heads = 1u << 20, .head_dim = 1u << 12, .state_dim = 16}) == Errc::overflow);
static_assert(code_of(Mamba2{.heads = 1, .head_dim = 0x1'0001, .state_dim = 16}) == Errc::overflow);
static_assert(code_of(Mamba2{.heads = 1, .head_dim = 16, .state_dim = half}) == Errc::overflow);
static_assert(code_of(Mamba2{.heads = 1, .head_dim = 0xfffe, .state_dim = 16}) == Errc::ok);
static_assert(code_of(Mamba1{.inner = 16, .state_dim = 16, .kernel = 0x1'0002}) == Errc::overflow);
static_assert(code_of(GatedDelta{half, 2, 1, 1}) == Errc::overflow &&
              code_of(GatedDelta{1, 1, half, 2}) == Errc::overflow);
static_assert(code_of(GatedDelta{1, 1, 1, 0x1'0001}) == Errc::overflow);
static_assert(code_of(GatedDelta{top, top, 1, 1}) == Errc::overflow);
static_assert(code_of(Kda{.heads = 1u << 31, .head_dim = 128}) == Errc::overflow);
static_assert(code_of(Kda{.heads = 1, .head_dim = 0x1'0001}) == Errc::overflow);
static_assert(code_of(lightning(8, 0x1'0001)) == Errc::overflow && code_of(gla(8, 0x1'0001, 1)) == Errc::overflow);
static_assert(code_of(mlstm(8, 0x1'0001, 1)) == Errc::overflow && code_of(rwkv(8, 8, 0x1'0001)) == Errc::overflow);
static_assert(code_of(CompressedLatent{.latent = half, .window = 1, .ratio = 4,
              .index_dim = 1}) == Errc::overflow);

// Products of a storage scheme.
static_assert(code_of(Kivi{Gqa{1, 1u << 20}, 1u << 12, 2, 32}) == Errc::overflow);
static_assert(folded(Kivi{Gqa{1, 128}, 128, top, 32}, 4096_tok) == Errc::overflow);
static_assert(folded(Quantized{Gqa{1, top - 3}, fp8_per_token_head}) == Errc::overflow);
static_assert(folded(Quantized{Gqa{1, top - 5}, fp8_per_token_head}) == Errc::ok);
static_assert(folded(Quantized{Gqa{1, half}, TurboQuant{16, 4}}) == Errc::overflow);
static_assert(folded(Quantized{Gqa{1, half}, TurboQuant{4, 16}}) == Errc::overflow);
static_assert(bytes_per_slot(Gqa{top, 1}.forms()[0]).error().code == Errc::overflow);
static_assert(ElementFormat{.elems = 1, .bytes = top}.row_bytes(1).error().code == Errc::overflow);

// Sums over ranks and sequences.
constexpr auto model = compose(repeat(4, Mla{512, 64})).value();
static_assert(over_ranks(model, {.prompt = {u64{1} << 50}}, {.tp = 4}).error().code == Errc::overflow);
static_assert(over_ranks(Mla{top - 1, 64}.forms()[0], {.tp = top}).error().code == Errc::overflow);
static_assert(bytes_per_slot(Gqa{half, half}.forms()[0]).error().code == Errc::overflow);
static_assert(Retention{.stride = 4}.slots({.prompt = {u64{1} << 63}, .decoded = {u64{1} << 63}}) == Slots{off_scale});
static_assert(fullest_rank(model, {.prompt = 1_tok}, {}, off_scale).error().code == Errc::overflow);
static_assert(most_sequences(model, Bytes{off_scale}, {.prompt = {u64{1} << 60}}).error().code == Errc::overflow);
static_assert(longest(model, Bytes{off_scale}, {}, 1, {}, Tokens{off_scale}).value() ==
              Tokens{(off_scale - 1) / (4 * 1152)});
static_assert(longest(model, 1_GiB, {}, off_scale).value() == 0_tok);
static_assert(bytes_per_token(compose(repeat(1, CompressedLatent{.latent = 4, .window = 1,
              .ratio = top - 1})).value())
                  .value() == 0_B);
static_assert(compose(repeat(1, NoCache{}), repeat(top, NoCache{})).error().code == Errc::capacity);

// A parallel size of zero has no ranks to sum over.
constexpr Sharding none{.pp = 0};
static_assert(over_ranks(model, {}, none).error().code == Errc::zero_parallelism);
static_assert(over_ranks(model, {}, {.cp = 0}).error().code == Errc::zero_parallelism);
static_assert(fullest_rank(model, {}, none).error().code == Errc::zero_parallelism);
static_assert(most_sequences(model, 1_GiB, {}, none).error().code == Errc::zero_parallelism);
static_assert(longest(model, 1_GiB, none).error().code == Errc::zero_parallelism);
static_assert(bytes_per_token(model, none).error().code == Errc::zero_parallelism);
static_assert(fold(model, {}, {.interleave = 0}).error().code == Errc::zero_parallelism);

}  // namespace
