// SPDX-License-Identifier: MIT
// vLLM: its flags under its own names, its plan, and the lines it prints.
#include "engine_vllm_answer.hpp"
#include "engine_vllm_backend.hpp"
#include "engine_vllm_checks.hpp"
#include "engine_vllm_context.hpp"
#include "engine_vllm_version.hpp"
#include "expert_blocks.hpp"
#include "unevaluated.hpp"

#include <algorithm>
#include <kvcap/engine/vllm.hpp>
#include <kvcap/report/refusal_vllm.hpp>
#include <memory>

namespace kvcap::cli {

namespace {

u32 small(const EngineQuestion& question, std::string_view flag, u32 otherwise) {
    return static_cast<u32>(question.number(flag, otherwise, 0xffffffffu));
}

/// Windows and chunks reserve for what is in flight.
bool reserves_for_steps(const ModelSpec& model) {
    bool reserves = false;
    for (const LayerForm& form : model.forms) {
        reserves = reserves || form.retention.keep == Keep::window || form.retention.keep == Keep::chunk;
    }
    return reserves;
}

vllm::Options options_of(const EngineQuestion& question, const vllm::Rules& rules, EngineAnswer& answer,
                         bool& as_formed) {
    vllm::Options options = unsaid_options(question, rules);
    options.kv_dtype = dtype_of(question, rules, as_formed);
    options.max_model_len = question.max_len;
    options.max_num_batched_tokens = step_of(question, rules);
    options.async_scheduling = overlaps(question, rules);
    options.prefix_caching = caches_prefixes(question, rules);
    options.block_size = small(question, "block-size", 0);
    options.prefix_match_unit = question.number("prefix-match-unit", 0);
    options.num_blocks_override = question.number("num-gpu-blocks-override", 0);
    options.hybrid_manager = !question.has("disable-hybrid-kv-cache-manager");
    const u64 positions = question.model->read.encoder_tokens;  // vLLM sizes by all, whatever a request has
    options.encoder_tokens = positions != 0 ? positions : question.longest().encoder.value;
    options.mode = state_mode_of(question, rules);
    options.spec_tokens = small(question, "num-speculative-tokens", 0);
    choose_backend(question, rules, options, answer);
    options.second_runner = options.second_runner && !(options.spec_tokens != 0 && drafts_from_text(question));
    note_defaults(question, rules, reserves_for_steps(question.model->read.spec), answer.notes);
    note_states(question, rules, options, answer.notes);
    const std::string& name = question.model->read.class_name;
    if (vllm::rules_of_class(name.c_str()).known == vllm::Known::by_layers &&
        vllm::has_kind(question.model->spec, Kind::mamba2)) {
        answer.notes.push_back(
            {Origin::assumed, "model class",
             "vLLM's class of this model is not known here; rules of its layer kinds are used"});
    }
    const bool packs_fp8 =
        answer.backend != "FLASHINFER_MLA_SPARSE" || !rules.has(vllm::Change::backend_chooses_block);
    return vllm::for_class(question.model->spec, name.c_str(), options, packs_fp8);
}

/// The model's own draft layers behind its trunk, where it drafts (MTP); `modules`: those that are loaded.
ModelSpec with_drafts(const ModelSpec& trunk, const ReadModel& read, u32 spec_tokens, u32& modules) {
    modules = spec_tokens == 0 ? 0 : static_cast<u32>(smaller(read.draft.layers, spec_tokens));
    ModelSpec model = trunk;
    for (const Cache& cache : read.draft.caches) {
        if (cache.layer < modules && model.add(trunk.layers + cache.layer, read.draft.form_of(cache)) != Errc::ok) {
            stop(Exit::usage, "--num-speculative-tokens: more draft layers than can be kept");
        }
    }
    model.draft_layers = modules;
    return model;
}

/// vLLM's category, whether it is met before memory is known or after.
vllm::Reason reason_of(const vllm::Outcome& outcome) {
    const vllm::Reason sized = outcome.sizing.refusal.reason;
    return sized != vllm::Reason::none ? sized : vllm::reason_of(outcome.error);
}

std::string refusal_text(const vllm::Outcome& outcome, const Sharding& sharding) {
    const vllm::Refusal& why = outcome.sizing.refusal;
    const auto gib = [](u64 bytes) {
        return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / double(1u << 30));
    };
    switch (reason_of(outcome)) {
        case vllm::Reason::none:
            if (outcome.error.code == Errc::not_divisible && sharding.cp > 1 && sharding.tp % sharding.cp != 0) {
                return fmt::format("--tp {} is not a multiple of --cp {}: vLLM's context ranks are among its tensor "
                                   "ranks (--decode-context-parallel-size)",
                                   sharding.tp, sharding.cp);
            }
            return report::text_of(outcome.error);
        case vllm::Reason::no_memory:
            return fmt::format("No available memory for the cache blocks ({} available)", gib(why.available));
        case vllm::Reason::not_enough_memory:
            return fmt::format(
                "a request of {} tokens needs {}, and {} are available; the longest that fits has {} tokens",
                report::grouped(outcome.sizing.max_len == 0 ? outcome.design.options.max_model_len
                                                            : outcome.sizing.max_len),
                gib(why.needed), gib(why.available - why.kept_back), report::grouped(why.longest));
        default:
            return fmt::format("vLLM refuses this model with these options: {}", report::words_of(reason_of(outcome)));
    }
}

EngineAnswer ask_vllm(const EngineQuestion& question) {
    EngineAnswer answer{};
    const auto engine = std::make_unique<vllm::Engine>();
    engine->rules = rules_of(question.version);
    answer.rules = name_of(engine->rules);
    bool as_formed = false;
    engine->options = options_of(question, engine->rules, answer, as_formed);
    if (!answer.runs()) {
        return answer;
    }
    refuse_block(question, engine->rules, answer);
    refuse_context(question, engine->rules, engine->options.kv_dtype, answer);
    refuse_requests(question, engine->options.max_num_batched_tokens, answer);
    const bool whole = question.attention_ranks > 1 || question.has("enable-expert-parallel");
    const u64 sharing = saturating_product(larger(question.attention_ranks, question.sharding.tp), question.dp);
    if (question.attention_ranks > 1) {
        note_whole_experts(question.model->read, sharing, "--enable-expert-parallel", answer);
    }
    refuse_cut_blocks(question.model->read, whole ? 1 : sharing, "--enable-expert-parallel", answer);
    if (!answer.runs()) {
        return answer;
    }
    // vLLM's own dtypes store in its own way; a plain element format is already in the forms.
    const ReadModel& read = question.model->read;
    u32 modules = 0;
    const u32 drafted = drafts_from_text(question) ? 0 : engine->options.spec_tokens;
    const ModelSpec trunk =
        vllm::registered(as_formed ? question.model->spec : read.spec, read.class_name.c_str());
    const ModelSpec model = with_drafts(trunk, read, drafted, modules);
    engine->options.multi_module_mtp = modules > 1;
    if (drafted != 0) {
        answer.notes.push_back({Origin::assumed, "--num-speculative-tokens",
                                modules != 0 ? report::counted(modules, "draft layer", "draft layers") +
                                                   " of the model itself (MTP); another draft model adds its own"
                                             : "the draft model's own caches are not counted"});
    }
    if (engine->options.spec_tokens != 0 && drafted == 0) {
        answer.notes.push_back({Origin::derived, "--spec-method",
                                question.text("spec-method") +
                                    ": drafts of the text itself, without weights or caches"});
    }
    const Sharding& sharding = question.sharding;
    const Budget budget{question.available.data(), static_cast<u32>(question.available.size())};
    const auto outcome = std::make_unique<vllm::Outcome>(engine->start(model, sharding, budget));
    if (!outcome->runs()) {
        answer.error =
            outcome->error.code != Errc::ok ? outcome->error : vllm::error_of(outcome->sizing.refusal);
        answer.longest_hint = outcome->sizing.refusal.longest;
        answer.refusal = refusal_text(*outcome, sharding);
        const vllm::Reason why = reason_of(*outcome);
        answer.reason = why == vllm::Reason::none ? std::string_view{} : vllm::name_of(why);
        return answer;
    }
    refuse_start(question, *outcome, engine->rules, answer);
    if (!answer.runs()) {
        return answer;
    }
    answer.plan = outcome->plan;
    answer.unit = fmt::format("blocks of {}", outcome->plan.reported_block);
    answer.verdict = judge(answer.plan, question.load());
    const Demand one = demand(answer.plan, question.longest());
    answer.request_units = one.units.empty() ? 0 : one.units[0];
    answer.reserved_request =
        answer.plan.pools.empty() ? Bytes{} : answer.plan.pools[0].each * answer.request_units;
    judge_override(*outcome, question, answer);
    fill_rows(*outcome, answer, question.longest());
    fill_log(*outcome, answer);
    return answer;
}

/// Blocks that every version and most kernels take, the nearest to `now` first.
std::vector<std::string> blocks_around(u64 now) {
    std::vector<u64> blocks{16, 32, 64, 128, 256};
    std::erase(blocks, now);
    const auto nearer = [now](u64 a, u64 b) {  // by their ratios to `now`, of two alike the smaller
        const u64 left = larger(a, now) * smaller(b, now);
        const u64 right = larger(b, now) * smaller(a, now);
        return left != right ? left < right : a < b;
    };
    std::sort(blocks.begin(), blocks.end(), nearer);
    std::vector<std::string> values;
    values.reserve(blocks.size());
    for (const u64 block : blocks) {
        values.push_back(std::to_string(block));
    }
    return values;
}

/// The block, and, where windows or chunks reserve for a step, the tokens of one.
std::vector<Knob> knobs_of(const EngineQuestion& question) {
    std::vector<Knob> knobs{{.flag = "block-size", .values = blocks_around(question.number("block-size", 16))}};
    bool states = false;
    for (const LayerForm& form : question.model->read.spec.forms) {
        states = states || vllm::is_state(form);
    }
    if (reserves_for_steps(question.model->read.spec)) {
        const u64 step = step_of(question, rules_of(question.version));
        knobs.push_back(halving("max-num-batched-tokens", step, 512, 16));
    }
    const vllm::Rules rules = rules_of(question.version);
    if (states && caches_prefixes(question, rules) && vllm::caches_prefixes_unsaid(rules, question.model->read.spec)) {
        knobs.push_back({.flag = "no-enable-prefix-caching", .values = {""}});
    }
    if (const EngineAnswer now = ask_vllm(question); now.reason == vllm::name_of(vllm::Reason::assertion)) {
        knobs.push_back({.flag = "max-num-batched-tokens", .values = {std::to_string(larger(now.error.want, 1))}});
    }
    return knobs;
}

double share_of(const EngineQuestion& question) { return vllm::share_unsaid(rules_of(question.version)) / 100.0; }

EngineFlags unsaid(const EngineQuestion& question) {
    return {{"max-num-batched-tokens", std::to_string(step_of(question, rules_of(question.version)))}};
}

u64 requests_of_server(const EngineQuestion& question) {
    return requests_unsaid(question, rules_of(question.version));
}

/// What is dense in a layer with routed experts are its shared ones.
Weights with_whole_shared_experts(Weights weights) {
    std::vector<bool> routed(weights.layers, false);
    for (const WeightGroup& group : weights.groups) {
        if (group.part == WeightPart::experts && group.layer < routed.size()) {
            routed[group.layer] = true;
        }
    }
    for (WeightGroup& group : weights.groups) {
        const bool shared = group.part == WeightPart::dense && group.layer < routed.size() && routed[group.layer];
        group.part = shared ? WeightPart::whole : group.part;
    }
    return weights;
}

/// Experts are dealt over the ranks of all data-parallel groups (FusedMoEParallelConfig.make), each of which holds the
/// rest; ranks of attention data parallelism are such groups of TP 1.
Result<Bytes> weights_of(const Weights& weights, const RankPlace& place) {
    WeightSplit split{.sharding = place.sharding};
    split.ep = static_cast<u32>(smaller(saturating_product(split.tp(), place.dp), ~u32{0}));
    split.sharding.tp = place.attention_dp ? 1 : place.sharding.tp;
    return kvcap::weights_on_rank(place.whole_shared_experts ? with_whole_shared_experts(weights) : weights, split,
                                  place.stage);
}

const LaunchFace line{.formats = {{"bf16", "bfloat16"}, {"f16", "float16"}, {"half", "float16"}},
                      .unevaluated = {{"cpu-offload-gb", why::on_host, why::none},
                                      {"hf-overrides", why::another_model, "{}"},
                                      {"rope-scaling", why::another_model, "{}"},
                                      {"rope-theta", why::another_model},
                                      {"dtype", why::wide, why::half},
                                      {"mamba-ssm-cache-dtype", why::states},
                                      {"mamba-cache-dtype", why::states}},
                      .block_flag = "block-size",
                      .requests_flag = "max-num-seqs",
                      .step_flag = "max-num-batched-tokens",
                      .unsaid = unsaid,
                      .dtypes = line_dtypes,
                      .requests_unsaid = requests_of_server};

u64 context_of(const ReadModel& model) {
    return vllm::derived_context(model.max_context, model.rope, model.architecture);
}

}  // namespace

