// SPDX-License-Identifier: MIT
// What llama-server takes where its line says no devices and no cells: all GPUs that are there, and what --fit leaves
// of the model's context for each slot.
#include "llamacpp.hpp"
#include "plan_launch.hpp"

namespace kvcap::cli {

std::string fitted_words(u64 context, u32 slots, u64 cells) {
    const u64 asked = saturating_product(context, slots);
    std::string out = fmt::format("no -c: {} cells, the model's context for each of {}", report::grouped(asked),
                                  report::counted(slots, "slot", "slots"));
    return cells == asked ? out + "; --fit would lower it where devices had less than 1 GiB left"
                          : out + fmt::format(", lowered by --fit to {}, so that devices keep 1 GiB free (compute "
                                              "buffers that are not given lower it further)",
                                              report::grouped(cells));
}

namespace {

/// Every GPU there is, by servers.
void take_devices(Launch& launch, u32 gpus, std::vector<Note>& notes) {
    if (launch.over_all.empty()) {
        return;
    }
    if (gpus / larger(launch.servers, 1) > llamacpp::most_devices) {
        stop(Exit::usage, fmt::format("--gpus {} and --launch: llama.cpp has at most {} devices; -ts or --device in "
                                      "the line says which it takes",
                                      gpus, llamacpp::most_devices));
    }
    const auto devices = static_cast<u32>(larger(gpus / larger(launch.servers, 1), 1));
    (launch.over_all == "tensor" ? launch.tp : launch.pp) = devices;
    if (gpus == 0) {
        note_line(notes, "names no devices: judged on one GPU, but llama-server takes all that it sees; --gpus says "
                         "how many, -sm none is one");
    } else if (devices > 1) {
        note_line(notes, fmt::format("names no devices: split over {} GPUs by {}s, as llama-server does with all that "
                                     "it sees",
                                     report::grouped(devices), launch.over_all));
    }
    launch.over_all.clear();
}

bool said(const Launch& launch, std::string_view flag, std::string_view value) {
    const auto found = launch.flags.find(flag);
    return found != launch.flags.end() && found->second == value;
}

void take_cells(Launch& launch, u64 context, u64 cells) {
    const u64 slots = launch.flags.count("kv-unified") != 0 ? 1 : larger(launch.sequences, 1);
    launch.flags["ctx-size"] = std::to_string(cells);
    launch.tokens = larger(smaller(cells / slots, context), 1);
}

/// The cells that --fit leaves, of those that `launched` was judged with.
u64 cells_left(const Launched& launched, u64 asked) {
    const Deployment& on = launched.on;
    const Bytes non_kv = on.known_non_kv(launched.setting);
    const EngineQuestion question = on.question(launched.setting, non_kv);
    const LlamaModel model = llama_model(*question.model);
    const llamacpp::Devices devices = llamacpp::devices_of(model.card, question.sharding);
    llamacpp::DeviceMemory memory{};
    u64 weights = 0;
    bool experts = false;
    for (u32 d = 0; d < devices.count && d < llamacpp::most_devices; ++d) {
        const Bytes own = on.weights(launched.setting, d).bytes;
        const double share = on.memory.by_budget ? 1 : on.share(launched.setting);
        memory.available[d] = on.memory.for_cache(share, {}, {}, {}).value;
        memory.compute[d] = (own + non_kv).value;
        weights = saturating_sum(weights, own.value);
    }
    for (const WeightGroup& group : on.weights_known.groups) {
        experts = experts || group.part == WeightPart::experts;
    }
    const u64 waste = llamacpp::fit_waste(devices.count, weights, model.card.layers, experts);
    const Result<u64> cells =
        llamacpp::fitted_cells(model.card, llama_options(question), devices, {}, memory, waste);
    return cells ? *cells : asked;
}

/// No cells said: those of --fit.
Launched with_fitted_cells(Launch& launch, u64 context, const DeploymentOptions& beside, std::vector<Note>& notes) {
    const u64 asked = saturating_product(context, launch.sequences);
    take_cells(launch, context, asked);
    Launched out = evaluate(launch, beside);
    const u64 cells = out.answer.runs() ? cells_left(out, asked) : asked;
    note_line(notes, fitted_words(context, static_cast<u32>(launch.sequences), cells));
    if (cells < asked) {
        take_cells(launch, context, cells);
        out = evaluate(launch, beside);
        if (out.answer.runs() && !out.answer.fits()) {
            note_line(notes, "--fit then moves layers to the host, which is not evaluated");
        }
    }
    return out;
}

}  // namespace

Launched evaluate_server(const Launch& line, const DeploymentOptions& beside) {
    Launch launch = line;
    std::vector<Note> notes;
    take_devices(launch, beside.memory.gpus, notes);
    const std::string& model = beside.model.model.empty() ? line.model : beside.model.model;
    const u64 context = launch.engine != "llamacpp" || launch.tokens != 0 ? 0 : load({.model = model}).read.max_context;
    const bool tensors = launch.tp > 1 || line.over_all == "tensor";  // --fit does nothing there
    const bool fits = context != 0 && !tensors && !said(launch, "fit", "off");
    Launched out{};
    if (fits && launch.flags.count("ctx-size") == 0 && launch.sequences <= llamacpp::most_sequences) {
        out = with_fitted_cells(launch, context, beside, notes);
    } else {
        if (context != 0) {
            const u64 cells = saturating_product(context, fits ? launch.sequences : 1);
            take_cells(launch, context, cells);
            note_line(notes, fmt::format("says no length: {} cells, the model's context{}", report::grouped(cells),
                                         fits && launch.sequences > 1 ? " for each slot" : ""));
        }
        out = evaluate(launch, beside);
    }
    out.line = launch;
    out.notes.insert(out.notes.begin(), notes.begin(), notes.end());
    return out;
}

}  // namespace kvcap::cli
