// SPDX-License-Identifier: MIT
// kvcap reuse SCENARIO.json | MODEL: how far can this prompt be skipped, why not further, and what would it
// cost?
#include "llamacpp.hpp"
#include "screen.hpp"

#include <filesystem>
#include <kvcap/engine/llamacpp/server.hpp>
#include <kvcap/io/scenario.hpp>
#include <kvcap/io/text_file.hpp>
#include <kvcap/report.hpp>
#include <kvcap/report/reuse.hpp>
#include <kvcap/reuse/model_rules.hpp>
#include <memory>

namespace kvcap::cli {

namespace {

struct ReuseOptions {
    ModelOptions model;
    Output output;
    std::string prompt;
    std::string limit;
    std::string unit;
    std::string page = "16";
    std::string snapshot;
    std::string edge = "past";
    std::vector<std::string> held;
    std::string engine;
    std::string prompts;
    bool explain = false;
    bool steps = false;
};

/// Everything that was evaluated; screens and JSON only read it.
struct Answered {
    const ReuseScenario& scenario;
    ScenarioView view;
    Explanation known;
    std::vector<RepairStep> steps{};
    Repairs repairs{};
    bool priced = false;

    explicit Answered(const ReuseScenario& asked)
        : scenario{asked}, view{asked}, known{explain(view.groups.data(), view.count(), asked.ask)} {
        priced = std::any_of(view.bytes.begin(), view.bytes.end(), [](u64 bytes) { return bytes != 0; });
        if (!priced) {
            view.bytes.assign(view.bytes.size(), 1);
        }
        repairs = repair(view.groups.data(), view.count(), asked.ask, view.prices(),
                         [&](const RepairStep& step) { steps.push_back(step); });
    }
    const ScenarioGroup& group(u32 g) const { return scenario.groups[view.index[g]]; }
};

Rule named_rule(const Answered& answered) {
    const u32 g = answered.known.reason.group;
    return g == no_group ? Rule{} : answered.view.groups[g].rule;
}

std::string named_group(const Answered& answered) {
    const u32 g = answered.known.reason.group;
    return g == no_group ? std::string{} : answered.group(g).name;
}

/// Pages of a group up to the limit, and how many of them are held.
std::pair<u64, u64> pages_to_limit(const Answered& answered, u32 g) {
    const auto& group = answered.view.groups[g];
    const u64 pages =
        group.rule.needs == Needs::whole
            ? group.pages.count
            : smaller(group.pages.count, pages_over(answered.scenario.ask.limit, group.rule.page));
    return {pages, pages - count_missing(group.pages, 0, pages)};
}

u64 needed_pages(const Answered& answered, u32 g) {
    const auto& group = answered.view.groups[g];
    const PageRange range =
        needed(group.rule, answered.known.tokens, answered.scenario.ask.grid, group.pages.count);
    return range.sinks + range.end - range.first;
}

/// all: also what each group would allow alone, and the others without it.
std::string groups_table(const Answered& answered, bool all) {
    constexpr u64 cells = 24;
    using A = report::Align;
    std::vector<A> columns{A::left, A::left, A::right, A::left, A::right, A::right, A::right};
    columns.resize(columns.size() + (all ? 2 : 0), A::right);
    report::Table table{columns};
    const auto row = [&](report::Table::Cells row_cells) {
        row_cells.resize(columns.size());
        table.row(std::move(row_cells));
    };
    row({"group", "needs", "page", "pages along the prompt", "held", "missing", "needed", "alone",
         "without it"});
    for (u32 g = 0; g < answered.view.count(); ++g) {
        const auto& group = answered.view.groups[g];
        const auto [pages, have] = pages_to_limit(answered, g);
        row({answered.group(g).name, report::needs_words(group.rule), report::grouped(group.rule.page),
                   report::page_line(group, answered.scenario.ask.prompt, cells), report::grouped(have),
                   report::grouped(pages - have), report::grouped(needed_pages(answered, g)),
                   report::grouped(answered.known.alone[g]), report::grouped(answered.known.without[g])});
    }
    for (const ScenarioGroup& group : answered.scenario.groups) {
        if (!group.follows.empty()) {
            row({group.name, "what " + group.follows + " needs"});
        }
    }
    const u64 at = answered.known.tokens * cells / answered.scenario.ask.prompt;
    row({"", "", "", std::string(at, ' ') + "^ " + report::grouped(answered.known.tokens)});
    return table.text();
}

std::string verdict(const Answered& answered) {
    const Explanation& known = answered.known;
    const Ask& ask = answered.scenario.ask;
    std::string out = fmt::format("{} of {} prompt tokens can be skipped. ", report::grouped(known.tokens),
                                  report::grouped(ask.prompt));
    out += report::reason_sentence(known.reason, named_rule(answered), named_group(answered));
    if (known.limiting.size() == 1) {
        out += fmt::format(" Without this group it would be {}.", report::grouped(known.reason.refused));
    } else if (known.limiting.size() == 2) {
        out += fmt::format(" {} and {} limit together: without both it would be {}.",
                           answered.group(known.limiting[0]).name, answered.group(known.limiting[1]).name,
                           report::grouped(known.reason.refused));
    }
    return out;
}

/// Small amounts exactly, others also in a unit that suits them.
std::string bytes_words(u64 bytes) {
    return bytes < u64{1} << 20 ? report::exact({bytes})
                                : report::amount_and_exact({bytes}, report::unit_for({bytes}));
}

std::string cost(const Answered& answered, const RepairStep& step) {
    return answered.priced ? bytes_words(step.bytes)
                           : report::counted(step.bytes, "page", "pages");
}

std::string staircase(const Answered& answered, bool all) {
    if (answered.steps.empty()) {
        return answered.known.tokens == answered.scenario.ask.grid.down(answered.scenario.ask.limit)
                   ? std::string{}
                   : "  nothing longer can be reached: what is missing can be had nowhere\n";
    }
    using A = report::Align;
    report::Table table{{A::right, A::right, A::left, A::left}};
    table.row({"to skip", "gained", "fetch or recompute", ""});
    for (auto step = answered.steps.rbegin(); step != answered.steps.rend(); ++step) {
        std::string marks;
        const auto mark = [&](const RepairStep& named, const char* word) {
            marks += *step == named ? (marks.empty() ? "" : ", ") + std::string{word} : "";
        };
        mark(answered.repairs.cheapest, "cheapest");
        mark(answered.repairs.best_rate, "most tokens a byte");
        mark(answered.repairs.longest, "longest");
        if (all || !marks.empty()) {
            table.row({report::grouped(step->tokens),
                       "+" + report::grouped(step->tokens - answered.repairs.now), cost(answered, *step),
                       marks});
        }
    }
    const u64 hidden = all ? 0 : answered.steps.size() - smaller(answered.steps.size(), 3);
    return table.text() + (hidden == 0 ? ""
                                       : fmt::format("  {} steps in all (--steps)\n",
                                                     report::grouped(answered.steps.size())));
}

void write_group(report::Json& json, const Answered& answered, u32 g) {
    const auto& group = answered.view.groups[g];
    const auto [pages, have] = pages_to_limit(answered, g);
    const PageRange range =
        needed(group.rule, answered.known.tokens, answered.scenario.ask.grid, group.pages.count);
    json.object()
        .field("name", answered.group(g).name)
        .field("needs", report::name_of(group.rule.needs))
        .field("page_tokens", group.rule.page)
        .field("pages", pages)
        .field("held_pages", have)
        .field("missing_pages", pages - have)
        .field("needed_pages", needed_pages(answered, g));
    json.array("needed_range", report::Layout::flat).item(range.first).item(range.end).end();
    json.field("alone_tokens", answered.known.alone[g])
        .field("without_tokens", answered.known.without[g])
        .end();
}

void write_step(report::Json& json, std::string_view key, const Answered& answered, const RepairStep& step) {
    json.object(key, report::Layout::flat)
        .field("tokens", step.tokens)
        .field("gained_tokens", step.tokens - answered.repairs.now);
    json.field(answered.priced ? "bytes" : "pages", step.bytes).end();
}

std::string json_of(const Answered& answered) {
    const Explanation& known = answered.known;
    report::Json json;
    json.object()
        .field("schema", "kvcap.reuse/1")
        .field("prompt_tokens", answered.scenario.ask.prompt)
        .field("limit_tokens", answered.scenario.ask.limit)
        .field("unit_tokens", answered.scenario.ask.grid.unit)
        .field("reusable_tokens", known.tokens);
    json.array("limiting", report::Layout::flat);
    for (const u32 g : known.limiting) {
        json.item(std::string_view{answered.group(g).name});
    }
    json.end().object("reason", report::Layout::flat).field("why", report::name_of(known.reason.why));
    json.field("refused_tokens", known.reason.refused);
    known.reason.group == no_group ? json.null("group") : json.field("group", named_group(answered));
    known.reason.page == no_page ? json.null("page") : json.field("page", known.reason.page);
    json.end().array("groups");
    for (u32 g = 0; g < answered.view.count(); ++g) {
        write_group(json, answered, g);
    }
    json.end().object("repair");
    if (!answered.steps.empty()) {
        write_step(json, "cheapest", answered, answered.repairs.cheapest);
        write_step(json, "best_rate", answered, answered.repairs.best_rate);
        write_step(json, "longest", answered, answered.repairs.longest);
    }
    json.array("steps");
    for (auto step = answered.steps.rbegin(); step != answered.steps.rend(); ++step) {
        write_step(json, {}, answered, *step);
    }
    json.end().end().end();
    return json.text();
}

/// "everything x8", "window 1,024 x40", "state x36"
std::string group_name(const ModelRule& one) {
    const Retention& kept = one.retention;
    std::string name{report::name_of(one.rule.needs)};
    if (one.rule.needs == Needs::window || one.rule.needs == Needs::chunk) {
        name += " " + report::grouped(kept.span.value);
    } else if (one.rule.needs == Needs::snapshot) {
        name = kept.keep == Keep::budget ? "budget " + report::grouped(kept.span.value) : "state";
    } else if (one.rule.needs == Needs::whole) {
        name = "encoder";
    }
    return fmt::format("{} x{}", name, one.caches);
}

std::vector<u64> held_words(const std::string& text, const std::string& flag, u64 pages) {
    std::vector<u64> words(pages / 64 + 1, 0);
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::string_view part = rest.substr(0, rest.find(','));
        rest.remove_prefix(smaller(part.size() + 1, rest.size()));
        const std::size_t dash = part.find('-');
        const u64 first = part == "all" ? 0 : count_of(part.substr(0, dash), flag);
        const u64 last = part == "all"                   ? pages - smaller(pages, 1)
                         : dash == std::string_view::npos ? first
                                                          : count_of(part.substr(dash + 1), flag);
        if (first > last || (last >= pages && part != "all")) {
            stop(Exit::usage,
                 fmt::format("{}: pages {} where the prompt has {} (0 to {})", flag, part,
                             report::grouped(pages), report::grouped(pages - smaller(pages, 1))));
        }
        for (u64 page = first; page <= last && page < pages; ++page) {
            words[page / 64] |= u64{1} << (page % 64);
        }
    }
    return words;
}

ModelRules rules_for(const ReuseOptions& options, const Model& model) {
    const PageSizes sizes{
        .page = count_of(options.page, "--page-tokens"),
        .snapshot = count_of(options.snapshot.empty() ? options.page : options.snapshot, "--snapshot-tokens"),
        .edge = options.edge == "full" ? WindowEdge::full : WindowEdge::past};
    return value_of(rules_of(model.spec, sizes), model.label);
}

ReuseScenario scenario_of(const ReuseOptions& options, const ModelRules& rules) {
    ReuseScenario scenario;
    scenario.ask = ask_for(count_of(options.prompt, "--prompt"), 1);
    for (const ModelRule& one : rules) {
        const u64 pages = ceil_div(scenario.ask.prompt, one.rule.page);
        if (pages > io::most_scenario_pages) {
            stop(Exit::usage, fmt::format("{} pages; at most {} are evaluated", report::grouped(pages),
                                          report::grouped(io::most_scenario_pages)));
        }
        scenario.groups.push_back({.name = group_name(one),
                                   .rule = one.rule,
                                   .pages = pages,
                                   .bytes = one.bytes,
                                   .ranks = {std::vector<u64>(pages / 64 + 1, 0)},
                                   .elsewhere = {},
                                   .follows = {}});
    }
    for (const std::string& held : options.held) {
        const std::size_t equals = held.find('=');
        const u64 number = equals == std::string::npos ? 0 : count_of(held.substr(0, equals), "--held");
        if (number == 0 || number > scenario.groups.size()) {
            stop(Exit::usage,
                 fmt::format("--held {}: wanted GROUP=PAGES with a group from 1 to {}, such as 1=0-99,120",
                             held, scenario.groups.size()));
        }
        ScenarioGroup& group = scenario.groups[number - 1];
        group.ranks[0] = held_words(held.substr(equals + 1), "--held " + held, group.pages);
    }
    return scenario;
}

std::string explanation(const Model& model, const ModelRules& rules, const Session& session) {
    std::string out = heading(model, "", session) + "To skip the first p tokens of a prompt:\n";
    u64 unit = 1;
    bool states = false;
    bool all = true;
    for (u32 g = 0; g < rules.size(); ++g) {
        const ModelRule& one = rules[g];
        out += paragraph(fmt::format("  {}. {}: {} ({} a {} of {}).", g + 1, group_name(one),
                                     report::rule_sentence(one.rule), bytes_words(one.bytes),
                                     one.rule.needs == Needs::snapshot ? "state, kept at multiples" : "page",
                                     report::counted(one.rule.page, "token", "tokens"))) +
               '\n';
        unit = one.rule.needs == Needs::whole ? unit : least_common_multiple(unit, one.rule.page);
        states = states || one.rule.needs == Needs::snapshot;
        all = all && one.rule.needs == Needs::everything;
    }
    if (!model.read.shared.empty()) {
        out += paragraph(fmt::format("  {} use another layer's cache and follow its rule.",
                                     report::counted(model.read.shared.size(), "layer", "layers"))) + '\n';
    }
    if (rules.empty()) {
        return out + "  nothing: the model keeps no cache.\n";
    }
    out += paragraph(fmt::format("Granularity: p is a multiple of {}{}.",
                                 report::counted(unit, "token", "tokens"),
                                 states ? ", and only where a state was kept" : "")) +
           '\n';
    out += paragraph(fmt::format("Smallest reusable prefix: {}, so prompts of at least {} tokens{}.",
                                 report::counted(unit, "token", "tokens"), report::grouped(unit + 1),
                                 states ? " that went through such a place before" : "")) + '\n';
    out += all ? ""
               : paragraph(
                     "The answer is the greatest p that every group accepts, which may be less than each "
                     "accepts by itself.") +
                     '\n';
    return out + paragraph("The last token of a prompt is always computed.") + '\n';
}

std::string explanation_json(const ModelRules& rules) {
    report::Json json;
    u64 unit = 1;
    json.object().field("schema", "kvcap.reuse_rules/1").array("groups");
    for (const ModelRule& one : rules) {
        unit = one.rule.needs == Needs::whole ? unit : least_common_multiple(unit, one.rule.page);
        json.object()
            .field("name", group_name(one))
            .field("needs", report::name_of(one.rule.needs))
            .field("page_tokens", one.rule.page)
            .field("reach_tokens", one.rule.reach)
            .field("sink_tokens", one.rule.sinks)
            .field("caches", one.caches)
            .field("bytes_per_page", one.bytes)
            .end();
    }
    return json.end().field("unit_tokens", unit).end().text();
}

/// The scenario when the argument is a file that is one.
std::optional<Diagnosed<ReuseScenario>> scenario_file(const std::string& path) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) {
        return std::nullopt;
    }
    const Diagnosed<std::string> text = read_text_file(path);
    if (!text) {
        return std::nullopt;
    }
    const Diagnosed<JsonDocument> document = load_json(*text, {.values = u32{1} << 22});
    const bool asks =
        document && (root_of(*document)["groups"].present() || root_of(*document)["prompt_tokens"].present());
    return asks ? std::optional{read_scenario(*text)} : std::nullopt;
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

