// SPDX-License-Identifier: MIT
// kvcap plan MODEL: which split of n GPUs serves this best, what was dropped and why, and the engine's launch
// line.
#include "plan.hpp"

#include "options.hpp"
#include "screen.hpp"

#include <memory>

namespace kvcap::cli {

bool PlanOptions::gives(const char* flag) const {
    return verb->get_option(flag)->count() != 0;
}

bool PlanOptions::fixes(const char* flag) const {
    return fixed.at(flag)->count() != 0;
}

namespace {

/// --emit names the engine, unless --engine already did.
PlanOptions with_emitted_engine(PlanOptions options) {
    std::string& asked = options.on.engine.engine;
    if (options.emit.empty()) {
        asked = asked.empty() ? "vllm" : asked;
        return options;
    }
    const std::string engine = engine_of_program(options.emit);
    if (engine != "vllm" && engine != "sglang" && engine != "llamacpp" && engine != "trtllm") {
        stop(Exit::usage,
             fmt::format("--emit: {} is none of vllm, sglang, llama-server, trtllm", options.emit));
    }
    if (!asked.empty() && !is_of_engine(asked, engine)) {
        stop(Exit::usage,
             fmt::format("--emit {} and --engine {}: a line carries what its own engine evaluated",
                         options.emit, asked));
    }
    asked = asked.empty() ? engine : asked;
    return options;
}

void refuse_contradictions(const PlanOptions& options) {
    if (options.output.json && !options.emit.empty()) {
        stop(Exit::usage, "--emit and --json: a launch line is no JSON; one of them is wanted");
    }
    if (!options.launch.empty() && !options.emit.empty()) {
        stop(Exit::usage, "--emit and --launch: a line is written or read; one of them is wanted");
    }
}

void run(const PlanOptions& given, Session& session) {
    given.output.begin(session);
    refuse_contradictions(given);
    if (!given.launch.empty()) {
        return judge_line(given, session);
    }
    const PlanOptions options = with_emitted_engine(given);
    if (options.on.model.model.empty()) {
        stop(Exit::usage, "MODEL is required, or --launch with a launch line");
    }
    std::vector<Note> notes;
    const Search search = search_for(options, notes);
    if (search.on.memory.weights_given && options.on.memory.gpus > 1 && !options.fixes("--tp")) {
        notes.push_back({Origin::assumed, "--weights-bytes",
                         "so much on each rank of every split that is tried, of which one alone has it: --tp and --pp "
                         "leave that one"});
    }
    const SearchResult found = run_search(search);
    session.exit = exit_of(found);
    if (!options.emit.empty()) {
        return emit_line(search, found, options, notes, session);
    }
    session.print(options.output.json
                      ? plan_json(search, found, notes)
                      : plan_screen(search, found, options.top, session) + notes_text(notes, false, session));
}

}  // namespace

void add_plan(CLI::App& app, Session& session) {
    const auto options = std::make_shared<PlanOptions>();
    options->on.engine.engine.clear();  // vllm, or the one that --emit names
    CLI::App* verb = app.add_subcommand("plan", "Which split of the GPUs serves this best, and why");
    options->on.add_to(*verb);
    verb->get_option("MODEL")->required(false);
    verb->add_option("--goal", options->goal, "sequences, context or read")->group("Search");
    verb->add_option("--dtypes", options->dtypes, "KV formats to try, a list (auto,fp8)")->group("Search");
    verb->add_option("--block-sizes", options->blocks, "Block sizes to try; 0 = engine's")->group("Search");
    verb->add_option("--emit", options->emit, "Launch line of the best: vllm, sglang ...")->group("Search");
    verb->add_option("--launch", options->launch, "A launch line to evaluate instead")->group("Search");
    verb->add_option("--top", options->top, "How many to list")
        ->group("Search")
        ->check(CLI::Range(1u, 65536u).description(""));
    options->verb = verb;
    for (const char* flag : fixable) {
        options->fixed[flag] = verb->get_option(flag);
    }
    options->output.add_to(*verb, false);
    verb->footer(
        "Examples:\n"
        "  kvcap plan deepseek-v3 --gpu h200 --gpus 8 --tokens 32k --batch 16\n"
        "  kvcap plan llama-3.1-70b --gpu h100 --gpus 8 --tokens 32k --goal context\n"
        "  kvcap plan qwen3-next-80b-a3b --gpu h100 --gpus 4 --emit vllm\n"
        "  kvcap plan --gpu h100 --launch 'vllm serve llama-3-8b --max-model-len 8192'");
    verb->callback([options, &session] { run(*options, session); });
}

}  // namespace kvcap::cli
