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

}  // namespace