/// The server's own way with whole prompts: its rule, or a file of them one after the other.
void run_llamacpp(const ReuseOptions& options, Session& session) {
    if (options.engine != "llamacpp") {
        stop(Exit::unknown_architecture, "--engine " + options.engine + ": here only llamacpp is known");
    }
    const Model model = load(options.model);
    const LlamaModel llama = llama_model(model);
    const llamacpp::Options context = llamacpp::server_context(llama.card, {});
    const std::string words = options.prompts.empty() ? reuse_rule_words(llama, context)
                                                      : replay_words(llama, context, {}, options.prompts);
    session.print(heading(model, "llama.cpp v0.5.0", session) + words);
}

void run(ReuseOptions& options, Session& session) {
    options.output.begin(session);
    if (options.edge != "past" && options.edge != "full") {
        stop(Exit::usage, "--window-edge " + options.edge + ": wanted past or full");
    }
    if (!options.engine.empty()) {
        return run_llamacpp(options, session);
    }
    if (const auto scenario = scenario_file(options.model.model)) {
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
    ReuseScenario scenario = scenario_of(options, rules);
    if (scenario.ask.prompt == 0) {
        stop(Exit::usage, "--prompt 0: a prompt has at least one token");
    }
    const ScenarioView view{scenario};
    scenario.ask.grid.unit = options.unit.empty() ? common_unit(view.groups.data(), view.count())
                                                  : count_of(options.unit, "--unit-tokens");
    scenario.ask.limit = options.limit.empty() ? scenario.ask.limit : count_of(options.limit, "--limit");
    if (scenario.ask.grid.unit == 0 || scenario.ask.limit > scenario.ask.prompt) {
        stop(Exit::usage, "--unit-tokens must be at least 1 and --limit at most the prompt");
    }
    answer(options, scenario, model.notes, heading(model, "", session), session);
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
    verb->add_option("--engine", options->engine, "llamacpp: its server's way with whole prompts")
        ->type_name("NAME");
    verb->add_option("--prompts", options->prompts, "File of prompts for it, one a line: a:0-600 b:0-20 +8")
        ->type_name("FILE");
    verb->add_flag("--explain", options->explain, "The rule in words; alone and without; every note");
    verb->add_flag("--steps", options->steps, "Every step of the repairs, not three");
    options->model.add_formats_to(*verb);
    options->output.add_to(*verb, false);
    verb->footer(
        "Examples:\n"
        "  kvcap reuse scenario.json\n"
        "  kvcap reuse gemma-3-27b --explain\n"
        "  kvcap reuse '8*gqa(8,128) + 40*window(1024, gqa(8,128))' --prompt 4k --held 1=all --held "
        "2=100-250");
    verb->callback([options, &session] { run(*options, session); });
}

}  // namespace kvcap::cli
