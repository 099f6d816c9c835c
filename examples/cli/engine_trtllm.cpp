// SPDX-License-Identifier: MIT
// TensorRT-LLM: its cache configuration, its blocks per window, and the lines it prints.
#include "engines.hpp"
#include "unevaluated.hpp"

#include <algorithm>
#include <kvcap/engine/trtllm.hpp>
#include <utility>

namespace kvcap::cli {

namespace {

trtllm::KvDtype dtype_of(const std::string& name) {
    if (name == "auto" || name == "bf16" || name == "bfloat16" || name == "float16" || name == "half") {
        return trtllm::KvDtype::half;
    }
    if (name == "fp8" || name == "fp8_e4m3") {
        return trtllm::KvDtype::fp8;
    }
    if (name == "nvfp4") {
        return trtllm::KvDtype::nvfp4;
    }
    stop(Exit::usage, fmt::format("--kv-cache-dtype: TensorRT-LLM has no {}; it has auto, fp8, nvfp4", name));
}

/// Of states, and of what their convolutions keep: the model's own 16 bits. Source: pyexecutor/model_loader.py
/// validate_and_set_mamba_ssm_cache_dtype of 2025 (torch_dtype); later ones read mamba_ssm_cache_dtype.
ElementFormat state_format_of(const ReadModel& read) { return read.model_dtype == "float16" ? f16 : bf16; }

u32 beams_of(const EngineQuestion& question) { return static_cast<u32>(question.number("max-beam-width", 1, 64)); }

/// Sequences at once: as said, else those that are asked for.
u64 batch_of(const EngineQuestion& question) {
    return question.number("max-batch-size", larger(question.requests(), 1));
}

/// A request's lengths as blocks are taken for its beams: whole blocks of the prompt once, of the rest each its own.
/// Where nothing is said of decoding, all may be decoded: what the engine cuts the longest request by.
Lengths of_beams(Lengths lengths, u32 beams) {
    if (beams > 1) {
        lengths.branches = beams;
        if (lengths.decoded.value == 0) {
            std::swap(lengths.prompt, lengths.decoded);
        }
    }
    return lengths;
}

trtllm::Options options_of(const EngineQuestion& question) {
    trtllm::Options options{};
    options.state_format = state_format_of(question.model->read);
    options.dtype = dtype_of(question.kv_cache_dtype);
    options.path = question.has("cpp-manager") ? trtllm::Path::cpp : trtllm::Path::python;
    options.tokens_per_block = question.number("tokens-per-block", 32);
    options.max_seq_len = question.max_len;
    options.max_tokens = question.number("max-kv-tokens", trtllm::not_set);
    options.free_fraction = 1.0;  // the budget is what the fraction left
    options.host_bytes = question.has("host-cache-size")
                             ? bytes_of(question.text("host-cache-size"), "--host-cache-size").value
                             : 0;
    options.model_windows = !question.has("full-windows");
    options.second_manager = question.has("use-kv-cache-manager-v2");
    options.max_batch = batch_of(question);
    options.beams = beams_of(question);
    return options;
}

std::string name_of(const Retention& kept) {
    if (kept.keep == Keep::last) {
        return "state slots";
    }
    if (kept.source == Source::encoder) {
        return "encoder tokens";
    }
    const bool window = kept.keep == Keep::window || kept.keep == Keep::chunk;
    return window ? fmt::format("window {}", kept.span.value) : "all tokens";
}

/// What was taken unsaid, and decides how many requests fit.
void note_unsaid(const EngineQuestion& question, EngineAnswer& answer) {
    const auto& forms = question.model->read.spec.forms;
    const bool windows = std::any_of(forms.begin(), forms.end(), [](const LayerForm& form) {
        return form.retention.keep == Keep::window || form.retention.keep == Keep::chunk;
    });
    if (windows && !question.has("full-windows")) {
        answer.notes.push_back({Origin::assumed, "max_attention_window",
                                "the model's windows, as kv_cache_config must list them: where it does not, all tokens "
                                "are kept (--full-windows judges that)"});
    }
    if (keeps_states(question.model->read.spec) && !question.has("max-batch-size")) {
        answer.by_load = true;
        answer.notes.push_back({Origin::assumed, "--max-batch-size",
                                fmt::format("{}: as many slots of states as requests are asked for; trtllm-serve "
                                            "has {} where nothing is said",
                                            report::grouped(batch_of(question)),
                                            report::grouped(trtllm::server_batch))});
    }
    const bool undecoded = std::any_of(question.each.begin(), question.each.end(),
                                       [](const Lengths& each) { return each.decoded.value == 0; });
    if (beams_of(question) > 1) {
        answer.by_load = true;
        if (undecoded) {
            answer.notes.push_back({Origin::assumed, "--max-beam-width",
                                    fmt::format("{} beams with blocks of their own for every token; --decoded says how "
                                                "many tokens are decoded: of the prompt whole blocks are shared",
                                                beams_of(question))});
        }
    }
}

/// Why it does not start, whatever the memory; empty when it does. Source: pyexecutor/_util.py.
std::string start_refusal(const EngineQuestion& question) {
    if (!question.gpu.empty() && question.capability == 0) {
        return "TensorRT-LLM runs on NVIDIA's GPUs, and " + question.gpu + " is none";
    }
    return beams_of(question) > 1 && keeps_states(question.model->read.spec)
               ? fmt::format("--max-beam-width {}: MambaHybridCacheManager + beam search is not supported yet.",
                             beams_of(question))
               : "";
}

void fill_units(const EngineQuestion& question, EngineAnswer& answer) {
    std::vector<Lengths> each = question.each;
    for (Lengths& lengths : each) {
        lengths = of_beams(lengths, beams_of(question));
    }
    answer.verdict = judge(answer.plan, {each.data(), question.counts.data(), static_cast<u32>(each.size())});
    const Demand one = demand(answer.plan, each.front());
    answer.reserved_request = reserved_by(answer.plan, one);
    answer.request_units = one.units.empty() ? 0 : one.units[0];
    for (u32 c = 0; c < answer.plan.classes.size(); ++c) {
        const Retention& kept = answer.plan.classes[c].retention;
        answer.rows.push_back(row_of(answer.plan, c, name_of(kept), each.front()));
    }
}

/// A line for each window, and one of all of them together. Source: TensorRT-LLM 1.x, kvCacheManager.cpp
/// (KVCacheManager::allocatePools), kvCacheManager.h (BlockManager::getNumPrimaryBlocks sums windows).
void fill_log(const trtllm::Options& options, EngineAnswer& answer) {
    u64 blocks = 0;
    Bytes allocated{};
    for (const GroupClass& kind : answer.plan.classes) {
        if (kind.retention.keep == Keep::last || kind.retention.source == Source::encoder) {
            continue;
        }
        const Pool& pool = answer.plan.pools[kind.pool];
        blocks = saturating_sum(blocks, pool.units);
        allocated += pool.allocated;
        const u64 window = kind.retention.span.value == 0 ? options.max_seq_len : kind.retention.span.value;
        answer.log.push_back(
            fmt::format("Max KV cache blocks per sequence: {} [window size={}], tokens per block={}, primary "
                        "blocks={}, secondary blocks={}, max sequence length={}",
                        kind.steps.units({.prompt = {options.max_seq_len}}), window, options.tokens_per_block,
                        pool.units, pool.second, options.max_seq_len));
    }
    if (blocks == 0) {
        return;
    }
    answer.log.push_back(
        fmt::format("[MemUsageChange] Allocated {:.2f} GiB for max tokens in paged KV cache ({}).",
                    static_cast<double>(allocated.value) / double(u64{1} << 30), blocks * options.tokens_per_block));
}

EngineAnswer ask_trtllm(const EngineQuestion& question) {
    EngineAnswer answer{};
    const std::string month =
        fmt::format("{}-{:02}", trtllm::rules_date / 10000, trtllm::rules_date / 100 % 100);
    if (!question.version.empty() && question.version != month) {
        stop(Exit::unknown_architecture,
             fmt::format("--engine: the rules of TensorRT-LLM that are known are those of {}; {} "
                         "has none (nearest: trtllm@{})",
                         month, question.version, month));
    }
    answer.rules = "TensorRT-LLM of " + month;
    answer.refusal = start_refusal(question);
    if (!answer.runs()) {
        answer.error = {.code = Errc::refused_combination};
        return answer;
    }
    note_unsaid(question, answer);
    const trtllm::Engine engine{options_of(question)};
    Sharding split = question.sharding;
    split.uneven = Uneven::ceil;
    const Budget budget{question.available.data(), static_cast<u32>(question.available.size())};
    const Result<PoolPlan> plan = engine.pools(question.model->read.spec, split, budget);
    if (!plan) {
        answer.error = plan.error();
        answer.refusal = report::text_of(answer.error);
        if (answer.error.code == Errc::no_state_slots) {
            answer.refusal = fmt::format("{} bytes are left, less than the {} state slots of --max-batch-size {} "
                                         "({} bytes)",
                                         report::grouped(answer.error.got),
                                         report::grouped(trtllm::state_slots(engine.options)), engine.options.max_batch,
                                         report::grouped(answer.error.want));
        }
        return answer;
    }
    answer.plan = *plan;
    answer.unit = fmt::format("blocks of {}", engine.options.tokens_per_block);
    fill_units(question, answer);
    if (answer.plan.max_len < question.max_len) {
        answer.verdict.fits = false;
        answer.longest_hint = answer.plan.max_len;
        answer.notes.push_back(
            {Origin::derived, "max_seq_len",
             fmt::format("the pool cuts it to {} tokens, silently but for a warning",
                         report::grouped(answer.plan.max_len))});
    }
    fill_log(engine.options, answer);
    return answer;
}

std::vector<Knob> knobs_of(const EngineQuestion& question) {
    std::vector<Knob> knobs{
        {.flag = "tokens-per-block", .values = doublings(question.number("tokens-per-block", 32), 8, 128)}};
    if (keeps_states(question.model->read.spec)) {
        knobs.push_back(halving("max-batch-size", batch_of(question), larger(question.requests(), 1), 1));
    }
    return knobs;
}

/// free_gpu_memory_fraction of KvCacheConfig.
double share_of(const EngineQuestion&) { return 0.9; }

EngineFlags unsaid(const EngineQuestion&) { return {{"tokens-per-block", "32"}}; }

/// Under attention data parallelism all but the experts is whole.
Result<Bytes> weights_of(const Weights& weights, const RankPlace& place) {
    return kvcap::weights_on_rank(weights, place.split(OtherParts::whole), place.stage);
}

/// _VALID_KV_CACHE_DTYPES of pyexecutor/model_loader.py.
std::vector<std::string_view> dtypes_of(const std::string&) { return {"auto", "fp8", "nvfp4"}; }

u64 requests_of_server(const EngineQuestion&) { return trtllm::server_batch; }

const LaunchFace line{.formats = {{"bf16", "auto"}, {"bfloat16", "auto"}, {"float16", "auto"}, {"half", "auto"},
                                  {"fp8_e4m3", "fp8"}},
                      .unevaluated = {{"speculative-config", why::drafts}},
                      .block_flag = "tokens-per-block",
                      .requests_flag = "max-batch-size",
                      .unsaid = unsaid,
                      .dtypes = dtypes_of,
                      .requests_unsaid = requests_of_server};

u64 context_of(const ReadModel& model) {
    return trtllm::inferred_context(model.max_context, model.rope);
}

}  // namespace

extern const EngineFace trtllm_face;
const EngineFace trtllm_face{
    .name = "trtllm",
    .title = "TensorRT-LLM",
    .flags = {"tokens-per-block=tokens of a block, 32", "max-kv-tokens=cap on the pool (max_tokens)",
              "host-cache-size=bytes of the second tier", "max-batch-size=sequences; states have a slot for each",
              "max-beam-width=beams", "cpp-manager!the C++ manager's rounding",
              "full-windows!max_attention_window not given", "use-kv-cache-manager-v2!the second manager"},
    .ask = ask_trtllm,
    .memory_flag = "free-gpu-memory-fraction",
    .knobs = knobs_of,
    .state_format = state_format_of,
    .no_context_ranks = "the rules of TensorRT-LLM that are known have no context ranks; leave it out",
    .remainder = Remainder::first,
    .share = share_of,
    .share_of_free = true,
    .launch = &line,
    .beyond_context = "TensorRT-LLM takes the model's length instead",
    .weights = weights_of,
    .of_kinds = {"full-windows"},
    .states_rule = "of 2026-01 stores them, in the model's 16-bit dtype",
    .context = context_of,
    .follows_checkpoint = true,
};

}  // namespace kvcap::cli
