// SPDX-License-Identifier: MIT
// What does an engine do where the longest request is longer than the context that the model states?
#include "deployment.hpp"
#include "screen.hpp"

namespace kvcap::cli {

namespace {

struct Beyond {
    std::string_view engine;
    std::string_view does;
};

/// vLLM's get_and_verify_max_len and SGLang's ModelConfig raise ValueError; TensorRT-LLM's model engine takes the
/// smaller of the two; llama-server caps the slot, and its cells stay as many as were asked for.
constexpr Beyond engines[] = {
    {"vllm", "vLLM does not start so unless VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 is set"},
    {"sglang", "SGLang does not start so unless SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1 is set"},
    {"trtllm", "TensorRT-LLM takes the model's length instead"},
    {"llamacpp", "llama-server warns, sets the cells aside and caps requests at the model's length"},
};

}  // namespace

std::string beyond_words(const Deployment& on) {
    if (!on.beyond_context()) {
        return {};
    }
    std::string_view does = "engines refuse it";
    for (const Beyond& each : engines) {
        does = each.engine == on.face->name ? each.does : does;
    }
    return fmt::format("beyond the model's context: {} tokens, and it states {}; {}",
                       report::grouped(on.longest_asked()), report::grouped(on.formats[0].model.read.max_context),
                       does);
}

std::string beyond_text(const Deployment& on, const Session& session) {
    const std::string words = beyond_words(on);
    return words.empty() ? "" : session.warning(paragraph(words)) + '\n';
}

}  // namespace kvcap::cli
