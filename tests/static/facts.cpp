// SPDX-License-Identifier: MIT
// Published numbers, as facts of the build.
#include <kvcap/core.hpp>

using namespace kvcap;

namespace {

// DeepSeek-V3: one latent of 512 and a rope key of 64 per token and layer, at every tensor-parallel size.
constexpr auto v3 = compose(QueryHeads{128}, repeat(61, Mla{.latent = 512, .rope = 64})).value();
static_assert(Equals<bytes_per_token(v3).value().value, 70'272>);
static_assert(Equals<bytes_per_token(v3, {.tp = 8}).value().value, 70'272>);
static_assert(Equals<bytes_per_token(v3, {.tp = 16}).value().value, 70'272>);
static_assert(over_ranks(v3, {.prompt = 1_tok}, {.tp = 8}).value() == Spread{562'176_B, 70'272_B});
static_assert(Equals<fold(v3, {.prompt = 8192_tok}).value().growing.value, 575'668'224>);  // 549 MiB
static_assert(fold(v3, {.prompt = 8192_tok}).value().growing == 549_MiB);
static_assert(longest(v3, 40_GiB, {.tp = 8}) == Tokens{(40ull << 30) / 70272});
static_assert(fold(v3, {.prompt = {1ull << 60}}).error().code == Errc::overflow);

// Llama-2-7B and Llama-3-8B.
constexpr auto llama2 = compose(repeat(32, Mha{.kv_heads = 32, .head_dim = 128})).value();
constexpr auto llama3 = compose(QueryHeads{32}, repeat(32, Gqa{.kv_heads = 8, .head_dim = 128})).value();
static_assert(Equals<bytes_per_token(llama2).value().value, 524'288>);
static_assert(Equals<bytes_per_token(llama3).value().value, 131'072>);
static_assert(fold(llama3, {.prompt = 8192_tok}).value().total() == 1_GiB);

// Heads that cannot be dealt: both numbers.
constexpr auto llama3_70b = compose(repeat(80, Gqa{.kv_heads = 8, .head_dim = 128})).value();
static_assert(fold(llama3_70b, {}, {.tp = 3}).error() ==
              Error{.code = Errc::heads_not_divisible, .layer = 0, .got = 8, .want = 3});
static_assert(bytes_per_token(llama3_70b, {.tp = 8}).value() == bytes_per_token(llama3_70b, {.tp = 16}).value());

// Two baselines of "how much MLA saves", per layer: 192 + 128 wide heads, and 2 x 128.
constexpr u64 mla_layer = bytes_per_slot(Mla{512, 64}.forms()[0]).value().value;
constexpr u64 wide_layer = bytes_per_slot(Gqa{128, 192, 128}.forms()[0]).value().value;
constexpr u64 plain_layer = bytes_per_slot(Gqa{128, 128}.forms()[0]).value().value;
static_assert(Equals<wide_layer, 81'920>);
static_assert(wide_layer * 10 / mla_layer == 711);   // 71.1x
static_assert(plain_layer * 10 / mla_layer == 568);  // 56.9x, rounded
static_assert((plain_layer * 100 / mla_layer + 5) / 10 == 569);

// 8 full layers and 40 windows of 1,024 at 32K: 303,104 layer-tokens, 19.27% of 48 full layers.
constexpr auto hybrid = compose(repeat(8, Gqa{8, 128}), repeat(40, Windowed{Gqa{8, 128}, 1024_tok})).value();
constexpr u64 layer_tokens = fold(hybrid, {.prompt = 32768_tok}).value().total().value / 4096;
static_assert(Equals<layer_tokens, 303'104>);
static_assert(layer_tokens * 10'000 / (48 * 32'768) == 1'927);

// The nine-cell table of a 32-layer MHA model (GiB): 2, 4, 16 a sequence, times 1, 8, 16.
template <u64 Tokens_, u64 Batch>
constexpr u64 mha_gib = (fold(llama2, {.prompt = {Tokens_}}).value().total() * Batch).value >> 30;
static_assert(mha_gib<4096, 1> == 2 && mha_gib<8192, 1> == 4 && mha_gib<32768, 1> == 16);
static_assert(mha_gib<4096, 8> == 16 && mha_gib<8192, 8> == 32 && mha_gib<32768, 8> == 128);
static_assert(mha_gib<4096, 16> == 32 && mha_gib<8192, 16> == 64 && mha_gib<32768, 16> == 256);

static_assert(Equals<bytes_per_slot(Gqa{8, 128}.forms()[0]).value().value, 4'096>);
static_assert(fold(llama3, {.prompt = 4096_tok}).value().total() == 512_MiB);

// MLA in 32 layers: 0.140625 GiB at 4K, 1.125 GiB at 32K.
constexpr auto mla32 = compose(repeat(32, Mla{512, 64})).value();
static_assert(fold(mla32, {.prompt = 4096_tok}).value().total() == 144_MiB);
static_assert(fold(mla32, {.prompt = 32768_tok}).value().total() == 1152_MiB);

// One byte an element halves.
constexpr auto stored = [](auto scheme) {
    return bytes_per_token(compose(repeat(32, Quantized{Gqa{8, 128}, scheme})).value()).value();
};
static_assert(stored(fp8_per_tensor) * 2 == bytes_per_token(llama3).value());
static_assert(stored(int8_per_tensor) * 2 == bytes_per_token(llama3).value());

// Sinks 4 + window 1,020: never more than 1,024 slots.
constexpr Retention streaming = WithSinks{Windowed{Gqa{8, 128}, 1020_tok}, 4_tok}.forms()[0].retention;
static_assert(streaming.slots({.prompt = 1000_tok}).value == 1000);
static_assert(streaming.slots({.prompt = 1024_tok}).value == 1024);
static_assert(streaming.slots({.prompt = 1'000'000_tok}).value == 1024);

// Depth reuse of 16 of 32 layers: 32 P + 16 D layer-tokens.
constexpr auto reuse = compose(repeat(16, Gqa{8, 128}), repeat(16, PromptOnly{Gqa{8, 128}})).value();
static_assert(fold(reuse, {.prompt = 1000_tok, .decoded = 70_tok}).value().total().value / 4096 == 32 * 1000 + 16 * 70);

// FlashMLA's layout: 656 bytes. DeepSeek-V3.2 with its fp8 index keys: 78,324 bytes a token.
static_assert(Equals<bytes_per_slot(Quantized{Mla{512, 64}, Fp8DsMla{}}.forms()[0]).value().value, 656>);
constexpr auto v32 = compose(repeat(61, SparseMla{.latent = 512, .rope = 64, .index_dim = 128,
                                                  .index_format = fp8_scale_per_128})).value();
static_assert(Equals<bytes_per_token(v32).value().value, 78'324>);

}  // namespace
