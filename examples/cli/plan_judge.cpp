// SPDX-License-Identifier: MIT
// plan --launch: what a line's engine says of it on this GPU, as a screen and as JSON (kvcap.launch/1).
#include "context_ranks.hpp"
#include "margin.hpp"
#include "plan.hpp"
#include "screen.hpp"

#include <kvcap/report.hpp>
#include <kvcap/report/launch.hpp>

namespace kvcap::cli {

namespace {

struct Refused {
    const char* flag;
    std::string_view why;
};

constexpr std::string_view nothing_searched = "one line is judged, and nothing is searched";

constexpr Refused refused[] = {
    {"--engine-max-len", "the line says it, or the engine's default"},
    {"--goal", nothing_searched},
    {"--dtypes", nothing_searched},
    {"--block-sizes", nothing_searched},
    {"--top", nothing_searched},
};

/// What the line says, or its engine's defaults, is said once; what only a search reads is not said at all.
void refuse_beside_line(const PlanOptions& options) {
    for (const Refused& each : refused) {
        if (options.gives(each.flag)) {
            stop(Exit::usage, fmt::format("{} and --launch: {}", each.flag, each.why));
        }
    }
    for (const char* flag : fixable) {
        if (options.fixes(flag)) {
            stop(Exit::usage,
                 fmt::format("{} and --launch: the line says it, or the engine's default", flag));
        }
    }
    const auto refuse = [](const std::string& name, bool given) {
        if (given) {
            stop(Exit::usage, fmt::format("--{} and --launch: an engine's flag belongs into its line", name));
        }
    };
    for (const auto& [name, value] : options.on.engine.values) {
        refuse(name, !value.empty());
    }
    for (const auto& [name, on] : options.on.engine.switches) {
        refuse(name, on);
    }
}

/// The line as a value. A flag beside it that says what this line says is refused.
Diagnosed<Launch> launch_beside(const PlanOptions& options) {
    char quote = '\0';
    static_cast<void>(shell_words(options.launch, quote));
    if (quote != '\0') {
        stop(Exit::usage, fmt::format("--launch: the line opens a {} and does not close it", quote));
    }
    Diagnosed<Launch> read = read_launch(options.launch);
    const Launch launch = value_of(read);
    const std::string& engine = options.on.engine.engine;
    if (!engine.empty() && !is_of_engine(engine, launch.engine)) {
        stop(Exit::usage, fmt::format("--engine {} and --launch: the line starts {}", engine, launch.engine));
    }
    const auto refuse = [&](const char* flag, const std::string& said) {
        if (options.gives(flag) && !said.empty()) {
            stop(Exit::usage, fmt::format("{} and --launch: the line says it: {}", flag, said));
        }
    };
    refuse("--util", launch.util);
    const std::string outright = launch.budget.empty() ? "" : "its bytes for the cache, outright, are " + launch.budget;
    for (const char* flag : {"--kv-budget", "--util", "--fraction-of", "--non-kv-bytes", "--overhead",
                             "--overhead-from"}) {
        refuse(flag, outright);
    }
    if (!options.gives("--gpu")) {  // beside a GPU they say whether it holds both
        refuse("--weights-bytes", outright);
    }
    return read;
}

/// As size, fit and pools refuse them.
void refuse_as_fit(const PlanOptions& options, const Launch& launch, Launched& got) {
    ShardingOptions typed{};
    typed.cp_among_tp = true;
    const Sharding attention = attention_split(got.setting);
    refuse_split(got.on.formats[0].model, attention, typed, *got.on.face);
    if (got.answer.without_rules()) {
        stop(Exit::unknown_architecture, no_rules_words(got.answer));
    }
    const u64 there = options.on.memory.gpus;
    const u64 needed = saturating_product(got.on.gpus, launch.servers);
    if (there != 0 && there < needed) {
        stop(Exit::usage, fmt::format("--gpus {} and --launch: the line needs {} GPUs", there, needed));
    }
    if (launch.visible && *launch.visible < got.on.gpus && launch.flags.count("nnodes") == 0) {
        stop(Exit::usage, fmt::format("launch line: its server sees {} and its split needs {} GPUs",
                                      report::counted(*launch.visible, "GPU", "GPUs"), got.on.gpus));
    }
    got.on.gpus = needed;
    note_idle(got.on, options.on.memory.gpus, got.notes);
}

/// `sequences` requests of `tokens` each.
struct LoadPart {
    u64 tokens = 0;
    u64 sequences = 0;
};

/// What one rank that holds requests was judged by, the longest first.
std::vector<LoadPart> load_of(const Launched& got) {
    const u64 all = got.on.sequences_of_one(got.setting);
    const Mix& mix = got.on.mix;
    if (mix.each.size() == 1) {
        return {{got.setting.tokens.value, all}};
    }
    const std::vector<u64> counts = mix.counts(all);
    std::vector<LoadPart> load;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        load.push_back({(mix.each[i].prompt + mix.each[i].decoded).value, counts[i]});
    }
    return load;
}

/// "16 requests of 8,192 tokens", or of a mix each length.
std::string load_words(const Launched& got) {
    const std::vector<LoadPart> load = load_of(got);
    const std::string requests = report::counted(got.on.sequences_of_one(got.setting), "request", "requests");
    if (load.size() == 1) {
        return fmt::format("{} of {} tokens", requests, report::grouped(load[0].tokens));
    }
    std::string each;
    for (const LoadPart& part : load) {
        each += fmt::format("{}{} of {}", each.empty() ? "" : ", ", report::grouped(part.sequences),
                            report::grouped(part.tokens));
    }
    return fmt::format("{} ({} tokens)", requests, each);
}

void write_load(report::Json& json, const Launched& got) {
    json.object("load").field("sequences_of_a_rank", got.on.sequences_of_one(got.setting));
    json.field("engine_max_len", got.on.max_len).array("lengths");
    for (const LoadPart& part : load_of(got)) {
        json.object({}, report::Layout::flat).field("tokens", part.tokens).field("sequences", part.sequences).end();
    }
    json.end().end();
}

std::string json_of(const Launch& launch, const Launched& got) {
    const EngineAnswer& answer = got.answer;
    report::Json json;
    json.object().field("schema", "kvcap.launch/1").field("engine", launch.engine);
    json.field("rules", answer.rules).field("model", launch.model).field("servers", launch.servers);
    write_split(json, {.tp = got.line.tp, .pp = got.line.pp, .cp = launch.cp}, launch.dp, launch.attention_dp,
                got.on.cp_among_tp);
    json.field("max_len", launch.tokens).field("sequences_of_a_rank", launch.sequences);
    json.field("kv_cache_dtype", got.on.formats[0].dtype);
    write_load(json, got);
    json.field("runs", answer.runs()).field("fits", answer.fits()).field("refusal", answer.refusal);
    json.field("beyond_context", got.on.beyond_context()).field("reason", answer.reason);
    const RankWeights weights = got.on.most_weights(got.setting);
    weights.how.empty() ? json.null("weights_bytes_per_rank") : json.field("weights_bytes_per_rank", weights.bytes);
    json.field("weights_source", weights.how);
    got.on.memory.non_kv_known ? json.field("non_kv_bytes", got.on.known_non_kv(got.setting))
                               : json.null("non_kv_bytes");
    json.field("margin_bytes", margin_of(answer));
    write_tightest_pool(json, answer);
    json.field("line", report::launch_line(launch));
    report::write_notes(json, got.notes);
    return json.end().text();
}

/// The verdict's sentence: without weights it is one of what they leave.
std::string verdict_words(const Launched& got) {
    const EngineAnswer& answer = got.answer;
    if (!answer.runs()) {
        return "DOES NOT START: " + answer.refusal;
    }
    if (!answer.unfit.empty()) {
        return "DOES NOT FIT as asked: " + answer.unfit;
    }
    const bool open = !got.on.memory.by_budget && got.on.most_weights(got.setting).how.empty();
    const bool rest = !got.on.memory.by_budget && !got.on.memory.non_kv_known;
    const char* verdict = !answer.fits() ? "DOES NOT FIT"
                          : open         ? "FITS if the weights leave it"
                          : rest         ? "FITS if non-KV memory leaves it"
                                         : "FITS";
    return fmt::format("{}, {}", verdict, margin_words(answer));
}

/// Engines that hold back what does not fit start all the same: how many of the longest requests run at once.
std::string at_once_line(const Launched& got) {
    const EngineAnswer& answer = got.answer;
    if (!answer.runs() || answer.fits() || !answer.unfit.empty() || got.on.face->name == "llamacpp") {
        return {};
    }
    const Lengths& longest = got.on.mix.each.front();
    const Demand one = demand(answer.plan, longest);
    u64 most = off_scale;
    for (u32 p = 0; p < answer.plan.pools.size(); ++p) {
        most = one.units[p] == 0 ? most : smaller(most, answer.plan.pools[p].units / one.units[p]);
    }
    return paragraph(fmt::format("  it starts all the same: {} of {} tokens at once, and others wait",
                                 report::counted(most, "request", "requests"),
                                 report::grouped((longest.prompt + longest.decoded).value))) +
           '\n';
}

/// "  weights 32.832 GiB a rank: card; non-KV memory 3.942 GiB"; nothing beside a budget.
std::string memory_line(const Launched& got) {
    if (got.on.memory.by_budget) {
        return {};
    }
    const RankWeights weights = got.on.most_weights(got.setting);
    const std::string how = weights.how.empty()
                                ? std::string{"weights unknown"}
                                : fmt::format("weights {} a rank: {}", report::amount(weights.bytes), weights.how);
    const std::string rest = got.on.memory.non_kv_known ? report::amount(got.on.known_non_kv(got.setting)) : "unknown";
    return paragraph(fmt::format("  {}; non-KV memory {}", how, rest)) + '\n';
}

std::string screen_of(const Launch& launch, const Launched& got, const Session& session) {
    const EngineAnswer& answer = got.answer;
    std::string out = heading(got.on.formats[0].model, answer.rules, session);
    out += paragraph(fmt::format(
               "TP {} PP {} CP {} DP {}{}: {} on each rank that holds requests", got.line.tp, got.line.pp, launch.cp,
               launch.dp, launch.attention_dp ? " attention-DP" : "", load_words(got))) +
           '\n';
    out += paragraph(verdict_words(got)) + '\n' + at_once_line(got);
    out += memory_line(got) + beyond_text(got.on, session);
    return out + notes_text(got.notes, false, session);
}

}  // namespace

void judge_line(const PlanOptions& options, Session& session) {
    refuse_beside_line(options);
    const Diagnosed<Launch> read = launch_beside(options);
    const Launch& launch = *read;
    DeploymentOptions beside = options.on;
    if (!options.gives("--batch")) {
        beside.lengths.batch.clear();
    }
    Launched got = evaluate_server(launch, beside);
    got.notes.insert(got.notes.begin(), read.notes.begin(), read.notes.end());
    got.notes.insert(got.notes.end(), got.answer.notes.begin(), got.answer.notes.end());
    refuse_as_fit(options, launch, got);
    session.exit = exit_of(got.answer);
    session.print(options.output.json ? json_of(launch, got) : screen_of(launch, got, session));
}

}  // namespace kvcap::cli
