// SPDX-License-Identifier: MIT
// Which file is `ollama:NAME[:TAG]`? Its manifest, MODELS/manifests/HOST/SPACE/NAME/TAG, lists layers; the
// one of media type "application/vnd.ollama.image.model" names the GGUF file, MODELS/blobs/sha256-DIGEST.
// Never the network.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <kvcap/io/json_load.hpp>
#include <kvcap/io/text_file.hpp>

namespace kvcap::inline v1::io {

/// OLLAMA_MODELS, else ~/.ollama/models.
inline std::filesystem::path ollama_models() {
    if (const char* given = std::getenv("OLLAMA_MODELS"); given != nullptr && *given != '\0') {
        return given;
    }
    const char* home = std::getenv("HOME");
    return home == nullptr ? std::filesystem::path{} : std::filesystem::path{home} / ".ollama" / "models";
}

/// "llama3.2" is registry.ollama.ai/library/llama3.2, tag latest; parts may be given from the right.
inline std::filesystem::path ollama_manifest(std::string name) {
    const std::size_t slash = name.rfind('/');
    const std::size_t colon = name.find(':', slash == std::string::npos ? 0 : slash);
    const std::string tag = colon == std::string::npos ? "latest" : name.substr(colon + 1);
    name = name.substr(0, colon);
    const auto slashes = std::count(name.begin(), name.end(), '/');
    const std::string host = slashes >= 2   ? ""
                             : slashes == 1 ? "registry.ollama.ai/"
                                            : "registry.ollama.ai/library/";
    return ollama_models() / "manifests" / (host + name) / tag;
}

/// `name`: without "ollama:".
inline Diagnosed<std::filesystem::path> ollama_blob(const std::string& name) {
    const std::filesystem::path manifest = ollama_manifest(name);
    if (name.find("..") != std::string::npos || name.empty()) {
        return Problem{Trouble::unreadable, "ollama:" + name, "no model's name", "NAME or NAME:TAG", {}};
    }
    const Diagnosed<std::string> text = read_text_file(manifest);
    if (!text) {
        return Problem{Trouble::unreadable, "ollama:" + name, "not among ollama's models", manifest.string(),
                       "ollama list shows the names; OLLAMA_MODELS says where they are"};
    }
    const Diagnosed<JsonDocument> document = load_json(*text);
    if (!document) {
        return io::in_file(manifest.string(), *document.error);
    }
    std::string digest;
    root_of(*document)["layers"].each([&](u32, std::string_view, const JsonValue& layer) {
        const std::string_view own = layer["digest"].text();
        if (layer["mediaType"].text() == "application/vnd.ollama.image.model" &&
            own.substr(0, 7) == "sha256:" && own.find('/') == std::string_view::npos) {
            digest = own.substr(7);
        }
    });
    if (!digest.empty()) {
        return ollama_models() / "blobs" / ("sha256-" + digest);
    }
    return Problem{Trouble::invalid,
                   manifest.string(),
                   "no layer of a model",
                   "a layer of type application/vnd.ollama.image.model",
                   {}};
}

}  // namespace kvcap::inline v1::io
