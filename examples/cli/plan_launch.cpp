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
    if (const auto host = launch.flags.find("host-cache-size"); host != launch.flags.end()) {
        host->second = std::to_string(bytes_of(host->second, "--host-cache-size").value);  // YAML: an integer
    }
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

/// Flags of engines that change where caches lie or what else lies there, which is not evaluated.
struct Unevaluated {
    std::string_view engine;
    std::string_view flag;
    std::string_view why;
};

constexpr std::string_view drafts =
    "a draft's weights and caches are not evaluated; leave it out to judge the rest";
constexpr std::string_view on_host =
    "weights in host memory are not evaluated; leave it out and give --weights-bytes";

constexpr std::string_view states =
    "the engine's rules here take formats of states from the model; put it in the config given as MODEL";

constexpr Unevaluated unevaluated[] = {
    {"vllm", "speculative-config", drafts},
    {"vllm", "cpu-offload-gb", on_host},
    {"vllm", "hf-overrides", "another model than its config says; give MODEL as a file with these values"},
    {"vllm", "mamba-ssm-cache-dtype", states},
    {"vllm", "mamba-cache-dtype", states},
    {"sglang", "mamba-ssm-dtype", states},
    {"sglang", "speculative-algorithm", drafts},
    {"sglang", "speculative-draft-model-path", drafts},
    {"sglang", "cpu-offload-gb", on_host},
    {"trtllm", "speculative-config", drafts},
    {"llamacpp", "model-draft", drafts},
    {"llamacpp", "no-kv-offload", "the cache lies in host memory; what is judged here is a cache on GPUs"},
    {"llamacpp", "override-tensor", on_host},
    {"llamacpp", "cpu-moe", on_host},
    {"llamacpp", "n-cpu-moe", on_host},
};

/// Flags that say nothing about memory.
constexpr std::string_view harmless[] = {"host",
                                         "port",
                                         "api-key",
                                         "served-model-name",
                                         "trust-remote-code",
                                         "seed",
                                         "random-seed",
                                         "alias",
                                         "jinja",
                                         "log-level",
                                         "log-level-http",
                                         "uvicorn-log-level",
                                         "disable-log-requests",
                                         "disable-log-stats",
                                         "enable-log-requests",
                                         "enable-auto-tool-choice",
                                         "tool-call-parser",
                                         "reasoning-parser",
                                         "chat-template",
                                         "tokenizer",
                                         "tokenizer-path",
                                         "tokenizer-mode",
                                         "download-dir",
                                         "enable-metrics",
                                         "metrics",
                                         "threads",
                                         "threads-batch",
                                         "no-webui",
                                         "generation-config",
                                         "allowed-origins",
                                         "root-path",
                                         "ssl-keyfile",
                                         "ssl-certfile",
                                         "stream-interval",
                                         "watchdog-timeout",
                                         "log-file",
                                         "verbose"};

void refuse_unevaluated(const Launch& launch) {
    for (const Unevaluated& each : unevaluated) {
        const auto given = launch.flags.find(each.flag);
        if (each.engine == launch.engine && given != launch.flags.end() && given->second != "auto") {
            stop(Exit::usage, fmt::format("launch line: --{}: {}", each.flag, each.why));
        }
    }
}

/// The line's flags as if they were given to a verb. Others are named in a note.
void take_flags(const Launch& launch, EngineOptions& engine, std::vector<Note>& notes) {
    engine.values.clear();
    engine.switches.clear();
    const EngineFace& face = engine.face();
    std::string ignored;
    std::string strange;
    for (const auto& [name, value] : launch.flags) {
        const auto named = [&, &flag = name](std::string_view text) {
            return text.substr(0, text.find_first_of("=!")) == flag;
        };
        const auto found = std::find_if(face.flags.begin(), face.flags.end(), named);
        if (name == "n-gpu-layers") {
            continue;
        }
        if (found == face.flags.end()) {
            const bool known =
                std::find(std::begin(harmless), std::end(harmless), name) != std::end(harmless);
            std::string& list = known ? ignored : strange;
            list += (list.empty() ? "--" : ", --") + name;
        } else if (found->find('=') != std::string_view::npos) {
            engine.values[name] = value;
        } else {
            engine.switches[name] = true;
        }
    }
    if (!ignored.empty()) {
        notes.push_back({Origin::assumed, "launch line", ignored + ": taken to change no cache memory"});
    }
    if (!strange.empty()) {
        notes.push_back(
            {Origin::assumed, "launch line",
             strange + ": not understood and left out; if it changes memory, this answer is off"});
    }
    if (launch.sequences != 0 && (launch.engine == "sglang" || launch.engine == "trtllm")) {
        const char* flag = launch.engine == "sglang" ? "max-running-requests" : "max-batch-size";
        engine.values[flag] = std::to_string(launch.sequences);
    }
}

