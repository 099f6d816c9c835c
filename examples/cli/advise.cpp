// SPDX-License-Identifier: MIT
// kvcap advise MODEL: which technique helps this load on these GPUs, by how much, how to verify it, and its
// risk.
#include "context_ranks.hpp"
#include "screen.hpp"
#include "work.hpp"

#include <cmath>
#include <kvcap/io/similarity.hpp>
#include <kvcap/io/spec_line.hpp>
#include <kvcap/report/advice.hpp>
#include <kvcap/report/json.hpp>
#include <memory>

namespace kvcap::cli {

namespace {

struct AdviseOptions {
    ModelOptions model;
    ShardingOptions sharding;
    LengthOptions lengths;
    DeviceOptions device;
    u32 gpus = 0;
    std::string util = "0.9";
    std::string non_kv = "0B";
    std::string weights;
    std::string goal = "memory";
    std::string prefix = "0";
    std::string similarity;
    double threshold = 0.98;
    double fallback = 0;
    bool accept_stale = false;
    std::string window = "4096";
    double budget = 0.2;
    double rank = 0.5;
    bool explain = false;
    Output output;
};

Aim aim_of(const std::string& name) {
    for (const Aim aim : {Aim::memory, Aim::latency, Aim::ttft, Aim::throughput}) {
        if (name == report::name_of(aim)) {
            return aim;
        }
    }
    stop(Exit::usage, fmt::format("--goal: {} is none of memory, latency, ttft, throughput", name));
}

u64 share_of(double share, const char* flag) {
    if (!(share >= 0 && share <= 1)) {
        stop(Exit::usage, fmt::format("{}: {} is no share; wanted 0 to 1", flag, share));
    }
    return static_cast<u64>(std::lround(share * 1000));
}

/// int8 and fp8 take the same bytes and are not the same storage.
bool integers(std::string_view dtype) {
    return dtype.substr(0, 3) == "int" || dtype.substr(0, 1) == "q";
}

LayerList reusing_of(const AdviseOptions& options, const Work& work) {
    const ModelSpec& model = work.model.spec;
    const LayerForm* form = nullptr;
    for (u32 layer = 0; layer < model.layers && form == nullptr; ++layer) {
        form = growing_cache(model, layer);
    }
    if (form == nullptr) {
        stop(Exit::usage,
             "--similarity: no layer of this model keeps every token; there is nothing to reuse");
    }
    const std::string text = value_of(read_text_file(options.similarity));
    Diagnosed<ReadSimilarity> table = read_similarity(text, *form);
    if (!table) {
        table.error = io::in_file(options.similarity, *std::move(table.error));
    }
    const ReadSimilarity read = value_of(std::move(table));
    const u16 threshold = static_cast<u16>(share_of(options.threshold, "--threshold"));
    const bool mixed = integers(read.dtype) != integers(work.model.dtype) &&
                       !(read.table.format == bf16 && form->streams[0].format == bf16);
    if ((stale(read.table, model).code != Errc::ok || mixed) && !options.accept_stale) {
        stop(Exit::usage,
             fmt::format(
                 "--similarity: measured on {} in {}, and this cache is {} in {}: recalibrate (0.98 in bf16 "
                 "became 0.995 in INT8), or --accept-stale",
                 read.table.kind == Kind::latent ? "latents" : "keys and values", read.dtype,
                 form->kind == Kind::latent ? "latents" : "keys and values", work.model.dtype));
    }
    const LayerList layers = value_of(reusing_layers(read.table, threshold, model, true), "--similarity");
    return layers;
}

/// GPUs that the split takes, all replicas together.
u64 gpus_of_split(const AdviseOptions& options) {
    const ShardingOptions& split = options.sharding;
    return saturating_product(saturating_product(u64{split.tp} * split.pp, own_context_ranks(split)), split.dp);
}

/// GPUs there are: those of --gpus, or as many as the split takes.
u32 gpus_of(const AdviseOptions& options) {
    return options.gpus != 0 ? options.gpus : static_cast<u32>(smaller(gpus_of_split(options), 0xffff'ffff));
}

struct Asked {
    Variant variant{};
    Wanted wanted{};
    Tries tries{};
    Aim aim = Aim::memory;
};

Asked asked_of(const AdviseOptions& options, const Work& work) {
    const std::vector<u64> points = options.lengths.points(work.model.read);
    if (points.size() != 1 || points[0] == 0 || options.lengths.sequences() == 0) {
        stop(Exit::usage, "--tokens and --batch: one length and one count, at least 1 each, are wanted here");
    }
    Asked asked{.aim = aim_of(options.goal)};
    Sharding split = options.sharding.sharding();
    split.tp = options.sharding.tp;
    asked.variant = variant_of(work.model.spec, split, options.sharding.dp_attention);
    asked.wanted = {options.lengths.lengths(points[0], work.model.read), options.lengths.sequences()};
    asked.tries = {.prefix = count_of(options.prefix, "--shared-prefix"),
                   .window = count_of(options.window, "--window"),
                   .budget = share_of(options.budget, "--budget"),
                   .rank = share_of(options.rank, "--rank")};
    asked.tries.fallback = share_of(options.fallback, "--fallback");
    const u64 needed = gpus_of_split(options);
    if (options.gpus != 0 && needed > options.gpus) {
        stop(Exit::usage, fmt::format("--gpus: the split needs {} and there are {}", needed, options.gpus));
    }
    asked.tries.most_tp = static_cast<u32>(options.gpus / larger(needed / larger(split.tp, 1), 1));
    if (asked.tries.prefix > asked.wanted.each.prompt.value) {
        stop(Exit::usage, fmt::format("--shared-prefix: {} tokens are more than the prompt's {}",
                                      asked.tries.prefix, asked.wanted.each.prompt.value));
    }
    if (!options.similarity.empty()) {
        asked.tries.reusing = reusing_of(options, work);
    }
    return asked;
}

auto site_of(const AdviseOptions& options, const Work& work, const Machine& machine) {
    const double util = std::strtod(options.util.c_str(), nullptr);
    if (!(util > 0 && util <= 1)) {
        stop(Exit::usage, fmt::format("--util: {} is no share; wanted above 0 and at most 1", options.util));
    }
    const auto share = static_cast<u64>(std::ceil(static_cast<double>(machine.gpu.total().value) * util));
    const Bytes room = minus(Bytes{share}, bytes_of(options.non_kv, "--non-kv-bytes")).value_or({});
    if (room.value == 0) {
        stop(Exit::does_not_fit, "--non-kv-bytes: nothing is left for weights and cache");
    }
    const auto reads = [&work](const Variant& on, u64 tokens, u32 stage) {
        return work.reads(on.sharding, on.attention_dp, tokens, stage);
    };
    const auto stored = [&work](const Variant& on, u32 stage) {
        return work.stored(on.sharding, on.attention_dp, stage);
    };
    return Site{machine.device, room, gpus_of(options), u64{work.mixture.hidden}, work.facts, reads, stored};
}

std::string table_of(const Asked& asked, const Costs& baseline, const std::vector<Advice>& all) {
    using A = report::Align;
    report::Table table{{A::right, A::left, A::right, A::right, A::left}};
    table.row({"", "choice", std::string{report::heading_of(asked.aim)}, "saves", "needs"});
    table.row(
        {"", "as asked", report::price_words(baseline, asked.aim), "", baseline.fits ? "" : "does not fit"});
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Advice& one = all[i];
        const std::string needs{report::words_of(needs_of(one.choice.technique))};
        table.row({std::to_string(i + 1), report::name_of(one.choice),
                   report::price_words(one.costs, asked.aim), report::percent(one.saved),
                   needs + (one.costs.fits ? "" : "; no fit")});
    }
    return table.text();
}

std::string screen_of(const AdviseOptions& options, const Work& work, const Machine& machine,
                      const Asked& asked, const Costs& baseline, const std::vector<Advice>& all,
                      const Session& session) {
    const u64 tokens = (asked.wanted.each.prompt + asked.wanted.each.decoded).value;
    std::string out = heading(work.model, fmt::format("TP {}", asked.variant.sharding.tp), session);
    out += paragraph(fmt::format(
               "{} of {} tokens on {} x {}, goal {}; held bytes and bounds at peak, not predictions",
               report::counted(asked.wanted.sequences, "sequence", "sequences"), report::grouped(tokens),
               gpus_of(options), machine.gpu.title,
               report::name_of(asked.aim))) +
           '\n';
    out += table_of(asked, baseline, all);
    out += session.bold(paragraph(report::verdict_words(all, baseline, asked.aim))) + '\n';
    std::size_t said = 0;
    for (const Advice& one : all) {
        if (!options.explain && (said == 3 || one.saved <= 0)) {
            break;
        }
        out += fmt::format("{}\n", report::name_of(one.choice));
        out += paragraph(fmt::format("  verify: {}", report::verify_of(one.choice.technique))) + '\n';
        out += paragraph(fmt::format("  risk: {}", report::risk_words(one.choice.technique))) + '\n';
        ++said;
    }
    const bool stacked = !asked.tries.reusing.empty() && kv_heads(work.model.spec) == 0;
    out += stacked
               ? paragraph(
                     "depth reuse on a latent: the savings stack, and so may the losses; measure each apart, "
                     "then both") +
                     '\n'
               : "";
    return out;
}

void add_costs(report::Json& json, const Costs& costs) {
    json.field("fits", costs.fits).field("memory_bytes", costs.memory).field("cache_bytes", costs.cache);
    json.field("most_sequences", costs.most).field("step_seconds", costs.step, 9);
    json.field("first_token_seconds", costs.first, 9).field("tokens_per_second", costs.rate, 1);
    json.field("cache_share_of_reads", costs.cache_share(), 6);
}

std::string json_of(const AdviseOptions& options, const Work& work, const Machine& machine,
                    const Asked& asked, const Costs& baseline, const std::vector<Advice>& all) {
    report::Json json;
    json.object().field("schema", "kvcap.advise/1");
    write_model(json, work.model, options.model.kv_cache_dtype);
    json.field("gpu", machine.gpu.name);
    json.field("gpus", gpus_of(options));
    json.field("tp", asked.variant.sharding.tp).field("goal", report::name_of(asked.aim));
    json.field("tokens", (asked.wanted.each.prompt + asked.wanted.each.decoded).value);
    json.field("sequences", asked.wanted.sequences);
    json.object("as_asked", report::Layout::flat);
    add_costs(json, baseline);
    json.end().field("verdict", report::verdict_words(all, baseline, asked.aim)).array("choices");
    for (const Advice& one : all) {
        const Technique technique = one.choice.technique;
        json.object().field("technique", report::key_of(technique)).field("size", one.choice.size);
        json.field("name", report::name_of(one.choice)).field("saved", one.saved, 6);
        json.field("needs", report::words_of(needs_of(technique)));
        json.field("risk", report::words_of(risk_of(technique)));
        add_costs(json, one.costs);
        json.field("verify", report::verify_of(technique))
            .field("risk_words", report::risk_words(technique))
            .end();
    }
    return json.end().end().text();
}

void run(const AdviseOptions& options, Session& session) {
    options.output.begin(session);
    const Machine machine = machine_of(options.device);
    const Work work = work_of(options.model, options.sharding, options.weights);
    if (!work.weights_known()) {
        stop(Exit::bad_input,
             "the weights of this model are not known, and what a step reads depends on them; give "
             "--weights-bytes (of one rank)");
    }
    const Asked asked = asked_of(options, work);
    const auto site = site_of(options, work, machine);
    const Costs baseline = value_of(costs_of(asked.variant, site, asked.wanted));
    const std::vector<Advice> all =
        kvcap::advise(asked.variant, site, asked.wanted, asked.aim, asked.tries, baseline);
    const bool fits = baseline.fits || (!all.empty() && all.front().costs.fits);
    session.exit = fits ? Exit::ok : Exit::does_not_fit;
    session.print(options.output.json ? json_of(options, work, machine, asked, baseline, all)
                                      : screen_of(options, work, machine, asked, baseline, all, session) +
                                            notes_text(work.notes, false, session));
}

}  // namespace

void add_advise(CLI::App& app, Session& session) {
    const auto options = std::make_shared<AdviseOptions>();
    CLI::App* verb = app.add_subcommand("advise", "Which technique helps this load, and by how much");
    options->model.add_to(*verb);
    options->lengths.add_to(*verb);
    verb->add_option("--goal", options->goal, "memory, latency, ttft or throughput")->capture_default_str();
    options->device.add_to(*verb);
    verb->add_option("--gpus", options->gpus, "How many there are: replicas and more TP")
        ->group("Device")
        ->check(CLI::Range(1u, 65536u));
    verb->add_option("--util", options->util, "Share of memory that may be used")
        ->group("Device")
        ->capture_default_str();
    verb->add_option("--non-kv-bytes", options->non_kv, "Beside weights and cache")->group("Device");
    verb->add_option("--weights-bytes", options->weights, "Weights of one rank, if not known")
        ->group("Device");
    options->sharding.add_to(*verb);
    options->model.add_formats_to(*verb);
    const auto choice = [&](const char* name, auto& value, const char* text) {
        verb->add_option(name, value, text)->group("Choices")->capture_default_str();
    };
    choice("--shared-prefix", options->prefix, "Tokens of a prompt that are stored before");
    choice("--similarity", options->similarity, "Table for depth reuse, a JSON file");
    choice("--threshold", options->threshold, "Similarity from which a layer reuses");
    choice("--fallback", options->fallback, "Share of tokens computed in full after all");
    verb->add_flag("--accept-stale", options->accept_stale, "A table of another storage or kind")
        ->group("Choices");
    choice("--window", options->window, "Tokens of a window, beside 4 sinks");
    choice("--budget", options->budget, "Share of the tokens that H2O keeps");
    choice("--rank", options->rank, "Share of the width that a low rank keeps");
    verb->add_flag("--explain", options->explain, "Verification and risk of every choice")->group("Output");
    options->output.add_to(*verb, false);
    verb->footer(
        "Examples:\n"
        "  kvcap advise llama-2-7b --gpu rtx-4090 --tokens 128k --goal memory\n"
        "  kvcap advise llama-3.1-70b --gpu h100 --gpus 8 --tp 8 --tokens 32k --batch 16 --goal throughput\n"
        "  kvcap advise llama-2-7b --gpu h100 --tokens 512 --goal latency --similarity table.json");
    verb->callback([options, &session] { run(*options, session); });
}

}  // namespace kvcap::cli
