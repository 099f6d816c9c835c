// SPDX-License-Identifier: MIT
#include "page.hpp"

#include <sys/wait.h>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace docs {

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in{text};
    for (std::string line; std::getline(in, line);) {
        lines.push_back(line);
    }
    return lines;
}

std::string text_of_file(const std::filesystem::path& path) {
    std::ifstream file{path, std::ios::binary};
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

Page read_page(const std::filesystem::path& path) {
    Page page{path, lines_of(text_of_file(path)), {}};
    bool open = false;
    for (std::size_t i = 0; i < page.lines.size(); ++i) {
        const std::string& line = page.lines[i];
        if (line.rfind("```", 0) != 0) {
            continue;
        }
        if (open) {
            page.blocks.back().last = i;
        } else {
            const std::size_t blank = line.find(' ');
            page.blocks.push_back({line.substr(3, blank == std::string::npos ? blank : blank - 3),
                                   blank == std::string::npos ? "" : line.substr(blank + 1), i + 1,
                                   page.lines.size()});
        }
        open = !open;
    }
    return page;
}

std::vector<std::string> Page::text_of(const Block& block) const {
    return {lines.begin() + static_cast<std::ptrdiff_t>(block.first),
            lines.begin() + static_cast<std::ptrdiff_t>(block.last)};
}

bool Page::fenced(std::size_t line) const {
    for (const Block& block : blocks) {
        if (line + 1 >= block.first && line <= block.last) {
            return true;
        }
    }
    return false;
}

bool excused(const Block& block) {
    return block.about.rfind("not ", 0) == 0 && block.about.find(": ") != std::string::npos;
}

void Findings::fail(const Page& page, std::size_t line, const std::string& what) {
    ++failures;
    std::printf("%s:%zu: %s\n", page.path.lexically_relative(source).c_str(), line + 1, what.c_str());
}

Ran run(const std::string& command) {
    Ran ran{};
    std::FILE* pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) {
        return {.code = -1, .lines = {"cannot start a shell"}};
    }
    std::string text;
    char part[4096];
    for (std::size_t n = 0; (n = std::fread(part, 1, sizeof part, pipe)) > 0;) {
        text.append(part, n);
    }
    const int status = ::pclose(pipe);
    ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    ran.lines = lines_of(text);
    return ran;
}

}  // namespace docs
