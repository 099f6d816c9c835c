// SPDX-License-Identifier: MIT
// How far a prompt can be skipped, on the screen and as JSON.
#include "reuse.hpp"

#include <algorithm>
#include <kvcap/report/reuse.hpp>

namespace kvcap::cli {

namespace {

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

}  // namespace

Answered::Answered(const ReuseScenario& asked)
    : scenario{asked}, view{asked}, known{explain(view.groups.data(), view.count(), asked.ask)} {
    priced = std::any_of(view.bytes.begin(), view.bytes.end(), [](u64 bytes) { return bytes != 0; });
    if (!priced) {
        view.bytes.assign(view.bytes.size(), 1);
    }
    repairs = repair(view.groups.data(), view.count(), asked.ask, view.prices(),
                     [&](const RepairStep& step) { steps.push_back(step); });
}

namespace {

/// A name as far as a table has room for it.
std::string cell_name(const std::string& given) {
    constexpr std::size_t most = 24;
    const std::string name = printable(given);
    return report::width_of(name) <= most ? name : name.substr(0, most - 3) + "...";
}

/// The rows with `cells` characters of pages. with_needs: the rule in words beside the name.
std::string pages_table(const Answered& answered, u64 cells, bool with_needs) {
    using A = report::Align;
    std::vector<A> columns{A::left, A::right, A::left, A::right, A::right, A::right};
    columns.insert(columns.begin() + 1, with_needs ? 1 : 0, A::left);
    report::Table table{columns};
    const auto row = [&](const std::string& name, const std::string& needs, report::Table::Cells rest) {
        rest.insert(rest.begin(), with_needs ? 1 : 0, needs);
        rest.insert(rest.begin(), name);
        rest.resize(columns.size());
        table.row(std::move(rest));
    };
    row("group", "needs",
        {"page", cells < 22 ? "pages" : "pages along the prompt", "held", "missing", "needed"});
    for (u32 g = 0; g < answered.view.count(); ++g) {
        const auto& group = answered.view.groups[g];
        const auto [pages, have] = pages_to_limit(answered, g);
        row(cell_name(answered.group(g).name), report::needs_words(group.rule),
            {report::grouped(group.rule.page), report::page_line(group, answered.scenario.ask.prompt, cells),
             report::grouped(have), report::grouped(pages - have),
             report::grouped(needed_pages(answered, g))});
    }
    for (const ScenarioGroup& group : answered.scenario.groups) {
        if (!group.follows.empty() && with_needs) {
            row(cell_name(group.name), "what " + cell_name(group.follows) + " needs", {});
        }
    }
    const u64 at = answered.known.tokens * cells / answered.scenario.ask.prompt;
    row("", "", {"", std::string(at, ' ') + "^ " + report::grouped(answered.known.tokens)});
    return table.text();
}

/// What each group needs, and with `all` what it allows alone and the others without it.
std::string rules_table(const Answered& answered, bool all) {
    using A = report::Align;
    report::Table table{{A::left, A::left, A::right, A::right}};
    table.row({"group", "needs", all ? "alone" : "", all ? "without it" : ""});
    for (u32 g = 0; g < answered.view.count(); ++g) {
        table.row({cell_name(answered.group(g).name), report::needs_words(answered.view.groups[g].rule),
                   all ? report::grouped(answered.known.alone[g]) : "",
                   all ? report::grouped(answered.known.without[g]) : ""});
    }
    for (const ScenarioGroup& group : answered.scenario.groups) {
        if (!group.follows.empty()) {
            table.row({cell_name(group.name), "what " + cell_name(group.follows) + " needs", "", ""});
        }
    }
    return table.text();
}

bool fits_screen(const std::string& text) {
    constexpr std::size_t columns = 80;
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
        if (report::width_of(std::string_view{text}.substr(at, text.find('\n', at) - at)) > columns) {
            return false;
        }
    }
    return true;
}

}  // namespace

/// all: also what each group would allow alone, and the others without it.
std::string groups_table(const Answered& answered, bool all) {
    constexpr u64 most = 24;
    constexpr u64 least = 12;
    for (u64 cells = most; cells >= least && !all; --cells) {
        std::string one = pages_table(answered, cells, true);
        if (fits_screen(one)) {
            return one;
        }
    }
    u64 cells = most;
    while (cells > least && !fits_screen(pages_table(answered, cells, false))) {
        --cells;
    }
    return pages_table(answered, cells, false) + rules_table(answered, all);
}

std::string verdict(const Answered& answered) {
    const Explanation& known = answered.known;
    const Ask& ask = answered.scenario.ask;
    std::string out = fmt::format("{} of {} prompt tokens can be skipped. ", report::grouped(known.tokens),
                                  report::grouped(ask.prompt));
    out += report::reason_sentence(known.reason, named_rule(answered), printable(named_group(answered)));
    if (known.limiting.size() == 1) {
        out += fmt::format(" Without this group it would be {}.", report::grouped(known.reason.refused));
    } else if (known.limiting.size() == 2) {
        out += fmt::format(" {} and {} limit together: without both it would be {}.",
                           printable(answered.group(known.limiting[0]).name),
                           printable(answered.group(known.limiting[1]).name),
                           report::grouped(known.reason.refused));
    }
    return out;
}

std::string bytes_words(u64 bytes) {
    return bytes < u64{1} << 20 ? report::exact({bytes})
                                : report::amount_and_exact({bytes}, report::unit_for({bytes}));
}

namespace {

std::string cost(const Answered& answered, const RepairStep& step) {
    return answered.priced ? bytes_words(step.bytes) : report::counted(step.bytes, "page", "pages");
}

}  // namespace

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

namespace {

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

}  // namespace

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

}  // namespace kvcap::cli
