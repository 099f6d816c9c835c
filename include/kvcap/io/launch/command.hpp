// SPDX-License-Identifier: MIT
// Where among the words of a shell's commands does a server start: by its program, by a container's image, or by
// another shell? And of which version and for which device is the image?
#pragma once

#include <kvcap/io/launch/flags.hpp>
#include <kvcap/io/launch/line.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap::inline v1::io {

/// words[at]: the program or the image.
struct Server {
    const LaunchSyntax* syntax = nullptr;
    std::size_t at = 0;
};

inline std::size_t command_end(const std::vector<std::string>& words, std::size_t at) {
    while (at < words.size() && !ends_command(words[at])) {
        ++at;
    }
    return at;
}

/// Whether the command runs a container.
inline bool runs_container(const std::vector<std::string>& words, std::size_t from, std::size_t to) {
    bool program = false;
    for (std::size_t i = from; i < to; ++i) {
        const std::string_view name = std::string_view{words[i]}.substr(words[i].rfind('/') + 1);
        program = program || name == "docker" || name == "podman" || name == "nerdctl";
        if (program && words[i] == "run") {
            return true;
        }
    }
    return false;
}

/// Whether the word only names something: a container, a host.
inline bool is_a_name(const std::vector<std::string>& words, std::size_t from, std::size_t at) {
    if (at == from) {
        return false;
    }
    const std::string_view before = words[at - 1];
    return before == "--name" || before == "--hostname" || before == "-h" || before == "--network" ||
           before == "--job-name" || before == "-J" || before == "--container-name";
}

inline std::optional<Server> named_in(const std::vector<std::string>& words, std::size_t from, std::size_t to,
                                      bool image) {
    for (const LaunchSyntax& syntax : launch_syntaxes) {
        for (std::size_t at = from; at < to && syntax.image == image; ++at) {
            const bool begun = syntax.verb.empty() || (at + 1 < to && words[at + 1] == syntax.verb);
            if (begun && syntax.named(words[at]) && !is_a_name(words, from, at)) {
                return Server{&syntax, at};
            }
        }
    }
    return std::nullopt;
}

/// The server that the command starts. In a container the program is named behind the image, or the image starts it.
inline std::optional<Server> server_in(const std::vector<std::string>& words, std::size_t from, std::size_t to) {
    const bool container = runs_container(words, from, to);
    const std::optional<Server> image = container ? named_in(words, from, to, true) : std::nullopt;
    const std::optional<Server> program = named_in(words, image ? image->at + 1 : from, to, false);
    return program ? program : image;
}

/// words[at]: a text of another shell (bash -c TEXT, also as a container's command) with a server in it; `to`: none is.
inline std::size_t shell_text(const std::vector<std::string>& words, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i + 1 < to; ++i) {
        const bool asks = words[i] == "-c" || words[i] == "-lc" || words[i] == "-ic" || words[i] == "-exc";
        if (asks && words[i + 1].find(' ') != std::string::npos) {
            const std::vector<std::string> inner = shell_words(words[i + 1]);
            for (std::size_t at = 0; at < inner.size(); at = command_end(inner, at) + 1) {
                if (server_in(inner, at, command_end(inner, at))) {
                    return i + 1;
                }
            }
        }
    }
    return to;
}

/// What stands behind the name of the engine's image among words[..at], as "--image=NAME-kind:tag" has it.
inline std::string_view behind_image(const std::vector<std::string>& words, std::string_view engine, std::size_t at) {
    for (std::size_t i = 0; i <= at && i < words.size(); ++i) {
        const std::string_view word = std::string_view{words[i]}.substr(words[i].rfind('=') + 1);
        for (const LaunchSyntax& syntax : launch_syntaxes) {
            if (syntax.image && syntax.engine == engine && syntax.named(word)) {
                return word.substr(word.find(syntax.program) + syntax.program.size());
            }
        }
    }
    return {};
}

/// "v0.4.6-cu124" of an image of the engine's, "NAME:v0.4.6-cu124@sha256:...", among words[..at]; empty for none and
/// for tags without a number and "latest".
inline std::string image_tag(const std::vector<std::string>& words, std::string_view engine, std::size_t at) {
    constexpr std::string_view names[][2] = {
        {"vllm", "/vllm"}, {"sglang", "/sglang"}, {"trtllm", "/tensorrt-llm"}, {"llamacpp", "/llama.cpp"}};
    for (std::size_t i = 0; i <= at && i < words.size(); ++i) {
        std::string_view word = std::string_view{words[i]}.substr(words[i].rfind('=') + 1);
        word = word.substr(0, word.find('@'));
        const std::size_t colon = word.rfind(':');
        for (const auto& [of, name] : names) {
            const std::size_t named = of == engine && colon != word.npos ? word.find(name) : word.npos;
            const std::string_view tag = named < colon ? word.substr(colon + 1) : std::string_view{};
            const bool numbered = tag.find_first_of("0123456789") != tag.npos;
            if (numbered && tag.find('/') == tag.npos && !tag.starts_with("latest")) {
                return std::string{tag};
            }
        }
    }
    return {};
}

/// "0.11.0" of the image "vllm/vllm-openai:v0.11.0-cu130"; empty for tags that are no version, and for other engines.
inline std::string image_version(const std::vector<std::string>& words, std::string_view engine, std::size_t at) {
    const std::string_view rest = engine == "vllm" ? behind_image(words, engine, at) : std::string_view{};
    const std::size_t colon = rest.find(':');
    std::string_view tag = colon == std::string_view::npos ? std::string_view{} : rest.substr(colon + 1);
    tag.remove_prefix(tag.starts_with('v') ? 1 : 0);
    tag = tag.substr(0, tag.find_first_of("-@"));
    const bool version = !tag.empty() && tag[0] >= '0' && tag[0] <= '9' && tag.find('.') != std::string_view::npos;
    return version ? std::string{tag} : std::string{};
}

/// The device, where the server's image is made for none of the GPUs that are judged; empty: it is.
inline std::string_view host_image(const std::vector<std::string>& words, const Server& server) {
    const std::string_view rest = behind_image(words, server.syntax->engine, server.at);
    if (server.syntax->engine == "llamacpp" && server.syntax->image) {
        const bool build = rest.starts_with("-b") && rest.size() > 2 && rest[2] >= '0' && rest[2] <= '9';
        return rest.empty() || rest[0] == '@' || build ? "the CPU" : "";
    }
    return rest.starts_with("-cpu") ? "the CPU" : rest.starts_with("-xpu") ? "Intel GPUs" : "";
}

}  // namespace kvcap::inline v1::io
