// SPDX-License-Identifier: MIT
// kvcap advise MODEL: which technique helps this load on these GPUs, by how much, how to verify it, and its
// risk.
#include "advise.hpp"

#include "context_ranks.hpp"
#include "options.hpp"

#include <cmath>
#include <kvcap/io/similarity.hpp>
#include <kvcap/report/advice.hpp>
#include <memory>

namespace kvcap::cli {

namespace {

/// GPUs that the split takes, all replicas together.
u64 gpus_of_split(const AdviseOptions& options) {
    const ShardingOptions& split = options.sharding;
    return saturating_product(saturating_product(u64{split.tp} * split.pp, own_context_ranks(split)), split.dp);
}

}  // namespace

u32 gpus_of(const AdviseOptions& options) {
    return options.gpus != 0 ? options.gpus : static_cast<u32>(smaller(gpus_of_split(options), 0xffff'ffff));
}

namespace {

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
    if (read.table.thousandths.size() != model.layers) {
        stop(Exit::bad_input, fmt::format("{}: similarities of {} layers, and the model has {}", options.similarity,
                                          read.table.thousandths.size(), model.layers));
    }
    return value_of(reusing_layers(read.table, threshold, model, true), "--similarity");
}

Asked asked_of(const AdviseOptions& options, const Work& work) {
    const std::vector<u64> points = options.lengths.points(work.model.read);
    if (points.size() != 1 || points[0] == 0 || options.lengths.sequences() == 0) {
        stop(Exit::usage, "--tokens and --batch: one length and one count, at least 1 each, are wanted here");
    }
    refuse_attention_ranks(options.sharding);
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
    if (options.similarity.empty() && options.accept_stale) {
        stop(Exit::usage, "--accept-stale: it is asked of a table; wanted --similarity FILE as well");
    }
    if (!options.similarity.empty()) {
        asked.tries.reusing = reusing_of(options, work);
    }
    return asked;
}

auto site_of(const AdviseOptions& options, const Work& work, const Machine& machine) {
    const double util = options.util.empty() ? usual_share : cli::share_of(options.util);
    const auto share = static_cast<u64>(std::ceil(static_cast<double>(machine.gpu.total().value) * util));
    const Bytes room = minus(Bytes{share}, memory_of(options.non_kv, "--non-kv-bytes")).value_or({});
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

void run(const AdviseOptions& options, Session& session) {
    options.output.begin(session);
    const Machine machine = machine_of(options.device, aim_of(options.goal) != Aim::memory);
    Work work = work_of(options.model, options.sharding, options.weights);
    if (const std::string lacks = unrated(machine); !lacks.empty()) {
        work.notes.push_back({Origin::assumed, "--gpu",
                              fmt::format("memory alone: the catalogue does not state the {}, so no time", lacks)});
    }
    if (options.util.empty()) {
        work.notes.push_back({Origin::assumed, "--util", fmt::format("{} of the GPU's memory", usual_share)});
    }
    Sharding attention = options.sharding.sharding();
    attention.tp = options.sharding.dp_attention ? 1 : attention.tp;
    refuse_split(work.model, attention, options.sharding, EngineOptions{}.face());
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
    const Advised advised{options, work, machine, asked, baseline, all};
    session.print(options.output.json ? advise_json(advised) : advise_screen(advised, session));
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
    verb->add_option("--util", options->util, "Share of memory that may be used, 0.9")
        ->group("Device")->check(filled());
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
    options->output.add_to(*verb, false, false);
    verb->footer(
        "Examples:\n"
        "  kvcap advise llama-2-7b --gpu rtx-4090 --tokens 128k --goal memory\n"
        "  kvcap advise llama-3.1-70b --gpu h100 --gpus 8 --tp 8 --tokens 32k --batch 16 --goal throughput\n"
        "  kvcap advise llama-2-7b --gpu h100 --tokens 512 --goal latency --similarity table.json");
    verb->callback([options, &session] { run(*options, session); });
}

}  // namespace kvcap::cli
