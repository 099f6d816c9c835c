// SPDX-License-Identifier: MIT
// What does vLLM take where its command line says nothing? The API server's defaults, by version and GPU.
// Source: config/vllm.py (async_scheduling, use_v2_model_runner), engine/arg_utils.py (get_batch_defaults) and
// config/cache.py (gpu_memory_utilization) in the source packages of 0.10.0 to 0.28.0.
#pragma once

#include <kvcap/engine/vllm/names.hpp>

namespace kvcap::inline v1::vllm {

/// `--max-num-batched-tokens`: tokens of one step. memory: of one GPU; a100: its name says so.
constexpr u64 step_unsaid(const Rules& rules, Bytes memory, bool a100) noexcept {
    constexpr u64 gib = u64{1} << 30;
    if (memory.value >= 160 * gib && rules.has(Change::longer_step)) {
        return 16384;
    }
    return memory.value >= 70 * gib && !a100 ? 8192 : 2048;
}

/// `--async-scheduling`: two batches in flight. Off beside drafts that are none of EAGLE, MTP or a draft model, and
/// for pooling models, which this does not see.
constexpr bool overlaps_unsaid(const Rules& rules) noexcept {
    return rules.has(Change::overlaps);
}

/// `--gpu-memory-utilization`, in hundredths.
constexpr u32 share_unsaid(const Rules& rules) noexcept {
    return rules.has(Change::larger_share) ? 92 : 90;
}

/// The V2 model runner, which overlaps batches also with pipeline stages: dense models without states, and some others.
/// experts: how many a layer has. Not seen: environment variables, drafts that it does not run, DeepSeek-V4 from 0.28.
constexpr bool second_runner_unsaid(const char* architecture, u64 experts, bool states) noexcept {
    constexpr const char* others[] = {
        "DeepseekV2ForCausalLM", "GraniteMoeForCausalLM", "InklingForCausalLM", "InklingForConditionalGeneration",
        "LongcatFlashNgramForCausalLM", "Qwen2MoeForCausalLM",
    };
    bool listed = false;
    for (const char* name : others) {
        listed = listed || same_text(name, architecture);
    }
    return !states && (listed || experts == 0);
}

}  // namespace kvcap::inline v1::vllm
