// SPDX-License-Identifier: MIT
// What was evaluated, as a launch in the engine's own names.
#include "plan_launch.hpp"

#include "engine_vllm_version.hpp"

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

/// What was evaluated when the user gave none.
struct Default {
    std::string_view engine;
    std::string_view flag;
    std::string_view value;
};

constexpr Default defaults[] = {
    {"sglang", "chunked-prefill-size", "8192"},
    {"trtllm", "tokens-per-block", "32"},
    {"llamacpp", "batch-size", "2048"},
    {"llamacpp", "ubatch-size", "512"},
};

void say_defaults(Launch& launch, const Deployment& on, const Setting& setting) {
    if (launch.engine == "vllm") {
        const u64 step = step_of(on.question(setting, {}), rules_of(on.version));
        launch.flags.emplace("max-num-batched-tokens", std::to_string(step));
    }
    for (const Default& each : defaults) {
        if (launch.engine == each.engine) {
            launch.flags.emplace(each.flag, each.value);
        }
    }
    if (const auto host = launch.flags.find("host-cache-size"); host != launch.flags.end()) {
        host->second = std::to_string(bytes_of(host->second, "--host-cache-size").value);  // YAML: an integer
    }
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

/// Cells of llama.cpp's cache: one request's times their number, or, shared, what the mix needs.
u64 cells_of(const Launch& launch, const Deployment& on, const Setting& setting) {
    if (launch.flags.count("kv-unified") == 0) {
        return saturating_product(launch.tokens, launch.sequences);
    }
    const std::vector<u64> counts = on.mix.counts(on.sequences_of_one(setting));
    u64 cells = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        const Lengths& each = on.mix.each[i];
        cells +=
            counts[i] * (on.mix.each.size() == 1 ? setting.tokens.value : (each.prompt + each.decoded).value);
    }
    return cells;
}

void say_llama(Launch& launch, const Deployment& on, const Setting& setting) {
    launch.flags.emplace("cache-type-k", launch.dtype);
    launch.flags.emplace("cache-type-v", launch.dtype);
    launch.dtype = launch.flags["cache-type-k"];
    if (const auto given = launch.flags.find("parallel"); given != launch.flags.end()) {
        launch.sequences = count_of(given->second, "--parallel");
        launch.flags.erase(given);
    }
    launch.flags.emplace("ctx-size", std::to_string(cells_of(launch, on, setting)));
}

}  // namespace

std::string engine_of_program(const std::string& name) {
    const std::string engine = engine_spelling(name);
    return engine == "llama-server" ? "llamacpp" : engine;
}

std::string_view block_flag(std::string_view engine) {
    return engine == "vllm"     ? "block-size"
           : engine == "sglang" ? "page-size"
           : engine == "trtllm" ? "tokens-per-block"
                                : "";
}

std::string_view requests_flag(std::string_view engine) {
    return engine == "sglang" ? "max-running-requests" : engine == "trtllm" ? "max-batch-size" : "";
}

bool is_of_engine(std::string_view asked, std::string_view engine) {
    return asked.substr(0, asked.find('@')) == engine;
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
    launch.flags.erase(std::string{requests_flag(launch.engine)});
    say_defaults(launch, on, setting);
    say_memory(launch, on.memory, options.memory);
    if (launch.engine == "llamacpp") {
        say_llama(launch, on, setting);
    }
    refuse_unsayable(launch);
    return launch;
}

}  // namespace kvcap::cli
