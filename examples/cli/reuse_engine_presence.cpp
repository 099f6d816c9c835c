// SPDX-License-Identifier: MIT
// The engine's hit for given pages beside the ideal one, and which of its rules take how much.
#include "reuse_engine.hpp"
#include "screen.hpp"

#include <kvcap/report.hpp>
#include <kvcap/report/reuse.hpp>
#include <kvcap/report/reuse_sglang.hpp>
#include <kvcap/report/reuse_trtllm.hpp>
#include <kvcap/report/reuse_vllm.hpp>

namespace kvcap::cli {

Rule window_rule(const Model& model) {
    for (const LayerForm& form : model.read.spec.forms) {
        const Keep keep = form.retention.keep;
        if ((keep == Keep::window || keep == Keep::chunk) && form.kind != Kind::compressor) {
            return rule_of(form.retention, 1);
        }
    }
    return {};
}

ReuseScenario engine_scenario(const ReuseOptions& options, const UnderEngine& engine) {
    if (!options.page.empty()) {
        stop(Exit::usage,
             fmt::format("--page-tokens: {} decides the pages itself; its own flag is {}", engine.title(),
                         engine.name() == "vllm"     ? "--block-size"
                         : engine.name() == "sglang" ? "--page-size"
                                                     : "--tokens-per-block"));
    }
    const PoolPlan& plan = engine.plan();
    ReuseScenario scenario;
    scenario.ask = ask_for(count_of(options.prompt, "--prompt"), 1);
    for (u32 c = 0; c < plan.classes.size(); ++c) {
        const GroupClass& kind = plan.classes[c];
        const bool state = kind.retention.keep == Keep::last;
        const u64 block = state && kind.block == 1 ? plan.reported_block : kind.block;
        Rule rule = rule_of(kind.retention, block * (state ? 1 : larger(kind.steps.share, 1)));
        if (rule.needs == Needs::window) {
            const Rule own = window_rule(*engine.model());
            rule.needs = own.needs == Needs::chunk ? Needs::chunk : Needs::window;
            rule.reach = engine.name() == "sglang" || own.needs == Needs::chunk ? own.reach : rule.reach;
        }
        if (state && !options.snapshot.empty()) {
            rule.page = count_of(options.snapshot, "--snapshot-tokens");
        }
        if (rule.page == 0 || rule.page % block != 0) {
            stop(Exit::usage, fmt::format("--snapshot-tokens: {} is no multiple of {}", rule.page, block));
        }
        add_group(scenario, engine.rows()[c].holds, rule, (kind.page * kind.groups).value);
    }
    ask_with(options, scenario);
    return scenario;
}

namespace {

/// The scenario's groups with one bit a page, every rank's shard counted in.
struct Held {
    std::vector<std::vector<u64>> words;
    std::vector<report::EngineGroup> groups;

