// SPDX-License-Identifier: MIT
// From a MODEL argument to a model: where it is looked for, and in which formats its caches are stored.
#include "cards.hpp"
#include "cli.hpp"

#include <cstdio>
#include <filesystem>
#include <kvcap/io/hf.hpp>
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

/// Text that came without a file: a config.json if it begins like one, else a spec line.
Diagnosed<ReadModel> read_text(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    const bool json = first != std::string_view::npos && text[first] == '{';
    return json ? read_config(text) : read_spec_line(text);
}

Diagnosed<ReadModel> read_card(const Card& card) {
    Diagnosed<ReadModel> read = read_config(card.text);
    if (read) {
        read->name = card.hf_id.empty() ? card.name : card.hf_id;
    }
    return read;
}

/// Nothing has that name: what comes nearest, and the one command that would fetch it.
[[noreturn]] void refuse(const std::string& name) {
    std::string near;
    for (const std::string_view card : cards_like(name, 3)) {
        near += fmt::format("{}{}", near.empty() ? "" : ", ", card);
    }
    std::string text = fmt::format("{}: no file, folder, spec line, model card or cached model of that name", name);
    text += near.empty() ? "" : fmt::format("; nearest cards: {}", near);
    if (name.find('/') != std::string::npos && name.front() != '/' && name.front() != '.') {
        text += fmt::format("\nTo fetch its file: hf download {} config.json", name);
    } else {
        text += "\nkvcap models lists what it knows by name";
    }
    stop(Exit::bad_input, text);
}

Diagnosed<ReadModel> read_named(const std::string& name) {
    if (name == "-") {
        return read_text(read_input());
    }
    std::error_code ignored;
    const std::filesystem::file_status status = std::filesystem::status(name, ignored);
    if (std::filesystem::is_directory(status)) {
        return read_config_file(std::filesystem::path{name} / "config.json");
    }
    if (std::filesystem::exists(status)) {
        return read_config_file(name);
    }
    if (looks_like_spec_line(name)) {
        return read_spec_line(name);
    }
    if (const Card* card = find_card(name)) {
        return read_card(*card);
    }
    refuse(name);
}

}  // namespace

void ModelOptions::add_to(CLI::App& verb) {
    verb.add_option("model,-m,--model", model,
                    "A card's name, Hugging Face id, config.json, folder, spec line, or - for stdin")->required();
}

void ModelOptions::add_formats_to(CLI::App& verb) {
    verb.add_option("--kv-cache-dtype", kv_cache_dtype, "auto, bf16, fp8, int8, fp8_ds_mla, nvfp4, q8_0 ...")
        ->group("Formats")->capture_default_str();
    verb.add_option("--state-dtype", state_dtype, "Recurrent and convolution states: auto, f32, bf16 ...")
        ->group("Formats")->capture_default_str();
    verb.add_option("--index-dtype", index_dtype, "Index keys of sparse attention: auto, bf16, fp8 ...")
        ->group("Formats")->capture_default_str();
}

Model load(const ModelOptions& options) {
    Diagnosed<ReadModel> read = read_named(options.model);
    if (!read) {
        stop(*read.error);
    }
    Model model{.label = read->name, .dtype = options.kv_cache_dtype, .read = *read, .spec = read->spec,
                .notes = std::move(read.notes)};
    return model;
}

}  // namespace kvcap::cli
