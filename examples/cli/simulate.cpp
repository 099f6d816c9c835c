// SPDX-License-Identifier: MIT
// kvcap simulate TRACE --model MODEL: which pool size buys how many hits, for hybrid models too.
#include "simulate.hpp"

#include "screen.hpp"

#include <algorithm>
#include <fstream>
#include <kvcap/io/trace.hpp>
#include <kvcap/report/plot.hpp>
#include <memory>

namespace kvcap::cli {

namespace {

struct SimulateOptions {
    std::string trace;
    std::vector<std::string> models;
    ModelOptions formats;
    ShardingOptions sharding;
    std::vector<std::string> policies;
    std::vector<std::string> tiers;
    std::string at = "64GiB,128GiB,256GiB,512GiB,1TiB,2TiB,4TiB,8TiB";
    std::string format = "any";
    std::string block = "0";
    std::string trace_model;
    std::string tail = "floor";
    std::string last = "recompute";
    std::string copies = "once";
    std::string align = "1";
    u64 replicas = 1;
    bool engine_like = false;
    bool split = false;
    u32 threads = 0;
    u32 sample_parts = 0;
    std::string svg;
    Output output;
};

template <class T>
T one_of(const std::string& text, std::string_view flag, std::initializer_list<std::pair<std::string_view, T>> known) {
    std::string names;
    for (const auto& [name, value] : known) {
        if (text == name) {
            return value;
        }
        names += (names.empty() ? "" : ", ") + std::string{name};
    }
    stop(Exit::usage, fmt::format("{}: '{}' is none of {}", flag, text, names));
}

std::vector<std::string> split_at(const std::string& text, char at) {
    std::vector<std::string> words;
    for (std::size_t from = 0; from <= text.size();) {
        const std::size_t end = std::min(text.find(at, from), text.size());
        words.push_back(text.substr(from, end - from));
        from = end + 1;
    }
    return words;
}

/// Words joined by '+': junction, end, every (each block), every=K, window (all window blocks).
NamedPolicy policy_of(const std::string& text) {
    NamedPolicy named{text, {.junction = false, .end = false}};
    for (const std::string& word : split_at(text, '+')) {
        if (word == "junction") {
            named.policy.junction = true;
        } else if (word == "end") {
            named.policy.end = true;
        } else if (word == "window") {
            named.policy.window_blocks = true;
        } else if (word == "every") {
            named.policy.every = 1;
        } else if (word.starts_with("every=")) {
            named.policy.every = static_cast<u32>(smaller(count_of(word.substr(6), "--policy"), 0xffff'ffff));
        } else {
            stop(Exit::usage, fmt::format("--policy: '{}' is none of junction, end, every, every=K, window", word));
        }
    }
    if (!named.policy.junction && !named.policy.end && named.policy.every == 0) {
        stop(Exit::usage, fmt::format("--policy: {} saves no boundary; add junction, end or every=K", text));
    }
    return named;
}

NamedTier tier_of(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
        stop(Exit::usage,
             fmt::format("--tier: '{}' is no tier; wanted NAME=SIZE[@BYTES PER SECOND], as dram=512GiB@50GB",
                         text));
    }
    const std::string rest = text.substr(equals + 1);
    const std::size_t rate = rest.find('@');
    NamedTier named{text.substr(0, equals), {.capacity = bytes_of(rest.substr(0, rate), "--tier")}};
    if (rate != std::string::npos) {
        named.tier.bytes_per_second = static_cast<double>(bytes_of(rest.substr(rate + 1), "--tier").value);
    }
    const bool slow = rate != std::string::npos && !(named.tier.bytes_per_second > 0);
    if (named.tier.capacity.value == 0 || slow) {
        stop(Exit::usage, fmt::format("--tier: '{}' holds or moves nothing; wanted a size{} above 0", text,
                                      slow ? " and a rate" : ""));
    }
    return named;
}

std::string percent(double ratio) {
    return fmt::format("{:.2f}%", 100 * ratio);
}

std::string size_words(u64 bytes) {
    return bytes == 0 ? "-" : report::binary_bytes(static_cast<double>(bytes)).size() < 9
                                  ? report::binary_bytes(static_cast<double>(bytes))
                                  : report::amount({bytes}, {"GiB", u64{1} << 30});
}

std::string column_name(const CurveAnswer& answer, std::size_t at) {
    return fmt::format("[{}]", at + 1) + (answer.exact ? "" : "*");
}

std::string legend(const std::vector<CurveAnswer>& answers, const Simulation& run) {
    std::string out;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const CurveAnswer& a = answers[i];
        std::string objects;
        const auto add = [&](u64 bytes, const std::string& what) {
            objects += bytes == 0 ? "" : (objects.empty() ? "" : ", ") + what + ' ' + report::exact({bytes});
        };
        add(a.sizes.page, "page");
        for (const TailClass& tail : a.sizes.tails) {
            const std::string first = tail.sinks == 0 ? "" : fmt::format(", first {}", tail.sinks);
            add(tail.bytes, tail.period == 0 ? fmt::format("window block (last {}{})", tail.need, first)
                                             : fmt::format("chunk block (own chunk of {})", tail.period));
        }
        add(a.sizes.snapshot, "snapshot");
        out += paragraph(fmt::format("  [{}]{} {}, {}{}: {}", i + 1, a.exact ? "" : "*", a.model, a.policy,
                                     run.engine_like && !a.sizes.only_pages() ? ", engine-like" : "", objects)) + '\n';
    }
    return out;
}

std::string curves_table(const std::vector<CurveAnswer>& answers, const Simulation& run) {
    using Cells = std::vector<std::string>;
    report::Table table{std::vector<report::Align>(answers.size() + 1, report::Align::right)};
    Cells head{"capacity"};
    for (std::size_t i = 0; i < answers.size(); ++i) {
        head.push_back(column_name(answers[i], i));
    }
    table.row(head);
    for (std::size_t p = 0; p < run.capacities.size(); ++p) {
        Cells cells{size_words(run.capacities[p])};
        for (const CurveAnswer& a : answers) {
            const CurvePoint& point = a.points[p];
            cells.push_back(percent(point.ratio) +
                            (point.error > 0 ? fmt::format(" +-{:.2f}", 100 * point.error) : "") +
                            (point.trustworthy ? "" : " ?"));
        }
        table.row(cells);
    }
    const auto row = [&](const std::string& name, auto value) {
        Cells cells{name};
        for (const CurveAnswer& a : answers) {
            cells.push_back(value(a));
        }
        table.row(cells);
    };
    row("no limit", [](const CurveAnswer& a) { return percent(a.reachable); });
    row("50% of it", [](const CurveAnswer& a) { return size_words(a.for_half); });
    row("90% of it", [](const CurveAnswer& a) { return size_words(a.for_ninety); });
    row("99% of it", [](const CurveAnswer& a) { return size_words(a.for_ninety_nine); });
    row("knee", [](const CurveAnswer& a) { return a.exact ? size_words(a.knee) : std::string{"-"}; });
    return table.text();
}

std::string tiers_table(const std::vector<CurveAnswer>& answers, const Simulation& run) {
    using enum report::Align;
    report::Table table{{left, left, right, right, right, right}};
    table.row({"", "tier", "hits from it", "loaded", "written", "mean load"});
    const report::Unit tib{"TiB", u64{1} << 40};
    for (std::size_t i = 0; i < answers.size(); ++i) {
        for (const TierPart& part : answers[i].tiers) {
            table.row({column_name(answers[i], i), part.name,
                       percent(static_cast<double>(part.hit_tokens) / static_cast<double>(run.trace.tokens())),
                       report::amount({part.loaded_bytes}, tib), report::amount({part.written_bytes}, tib),
                       part.load_seconds > 0 ? fmt::format("{:.1f} ms", 1000 * part.load_seconds) : "-"});
        }
    }
    return "\nTiers, each holding what the ones before it do not; loaded and written with all tiers so "
           "far:\n" +
           table.text();
}

std::string splits_table(const std::vector<CurveAnswer>& answers) {
    using enum report::Align;
    report::Table table{{left, right, right, right, right}};
    table.row({"", "capacity", "one budget", "best of ten splits", "for snapshots"});
    bool any = false;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        for (const SplitPart& part : answers[i].splits) {
            any = true;
            table.row({column_name(answers[i], i), size_words(part.capacity), percent(part.shared), percent(part.best),
                       fmt::format("{}%", part.percent)});
        }
    }
    return any ? "\n" + table.text() : "";
}

std::string rules_words(const SimulateOptions& options, const Simulation& run) {
    return fmt::format(
        "Hit tokens of all prompt tokens. LRU of bytes over all objects; a request looks up first and at "
        "once, then touches the deepest block first and the root last; prompts are saved at the request's "
        "end, outputs are not; tail {}; the last token is {}; copies {}{}. Blocks that running requests pin "
        "are not "
        "modelled.",
        options.tail, run.rule.recompute_last ? "computed again" : "hit too", options.copies,
        options.replicas > 1 ? fmt::format(" x {} replicas", options.replicas) : "");
}

void print_screen(const SimulateOptions& options, const Simulation& run, const std::vector<CurveAnswer>& answers,
                  const std::vector<Note>& notes, Session& session) {
    std::string out = paragraph(fmt::format(
                          "{}: {} requests, {} prompt tokens, {} block references, {} blocks of {} tokens",
                          options.trace, report::grouped(run.trace.requests.size()),
                          report::grouped(run.trace.tokens()), report::grouped(run.trace.ids.size()),
                          report::grouped(run.trace.distinct), report::grouped(run.trace.block_tokens))) +
                      '\n';
    out += legend(answers, run) + '\n' + curves_table(answers, run);
    const bool points = std::any_of(answers.begin(), answers.end(), [](const CurveAnswer& a) { return !a.exact; });
    if (run.sample_parts > 1) {
        u64 trees = off_scale;
        for (const CurveAnswer& a : answers) {
            trees = smaller(trees, a.trees);
        }
        out += paragraph(fmt::format(
                   "* from 1/{} of the trees ({}), with the standard error of ten parts; ? = too small for "
                   "a request once scaled{}.",
                   run.sample_parts, report::grouped(trees),
                   trees < trustworthy_sample_trees ? "; 10,000 trees or more are advised" : "")) +
               '\n';
    } else if (points) {
        out += paragraph(
                   "* replays of single capacities: nothing between them is claimed, and hits may fall as a "
                   "store "
                   "grows.") +
               '\n';
    }
    out += run.tiers.empty() || run.sample_parts > 1 ? "" : tiers_table(answers, run);
    out += splits_table(answers) + '\n' + session.dim(paragraph(rules_words(options, run))) + '\n';
    session.print(out + notes_text(notes, false, session));
}

void add_curve(report::Json& json, const CurveAnswer& a, const Simulation& run) {
    json.object().field("model", a.model).field("policy", a.policy).field("exact", a.exact);
    json.field("engine_like", run.engine_like && !a.sizes.only_pages()).object("object_bytes", report::Layout::flat);
    json.field("page", a.sizes.page).field("snapshot", a.sizes.snapshot).array("window_blocks");
    for (const TailClass& tail : a.sizes.tails) {
        json.object().field("bytes", tail.bytes).field("needed", tail.need).field("chunk", tail.period);
        json.field("sinks", tail.sinks).end();
    }
    json.end().end().field("reachable_tokens", a.reachable_tokens).field("reachable", a.reachable, 6);
    json.field("bytes_for_50", a.for_half).field("bytes_for_90", a.for_ninety).field("bytes_for_99", a.for_ninety_nine);
    json.field("knee_bytes", a.knee).array("points");
    for (const CurvePoint& point : a.points) {
        json.object({}, report::Layout::flat).field("bytes", point.capacity).field("hit_ratio", point.ratio, 6);
        json.field("standard_error", point.error, 6).field("trustworthy", point.trustworthy).end();
    }
    json.end().array("line", report::Layout::flat);
    for (const auto& [bytes, hit] : a.line) {
        json.array().item(static_cast<u64>(bytes)).field({}, hit, 6).end();
    }
    json.end().array("tiers");
    for (const TierPart& part : a.tiers) {
        json.object({}, report::Layout::flat).field("name", part.name).field("capacity_bytes", part.capacity);
        json.field("hit_tokens", part.hit_tokens).field("loaded_bytes", part.loaded_bytes);
        json.field("written_bytes", part.written_bytes).field("mean_load_seconds", part.load_seconds, 6).end();
    }
    json.end().array("splits");
    for (const SplitPart& part : a.splits) {
        json.object({}, report::Layout::flat)
            .field("capacity_bytes", part.capacity)
            .field("one_budget", part.shared, 6);
        json.field("best_split", part.best, 6).field("snapshot_percent", part.percent).end();
    }
    json.end().end();
}

std::string json_of(const SimulateOptions& options, const Simulation& run, const std::vector<CurveAnswer>& answers) {
    report::Json json;
    json.object().field("schema", "kvcap.simulate/1").object("trace");
    json.field("path", options.trace)
        .field("requests", run.trace.requests.size())
        .field("prompt_tokens", run.trace.tokens());
    json.field("block_references", run.trace.ids.size()).field("distinct_blocks", run.trace.distinct);
    json.field("block_tokens", run.trace.block_tokens).field("prefix_forest", run.is_forest).end();
    json.object("rules", report::Layout::flat).field("eviction", "lru").field("tail", options.tail);
    json.field("recompute_last", run.rule.recompute_last).field("copies", options.copies).end();
    json.array("curves");
    for (const CurveAnswer& answer : answers) {
        add_curve(json, answer, run);
    }
    return json.end().end().text();
}

/// Lines go on to the largest store of all, since a larger store holds what a smaller one does; replays end where
/// they do.
std::string svg_of(const std::vector<CurveAnswer>& answers) {
    const bool one_policy = std::all_of(answers.begin(), answers.end(), [&](const CurveAnswer& a) {
        return a.policy == "pages" || a.policy == answers.back().policy;
    });
    const std::string policy = one_policy && answers.back().policy != "pages" ? " (" + answers.back().policy + ")" : "";
    report::Plot plot{"Hit tokens against the size of the store" + policy,
                      {"bytes stored", true, 2, report::binary_bytes},
                      {"hit tokens, % of all prompt tokens", false, 10, report::plain_number}};
    double most = 0;
    for (const CurveAnswer& answer : answers) {
        most = answer.line.empty() ? most : std::max(most, answer.line.back().first);
    }
    for (const CurveAnswer& answer : answers) {
        const std::size_t cut = answer.model.size() > 26 ? answer.model.rfind('-', 25) : std::string::npos;
        const std::string name = answer.model.substr(0, std::min<std::size_t>(cut, 26));  // no half words
        report::Series series{answer.policy == "pages" || one_policy ? name : name + ", " + answer.policy, {}};
        for (const auto& [bytes, hit] : answer.line) {
            series.points.emplace_back(bytes, 100 * hit);
        }
        if (answer.exact && !answer.line.empty()) {
            series.points.emplace_back(most, 100 * answer.reachable);
        }
        plot.add(std::move(series));
    }
    return plot.svg();
}

StoredSizes sizes_of(const ModelSpec& model, const std::string& label, const Simulation& run, const Sharding& sharding,
                     Copies copies, const ObjectRule& rule) {
    const Result<StoredSizes> sizes = stored_sizes(model, run.trace.block_tokens, sharding, copies, rule);
    if (!sizes && sizes.error().code == Errc::unsupported) {
        stop(Exit::usage, fmt::format("{}: {} sinks beside chunked attention; a store of those is not described",
                                      label, sizes.error().got));
    }
    StoredSizes known = value_of(sizes, label);
    if (known.page == 0 && known.tails.empty() && known.snapshot == 0) {
        stop(Exit::usage, fmt::format("{} keeps nothing that a store could hold", label));
    }
    return known;
}

std::vector<CurveAnswer> answers_of(const SimulateOptions& options, const Simulation& run, Session& session) {
    const Copies copies = one_of<Copies>(options.copies, "--copies",
                                         {{"once", Copies::once}, {"each-rank", Copies::each_rank}});
    const ObjectRule rule{.layout = ObjectLayout::whole,
                          .alignment = larger(bytes_of(options.align, "--align").value, 1),
                          .replicas = options.replicas};
    std::vector<CurveAnswer> answers;
    for (const std::string& name : options.models) {
        ModelOptions asked = options.formats;
        asked.model = name;
        const Model model = load(asked);
        const std::string label = model.label.empty() ? name : model.label;
        const StoredSizes sizes = sizes_of(model.spec, label, run, options.sharding.sharding(), copies, rule);
        for (const std::string& policy : options.policies) {
            session.progress(fmt::format("{}, {}", label, policy));
            answers.push_back(simulate(run, label, sizes, policy_of(policy)));
            if (sizes.only_pages()) {
                break;
            }
        }
    }
    session.progress("");
    return answers;
}

void run(SimulateOptions options, Session& session) {
    options.output.begin(session);
    const TraceFormat format = one_of<TraceFormat>(options.format, "--format",
        {{"any", TraceFormat::any}, {"mooncake", TraceFormat::mooncake}, {"bailian", TraceFormat::bailian},
         {"lmcache", TraceFormat::lmcache}});
    if (options.policies.empty()) {
        options.policies = {"junction+end"};
    }
    Diagnosed<Trace> read = read_trace_file(
        options.trace,
        {.format = format, .block_tokens = count_of(options.block, "--block"), .model = options.trace_model});
    if (!read) {
        stop(*read.error);
    }
    const HitRule rule{one_of<TailRule>(options.tail, "--tail", {{"floor", TailRule::floor}, {"ceil", TailRule::ceil}}),
                       one_of<bool>(options.last, "--last-token", {{"recompute", true}, {"hit", false}})};
    Simulation simulation{.trace = *read,
                          .rule = rule,
                          .capacities = {},
                          .tiers = {},
                          .engine_like = options.engine_like,
                          .split = options.split,
                          .threads = options.threads,
                          .sample_parts = options.sample_parts,
                          .is_forest = is_prefix_forest(*read)};
    for (const std::string& size : split_at(options.at, ',')) {
        simulation.capacities.push_back(bytes_of(size, "--at").value);
    }
    for (const std::string& tier : options.tiers) {
        simulation.tiers.push_back(tier_of(tier));
    }
    if (!simulation.is_forest) {
        read.notes.push_back({Origin::assumed, {}, "some block id follows two different blocks, so ids are no prefix "
                                                   "hashes; single capacities were replayed as a plain list"});
        if (options.sample_parts > 1) {
            stop(Exit::usage, "--sample-trees needs ids that are prefix hashes, and here one id follows two others");
        }
    }
    const std::vector<CurveAnswer> answers = answers_of(options, simulation, session);
    if (!options.svg.empty()) {
        std::ofstream out{options.svg, std::ios::binary};
        if (!(out << svg_of(answers)).flush()) {
            stop(Exit::bad_input, fmt::format("{}: cannot be written", options.svg));
        }
    }
    if (options.output.json) {
        return session.print(json_of(options, simulation, answers));
    }
    print_screen(options, simulation, answers, read.notes, session);
}

}  // namespace