extern const EngineFace vllm_face;
const EngineFace vllm_face{
    .name = "vllm",
    .title = "vLLM",
    .flags = {"block-size=tokens per block", "max-num-batched-tokens=tokens of one step; windows reserve for it",
              "attention-backend=FLASH_ATTN, FLASHINFER, FLASHMLA ...", "mamba-cache-mode=none, align or all",
              "max-num-seqs=requests at once of a line; elsewhere --batch",
              "num-gpu-blocks-override=blocks, whatever the memory", "num-speculative-tokens=draft tokens a step",
              "spec-method=who drafts them: mtp, or ngram and suffix, which have no caches",
              "prefix-match-unit=tokens of one hash", "async-scheduling!two batches in flight",
              "no-async-scheduling!one batch in flight a stage", "enforce-eager!no CUDA graphs",
              "enable-prefix-caching!prefix caching on, also of states", "no-enable-prefix-caching!prefix caching off",
              "disable-hybrid-kv-cache-manager!one kind of group only",
              "enable-expert-parallel!whole experts on a rank; with TP and DP also whole shared experts"},
    .ask = ask_vllm,
    .memory_flag = "gpu-memory-utilization",
    .knobs = knobs_of,
    .no_context_ranks = {},
    // distributed/utils.py get_pp_indices: neither the first nor the last stage, from the back
    .remainder = Remainder::middle,
    .share = share_of,
    .launch = &line,
    // config/model.py get_and_verify_max_len
    .beyond_context = "vLLM does not start so unless VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 is set",
    .weights = weights_of,
    .of_kinds = {"mamba-cache-mode", "disable-hybrid-kv-cache-manager"},
    .kv_format = packed_latents,
    .context = context_of,
    .follows_checkpoint = true,
};

}  // namespace kvcap::cli
