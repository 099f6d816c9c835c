// SPDX-License-Identifier: MIT
// The zoo: what each named model keeps, as facts of the build. Element counts are those of the models' files; 2 bytes
// an element unless a state or an index key is stored otherwise.
#include <kvcap/core.hpp>
#include <kvcap/models/deepseek.hpp>
#include <kvcap/models/gemma.hpp>
#include <kvcap/models/glm.hpp>
#include <kvcap/models/gpt_oss.hpp>
#include <kvcap/models/jamba.hpp>
#include <kvcap/models/kimi.hpp>
#include <kvcap/models/lfm.hpp>
#include <kvcap/models/llama.hpp>
#include <kvcap/models/mimo.hpp>
#include <kvcap/models/minimax.hpp>
#include <kvcap/models/mistral.hpp>
#include <kvcap/models/nemotron.hpp>
#include <kvcap/models/qwen.hpp>
#include <kvcap/models/whisper.hpp>
#include <kvcap/models/zamba.hpp>

using namespace kvcap;
using namespace kvcap::models;

namespace {

/// Far behind every window; a multiple of every stride.
constexpr Tokens far = 131'072_tok;

constexpr Footprint at(const ModelSpec& model, Tokens encoder = {}) {
    return fold(model, {.prompt = far, .encoder = encoder}).value();
}

/// Growing bytes per token.
constexpr u64 grows(const ModelSpec& model) { return at(model).growing.value / far.value; }
constexpr u64 bounded(const ModelSpec& model) { return at(model).bounded.value; }
constexpr u64 state(const ModelSpec& model) { return at(model).state.value; }

// Keys and values only.
static_assert(Equals<grows(llama_2_7b), 524'288>);
static_assert(Equals<grows(llama_3_1_8b), 131'072>);
static_assert(Equals<grows(llama_3_1_70b), 327'680>);
static_assert(Equals<grows(qwen3_8b), 147'456>);
static_assert(at(llama_3_1_8b).total() == at(llama_3_1_8b).growing);

// Image and sound tokens.
static_assert(Equals<grows(llama_3_2_11b_vision), 2 * 65'536>);
static_assert(Equals<at(llama_3_2_11b_vision, 1_tok).cross.value, 2 * 16'384>);
static_assert(Equals<grows(whisper_large_v3), 2 * 32 * 2'560>);
static_assert(Equals<at(whisper_large_v3, 1500_tok).cross.value, 2 * 32 * 2'560 * 1'500>);

// Windows and chunks.
static_assert(Equals<grows(llama_4_scout), 2 * 24'576>);
static_assert(Equals<bounded(llama_4_scout), 2 * 603'979'776>);
static_assert(Equals<grows(mistral_7b_v0_1), 0>);
static_assert(Equals<bounded(mistral_7b_v0_1), 32 * 4'096 * 4'096>);
static_assert(Equals<grows(gemma_3_27b), 2 * 40'960>);
static_assert(Equals<bounded(gemma_3_27b), 2 * 218'103'808>);
static_assert(Equals<grows(gemma_4_26b_a4b), 2 * 10'240>);
static_assert(Equals<bounded(gemma_4_26b_a4b), 2 * 104'857'600>);
static_assert(Equals<grows(gpt_oss_120b), 2 * 18'432>);
static_assert(Equals<bounded(gpt_oss_120b), 2 * 2'359'296>);
static_assert(Equals<grows(mimo_v2_flash), 2 * 11'520>);
static_assert(Equals<bounded(mimo_v2_flash), 2 * 12'779'520>);

// Gemma 3n: 30 layers, 20 own a cache, 4 of them grow.
static_assert(gemma_3n_e2b.layers == 30 && gemma_3n_e2b.caches.size() == 20);
static_assert(Equals<grows(gemma_3n_e2b), 2 * 4'096>);
static_assert(Equals<bounded(gemma_3n_e2b), 2 * 8'388'608>);

// Latents are on every rank; index keys are fp8 with a scale.
static_assert(Equals<grows(deepseek_v3), 2 * 35'136>);
static_assert(fold(deepseek_v3, {.prompt = far}, {.tp = 8}).value() == at(deepseek_v3));
static_assert(Equals<grows(deepseek_v3_2), 61 * (1'152 + 132)>);
static_assert(Equals<grows(glm_5_2), 78 * 1'152 + 21 * 132>);

// DeepSeek-V4: 3,440 elements a token on average, 672 of them index keys; windows; compressors in fp32.
static_assert(Equals<grows(deepseek_v4_flash), (3'440 - 672) * 2 + 672 / 128 * 132 + 672 % 128 * 132 / 128>);
static_assert(Equals<bounded(deepseek_v4_flash), 2 * 2'818'048>);
static_assert(Equals<state(deepseek_v4_flash), 4 * 3'051'520>);

// Attention and states.
static_assert(Equals<grows(qwen3_next_80b_a3b), 2 * 12'288>);
static_assert(Equals<state(qwen3_next_80b_a3b), 2 * 19'759'104>);
static_assert(Equals<grows(kimi_linear_48b_a3b), 2 * 4'032>);
static_assert(Equals<state(kimi_linear_48b_a3b), 20 * (2 * 3 * 4'096 * 3 + 4 * 32 * 128 * 128)>);
static_assert(Equals<grows(minimax_m1), 2 * 20'480>);
static_assert(Equals<state(minimax_m1), 2 * 73'400'320>);
static_assert(Equals<grows(nemotron_3_nano_30b_a3b), 2 * 3'072>);
static_assert(Equals<state(nemotron_3_nano_30b_a3b), 23 * (2 * 6'144 * 3 + 4 * 524'288)>);
static_assert(nemotron_3_nano_30b_a3b.layers == 52 && nemotron_3_nano_30b_a3b.caches.size() == 29);
static_assert(Equals<grows(jamba_1_5_mini), 4 * 4'096>);
static_assert(Equals<state(jamba_1_5_mini), 28 * 2 * 8'192 * (3 + 16)>);
static_assert(Equals<grows(lfm2_5_vl_1_6b), 6 * 2'048>);
static_assert(Equals<state(lfm2_5_vl_1_6b), 10 * 2 * 2'048 * 2>);
static_assert(Equals<grows(zamba2_7b), 2 * 186'368>);
static_assert(Equals<state(zamba2_7b), 2 * 38'962'944>);

// Query heads decide which tensor-parallel sizes exist.
static_assert(fold(whisper_large_v3, {}, {.tp = 8}).error().code == Errc::query_heads_not_divisible);

// A letter that names nothing.
static_assert(compose(lettered("M?", letter('M', NoCache{}))).error().code == Errc::unsupported);

}  // namespace