void add_simulate(CLI::App& app, Session& session) {
    const auto options = std::make_shared<SimulateOptions>();
    CLI::App* verb = app.add_subcommand("simulate", "A request trace against a store of any size: hits by bytes");
    verb->add_option("TRACE", options->trace, "JSONL: Mooncake, Bailian or LMCache lookup hashes")
        ->required()
        ->type_name("");
    verb->add_option("-m,--model", options->models, "Model, again for more")->required()->type_name("MODEL");
    verb->add_option("--policy", options->policies,
                     "junction+end, end, every, every=8+end, window+end; again for more");
    verb->add_flag("--engine-like", options->engine_like,
                   "Junctions of what is present, refresh what is hit: 64 replays");
    verb->add_option("--at", options->at, "Capacities to show")->capture_default_str();
    verb->add_option("--tier", options->tiers, "NAME=SIZE[@RATE], fastest first: dram=512GiB@50GB");
    verb->add_flag("--split", options->split, "Ten fixed shares for snapshots against one budget");
    verb->add_option("--format", options->format, "mooncake, bailian, lmcache")->capture_default_str();
    verb->add_option("--block", options->block, "Tokens of a block, 0 = the format's")->capture_default_str();
    verb->add_option("--trace-model", options->trace_model, "Of an LMCache trace, only this model's lines");
    verb->add_option("--tail", options->tail, "Partial last block: floor (not stored) or ceil")->capture_default_str();
    verb->add_option("--last-token", options->last, "recompute or hit")->capture_default_str();
    options->sharding.add_to(*verb);
    verb->add_option("--copies", options->copies, "Equal bytes of ranks: once or each-rank")->capture_default_str();
    verb->add_option("--align", options->align, "Bytes that objects are rounded up to")->capture_default_str();
    verb->add_option("--replicas", options->replicas, "Copies the store keeps")
        ->check(CLI::Range(1, 64))
        ->capture_default_str();
    verb->add_option("--sample-trees", options->sample_parts, "Use 1 of N parts of a huge trace")
        ->check(CLI::Range(2, 100000));
    verb->add_option("--threads", options->threads, "0 = all")->capture_default_str();
    verb->add_option("--svg", options->svg, "Write the picture to this file");
    options->formats.add_formats_to(*verb);
    options->output.add_to(*verb, false);
    verb->footer(
        "Examples:\n"
        "  kvcap simulate trace.jsonl -m llama-3.1-70b -m deepseek-v3 --svg hits.svg\n"
        "  kvcap simulate trace.jsonl -m qwen3-next-80b-a3b --policy junction+end --policy "
        "every=8+junction+end\n"
        "  kvcap simulate trace.jsonl -m gemma-3-27b --tier hbm=40GiB --tier dram=1TiB@50GB --tier "
        "nvme=8TiB@7GB");
    verb->callback([options, &session] { run(*options, session); });
}

}  // namespace kvcap::cli
