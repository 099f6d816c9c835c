// SPDX-License-Identifier: MIT
// What a launch line's engine says of it: its flags as a deployment, with what the line leaves to the engine.
#include "pairs.hpp"
#include "plan_launch.hpp"

#include <algorithm>
#include <kvcap/io/launch/harmless.hpp>
#include <kvcap/io/locate.hpp>

namespace kvcap::cli {

void note_line(std::vector<Note>& notes, std::string words) {
    notes.push_back({Origin::assumed, "launch line", std::move(words)});
}

namespace {

/// The engine that the line starts.
const EngineFace& face_of(const Launch& launch) {
    EngineOptions named{};
    named.engine = launch.engine;
    return named.face();
}

/// Whether the line's flag is this one: whole, by its beginning, or as a path in its JSON ("hf-overrides.rope_theta").
bool is_said(const Launch& launch, std::string_view name, std::string_view flag) {
    const std::string_view whole = name.substr(0, name.find('.'));
    return whole == flag || (flag.starts_with(whole) && io::may_abbreviate(launch.engine, whole));
}

void refuse_unevaluated(const Launch& launch) {
    for (const Unevaluated& each : face_of(launch).launch->unevaluated) {
        for (const auto& [name, value] : launch.flags) {
            const bool changes = ("|" + std::string{each.but} + "|").find("|" + value + "|") == std::string::npos;
            if (changes && is_said(launch, name, each.flag)) {
                stop(Exit::usage, fmt::format("launch line: --{}: {}", each.flag, each.why));
            }
        }
    }
}

/// A KV format that the engine's parser does not take, although kvcap has it for another name.
void refuse_format(const Launch& launch, const std::string& version) {
    const EngineFace& face = face_of(launch);
    if (face.launch->dtypes == nullptr) {
        return;
    }
    const std::vector<std::string_view> choices = face.launch->dtypes(version);
    if (std::find(choices.begin(), choices.end(), launch.dtype) == choices.end()) {
        const std::string_view place = launch.engine == "trtllm" ? "kv_cache_dtype" : "--kv-cache-dtype";
        stop(Exit::usage, fmt::format("launch line: {}: {} has no {}; its choices are {}", place, face.title,
                                      launch.dtype, fmt::join(choices, ", ")));
    }
}

/// The line's flags that our engines do not know, in a note: taken for harmless, or not understood.
void note_others(const Launch& launch, const std::vector<std::string_view>& others, std::vector<Note>& notes) {
    std::string ignored;
    std::string strange;
    for (const std::string_view name : others) {
        const bool several = launch.flags.find(name)->second.find(launch_values) != std::string::npos;
        const bool known = io::is_harmless(name) && (!several || io::takes_several(name));
        std::string& list = known ? ignored : strange;
        list += (list.empty() ? "" : ", ") + std::string{name.starts_with('-') ? "" : "--"} + std::string{name};
    }
    if (!ignored.empty()) {
        note_line(notes, ignored + ": taken to change no cache memory");
    }
    if (!strange.empty()) {
        note_line(notes, strange + ": not understood and left out; if it changes memory, this answer is off");
    }
}

/// The line's flags as if they were given to a verb.
void take_flags(const Launch& launch, EngineOptions& engine, std::vector<Note>& notes) {
    engine.values.clear();
    engine.switches.clear();
    const EngineFace& face = engine.face();
    std::vector<std::string_view> others;
    for (const auto& [name, value] : launch.flags) {
        if (name == "n-gpu-layers" || name == "fit" || name == "quantization") {
            continue;
        }
        const auto named = [&flag = name](std::string_view text) {
            return text.substr(0, text.find_first_of("=!")) == flag;
        };
        const auto found = std::find_if(face.flags.begin(), face.flags.end(), named);
        if (found == face.flags.end()) {
            others.push_back(name);
        } else if (found->find('=') != std::string_view::npos) {
            engine.values[name] = value;
        } else {
            engine.switches[name] = true;
        }
    }
    note_others(launch, others, notes);
    const std::string flag{requests_flag(face)};
    if (launch.sequences != 0 && !flag.empty()) {
        engine.values[flag] = std::to_string(launch.sequences);
    }
}

/// llama.cpp's --kv-unified: one cache of all requests, which one alone may fill.
bool shares_cells(const Launch& launch) {
    return launch.engine == "llamacpp" && launch.flags.count("kv-unified") != 0;
}

/// A line without a length: its engine takes the model's context.
void take_context(Launch& launch, const DeploymentOptions& to, std::vector<Note>& notes) {
    if (launch.tokens != 0) {
        return;
    }
    std::vector<Note> again;
    const u64 context = load_for(to.engine.face(), to.model, again).read.max_context;
    if (context == 0) {
        stop(Exit::usage,
             "launch line: it says no length, and the model states no context that its engine would "
             "take; the engine's flag for it is wanted");
    }
    launch.tokens = context;
    note_line(notes, fmt::format("says no length: {} tokens, the model's context", report::grouped(context)));
}

/// Tokens of each request at once: the longest there may be, but an equal part of cells that all share.
u64 tokens_at_once(const Launch& launch, std::vector<Note>& notes) {
    if (!shares_cells(launch) || launch.sequences < 2) {
        return launch.tokens;
    }
    const u64 cells = count_of(launch.flags.find("ctx-size")->second, "-c");
    const u64 part = larger(smaller(cells / launch.sequences, launch.tokens), 1);
    notes.push_back(
        {Origin::assumed, "--kv-unified",
         fmt::format("{} requests share {} cells: judged at {} tokens each{}", launch.sequences,
                     report::grouped(cells), report::grouped(part),
                     launch.tokens == part    ? ""
                     : launch.tokens == cells ? "; one alone may have all"
                                              : "; one alone may have " + report::grouped(launch.tokens))});
    return part;
}

/// --batch, or as many requests as the line runs at once: those of one server.
u64 requests_of(const Launch& launch, const DeploymentOptions& beside) {
    const u64 ranks = saturating_product(launch.dp, launch.attention_dp ? launch.tp : 1);
    const u64 most = saturating_product(larger(launch.sequences, 1), ranks);
    if (beside.lengths.batch.empty()) {
        return most;
    }
    const u64 asked = beside.lengths.sequences();
    const u64 each = ceil_div(asked, larger(launch.servers, 1));
    if (launch.sequences != 0 && each > most) {
        const u64 all = saturating_product(most, launch.servers);
        stop(Exit::usage, fmt::format("--batch {} and --launch: the line runs {} at once", report::grouped(asked),
                                      report::counted(all, "request", "requests")));
    }
    return each;
}

/// A request that the line's engine would refuse.
void refuse_longer(const Launch& launch, const Deployment& on, const DeploymentOptions& beside) {
    const u64 longest = (on.mix.each[0].prompt + on.mix.each[0].decoded).value;
    if (longest > launch.tokens) {
        stop(Exit::usage,
             fmt::format("{} and --launch: a request of {} tokens is longer than the {} that the line allows",
                         beside.distribution.empty() ? "--tokens" : "--lengths", report::grouped(longest),
                         report::grouped(launch.tokens)));
    }
}

/// MODEL beside the line, where that names another: a local file has any name.
void note_another(const Launch& launch, const std::string& model, std::vector<Note>& notes) {
    const auto last = [](std::string_view name) { return io::lower_case(name.substr(name.rfind('/') + 1)); };
    if (!launch.model.empty() && last(launch.model) != last(model)) {
        note_line(notes, fmt::format("names {}; judged is {}, as MODEL says", launch.model, model));
    }
}

/// A GGUF file that the line names and nobody read: its weights are its own, not those of MODEL's card. A budget alone
/// is outright, and asks for none.
void refuse_other_weights(const Launch& launch, const std::string& model, const DeploymentOptions& beside) {
    const std::string file = io::lower_case(launch.model);
    const bool other = launch.model != model && io::gguf_path(model).empty();
    const bool outright = !beside.memory.kv_budget.empty() && beside.memory.gpu.empty();
    if (file.ends_with(".gguf") && other && !outright && beside.memory.weights.empty()) {
        stop(Exit::usage, fmt::format("launch line: the weights of {} are the file's, which was not read, and {} has "
                                      "others; give --weights-bytes (the file's size), or the file as MODEL",
                                      printable(launch.model), model));
    }
}

/// The line's engine in the version that --engine names beside it, or else the line's image.
EngineOptions engine_of(const Launch& launch, const DeploymentOptions& beside, std::vector<Note>& notes) {
    EngineOptions engine = beside.engine;
    const bool same = is_of_engine(engine.engine, launch.engine);
    if (same && engine.engine != launch.engine) {
        return engine;
    }
    engine.engine = launch.engine;
    if (!launch.version.empty()) {
        engine.engine += "@" + launch.version;
        notes.push_back({Origin::derived, "launch line", launch.version + ", as the image's tag says"});
    } else if (!launch.tag.empty()) {
        note_line(notes, fmt::format("the image's tag {} is not read: the rules are those named above", launch.tag));
    }
    return engine;
}

/// What a verb would be given for the line; `launch` gets the length that it leaves to the engine.
DeploymentOptions options_of(Launch& launch, const DeploymentOptions& beside, std::vector<Note>& notes) {
    DeploymentOptions options = beside;
    options.model.model = beside.model.model.empty() ? launch.model : beside.model.model;
    if (options.model.model.find('$') != std::string::npos) {
        stop(Exit::usage, fmt::format("launch line: {}: a shell's variable is not known here; give MODEL beside "
                                      "--launch",
                                      options.model.model));
    }
    note_another(launch, options.model.model, notes);
    refuse_other_weights(launch, options.model.model, beside);
    options.model.kv_cache_dtype = launch.dtype;
    options.engine = engine_of(launch, beside, notes);
    refuse_format(launch, options.engine.version());
    take_context(launch, options, notes);
    take_flags(launch, options.engine, notes);
    if (const auto stored = launch.flags.find("quantization"); stored != launch.flags.end()) {
        options.quantization = io::lower_case(stored->second);
    }
    options.sharding.tp = launch.tp;
    options.sharding.pp = launch.pp;
    options.sharding.cp = launch.cp;
    options.sharding.dp = launch.dp;
    options.sharding.dp_attention = launch.attention_dp;
    options.max_model_len = std::to_string(launch.tokens);
    if (beside.lengths.tokens.empty() && beside.distribution.empty()) {
        options.lengths.tokens = std::to_string(tokens_at_once(launch, notes));
    }
    options.lengths.batch = std::to_string(requests_of(launch, beside));
    if (launch.sequences == 0 && beside.lengths.batch.empty()) {
        note_line(notes, "says no requests at once: judged for one on each rank that holds them (--batch says more)");
    }
    options.memory.gpus = 0;
    options.memory.util = launch.util.empty() ? beside.memory.util : launch.util;
    options.memory.kv_budget = launch.budget.empty() ? beside.memory.kv_budget : launch.budget + "B";
    return options;
}

/// -ngl: caches of layers that stay on the host lie there too. The output layer is one more.
void refuse_host_layers(const Launch& launch, const Deployment& on) {
    const auto given = launch.flags.find("n-gpu-layers");
    const u32 layers = on.formats[0].model.spec.layers;
    if (given != launch.flags.end() && count_of(given->second, "-ngl") <= layers) {
        stop(Exit::usage,
             fmt::format(
                 "launch line: -ngl {}: the model has {} layers and its output; those that stay on the host keep "
                 "their weights and caches there, which is not evaluated; at least {} is wanted",
                 given->second, layers, layers + 1));
    }
}

/// A line that does not say how many run at once: as many as its engine takes by itself, where that is known.
void take_requests(const Launch& launch, Launched& to) {
    const LaunchFace& face = *to.on.face->launch;
    if (launch.sequences != 0 || face.requests_unsaid == nullptr) {
        return;
    }
    if (const u64 most = face.requests_unsaid(to.on.question(to.setting, {})); most != 0) {
        to.on.flags[std::string{face.requests_flag}] = std::to_string(most);
        const bool states = keeps_states(to.on.formats[0].model.read.spec);
        note_line(to.notes, fmt::format("says no --{}: {}, what {}'s server takes on such a GPU{}", face.requests_flag,
                                        report::grouped(most), to.on.face->title,
                                        states ? "; states need a place for each" : ""));
    }
}

}  // namespace

Launched evaluate(const Launch& line, const DeploymentOptions& beside) {
    Launch launch = line;
    take_drafts(launch);
    refuse_unevaluated(launch);
    Launched out{};
    if (!launch.no_split.empty()) {
        stop(Exit::usage, "launch line: " + launch.no_split);
    }
    const DeploymentOptions options = options_of(launch, beside, out.notes);
    out.on = options.deployment(out.notes);
    out.on.longer_allowed = line.longer_allowed;
    refuse_longer(launch, out.on, beside);
    refuse_host_layers(launch, out.on);
    out.setting = options.any_setting(out.on);
    take_requests(launch, out);
    note_unknown(out.on, out.setting, out.notes);
    out.answer = out.on.ask(out.setting, out.on.known_non_kv(out.setting));
    const auto said = [](const Note& note) { return note.where == "--dp-attention"; };  // by the line
    std::erase_if(out.answer.notes, said);
    note_unused(out.on, out.setting, out.answer, out.notes);
    return out;
}

}  // namespace kvcap::cli
