// SPDX-License-Identifier: MIT
// Runs the program as a script does, and measures what it prints.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace program {

struct Ran {
    int code = -1;
    std::string out;
    std::string err;
};

inline std::string text_of(const std::filesystem::path& path) {
    std::ifstream file{path, std::ios::binary};
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/// Only a build without examples has no program; then the test says so.
inline bool known() {
    if (std::getenv("KVCAP_CLI") == nullptr) {
        WARN("KVCAP_CLI is not set: no program to test");
        return false;
    }
    return true;
}

/// A word that a shell takes as it is.
inline std::string quoted(const std::string& word) {
    std::string out = "'";
    for (const char c : word) {
        out += c == '\'' ? "'\\''" : std::string(1, c);
    }
    return out + "'";
}

/// `before` stands in front of the program (a variable, a pipe); `input` is what it reads.
inline Ran run(const std::string& arguments, const std::string& before = {}, const std::string& input = {}) {
    const std::string stem =
        (std::filesystem::temp_directory_path() / ("kvcap-run-" + std::to_string(::getpid()))).string();
    std::ofstream{stem + ".in", std::ios::binary} << input;
    const std::string from = before.find('|') == std::string::npos ? " <" + stem + ".in " : " ";
    const std::string command = before + from + quoted(std::getenv("KVCAP_CLI")) + ' ' + arguments + " >" + stem +
                                ".out 2>" + stem + ".err";
    const int status = std::system(command.c_str());
    const Ran ran{WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of(stem + ".out"), text_of(stem + ".err")};
    for (const char* end : {".in", ".out", ".err"}) {
        std::filesystem::remove(stem + end);
    }
    return ran;
}

/// Columns of the longest line (UTF-8 characters).
inline std::size_t widest(const std::string& text) {
    std::istringstream lines{text};
    std::size_t most = 0;
    for (std::string line; std::getline(lines, line);) {
        most = std::max(most, static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
                            return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
                        })));
    }
    return most;
}

/// The text without line ends and the indents behind them.
inline std::string unfolded(const std::string& text) {
    std::string out;
    for (const char c : text) {
        const bool blank = c == ' ' || c == '\n';
        out += !blank ? std::string(1, c) : !out.empty() && out.back() != ' ' ? " " : "";
    }
    return out;
}

}  // namespace program