/// A line without a length: its engine takes the model's context. llama.cpp divides it among its requests.
void take_context(Launch& launch, const ModelOptions& model, std::vector<Note>& notes) {
    if (launch.tokens != 0) {
        return;
    }
    const u64 context = load(model).read.max_context;
    if (context == 0) {
        stop(Exit::usage,
             "launch line: it says no length, and the model states no context that its engine would "
             "take; the engine's flag for it is wanted");
    }
    launch.tokens = context;
    if (launch.engine == "llamacpp") {
        launch.flags["ctx-size"] = std::to_string(context);
        const bool shared = launch.flags.count("kv-unified") != 0;
        launch.tokens = shared ? context : larger(context / larger(launch.sequences, 1), 1);
    }
    notes.push_back(
        {Origin::assumed, "launch line",
         fmt::format("says no length: {} tokens, the model's context", report::grouped(context))});
}

/// Tokens of each request at once: the longest there may be, but an equal part of cells that all share.
u64 tokens_at_once(const Launch& launch, std::vector<Note>& notes) {
    const bool shared = launch.engine == "llamacpp" && launch.flags.count("kv-unified") != 0;
    if (!shared || launch.sequences < 2) {
        return launch.tokens;
    }
    const u64 part = larger(launch.tokens / launch.sequences, 1);
    notes.push_back(
        {Origin::assumed, "--kv-unified",
         fmt::format("{} requests share {} cells: judged at {} tokens each; one alone may have all",
                     launch.sequences, report::grouped(launch.tokens), report::grouped(part))});
    return part;
}

/// -ngl: caches of layers that stay on the host lie there too.
void refuse_host_layers(const Launch& launch, const Deployment& on) {
    const auto given = launch.flags.find("n-gpu-layers");
    const u32 layers = on.formats[0].model.spec.layers;
    if (given != launch.flags.end() && count_of(given->second, "-ngl") < layers) {
        stop(Exit::usage,
             fmt::format(
                 "launch line: -ngl {}: the model has {} layers; those that stay on the host keep their "
                 "weights and caches there, which is not evaluated; at least {} is wanted",
                 given->second, layers, layers));
    }
}

}  // namespace

void note_unknown(const Deployment& on, const Setting& setting, std::vector<Note>& notes) {
    if (on.memory.by_budget) {
        return;
    }
    if (on.weights(setting, 0).how.empty()) {
        notes.push_back({Origin::assumed, "--weights-bytes",
                         "0: the weights are unknown, so counts are upper bounds; give them"});
    }
    if (!on.memory.non_kv_known) {
        notes.push_back(
            {Origin::assumed, "--non-kv-bytes",
             "0: nothing but weights and cache, so counts are upper bounds; give it, or --overhead"});
    }
}

Launched evaluate(const Launch& line, const DeploymentOptions& beside) {
    Launch launch = line;
    refuse_unevaluated(launch);
    DeploymentOptions options = beside;
    Launched out{};
    options.model.model = beside.model.model.empty() ? launch.model : beside.model.model;
    options.model.kv_cache_dtype = dtype_from(launch.engine, launch.dtype);
    const bool same = beside.engine.engine.substr(0, beside.engine.engine.find('@')) == launch.engine;
    options.engine.engine = same ? beside.engine.engine : launch.engine;
    take_context(launch, options.model, out.notes);
    take_flags(launch, options.engine, out.notes);
    options.sharding.tp = launch.tp;
    options.sharding.pp = launch.pp;
    options.sharding.cp = launch.cp;
    options.sharding.dp = launch.dp;
    options.sharding.dp_attention = launch.attention_dp;
    options.max_model_len = std::to_string(launch.tokens);
    if (beside.lengths.tokens.empty() && beside.distribution.empty()) {
        options.lengths.tokens = std::to_string(tokens_at_once(launch, out.notes));
    }
    const u64 ranks = saturating_product(launch.dp, launch.attention_dp ? launch.tp : 1);
    options.lengths.batch = std::to_string(saturating_product(larger(launch.sequences, 1), ranks));
    options.memory.gpus = 0;
    options.memory.util = launch.util.empty() ? beside.memory.util : launch.util;
    options.memory.kv_budget = launch.budget.empty() ? beside.memory.kv_budget : launch.budget;
    out.on = options.deployment(out.notes);
    refuse_host_layers(launch, out.on);
    out.setting = options.setting(out.on);
    if (launch.engine == "vllm") {
        out.setting.sharding.remainder = Remainder::middle;
    }
    note_unknown(out.on, out.setting, out.notes);
    out.answer = out.on.ask(out.setting, out.on.known_non_kv(out.setting));
    return out;
}

}  // namespace kvcap::cli
