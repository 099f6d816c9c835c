// SPDX-License-Identifier: MIT
// kvcap reuse SCENARIO.json | MODEL: how far can this prompt be skipped, why not further, and what would it
// cost?
#include "options.hpp"
#include "pairs.hpp"
#include "reuse.hpp"
#include "screen.hpp"

#include <filesystem>
#include <kvcap/io/scenario.hpp>
#include <kvcap/io/text_file.hpp>
#include <memory>

namespace kvcap::cli {

namespace {

/// The scenario when the argument is a file that is one; problems name the file.
std::optional<Diagnosed<ReuseScenario>> scenario_file(const std::string& path) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) {
        return std::nullopt;
    }
    const Diagnosed<std::string> text = read_text_file(path);
    if (!text) {
        return std::nullopt;
    }
    const Diagnosed<JsonDocument> document = load_json(*text, scenario_limits);
    const bool asks =
        document && (root_of(*document)["groups"].present() || root_of(*document)["prompt_tokens"].present());
    if (!asks) {
        return std::nullopt;
    }
    Diagnosed<ReuseScenario> read = read_scenario(*document);
    if (!read) {
        read.error = io::in_file(path, *std::move(read.error));
    }
    return read;
}

void answer(const ReuseOptions& options, const ReuseScenario& scenario, const std::vector<Note>& notes,
            const std::string& title, Session& session) {
    const Answered answered{scenario};
    if (options.output.json) {
        return session.print(json_of(answered));
    }
    const Ask& ask = scenario.ask;
    std::string out = title + fmt::format("  prompt {} tokens, at most {} may be skipped, in steps of {}\n",
                                          report::grouped(ask.prompt), report::grouped(ask.limit),
                                          report::grouped(ask.grid.unit));
    out += groups_table(answered, options.explain) + paragraph(session.bold(verdict(answered))) + '\n';
    session.print(out + staircase(answered, options.steps) + notes_text(notes, options.explain, session));
}

void only_with_engine(const ReuseOptions& options) {
    const bool split = options.sharding.tp != 1 || options.sharding.pp != 1 || options.sharding.cp != 1 ||
                       options.sharding.dp != 1 || options.sharding.dp_attention;
    if (!options.prompts.empty() || !options.budget.empty() || !options.max_len.empty() || split) {
        stop(Exit::usage, "--prompts, --kv-budget, --engine-max-len and the split need an --engine");
    }
    static_cast<void>(options.engine.flags());
}

/// What was asked for and could change nothing.
void refuse_idle(const CLI::App& verb, const ReuseOptions& options, bool scenario) {
    const bool engine = options.engine.face().name != "exact";
    if (engine) {
        refuse_given(verb, {"--unit-tokens", "--snapshot-tokens", "--window-edge"},
                     "the engine's own rules say where a prompt may be skipped; leave it out");
    }
    if (!options.prompts.empty()) {
        refuse_given(verb, {"--limit", "--steps", "--page-tokens"},
                     "--prompts runs whole prompts; it is asked of one, with --prompt N");
    }
    if (scenario) {
        refuse_given(verb, {"--window-edge"}, "a scenario says which pages a window needs");
        refuse_given(verb, {"--kv-cache-dtype", "--state-dtype", "--conv-dtype", "--index-dtype"},
                     "a scenario says how large its pages are; it is asked of a MODEL");
        refuse_given(verb, {"--tp", "--pp", "--dp-attention", "--kv-budget", "--engine-max-len"},
                     "a scenario says which pages there are; it is asked of a MODEL");
    } else if (options.prompt.empty() && options.prompts.empty()) {
        refuse_given(verb, {"--held", "--limit", "--steps"}, "it is asked of a prompt; wanted --prompt N as well");
    }
    refuse_formats(options.engine.face(), options.model);
}

