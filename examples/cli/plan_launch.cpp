// SPDX-License-Identifier: MIT
// Launch lines: what was evaluated, under the engine's names.
#include "plan_launch.hpp"

#include <algorithm>

namespace kvcap::cli {

namespace {

/// Names of a KV format in our words and in the engine's.
struct DtypeName {
    std::string_view engine;
    std::string_view ours;
    std::string_view theirs;
};

constexpr DtypeName dtype_names[] = {
    {"vllm", "bf16", "bfloat16"},    {"vllm", "f16", "float16"},     {"sglang", "fp8", "fp8_e4m3"},
    {"sglang", "nvfp4", "fp4_e2m1"}, {"sglang", "bfloat16", "bf16"}, {"llamacpp", "auto", "f16"},
    {"llamacpp", "bf16", "f16"},     {"trtllm", "bf16", "auto"},     {"trtllm", "fp8_e4m3", "fp8"},
};

std::string dtype_for(std::string_view engine, const std::string& ours) {
    for (const DtypeName& name : dtype_names) {
        if (name.engine == engine && name.ours == ours) {
            return std::string{name.theirs};
        }
    }
    return ours;
}

/// What `load` knows the engine's name as.
std::string dtype_from(std::string_view engine, const std::string& theirs) {
    return engine == "sglang" && theirs == "fp4_e2m1" ? "nvfp4" : theirs;
}

/// Flags of our engine faces that no launch line says.
void refuse_unsayable(const Launch& launch) {
    for (const char* flag : {"cpp-manager", "full-windows", "use-kv-cache-manager-v2",
                             "num-speculative-tokens", "prefix-match-unit"}) {
        if (launch.flags.count(flag) != 0) {
            stop(Exit::usage, fmt::format("--emit: the launch line has no flag for --{}", flag));
        }
    }
}

void say_memory(Launch& launch, const Memory& memory, const MemoryOptions& options) {
    if (launch.engine == "llamacpp") {
        return;  // it takes what its cells need
    }
    if (memory.by_budget) {
        if (launch.engine == "sglang") {
            stop(Exit::usage,
                 "--emit sglang: SGLang has no flag for bytes of cache; give --gpu or --gpu-mem and --util");
        }
        launch.budget = std::to_string(memory.budget.value);
        return;
    }
    if (memory.of_free != (launch.engine == "trtllm")) {
        stop(Exit::usage, fmt::format("--emit: the share of {} counts {} memory, whatever --fraction-of says",
                                      launch.engine, launch.engine == "trtllm" ? "free" : "all"));
    }
    launch.util = options.util;
}

void say_llama(Launch& launch, const Deployment& on, const Setting& setting) {
    const std::string type = dtype_for("llamacpp", on.formats[setting.kv_format].dtype);
    launch.flags.emplace("cache-type-k", type);
    launch.flags.emplace("cache-type-v", type);
    launch.dtype = launch.flags["cache-type-k"];
    if (const auto given = launch.flags.find("parallel"); given != launch.flags.end()) {
        launch.sequences = count_of(given->second, "--parallel");
        launch.flags.erase(given);
    }
    u64 cells = saturating_product(launch.tokens, launch.sequences);
    if (launch.flags.count("kv-unified") != 0) {
        const std::vector<u64> counts = on.mix.counts(on.sequences_of_one(setting));
        cells = 0;
        for (std::size_t i = 0; i < counts.size(); ++i) {
            const Lengths& each = on.mix.each[i];
            cells += counts[i] *
                     (on.mix.each.size() == 1 ? setting.tokens.value : (each.prompt + each.decoded).value);
        }
    }
    launch.flags.emplace("ctx-size", std::to_string(cells));
}

}  // namespace

std::string engine_of_program(const std::string& name) {
    return name == "llama-server" ? "llamacpp" : name;
}

std::string_view block_flag(std::string_view engine) {
    return engine == "vllm"     ? "block-size"
           : engine == "sglang" ? "page-size"
           : engine == "trtllm" ? "tokens-per-block"
                                : "";
}

Launch launch_of(const Deployment& on, const DeploymentOptions& options, const Setting& setting, u32 servers,
                 u64 sequences) {
    const std::string& name = on.formats[0].model.read.name;
    Launch launch{.engine = std::string{on.face->name},
                  .model = name.empty() ? options.model.model : name,
                  .servers = servers,
                  .tp = setting.sharding.tp,
                  .pp = setting.sharding.pp,
                  .cp = setting.sharding.cp,
                  .dp = on.dp / servers,
                  .attention_dp = setting.attention_dp,
                  .tokens = on.max_len != 0 ? on.max_len : setting.tokens.value,
                  .sequences = sequences,
                  .dtype = dtype_for(on.face->name, on.formats[setting.kv_format].dtype)};
    launch.flags = on.flags;
    const auto also = [&](const char* engine, const char* flag, const char* value) {
        if (launch.engine == engine) {
            launch.flags.emplace(flag, value);  // what was evaluated when the user gave none
        }
    };
    also("vllm", "max-num-batched-tokens", "8192");
    also("sglang", "chunked-prefill-size", "8192");
    also("trtllm", "tokens-per-block", "32");
    also("llamacpp", "batch-size", "2048");
    also("llamacpp", "ubatch-size", "512");
    launch.flags.erase("max-running-requests");
    launch.flags.erase("max-batch-size");
    say_memory(launch, on.memory, options.memory);
    if (launch.engine == "llamacpp") {
        say_llama(launch, on, setting);
    }
    refuse_unsayable(launch);
    return launch;
}

namespace {

/// The line's flags as if they were given to a verb. Flags that change no memory are named in a note.
void take_flags(const Launch& launch, EngineOptions& engine, std::vector<Note>& notes) {
    engine.values.clear();
    engine.switches.clear();
    const EngineFace& face = engine.face();
    std::string ignored;
    for (const auto& [name, value] : launch.flags) {
        const auto named = [&, &flag = name](std::string_view text) {
            return text.substr(0, text.find_first_of("=!")) == flag;
        };
        const auto found = std::find_if(face.flags.begin(), face.flags.end(), named);
        if (found == face.flags.end()) {
            ignored += (ignored.empty() ? "--" : ", --") + name;
        } else if (found->find('=') != std::string_view::npos) {
            engine.values[name] = value;
        } else {
            engine.switches[name] = true;
        }
    }
    if (!ignored.empty()) {
        notes.push_back({Origin::assumed, "launch line", ignored + ": taken to change no cache memory"});
    }
    if (launch.sequences != 0 && (launch.engine == "sglang" || launch.engine == "trtllm")) {
        const char* flag = launch.engine == "sglang" ? "max-running-requests" : "max-batch-size";
        engine.values[flag] = std::to_string(launch.sequences);
    }
}

}  // namespace

Launched evaluate(const Launch& launch, const DeploymentOptions& beside) {
    DeploymentOptions options = beside;
    Launched out{};
    options.model.model = beside.model.model.empty() ? launch.model : beside.model.model;
    options.model.kv_cache_dtype = dtype_from(launch.engine, launch.dtype);
    const bool same = beside.engine.engine.substr(0, beside.engine.engine.find('@')) == launch.engine;
    options.engine.engine = same ? beside.engine.engine : launch.engine;
    take_flags(launch, options.engine, out.notes);
    options.sharding.tp = launch.tp;
    options.sharding.pp = launch.pp;
    options.sharding.cp = launch.cp;
    options.sharding.dp = launch.dp;
    options.sharding.dp_attention = launch.attention_dp;
    if (launch.tokens != 0) {
        options.max_model_len = std::to_string(launch.tokens);
        options.lengths.tokens =
            beside.lengths.tokens.empty() ? options.max_model_len : beside.lengths.tokens;
    }
    const u64 ranks = saturating_product(launch.dp, launch.attention_dp ? launch.tp : 1);
    options.lengths.batch = std::to_string(saturating_product(larger(launch.sequences, 1), ranks));
    options.memory.gpus = 0;
    options.memory.util = launch.util.empty() ? beside.memory.util : launch.util;
    options.memory.kv_budget = launch.budget.empty() ? beside.memory.kv_budget : launch.budget;
    out.on = options.deployment(out.notes);
    out.setting = options.setting(out.on);
    if (launch.engine == "vllm") {
        out.setting.sharding.remainder = Remainder::middle;
    }
    out.answer = out.on.ask(out.setting, out.on.known_non_kv(out.setting));
    return out;
}

}  // namespace kvcap::cli
