// SPDX-License-Identifier: MIT
// Which decoder is inside a multimodal `model_type`? Only asked when the nested block names none. After the sub-config
// defaults of the transformers classes and, for remote code, published files.
#pragma once

#include <string_view>

namespace kvcap::inline v1::hf {

/// The decoder inside an outer `model_type` when the nested block names none.
struct Wrapper {
    std::string_view outer;
    std::string_view inner;
};

inline constexpr Wrapper wrappers[] = {
    {"aria", "aria_text"},
    {"aya_vision", "cohere2"},
    {"cohere2_vision", "cohere2"},
    {"deepseek_vl", "llama"},
    {"deepseek_vl_v2", "deepseek_v2"},
    {"emu3", "emu3_text_model"},
    {"ernie4_5_vl_moe", "ernie4_5_vl_moe_text"},
    {"exaone4_5", "exaone4_5_text"},
    {"fuyu", "persimmon"},
    {"gemma3", "gemma3_text"},
    {"gemma3n", "gemma3n_text"},
    {"gemma4", "gemma4_text"},
    {"glm4v", "glm4v_text"},
    {"glm4v_moe", "glm4v_moe_text"},
    {"got_ocr2", "qwen2"},
    {"granite_speech", "granite"},
    {"idefics2", "mistral"},
    {"idefics3", "llama"},
    {"internvl", "qwen2"},
    {"internvl_chat", "internlm2"},
    {"janus", "llama"},
    {"kimi_k25", "deepseek_v3"},
    {"kimi_k3", "kimi_linear"},
    {"kimi_vl", "deepseek_v3"},
    {"lfm2_vl", "lfm2"},
    {"llama4", "llama4_text"},
    {"llava", "llama"},
    {"llava_next", "llama"},
    {"llava_next_video", "llama"},
    {"llava_onevision", "qwen2"},
    {"minimax_m3_vl", "minimax_m3_vl_text"},
    {"mistral3", "mistral"},
    {"mllama", "mllama_text_model"},
    {"multi_modality", "llama"},
    {"ovis2", "qwen2"},
    {"paddleocr_vl", "paddleocr_vl_text"},
    {"paligemma", "gemma"},
    {"pixtral", "mistral"},
    {"qwen2_5_omni", "qwen2_5_omni_text"},
    {"qwen2_5_vl", "qwen2_5_vl_text"},
    {"qwen2_audio", "qwen2"},
    {"qwen2_vl", "qwen2_vl_text"},
    {"qwen3_5", "qwen3_5_text"},
    {"qwen3_5_moe", "qwen3_5_moe_text"},
    {"qwen3_omni_moe", "qwen3_omni_moe_text"},
    {"qwen3_vl", "qwen3_vl_text"},
    {"qwen3_vl_moe", "qwen3_vl_moe_text"},
    {"smolvlm", "llama"},
    {"step3_vl", "step3_text"},
    {"step3p7", "step3p5"},
    {"video_llava", "llama"},
    {"vipllava", "llama"},
    {"voxtral", "llama"},
};

inline std::string_view decoder_of(std::string_view outer) noexcept {
    for (const Wrapper& wrapper : wrappers) {
        if (wrapper.outer == outer) {
            return wrapper.inner;
        }
    }
    return {};
}

}  // namespace kvcap::inline v1::hf
