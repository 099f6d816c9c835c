// SPDX-License-Identifier: MIT
// What a log leaves open, as the readings that the rules are asked for, and what it says, as the engine's flags.
#include "doctor_readings.hpp"

#include "doctor_target.hpp"

#include <algorithm>

namespace kvcap::cli {

namespace {

std::string release_of(std::string_view version) {
    const std::size_t start = version.starts_with("v") ? 1 : 0;
    std::size_t end = start;
    while (end < version.size() && (version[end] == '.' || (version[end] >= '0' && version[end] <= '9'))) {
        ++end;
    }
    while (end > start && version[end - 1] == '.') {  // "0.28.0.dev12"
        --end;
    }
    return std::string{version.substr(start, end - start)};
}

std::string kv_dtype(const LogStart& start) {
    std::string name = start.facts.text("kv_dtype");
    name = name.starts_with("torch.") ? name.substr(6) : name;
    return name.empty()                              ? "auto"
           : name == "float8_e4m3fn"                 ? "fp8_e4m3"
           : name == "bfloat16" || name == "float16" ? "bf16"
                                                     : name;
}

/// A fact of the log that is an option's value.
struct StatedFlag {
    std::string_view engine;
    std::string_view fact;
    std::string_view flag;
};

constexpr StatedFlag stated_flags[] = {
    {"vllm", "block_size_given", "block-size"},
    {"vllm", "max_num_batched_tokens", "max-num-batched-tokens"},
    {"vllm", "state_mode", "mamba-cache-mode"},
    {"vllm", "spec_tokens", "num-speculative-tokens"},
    {"vllm", "prefix_match_unit", "prefix-match-unit"},
    {"sglang", "page_size", "page-size"},
    {"sglang", "requested_running", "max-running-requests"},
    {"sglang", "requested_state_slots", "max-mamba-cache-size"},
    {"sglang", "chunked_prefill", "chunked-prefill-size"},
    {"sglang", "state_ratio", "mamba-full-memory-ratio"},
    {"sglang", "swa_ratio", "swa-full-tokens-ratio"},
    {"tensorrt-llm", "tokens_per_block", "tokens-per-block"},
    {"llama.cpp", "seqs", "parallel"},
    {"llama.cpp", "n_seq_max", "parallel"},
    {"llama.cpp", "n_ubatch", "ubatch-size"},
    {"llama.cpp", "kv_type_k", "cache-type-k"},
    {"llama.cpp", "kv_type_v", "cache-type-v"},
};

void give(EngineFlags& flags, const LogStart& start, std::string_view fact, std::string_view flag) {
    const logs::Datum* datum = start.facts.find(fact);
    if (datum != nullptr && logs::number(*datum).value_or(1) > 0) {  // -1: SGLang does not cut prefill into steps
        flags[std::string{flag}] =
            datum->kind == logs::Datum::Kind::integer ? std::to_string(datum->integer) : datum->words;
    }
}

}  // namespace

std::vector<OpenReading> readings(const LogStart& start) {
    const logs::Datum* tp = start.facts.find("tp");
    const std::string stated = release_of(start.facts.text("version"));
    std::vector<std::string> versions{stated};
    if (start.engine == "vllm" && stated.empty()) {
        versions = {"", "0.24", "0.20", "0.16", "0.12", "0.10"};
    } else if (start.engine != "vllm") {
        versions = {""};
    }
    const bool arguments_seen =
        start.facts.has("gpu_memory_utilization") && start.facts.has("model") && start.engine == "vllm";
    std::vector<u32> sizes{1, 2, 4, 8};
    if (tp != nullptr) {
        sizes = {static_cast<u32>(std::clamp<std::int64_t>(tp->integer, 1, 1024))};
    } else if (arguments_seen || start.engine == "llama.cpp") {
        sizes = {1};
    }
    std::vector<OpenReading> all;
    const std::string dtype = kv_dtype(start);
    for (const std::string& version : versions) {
        for (const u32 size : sizes) {
            all.push_back({version, size, dtype});
            if (dtype == "auto" && !arguments_seen && start.engine != "llama.cpp") {
                all.push_back({version, size, "fp8"});
            }
        }
    }
    return all;
}

std::vector<OpenReading> with_drafts(const LogStart& start, const Model& model, const std::vector<OpenReading>& open) {
    const bool whole = start.facts.has("gpu_memory_utilization") && !start.facts.has("cut_words");
    if (start.engine != "vllm" || model.read.draft.layers == 0 || start.facts.has("spec_tokens") || whole) {
        return {};
    }
    std::vector<OpenReading> all;
    for (u32 drafts = 1; drafts <= 4; ++drafts) {
        for (OpenReading one : open) {
            one.drafts = drafts;
            all.push_back(one);
        }
    }
    return all;
}

std::vector<OpenReading> with_steps(const LogStart& start, const std::vector<OpenReading>& open) {
    const bool windows = start.engine == "llama.cpp" && start.facts.has("caches") && !start.facts.has("n_ubatch");
    const bool requests = std::any_of(start.ranked.begin(), start.ranked.end(),
                                      [](const logs::Ranked& one) { return one.name == "concurrency"; });
    const bool steps = start.engine == "vllm" && !start.facts.has("max_num_batched_tokens") && requests;
    if (!windows && !steps) {
        return {};
    }
    std::vector<OpenReading> all;
    const std::vector<u32> usual = windows ? std::vector<u32>{1024, 2048, 256, 128}
                                           : std::vector<u32>{2048, 8192, 16384};
    for (const u32 step : usual) {
        for (OpenReading one : open) {
            one.step = step;
            all.push_back(one);
        }
    }
    return all;
}

Sharding split_of(const LogStart& start, u32 tp) {
    const auto size = [&](std::string_view fact) {
        return static_cast<u32>(std::clamp(start.facts.number(fact).value_or(1), 1.0, 1024.0));
    };
    const u32 replicas = start.facts.is("dp_attention", true) ? size("dp") : 1;
    return {.tp = std::max(tp / replicas, 1u), .cp = size("dcp")};
}

/// What every cache of llama.cpp says, or the context that their cells stand for.
void give_caches(EngineFlags& flags, const LogStart& start) {
    if (const u64 context = context_of(start); context != 0) {
        flags["ctx-size"] = std::to_string(context);
    }
    const logs::Datum* rows = start.facts.find(start.facts.has("contexts") ? "contexts" : "caches");
    for (std::size_t i = rows == nullptr ? 0 : rows->items.size(); i-- > 0;) {
        const logs::Facts row{rows->items[i].value.items};
        for (const auto& [fact, flag] :
             {std::pair{"kv_type_k", "cache-type-k"}, std::pair{"kv_type_v", "cache-type-v"}}) {
            if (row.has(fact)) {
                flags[flag] = row.text(fact);
            }
        }
    }
    const bool shared = start.facts.number("streams").value_or(0) == 1 && start.facts.number("seqs").value_or(1) > 1;
    if (shared || start.facts.is("kv_unified", true)) {
        flags["kv-unified"] = "";
    }
}

EngineFlags flags_of(const LogStart& start) {
    EngineFlags flags;
    if (start.engine == "llama.cpp") {
        give_caches(flags, start);
    }
    for (const StatedFlag& each : stated_flags) {
        if (each.engine == start.engine) {
            give(flags, start, each.fact, each.flag);
        }
    }
    const auto set = [&](std::string_view engine, bool given, const char* flag) {
        if (given && start.engine == engine) {
            flags[flag] = "";
        }
    };
    set("vllm", start.facts.is("prefix_caching", false), "no-enable-prefix-caching");
    set("vllm", start.facts.is("prefix_caching", true), "enable-prefix-caching");
    set("vllm", start.facts.has("hybrid_manager"), "disable-hybrid-kv-cache-manager");
    const std::string overlap = start.facts.text("async_scheduling");
    set("vllm", overlap == "enabled", "async-scheduling");
    set("vllm", overlap == "disabled", "no-async-scheduling");
    set("sglang", start.facts.is("prefix_caching", false), "disable-radix-cache");
    set("llama.cpp", start.facts.is("swa_full", true), "swa-full");
    return flags;
}

}  // namespace kvcap::cli
