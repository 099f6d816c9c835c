// SPDX-License-Identifier: MIT
// Four engines side by side: the numbers of docs/engines.md. One request of 32,768 tokens, 40 GiB on one
// rank.
#include <kvcap/core.hpp>
#include <kvcap/engine/llamacpp.hpp>
#include <kvcap/engine/sglang.hpp>
#include <kvcap/engine/trtllm.hpp>
#include <kvcap/engine/vllm.hpp>
#include <kvcap/models/deepseek.hpp>
#include <kvcap/models/gemma.hpp>
#include <kvcap/models/gpt_oss.hpp>
#include <kvcap/models/llama.hpp>
#include <kvcap/models/qwen.hpp>
#include <kvcap/plan/fit.hpp>

using namespace kvcap;

namespace {

constexpr Lengths request{.prompt = 32768_tok};
constexpr Bytes memory[] = {40_GiB};
constexpr Bytes free_memory[] = {48_GiB};  // of which TensorRT-LLM is told to take 40 GiB

struct Answer {
    u64 reserved = 0;
    u64 at_once = 0;
    friend constexpr bool operator==(const Answer&, const Answer&) = default;
};

constexpr Answer answer(const Result<PoolPlan>& plan) {
    u64 bytes = 0;
    const Demand need = demand(plan.value(), request);
    for (u32 i = 0; i < plan->pools.size(); ++i) {
        bytes += need.units[i] * plan->pools[i].each.value;
    }
    return {bytes, most_sequences(*plan, request)};
}

constexpr Answer on_vllm(const ModelSpec& model) {
    const vllm::Options options{.max_model_len = 32768, .async_scheduling = vllm::overlaps_unsaid(vllm::newest_rules)};
    return answer(vllm::Engine{.options = options}.pools(model, {}, {memory, 1}));
}

constexpr Answer on_sglang(const ModelSpec& model, const char* architecture, u64 window) {
    const sglang::Options options = sglang::with_architecture({.context = 32768}, architecture, window);
    return answer(sglang::Engine{options}.pools(model, {}, {memory, 1}));
}

constexpr Answer on_trtllm(const ModelSpec& model) {
    return answer(trtllm::Engine{{.max_seq_len = 32768, .max_gpu_total_bytes = memory[0].value}}.pools(
        model, {}, {free_memory, 1}));
}

constexpr u64 on_llamacpp(const ModelSpec& model) {
    return answer(llamacpp::Engine{.options = {.n_ctx = 32768}}.pools(model, {}, {free_memory, 1})).reserved;
}

constexpr u64 held(const ModelSpec& model) { return fold(model, request).value().per_sequence().value; }

static_assert(Equals<held(models::llama_3_1_8b), 4'294'967'296>);
static_assert(on_vllm(models::llama_3_1_8b) == Answer{4'294'967'296, 9});
static_assert(on_sglang(models::llama_3_1_8b, "LlamaForCausalLM", 0) == Answer{4'294'967'296, 10});
static_assert(on_trtllm(models::llama_3_1_8b) == Answer{4'294'967'296, 10});
static_assert(Equals<on_llamacpp(models::llama_3_1_8b), 4'294'967'296>);

static_assert(Equals<held(models::deepseek_v3), 2'302'672'896>);
static_assert(on_vllm(models::deepseek_v3) == Answer{2'302'672'896, 18});
static_assert(on_sglang(models::deepseek_v3, "DeepseekV3ForCausalLM", 0) == Answer{2'302'672'896, 18});
static_assert(on_trtllm(models::deepseek_v3) == Answer{2'302'672'896, 18});
static_assert(Equals<on_llamacpp(models::deepseek_v3), 2'302'672'896>);

static_assert(Equals<held(models::gemma_3_27b), 3'120'562'176>);
static_assert(on_vllm(models::gemma_3_27b) == Answer{11'248'599'040, 3});
static_assert(on_sglang(models::gemma_3_27b, "Gemma3ForConditionalGeneration", 1024) ==
              Answer{16'642'998'272, 2});
static_assert(on_trtllm(models::gemma_3_27b) == Answer{3'134'193'664, 8});
static_assert(Equals<on_llamacpp(models::gemma_3_27b), 3'338'665'984>);

static_assert(Equals<held(models::gpt_oss_120b), 1'212'678'144>);
static_assert(on_vllm(models::gpt_oss_120b) == Answer{1'817'247'744, 23});
static_assert(on_sglang(models::gpt_oss_120b, "GptOssForCausalLM", 128) == Answer{1'212'678'144, 19});
static_assert(on_trtllm(models::gpt_oss_120b) == Answer{1'213'857'792, 17});
static_assert(Equals<on_llamacpp(models::gpt_oss_120b), 1'236'271'104>);

static_assert(Equals<held(models::qwen3_next_80b_a3b), 844'824'576>);
static_assert(on_vllm(models::qwen3_next_80b_a3b) == Answer{895'746'048, 47});
static_assert(on_sglang(models::qwen3_next_80b_a3b, "Qwen3NextForCausalLM", 0) == Answer{1'037'107'200, 28});
static_assert(on_trtllm(models::qwen3_next_80b_a3b) == Answer{844'824'576, 50});
static_assert(Equals<on_llamacpp(models::qwen3_next_80b_a3b), 884'342'784>);

// What engines make of stretched positions: 40,960 are stated, 32,768 were trained.
constexpr RopeScaling yarn{.kind = RopeKind::yarn, .original = 32'768, .factor = 4};
constexpr RopeScaling bare_yarn{.kind = RopeKind::yarn, .factor = 4};
constexpr RopeScaling dynamic{.kind = RopeKind::other, .factor = 2.5};
constexpr RopeScaling llama3_rope{.kind = RopeKind::llama3, .original = 8'192, .factor = 8};
constexpr RopeScaling long_rope{.kind = RopeKind::longrope, .original = 4'096, .factor = 32};
static_assert(vllm::derived_context(40'960, yarn, "qwen3") == 131'072);
static_assert(vllm::derived_context(40'960, bare_yarn, "qwen3") == 163'840);
static_assert(vllm::derived_context(32'768, dynamic, "internlm2") == 81'920);
static_assert(vllm::derived_context(131'072, dynamic, "gemma3_text") == 131'072);
static_assert(vllm::derived_context(131'072, llama3_rope, "llama") == 131'072);
static_assert(vllm::derived_context(131'072, long_rope, "phi3") == 131'072);
static_assert(vllm::derived_context(0, yarn, "qwen3") == 0);
static_assert(sglang::derived_context(40'960, yarn) == 40'960);
static_assert(sglang::derived_context(40'960, bare_yarn) == 163'840);
static_assert(sglang::derived_context(32'768, dynamic) == 81'920);
static_assert(sglang::derived_context(131'072, llama3_rope) == 131'072);
static_assert(trtllm::inferred_context(40'960, yarn) == 40'960);
static_assert(trtllm::inferred_context(32'768, dynamic) == 81'920);
static_assert(trtllm::inferred_context(131'072, long_rope) == 131'072);

}  // namespace
