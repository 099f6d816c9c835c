// SPDX-License-Identifier: MIT
// What does vLLM take where its command line says nothing? The API server's defaults, by version and GPU.
// Source: config/vllm.py (async_scheduling, use_v2_model_runner), engine/arg_utils.py (get_batch_defaults,
// _set_default_*), config/cache.py (gpu_memory_utilization) and models/config.py (MambaModelConfig) in the source
// packages of 0.10.0 to 0.28.0.
#pragma once

#include <kvcap/engine/vllm/names.hpp>
#include <kvcap/engine/vllm/pages.hpp>

namespace kvcap::inline v1::vllm {

/// `--max-num-batched-tokens`: tokens of one step. memory: of one GPU; a100: its name says so.
constexpr u64 step_unsaid(const Rules& rules, Bytes memory, bool a100) noexcept {
    constexpr u64 gib = u64{1} << 30;
    if (memory.value >= 160 * gib && rules.has(Change::longer_step)) {
        return 16384;
    }
    return memory.value >= 70 * gib && !a100 ? 8192 : 2048;
}

/// `--max-num-seqs`, but never more than a step has tokens (arg_utils.py takes the smaller).
constexpr u64 requests_unsaid(Bytes memory, bool a100) noexcept {
    constexpr u64 gib = u64{1} << 30;
    return memory.value >= 160 * gib || (memory.value >= 70 * gib && !a100) ? 1024 : 256;
}

/// `--enable-prefix-caching`: for models with states beside attention by version, for states alone never.
constexpr bool caches_prefixes_unsaid(const Rules& rules, const ModelSpec& model) noexcept {
    bool states = false;
    bool attends = false;
    for (const LayerForm& form : model.forms) {
        states = states || is_state(form);
        attends = attends || !is_state(form);
    }
    return !states || (attends && rules.has(Change::caches_states));
}

/// `--mamba-cache-mode` under prefix caching, also where "none" is said: "all" was the default of these classes, whose
/// kernels can keep every block's state (SupportsMambaPrefixCaching).
constexpr StateMode state_mode_unsaid(const Rules& rules, const char* architecture) noexcept {
    constexpr const char* classes[] = {"BambaForCausalLM",    "FalconH1ForCausalLM", "GraniteMoeHybridForCausalLM",
                                       "JambaForCausalLM",    "MambaForCausalLM",    "FalconMambaForCausalLM",
                                       "Mamba2ForCausalLM",   "NemotronHForCausalLM", "NemotronHPuzzleForCausalLM",
                                       "Zamba2ForCausalLM"};
    bool keeps_all = false;
    for (const char* each : classes) {
        keeps_all = keeps_all || same_text(each, architecture);
    }
    return keeps_all && !rules.has(Change::aligns_states) ? StateMode::all : StateMode::align;
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

/// A class that takes the V2 model runner although its layers have experts. states: although it has states, too.
struct SecondRunnerClass {
    const char* architecture = "";
    Since since{};
    bool states = false;
};

/// Source: config/vllm.py DEFAULT_V2_MODEL_RUNNER_ARCHITECTURES, on CUDA: 0.25.0 has three of them, 0.26.0 six, 0.27.0
/// Kimi K3 as well, 0.28.0 DeepSeek-V4 as well.
inline constexpr SecondRunnerClass second_runner_classes[] = {
    {"DeepseekV2ForCausalLM"},
    {"GraniteMoeForCausalLM"},
    {"Qwen2MoeForCausalLM"},
    {"InklingForCausalLM", {26, 0, 20260725}},
    {"InklingForConditionalGeneration", {26, 0, 20260725}},
    {"LongcatFlashNgramForCausalLM", {26, 0, 20260725}},
    {"KimiK3ForConditionalGeneration", {27, 0, 20260810}, true},
    {"DeepseekV4ForCausalLM", {28, 0, 20260820}},
};

/// The V2 model runner, which overlaps batches also with pipeline stages: dense models without states, and some others.
/// experts: how many a layer has. Not seen: environment variables, drafts and options that it does not run. How many
/// batches overlap matters from 0.26 on (Change::all_in_flight); earlier versions are not told apart.
constexpr bool second_runner_unsaid(const Rules& rules, const char* architecture, u64 experts, bool states) noexcept {
    for (const SecondRunnerClass& each : second_runner_classes) {
        if (same_text(each.architecture, architecture) && has(rules, each.since)) {
            return !states || each.states;
        }
    }
    return !states && experts == 0;
}

/// What is served where: memory of one GPU (0: not known, taken for 70 GiB and more), whether its name says A100, the
/// class in the model's config, and how many experts a layer has.
struct Served {
    Bytes memory{};
    bool a100 = false;
    const char* architecture = "";
    u64 experts = 0;
};

/// The options of a server that was started with a model's name alone: tokens of a step and batches in flight. The
/// length (`max_model_len`), which the engine takes from the config, and the backend's blocks (backends.hpp) are as in
/// Options.
constexpr Options options_unsaid(const Rules& rules, const ModelSpec& model, const Served& served = {}) noexcept {
    Options options{};
    bool states = false;
    for (const LayerForm& form : model.forms) {
        states = states || is_state(form);
    }
    options.max_num_batched_tokens =
        served.memory.value == 0 ? 8192 : step_unsaid(rules, served.memory, served.a100);
    options.async_scheduling = overlaps_unsaid(rules);
    options.second_runner = second_runner_unsaid(rules, served.architecture, served.experts, states);
    return options;
}

}  // namespace kvcap::inline v1::vllm
