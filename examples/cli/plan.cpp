// SPDX-License-Identifier: MIT
// kvcap plan MODEL: which split of n GPUs serves this best, what was dropped and why, and the engine's launch
// line.
#include "plan_launch.hpp"
#include "screen.hpp"

#include <algorithm>
#include <kvcap/plan/search.hpp>
#include <kvcap/report.hpp>
#include <kvcap/report/launch.hpp>
#include <memory>
#include <numeric>

namespace kvcap::cli {

namespace {

struct PlanOptions {
    DeploymentOptions on;
    std::string goal = "sequences";
    std::string dtypes;
    std::string blocks = "0";
    std::string emit;
    std::string launch;
    u32 top = 8;
    Output output;
    std::map<std::string, const CLI::Option*> fixed;  ///< flags that leave the search one value

    bool fixes(const char* flag) const { return fixed.at(flag)->count() != 0; }
};

constexpr const char* fixable[] = {"--kv-cache-dtype", "--tp",      "--pp", "--cp", "--dp",
                                   "--dp-attention",   "--pp-split"};

Goal goal_of(const std::string& name) {
    if (name == "sequences" || name == "context") {
        return name == "context" ? Goal::context : Goal::sequences;
    }
    if (name == "read") {
        return Goal::least_read;
    }
    stop(Exit::usage, fmt::format("--goal: {} is none of sequences, context, read", name));
}

struct Search {
    Deployment on;
    SearchSpace space{};
    std::vector<u64> blocks;
    Setting asked{};
    bool routed = false;   ///< the model has routed experts
    bool weighed = false;  ///< its weights are known by part
    std::string rules{};
};

Setting setting_of(const Search& search, const Candidate& candidate) {
    Setting setting = search.asked;
    setting.sharding = candidate.sharding;
    setting.attention_dp = candidate.attention_dp;
    setting.kv_format = candidate.format;
    return setting;
}

Deployment with(const Search& search, const Candidate& candidate) {
    Deployment on = search.on;
    on.dp = candidate.dp;
    if (search.blocks[candidate.block] != 0) {
        on.flags[std::string{block_flag(on.face->name)}] = std::to_string(search.blocks[candidate.block]);
    }
    const auto at_once = on.flags.find("max-running-requests");
    if (at_once != on.flags.end() && candidate.attention_dp) {  // SGLang's line counts those of all ranks
        at_once->second = std::to_string(
            ceil_div(count_of(at_once->second, "--max-running-requests"), candidate.sharding.tp));
    }
    return on;
}

/// vLLM's own conditions: data-parallel attention is for models with experts (else it is plain DP), and
/// context ranks share the tensor ranks that would hold copies of KV heads.
Error refused_by_vllm(const Search& search, const Candidate& candidate) {
    if (search.on.face->name != "vllm") {
        return {};
    }
    if (candidate.attention_dp && search.weighed && !search.routed) {
        return {.code = Errc::refused_combination};
    }
    for (const LayerForm& form : search.on.formats[candidate.format].model.spec.forms) {
        const bool heads = form.kind == Kind::attention && !form.streams.empty();
        const u64 copies = heads ? candidate.sharding.tp / larger(form.streams[0].heads, 1) : off_scale;
        if (candidate.sharding.cp > 1 && copies < candidate.sharding.cp) {
            return {.code = Errc::not_divisible, .got = candidate.sharding.tp, .want = candidate.sharding.cp};
        }
    }
    return {};
}

/// Most requests and the longest context of one engine by its plan's staircases; without a plan, by its
/// verdict.
Result<Outcome> outcome_of(const Search& search, const Candidate& candidate) {
    if (const Error refused = refused_by_vllm(search, candidate); refused.code != Errc::ok) {
        return refused;
    }
    const u32 heads = search.on.formats[candidate.format].model.spec.query_heads;
    if (candidate.attention_dp &&
        heads % candidate.sharding.tp != 0) {  // everything but attention is divided
        return Error{.code = Errc::query_heads_not_divisible, .got = heads, .want = candidate.sharding.tp};
    }
    const Deployment on = with(search, candidate);
    const Setting setting = setting_of(search, candidate);
    const EngineAnswer answer = on.ask(setting, on.known_non_kv(setting));
    if (!answer.runs()) {
        return answer.error.code == Errc::ok ? Error{.code = Errc::refused_combination} : answer.error;
    }
    const u64 engines = u64{candidate.dp} * (candidate.attention_dp ? candidate.sharding.tp : 1);
    Outcome outcome{};
    const Lengths like = on.mix.each[0];
    const u64 stated = on.formats[0].model.read.max_context;
    const u64 limit = stated != 0 ? larger(stated, setting.tokens.value) : u64{1} << 24;
    if (answer.plan.pools.empty() ||
        on.face->name == "llamacpp") {  // its cells are as many as were asked for
        outcome.sequences = on.most_sequences(setting, on.known_non_kv(setting));
        outcome.context = on.longest(setting, on.known_non_kv(setting), limit);
    } else {
        outcome.sequences = saturating_product(most_sequences(answer.plan, like), engines);
        outcome.context =
            longest(answer.plan, on.sequences_of_one(setting), {limit}, {.encoder = like.encoder}).value;
    }
    if (outcome.sequences < setting.sequences) {
        return Error{.code = Errc::does_not_fit, .got = answer.verdict.usable, .want = answer.verdict.needed};
    }
    Sharding split = candidate.sharding;
    split.tp = candidate.attention_dp ? 1 : split.tp;
    for (u32 stage = 0; stage < split.pp; ++stage) {
        const Result<Footprint> held =
            fold(on.formats[candidate.format].model.spec, like, split, {.stage = stage});
        if (!held) {
            return held.error();
        }
        outcome.read_per_token = larger(outcome.read_per_token, held->per_sequence().value);
    }
    return outcome;
}

std::string split_words(const Search& search, const Candidate& c) {
    std::string out = fmt::format("TP {}", c.sharding.tp);
    out += c.sharding.pp > 1 ? fmt::format(" PP {}", c.sharding.pp) : "";
    out += c.sharding.cp > 1 ? fmt::format(" CP {}", c.sharding.cp) : "";
    out += c.dp > 1 ? fmt::format(" DP {}", c.dp) : "";
    out += c.attention_dp ? " attention-DP" : "";
    out += " " + search.on.formats[c.format].dtype;
    return out + (search.blocks[c.block] != 0 ? fmt::format(" block {}", search.blocks[c.block]) : "");
}

/// One difference between the best and the next, in words.
std::string why_best(const Search& search, const SearchResult& found, Goal goal) {
    if (found.ranked.size() < 2) {
        return {};
    }
    const Ranked& a = found.ranked[0];
    const auto other = std::find_if(found.ranked.begin() + 1, found.ranked.end(), [&](const Ranked& each) {
        const bool other_split = !(each.candidate.sharding == a.candidate.sharding) ||
                                 each.candidate.attention_dp != a.candidate.attention_dp;
        const bool differs = goal == Goal::context ? each.outcome.context != a.outcome.context
                             : goal == Goal::least_read
                                 ? each.outcome.read_per_token != a.outcome.read_per_token
                                 : each.outcome.sequences != a.outcome.sequences;
        return each.candidate.format == a.candidate.format && other_split && differs;
    });
    if (other == found.ranked.end()) {
        return {};
    }
    const bool replicates = !a.candidate.attention_dp && other->candidate.attention_dp;
    const char* reason = a.candidate.attention_dp ? "each request is held once, not on every tensor rank"
                         : replicates             ? "its weights are divided over more ranks"
                         : a.candidate.sharding.pp != other->candidate.sharding.pp
                             ? "a pipeline holds what its fullest stage holds"
                         : a.candidate.sharding.tp != other->candidate.sharding.tp
                             ? "heads divide over its ranks and leave more room beside the weights"
                             : "its replicas hold fewer copies";
    const auto value = [goal](const Outcome& o) {
        return goal == Goal::context ? o.context : goal == Goal::least_read ? o.read_per_token : o.sequences;
    };
    const char* unit = goal == Goal::context      ? "tokens"
                       : goal == Goal::least_read ? "bytes read a token"
                                                  : "requests";
    return fmt::format("{} before {}: {} against {} {}; {}", split_words(search, a.candidate),
                       split_words(search, other->candidate), report::grouped(value(a.outcome)),
                       report::grouped(value(other->outcome)), unit, reason);
}

/// How many servers a candidate is: replicas that one line of the engine cannot say as they were evaluated.
/// (vLLM spreads experts over all ranks of a server.)
u32 servers_of(const Search& search, const Candidate& c) {
    const bool one_line =
        (search.on.face->name == "vllm" && !search.routed) || search.on.face->name == "sglang";
    return one_line && !c.attention_dp ? 1 : c.dp;
}

/// Requests at once that a line may ask of a rank: as the engine's own flag says; else as many as were found,
/// up to what engines run by default, or as were asked for. llama.cpp reserves cells for each, so there it is
/// what was asked for.
std::vector<u64> sequences_of(const Search& search, const Ranked& each) {
    constexpr u64 usual = 256;
    const Deployment on = with(search, each.candidate);
    for (const char* flag : {"max-running-requests", "max-batch-size"}) {
        const auto own = on.flags.find(flag);
        if (own == on.flags.end()) {
            continue;
        }
        const u64 line = count_of(search.on.flags.find(flag)->second, flag);
        const u64 of_rank = count_of(own->second, flag);
        const bool dealt = flag[4] != 'r' || !each.candidate.attention_dp;
        const bool sayable = dealt || of_rank * each.candidate.sharding.tp == line;
        return sayable ? std::vector<u64>{of_rank} : std::vector<u64>{};
    }
    const u64 asked = on.sequences_of_one(setting_of(search, each.candidate));
    const u64 holders =
        u64{each.candidate.dp} * (each.candidate.attention_dp ? each.candidate.sharding.tp : 1);
    const u64 most = std::min(each.outcome.sequences / holders, std::max(asked, usual));
    return on.face->name == "llamacpp" ? std::vector<u64>{asked}
                                       : std::vector<u64>{std::max(most, asked), asked};
}

/// SGLang's page follows the model where none is given: the line says the one that was evaluated.
void carry_page(Launch& launch, const PoolPlan& plan) {
    u64 page = 1;
    for (const GroupClass& kind : plan.classes) {
        page = larger(page, kind.block);
    }
    if (launch.engine == "sglang") {
        launch.flags.emplace("page-size", std::to_string(page));
    }
}

/// Why a line that the search found does not hold.
std::string why_not(const EngineAnswer& answer) {
    return !answer.runs()
               ? answer.refusal
               : report::amount(answer.verdict.lacking_bytes) + " lacking for what the line asks for";
}

/// The best candidate's line, once its engine says that what the line says fits; remarks say what it rests
/// on.
std::string emitted(const Search& search, const SearchResult& found, const PlanOptions& options,
                    Session& session) {
    std::string why = "none serves the requests at once that were asked for";
    DeploymentOptions beside = options.on;
    beside.lengths.tokens =
        beside.lengths.tokens.empty() ? std::to_string(search.asked.tokens.value) : beside.lengths.tokens;
    for (const Ranked& each : found.ranked) {
        for (const u64 sequences : sequences_of(search, each)) {
            Launch launch =
                launch_of(with(search, each.candidate), options.on, setting_of(search, each.candidate),
                          servers_of(search, each.candidate), sequences);
            const EngineAnswer answer = evaluate(launch, beside).answer;
            if (answer.fits()) {
                carry_page(launch, answer.plan);
                if (&each != found.ranked.data()) {
                    session.remark(
                        fmt::format("the line is of split {} of the list, {}: those before it do not "
                                    "fit as a line says them",
                                    1 + (&each - found.ranked.data()), split_words(search, each.candidate)));
                }
                return report::launch_line(launch) + "\n";
            }
            why = split_words(search, each.candidate) + ": " + why_not(answer);
        }
    }
    session.remark(fmt::format("no line: {} splits fit, but none as a line says it; the last, {}",
                               found.ranked.size(), why));
    return {};
}

/// What was dropped, by its reason.
std::map<std::string, u64> reasons_of(const SearchResult& found) {
    std::map<std::string, u64> reasons;
    for (const Dropped& each : found.dropped) {
        Error plain = each.why;
        plain.layer = no_layer;
        const bool memory = plain.code == Errc::does_not_fit || plain.code == Errc::no_memory;
        ++reasons[memory ? "not enough memory for the load beside the weights"
                  : plain.code == Errc::not_divisible
                      ? "context-parallel ranks beyond the copies of KV heads in TP"
                  : each.candidate.attention_dp && plain.code == Errc::refused_combination
                      ? "attention data parallelism of a dense model, which is plain DP"
                      : report::text_of(plain)];
    }
    return reasons;
}

std::string screen_of(const Search& search, const SearchResult& found, const PlanOptions& options, Goal goal,
                      const Session& session) {
    using A = report::Align;
    std::string out =
        heading(search.on.formats[0].model,
                fmt::format("{} x {}", search.space.devices, search.on.memory.described), session);
    out += paragraph("rules: " + search.rules) + '\n';
    report::Table table{{A::right, A::left, A::right, A::right, A::right}};
    table.row({"", "split", "requests", "longest", "KV read/token"});
    for (std::size_t i = 0; i < std::min<std::size_t>(found.ranked.size(), options.top); ++i) {
        const Ranked& each = found.ranked[i];
        table.row({std::to_string(i + 1), split_words(search, each.candidate),
                   report::grouped(each.outcome.sequences), report::grouped(each.outcome.context),
                   report::amount({each.outcome.read_per_token})});
    }
    out += found.ranked.empty() ? "nothing fits\n" : table.text();
    out += fmt::format("{} of {} candidates fit; dropped:\n", found.ranked.size(),
                       found.ranked.size() + found.dropped.size());
    for (const auto& [reason, count] : reasons_of(found)) {
        out += paragraph(fmt::format("  {} x {}", count, reason)) + '\n';
    }
    const std::string why = why_best(search, found, goal);
    return out + (why.empty() ? "" : paragraph("why: " + why) + '\n');
}

std::string json_of(const Search& search, const SearchResult& found, const std::vector<Note>& notes) {
    report::Json json;
    json.object().field("schema", "kvcap.plan/1").field("model", full_name(search.on.formats[0].model));
    json.field("engine", search.on.face->name)
        .field("rules", search.rules)
        .field("gpus", search.space.devices)
        .field("dropped", found.dropped.size());
    json.array("ranked");
    for (const Ranked& each : found.ranked) {
        const Candidate& c = each.candidate;
        json.object({}, report::Layout::flat)
            .field("tp", c.sharding.tp)
            .field("pp", c.sharding.pp)
            .field("cp", c.sharding.cp);
        json.field("dp", c.dp).field("dp_attention", c.attention_dp);
        json.field("kv_cache_dtype", search.on.formats[c.format].model.dtype)
            .field("kv_cache_dtype_asked", search.on.formats[c.format].dtype)
            .field("block_size", search.blocks[c.block]);
        json.field("sequences", each.outcome.sequences).field("context", each.outcome.context);
        json.field("kv_read_bytes_per_token", each.outcome.read_per_token).end();
    }
    json.end();
    report::write_notes(json, notes);
    return json.end().text();
}

/// What the engine's launch line can say of a split.
void limit_space(Search& search) {
    const std::string_view engine = search.on.face->name;
    search.space.cp_inside_tp = engine == "vllm";
    search.space.attention_dp = engine != "llamacpp";
    search.space.most_cp = engine == "vllm" || engine == "exact" ? search.space.most_cp : 1;
    search.space.remainder = engine == "vllm" ? Remainder::middle : search.space.remainder;
    const bool blocks = std::any_of(search.blocks.begin(), search.blocks.end(), [](u64 n) { return n != 0; });
    if (blocks && block_flag(engine).empty()) {
        stop(Exit::usage, fmt::format("--block-sizes: {} has no blocks", search.on.face->title));
    }
}

template <class T>
std::vector<T> each_once(const std::vector<T>& list) {
    std::vector<T> out;
    for (const T& each : list) {
        if (std::find(out.begin(), out.end(), each) == out.end()) {
            out.push_back(each);
        }
    }
    return out;
}

/// --pp-split: layers of every stage, which are the model's in all, or a rule that is the engine's own.
void fix_stages(Search& search, const PlanOptions& options) {
    const Sharding asked = options.on.sharding.sharding();
    if (!options.fixes("--pp-split")) {
        return;
    }
    if (asked.stage_layers.empty()) {
        if (asked.remainder != search.space.remainder && search.on.face->name != "exact") {
            stop(Exit::usage, fmt::format("--pp-split: {} is not how {} deals spare layers; leave it out",
                                          options.on.sharding.pp_split, search.on.face->title));
        }
        search.space.remainder = asked.remainder;
        return;
    }
    const u64 sum = std::accumulate(asked.stage_layers.begin(), asked.stage_layers.end(), u64{0});
    const u32 layers = search.on.formats[0].model.spec.layers;
    const u32 stages = static_cast<u32>(asked.stage_layers.size());
    if (sum != layers) {
        stop(Exit::usage, fmt::format("--pp-split: {} are {} layers; the model has {}",
                                      options.on.sharding.pp_split, sum, layers));
    }
    if (options.fixes("--pp") && options.on.sharding.pp != stages) {
        stop(Exit::usage,
             fmt::format("--pp-split: {} stages, and --pp says {}", stages, options.on.sharding.pp));
    }
    if (!options.emit.empty()) {
        stop(Exit::usage, fmt::format("--emit: the launch line has no flag for --pp-split {}",
                                      options.on.sharding.pp_split));
    }
    search.space.only_pp = stages;
    search.space.stage_layers = asked.stage_layers;
}

/// Flags that name one split leave the search no other; one that no split has is refused.
void fix_space(Search& search, const PlanOptions& options) {
    const auto fixed = [&](const char* flag, u32 value) { return options.fixes(flag) ? value : 0; };
    const Setting& asked = search.asked;
    const bool by_dp = asked.attention_dp && options.fixes("--dp") && search.on.dp == 1;
    search.space.only_tp = by_dp ? asked.sharding.tp : fixed("--tp", options.on.sharding.tp);
    search.space.only_pp = fixed("--pp", options.on.sharding.pp);
    search.space.only_cp = fixed("--cp", options.on.sharding.cp);
    search.space.only_dp = by_dp ? 1 : fixed("--dp", options.on.sharding.dp);
    search.space.only_attention_dp = asked.attention_dp;
    fix_stages(search, options);
    u64 splits = 0;
    each_candidate(search.space, [&](const Candidate&) { ++splits; });
    if (splits == 0) {
        std::string said;
        for (const char* flag : fixable) {
            const bool counts = flag != std::string_view{"--kv-cache-dtype"} && options.fixes(flag);
            said += counts ? (said.empty() ? "" : " ") + std::string{flag} : "";
        }
        stop(Exit::usage, fmt::format("{}: no split of {} GPUs that {} can start has these values", said,
                                      search.space.devices, search.on.face->title));
    }
}

Search search_for(const PlanOptions& options, std::vector<Note>& notes) {
    Search search{.on = options.on.deployment(notes),
                  .blocks = each_once(counts_of(options.blocks, "--block-sizes"))};
    if (options.on.memory.gpus == 0) {
        stop(Exit::usage, "--gpus: how many there are is wanted");
    }
    const bool llama = search.on.face->name == "llamacpp";
    const std::string usual = search.on.face->name == "exact" || !llama ? "auto,fp8" : "auto,q8_0";
    search.on.formats.clear();
    if (options.fixes("--kv-cache-dtype") && !options.dtypes.empty()) {
        stop(Exit::usage, "--kv-cache-dtype and --dtypes: the formats are said twice; one of them is wanted");
    }
    const std::string dtypes = options.fixes("--kv-cache-dtype") ? options.on.model.kv_cache_dtype
                               : options.dtypes.empty()          ? usual
                                                                 : options.dtypes;
    for (const std::string& dtype : each_once(parts_of(dtypes))) {
        ModelOptions model = options.on.model;
        model.kv_cache_dtype = dtype;
        search.on.formats.push_back({dtype, load(model)});
    }
    for (const WeightGroup& group : search.on.weights_known.groups) {
        search.routed = search.routed || group.part == WeightPart::experts;
        search.weighed = search.weighed || group.part == WeightPart::attention;
    }
    search.asked = options.on.setting(search.on);
    search.space = {.devices = options.on.memory.gpus,
                    .formats = static_cast<u32>(search.on.formats.size()),
                    .blocks = static_cast<u32>(search.blocks.size())};
    limit_space(search);
    fix_space(search, options);
    note_unknown(search.on, {.tokens = search.asked.tokens, .sequences = search.asked.sequences}, notes);
    search.rules = search.on.ask(search.asked, {}).rules;
    return search;
}

/// --launch: what a line's engine says of it on this GPU.
void judge_line(const PlanOptions& options, Session& session) {
    for (const char* flag : fixable) {
        if (options.fixes(flag)) {
            stop(Exit::usage,
                 fmt::format("{} and --launch: the line says it, or the engine's default", flag));
        }
    }
    for (const auto& [name, value] : options.on.engine.values) {
        if (!value.empty()) {
            stop(Exit::usage, fmt::format("--{} and --launch: an engine's flag belongs into its line", name));
        }
    }
    for (const auto& [name, on] : options.on.engine.switches) {
        if (on) {
            stop(Exit::usage, fmt::format("--{} and --launch: an engine's flag belongs into its line", name));
        }
    }
    const Launch launch = value_of(read_launch(options.launch));
    const Launched got = evaluate(launch, options.on);
    const Verdict& verdict = got.answer.verdict;
    session.exit = got.answer.fits() ? Exit::ok : Exit::does_not_fit;
    const Bytes margin = verdict.fits ? verdict.spare_bytes : verdict.lacking_bytes;
    if (options.output.json) {
        report::Json json;
        json.object()
            .field("schema", "kvcap.launch/1")
            .field("engine", launch.engine)
            .field("rules", got.answer.rules);
        json.field("model", launch.model)
            .field("servers", launch.servers)
            .field("tp", launch.tp)
            .field("pp", launch.pp);
        json.field("cp", launch.cp).field("dp", launch.dp).field("dp_attention", launch.attention_dp);
        json.field("max_len", launch.tokens).field("sequences_of_a_rank", launch.sequences);
        json.field("kv_cache_dtype", launch.dtype)
            .field("runs", got.answer.runs())
            .field("fits", got.answer.fits());
        json.field("refusal", got.answer.refusal).field("margin_bytes", margin);
        json.field("line", report::launch_line(launch));
        report::write_notes(json, got.notes);
        return session.print(json.end().text());
    }
    std::string out = heading(got.on.formats[0].model, got.answer.rules, session);
    out += paragraph(fmt::format(
               "TP {} PP {} CP {} DP {}{}: {} of {} tokens on each rank that holds requests", launch.tp,
               launch.pp, launch.cp, launch.dp, launch.attention_dp ? " attention-DP" : "",
               report::counted(got.on.sequences_of_one(got.setting), "request", "requests"),
               report::grouped(got.setting.tokens.value))) +
           '\n';
    out += got.answer.runs() ? fmt::format("{}, {} {}\n", got.answer.fits() ? "FITS" : "DOES NOT FIT",
                                           report::amount(margin), verdict.fits ? "spare" : "lacking")
                             : paragraph("DOES NOT START: " + got.answer.refusal) + '\n';
    session.print(out + notes_text(got.notes, false, session));
}

/// --emit names the engine, unless --engine already did.
PlanOptions with_emitted_engine(PlanOptions options) {
    if (options.emit.empty()) {
        options.on.engine.engine = options.on.engine.engine.empty() ? "vllm" : options.on.engine.engine;
        return options;
    }
    const std::string engine = engine_of_program(options.emit);
    if (engine != "vllm" && engine != "sglang" && engine != "llamacpp" && engine != "trtllm") {
        stop(Exit::usage,
             fmt::format("--emit: {} is none of vllm, sglang, llama-server, trtllm", options.emit));
    }
    std::string& asked = options.on.engine.engine;
    if (!asked.empty() && asked.substr(0, asked.find('@')) != engine) {
        stop(Exit::usage,
             fmt::format("--emit {} and --engine {}: a line carries what its own engine evaluated",
                         options.emit, asked));
    }
    asked = asked.empty() ? engine : asked;
    return options;
}

/// The line on stdout, what it rests on and why there is none as remarks.
void emit(const Search& search, const SearchResult& found, const PlanOptions& options,
          const std::vector<Note>& notes, Session& session) {
    const std::string line = found.ranked.empty() ? "" : emitted(search, found, options, session);
    session.exit = line.empty() ? Exit::does_not_fit : Exit::ok;
    if (found.ranked.empty()) {
        for (const auto& [reason, count] : reasons_of(found)) {
            session.remark(fmt::format("no line: {} x {}", count, reason));
        }
    }
    for (const Note& note : notes) {
        if (note.origin == Origin::assumed) {
            session.remark(report::text_of(note));
        }
    }
    session.print(line);
}

void run(const PlanOptions& given, Session& session) {
    given.output.begin(session);
    if (given.output.json && !given.emit.empty()) {
        stop(Exit::usage, "--emit and --json: a launch line is no JSON; one of them is wanted");
    }
    if (!given.launch.empty() && !given.emit.empty()) {
        stop(Exit::usage, "--emit and --launch: a line is written or read; one of them is wanted");
    }
    const PlanOptions options = with_emitted_engine(given);
    if (!options.launch.empty()) {
        return judge_line(options, session);
    }
    if (options.on.model.model.empty()) {
        stop(Exit::usage, "MODEL is required, or --launch with a launch line");
    }
    std::vector<Note> notes;
    const Goal goal = goal_of(options.goal);
    const Search search = search_for(options, notes);
    const SearchResult found =
        kvcap::search(search.space, goal, [&](const Candidate& c) { return outcome_of(search, c); });
    session.exit = found.ranked.empty() ? Exit::does_not_fit : Exit::ok;
    if (!options.emit.empty()) {
        return emit(search, found, options, notes, session);
    }
    if (options.output.json) {
        return session.print(json_of(search, found, notes));
    }
    session.print(screen_of(search, found, options, goal, session) + notes_text(notes, false, session));
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
