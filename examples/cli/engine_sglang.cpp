// SPDX-License-Identifier: MIT
// SGLang: its server arguments, its pools, and the lines it prints.
#include "context_ranks.hpp"
#include "expert_blocks.hpp"
#include "unevaluated.hpp"

#include <algorithm>
#include <kvcap/engine/sglang.hpp>
#include <kvcap/io/launch/experts.hpp>
#include <memory>

namespace kvcap::cli {

namespace {

double ratio_of(const EngineQuestion& question, std::string_view flag, double otherwise) {
    if (!question.has(flag)) {
        return otherwise;
    }
    const std::string text = question.text(flag);
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !(value > 0 && value < 1e6)) {
        stop(Exit::usage, fmt::format("--{}: '{}' is no ratio above 0", flag, text));
    }
    return value;
}

/// Of recurrent states: what mamba_ssm_dtype beside the decoder's keys says (mamba_ssm_cache_dtype is not read), else
/// fp32; KDA's states are fp32 always. Convolutions are bf16. Source: SGLang, configs/mamba_utils.py
/// mamba2_state_dtype, to which configs/kimi_linear.py gives no config.
ElementFormat state_format_of(const ReadModel& read) {
    for (const LayerForm& form : read.spec.forms) {
        if (form.kind == Kind::kda) {
            return f32;
        }
    }
    const std::string& hint = read.state_dtype_hint;
    return hint == "bfloat16" ? bf16 : hint == "float16" ? f16 : f32;
}

sglang::KvDtype dtype_of(const std::string& name) {
    if (name == "auto" || name == "bf16" || name == "bfloat16" || name == "float16" || name == "half") {
        return sglang::KvDtype::bf16;
    }
    if (name == "fp8" || name == "fp8_e4m3" || name == "fp8_e5m2") {
        return sglang::KvDtype::fp8;
    }
    if (name == "mxfp8") {
        return sglang::KvDtype::mxfp8;
    }
    if (name == "fp4_e2m1" || name == "nvfp4") {
        return sglang::KvDtype::fp4;
    }
    stop(Exit::usage,
         fmt::format(
             "--kv-cache-dtype: SGLang has no {}; it has auto, bf16, fp8_e4m3, fp8_e5m2, mxfp8, fp4_e2m1",
             name));
}

u64 window_of(const ModelSpec& model) {
    for (const LayerForm& form : model.forms) {
        if (form.retention.keep == Keep::window && form.kind != Kind::compressor) {
            return form.retention.span.value;
        }
    }
    return 0;
}

/// Tokens of a page where none is given: DeepSeek-V4's pools have 256, index keys of latents 64 (their kernels' page).
u64 usual_page(const ModelSpec& model) {
    bool latents = false;
    for (const LayerForm& form : model.forms) {
        latents = latents || form.kind == Kind::latent;
    }
    return sglang::has_compressors(model) ? 256 : latents && sglang::has_index(model) ? 64 : 1;
}

/// Tokens of a prefill step: as asked, else what the server takes on the GPU named; 8,192 where none is.
u64 chunk_of(const EngineQuestion& question) {
    const Bytes memory = question.gpu_memory;
    if (question.text("chunked-prefill-size", "") == "-1") {
        return sglang::prefill_unsaid;
    }
    return question.number("chunked-prefill-size",
                           memory.value == 0 ? 8192 : sglang::chunked_prefill_unsaid(memory));
}

double share_of(const EngineQuestion& question) {
    const auto& forms = question.model->read.spec.forms;
    const bool latents =
        std::any_of(forms.begin(), forms.end(), [](const LayerForm& form) { return form.kind == Kind::latent; });
    return sglang::share_unsaid({.memory = question.gpu_memory,
                                 .chunked_prefill = chunk_of(question),
                                 .tp = question.ranks / question.sharding.pp,
                                 .ranks = question.ranks,
                                 .attention_ranks = question.attention_ranks,
                                 .latents = latents});
}

EngineFlags unsaid(const EngineQuestion& question) {
    return {{"chunked-prefill-size", std::to_string(chunk_of(question))}};
}

sglang::Options options_of(const EngineQuestion& question, EngineAnswer& answer) {
    sglang::Options options{};
    options.dtype = dtype_of(question.kv_cache_dtype);
    const u64 usual = usual_page(question.model->read.spec);
    options.page = question.number("page-size", usual);
    if (usual != 1 && !question.has("page-size")) {
        answer.notes.push_back(
            {Origin::derived, "--page-size", fmt::format("{}, as this model's kernels read", usual)});
    }
    options.context = question.max_len;
    options.max_total_tokens = question.number("max-total-tokens", sglang::not_set);
    options.max_running_requests = question.number("max-running-requests", sglang::not_set);
    options.max_state_slots = question.number("max-mamba-cache-size", sglang::not_set);
    options.chunked_prefill = chunk_of(question);
    options.prefix_cache = !question.has("disable-radix-cache");
    options.overlap = !question.has("disable-overlap-schedule");
    options.state_ratio = ratio_of(question, "mamba-full-memory-ratio", options.state_ratio);
    const ReadModel& read = question.model->read;
    options = sglang::with_architecture(options, read.class_name.c_str(), window_of(read.spec));
    options.window_pool = options.window_pool || sglang::has_compressors(read.spec);
    options.state_format = state_format_of(read);
    options.rope = read.rope_in_latent != 0 ? static_cast<u32>(read.rope_in_latent) : options.rope;
    options.window_ratio = ratio_of(question, "swa-full-tokens-ratio", options.window_ratio);
    if (window_of(read.spec) != 0 && !options.window_pool) {
        const bool known = !read.class_name.empty();
        answer.notes.push_back(
            {known ? Origin::derived : Origin::assumed, known ? read.class_name : "architectures",
             fmt::format("{}: its window layers are charged at full length",
                         known ? "SGLang keeps no window pool for it"
                               : "not said, and SGLang keeps window pools by a list of classes")});
    }
    return options;
}

const char* name_of(sglang::PoolKind kind) {
    switch (kind) {
        case sglang::PoolKind::full: return "tokens";
        case sglang::PoolKind::window: return "window tokens";
        case sglang::PoolKind::state: return "state slots";
        case sglang::PoolKind::quarter: return "entries per 4";
        case sglang::PoolKind::hundredth: return "entries per 128";
        case sglang::PoolKind::quarter_state: return "compressor states per 4";
        case sglang::PoolKind::request_state: return "compressor states per request";
        case sglang::PoolKind::encoder: return "encoder tokens";
    }
    return "";
}

void fill_rows(const EngineQuestion& question, EngineAnswer& answer) {
    for (u32 c = 0; c < answer.plan.classes.size(); ++c) {
        const auto kind = static_cast<sglang::PoolKind>(answer.plan.classes[c].kind);
        answer.rows.push_back(row_of(answer.plan, c, name_of(kind), question.longest()));
    }
}

void fill_log(const sglang::RankPools& rank, const sglang::Options& options, EngineAnswer& answer) {
    const auto gib = [](u64 bytes) {
        return fmt::format("{:.2f} GB", static_cast<double>(bytes) / bytes_per_gib);
    };
    const sglang::Allocation& taken = rank.allocated;
    if (rank.state_slots != 0) {
        answer.log.push_back(
            fmt::format("Mamba Cache is allocated. max_mamba_cache_size: {}, conv_state size: {:.2f}GB, "
                        "ssm_state size: {:.2f}GB",
                        rank.state_slots, static_cast<double>(taken.conv) / bytes_per_gib,
                        static_cast<double>(taken.ssm) / bytes_per_gib));
    }
    if (rank.layers.window_layers != 0 && options.window_pool) {
        answer.log.push_back(
            fmt::format("Use sliding window memory pool. full_layer_tokens={}, swa_layer_tokens={}",
                        rank.pools.full, rank.pools.window));
    } else if (taken.kv != 0) {
        answer.log.push_back(
            fmt::format("KV Cache is allocated. #tokens: {}, KV size: {}", rank.pools.tokens, gib(taken.kv)));
    } else {
        answer.log.push_back(fmt::format("KV Cache is allocated. #tokens: {}, K size: {}, V size: {}",
                                         rank.pools.tokens, gib(taken.k), gib(taken.v)));
    }
    answer.log.push_back(fmt::format("max_total_num_tokens={}, max_running_requests={}, context_len={}",
                                     rank.pools.tokens, rank.request_limit, options.context));
}

EngineAnswer ask_sglang(const EngineQuestion& question) {
    EngineAnswer answer{};
    const std::string date = fmt::format("{}-{:02}-{:02}", sglang::rules_date / 10000,
                                         sglang::rules_date / 100 % 100, sglang::rules_date % 100);
    if (!question.version.empty() && question.version != date) {
        stop(Exit::unknown_architecture,
             fmt::format("--engine: the rules of SGLang that are known are those of main of {}; "
                         "{} has none (nearest: sglang@{})",
                         date, question.version, date));
    }
    answer.rules = "SGLang main of " + date;
    sglang::Engine engine{options_of(question, answer)};
    Sharding split = question.sharding;
    const u64 tensor_ranks = larger(question.ranks / split.pp, split.tp);  // also under attention data parallelism
    const bool dealt = question.attention_ranks > 1 && !question.has("ep-size");  // as the lines of plan say then
    const u64 whole = dealt ? tensor_ranks : larger(question.number("ep-size", 1), 1);
    io::LaunchExperts experts{.ranks = static_cast<u32>(smaller(whole, ~u32{0}))};
    experts.say("--ep-size", std::to_string(whole));
    if (const std::string uneven = experts.uneven(static_cast<u32>(tensor_ranks)); answer.runs() && !uneven.empty()) {
        answer.refusal = uneven;
        answer.error = {.code = Errc::refused_combination, .got = whole, .want = tensor_ranks};
        return answer;
    }
    if (dealt) {
        note_whole_experts(question.model->read, tensor_ranks, fmt::format("--ep-size {}", tensor_ranks), answer);
    }
    refuse_cut_blocks(question.model->read, tensor_ranks / whole, "--ep-size", answer);
    if (!answer.runs()) {
        return answer;
    }
    split.uneven = Uneven::floor_at_least_one;
    const Budget budget{question.available.data(), static_cast<u32>(question.available.size())};
    const Result<PoolPlan> plan = engine.pools(question.model->read.spec, split, budget);
    const Result<sglang::RankPools> rank = engine.poorest(question.model->read.spec, split, budget);
    if (!plan || !rank) {
        answer.error = plan ? rank.error() : plan.error();
        answer.refusal = report::text_of(answer.error);
        return answer;
    }
    answer.plan = *plan;
    answer.unit = engine.options.page == 1 ? "tokens" : fmt::format("pages of {}", engine.options.page);
    answer.verdict = judge(answer.plan, question.load());
    const Demand one = demand(answer.plan, question.longest());
    answer.reserved_request = reserved_by(answer.plan, one);
    answer.request_units = one.units.empty() ? 0 : one.units[0];
    fill_rows(question, answer);
    fill_log(*rank, engine.options, answer);
    return answer;
}

/// Ratios around the one that holds, in steps of 0.1 of it and nearest first.
std::vector<std::string> ratios(double now, double most) {
    std::vector<std::string> values;
    for (int step = 1; step <= 60; ++step) {
        for (const double value : {now - 0.05 * step, now + 0.05 * step}) {
            if (value > 0.001 && value <= most) {
                values.push_back(fmt::format("{:.2f}", value));
            }
        }
    }
    return values;
}

std::vector<Knob> knobs_of(const EngineQuestion& question) {
    std::vector<Knob> knobs;
    const u64 page = question.number("page-size", usual_page(question.model->read.spec));
    if (page > 1) {
        knobs.push_back({.flag = "page-size", .values = halves(page, 1)});
    }
    if (keeps_states(question.model->read.spec)) {
        knobs.push_back({.flag = "mamba-full-memory-ratio",
                         .values = ratios(ratio_of(question, "mamba-full-memory-ratio", 0.9), 4.0)});
        const u64 slots = question.number("max-running-requests", 0x1000);
        knobs.push_back(halving("max-running-requests", slots, larger(question.requests(), 1), 1));
    }
    if (window_of(question.model->read.spec) != 0) {
        knobs.push_back({.flag = "swa-full-tokens-ratio",
                         .values = ratios(ratio_of(question, "swa-full-tokens-ratio", 0.8), 1.0)});
    }
    return knobs;
}

/// Attention data parallelism leaves the input embedding whole too.
Result<Bytes> weights_of(const Weights& weights, const RankPlace& place) {
    return kvcap::weights_on_rank(weights, place.split(OtherParts::embedding_whole), place.stage);
}

/// Choices of ServerArgs.kv_cache_dtype.
std::vector<std::string_view> dtypes_of(const std::string&) {
    return {"auto", "fp8_e5m2", "fp8_e4m3", "mxfp8", "bf16", "bfloat16", "nvfp4", "fp4_mx_block16", "fp4_e2m1"};
}

const LaunchFace line{
    .formats = {{"fp8", "fp8_e4m3"}, {"nvfp4", "fp4_e2m1"}, {"bfloat16", "bf16"}, {"float16", "bf16"},
                {"half", "bf16"}},
    .unevaluated = {{"json-model-override-args", why::another_model, "{}"},
                    {"dtype", why::wide, why::half},
                    {"mamba-ssm-dtype", why::states},
                    {"speculative-algorithm", why::drafts},
                    {"speculative-draft-model-path", why::drafts},
                    {"cpu-offload-gb", why::on_host, why::none},
                    {"attn-cp-size", sglang_context_ranks, "1"},
                    {"attention-context-parallel-size", sglang_context_ranks, "1"},
                    {"dcp-size", sglang_context_ranks, "1"},
                    {"decode-context-parallel-size", sglang_context_ranks, "1"}},
    .block_flag = "page-size",
    .requests_flag = "max-running-requests",
    .says_budget = false,
    .unsaid = unsaid,
    .dtypes = dtypes_of};

u64 context_of(const ReadModel& model) {
    return sglang::derived_context(model.max_context, model.rope);
}

}  // namespace

