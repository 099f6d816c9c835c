// SPDX-License-Identifier: MIT
// In which formats does an engine store a model: what it decides itself, and what it cannot be asked for?
#include "deployment.hpp"

#include <kvcap/io/spec_line.hpp>

namespace kvcap::cli {

std::string_view packed_latents(const ReadModel& model) {
    bool compressors = false;
    bool wide = true;
    for (const LayerForm& form : model.spec.forms) {
        compressors = compressors || form.kind == Kind::compressor;
        wide = wide && (form.kind != Kind::latent || (form.streams.size() == 1 && form.streams[0].width == 512));
    }
    return compressors && wide ? "fp8_ds_mla" : "";
}

void refuse_formats(const EngineFace& face, const ModelOptions& model) {
    if (face.name == "exact") {
        return;
    }
    const bool vllm = face.name == "vllm";
    const std::string own = vllm ? " (there --mamba-ssm-cache-dtype and --mamba-cache-dtype change it)"
                            : face.name == "sglang" ? " (there --mamba-ssm-dtype changes it)" : "";
    const auto refuse = [&](const char* flag, const std::string& asked, const std::string& there) {
        if (asked != "auto") {
            stop(Exit::usage, fmt::format("{}: {} decides by its own rules how this is stored{}; kvcap counts that "
                                          "default. Leave the flag out, or ask with --engine exact",
                                          flag, face.title, there));
        }
    };
    refuse("--state-dtype", model.state_dtype, own);
    refuse("--conv-dtype", model.conv_dtype, vllm ? own : "");
    refuse("--index-dtype", model.index_dtype, "");
}

namespace {

/// The model's format of states where the engine keeps another, which `stored` then has, with convolutions as the model
/// has them; empty: it keeps that one.
std::string own_states(const EngineFace& face, const ReadModel& read, ModelOptions& stored) {
    if (face.state_format == nullptr) {
        return {};
    }
    const ElementFormat format = face.state_format(read);
    std::string plain;
    std::string conv = stored.conv_dtype;
    for (const LayerForm& form : read.spec.forms) {
        const bool state = form.retention.keep == Keep::last;
        for (const Stream& stream : form.streams) {
            const bool differs = state && stream.role == Role::state && !(stream.format == format);
            plain = differs ? spec::text_of(stream.format) : plain;
            conv = stream.role == Role::conv ? spec::text_of(stream.format) : conv;
        }
    }
    stored.state_dtype = plain.empty() ? stored.state_dtype : spec::text_of(format);
    stored.conv_dtype = plain.empty() ? stored.conv_dtype : conv;
    return plain;
}

/// What the reader took for states where the file does not say it.
bool is_of_states(const Note& note) {
    return note.where.ends_with("/mamba_ssm_cache_dtype") || note.where.ends_with("/mamba_ssm_dtype");
}

/// The context that the engine derives, where that is another than the one that is stated.
void take_context(const EngineFace& face, Model& model, std::vector<Note>& notes) {
    const u64 own = face.context == nullptr ? model.read.max_context : face.context(model.read);
    if (own != model.read.max_context) {
        notes.push_back({Origin::derived, "context",
                         fmt::format("{} tokens, as {} takes the {} that are stated and their rope scaling",
                                     report::grouped(own), face.title, report::grouped(model.read.max_context))});
        model.read.max_context = own;
    }
}

/// Scales of a cache in the checkpoint: which versions follow them under auto is not known here.
void note_hint(const EngineFace& face, const Model& model, const ModelOptions& options, std::vector<Note>& notes) {
    if (face.follows_checkpoint && options.kv_cache_dtype == "auto" && model.read.kv_dtype_hint == "fp8") {
        notes.push_back({Origin::assumed, "--kv-cache-dtype",
                         fmt::format("auto is judged as 16 bits; the checkpoint asks for fp8, and versions of {} that "
                                     "follow it take half (fp8 judges that)",
                                     face.title)});
    }
}

Model stored_for(const EngineFace& face, const ModelOptions& options, std::vector<Note>& notes) {
    Model model = load(options);
    ModelOptions stored = options;
    const std::string plain = own_states(face, model.read, stored);
    const std::string_view own = face.kv_format == nullptr ? std::string_view{} : face.kv_format(model.read);
    stored.kv_cache_dtype = own.empty() ? stored.kv_cache_dtype : std::string{own};
    if (plain.empty() && own.empty()) {
        return model;
    }
    const std::vector<Note> read = std::move(model.notes);
    model = load(stored);
    model.notes = read;
    if (!own.empty()) {
        notes.push_back({Origin::derived, "--kv-cache-dtype",
                         fmt::format("{}: the one layout in which {} keeps this model's latents, whatever is asked for",
                                     own, face.title)});
    }
    if (!plain.empty()) {
        std::erase_if(model.notes, is_of_states);
        notes.push_back({Origin::assumed, "states", fmt::format("{}, as {} {}; the model says {}", stored.state_dtype,
                                                                face.title, face.states_rule, plain)});
    }
    return model;
}

}  // namespace

Model load_for(const EngineFace& face, const ModelOptions& options, std::vector<Note>& notes) {
    if (options.model == "-") {
        return load(options);
    }
    Model model = stored_for(face, options, notes);
    take_context(face, model, notes);
    note_hint(face, model, options, notes);
    return model;
}

}  // namespace kvcap::cli
