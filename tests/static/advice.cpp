// SPDX-License-Identifier: MIT
// Choices are functions from variant to variant: they stack, and prefill gains nothing from what only
// decoding uses.
#include <kvcap/core.hpp>
#include <kvcap/plan/advice_rank.hpp>

using namespace kvcap;

namespace {

constexpr auto llama2 = compose(QueryHeads{32}, repeat(32, Gqa{32, 128})).value();
constexpr auto latents = compose(QueryHeads{128}, repeat(4, Mla{512, 64})).value();

constexpr Variant made(Variant on, Technique technique, u64 size = 0) {
    return apply({technique, size}, on).value();
}
constexpr u64 rate(const Variant& on) {
    return bytes_per_token(on.held, on.attention()).value().value;
}

constexpr Variant plain = variant_of(llama2);
static_assert(rate(plain) == 524'288);
static_assert(rate(made(plain, Technique::quantised_8)) == 262'144);
static_assert(rate(made(plain, Technique::quantised_4)) == 32 * 2 * 32 * 68);
static_assert(rate(made(plain, Technique::latent, 512)) == 32 * 1152);
static_assert(rate(made(plain, Technique::low_rank, 500)) == 262'144);
static_assert(rate(made(plain, Technique::fewer_heads, 8)) == 131'072);
static_assert(made(plain, Technique::fewer_heads, 8).keys_left == 250);
// They stack, in either order where both are about storage and retention.
static_assert(rate(made(made(plain, Technique::fewer_heads, 8), Technique::quantised_8)) == 65'536);
static_assert(made(made(plain, Technique::window, 4096), Technique::quantised_8).held ==
              made(made(plain, Technique::quantised_8), Technique::window, 4096).held);
static_assert(rate(made(made(plain, Technique::latent, 512), Technique::quantised_8)) == 32 * 576);
// Windows keep their span, whatever they hold; only caches that keep everything are cut.
constexpr auto gemma =
    compose(QueryHeads{32}, repeat(5, Windowed{Gqa{16, 128}, 1024_tok}), repeat(1, Gqa{16, 128})).value();
static_assert(made(variant_of(gemma), Technique::latent, 512).held.forms[0].retention ==
              gemma.forms[0].retention);
static_assert(
    fold(made(variant_of(gemma), Technique::quantised_8).held, {.prompt = 8192_tok}).value().total() ==
    Bytes{(5 * 1024 + 8192) * 4096ull});
static_assert(made(variant_of(gemma), Technique::window, 512).held.forms[0] == gemma.forms[0]);
// A latent has no heads to change and no four-bit storage.
static_assert(made(variant_of(latents), Technique::fewer_heads, 8).held == latents);
static_assert(made(variant_of(latents), Technique::latent, 512).held == latents);
static_assert(rate(made(variant_of(latents), Technique::quantised_8)) == 4 * 576);
// Heads divide over ranks, a latent does not: attention data parallelism holds whole requests.
constexpr Variant split = variant_of(llama2, {.tp = 8});
static_assert(rate(split) == 65'536 && rate(made(split, Technique::attention_dp)) == 524'288);
static_assert(rate(made(split, Technique::latent, 512)) == 32 * 1152);
static_assert(!apply({Technique::depth_reuse, 16}, plain).has_value());

// Windows shorten a prompt's attention; what is stored or read afterwards does not.
static_assert(!(made(plain, Technique::window, 4096).prompt == llama2));
static_assert(made(plain, Technique::budget, 4096).prompt == llama2 &&
              made(plain, Technique::latent, 512).prompt == llama2 &&
              made(plain, Technique::low_rank, 500).prompt == llama2);

// 16 reusing layers of 32: 32 P + 16 D layer-tokens, read as before; a quarter of the rest with fallback 250.
constexpr LayerList odd = [] {
    LayerList list{};
    for (u16 i = 1; i < 32; i += 2) {
        static_cast<void>(list.push(i));
    }
    return list;
}();
constexpr Variant reused = with_reuse(plain, odd).value();
static_assert(reused.read == llama2 && reused.prompt == llama2 && !(reused.held == llama2));
constexpr Lengths lengths{.prompt = 1000_tok, .decoded = 80_tok};
static_assert(advice::held_on(reused, lengths, 0).value().own.value ==
              16'384 * layer_tokens(32, 16, 1000, 80));
static_assert(advice::held_on(with_reuse(plain, odd, 250).value(), lengths, 0).value().own.value ==
              16'384 * layer_tokens(32, 16, 1000, 80, 250));
static_assert(rate(with_reuse(made(plain, Technique::quantised_8), odd).value()) == 16 * 8192);

// A stored prefix is held once.
constexpr advice::Held shared =
    advice::held_on(made(plain, Technique::prefix_cache, 600), lengths, 0).value();
static_assert(shared.shared == Bytes{600 * 524'288ull} && shared.own == Bytes{480 * 524'288ull});

// Replicas and ranks that hold whole requests.
static_assert(advice::replicas(8, variant_of(llama2, {.tp = 2})) == 4 && advice::holders(8, plain) == 8);
static_assert(advice::holders(8, made(split, Technique::attention_dp)) == 8 &&
              advice::holders(0, split) == 1);

// Skipped projections: 16 layers x 2 x 4,096 x 4,096 parameters at two bytes, 8.1% of what Llama-2-7B reads.
constexpr WeightReads seven{.attention = {Bytes{4'294'967'296}, 2'147'483'648},
                            .keys = {Bytes{2'147'483'648}, 1'073'741'824}};
constexpr Bytes skipped = advice::skipped_projections(reused, seven, 4096, 0);
static_assert(skipped == Bytes{16ull * 2 * 4096 * 4096 * 2});
static_assert(step_time_bound(16, 2ull * 4096 * 4096, 6'738'415'616 - 32'000ull * 4096) ==
              static_cast<double>(skipped.value / 2) / (6'738'415'616 - 32'000ull * 4096));

}  // namespace
