// SPDX-License-Identifier: MIT
// kvcap reuse --engine: which question it is (pages of a scenario, pages of a model's groups, whole prompts), and for
// llama.cpp the server's own way.
#include "reuse_engine.hpp"
#include "context_ranks.hpp"
#include "llamacpp.hpp"
#include "reuse_prompts.hpp"
#include "screen.hpp"

#include <kvcap/engine/llamacpp/server.hpp>
#include <kvcap/report/reuse.hpp>
#include <kvcap/report/size_json.hpp>

namespace kvcap::cli {

namespace {

/// The server's own way with whole prompts: its rule, or a file of them one after the other.
void run_llamacpp(const ReuseOptions& options, bool scenario, Session& session) {
    const std::string version = options.engine.version();
    if (!version.empty() && version != "0.5.0" && version != "v0.5.0") {
        stop(Exit::unknown_architecture, fmt::format("--engine: llama-server's way with prompts is known for "
                                                     "0.5.0; {} is not known (nearest: llamacpp@0.5.0)",
                                                     version));
    }
    if (const EngineFlags flags = options.engine.flags(); !flags.empty()) {
        stop(Exit::usage, fmt::format("--{}: kvcap llamacpp MODEL --prompts FILE takes the server's options",
                                      flags.begin()->first));
    }
    if (scenario || !options.prompt.empty() || !options.held.empty()) {
        stop(Exit::usage,
             "--engine llamacpp: slots hold whole prompts, not pages; wanted a MODEL, and --prompts "
             "FILE or nothing");
    }
    const ShardingOptions& split = options.sharding;
    const bool splits = split.tp != 1 || split.pp != 1 || split.cp != 1 || split.dp != 1 || split.dp_attention ||
                        !split.pp_split.empty();
    if (splits || !options.budget.empty() || !options.max_len.empty()) {
        stop(Exit::usage, "--engine llamacpp: what a slot finds again depends on no split, budget or length of the "
                          "engine; kvcap llamacpp MODEL --prompts FILE takes the server's options");
    }
    const Model model = load(options.model);
    const LlamaModel llama = llama_model(model);
    const llamacpp::Options context = llamacpp::server_context(llama.card, {});
    const std::string title = heading(model, "llama.cpp v0.5.0", session);
    if (options.prompts.empty()) {
        const ServerRule rule = server_rule(llama, context);
        return session.print(options.output.json ? rule_json(rule, model, llama) : title + rule_words(rule));
    }
    const std::vector<ServerRequest> requests = replay_on_server(llama, context, {}, options.prompts);
    session.print(options.output.json ? replay_json(requests, model, llama) : title + replay_words(requests));
}

/// The same as kvcap reuse MODEL --explain --json, with the engine's groups.
std::string explanation_json(const ReuseScenario& scenario, const UnderEngine& engine) {
    report::Json json;
    json.object().field("schema", "kvcap.reuse_rules/1").field("engine", engine.name());
    json.field("rules", std::string_view{engine.rules()}).array("groups");
    for (const ScenarioGroup& group : scenario.groups) {
        json.object().field("name", group.name);
        write_rule(json, group.rule);
        json.field("bytes_per_page", group.bytes).end();
    }
    json.end().field("unit_tokens", scenario.ask.grid.unit);
    report::write_notes(json, engine.notes());
    return json.end().text();
}

/// The groups that the engine makes of the model, numbered as --held takes them.
void explain_groups(const ReuseOptions& options, const Model& model, Session& session) {
    constexpr u64 usual_context = 131'072;
    ReuseOptions one = options;
    const u64 context = model.read.max_context == 0 ? usual_context : model.read.max_context;
    one.prompt = std::to_string(context);
    UnderEngine engine{one, &model, context};
    const ReuseScenario scenario = engine_scenario(one, engine);
    if (options.output.json) {
        return session.print(explanation_json(scenario, engine));
    }
    std::string out = heading(model, engine.rules(), session) + "To skip the first p tokens of a prompt:\n";
    u64 number = 0;
    for (const ScenarioGroup& group : scenario.groups) {
        out += paragraph(fmt::format("  {}. {}: {} (pages of {}).", ++number, group.name,
                                     report::rule_sentence(group.rule),
                                     report::counted(group.rule.page, "token", "tokens"))) +
               '\n';
    }
    session.print(out + notes_text(engine.notes(), true, session));
}

u64 longest_of(const std::vector<report::ReplayRequest>& prompts) {
    u64 longest = 0;
    for (const report::ReplayRequest& one : prompts) {
        longest = larger(longest, one.tokens.size() + one.generated.size());
    }
    return longest;
}

}  // namespace

void run_engine(const ReuseOptions& options, const std::optional<Diagnosed<ReuseScenario>>& scenario,
                Session& session) {
    if (options.engine.face().name == "llamacpp") {
        return run_llamacpp(options, scenario.has_value(), session);
    }
    if (scenario) {
        const ReuseScenario read = value_of(*scenario);
        if (!options.prompts.empty()) {
            stop(Exit::usage, "--prompts: wanted a MODEL, not a scenario");
        }
        for (const char* flag :
             {"block-size", "num-gpu-blocks-override", "max-total-tokens", "max-kv-tokens"}) {
            if (options.engine.flags().count(flag) != 0) {
                stop(Exit::usage, fmt::format("--{}: the scenario says which pages there are", flag));
            }
        }
        UnderEngine engine{options, nullptr, read.ask.prompt};
        return answer_presence(options, read, scenario->notes, engine, "", session);
    }
    const Model model = load(options.model);
    const EngineFace& face = options.engine.face();
    refuse_context_ranks(options.sharding, face);
    refuse_attention_ranks(options.sharding, face.name);
    refuse_split(model, split_under(face, options.sharding), options.sharding, face);
    if (!options.prompts.empty()) {
        if (!options.prompt.empty() || !options.held.empty()) {
            stop(Exit::usage, "--prompts runs whole prompts; --prompt and --held ask about pages");
        }
        const std::vector<report::ReplayRequest> prompts = prompts_of(options.prompts);
        UnderEngine engine{options, &model, longest_of(prompts)};
        return answer_prompts(options, engine, prompts, heading(model, engine.rules(), session), session);
    }
    if (options.prompt.empty() && options.explain && options.held.empty()) {
        return explain_groups(options, model, session);
    }
    if (options.prompt.empty()) {
        stop(Exit::usage,
             "a model alone is no question: --prompts FILE runs prompts, --prompt N with --held asks "
             "about pages");
    }
    UnderEngine engine{options, &model, larger(1, count_of(options.prompt, "--prompt"))};
    answer_presence(options, engine_scenario(options, engine), model.notes, engine,
                    heading(model, engine.rules(), session), session);
}

}  // namespace kvcap::cli
