// SPDX-License-Identifier: MIT
// The algebra of policies: what composes with what, and what must not change a byte.
#include <kvcap/core.hpp>

using namespace kvcap;

namespace {

constexpr Gqa g{.kv_heads = 8, .head_dim = 128};
constexpr Tokens w = 4096_tok;

// Retention and storage commute, for every scheme and every retaining decorator.
template <class Q>
constexpr bool commutes(Q q) {
    return Quantized{Windowed{g, w}, q}.forms() == Windowed{Quantized{g, q}, w}.forms() &&
           Quantized{Chunked{g, w}, q}.forms() == Chunked{Quantized{g, q}, w}.forms() &&
           Quantized{Budgeted{g, w}, q}.forms() == Budgeted{Quantized{g, q}, w}.forms() &&
           Quantized{WithSinks{Windowed{g, w}, 4_tok}, q}.forms() ==
               WithSinks{Windowed{Quantized{g, q}, w}, 4_tok}.forms();
}
static_assert(commutes(Stored{fp8}) && commutes(Stored{mxfp4}) && commutes(Stored{mxfp8}) &&
              commutes(Stored{nvfp4}));
static_assert(commutes(fp8_per_tensor) && commutes(fp8_per_head) && commutes(fp8_per_token_head));
static_assert(commutes(Int4PerTokenHead{}) && commutes(TurboQuant{}) && commutes(Stored{ggml::q4_0}));

// The last of two schemes wins.
static_assert(Quantized{Quantized{g, Stored{fp8}}, Stored{mxfp4}}.forms() ==
              Quantized{g, Stored{mxfp4}}.forms());
static_assert(Quantized{Quantized{g, fp8_per_head}, Stored{fp8}}.forms() ==
              Quantized{g, Stored{fp8}}.forms());
static_assert(Quantized{g, Stored{bf16}}.forms() == g.forms());

// Cases of one another.
static_assert(mqa(128).forms() == Gqa{.kv_heads = 1, .head_dim = 128}.forms());
static_assert(Gqa{.kv_heads = 8, .head_dim = 128, .value_dim = 128}.forms() == g.forms());
static_assert(SparseMla{.latent = 512, .rope = 64}.forms() == Mla{.latent = 512, .rope = 64}.forms());
static_assert(Both{g, NoCache{}}.forms() == g.forms() && Both{NoCache{}, g}.forms() == g.forms());
static_assert(SharedWith{.layer = 3}.forms() == NoCache{}.forms());
static_assert(SparseMla{.latent = 512, .rope = 64, .index_dim = 128}.forms() ==
              Both{IndexKeys{.dim = 128}, Mla{.latent = 512, .rope = 64}}.forms());

// A window at least as long as the context changes no byte; sinks add at most themselves.
template <class P>
constexpr u64 held(P policy, u64 tokens, u32 layers = 3) {
    return fold(compose(repeat(layers, policy)).value(), {.prompt = {tokens}}).value().total().value;
}
static_assert(held(g, 1000) == held(Windowed{g, 1000_tok}, 1000) &&
              held(g, 1001) > held(Windowed{g, 1000_tok}, 1001));
static_assert(held(WithSinks{g, 4_tok}, 5000) == held(g, 5000));
static_assert(held(WithSinks{Windowed{g, w}, 4_tok}, 9999) == held(Windowed{g, Tokens{w.value + 4}}, 9999));

// Models compose.
constexpr auto ab = compose(repeat(2, g), repeat(3, g)).value();
static_assert(ab == compose(repeat(5, g)).value());
static_assert(ab == compose(cycle(5, g)).value());
static_assert(compose(cycle(5, g, NoCache{})).value().caches.size() == 3 &&
              compose(cycle(5, g, NoCache{})).value().layers == 5);
static_assert(compose(QueryHeads{48}, QueryHeads{36}).value().query_heads == 12);
static_assert(restored(ab, [](u32, const LayerForm& form) noexcept { return form; }).value() == ab);
static_assert(restored(ab, [](u32, const LayerForm& form) noexcept {
                  return Stored{fp8}.store(form);
              }).value() == compose(repeat(5, Quantized{g, Stored{fp8}})).value());
// Draft layers come after the trunk and count for no stage split.
constexpr auto with_draft = join(ab, compose(repeat(1, Mla{512, 64})).value()).value();
static_assert(with_draft.layers == 5 && with_draft.draft_layers == 1 && with_draft.caches[5].layer == 5);
static_assert(fold(with_draft, {.prompt = 1_tok}, {.pp = 5}, {.stage = 4}).value().total() ==
              Bytes{4096 + 1152});
static_assert(fold(with_draft, {.prompt = 1_tok}, {.pp = 5}, {.stage = 3}).value().total() == 4096_B);

// Capacities are errors, not losses.
static_assert(compose(repeat(513, g)).error().code == Errc::capacity);

// Stages: 62 layers on 4, by each rule; lists; impossible splits.
constexpr auto stage_sizes = [](Remainder rule) {
    Inplace<u32, 4> sizes{};
    for (u32 i = 0; i < 4; ++i) {
        const LayerRange range = layers_of_stage(62, {.pp = 4, .remainder = rule}, i).value();
        sizes.items[sizes.count++] = range.end - range.begin;
    }
    return sizes;
};
static_assert(stage_sizes(Remainder::first) == Inplace<u32, 4>{4, {16, 16, 15, 15}});
static_assert(stage_sizes(Remainder::middle) == Inplace<u32, 4>{4, {15, 16, 16, 15}});
static_assert(stage_sizes(Remainder::last) == Inplace<u32, 4>{4, {15, 15, 16, 16}});
constexpr Sharding listed{.pp = 2, .stage_layers = Inplace<u16, 64>{2, {1, 4}}};
static_assert(layers_of_stage(5, listed, 1).value() == LayerRange{1, 5});
static_assert(layers_of_stage(6, listed, 1).error() ==
              Error{.code = Errc::stage_layers_mismatch, .got = 5, .want = 6});
static_assert(layers_of_stage(3, {.pp = 4}, 0).error() ==
              Error{.code = Errc::stages_exceed_layers, .got = 4, .want = 3});

// Heads: dealt, copied, refused, floored, rounded up. Channels divide. Groups divide or are one each.
constexpr Stream heads(u32 n, Split split = Split::heads) {
    return {.split = split, .heads = n, .width = 1};
}
static_assert(heads_on_rank(heads(8), {.tp = 4}) == u32{2} && heads_on_rank(heads(2), {.tp = 8}) == u32{1});
static_assert(!heads_on_rank(heads(6), {.tp = 4}) && !heads_on_rank(heads(3), {.tp = 8}));
static_assert(heads_on_rank(heads(6), {.tp = 4, .uneven = Uneven::floor_at_least_one}) == u32{1});
static_assert(heads_on_rank(heads(6), {.tp = 4, .uneven = Uneven::ceil}) == u32{2});
static_assert(heads_on_rank(heads(6, Split::channels), {.tp = 4}).error().code ==
              Errc::channels_not_divisible);
static_assert(heads_on_rank(heads(2, Split::groups), {.tp = 8}) == u32{1});
static_assert(heads_on_rank(heads(8, Split::groups), {.tp = 4}) == u32{2});
static_assert(heads_on_rank(heads(1, Split::replicated), {.tp = 8}) == u32{1});
static_assert(fold(compose(QueryHeads{28}, repeat(2, g)).value(), {}, {.tp = 8}).error() ==
              Error{.code = Errc::query_heads_not_divisible, .got = 28, .want = 8});
static_assert(fold(ab, {}, {.tp = 0}).error().code == Errc::zero_parallelism);
static_assert(fold(ab, {}, {.cp = 2}, {.cp = 2}).error().code == Errc::rank_out_of_range);
static_assert(fold(ab, {}, {.pp = 2}, {.stage = 2}).error().code == Errc::rank_out_of_range);

// Replication: a latent on every rank, copied heads, a state never.
static_assert(over_ranks(Mla{512, 64}.forms()[0], {.tp = 8}).value() == Spread{9216_B, 1152_B});
static_assert(over_ranks(Gqa{2, 128}.forms()[0], {.tp = 8}).value() == Spread{4096_B, 1024_B});
static_assert(over_ranks(Kda{8, 128}.forms()[0], {.tp = 8}).value().stored ==
              over_ranks(Kda{8, 128}.forms()[0], {}).value().unique);

// Storage blocks that do not divide a row are errors, not roundings.
static_assert(fold(compose(repeat(1, Quantized{Gqa{8, 80}, Stored{ggml::q4_0}})).value(), {}).error() ==
              Error{.code = Errc::block_not_divisible, .layer = 0, .got = 80, .want = 32});

// TurboQuant rounds key and value of a head to an even number of bytes together: head 72 at 3 + 4 bits is 29
// + 40 -> 70.
static_assert(bytes_per_slot(Quantized{Gqa{1, 72}, TurboQuant{3, 4}}.forms()[0]).value() == BytesPerSlot{70});

// KIVI, exactly: n = 1,000, R = 128, group 32 at 2 bits. Keys: 7 groups of 128; values: all but the youngest
// 128.
constexpr auto kivi = Kivi{Gqa{8, 128}, 128, 2, 32}.forms();
static_assert(kivi.size() == 4);
static_assert(kivi[0].retention.slots({.prompt = 1000_tok}).value == 7 &&
              kivi[1].retention.slots({.prompt = 1000_tok}).value == 128);
static_assert(kivi[2].retention.slots({.prompt = 1000_tok}).value == 872 &&
              kivi[3].retention.slots({.prompt = 1000_tok}).value == 128);
static_assert(bytes_per_slot(kivi[0]).value() == BytesPerSlot{8ull * 128 * 128 / 32 * 12});

// States and convolutions: Qwen3-Next's gated delta, Mamba-2 with padded groups, Kimi's KDA in fp32.
constexpr auto gdn =
    GatedDelta{.key_heads = 16, .key_dim = 128, .value_heads = 32, .value_dim = 128}.forms()[0];
static_assert(gdn.elements() == 8192 * 3 + 32 * 128 * 128);
constexpr auto zamba = Mamba2{.heads = 112, .head_dim = 64, .state_dim = 64, .groups = 2}.forms()[0];
static_assert(zamba.elements() == 7424 * 3 + 112 * 64 * 64);
// TP 8: groups padded to 8: conv (7168 / 8 + 2 x 64) x 3, state 14 x 64 x 64.
static_assert(bytes_per_slot(zamba, {.tp = 8}).value().value == 2 * ((896 + 128) * 3 + 14 * 64 * 64));
static_assert(Kda{.heads = 32, .head_dim = 128}.forms()[0].elements() == 12288 * 3 + 32 * 128 * 128);
static_assert(mlstm(4, 128, 256).forms()[0].elements() == 4 * 128 * 256 + 4 * 128 + 4);
static_assert(rwkv(2560, 40, 64).forms()[0].elements() == 2 * 2560 + 40 * 64 * 64);
static_assert(rwkv4(768, 768).forms()[0].elements() == 5 * 768);
static_assert(rg_lru(2560, 4).forms()[0].elements() == 2560 * 3 + 2560);
static_assert(short_conv(2048, 3).forms()[0].elements() == 4096);
static_assert(lightning(64, 128).forms()[0].elements() == 1'048'576 &&
              gla(4, 256, 512).forms()[0].elements() == 524'288);
static_assert(Mamba1{.inner = 4096, .state_dim = 4, .kernel = 1}.forms()[0].elements() == 16'384);
static_assert(fold(compose(repeat(2, Kda{8, 16})).value(), {}).value().state == 0_B);
static_assert(fold(compose(repeat(2, Kda{8, 16})).value(), {.prompt = 1_tok}).value() ==
              fold(compose(repeat(2, Kda{8, 16})).value(), {.prompt = 9'999_tok}).value());

// DeepSeek-V4: five caches at ratio 4, three at 128, one without; strided entries and fp32 compressor
// windows.
constexpr CompressedLatent c4{.latent = 512, .window = 128, .ratio = 4, .index_dim = 128};
constexpr CompressedLatent c128{.latent = 512, .window = 128, .ratio = 128};
static_assert(c4.forms().size() == 5 && c128.forms().size() == 3);
static_assert(CompressedLatent{.latent = 512, .window = 128}.forms().size() == 1);
constexpr auto v4 = compose(repeat(1, c4), repeat(1, c128)).value();
constexpr Footprint v4_held = fold(v4, {.prompt = 1024_tok}).value();
static_assert(v4_held.growing.value == 2 * (256 * (512 + 128) + 8 * 512) &&
              v4_held.bounded.value == 2 * 2 * 128 * 512);
static_assert(v4_held.state.value == 4 * (8 * 2048 + 8 * 512 + 128 * 1024));
static_assert(bytes_per_token(v4).value().value == 2 * (160 + 4));

// Context parallelism deals tokens of caches that keep everything; ranks sum to the whole.
constexpr bool dealt_whole = [] {
    const auto model = compose(repeat(2, g), repeat(1, Mla{512, 64})).value();
    for (u64 n = 0; n < 40; ++n) {
        u64 sum = 0;
        for (u32 r = 0; r < 3; ++r) {
            sum += fold(model, {.prompt = {n}}, {.cp = 3, .interleave = 4}, {.cp = r}).value().total().value;
        }
        if (sum != fold(model, {.prompt = {n}}).value().total().value) {
            return false;
        }
    }
    return true;
}();
static_assert(dealt_whole);

// Cross attention holds the encoder's tokens.
static_assert(fold(compose(repeat(2, Both{g, Cross{g}})).value(), {.prompt = 10_tok, .encoder = 1500_tok})
                  .value() == Footprint{.growing = Bytes{2 * 10 * 4096}, .cross = Bytes{2 * 1500 * 4096}});

// Capacity is the inverse of the fold.
static_assert(longest(ab, Bytes{5 * 4096 * 100 + 4095}) == 100_tok);
static_assert(longest(ab, 0_B) == 0_tok &&
              longest(compose(repeat(1, Windowed{g, w})).value(), 1_GiB) == no_limit);
static_assert(most_sequences(ab, Bytes{5 * 4096 * 100}, {.prompt = 7_tok}) == u64{14});
static_assert(longest(compose(repeat(1, Quantized{g, fp8_per_head})).value(), 1_B).error().code ==
              Errc::does_not_fit);

}  // namespace
