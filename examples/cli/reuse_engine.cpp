// SPDX-License-Identifier: MIT
// kvcap reuse --engine: what the engine makes of the model, and its hit for given pages beside the ideal one.
#include "reuse_engine.hpp"
#include "llamacpp.hpp"
#include "reuse_prompts.hpp"
#include "screen.hpp"

#include <kvcap/engine/llamacpp/server.hpp>
#include <kvcap/engine/vllm/versions.hpp>
#include <kvcap/report.hpp>
#include <kvcap/report/reuse.hpp>
#include <kvcap/report/reuse_sglang.hpp>
#include <kvcap/report/reuse_trtllm.hpp>
#include <kvcap/report/reuse_vllm.hpp>

namespace kvcap::cli {

namespace {

/// Memory that never binds: what a plan is made with when none was given.
constexpr Bytes plenty{u64{1} << 46};

/// Flags that turn the cache off, under which nothing is ever skipped.
constexpr std::string_view off_flags[] = {"no-enable-prefix-caching", "disable-radix-cache"};

/// vLLM's look-up is known as of 2026-08-20; partial hits, which it is built around, came with 0.26.
void check_vllm(const std::string& version) {
    constexpr u32 oldest = 26;
    const Result<vllm::Rules> rules = vllm::rules_named(version.c_str());
    if (!version.empty() && rules && !rules->has(vllm::Change::match_unit)) {
        stop(Exit::unknown_architecture,
             fmt::format(
                 "--engine: vLLM's look-up before 0.{} (2026-07-12) is not known, and {} is older; known "
                 "are 0.{} to 0.{} (nearest: 0.{})",
                 oldest, version, oldest, vllm::newest_release, oldest));
    }
}

/// Refusals of a pool that holds too little, whichever engine words them.
bool too_small(Errc code) {
    return code == Errc::does_not_fit || code == Errc::no_memory || code == Errc::pool_of_no_tokens ||
           code == Errc::no_state_slots || code == Errc::window_pool_too_small;
}

/// A layer that keeps everything: for the rules of an engine without a model.
Model stand_in() {
    ModelOptions options;
    options.model = "1*gqa(1,64)";
    return load(options);
}

}  // namespace

UnderEngine::UnderEngine(const ReuseOptions& options, const Model* model, u64 longest)
    : face_{&options.engine.face()}, given_{options.engine.flags()} {
    if (model == nullptr) {
        stand_in_ = stand_in();
    }
    model_ = model;
    budgeted_ = !options.budget.empty();
    if (options.sharding.dp != 1) {
        stop(Exit::usage, "--dp: replicas share no cache; ask for one of them");
    }
    for (const std::string_view flag : off_flags) {
        if (given_.find(flag) != given_.end()) {
            stop(Exit::usage, fmt::format("--{}: then nothing is ever skipped", flag));
        }
    }
    const std::string version = options.engine.version();
    if (name() == "vllm") {
        check_vllm(version);
    }
    question_ = {.model = model == nullptr ? &*stand_in_ : model,
                 .version = version,
                 .kv_cache_dtype = options.model.kv_cache_dtype,
                 .sharding = options.sharding.sharding()};
    const Bytes budget = budgeted_ ? bytes_of(options.budget, "--kv-budget") : plenty;
    question_.available.assign(question_.sharding.pp, budget);
    question_.each = {Lengths{.prompt = {longest}}};
    question_.counts = {1};
    // Where TensorRT-LLM's windows slide depends on it; it starts with the model's context.
    const u64 usual =
        model != nullptr && name() == "trtllm" ? larger(longest, model->read.max_context) : longest;
    question_.max_len = options.max_len.empty() ? usual : count_of(options.max_len, "--engine-max-len");
    question_.flags = &given_;
    if (question_.max_len < longest) {
        stop(Exit::usage, fmt::format("--engine-max-len: {} is less than a request of {} tokens",
                                      report::grouped(question_.max_len), report::grouped(longest)));
    }
    answer_ = face_->ask(question_);
    if (!answer_.runs()) {
        const Errc code = answer_.error.code;
        stop(too_small(code)             ? Exit::does_not_fit
             : code == Errc::unsupported ? Exit::unknown_architecture
                                         : Exit::usage,
             fmt::format("{} does not start: {}", title(), answer_.refusal));
    }
    if (model != nullptr) {
        notes_ = answer_.notes;
    }
    if (name() == "vllm" && !version.empty()) {
        note(Origin::assumed, "look-up", "the rules of 2026-08-20, whatever the version");
    }
}

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
    if (options.output.json) {
        stop(Exit::usage, "--json: what llama-server skips is in words only; leave --json out");
    }
    if (scenario || !options.prompt.empty() || !options.held.empty()) {
        stop(Exit::usage,
             "--engine llamacpp: slots hold whole prompts, not pages; wanted a MODEL, and --prompts "
             "FILE or nothing");
    }
    const Model model = load(options.model);
    const LlamaModel llama = llama_model(model);
    const llamacpp::Options context = llamacpp::server_context(llama.card, {});
    const std::string words = options.prompts.empty() ? reuse_rule_words(llama, context)
                                                      : replay_words(llama, context, {}, options.prompts);
    session.print(heading(model, "llama.cpp v0.5.0", session) + words);
}

/// The groups that the engine makes of the model, numbered as --held takes them.
void explain_groups(const ReuseOptions& options, const Model& model, Session& session) {
    if (options.output.json) {
        stop(Exit::usage, "--explain --json with an --engine: --prompt N --json lists the groups");
    }
    constexpr u64 usual_context = 131'072;
    ReuseOptions one = options;
    const u64 context = model.read.max_context == 0 ? usual_context : model.read.max_context;
    one.prompt = std::to_string(context);
    UnderEngine engine{one, &model, context};
    std::string out = heading(model, engine.rules(), session) + "To skip the first p tokens of a prompt:\n";
    u64 number = 0;
    for (const ScenarioGroup& group : engine_scenario(one, engine).groups) {
        out += paragraph(fmt::format("  {}. {}: {} (pages of {}).", ++number, group.name,
                                     report::rule_sentence(group.rule),
                                     report::counted(group.rule.page, "token", "tokens"))) +
               '\n';
    }
    session.print(out + notes_text(engine.notes(), true, session));
}

u64 longest_of(const std::vector<report::ReplayRequest>& prompts, const std::string& file) {
    constexpr u64 most_tokens = u64{1} << 20;
    constexpr u64 most_prompts = 4096;
    u64 longest = 0;
    u64 all = 0;
    for (const report::ReplayRequest& one : prompts) {
        longest = larger(longest, one.tokens.size() + one.generated.size());
        all += one.tokens.size() + one.generated.size();
    }
    if (prompts.empty()) {
        stop(Exit::bad_input, file + ": no prompt in it");
    }
    if (all > most_tokens || prompts.size() > most_prompts) {
        stop(Exit::bad_input, fmt::format("{}: {} tokens in {} prompts; at most {} in {} are run", file,
                                          report::grouped(all), report::grouped(prompts.size()),
                                          report::grouped(most_tokens), report::grouped(most_prompts)));
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
    if (!options.prompts.empty()) {
        if (!options.prompt.empty() || !options.held.empty()) {
            stop(Exit::usage, "--prompts runs whole prompts; --prompt and --held ask about pages");
        }
        const std::vector<report::ReplayRequest> prompts = prompts_of(options.prompts);
        UnderEngine engine{options, &model, longest_of(prompts, options.prompts)};
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
