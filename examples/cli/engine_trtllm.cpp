// SPDX-License-Identifier: MIT
// TensorRT-LLM: its cache configuration, its blocks per window, and the lines it prints.
#include "engines.hpp"
#include "unevaluated.hpp"

#include <kvcap/engine/trtllm.hpp>

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

trtllm::Options options_of(const EngineQuestion& question) {
    trtllm::Options options{};
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
    options.max_batch = question.number("max-batch-size", 64);
    options.beams = static_cast<u32>(question.number("max-beam-width", 1, 64));
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

void fill_rows(const EngineQuestion& question, EngineAnswer& answer) {
    for (u32 c = 0; c < answer.plan.classes.size(); ++c) {
        const Retention& kept = answer.plan.classes[c].retention;
        answer.rows.push_back(row_of(answer.plan, c, name_of(kept), question.longest()));
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
                                         report::grouped(engine.options.max_batch + 1), engine.options.max_batch,
                                         report::grouped(answer.error.want));
        }
        return answer;
    }
    answer.plan = *plan;
    answer.unit = fmt::format("blocks of {}", engine.options.tokens_per_block);
    answer.verdict = judge(answer.plan, question.load());
    const Demand one = demand(answer.plan, question.longest());
    answer.reserved_request = reserved_by(answer.plan, one);
    answer.request_units = one.units.empty() ? 0 : one.units[0];
    if (answer.plan.max_len < question.max_len) {
        answer.verdict.fits = false;
        answer.longest_hint = answer.plan.max_len;
        answer.notes.push_back(
            {Origin::derived, "max_seq_len",
             fmt::format("the pool cuts it to {} tokens, silently but for a warning",
                         report::grouped(answer.plan.max_len))});
    }
    fill_rows(question, answer);
    fill_log(engine.options, answer);
    return answer;
}

std::vector<Knob> knobs_of(const EngineQuestion& question) {
    std::vector<Knob> knobs{
        {.flag = "tokens-per-block", .values = doublings(question.number("tokens-per-block", 32), 8, 128)}};
    bool states = false;
    for (const LayerForm& form : question.model->read.spec.forms) {
        states = states || form.retention.keep == Keep::last;
    }
    if (states) {
        const u64 sequences = question.requests();
        knobs.push_back(halving("max-batch-size", question.number("max-batch-size", 64), larger(sequences, 1), 1));
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

const LaunchFace line{.formats = {{"bf16", "auto"}, {"fp8_e4m3", "fp8"}},
                      .unevaluated = {{"speculative-config", why::drafts}},
                      .block_flag = "tokens-per-block",
                      .requests_flag = "max-batch-size",
                      .unsaid = unsaid};

}  // namespace

extern const EngineFace trtllm_face;
const EngineFace trtllm_face{
    "trtllm",
    "TensorRT-LLM",
    {"tokens-per-block=tokens of a block, 32", "max-kv-tokens=cap on the pool (max_tokens)",
     "host-cache-size=bytes of the second tier", "max-batch-size=sequences; states have a slot for each",
     "max-beam-width=beams", "cpp-manager!the C++ manager's rounding",
     "full-windows!max_attention_window not given", "use-kv-cache-manager-v2!the second manager"},
    ask_trtllm,
    {"fp8"},
    "free-gpu-memory-fraction",
    knobs_of,
    nullptr,
    "the rules of TensorRT-LLM that are known have no context ranks; leave it out",
    Remainder::first,
    share_of,
    true,
    &line,
    "TensorRT-LLM takes the model's length instead",
    weights_of};

}  // namespace kvcap::cli
