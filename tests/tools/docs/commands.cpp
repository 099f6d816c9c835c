// SPDX-License-Identifier: MIT
// Commands of ```console and ```sh blocks, and of comments <!-- $ kvcap ... --> above generated tables, with
// their output. `...` alone on a line stands for any number of lines, `# exit N` behind a command for its
// exit code, `?` below a command for output that --update is to fill in. A block whose fence names a file is
// that file. Commands without kvcap are only looked at: the files of this repository that they name exist.
#include "page.hpp"

#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <regex>

namespace docs {

namespace {

namespace fs = std::filesystem;

/// A command on lines [at, from); its output is [from, to).
struct Command {
    std::string text;
    std::size_t at = 0;
    std::size_t from = 0;
    std::size_t to = 0;
};

/// A folder to run in, as at the root of the repository, without touching it.
class Desk {
public:
    Desk(const fs::path& source, const fs::path& program)
        : own_{fs::temp_directory_path() / ("kvcap-docs-" + std::to_string(::getpid()))},
          path_{own_ / "my-model"} {
        fs::remove_all(own_);
        fs::create_directories(path_ / ".bin");
        fs::create_symlink(program, path_ / ".bin" / "kvcap");
        for (const char* folder : {"configs", "docs", "examples", "tests", "include"}) {
            fs::create_directory_symlink(source / folder, path_ / folder);
        }
    }
    ~Desk() { fs::remove_all(own_); }
    Desk(const Desk&) = delete;
    Desk& operator=(const Desk&) = delete;

    void write(const std::string& name, const std::vector<std::string>& lines) const {
        std::ofstream file{path_ / name, std::ios::binary};
        for (const std::string& line : lines) {
            file << line << '\n';
        }
    }
    Ran shell(const std::string& command) const {
        const std::string home = "cd '" + path_.string() + "' && PATH=\"$PWD/.bin:$PATH\" HF_HOME=\"$PWD\" ";
        std::string quoted;
        for (const char c : command) {
            quoted += c == '\'' ? std::string{"'\\''"} : std::string{c};
        }
        return run(home + "LC_ALL=C TERM=dumb sh -c '" + quoted + "' 2>&1 < /dev/null");
    }

private:
    fs::path own_;
    fs::path path_;
};

bool asks_kvcap(const std::string& command) {
    static const std::regex word{R"((^|[|;&(] *)kvcap( |$))"};
    return std::regex_search(command, word);
}

/// A command may go on behind a backslash.
Command command_at(const Page& page, std::size_t at, std::size_t end, std::size_t prompt) {
    Command found{page.lines[at].substr(prompt), at, at + 1, end};
    while (!found.text.empty() && found.text.back() == '\\' && found.from < end) {
        found.text += '\n' + page.lines[found.from++];
    }
    return found;
}

std::vector<Command> commands_of_block(const Page& page, const Block& block) {
    std::vector<Command> found;
    const bool console = block.language == "console";
    for (std::size_t i = block.first; i < block.last; ++i) {
        const std::string& line = page.lines[i];
        if (console ? line.rfind("$ ", 0) != 0 : line.empty() || line[0] == '#') {
            continue;
        }
        if (!found.empty()) {
            found.back().to = console ? i : found.back().from;
        }
        found.push_back(command_at(page, i, block.last, console ? 2 : 0));
        i = found.back().from - 1;
    }
    if (!console && !found.empty()) {
        found.back().to = found.back().from;
    }
    return found;
}

/// <!-- $ kvcap ... --> and the lines up to the next blank one.
std::vector<Command> generated(const Page& page) {
    std::vector<Command> found;
    for (std::size_t i = 0; i < page.lines.size(); ++i) {
        const std::string& line = page.lines[i];
        if (line.rfind("<!-- $ ", 0) != 0 || page.fenced(i)) {
            continue;
        }
        std::size_t to = i + 1;
        while (to < page.lines.size() && !page.lines[to].empty()) {
            ++to;
        }
        found.push_back({line.substr(7, line.rfind(" -->") - 7), i, i + 1, to});
    }
    return found;
}

void drop_blank_end(std::vector<std::string>& lines) {
    while (!lines.empty() && lines.back().empty()) {
        lines.pop_back();
    }
}

/// Whether `want`, from w on, can be read as `got`, from g on.
bool same(const std::vector<std::string>& want, std::size_t w, const std::vector<std::string>& got,
          std::size_t g) {
    for (; w < want.size() && want[w] != "..."; ++w, ++g) {
        if (g >= got.size() || want[w] != got[g]) {
            return false;
        }
    }
    if (w == want.size()) {
        return g == got.size();
    }
    for (; g <= got.size(); ++g) {
        if (same(want, w + 1, got, g)) {
            return true;
        }
    }
    return false;
}

int exit_code_wanted(const std::string& command) {
    static const std::regex mark{R"(# exit ([0-9]+) *$)"};
    std::smatch found;
    return std::regex_search(command, found, mark) ? std::stoi(found[1]) : 0;
}

void show_difference(const std::vector<std::string>& want, const std::vector<std::string>& got) {
    std::size_t i = 0;
    while (i < want.size() && i < got.size() && want[i] == got[i]) {
        ++i;
    }
    std::printf("    page:    %s\n    program: %s\n", i < want.size() ? want[i].c_str() : "(nothing more)",
                i < got.size() ? got[i].c_str() : "(nothing more)");
}

/// Files of this repository that a command names.
void check_paths(const Page& page, const Command& command, Findings& findings) {
    static const std::regex path{R"((?:^|[ =])((?:examples|tests|docs|configs|include)/[^ ;|)\\\n]*))"};
    for (std::sregex_iterator at{command.text.begin(), command.text.end(), path}, end; at != end; ++at) {
        const std::string name = (*at)[1];
        if (name.find_first_of("*<{$") == std::string::npos && !fs::exists(findings.source / name)) {
            findings.fail(page, command.at, "there is no " + name);
        }
    }
}

class Runner {
public:
    Runner(Page& page, const Desk& desk, bool update, Findings& findings)
        : page_{page}, desk_{desk}, update_{update}, findings_{findings} {}

