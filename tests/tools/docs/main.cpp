// SPDX-License-Identifier: MIT
// kvcap-docs [--update] PROGRAM SOURCE [PAGE...]: every command in the documents is run and gives the output
// that stands below it; every piece of C++ is part of a compiled file; links lead somewhere; the Chinese
// README says what the English one says.
#include "page.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>

namespace {

namespace fs = std::filesystem;

/// Blocks that may be marked as not run or not compiled, in all pages together.
constexpr int most_excused = 8;

std::vector<fs::path> all_pages(const fs::path& source) {
    std::vector<fs::path> pages{source / "README.md", source / "configs" / "README.md"};
    for (const char* folder : {"docs", "examples", "tests"}) {
        for (const auto& entry : fs::recursive_directory_iterator{source / folder}) {
            const bool foreign = entry.path().string().find("node_modules") != std::string::npos;
            if (entry.path().extension() == ".md" && !foreign) {
                pages.push_back(entry.path());
            }
        }
    }
    std::sort(pages.begin(), pages.end());
    return pages;
}

void check(const fs::path& path, const fs::path& program, bool update, docs::Findings& findings) {
    docs::Page page = docs::read_page(path);
    if (page.lines.empty()) {
        return findings.fail(page, 0, "an empty page, or none");
    }
    if (!page.blocks.empty() && page.blocks.back().last == page.lines.size()) {
        return findings.fail(page, page.blocks.back().first - 1, "this fence is not closed");
    }
    docs::check_commands(page, program, update, findings);
    page = docs::read_page(path);  // the same, or with new output
    docs::check_snippets(page, findings);
    docs::check_links(page, findings);
    docs::check_spans(page, program, findings);
    if (path.filename() == "README.zh.md") {
        docs::check_translation(docs::read_page(findings.source / "README.md"), page, findings);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const bool update = argc > 1 && std::string_view{argv[1]} == "--update";
    const int first = update ? 2 : 1;
    if (argc < first + 2) {
        std::puts("usage: kvcap-docs [--update] PROGRAM SOURCE [PAGE...]");
        return 2;
    }
    const fs::path program = fs::absolute(argv[first]);
    docs::Findings findings{.source = fs::canonical(argv[first + 1])};
    std::vector<fs::path> pages;
    for (int i = first + 2; i < argc; ++i) {
        pages.push_back(fs::absolute(argv[i]));
    }
    pages = pages.empty() ? all_pages(findings.source) : pages;
    for (const fs::path& page : pages) {
        check(page, program, update, findings);
    }
    if (findings.excused > most_excused) {
        std::printf("%d blocks are not run; at most %d may be\n", findings.excused, most_excused);
        ++findings.failures;
    }
    std::printf("%zu pages: %d commands run, %d snippets compared, %d blocks not run, %d failures\n",
                pages.size(), findings.commands, findings.snippets, findings.excused, findings.failures);
    const bool ran = findings.commands > 0 || argc > first + 2;  // all pages without a command: a broken test
    return findings.failures == 0 && ran ? 0 : 1;
}
