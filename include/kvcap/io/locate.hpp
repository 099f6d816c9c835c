// SPDX-License-Identifier: MIT
// Which model does a MODEL argument mean? Tried in order: file (config.json or GGUF), folder, the text of a
// config.json itself, ollama:NAME, LMCache shape spec, spec line, card (name or Hugging Face id, by the
// caller's look-up), local Hugging Face cache. Never the network.
#pragma once

#include <cstdlib>
#include <functional>
#include <kvcap/io/gguf.hpp>
#include <kvcap/io/hf.hpp>
#include <kvcap/io/ollama.hpp>
#include <kvcap/io/shape_spec.hpp>
#include <kvcap/io/spec_line.hpp>

namespace kvcap::inline v1 {

/// Where cards come from: the text of the card called so (and its Hugging Face id), and names that come near.
struct CardSource {
    struct Card {
        std::string text;
        std::string name;
    };
    std::function<std::optional<Card>(std::string_view)> find = [](std::string_view) {
        return std::optional<Card>{};
    };
    std::function<std::vector<std::string>(std::string_view)> near = [](std::string_view) {
        return std::vector<std::string>{};
    };
};

namespace io {

inline std::filesystem::path from_environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::filesystem::path{} : std::filesystem::path{value};
}

/// HF_HUB_CACHE, else HF_HOME/hub, else ~/.cache/huggingface/hub.
inline std::filesystem::path hub_cache() {
    if (auto hub = from_environment("HF_HUB_CACHE"); !hub.empty()) {
        return hub;
    }
    if (const auto home = from_environment("HF_HOME"); !home.empty()) {
        return home / "hub";
    }
    const auto home = from_environment("HOME");
    return home.empty() ? home : home / ".cache" / "huggingface" / "hub";
}

/// The repository's folder `models--ORG--NAME`, letters in any case; the organisation may be left out.
inline std::filesystem::path cached_repository(std::string_view id) {
    std::string wanted = lower_case(id);
    const std::size_t slash = wanted.find('/');
    const bool whole = slash != std::string::npos;
    if (wanted.empty() || wanted.find("..") != std::string::npos ||
        wanted.find('/', whole ? slash + 1 : 0) != std::string::npos) {
        return {};
    }
    wanted = whole ? "models--" + wanted.substr(0, slash) + "--" + wanted.substr(slash + 1) : "--" + wanted;
    std::error_code wrong;
    std::filesystem::path found;
    for (std::filesystem::directory_iterator entry{hub_cache(), wrong}, end; !wrong && entry != end;
         entry.increment(wrong)) {
        const std::string name = lower_case(entry->path().filename().string());
        const bool fits = whole ? name == wanted
                                : begins_with(name, "models--") && name.size() > wanted.size() + 7 &&
                                      name.compare(name.size() - wanted.size(), wanted.size(), wanted) == 0;
        if (fits && (found.empty() || entry->path() < found)) {
            found = entry->path();
        }
    }
    return found;
}

/// The snapshot of a cached repository that `ref` names; of main, where nothing says which that is, the only one there.
inline std::filesystem::path cached_snapshot(const std::filesystem::path& repository,
                                             const std::string& ref) {
    const std::filesystem::path snapshots = repository / "snapshots";
    std::error_code wrong;
    if (const Diagnosed<std::string> commit = read_text_file(repository / "refs" / ref, 4096); commit) {
        const std::string id = commit->substr(0, commit->find_first_of(" \r\n"));
        if (!id.empty() && std::filesystem::is_directory(snapshots / id, wrong)) {
            return snapshots / id;
        }
    }
    if (std::filesystem::is_directory(snapshots / ref, wrong)) {
        return snapshots / ref;
    }
    std::filesystem::path only;
    for (std::filesystem::directory_iterator entry{snapshots, wrong}, end; ref == "main" && !wrong && entry != end;
         entry.increment(wrong)) {
        if (!only.empty()) {
            return {};
        }
        only = entry->path();
    }
    return only;
}

inline Diagnosed<ReadModel> read_gguf_file(const std::filesystem::path& path) {
    Diagnosed<gguf::GgufModel> read = gguf::read_file(path.string());
    if (!read) {
        return *std::move(read.error);
    }
    Diagnosed<ReadModel> model{std::move(read->model)};
    model.notes = std::move(read.notes);
    return model;
}

inline bool is_gguf_file(const std::filesystem::path& path) {
    char magic[4]{};
    std::error_code wrong;
    if (std::filesystem::is_regular_file(path, wrong)) {
        std::ifstream{path, std::ios::binary}.read(magic, 4);
    }
    return std::string_view{magic, 4} == "GGUF";
}

/// A file: GGUF by its first bytes, else a config.json.
inline Diagnosed<ReadModel> read_model_file(const std::filesystem::path& path) {
    return is_gguf_file(path) ? read_gguf_file(path) : read_config_file(path);
}

/// GGUF models in a folder: later parts and projectors (mmproj) are none. path: one of them.
struct GgufFolder {
    std::filesystem::path path;
    u32 models = 0;
};

inline GgufFolder gguf_models_in(const std::filesystem::path& folder) {
    GgufFolder found;
    std::error_code wrong;
    for (std::filesystem::directory_iterator entry{folder, wrong}, end; !wrong && entry != end;
         entry.increment(wrong)) {
        const std::string name = entry->path().filename().string();
        const bool later_part =
            name.find("-of-") != std::string::npos && name.find("-00001-of-") == std::string::npos;
        if (entry->path().extension() == ".gguf" && !later_part && !begins_with(lower_case(name), "mmproj")) {
            found.path = entry->path();
            ++found.models;
        }
    }
    return found;
}

/// The GGUF file that a MODEL argument means (file, folder, ollama:NAME); empty when it means something else.
inline std::filesystem::path gguf_path(const std::string& name) {
    std::error_code wrong;
    if (begins_with(name, "ollama:")) {
        const auto blob = ollama_blob(name.substr(7));
        return blob ? *blob : std::filesystem::path{};
    }
    if (!std::filesystem::is_directory(name, wrong)) {
        return is_gguf_file(name) ? std::filesystem::path{name} : std::filesystem::path{};
    }
    const GgufFolder found = gguf_models_in(name);
    const bool config = std::filesystem::exists(std::filesystem::path{name} / "config.json", wrong);
    return !config && found.models == 1 ? found.path : std::filesystem::path{};
}

/// ModelOpt keeps its hint beside the config: quantization.kv_cache_quant_algo in hf_quant_config.json.
inline void add_side_hint(Diagnosed<ReadModel>& read, const std::filesystem::path& folder) {
    std::error_code wrong;
    const std::filesystem::path side = folder / "hf_quant_config.json";
    if (!read || !read->kv_dtype_hint.empty() || !std::filesystem::is_regular_file(side, wrong)) {
        return;
    }
    if (const Diagnosed<std::string> text = read_text_file(side); text) {
        if (const Diagnosed<JsonDocument> document = load_json(*text); document) {
            read->kv_dtype_hint = hf::kv_hint(root_of(*document)["quantization"]);
        }
    }
    if (!read->kv_dtype_hint.empty()) {
        read.notes.push_back({Origin::given, side.string(),
                              read->kv_dtype_hint + " suggested for the cache: a hint, never an order"});
    }
}

/// A folder: its config.json, else its only (or first of several parts of one) GGUF file.
inline Diagnosed<ReadModel> read_model_folder(const std::filesystem::path& folder) {
    std::error_code wrong;
    if (std::filesystem::exists(folder / "config.json", wrong)) {
        Diagnosed<ReadModel> read = read_config_file(folder / "config.json");
        add_side_hint(read, folder);
        return read;
    }
    const GgufFolder found = gguf_models_in(folder);
    if (found.models == 1) {
        return read_gguf_file(found.path);
    }
    const bool several = found.models > 1;
    return Problem{Trouble::unreadable,
                   folder.string(),
                   several ? "several GGUF files" : "a folder without config.json",
                   several ? "one of them by name" : "a model's folder",
                   {}};
}

/// ID or ID@REF in the local Hugging Face cache; nothing when it is not there.
inline std::optional<Diagnosed<ReadModel>> read_cached(const std::string& name) {
    const std::size_t sign = name.rfind('@');
    const std::string id = name.substr(0, sign);
    const std::filesystem::path repository = cached_repository(id);
    if (repository.empty()) {
        return std::nullopt;
    }
    const std::filesystem::path snapshot =
        cached_snapshot(repository, sign == std::string::npos ? "main" : name.substr(sign + 1));
    if (snapshot.empty()) {
        return std::nullopt;
    }
    Diagnosed<ReadModel> read = read_model_folder(snapshot);
    if (read && read->name.empty()) {
        read->name = id;
    }
    return read;
}

/// The command that fetches what ID, ID@REF or llama-server's ID:QUANT names. A quantisation is one file of several,
/// and such repositories need no config.json.
inline std::string download_of(const std::string& name) {
    const std::size_t colon = name.rfind(':');
    const std::string whole = name.substr(0, colon);
    const std::size_t sign = whole.rfind('@');
    const std::string id = whole.substr(0, sign);
    const std::string revision = sign == std::string::npos ? "" : " --revision " + whole.substr(sign + 1);
    const std::string folder = id.substr(id.find('/') + 1);
    return colon == std::string::npos
               ? "hf download " + id + " config.json" + revision
               : "hf download " + id + " --include '*" + name.substr(colon + 1) + "*.gguf'" + revision +
                     " --local-dir " + folder + " (MODEL is " + folder + " then)";
}

inline Problem nothing_called(const std::string& name, const CardSource& cards) {
    std::string hint;
    for (const std::string& card : cards.near(name)) {
        (hint += hint.empty() ? "nearest cards: " : ", ") += card;
    }
    const std::size_t slash = name.find('/');
    if (slash != std::string::npos && slash != 0 && name[0] != '.' &&
        name.find('/', slash + 1) == std::string::npos) {
        hint += (hint.empty() ? "" : "; ") + std::string{"to fetch its file: "} + download_of(name);
    }
    return {Trouble::unreadable, name, "no file, folder, spec line, model card or cached model of that name",
            "one of these", hint};
}

}  // namespace io

