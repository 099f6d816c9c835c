// SPDX-License-Identifier: MIT
// What deployment does an engine's launch line describe? vllm serve, vllm.entrypoints.openai.api_server,
// sglang.launch_server, sglang serve, llama-server, trtllm-serve (and the YAML that its own flags cannot say), and
// docker run of an image that starts one, read into one value. report/launch.hpp writes such lines.
#pragma once

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

/// An engine's own variables before its program: they may say what its flags say. One is read, others are named.
inline void take_environment(const std::vector<std::string>& words, std::size_t end, Launch& launch,
                             std::vector<Note>& notes) {
    for (std::size_t i = 0; i < end; ++i) {
        const std::size_t docker = words[i].starts_with("--env=") ? 6 : words[i].starts_with("-e=") ? 3 : 0;
        const std::string word = words[i].substr(docker);
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

/// "0.11.0" of the image "vllm/vllm-openai:v0.11.0"; empty for tags that are no version.
inline std::string image_version(std::string_view image) {
    const std::string_view tag = image.substr(smaller(image.rfind(':'), image.size() - 1) + 1);
    const std::string_view version = tag.substr(tag.starts_with('v') ? 1 : 0);
    const bool numbers = !version.empty() && version.find_first_not_of("0123456789.") == std::string_view::npos;
    return numbers && std::count(version.begin(), version.end(), '.') == 2 ? std::string{version} : std::string{};
}

/// "# 2 servers" behind a line counts identical ones, 1 to 65,536; another comment says nothing.
inline Diagnosed<u32> launch_servers(const std::vector<std::string>& words, std::size_t from) {
    const auto begin = words.begin() + static_cast<std::ptrdiff_t>(from);
    const auto comment = std::find_if(begin, words.end(), begins_comment);
    const bool apart = comment != words.end() && *comment == "#";
    if (words.end() - comment <= (apart ? 2 : 1) || !comment[apart ? 2 : 1].starts_with("server")) {
        return 1u;
    }
    const std::string count = apart ? comment[1] : comment->substr(1);
    const bool digits = count.find_first_not_of("0123456789") == std::string::npos;
    const u64 servers = digits ? launch_number(count).value_or(0) : 0;
    if (servers < 1 || servers > 65536) {
        return Problem{Trouble::invalid, "launch line, # servers", '"' + count + '"',
                       "a number of identical servers, 1 to 65,536", {}};
    }
    return static_cast<u32>(servers);
}

}  // namespace io

/// The deployment of a launch line; "# 2 servers" at its end counts identical ones.
inline Diagnosed<Launch> read_launch(std::string_view line) {
    char quote = '\0';
    const std::vector<std::string> words = shell_words(line, quote);
    if (quote != '\0') {
        return Problem{
            Trouble::invalid, "launch line", std::string{"an opened "} + quote, "the same once more, to close it", {}};
    }
    for (const io::LaunchSyntax& syntax : io::launch_syntaxes) {
        for (std::size_t at = 0; at < words.size(); ++at) {
            const bool begun = syntax.verb.empty() || (at + 1 < words.size() && words[at + 1] == syntax.verb);
            if (!begun || !syntax.named(words[at])) {
                continue;
            }
            io::LaunchReader reader{syntax, words};
            Diagnosed<Launch> read = reader.read(at);
            const Diagnosed<u32> servers = io::launch_servers(words, at);
            if (read && servers.error) {
                return *servers.error;
            }
            if (read) {
                read->servers = *servers;
                io::take_environment(words, at, *read, read.notes);
                read->version = syntax.image ? io::image_version(words[at]) : "";
            }
            return read;
        }
    }
    return Problem{Trouble::invalid,
                   "launch line",
                   line.empty() ? "nothing" : '"' + std::string{line.substr(0, 60)} + '"',
                   "vllm serve, python -m vllm.entrypoints.openai.api_server, python -m sglang.launch_server, sglang "
                   "serve, llama-server or trtllm-serve with its flags, or docker run of an image that starts one",
                   {}};
}

}  // namespace kvcap::inline v1
