// SPDX-License-Identifier: MIT
// What needs no program to be run: snippets, links, code spans, translations.
#include "page.hpp"

#include <algorithm>
#include <map>
#include <regex>
#include <set>

namespace docs {

namespace {

namespace fs = std::filesystem;

std::string trimmed(const std::string& line, std::size_t indent) {
    return line.find_first_not_of(' ') == std::string::npos ? "" : line.substr(std::min(indent, line.size()));
}

/// The lines without their common indentation.
std::vector<std::string> flush_left(std::vector<std::string> lines) {
    std::size_t indent = std::string::npos;
    for (const std::string& line : lines) {
        const std::size_t first = line.find_first_not_of(' ');
        indent = first == std::string::npos ? indent : std::min(indent, first);
    }
    for (std::string& line : lines) {
        line = trimmed(line, indent);
    }
    return lines;
}

bool part_of(const std::vector<std::string>& snippet, const std::vector<std::string>& file) {
    const std::vector<std::string> want = flush_left(snippet);
    for (std::size_t at = 0; at + want.size() <= file.size(); ++at) {
        const auto from = file.begin() + static_cast<std::ptrdiff_t>(at);
        if (flush_left({from, from + static_cast<std::ptrdiff_t>(want.size())}) == want) {
            return true;
        }
    }
    return false;
}

/// Every match of a pattern outside fences, with its line.
std::vector<std::pair<std::size_t, std::string>> matches(const Page& page, const std::regex& pattern) {
    std::vector<std::pair<std::size_t, std::string>> found;
    for (std::size_t i = 0; i < page.lines.size(); ++i) {
        const std::string& line = page.lines[i];
        for (std::sregex_iterator at{line.begin(), line.end(), pattern}, end; at != end && !page.fenced(i);
             ++at) {
            found.emplace_back(i, (*at)[1]);
        }
    }
    return found;
}

const std::regex code_span{"`([^`]+)`"};

std::multiset<std::string> spans_of(const Page& page) {
    std::multiset<std::string> spans;
    for (const auto& [line, span] : matches(page, code_span)) {
        spans.insert(span);
    }
    return spans;
}

/// Numbers of the running text; separators at their ends belong to the sentence.
std::multiset<std::string> numbers_of(const Page& page) {
    static const std::regex number{"([0-9][0-9,.]*)"};
    std::multiset<std::string> numbers;
    for (auto [line, text] : matches(page, number)) {
        text.erase(text.find_last_not_of(",.") + 1);
        numbers.insert(text);
    }
    return numbers;
}

void check_same(const char* what, const std::multiset<std::string>& original,
                const std::multiset<std::string>& translated, const Page& page, Findings& findings) {
    std::vector<std::string> odd;
    std::set_symmetric_difference(original.begin(), original.end(), translated.begin(), translated.end(),
                                  std::back_inserter(odd));
    for (const std::string& item : odd) {
        findings.fail(page, 0,
                      std::string{what} + " " + item + " stands in the " +
                          (original.count(item) > translated.count(item) ? "original" : "translation") +
                          " only, or more often there");
    }
}

std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) {
        text += line + '\n';
    }
    return text;
}

/// The first flag of `usage` that the help of its verb does not know; empty when there is none.
std::string unknown_word(const std::string& usage, const fs::path& program,
                         std::map<std::string, std::string>& helps) {
    static const std::regex flag{R"((?:^| )(--[a-z][a-z-]*))"};
    std::smatch verb;
    static const std::regex start{"^kvcap ([a-z]+)"};
    if (!std::regex_search(usage, verb, start)) {
        return "";
    }
    if (helps.count(verb[1]) == 0) {
        const Ran ran = run("'" + program.string() + "' " + verb[1].str() + " --help 2>&1");
        helps[verb[1]] = ran.code == 0 ? joined(ran.lines) : "";
    }
    const std::string& help = helps[verb[1]];
    if (help.empty()) {
        return verb[1];
    }
    for (std::sregex_iterator at{usage.begin(), usage.end(), flag}, end; at != end; ++at) {
        if (!std::regex_search(help, std::regex{(*at)[1].str() + "($|[^a-z-])"})) {
            return (*at)[1];
        }
    }
    return "";
}

}  // namespace

void check_snippets(const Page& page, Findings& findings) {
    for (const Block& block : page.blocks) {
        if (block.language != "cpp") {
            continue;
        }
        if (excused(block)) {
            ++findings.excused;
            continue;
        }
        ++findings.snippets;
        const fs::path file = findings.source / block.about;
        if (block.about.empty() || !fs::is_regular_file(file)) {
            findings.fail(page, block.first - 1, "this C++ names no file it is from: ```cpp PATH");
        } else if (!part_of(page.text_of(block), lines_of(text_of_file(file)))) {
            findings.fail(page, block.first - 1, "these lines do not stand in " + block.about);
        }
    }
}

void check_links(const Page& page, Findings& findings) {
    static const std::regex link{R"(\]\(([^)#: ]+)(?:#[^)]*)?\))"};
    for (const auto& [line, to] : matches(page, link)) {
        if (!fs::exists(page.path.parent_path() / to)) {
            findings.fail(page, line, "a link to nothing: " + to);
        }
    }
}

void check_spans(const Page& page, const fs::path& program, Findings& findings) {
    static std::map<std::string, std::string> helps;
    for (const auto& [line, span] : matches(page, code_span)) {
        const std::string unknown = unknown_word(span, program, helps);
        if (!unknown.empty()) {
            findings.fail(page, line, "kvcap knows no " + unknown + ": " + span);
        }
    }
}

void check_translation(const Page& original, const Page& translation, Findings& findings) {
    std::vector<std::string> blocks[2];
    const Page* pages[] = {&original, &translation};
    for (int side = 0; side < 2; ++side) {
        for (const Block& block : pages[side]->blocks) {
            blocks[side].push_back(block.language + ' ' + block.about + '\n' +
                                   joined(pages[side]->text_of(block)));
        }
    }
    if (blocks[0] != blocks[1]) {
        findings.fail(translation, 0, "the fenced blocks are not those of the original");
    }
    check_same("`code`", spans_of(original), spans_of(translation), translation, findings);
    check_same("number", numbers_of(original), numbers_of(translation), translation, findings);
}

}  // namespace docs