extern const EngineFace sglang_face;
const EngineFace sglang_face{
    .name = "sglang",
    .title = "SGLang",
    .flags = {"page-size=tokens of a page", "max-total-tokens=cap on the token pool",
              "max-running-requests=requests at once", "max-mamba-cache-size=state slots",
              "chunked-prefill-size=tokens of one prefill step", "mamba-full-memory-ratio=states against tokens, 0.9",
              "swa-full-tokens-ratio=window tokens against full, 0.8", "disable-radix-cache!prefix caching off",
              "disable-overlap-schedule!one batch at a time", "ep-size=ranks over which whole experts are dealt"},
    .ask = ask_sglang,
    .memory_flag = "mem-fraction-static",
    .knobs = knobs_of,
    .state_format = state_format_of,
    .no_context_ranks = sglang_context_ranks,
    .remainder = Remainder::last,
    .share = share_of,
    .launch = &line,
    .beyond_context = "SGLang does not start so unless SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1 is set",
    .weights = weights_of,
    .of_kinds = {"max-mamba-cache-size", "mamba-full-memory-ratio", "swa-full-tokens-ratio"},
    .states_rule = "stores them without a mamba_ssm_dtype in the config",
    .kv_format = packed_latents,
    .context = context_of,
    .follows_checkpoint = true,
};

}  // namespace kvcap::cli