    void operator()(const Command& command) {
        if (!asks_kvcap(command.text)) {
            return check_paths(page_, command, findings_);
        }
        static const std::regex into{R"(> *(docs|examples|tests|configs|include)/)"};
        if (std::regex_search(command.text, into)) {
            return findings_.fail(page_, command.at, "a command must not write into the repository");
        }
        ++findings_.commands;
        Ran ran = desk_.shell(command.text);
        if (ran.code != exit_code_wanted(command.text)) {
            findings_.fail(page_, command.at, "exit code " + std::to_string(ran.code) + ": " + command.text);
            for (const std::string& line : ran.lines) {
                std::printf("    %s\n", line.c_str());
            }
            return;
        }
        compare(command, ran.lines);
    }

    void apply() {
        std::sort(edits_.begin(), edits_.end(), [](const Edit& a, const Edit& b) { return a.from > b.from; });
        for (const Edit& edit : edits_) {
            const auto begin = page_.lines.begin();
            page_.lines.erase(begin + static_cast<std::ptrdiff_t>(edit.from),
                              begin + static_cast<std::ptrdiff_t>(edit.to));
            page_.lines.insert(page_.lines.begin() + static_cast<std::ptrdiff_t>(edit.from),
                               edit.lines.begin(), edit.lines.end());
        }
        if (!edits_.empty()) {
            std::ofstream file{page_.path, std::ios::binary};
            for (const std::string& line : page_.lines) {
                file << line << '\n';
            }
        }
    }

private:
    struct Edit {
        std::size_t from = 0;
        std::size_t to = 0;
        std::vector<std::string> lines;
    };

    void compare(const Command& command, std::vector<std::string> got) {
        std::vector<std::string> want{page_.lines.begin() + static_cast<std::ptrdiff_t>(command.from),
                                      page_.lines.begin() + static_cast<std::ptrdiff_t>(command.to)};
        drop_blank_end(want);
        drop_blank_end(got);
        if (want.empty() || same(want, 0, got, 0)) {
            return;
        }
        const bool elided = std::find(want.begin(), want.end(), "...") != want.end();
        if (update_ && !elided) {
            edits_.push_back({command.from, command.from + want.size(), std::move(got)});
            return;
        }
        findings_.fail(page_, command.at, "another output: " + command.text);
        show_difference(want, got);
    }

    Page& page_;
    const Desk& desk_;
    bool update_;
    Findings& findings_;
    std::vector<Edit> edits_;
};

/// Commands outside blocks of commands would never be run.
void check_strays(const Page& page, Findings& findings) {
    for (std::size_t i = 0; i < page.lines.size(); ++i) {
        const std::string& line = page.lines[i];
        if (!page.fenced(i) && (line.rfind("    kvcap ", 0) == 0 || line.rfind("    $ ", 0) == 0)) {
            findings.fail(page, i, "a command outside a ```console block");
        }
    }
    for (const Block& block : page.blocks) {
        const bool known = block.language == "console" || block.language == "sh";
        for (std::size_t i = block.first; i < block.last && !known; ++i) {
            if (page.lines[i].rfind("$ ", 0) == 0 || page.lines[i].rfind("kvcap ", 0) == 0) {
                findings.fail(page, i, "a command in a block that is not ```console");
            }
        }
    }
}

}  // namespace

void check_commands(Page& page, const fs::path& program, bool update, Findings& findings) {
    check_strays(page, findings);
    const Desk desk{findings.source, program};
    Runner runner{page, desk, update, findings};
    for (const Command& command : generated(page)) {
        runner(command);
    }
    for (const Block& block : page.blocks) {
        const bool shell = block.language == "console" || block.language == "sh";
        if (shell && excused(block)) {
            ++findings.excused;
        } else if (shell) {
            for (const Command& command : commands_of_block(page, block)) {
                runner(command);
            }
        } else if (block.about.find('.') != std::string::npos &&
                   block.about.find_first_of("/ ") == block.about.npos) {
            desk.write(block.about, page.text_of(block));
        }
    }
    runner.apply();
}

}  // namespace docs