    explicit Held(const ScenarioView& view) {
        for (const Group<ShardBits>& group : view.groups) {
            std::vector<u64>& own = words.emplace_back();
            for (u64 i = 0; i <= group.pages.count / 64; ++i) {
                own.push_back(word_of(group.pages, i));
            }
            groups.push_back({.group = {group.rule, {own.data(), group.pages.count}}});
        }
    }
};

/// The one page size that an engine has: its flag, or what all groups of the scenario have.
u64 common_page(const UnderEngine& engine, const ReuseScenario& scenario, std::string_view flag) {
    if (engine.flags().has(flag) || engine.model() != nullptr) {
        return engine.plan().reported_block;
    }
    u64 page = 0;
    for (const ScenarioGroup& group : scenario.groups) {
        if (!group.follows.empty() || group.rule.needs == Needs::snapshot ||
            group.rule.needs == Needs::whole) {
            continue;
        }
        if (page != 0 && page != group.rule.page) {
            stop(Exit::usage,
                 fmt::format("{} has one page size, and group {} has pages of {}, another of {}: "
                             "--{} says which",
                             engine.title(), printable(group.name), group.rule.page, page, flag));
        }
        page = group.rule.page;
    }
    for (const ScenarioGroup& group : scenario.groups) {
        page = page == 0 && group.follows.empty() ? group.rule.page : page;
    }
    return page;
}

Result<report::Compared> compared(const UnderEngine& engine, const ReuseScenario& scenario, Held& held) {
    const EngineQuestion& flags = engine.flags();
    const PoolPlan& plan = engine.plan();
    const bool planned = engine.model() != nullptr;
    if (engine.name() == "vllm") {
        bool dealt = false;
        for (u32 g = 0; planned && g < held.groups.size(); ++g) {
            held.groups[g].draft = plan.classes[g].draft;
            dealt = dealt || plan.classes[g].steps.share > 1;
        }
        return report::compare_vllm(held.groups, scenario.ask,
                                    {.match_unit = flags.number("prefix-match-unit", 0),
                                     .speculative = flags.has("num-speculative-tokens"),
                                     .context_parallel = dealt});
    }
    for (u32 g = 0; planned && engine.name() == "sglang" && g < held.groups.size(); ++g) {
        held.groups[g].window = plan.classes[g].retention.span.value;
    }
    if (engine.name() == "sglang") {
        return report::compare_sglang(held.groups, scenario.ask, common_page(engine, scenario, "page-size"));
    }
    return report::compare_trtllm(held.groups, scenario.ask,
                                  {.tokens_per_block = common_page(engine, scenario, "tokens-per-block"),
                                   .second = flags.has("use-kv-cache-manager-v2")});
}

[[noreturn]] void stop_at(const Error& error, const UnderEngine& engine, const Answered& answered) {
    if (error.code != Errc::unsupported || error.layer >= answered.view.count()) {
        stop(error, engine.title());
    }
    stop(Exit::usage, fmt::format("{} has no look-up for group {}: it needs {}", engine.title(),
                                  printable(answered.group(error.layer).name),
                                  report::needs_words(answered.view.groups[error.layer].rule)));
}

std::string presence_json(const UnderEngine& engine, const Answered& answered, const report::Compared& hit) {
    report::Json json;
    json.object()
        .field("schema", "kvcap.reuse.engine/1")
        .field("mode", "presence")
        .field("engine", engine.name())
        .field("rules", std::string_view{engine.rules()})
        .field("prompt_tokens", answered.scenario.ask.prompt)
        .field("limit_tokens", answered.scenario.ask.limit)
        .field("unit_tokens", answered.scenario.ask.grid.unit);
    const u64 tail = answered.scenario.ask.grid.tail;
    tail == off_scale ? json.null("tail_tokens") : json.field("tail_tokens", tail);
    json.field("alignment_tokens", hit.alignment)
        .field("hit_tokens", hit.hit)
        .field("ideal_tokens", hit.ideal);
    write_lifted(json, hit.lifted);
    json.array("groups");
    for (u32 g = 0; g < answered.view.count(); ++g) {
        json.object({}, report::Layout::flat)
            .field("name", std::string_view{answered.group(g).name})
            .field("needs", report::name_of(answered.view.groups[g].rule.needs))
            .field("page_tokens", answered.view.groups[g].rule.page)
            .field("alone_tokens", answered.known.alone[g])
            .end();
    }
    json.end();
    report::write_notes(json, engine.notes());
    return json.end().text();
}

std::string presence_words(const UnderEngine& engine, const report::Compared& hit, u64 prompt) {
    const std::string both = fmt::format("{} skips {} of {} prompt tokens", engine.rules(),
                                         report::grouped(hit.hit), report::grouped(prompt));
    if (hit.beyond()) {
        return fmt::format(
            "{}, MORE than the {} that the pages held allow: a chunk does not begin where a block "
            "does.",
            both, report::grouped(hit.ideal));
    }
    return hit.hit == hit.ideal
               ? both + ", all that the pages held allow."
               : fmt::format("{}; the pages held allow {}:", both, report::grouped(hit.ideal));
}

}  // namespace

std::string lifted_lines(const std::vector<report::Lifted>& lifted, bool named) {
    std::string out;
    for (const report::Lifted& one : lifted) {
        const char* from = report::is_of_lookup(one.rule) ? "ideal" : "seen";
        out += paragraph(fmt::format("{:>{}}  - {:<7} {}", named ? from : "", named ? 8 : 0,
                                     report::grouped(one.tokens), report::words_of(one))) +
               '\n';
    }
    return out;
}

void write_lifted(report::Json& json, const std::vector<report::Lifted>& lifted) {
    json.array("reasons");
    for (const report::Lifted& one : lifted) {
        json.object({}, report::Layout::flat)
            .field("rule", report::name_of(one.rule))
            .field("of", report::is_of_lookup(one.rule) ? "lookup" : "store")
            .field("tokens", one.tokens);
        one.unit == 0 ? json.null("unit_tokens") : json.field("unit_tokens", one.unit);
        json.end();
    }
    json.end();
}

void answer_presence(const ReuseOptions& options, const ReuseScenario& asked, const std::vector<Note>& notes,
                     UnderEngine& engine, const std::string& title, Session& session) {
    ReuseScenario scenario = asked;
    const ScenarioView view{asked};
    Held held{view};
    const Result<report::Compared> hit = compared(engine, asked, held);
    if (!hit) {
        stop_at(hit.error(), engine, Answered{asked});
    }
    scenario.ask.grid.unit = greatest_common_divisor(asked.ask.grid.unit, hit->alignment);
    scenario.ask.grid.tail = hit->tail;
    if (scenario.ask.grid.unit != asked.ask.grid.unit) {
        engine.note(Origin::derived, "unit_tokens",
                    fmt::format("{} rather than {}: what {} hits ends on multiples of it",
                                report::grouped(scenario.ask.grid.unit), report::grouped(asked.ask.grid.unit),
                                engine.title()));
    }
    const Answered answered{scenario};
    if (options.output.json) {
        return session.print(presence_json(engine, answered, *hit));
    }
    const Ask& ask = scenario.ask;
    const bool inside = ask.grid.tail <= ask.limit && ask.grid.tail % ask.grid.unit != 0;
    std::string out = title + paragraph(fmt::format(
                                  "  prompt {} tokens, at most {} may be skipped, in steps of {}{}",
                                  report::grouped(ask.prompt), report::grouped(ask.limit),
                                  report::grouped(ask.grid.unit),
                                  inside ? " or exactly " + report::grouped(ask.grid.tail) : "")) + '\n';
    out += groups_table(answered, options.explain);
    out += paragraph(session.bold(presence_words(engine, *hit, ask.prompt))) + '\n';
    out += lifted_lines(hit->lifted, false);
    out += paragraph("Ideal: " + verdict(answered)) + '\n';
    std::vector<Note> all = notes;
    all.insert(all.end(), engine.notes().begin(), engine.notes().end());
    session.print(out + notes_text(all, options.explain, session));
}

}  // namespace kvcap::cli
