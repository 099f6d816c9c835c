// SPDX-License-Identifier: MIT
// From a deployment to the engine's launch line, and from a line to what its engine says of it.
#pragma once

#include "deployment.hpp"

#include <kvcap/io/launch.hpp>

namespace kvcap::cli {

/// "llama-server" is the program of llamacpp; others are called like their engine.
std::string engine_of_program(const std::string& name);

/// The engine's own flag for the size of its blocks; empty when it has none.
std::string_view block_flag(const EngineFace& face);

/// The engine's own flag for requests at once, where it is a flag of our engines too; empty when it is not.
std::string_view requests_flag(const EngineFace& face);

/// Whether --engine's "vllm@0.28.0" is one of this engine.
bool is_of_engine(std::string_view asked, std::string_view engine);

/// The launch of a setting of `on`, started `servers` times, for `sequences` at once on each rank that holds
/// whole requests. Stops when the engine has no flag for something that was evaluated.
Launch launch_of(const Deployment& on, const DeploymentOptions& options, const Setting& setting, u32 servers,
                 u64 sequences);

/// A vLLM line's drafts that come from the text, as flags of our engines; stops at others, which are not evaluated.
void take_drafts(Launch& launch);

/// Of what a line leaves unsaid, or says in words that are not judged: assumed.
void note_line(std::vector<Note>& notes, std::string words);

/// What a line's engine says of it.
struct Launched {
    Deployment on;
    Setting setting{};
    EngineAnswer answer{};
    std::vector<Note> notes{};
    Launch line{};  ///< with what evaluate_server took for what it leaves unsaid
};

/// `beside`: what a line does not say (GPU, non-KV memory, weights), and the load if it is another than as many of the
/// longest requests as run at once: --tokens, --lengths, --batch (of all servers; empty: the line's). Stops at a load
/// that the line's engine would not take.
Launched evaluate(const Launch& launch, const DeploymentOptions& beside);

/// The same of a line as people write it: one of llama-server's may leave its devices (--gpus says how many there are)
/// and its cells to the server.
Launched evaluate_server(const Launch& line, const DeploymentOptions& beside);

}  // namespace kvcap::cli
