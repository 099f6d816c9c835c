// SPDX-License-Identifier: MIT
// A page of the documents as lines and fenced blocks. The first word behind the fence is the language, the
// rest says what the block is: ```cpp examples/quick/size.cpp, ```json scenario.json, ```console not run:
// why.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace docs {

/// Lines [first, last) between the fences; the opening fence is line first - 1.
struct Block {
    std::string language;
    std::string about;
    std::size_t first = 0;
    std::size_t last = 0;
};

struct Page {
    std::filesystem::path path;
    std::vector<std::string> lines;
    std::vector<Block> blocks;

    std::vector<std::string> text_of(const Block& block) const;
    /// Whether a line lies in a block or is one of its fences.
    bool fenced(std::size_t line) const;
};

/// What a check found; `limit` blocks may say that they are not run or not compiled.
struct Findings {
    std::filesystem::path source;
    int commands = 0;
    int snippets = 0;
    int excused = 0;
    int failures = 0;

    void fail(const Page& page, std::size_t line, const std::string& what);
};

Page read_page(const std::filesystem::path& path);
std::vector<std::string> lines_of(const std::string& text);
std::string text_of_file(const std::filesystem::path& path);
/// "not run: a GPU is needed" and the like
bool excused(const Block& block);

/// Runs the commands of a page; `update` puts their output into the page.
void check_commands(Page& page, const std::filesystem::path& program, bool update, Findings& findings);
/// A block of C++ is a part of the compiled file that it names.
void check_snippets(const Page& page, Findings& findings);
/// Links to files that exist.
void check_links(const Page& page, Findings& findings);
/// `kvcap verb --flag` in running text: the verb and the flags exist.
void check_spans(const Page& page, const std::filesystem::path& program, Findings& findings);
/// A translation has the original's blocks, code spans and numbers.
void check_translation(const Page& original, const Page& translation, Findings& findings);

/// Exit code and what a shell command wrote to both streams.
struct Ran {
    int code = 0;
    std::vector<std::string> lines;
};
Ran run(const std::string& command);

}  // namespace docs
