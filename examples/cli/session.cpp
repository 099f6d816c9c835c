// SPDX-License-Identifier: MIT
// Output, colours and the end of a run.
#include "screen.hpp"

#include "options.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace kvcap::cli {

namespace {

bool set(const char* variable) {
    const char* value = std::getenv(variable);
    return value != nullptr && *value != '\0';
}

bool equals(const char* variable, std::string_view wanted) {
    const char* value = std::getenv(variable);
    return value != nullptr && value == wanted;
}

/// NO_COLOR wins, then CLICOLOR_FORCE, then CLICOLOR=0, TERM=dumb, then whether stdout is a terminal.
bool colour_by_environment() {
    if (set("NO_COLOR")) {
        return false;
    }
    if (set("CLICOLOR_FORCE") && !equals("CLICOLOR_FORCE", "0")) {
        return true;
    }
    return !equals("CLICOLOR", "0") && !equals("TERM", "dumb") && isatty(STDOUT_FILENO) == 1;
}

std::string styled(bool colour, const char* style, std::string_view text) {
    return colour ? fmt::format("\x1b[{}m{}\x1b[0m", style, text) : std::string{text};
}

}  // namespace

Exit exit_of(Errc code) {
    switch (code) {
        case Errc::no_memory:
        case Errc::does_not_fit:
        case Errc::no_state_slots:
        case Errc::too_few_state_slots:
        case Errc::pool_of_no_tokens:
        case Errc::window_pool_too_small: return Exit::does_not_fit;
        case Errc::unsupported:
        case Errc::unknown_version: return Exit::unknown_architecture;
        default: return Exit::usage;
    }
}

void stop(Exit code, std::string text) {
    throw Stop{code, std::move(text)};
}

void stop(const Problem& problem) {
    stop(problem.trouble == Trouble::unknown ? Exit::unknown_architecture : Exit::bad_input, problem.text());
}

void stop(const Error& error, std::string_view about) {
    const std::string sentence = report::text_of(error);
    stop(exit_of(error.code), about.empty() ? sentence : fmt::format("{}: {}", about, sentence));
}

void Session::print(std::string_view text) {
    if (out != nullptr) {
        out->append(text);
        return;
    }
    const bool written =
        std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    if (!written && errno != EPIPE) {
        stop(Exit::bad_input, fmt::format("cannot write the output: {}", std::strerror(errno)));
    }
}

std::string printable(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const unsigned char byte = static_cast<unsigned char>(c);
        const bool steers = (byte < 0x20 && c != '\n') || byte == 0x7f;
        out += steers ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
    }
    return out;
}

void Session::remark(std::string_view text) {
    const std::string line = "kvcap: " + printable(text);
    const bool terminal = err == nullptr && isatty(STDERR_FILENO) == 1;
    complain((terminal ? broken_paragraph(line) : line) + '\n');
}

void Session::complain(std::string_view text) {
    if (err != nullptr) {
        err->append(text);
        return;
    }
    std::fwrite(text.data(), 1, text.size(), stderr);
}

void Session::progress(std::string_view text) {
    if (err == nullptr && isatty(STDERR_FILENO) == 1) {
        std::fprintf(stderr, "\r\x1b[K%.*s", static_cast<int>(text.size()), text.data());
        std::fflush(stderr);
    }
}

std::string Session::bold(std::string_view text) const {
    return styled(colour, "1", text);
}

std::string Session::dim(std::string_view text) const {
    return styled(colour, "2", text);
}

std::string Session::warning(std::string_view text) const {
    return styled(colour, "33", text);
}

void Output::add_to(CLI::App& verb, bool with_csv, bool with_unit) {
    verb.add_flag("--json", json, "One JSON object; bytes are integers")->group("Output");
    if (with_csv) {
        verb.add_flag("--csv", csv, "Comma-separated values with a heading")->group("Output");
    }
    if (with_unit) {
        verb.add_option("--unit", unit, "GiB, MiB, KiB, B, GB, MB ...")->group("Output")->type_name("UNIT");
    }
    verb.add_option("--color,--colour", color, "auto, always or never")->group("Output")->type_name("WHEN");
}

void Output::begin(Session& session) const {
    if (color != "auto" && color != "always" && color != "never") {
        stop(Exit::usage, fmt::format("--color: '{}'; wanted auto, always or never", color));
    }
    if (json && csv) {
        stop(Exit::usage, "--json and --csv; wanted one of them");
    }
    if (unit != "auto" && report::unit_named(unit) == nullptr) {
        stop(Exit::usage, fmt::format("--unit: '{}'; wanted B, KiB, MiB, GiB, TiB, PiB, kB, MB, GB or TB", unit));
    }
    session.colour = color == "always" || (color == "auto" && session.out == nullptr && colour_by_environment());
}

report::Unit Output::unit_for(Bytes largest_shown) const {
    const report::Unit* named = report::unit_named(unit);
    return named != nullptr ? *named : report::unit_for(largest_shown);
}

}  // namespace kvcap::cli