/// Text that came without a file: JSON by its first character, a shape spec, else a spec line.
inline Diagnosed<ReadModel> read_model_text(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos || text[first] == '{' || text[first] == '[' || text[first] == '"') {
        return read_config(text);
    }
    const std::string_view line = text.substr(first, text.find_last_not_of(" \t\r\n") + 1 - first);
    if (looks_like_shape_spec(line)) {
        return read_shape_spec(line);
    }
    return looks_like_spec_line(line) ? read_spec_line(line) : read_config(text);
}

/// The model that `name` means. `name` may end in @REF for a snapshot of the local Hugging Face cache.
inline Diagnosed<ReadModel> read_model(const std::string& name, const CardSource& cards = {}) {
    std::error_code wrong;
    const std::filesystem::file_status status = std::filesystem::status(name, wrong);
    if (std::filesystem::is_directory(status)) {
        return io::read_model_folder(name);
    }
    if (std::filesystem::exists(status) ||
        std::filesystem::is_symlink(std::filesystem::symlink_status(name, wrong))) {
        return io::read_model_file(name);
    }
    if (const std::size_t first = name.find_first_not_of(" \t\r\n");
        first != std::string::npos && name[first] == '{') {
        return read_config(name);
    }
    if (io::begins_with(name, "ollama:")) {
        const auto blob = io::ollama_blob(name.substr(7));
        return blob ? io::read_gguf_file(*blob) : Diagnosed<ReadModel>{*blob.error};
    }
    if (looks_like_shape_spec(name)) {
        return read_shape_spec(name);
    }
    if (looks_like_spec_line(name)) {
        return read_spec_line(name);
    }
    if (const std::optional<CardSource::Card> card = cards.find(name)) {
        Diagnosed<ReadModel> read = read_config(card->text);
        if (read) {
            read->name = card->name;
        }
        return read;
    }
    std::optional<Diagnosed<ReadModel>> cached = io::read_cached(name);
    return cached ? *std::move(cached) : io::nothing_called(name, cards);
}

}  // namespace kvcap::inline v1
