// SPDX-License-Identifier: MIT
// What the verb `llamacpp` and the engine `llamacpp` share: the card of a model, and llama.cpp's options by
// their names.
#pragma once

#include "engines.hpp"

#include <kvcap/engine/llamacpp.hpp>
#include <kvcap/engine/llamacpp/server_reuse.hpp>
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

/// The model in the formats that llama.cpp's --cache-type-k and -v say, where one of them is among the flags.
ModelOptions as_stored(ModelOptions model, const EngineFlags& said);

/// The options of the context that an engine's question asks for.
llamacpp::Options llama_options(const EngineQuestion& question);

/// What --fit made of a server without -c: the model's context for each slot, lowered to `cells` or not.
std::string fitted_words(u64 context, u32 slots, u64 cells);

/// Why -sm tensor over several devices does not run with these types of keys and values; empty: it does.
std::string no_tensor_split(const llamacpp::Options& options);

/// What the engine says when it refuses.
std::string refusal_words(const Error& error);

/// Its lines about caches, one device named `backend`.
std::vector<std::string> cache_lines(const llamacpp::Card& card, const llamacpp::Layout& layout);

/// "base", "window" ... as llama.cpp's own words have it.
const char* part_name(llamacpp::Part part);

/// When llama-server skips a prefix of a model.
struct ServerRule {
    enum class Chunks : u8 { off, moved, unsound };

    bool caches = false;   ///< it keeps some
    u64 window = 0;        ///< tokens of windows whose cells are reused; 0: none
    u64 window_cells = 0;
    bool states = false;
    u64 early = 0;         ///< tokens before a prompt's end where its first checkpoint is taken; 0: none is
    Chunks chunks = Chunks::off;
};

/// A prompt and what the server did with it.
struct ServerRequest {
    u64 tokens = 0;
    llamacpp::Served served{};
};

/// Stops where llama.cpp refuses the model.
ServerRule server_rule(const LlamaModel& model, const llamacpp::Options& context);
/// The prompts of a file (reuse_prompts.hpp) sent one after the other.
std::vector<ServerRequest> replay_on_server(const LlamaModel& model, const llamacpp::Options& context,
                                            const llamacpp::ReuseOptions& reuse, const std::string& file);

std::string rule_words(const ServerRule& rule);
std::string replay_words(const std::vector<ServerRequest>& requests);
/// Schema kvcap.reuse.llamacpp/1, modes "rule" and "prompts".
std::string rule_json(const ServerRule& rule, const Model& model, const LlamaModel& llama);
std::string replay_json(const std::vector<ServerRequest>& requests, const Model& model, const LlamaModel& llama);

}  // namespace kvcap::cli
