// SPDX-License-Identifier: MIT
// What the verb `llamacpp` and the engine `llamacpp` share: the card of a model, and llama.cpp's options by
// their names.
#pragma once

#include "engines.hpp"

#include <kvcap/engine/llamacpp.hpp>
#include <kvcap/engine/llamacpp/server_slot.hpp>
#include <kvcap/io/gguf.hpp>

namespace kvcap::cli {

/// A model as llama.cpp sees it. weights: of a GGUF file; empty otherwise.
struct LlamaModel {
    llamacpp::Card card{};
    gguf::Weights weights{};
    bool from_file = false;
    bool complete = true;
    std::vector<Note> notes{};
};

/// GGUF files and ollama's models by their own metadata; any other model by its caches.
LlamaModel llama_model(const Model& model);

/// The type's number. `flag` is named when llama.cpp has no such cache type.
llamacpp::Ggml cache_type(const std::string& name, std::string_view flag);
llamacpp::Flash flash_named(const std::string& name);

/// What the engine says when it refuses.
std::string refusal_words(const Error& error);

/// Its lines about caches, one device named `backend`.
std::vector<std::string> cache_lines(const llamacpp::Card& card, const llamacpp::Layout& layout);

/// "base", "window" ... as llama.cpp's own words have it.
const char* part_name(llamacpp::Part part);

/// The prompts of a file sent one after the other to llama-server, in words. A line is a prompt: pieces of made-up
/// texts (`a:0-600`), and `+20` for generated tokens; `#` begins a remark.
std::string replay_words(const LlamaModel& model, const llamacpp::Options& context,
                         const llamacpp::ReuseOptions& reuse, const std::string& file);

/// When llama-server skips a prefix of this model, in words.
std::string reuse_rule_words(const LlamaModel& model, const llamacpp::Options& context);

}  // namespace kvcap::cli
