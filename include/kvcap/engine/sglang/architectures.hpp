// SPDX-License-Identifier: MIT
// For which models does SGLang keep a separate window pool? Only those on its list; every other model with
// sliding windows is charged as if all its layers were full. The window it then uses is often the config's
// less one. Sources: configs/model_config.py is_hybrid_swa_model, models/*.py
// get_attention_sliding_window_size.
#pragma once

#include <kvcap/engine/sglang/options.hpp>

namespace kvcap::inline v1::sglang {

/// name: as in a config's `architectures`. less_one: the model class gives window - 1.
struct WindowArchitecture {
    const char* name = "";
    bool less_one = false;
    double ratio = 0.8;
};

inline constexpr WindowArchitecture window_architectures[] = {
    {"Llama4ForConditionalGeneration"},
    {"DeepseekV4ForCausalLM", false, 0.1},
    {"GptOssForCausalLM", true},
    {"MiMoV2FlashForCausalLM"},
    {"MiMoV2ForCausalLM"},
    {"Step3p5ForCausalLM"},
    {"Step3p7ForConditionalGeneration"},
    {"Gemma4ForCausalLM", true},
    {"Gemma4ForConditionalGeneration", true},
    {"Gemma4UnifiedForConditionalGeneration", true},
    {"LagunaForCausalLM"},
    {"MellumForCausalLM", true},
    {"InklingForConditionalGeneration", true, 0.1},
    {"UnlimitedOCRForCausalLM"},
};

constexpr bool same_text(const char* a, const char* b) noexcept {
    while (*a != '\0' && *a == *b) {
        ++a;
        ++b;
    }
    return *a == *b;
}

/// Null when the architecture is not on the list.
constexpr const WindowArchitecture* window_architecture(const char* name) noexcept {
    for (const WindowArchitecture& known : window_architectures) {
        if (same_text(known.name, name)) {
            return &known;
        }
    }
    return nullptr;
}

/// The options with what the engine decides from the architecture. window: the checkpoint's, in tokens.
constexpr Options with_architecture(Options options, const char* name, u64 window) noexcept {
    const WindowArchitecture* known = window_architecture(name);
    options.window_pool = known != nullptr;
    if (known != nullptr) {
        options.effective_window = known->less_one && window > 0 ? window - 1 : 0;
        options.window_ratio = known->ratio;
    }
    return options;
}

}  // namespace kvcap::inline v1::sglang
