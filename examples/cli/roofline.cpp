// SPDX-License-Identifier: MIT
// kvcap roofline MODEL: what a decoded token reads and computes, what bounds it, and what links carry.
#include "context_ranks.hpp"
#include "options.hpp"
#include "screen.hpp"
#include "work.hpp"

#include <kvcap/io/spec_line.hpp>
#include <kvcap/report/roofline_json.hpp>
#include <kvcap/report/roofline_text.hpp>
#include <kvcap/report/size_json.hpp>
#include <memory>

namespace kvcap::cli {

namespace {

struct RooflineOptions {
    ModelOptions model;
    ShardingOptions sharding;
    LengthOptions lengths;
    DeviceOptions device;
    std::string weights;
    std::string generate = "256";
    u32 dispatch_bytes = 1;
    u32 combine_bytes = 2;
    Output output;
};

/// The split of the replica: attention ranks hold whole requests under attention data parallelism.
Sharding replica_split(const ShardingOptions& options) {
    Sharding split = options.sharding();
    split.tp = options.tp;
    return split;
}

/// Steps of every stage; the slowest one's parts are shown.
void add_steps(report::RooflineSheet& sheet, const Work& work, const RooflineOptions& options,
               const Lengths& lengths, u64 step_tokens) {
    const Sharding split = replica_split(options.sharding);
    const Sharding attention = options.sharding.sharding();
    double slowest = -1;
    for (u32 stage = 0; stage < split.pp; ++stage) {
        const WeightReads reads =
            value_of(work.reads(split, options.sharding.dp_attention, step_tokens, stage));
        const Rank rank{.stage = stage};
        const StepCost step = value_of(decode_step(work.model.spec, lengths, sheet.sequences, reads.total(),
                                                   attention, rank, work.facts));
        on_scale(step.bytes());
        const double here = step.at_least(sheet.device);
        sheet.step_seconds += here;
        if (here <= slowest) {
            continue;
        }
        slowest = here;
        sheet.step = step;
        const CacheWork caches = value_of(cache_work(work.model.spec, lengths, attention, rank, work.facts));
        sheet.parts = report::parts_of(reads, caches, work.model.spec, sheet.sequences);
        const Bytes each{step.cache.per_sequence().value / sheet.sequences};
        const u64 spread = step_tokens / sheet.sequences;
        sheet.cache_passes_at = report::cache_passes_weights(each, [&](u64 n) {
            return value_of(
                       work.reads(split, options.sharding.dp_attention, saturating_product(n, spread), stage))
                .total()
                .read_bytes;
        });
    }
}

void add_prompt(report::RooflineSheet& sheet, const Work& work, const RooflineOptions& options,
                const Lengths& lengths) {
    const Sharding split = replica_split(options.sharding);
    u64 active = 0;
    u64 head = 0;
    for (u32 stage = 0; stage < split.pp; ++stage) {
        const Sharding whole{
            .pp = split.pp, .remainder = split.remainder, .stage_layers = split.stage_layers};
        const WeightReads reads = value_of(work.reads(whole, false, 1, stage));
        active += reads.active() - reads.head.active;
        head += reads.head.active;
    }
    active *= work.weights_given && work.weights.bytes == 0 ? split.tp : 1;
    sheet.prompt_flops = value_of(prefill_flops(work.model.spec, sheet.tokens, active, {}, work.facts, head));
    const u32 own = own_context_ranks(options.sharding);  // each computes its tokens of a prompt
    sheet.prompt_seconds = static_cast<double>(sheet.prompt_flops) / (sheet.device.peak * split.tp * own);
    sheet.replica_peak = sheet.device.peak * split.tp * split.pp * own;
    const Lengths prompt{.prompt = {sheet.tokens}, .encoder = lengths.encoder};
    sheet.prefix = on_scale(value_of(fold(work.model.spec, prompt)).per_sequence());
    sheet.prefix_on_rank = value_of(fullest_rank(work.model.spec, prompt, options.sharding.sharding()));
    sheet.cache_per_token = value_of(bytes_per_token(work.model.spec));
}

report::RooflineSheet sheet_of(const Work& work, const Machine& machine, const RooflineOptions& options) {
    const std::vector<u64> points = options.lengths.points(work.model.read);
    if (points.size() != 1 || points[0] == 0) {
        stop(Exit::usage, "--tokens: one length of at least 1 is wanted here");
    }
    const Lengths lengths = options.lengths.lengths(points[0], work.model.read);
    const u64 asked = options.lengths.sequences();
    if (asked == 0) {
        stop(Exit::usage, "--batch: a step of 0 sequences reads nothing; at least 1 is wanted");
    }
    refuse_attention_ranks(options.sharding);
    const u64 spread = options.sharding.dp_attention ? options.sharding.tp : 1;
    const u64 of_replica = ceil_div(asked, options.sharding.dp);
    report::RooflineSheet sheet{.device = machine.device, .tokens = points[0]};
    sheet.sequences = ceil_div(of_replica, spread);
    sheet.generated = count_of(options.generate, "--generate");
    sheet.stages = options.sharding.pp;
    sheet.weights_known = work.weights_known();
    sheet.intensities = report::intensities_of(work.model.spec, options.sharding.sharding(), work.facts);
    if (work.mixture.routed()) {
        sheet.experts = {.moe_layers = work.mixture.layers,
                         .experts_per_token = work.mixture.per_token,
                         .hidden = work.mixture.hidden,
                         .dispatch_bytes = options.dispatch_bytes,
                         .combine_bytes = options.combine_bytes};
    }
    add_steps(sheet, work, options, lengths, saturating_product(sheet.sequences, spread));
    add_prompt(sheet, work, options, lengths);
    return sheet;
}

std::string split_words(const ShardingOptions& split) {
    std::string out = fmt::format("TP {}", split.tp);
    out += split.pp > 1 ? fmt::format(" PP {}", split.pp) : "";
    out += split.cp > 1 ? fmt::format(" CP {}{}", among_tensor_ranks(split) ? "among TP " : "", split.cp) : "";
    out += split.dp > 1 ? fmt::format(" DP {}", split.dp) : "";
    return out + (split.dp_attention ? " attention-DP" : "");
}

std::string screen_of(const Work& work, const Machine& machine, const report::RooflineSheet& sheet,
                      const RooflineOptions& options, const Session& session) {
    std::string out = heading(work.model, split_words(options.sharding), session);
    out += paragraph(fmt::format("{}: {}, {} ({}), turns from reading to computing at {:.0f} flop/B",
                                 machine.gpu.title, report::with_prefix(sheet.device.bandwidth, "B/s"),
                                 report::with_prefix(sheet.device.peak, "flop/s"), machine.compute,
                                 sheet.device.turning_point())) +
           '\n';
    out +=
        fmt::format("{} of {} tokens on a rank\n", report::counted(sheet.sequences, "sequence", "sequences"),
                    report::grouped(sheet.tokens));
    out += report::step_table(sheet);
    for (const std::string& sentence : report::sentences_of(sheet)) {
        out += paragraph(sentence) + '\n';
    }
    return out;
}

void run(const RooflineOptions& options, Session& session) {
    options.output.begin(session);
    const Machine machine = machine_of(options.device, true);
    Work work = work_of(options.model, options.sharding, options.weights);
    const report::RooflineSheet sheet = sheet_of(work, machine, options);
    if (work.mixture.routed()) {
        work.notes.push_back(
            {Origin::assumed, "routing",
             fmt::format("even: a step visits {} of the {} experts of a layer",
                         report::percent(work.mixture.share(
                             sheet.sequences * (options.sharding.dp_attention ? options.sharding.tp : 1))),
                         work.mixture.experts)});
    }
    const bool narrow = !work.weights_given && work.weights.parameters != 0 &&
                        work.weights.bytes / 3 < work.weights.parameters / 2;  // under 12 bits a parameter
    if (narrow && options.device.compute == "bf16" && machine.gpu.dense_fp8 > 0) {
        work.notes.push_back({Origin::assumed, "--compute",
                              "bf16, also of these weights of 8 bits or fewer: where their matrices are multiplied in "
                              "fp8 less time is the bound, with --compute fp8 for all of it"});
    }
    if (!options.output.json) {
        return session.print(screen_of(work, machine, sheet, options, session) +
                             notes_text(work.notes, false, session));
    }
    report::Json json;
    json.object().field("schema", "kvcap.roofline/1");
    write_model(json, work.model, options.model.kv_cache_dtype);
    json.field("gpu", machine.gpu.name);
    json.field("compute", machine.compute).field("tp", options.sharding.tp).field("pp", options.sharding.pp);
    json.field("cp", options.sharding.cp).field("cp_among_tp", among_tensor_ranks(options.sharding));
    json.field("weights_known", sheet.weights_known);
    report::add_roofline(json, sheet);
    report::write_notes(json, work.notes);
    session.print(json.end().text());
}

}  // namespace

void add_roofline(CLI::App& app, Session& session) {
    const auto options = std::make_shared<RooflineOptions>();
    CLI::App* verb = app.add_subcommand("roofline", "What a decoded token reads, and what bounds it");
    options->model.add_to(*verb);
    options->lengths.add_to(*verb);
    options->device.add_to(*verb);
    options->sharding.add_to(*verb);
    options->model.add_formats_to(*verb);
    verb->add_option("--weights-bytes", options->weights, "Weights of one rank, instead of those known")
        ->group("Device");
    verb->add_option("--generate", options->generate, "Tokens decoded after the prompt")
        ->group("Lengths")
        ->capture_default_str();
    verb->add_option("--dispatch-bytes", options->dispatch_bytes, "Of an element sent to experts")
        ->group("Device")
        ->check(CLI::Range(1, 8).description(""))
        ->capture_default_str();
    verb->add_option("--combine-bytes", options->combine_bytes, "Of an element sent back")
        ->group("Device")
        ->check(CLI::Range(1, 8).description(""))
        ->capture_default_str();
    options->output.add_to(*verb, false, false);
    verb->footer(
        "Examples:\n"
        "  kvcap roofline llama-3-8b --gpu h100 --tokens 8k --batch 14\n"
        "  kvcap roofline deepseek-v3 --gpu h200 --tp 8 --tokens 32k --batch 16\n"
        "  kvcap roofline llama-3.1-70b --gpu h100 --tp 8 --tokens 32k --link 50GB");
    verb->callback([options, &session] { run(*options, session); });
}

}  // namespace kvcap::cli
