// SPDX-License-Identifier: MIT
// llama.cpp behind the engine-neutral verbs: a context for the load at once, its cells, and the lines it
// prints.
#include "llamacpp.hpp"
#include "unevaluated.hpp"

#include <kvcap/io/key_value_dtypes.hpp>

namespace kvcap::cli {

namespace {

void check_version(const std::string& version) {
    const bool known =
        version.empty() || version == "0.5.0" || version == "v0.5.0" || version == "2026-09-28";
    if (!known) {
        stop(Exit::unknown_architecture, "--engine: no rules are known for llama.cpp " + version +
                                             "; known is 0.5.0 (nearest: llamacpp@2026-09-28)");
    }
}

/// llama.cpp counts cells and sequences in 32 bits; 2^31 and more never fit.
u32 small(const EngineQuestion& question, std::string_view flag, u64 otherwise) {
    return static_cast<u32>(question.number(flag, otherwise, u64{1} << 31));
}

u64 tokens_of(const Lengths& lengths) { return (lengths.prompt + lengths.decoded).value; }

void fill_rows(const llamacpp::Card& card, const llamacpp::Layout& layout, const Lengths& longest,
               EngineAnswer& answer) {
    for (u32 c = 0; c < answer.plan.classes.size(); ++c) {
        const GroupClass& kind = answer.plan.classes[c];
        const auto part = static_cast<llamacpp::Part>(kind.kind);
        u64 blocks = 0;
        for (const llamacpp::CacheShape& cache : layout.caches) {
            blocks = cache.part == part ? llamacpp::blocks_in(card, cache) : blocks;
        }
        answer.rows.push_back({.holds = part_name(part),
                               .groups = 1,
                               .caches = blocks,
                               .tokens_per_unit = kind.block,
                               .unit = kind.page,
                               .units_per_request = kind.steps.units(longest)});
        answer.reserved_request += kind.page * kind.steps.units(longest);
    }
}

/// Bytes on the fullest device against what there is.
Verdict judge_bytes(Bytes needed, Bytes available) {
    Verdict verdict{.fits = !(available < needed), .needed = needed.value, .usable = available.value};
    (verdict.fits ? verdict.spare_bytes : verdict.lacking_bytes) =
        verdict.fits ? minus(available, needed).value() : minus(needed, available).value();
    return verdict;
}

EngineAnswer ask_llamacpp(const EngineQuestion& question) {
    check_version(question.version);
    EngineAnswer answer{.rules = "llama.cpp v0.5.0 (2026-09-28)", .unit = "cells"};
    LlamaModel model = llama_model(*question.model);
    answer.notes = std::move(model.notes);
    const llamacpp::Engine engine{.options = llama_options(question)};
    const Result<PoolPlan> plan = engine.pools(model.card, question.sharding, {});
    if (!plan) {
        answer.error = plan.error();
        answer.refusal = refusal_words(plan.error());
        return answer;
    }
    answer.plan = *plan;
    answer.refusal = question.sharding.tp > 1 ? no_tensor_split(engine.options) : "";
    if (!answer.refusal.empty()) {
        answer.error = {.code = Errc::refused_combination};
        return answer;
    }
    Bytes needed{};
    for (const Pool& pool : plan->pools) {
        needed += pool.allocated;
    }
    Bytes available{off_scale};
    for (const Bytes each : question.available) {
        available = each < available ? each : available;
    }
    answer.verdict = judge_bytes(needed, available);
    const Verdict cells = judge(answer.plan, question.load());
    answer.verdict = cells.fits ? answer.verdict : cells;
    answer.by_bytes = cells.fits;
    judge_at_once(question, "parallel", engine.options.n_seq_max, "llama-server", answer);
    const llamacpp::Layout layout = value_of(llamacpp::layout(model.card, engine.options));
    fill_rows(model.card, layout, question.longest(), answer);
    answer.request_units = answer.rows.empty() ? 0 : answer.rows[0].units_per_request;
    answer.log = cache_lines(model.card, layout);
    if (question.sharding.tp > 1) {
        answer.notes.push_back({Origin::derived, "--tp",
                                "-sm tensor cuts the row of each cell, latents and single heads too: what is reserved "
                                "can be less than whole heads and latents on each rank"});
    }
    return answer;
}

/// Windows reserve for a micro-batch; requests want a sequence each; one cache for all sequences needs the sum of
/// lengths instead of the longest.
std::vector<Knob> knobs_of(const EngineQuestion& question) {
    std::vector<Knob> knobs;
    if (!question.has("swa-full")) {
        for (const LayerForm& form : question.model->read.spec.forms) {
            if (form.retention.keep == Keep::window) {
                knobs.push_back(halving("ubatch-size", question.number("ubatch-size", 512), 64, 64));
                break;
            }
        }
    }
    if (question.has("parallel") && question.number("parallel", 1) < question.requests()) {
        knobs.push_back({.flag = "parallel", .values = {std::to_string(question.requests())}});
    }
    if (!question.has("kv-unified")) {
        knobs.push_back({.flag = "kv-unified", .values = {""}});
    }
    return knobs;
}

/// Nothing is kept back: it allocates what its cells need.
double share_of(const EngineQuestion&) { return 1; }

/// The groups as llama.cpp knows them: blocks, the input embedding, and the output layer with everything else.
Bytes of_blocks_on_device(const Weights& weights, const RankPlace& place) {
    std::vector<u64> blocks(weights.layers, 0);
    llamacpp::BlockWeights file{.tied = weights.tied};
    for (const WeightGroup& group : weights.groups) {
        if (group.layer != no_layer && group.layer >= blocks.size()) {
            blocks.resize(smaller(u64{group.layer} + 1, gguf::most_weight_blocks), 0);
        }
        u64& to = group.layer < blocks.size()             ? blocks[group.layer]
                  : group.part == WeightPart::embedding ? file.input
                                                        : file.output;
        to = saturating_sum(to, group.bytes);
    }
    llamacpp::Card card{};
    card.blocks.count = static_cast<u32>(smaller(blocks.size(), llamacpp::max_blocks));
    file.blocks = blocks.data();
    file.count = static_cast<u32>(blocks.size());
    return {llamacpp::weights_per_device(card, llamacpp::devices_of(card, place.sharding), file).device[place.stage]};
}

/// -sm tensor cuts rows, else whole blocks lie on a device. What more devices than llama.cpp has would hold is nothing.
Result<Bytes> on_llama_device(const Weights& weights, const RankPlace& place) {
    if (place.sharding.pp > llamacpp::most_devices) {
        return Bytes{};
    }
    if (place.sharding.tp == 1) {
        return of_blocks_on_device(weights, place);
    }
    Weights here = weights;
    std::erase_if(here.groups, [](const WeightGroup& group) { return group.part == WeightPart::embedding; });
    for (WeightGroup& group : here.groups) {
        group.part = group.part == WeightPart::keys ? WeightPart::attention : group.part;  // cut inside heads
    }
    for (const WeightGroup& group : weights.groups) {
        if (weights.tied && group.part == WeightPart::embedding) {
            here.add({.part = WeightPart::head, .layer = no_layer, .bytes = group.bytes});
        }
    }
    return kvcap::weights_on_rank(here, {.sharding = place.sharding}, place.stage);
}

EngineFlags unsaid(const EngineQuestion&) { return {{"batch-size", "2048"}, {"ubatch-size", "512"}}; }

constexpr std::string_view experts_on_host =
    "experts in host memory are evaluated by kvcap llamacpp FILE.gguf with the same flag; here, leave it out and give "
    "--weights-bytes";

const LaunchFace line{
    .formats = {{"auto", "f16"}, {"bf16", "f16"}},
    .unevaluated = {{"override-kv", why::another_model},
                    {"model-draft", why::drafts},
                    {"no-kv-offload", "the cache lies in host memory; what is judged here is a cache on GPUs"},
                    {"override-tensor", why::on_host},
                    {"cpu-moe", experts_on_host},
                    {"n-cpu-moe", experts_on_host, why::none}},
    .says_share = false,
    .unsaid = unsaid};

}  // namespace

/// -c for the load: every sequence gets the longest request's length, or, unified, the sum of all lengths.
llamacpp::Options llama_options(const EngineQuestion& question) {
    llamacpp::Options to{};
    const u64 sequences = question.requests();
    u64 all = 0;
    for (std::size_t i = 0; i < question.each.size(); ++i) {
        all = saturating_sum(all, saturating_product(tokens_of(question.each[i]), question.counts[i]));
    }
    to.kv_unified = question.has("kv-unified");
    to.n_seq_max = small(question, "parallel", larger(sequences, 1));
    const u64 longest = saturating_product(tokens_of(question.longest()), to.n_seq_max);
    to.n_ctx = small(question, "ctx-size", larger(to.kv_unified ? all : longest, 1));
    to.n_batch = small(question, "batch-size", 2048);
    to.n_ubatch = small(question, "ubatch-size", 512);
    to.swa_full = question.has("swa-full");
    to.flash_attn = flash_named(question.text("flash-attn", "auto"));
    const std::string dtype = question.kv_cache_dtype == "auto" || question.kv_cache_dtype == "bf16"
                                  ? "f16" : question.kv_cache_dtype;
    const auto types = io::key_value_names(dtype);
    to.type_k = cache_type(question.text("cache-type-k", types.first), "cache-type-k");
    to.type_v = cache_type(question.text("cache-type-v", types.second), "cache-type-v");
    return to;
}

extern const EngineFace llamacpp_face;
const EngineFace llamacpp_face{
    .name = "llamacpp",
    .title = "llama.cpp",
    .flags = {"ctx-size=cells asked for, of all sequences", "parallel=sequences at once",
              "batch-size=tokens of one batch", "ubatch-size=tokens of one micro-batch; windows reserve for it",
              "cache-type-k=f16, q8_0, q4_0 ...", "cache-type-v=f16, q8_0, q4_0 ...", "flash-attn=on, off or auto",
              "swa-full!windows get cells for everything", "kv-unified!one cache for all sequences"},
    .ask = ask_llamacpp,
    .formats = {"q8_0", "q4_0"},
    .knobs = knobs_of,
    .no_context_ranks = "llama.cpp has no context ranks; leave it out",
    .share = share_of,
    .launch = &line,
    .beyond_context = "llama-server warns, sets the cells aside and caps requests at the model's length",
    .weights = on_llama_device,
    .of_kinds = {"swa-full"},
};

}  // namespace kvcap::cli
