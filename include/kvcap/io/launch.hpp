// SPDX-License-Identifier: MIT
// What deployment does an engine's launch line describe? vllm serve, vllm.entrypoints.openai.api_server,
// sglang.launch_server, sglang serve, llama-server, trtllm-serve (and the YAML that its own flags cannot say), and
// docker run of an image that starts one, read into one value. report/launch.hpp writes such lines.
#pragma once

#include <kvcap/io/launch/command.hpp>
#include <kvcap/io/launch/reader.hpp>
#include <kvcap/io/letters.hpp>

namespace kvcap::inline v1 {

namespace io {

/// The engine's variable that lets it take more tokens than the model states; empty: it has none.
constexpr std::string_view longer_variable(std::string_view engine) noexcept {
    return engine == "vllm"     ? "VLLM_ALLOW_LONG_MAX_MODEL_LEN"
           : engine == "sglang" ? "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
                                : std::string_view{};
}

/// How many devices a variable's "0,1" or "GPU-x" are, each once, up to the first that is none ("-1"), as CUDA counts
/// them.
inline u32 devices_of(std::string_view list) {
    std::vector<std::string_view> seen;
    while (list != "none" && list != "void" && !list.empty() && list[0] != ',' && list[0] != '-') {
        const std::string_view one = list.substr(0, list.find(','));
        if (std::find(seen.begin(), seen.end(), one) == seen.end()) {
            seen.push_back(one);
        }
        list.remove_prefix(smaller(one.size() + 1, list.size()));
    }
    return static_cast<u32>(seen.size());
}

/// The same of docker's "2", "count=2" or "device=0,1"; nothing: all.
inline std::optional<u32> docker_devices(std::string_view said) {
    said.remove_prefix(smaller(said.find_first_not_of("\"'"), said.size()));
    said = said.substr(0, said.find_first_of("\"'"));
    if (const std::size_t list = said.find("device="); list != said.npos) {
        return devices_of(said.substr(list + 7));
    }
    said.remove_prefix(said.starts_with("count=") ? 6 : 0);
    const std::optional<u64> count = launch_number(std::string{said});
    if (said == "none") {
        return 0;
    }
    return count ? std::optional{static_cast<u32>(smaller(*count, 65536))} : std::nullopt;
}

/// "NAME=VALUE" of a shell's word or of docker's -e=NAME=VALUE.
constexpr std::string_view variable_in(std::string_view word) noexcept {
    return word.substr(word.starts_with("--env=") ? 6 : word.starts_with("-e=") ? 3 : 0);
}

/// The devices that the words before a program let it see: what each of them leaves of the others'. NVIDIA's variable
/// is one of containers, and docker sets it from --gpus. Source: moby, daemon/nvidia_linux.go.
inline void take_visible(const std::vector<std::string>& words, std::size_t end, Launch& launch) {
    const auto take = [&](std::optional<u32> devices) {
        launch.visible = devices && launch.visible ? smaller(*devices, *launch.visible)
                         : devices                 ? devices
                                                   : launch.visible;
    };
    const auto last = words.begin() + static_cast<std::ptrdiff_t>(end);
    const bool asks = std::any_of(words.begin(), last, [](const std::string& w) { return w.starts_with("--gpus"); });
    const bool container = !asks && runs_container(words, 0, end);
    for (std::size_t i = 0; i < end; ++i) {
        const std::string_view word = variable_in(words[i]);
        for (const std::string_view name : {"CUDA_VISIBLE_DEVICES=", "HIP_VISIBLE_DEVICES=", "ROCR_VISIBLE_DEVICES=",
                                            "NVIDIA_VISIBLE_DEVICES="}) {
            const bool counts = container || name[0] != 'N';
            if (counts && word.starts_with(name) && word.substr(name.size()) != "all") {
                take(devices_of(word.substr(name.size())));
            }
        }
        if (word.starts_with("--gpus")) {
            const bool apart = word.size() == 6 && i + 1 < end;
            take(docker_devices(apart ? std::string_view{words[i + 1]} : word.substr(smaller(word.size(), 7))));
        }
    }
}

/// An engine's own variables before its program: they may say what its flags say. One is read, others are named.
inline void take_environment(const std::vector<std::string>& words, std::size_t end, Launch& launch,
                             std::vector<Note>& notes) {
    for (std::size_t i = 0; i < end; ++i) {
        const std::string word{variable_in(words[i])};
        const std::string name = word.substr(0, word.find('='));
        if (!name.empty() && name == longer_variable(launch.engine) && name.size() < word.size()) {
            const std::string value = lower_case(word.substr(name.size() + 1));
            launch.longer_allowed = value == "1" || value == "true";
            continue;
        }
        for (const std::string_view own : {"VLLM_", "SGLANG_", "SGL_", "TRTLLM_", "TLLM_", "LLAMA_", "GGML_"}) {
            if (name.size() < word.size() && name.starts_with(own)) {
                notes.push_back({Origin::assumed, "launch line",
                                 name + ": a variable, not read; if it changes memory, this answer is off"});
            }
        }
    }
}

/// "# 2 servers" behind a line counts identical ones, 1 to 65,536; another comment says nothing.
inline Diagnosed<u32> launch_servers(const std::vector<std::string>& words, std::size_t from) {
    const auto begin = words.begin() + static_cast<std::ptrdiff_t>(from);
    const auto comment = std::find_if(begin, words.end(), is_comment);
    const std::string text = comment == words.end() ? "" : comment->substr(2);
    const std::size_t first = smaller(text.find_first_not_of(" \t"), text.size());
    const std::size_t end = smaller(text.find_first_of(" \t", first), text.size());
    const std::string count = text.substr(first, end - first);
    const std::size_t then = smaller(text.find_first_not_of(" \t", end), text.size());
    if (count.find_first_of("0123456789") == std::string::npos || text.compare(then, 6, "server") != 0) {
        return 1u;
    }
    const bool digits = count.find_first_not_of("0123456789") == std::string::npos;
    const u64 servers = digits ? launch_number(count).value_or(0) : 0;
    if (servers < 1 || servers > 65536) {
        return Problem{Trouble::invalid, "launch line, # servers", '"' + count + '"',
                       "a number of identical servers, 1 to 65,536", {}};
    }
    return static_cast<u32>(servers);
}

/// What follows the server's own command: nothing of it is left out that its writer may have meant.
inline std::optional<Problem> behind(const std::vector<std::string>& words, std::size_t from) {
    const std::size_t end = command_end(words, from);
    for (std::size_t at = end; at < words.size(); at = command_end(words, at)) {
        const bool of_line = words[at][0] == launch_end;
        ++at;
        if (of_line && at < words.size() && words[at].size() > 1 && words[at][0] == '-') {
            return Problem{Trouble::invalid, "launch line", '"' + words[at] + "\" on a line of its own",
                           "a backslash at the end of the line before, where a shell ends the command", {}};
        }
        if (server_in(words, at, command_end(words, at))) {
            return Problem{Trouble::invalid, "launch line", "a second server behind the first", "one at a time", {}};
        }
    }
    return std::nullopt;
}

inline Diagnosed<Launch> read_server(const std::vector<std::string>& words, const Server& server) {
    if (const std::string_view device = host_image(words, server); !device.empty()) {
        return Problem{Trouble::invalid, "launch line", "an image that runs on " + std::string{device},
                       "one for the GPUs that are judged", {}};
    }
    LaunchReader reader{*server.syntax, words};
    Diagnosed<Launch> read = reader.read(server.at);
    if (!read) {
        return read;
    }
    if (const std::optional<Problem> rest = behind(words, server.at)) {
        return *rest;
    }
    const Diagnosed<u32> servers = launch_servers(words, server.at);
    if (servers.error) {
        return *servers.error;
    }
    read->servers = *servers;
    take_environment(words, server.at, *read, read.notes);
    take_visible(words, server.at, *read);
    read->version = image_version(words, read->engine, server.at);
    read->tag = read->version.empty() ? image_tag(words, read->engine, server.at) : "";
    return read;
}

/// depth: of shells that the line starts.
inline Diagnosed<Launch> read_launch(std::string_view line, u32 depth) {
    char quote = '\0';
    const std::vector<std::string> words = shell_words(line, quote);
    if (quote != '\0') {
        return Problem{
            Trouble::invalid, "launch line", std::string{"an opened "} + quote, "the same once more, to close it", {}};
    }
    for (std::size_t at = 0; at < words.size(); at = command_end(words, at) + 1) {
        const std::size_t end = command_end(words, at);
        if (const std::size_t inner = shell_text(words, at, end); inner != end && depth < 2) {
            Diagnosed<Launch> read = read_launch(words[inner], depth + 1);
            if (read) {
                take_environment(words, inner, *read, read.notes);
                read->version = read->version.empty() ? image_version(words, read->engine, inner) : read->version;
            }
            return read;
        }
        if (const std::optional<Server> server = server_in(words, at, end)) {
            return read_server(words, *server);
        }
    }
    return Problem{Trouble::invalid,
                   "launch line",
                   line.empty() ? "nothing" : '"' + std::string{line.substr(0, smaller(line.find('\n'), 60))} + '"',
                   "vllm serve, python -m vllm.entrypoints.openai.api_server, python -m sglang.launch_server, sglang "
                   "serve, llama-server or trtllm-serve with its flags, or docker run of an image that starts one",
                   {}};
}

}  // namespace io

/// The deployment of a launch line; "# 2 servers" at its end counts identical ones.
inline Diagnosed<Launch> read_launch(std::string_view line) { return io::read_launch(line, 0); }

}  // namespace kvcap::inline v1
