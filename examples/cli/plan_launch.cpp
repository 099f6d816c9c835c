// SPDX-License-Identifier: MIT
// What was evaluated, as a launch in the engine's own names.
#include "plan_launch.hpp"

#include <algorithm>
#include <filesystem>
#include <kvcap/io/key_value_dtypes.hpp>

namespace kvcap::cli {

namespace {

const LaunchFace& line_of(const EngineFace& face) {
    static const LaunchFace none{};
    return face.launch == nullptr ? none : *face.launch;
}

/// In the engine's word; auto where its version has none for 16 bits, which it keeps then.
std::string dtype_for(const EngineFace& face, const std::string& ours, const std::string& version) {
    const LaunchFace& line = line_of(face);
    const auto same = [&](const FormatName& name) { return name.ours == ours; };
    const auto name = std::find_if(line.formats.begin(), line.formats.end(), same);
    const std::string theirs = name == line.formats.end() ? ours : std::string{name->theirs};
    if (line.dtypes == nullptr || (theirs != "bfloat16" && theirs != "float16")) {
        return theirs;
    }
    const std::vector<std::string_view> choices = line.dtypes(version);
    return std::find(choices.begin(), choices.end(), theirs) == choices.end() ? "auto" : theirs;
}

/// What was evaluated where the user gave nothing.
void say_unsaid(Launch& launch, const Deployment& on, const Setting& setting) {
    if (const LaunchFace& line = line_of(*on.face); line.unsaid != nullptr) {
        launch.flags.merge(line.unsaid(on.question(setting, {})));
    }
    for (auto& [name, value] : launch.flags) {
        const bool suffixed = !value.empty() && value.front() >= '0' && value.front() <= '9' &&
                              value.find_first_not_of("0123456789.") != std::string::npos;
        if (name == "host-cache-size") {
            value = std::to_string(bytes_of(value, "--host-cache-size").value);  // YAML: an integer
        } else if (suffixed) {
            value = std::to_string(count_of(value, "--" + name));  // engines read 4k otherwise, or not at all
        }
    }
}

/// Flags of our engine faces that no launch line says.
void refuse_unsayable(const Launch& launch) {
    for (const char* flag : {"cpp-manager", "full-windows", "use-kv-cache-manager-v2",
                             "num-speculative-tokens", "prefix-match-unit", "spec-method"}) {
        if (launch.flags.count(flag) != 0) {
            stop(Exit::usage, fmt::format("--emit: the launch line has no flag for --{}", flag));
        }
    }
}

/// Engines take the encoder's positions from the model.
void refuse_encoder_tokens(const Deployment& on, const DeploymentOptions& options) {
    const u64 own = on.formats[0].model.read.encoder_tokens;
    if (!options.lengths.encoder_tokens.empty() && on.mix.each[0].encoder.value != own) {
        stop(Exit::usage, fmt::format("--emit: the launch line has no flag for --encoder-tokens {}; {} takes {} from "
                                      "the model",
                                      report::grouped(on.mix.each[0].encoder.value), on.face->title,
                                      report::grouped(own)));
    }
}

void say_memory(Launch& launch, const Deployment& on, const Setting& setting) {
    const LaunchFace& line = line_of(*on.face);
    if (on.memory.by_budget) {
        if (!line.says_budget) {
            stop(Exit::usage, fmt::format("--emit {}: {} has no flag for bytes of cache; give --gpu or --gpu-mem and "
                                          "--util",
                                          launch.engine, on.face->title));
        }
        launch.budget = line.says_share ? std::to_string(on.memory.budget.value) : "";
        return;
    }
    if (line.says_share && on.memory.of_free != on.face->share_of_free) {
        stop(Exit::usage, fmt::format("--emit: the share of {} counts {} memory, whatever --fraction-of says",
                                      launch.engine, on.face->share_of_free ? "free" : "all"));
    }
    if (!line.says_share && on.memory.util) {
        stop(Exit::usage, fmt::format("--emit and --util: a line of {} has no flag for a share of memory",
                                      on.face->title));
    }
    launch.util = line.says_share ? fmt::format("{}", on.share(setting)) : "";
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
    const auto types = io::key_value_names(launch.dtype);
    launch.flags.emplace("cache-type-k", types.first);
    launch.flags.emplace("cache-type-v", types.second);
    launch.dtype = launch.flags["cache-type-k"];
    if (const auto given = launch.flags.find("parallel"); given != launch.flags.end()) {
        launch.sequences = count_of(given->second, "--parallel");
        launch.flags.erase(given);
    }
    launch.flags.emplace("ctx-size", std::to_string(cells_of(launch, on, setting)));
}

/// What was typed where it is on disk (a config.json stands for its folder), else the name that its config has.
std::string model_of(const std::string& typed, const std::string& name) {
    std::error_code ignored;
    const std::filesystem::path path{typed};
    if (typed.empty() || !std::filesystem::exists(path, ignored)) {
        return name.empty() ? typed : name;
    }
    if (path.filename() != "config.json") {
        return typed;
    }
    return path.has_parent_path() ? path.parent_path().string() : ".";
}

}  // namespace

std::string engine_of_program(const std::string& name) {
    const std::string engine = engine_spelling(name);
    return engine == "llama-server" ? "llamacpp" : engine;
}

std::string_view block_flag(const EngineFace& face) { return line_of(face).block_flag; }

std::string_view requests_flag(const EngineFace& face) { return line_of(face).requests_flag; }

bool is_of_engine(std::string_view asked, std::string_view engine) {
    return asked.substr(0, asked.find('@')) == engine;
}

Launch launch_of(const Deployment& on, const DeploymentOptions& options, const Setting& setting, u32 servers,
                 u64 sequences) {
    Launch launch{.engine = std::string{on.face->name},
                  .model = model_of(options.model.model, on.formats[0].model.read.name),
                  .servers = servers,
                  .tp = setting.sharding.tp,
                  .pp = setting.sharding.pp,
                  .cp = setting.sharding.cp,
                  .dp = on.dp / servers,
                  .attention_dp = setting.attention_dp,
                  .tokens = on.max_len != 0 ? on.max_len : setting.tokens.value,
                  .sequences = sequences,
                  .dtype = dtype_for(*on.face, on.formats[setting.kv_format].dtype, options.engine.version())};
    launch.flags = on.flags;
    launch.flags.erase(std::string{requests_flag(*on.face)});
    say_unsaid(launch, on, setting);
    say_memory(launch, on, setting);
    if (launch.engine == "llamacpp") {
        say_llama(launch, on, setting);
    }
    refuse_unsayable(launch);
    refuse_encoder_tokens(on, options);
    return launch;
}

}  // namespace kvcap::cli
