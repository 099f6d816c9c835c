// SPDX-License-Identifier: MIT
// kvcap simulate TRACE --model MODEL: which pool size buys how many hits, for hybrid models too.
#include "simulate.hpp"

#include "context_ranks.hpp"
#include "options.hpp"

#include <fstream>
#include <kvcap/io/trace.hpp>
#include <memory>

namespace kvcap::cli {

namespace {

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

StoredSizes sizes_of(const ModelSpec& model, const std::string& label, const Simulation& run, const Sharding& sharding,
                     Copies copies, const ObjectRule& rule) {
    const Result<StoredSizes> sizes = stored_sizes(model, run.trace.block_tokens, sharding, copies, rule);
    if (!sizes && sizes.error().code == Errc::unsupported) {
        stop(Exit::usage, fmt::format("{}: {} sinks beside chunked attention; a store of those is not described",
                                      label, sizes.error().got));
    }
    StoredSizes known = value_of(sizes, label);
    if (run.split && known.snapshot == 0) {
        stop(Exit::usage, fmt::format("--split: {} has no snapshots; a share for them is asked for", label));
    }
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
        refuse_split(model, options.sharding.sharding(), options.sharding, EngineOptions{}.face());
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
    if (options.sample_parts > 1 && (options.engine_like || options.split || !options.tiers.empty())) {
        stop(Exit::usage, "--sample-trees estimates curves of saving policies; --engine-like, --split and --tier "
                          "replay the whole trace");
    }
    for (const std::string& size : split_at(options.at, ',')) {
        simulation.capacities.push_back(memory_of(size, "--at").value);
    }
    for (const std::string& tier : options.tiers) {
        NamedTier named = tier_of(tier);
        for (const NamedTier& before : simulation.tiers) {
            if (before.name == named.name) {
                stop(Exit::usage,
                     fmt::format("--tier: {} is there twice; each tier has a name of its own", named.name));
            }
        }
        simulation.tiers.push_back(std::move(named));
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
    options->output.add_to(*verb, false, false);
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
