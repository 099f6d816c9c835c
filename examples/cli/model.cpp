// SPDX-License-Identifier: MIT
// From a MODEL argument to a model: where it is looked for, and in which formats its caches are stored.
#include "cards.hpp"
#include "cli.hpp"
#include "options.hpp"

#include <cstdio>
#include <filesystem>
#include <kvcap/io/key_value_dtypes.hpp>
#include <kvcap/io/locate.hpp>
#include <kvcap/io/spec_line.hpp>

namespace kvcap::cli {

namespace {

constexpr std::size_t most_input = std::size_t{16} << 20;

std::string read_input() {
    std::string text;
    char part[1 << 16];
    for (std::size_t got = 0; (got = std::fread(part, 1, sizeof part, stdin)) != 0;) {
        text.append(part, got);
        if (text.size() > most_input) {
            stop(Exit::bad_input, "-: more than 16 MiB; wanted a config.json or a spec line");
        }
    }
    return text;
}

CardSource card_source() {
    CardSource source;
    source.find = [](std::string_view name) -> std::optional<CardSource::Card> {
        if (const Card* card = find_card(name)) {
            return CardSource::Card{std::string{card->text},
                                    std::string{card->hf_id.empty() ? card->name : card->hf_id}};
        }
        return std::nullopt;
    };
    source.near = [](std::string_view name) {
        const std::vector<std::string_view> names = cards_like(name, 3);
        return std::vector<std::string>{names.begin(), names.end()};
    };
    return source;
}

/// "DeepSeek-V3" of "deepseek-ai/DeepSeek-V3"; the file's folder when the file does not say what it is.
std::string label_for(const std::string& name, const std::string& argument) {
    std::error_code ignored;
    std::string text = name;
    if (text.empty() && std::filesystem::exists(argument, ignored)) {
        const std::filesystem::path path = std::filesystem::absolute(argument, ignored).lexically_normal();
        const bool plain = path.filename() == "config.json" || path.filename().empty();
        text = plain ? path.parent_path().filename().string() : path.stem().string();
    }
    while (text.size() > 1 && text.back() == '/') {
        text.pop_back();
    }
    return text.substr(text.rfind('/') + 1);
}

/// The format of the first attention stream, for "auto".
std::string kv_format_of(const ModelSpec& model) {
    for (const LayerForm& form : model.forms) {
        for (const Stream& stream : form.streams) {
            if (is_attention(stream.role) && form.retention.keep != Keep::once) {
                return spec::text_of(stream.format);
            }
        }
    }
    return "auto";
}

/// One name for each plain 16- and 32-bit type.
std::string short_name(const std::string& dtype) {
    const bool f16 = dtype == "float16" || dtype == "half" || dtype == "fp16";
    return dtype == "bfloat16" ? "bf16" : f16 ? "f16" : dtype == "float32" || dtype == "fp32" ? "f32" : dtype;
}

}  // namespace

void ModelOptions::add_to(CLI::App& verb) {
    verb.add_option("MODEL,-m,--model", model, "Name, HF id, file, folder, spec line, JSON, -")
        ->required()
        ->type_name("");
}

void ModelOptions::add_formats_to(CLI::App& verb) {
    const auto option = [&](const char* name, std::string& value, const char* text) {
        verb.add_option(name, value, text)->group("Formats")->type_name("DTYPE");
    };
    option("--kv-cache-dtype", kv_cache_dtype, "auto, bf16, fp8, nvfp4, q8_0/f16 (keys/values) ...");
    option("--state-dtype", state_dtype, "Recurrent states: auto, f32, bf16 ...");
    option("--conv-dtype", conv_dtype, "Convolution states alone, if they differ");
    option("--index-dtype", index_dtype, "Index keys: auto, bf16, fp8 ...");
}

namespace {

/// What a format was given for, or that no layer keeps what it is the format of.
void note_given(Model& model, const char* flag, const std::string& format, Role role, const char* kept) {
    if (format == "auto") {
        return;
    }
    for (const LayerForm& form : model.spec.forms) {
        for (const Stream& stream : form.streams) {
            if (stream.role == role) {
                return model.notes.push_back({Origin::given, flag, format});
            }
        }
    }
    model.notes.push_back({Origin::assumed, flag, fmt::format("{} changes nothing: no layer keeps {}", format, kept)});
}

/// MODEL@FORMAT, where only compare takes it.
void stop_at_sign(const std::string& model) {
    const std::size_t sign = model.rfind('@');
    if (sign != std::string::npos && sign != 0 && read_model(model.substr(0, sign), card_source())) {
        stop(Exit::usage, fmt::format("{}: only compare takes MODEL@FORMAT; here it is {} --kv-cache-dtype {}",
                                      printable(model), printable(model.substr(0, sign)),
                                      printable(model.substr(sign + 1))));
    }
}

}  // namespace

Model load(const ModelOptions& options) {
    Diagnosed<ReadModel> read =
        options.model == "-" ? read_model_text(read_input()) : read_model(options.model, card_source());
    if (!read) {
        stop_at_sign(options.model);
        stop(*read.error);
    }
    const Diagnosed<ModelSpec> stored = stored_as_pair(read->spec, {.kv = options.kv_cache_dtype,
                                                                      .state = options.state_dtype,
                                                                      .index = options.index_dtype,
                                                                      .conv = options.conv_dtype});
    if (!stored) {
        stop(stored.error->where == "model" ? Exit::bad_input : Exit::usage, stored.error->text());
    }
    Model model{.label = printable(label_for(read->name, options.model)),
                .dtype = options.kv_cache_dtype,
                .read = *read,
                .spec = *stored,
                .notes = std::move(read.notes),
                .argument = options.model};
    model.notes.insert(model.notes.end(), stored.notes.begin(), stored.notes.end());
    note_given(model, "--state-dtype", options.state_dtype, Role::state, "a recurrent state");
    note_given(model, "--conv-dtype", options.conv_dtype, Role::conv, "a convolution state");
    note_given(model, "--index-dtype", options.index_dtype, Role::index, "index keys");
    for (Note& note : model.notes) {
        note = {note.origin, printable(note.where), printable(note.text)};
    }
    model.dtype = options.kv_cache_dtype == "auto" ? kv_format_of(model.spec) : short_name(options.kv_cache_dtype);
    return model;
}

}  // namespace kvcap::cli
