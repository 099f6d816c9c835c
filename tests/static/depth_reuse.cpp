// SPDX-License-Identifier: MIT
#include <kvcap/core.hpp>
#include <kvcap/plan/depth_reuse.hpp>

using namespace kvcap;

namespace {

constexpr SimilarityTable table(u32 layers, u16 odd) {
    SimilarityTable all{};
    all.thousandths.count = layers;
    for (u32 i = 0; i < layers; ++i) {
        all.thousandths[i] = i % 2 == 1 ? odd : 900;
    }
    return all;
}

constexpr auto llama = compose(repeat(32, Gqa{8, 128})).value();
constexpr auto half = reusing_layers(table(32, 980), 980, llama).value();
static_assert(half.size() == 16 && has(half, 1) && !has(half, 2));
static_assert(reusing_layers(table(32, 979), 980, llama).value().empty());
constexpr auto reused = with_depth_reuse(llama, half).value();
// 32 P + 16 D, by the form and by the closed formula; a fallback of 25% holds a quarter of the rest.
constexpr Bytes held = fold(reused, {.prompt = 1000_tok, .decoded = 80_tok}).value().total();
static_assert(held.value / 4096 == layer_tokens(32, 16, 1000, 80) &&
              layer_tokens(32, 16, 1000, 80) == 32 * 1000 + 16 * 80);
static_assert(layer_tokens(32, 16, 1000, 80, 250) == 32 * 1000 + 16 * 80 + 16 * 20);
// Nothing is gained while only the prompt is there.
static_assert(fold(reused, {.prompt = 1000_tok}).value() == fold(llama, {.prompt = 1000_tok}).value());

// It composes with latents and with storage; a table of another storage or kind is stale.
constexpr auto latent = compose(repeat(32, Mla{512, 64})).value();
static_assert(reusing_layers(table(32, 980), 980, latent).error() ==
              Error{.code = Errc::refused_combination, .layer = 0});
static_assert(reusing_layers(table(32, 980), 980, latent, true).value() == half);
static_assert(bytes_per_token(with_depth_reuse(latent, half).value()).value() == Bytes{16 * 1152});
constexpr auto eight = compose(repeat(32, Quantized{Gqa{8, 128}, Stored{int8}})).value();
static_assert(reusing_layers(table(32, 980), 980, eight).error().code == Errc::refused_combination);
static_assert(reusing_layers(table(31, 980), 980, llama).error().code == Errc::stage_layers_mismatch);

// 16 layers of Llama-2-7B skip 8.1% of the weights read, of Llama-3-8B 1.8%.
constexpr double llama2 = step_time_bound(16, 2ull * 4096 * 4096, 6'738'415'616 - 32'000ull * 4096);
constexpr double llama3 = step_time_bound(16, 2ull * 4096 * 1024, 8'030'261'248 - 128'256ull * 4096);
static_assert(llama2 > 0.0805 && llama2 < 0.0815 && llama3 > 0.0175 && llama3 < 0.0185);

}  // namespace