void run(ReuseOptions& options, const CLI::App& verb, Session& session) {
    options.output.begin(session);
    if (options.edge != "past" && options.edge != "full") {
        stop(Exit::usage, "--window-edge " + options.edge + ": wanted past or full");
    }
    const auto scenario = scenario_file(options.model.model);
    const bool asked = !options.prompt.empty() || !options.held.empty() || !options.limit.empty() ||
                       !options.unit.empty() || !options.page.empty() || !options.snapshot.empty();
    if (scenario && asked) {
        stop(Exit::usage,
             "--prompt, --held, --limit and the sizes ask about a MODEL; a scenario says them itself");
    }
    refuse_idle(verb, options, scenario.has_value());
    const u64 prompt = options.prompt.empty() ? 0 : count_of(options.prompt, "--prompt");
    if (prompt > io::most_scenario_tokens) {  // as in scenarios and the C interface
        stop(Exit::usage, fmt::format("--prompt: {} tokens; at most {} are evaluated", report::grouped(prompt),
                                      report::grouped(io::most_scenario_tokens)));
    }
    if (options.engine.face().name != "exact") {
        return run_engine(options, scenario, session);
    }
    if (!options.engine.version().empty()) {
        stop(Exit::unknown_architecture, "--engine: exact has no versions");
    }
    only_with_engine(options);
    if (scenario) {
        const ReuseScenario read = value_of(*scenario);
        return answer(options, read, scenario->notes, "", session);
    }
    const Model model = load(options.model);
    const ModelRules rules = rules_for(options, model);
    if (options.prompt.empty()) {
        if (!options.explain) {
            stop(Exit::usage,
                 "a model alone is no question: --explain shows its rule, --prompt N with --held asks one");
        }
        return session.print(options.output.json ? explanation_json(rules)
                                                 : explanation(model, rules, session) +
                                                       notes_text(model.notes, false, session));
    }
    answer(options, scenario_of(options, rules), model.notes, heading(model, "", session), session);
}

}  // namespace

void add_reuse(CLI::App& app, Session& session) {
    const auto options = std::make_shared<ReuseOptions>();
    CLI::App* verb = app.add_subcommand("reuse", "How far a prompt can be skipped, and why not further");
    verb->add_option("SCENARIO", options->model.model, "A scenario (JSON), or a MODEL")
        ->required()
        ->type_name("");
    verb->add_option("--prompt", options->prompt, "Tokens of the prompt (with a MODEL)")->type_name("N");
    verb->add_option("--held", options->held, "Pages held by a group: 1=0-99,120 or 2=all; none by default")
        ->type_name("G=PAGES");
    verb->add_option("--limit", options->limit, "Most tokens that may be skipped: the prompt less one")
        ->type_name("N");
    verb->add_option("--page-tokens", options->page, "Tokens of a page (16)")->type_name("N");
    verb->add_option("--snapshot-tokens", options->snapshot, "Tokens between kept states: a page")
        ->type_name("N");
    verb->add_option("--unit-tokens", options->unit, "Boundaries: multiples on which all pages are whole")
        ->type_name("N");
    verb->add_option("--window-edge", options->edge, "past: w - 1 earlier tokens (default); full: w")
        ->type_name("EDGE");
    verb->add_flag("--explain", options->explain, "The rule in words; alone and without; every note");
    verb->add_flag("--steps", options->steps, "Every step of the repairs, not three");
    options->engine.add_to(*verb);
    verb->add_option("--prompts", options->prompts, "File of prompts for it, one a line: a:0-600 b:0-20 +8")
        ->type_name("FILE")
        ->group("Engine");
    verb->add_option("--kv-budget", options->budget, "Bytes for its cache on each rank; without, no eviction")
        ->type_name("BYTES")
        ->group("Engine");
    verb->add_option("--engine-max-len", options->max_len, "Longest request it is started for")
        ->type_name("N")
        ->group("Engine");
    options->sharding.add_to(*verb);
    options->model.add_formats_to(*verb);
    options->output.add_to(*verb, false, false);
    verb->footer(
        "Examples:\n"
        "  kvcap reuse scenario.json\n"
        "  kvcap reuse scenario.json --engine vllm\n"
        "  kvcap reuse gemma-3-27b --explain\n"
        "  kvcap reuse gemma-3-27b --engine vllm@0.28 --prompts chat.txt --num-gpu-blocks-override 4000\n"
        "  kvcap reuse '8*gqa(8,128) + 40*window(1024, gqa(8,128))' --prompt 4k --held 1=all --held "
        "2=100-250");
    verb->callback([options, verb, &session] { run(*options, *verb, session); });
}

}  // namespace kvcap::cli
