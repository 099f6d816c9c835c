// SPDX-License-Identifier: MIT
// A model's groups: what each must hold, and questions about pages held.
#include "reuse.hpp"
#include "screen.hpp"

#include <kvcap/io/scenario.hpp>
#include <kvcap/report/reuse.hpp>

namespace kvcap::cli {

namespace {

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
        const u64 last = part == "all"                    ? pages - smaller(pages, 1)
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

}  // namespace

ModelRules rules_for(const ReuseOptions& options, const Model& model) {
    const std::string page = options.page.empty() ? "16" : options.page;
    const PageSizes sizes{
        .page = count_of(page, "--page-tokens"),
        .snapshot = count_of(options.snapshot.empty() ? page : options.snapshot, "--snapshot-tokens"),
        .edge = options.edge == "full" ? WindowEdge::full : WindowEdge::past};
    return value_of(rules_of(model.spec, sizes), model.label);
}

void add_group(ReuseScenario& scenario, std::string name, const Rule& rule, u64 bytes) {
    const u64 pages = ceil_div(scenario.ask.prompt, rule.page);
    if (pages > io::most_scenario_pages) {
        stop(Exit::usage, fmt::format("{} pages; at most {} are evaluated", report::grouped(pages),
                                      report::grouped(io::most_scenario_pages)));
    }
    scenario.groups.push_back({.name = std::move(name),
                               .rule = rule,
                               .pages = pages,
                               .bytes = bytes,
                               .ranks = {std::vector<u64>(pages / 64 + 1, 0)},
                               .elsewhere = {},
                               .follows = {}});
}

void ask_with(const ReuseOptions& options, ReuseScenario& scenario) {
    for (const std::string& held : options.held) {
        const std::size_t equals = held.find('=');
        const u64 number = equals == std::string::npos ? 0 : count_of(held.substr(0, equals), "--held");
        if (number == 0 || number > scenario.groups.size()) {
            stop(Exit::usage,
                 fmt::format("--held {}: wanted GROUP=PAGES with a group from 1 to {}, such as 1=0-99,120",
                             held, scenario.groups.size()));
        }
        ScenarioGroup& group = scenario.groups[number - 1];
        const std::vector<u64> words = held_words(held.substr(equals + 1), "--held " + held, group.pages);
        for (std::size_t i = 0; i < words.size(); ++i) {
            group.ranks[0][i] |= words[i];
        }
    }
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
}

ReuseScenario scenario_of(const ReuseOptions& options, const ModelRules& rules) {
    ReuseScenario scenario;
    scenario.ask = ask_for(count_of(options.prompt, "--prompt"), 1);
    for (const ModelRule& one : rules) {
        add_group(scenario, group_name(one), one.rule, one.bytes);
    }
    ask_with(options, scenario);
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
                                     report::counted(model.read.shared.size(), "layer", "layers"))) +
               '\n';
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
                                 states ? " that went through such a place before" : "")) +
           '\n';
    out += all ? ""
               : paragraph(
                     "The answer is the greatest p that every group accepts, which may be less than each "
                     "accepts by itself.") +
                     '\n';
    return out + paragraph("The last token of a prompt is always computed.") + '\n';
}

void write_rule(report::Json& json, const Rule& rule) {
    json.field("needs", report::name_of(rule.needs)).field("page_tokens", rule.page);
    json.field("reach_tokens", rule.reach).field("sink_tokens", rule.sinks);
}

std::string explanation_json(const ModelRules& rules) {
    report::Json json;
    u64 unit = 1;
    json.object().field("schema", "kvcap.reuse_rules/1").array("groups");
    for (const ModelRule& one : rules) {
        unit = one.rule.needs == Needs::whole ? unit : least_common_multiple(unit, one.rule.page);
        json.object().field("name", group_name(one));
        write_rule(json, one.rule);
        json.field("caches", one.caches).field("bytes_per_page", one.bytes).end();
    }
    return json.end().field("unit_tokens", unit).end().text();
}

}  // namespace kvcap::cli
