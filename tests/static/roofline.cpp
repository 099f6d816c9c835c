// SPDX-License-Identifier: MIT
// Published intensities, crossing points and traffic.
#include <kvcap/core.hpp>
#include <kvcap/roofline.hpp>

using namespace kvcap;

namespace {

// GQA 32/8: 4.0 flops a byte; MQA-like absorbed MLA of 128 heads: 241.8; expanded MLA: 1.0 at bf16.
constexpr auto gqa = position_cost(Gqa{8, 128}.forms()[0], 32).value();
static_assert(gqa.flops == 4 * gqa.bytes);
constexpr auto absorbed = position_cost(Mla{512, 64}.forms()[0], 128).value();
static_assert(absorbed == PositionCost{2ull * 128 * (576 + 512), 1152});
static_assert((absorbed.flops * 100 / absorbed.bytes + 5) / 10 == 2418);
static_assert(expanded_mla(128, 192, 128, 2).flops == expanded_mla(128, 192, 128, 2).bytes);
// On 8 ranks a latent is read whole by an eighth of the heads.
static_assert(position_cost(Mla{512, 64}.forms()[0], 128, {.tp = 8}).value() ==
              PositionCost{2ull * 16 * (576 + 512), 1152});

// Llama-3-8B at 8K in bf16: the weights read (all but the 128,256 x 4,096 input embedding) are passed at
// batch 14.
constexpr auto llama3 = compose(QueryHeads{32}, repeat(32, Gqa{8, 128})).value();
constexpr Bytes read{2 * (8'030'261'248ull - 128'256ull * 4'096)};
constexpr Bytes cached = fold(llama3, {.prompt = 8192_tok}).value().total();
static_assert(batch_where_cache_passes(read, cached) == 14);
constexpr auto step =
    decode_step(llama3, {.prompt = 8192_tok}, 14, {.read_bytes = read, .active_params = 7'504'924'672})
        .value();
static_assert(step.weights < step.cache.growing && step.cache.growing == cached * 14);
static_assert(step.attention_flops == 14ull * 32 * 8192 * gqa.flops);

// Generating with and without a cache: closed forms equal a loop.
constexpr bool loops = [] {
    for (u64 prompt = 1; prompt < 40; prompt += 13) {
        for (u64 n = 0; n <= 64; ++n) {
            u64 with = 0;
            u64 without = 0;
            for (u64 i = 0; i < n; ++i) {
                with += i == 0 ? prompt : 1;
                without += prompt + i;
            }
            if (with != passes_with_cache(prompt, n) || without != passes_without_cache(prompt, n)) {
                return false;
            }
        }
    }
    return true;
}();
static_assert(loops);

// Prefill attention is a triangle; a window cuts it.
constexpr u64 flops_of(u64 n, u64 window) {
    const auto model =
        window == 0 ? compose(QueryHeads{32}, repeat(1, Gqa{8, 128})).value()
                    : compose(QueryHeads{32}, repeat(1, Windowed{Gqa{8, 128}, Tokens{window}})).value();
    return prefill_flops(model, n, 0).value() / gqa.flops;
}
static_assert(flops_of(100, 0) == 5'050 && flops_of(101, 0) == 5'151);
static_assert(flops_of(100, 10) == 55 + 90 * 10 && flops_of(100, 1000) == 5'050);

// DeepSeek-V3: 58 MoE layers x 8 experts x 7,168 x (1 + 2) bytes a token, 142 times its cache bytes.
constexpr Bytes experts = ExpertTraffic{.moe_layers = 58, .experts_per_token = 8, .hidden = 7168}.per_token();
static_assert(experts == 9'977'856_B && (experts.value + 35'136) / 70'272 == 142);

// Which fills a link first: 450 GB/s carry 45,100 tokens of experts or 6.4 million of cache.
constexpr LinkLimits limits = link_limits(450e9, 70'272_B, experts);
static_assert(limits.experts_first() && limits.expert_tokens > 45'099 && limits.expert_tokens < 45'101);
static_assert(cache_share_of_link(70'272_B, experts) == Ratio{70'272, 10'048'128});
static_assert(transfer_seconds(Bytes{450'000'000'000}, 450e9) == 1.0);

// Devices turn from reading to computing at about 295 (H100) and 206 (H200) flops a byte, so absorbed MLA is
// bound by computing on the second and by reading on the first; at fp8 (483.6) it is bound by computing on
// both.
constexpr Device h100{.bandwidth = 3.35e12, .peak = 989e12};
constexpr Device h200{.bandwidth = 4.8e12, .peak = 989e12};
static_assert(h100.turning_point() > 295 && h100.turning_point() < 295.3);
static_assert(h200.turning_point() > 206 && h200.turning_point() < 206.1);
static_assert(absorbed.flops < 295 * absorbed.bytes && absorbed.flops > 206 * absorbed.bytes);
static_assert(h100.at_least(Bytes{3'350'000'000'000}, 0) == 1.0 && Device{}.at_least(1_GiB, 1) == 0);
constexpr auto latent_fp8 = position_cost(Mla{512, 64, fp8}.forms()[0], 128).value();
static_assert(latent_fp8.flops > 295 * latent_fp8.bytes);

// A sparse index is read whole, and 2,048 latents of all; a window at its span; a state once, whatever the
// length.
constexpr AttentionFacts facts{.index_heads = 64, .picked = 2048, .expanded = 128 * (192 + 128)};
constexpr auto sparse =
    compose(QueryHeads{128}, repeat(2, SparseMla{512, 64, 128}), repeat(1, SparseMla{512, 64, 0}),
            repeat(1, Windowed{Gqa{128, 64}, 1024_tok}), repeat(1, GatedDelta{16, 128, 32, 128}))
        .value();
constexpr CacheWork work = cache_work(sparse, {.prompt = 32'768_tok}, {}, {}, facts).value();
static_assert(work.size() == 4);
static_assert(work[0].entries == 32'768 && work[0].bytes == Bytes{2 * 32'768 * 256} &&
              work[0].flops == 2ull * 32'768 * 2 * 64 * 128);
static_assert(work[1].picks && work[1].caches == 3 && work[1].bytes == Bytes{3 * 2048 * 1152});
static_assert(work[2].entries == 1024 && work[3].entries == 1 && work[3].flops == 4ull * 32 * 128 * 128);
static_assert(cache_work(sparse, {.prompt = 100_tok}, {}, {}, facts).value()[1].entries == 100);
static_assert(!cache_work(sparse, {}, {.tp = 3}).has_value());
// Without the facts everything is read: what is held.
constexpr auto everything = decode_step(sparse, {.prompt = 32'768_tok}, 3, {}).value();
static_assert(everything.cache.per_sequence() == fold(sparse, {.prompt = 32'768_tok}).value().total() * 3);

// A prompt's latents are expanded: 2 x 128 x (192 + 128) flops a position, not 2 x 128 x (576 + 512).
constexpr auto latents = compose(QueryHeads{128}, repeat(1, Mla{512, 64})).value();
static_assert(prefill_flops(latents, 100, 0, {}, facts).value() == 5'050ull * 2 * 128 * 320);
static_assert(prefill_flops(llama3, 100, 7, {}, {}, 1'000).value() == prefill_flops(llama3, 100, 7).value() + 2'000);
static_assert(prefill_flops(llama3, 0, 7, {}, {}, 1'000).value() == 0);
static_assert(prefill_flops(latents, 100, 0).value() == 5'050ull * 2 * 128 * 1088);
static_assert(prefill_flops(latents, 100, 7, {.tp = 8}, facts).value() == 1'400 + 5'050ull * 2 * 16 * 320);
// A stored prefix of p tokens saves what p tokens cost: triangles subtract.
static_assert(prefill_flops(llama3, 32'768, 1).value() - prefill_flops(llama3, 24'576, 1).value() ==
              2 * 8'192 + 32ull * gqa.flops * (8'192ull * 24'576 + 8'192ull * 8'193 / 2));
static_assert(break_even_bandwidth(1_GiB, 0, 1e12) == 0 &&
              break_even_bandwidth(Bytes{1000}, 500, 1e12) == 2e12);

}  // namespace
