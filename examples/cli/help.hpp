// SPDX-License-Identifier: MIT
// Help in 80 columns: descriptions are wrapped beside their flags, examples are continued with a backslash.
#pragma once

#include "cli.hpp"
#include "options.hpp"

namespace kvcap::cli {

class Help : public CLI::Formatter {
public:
    static constexpr std::size_t columns = 80;
    static constexpr std::size_t flags = 38;
    static constexpr std::size_t names = 64;  ///< of an option, in one line beside the margin and the default

    Help() { column_width(flags); }

    /// Many names go on in the next line, cut behind a comma.
    std::string make_option_name(const CLI::Option* option, bool positional) const override {
        std::string out;
        std::string line = CLI::Formatter::make_option_name(option, positional);
        while (line.size() > names) {
            const std::size_t cut = line.rfind(',', names - 1);
            if (cut == std::string::npos) {
                break;
            }
            out += line.substr(0, cut + 1) + "\n  ";
            line = line.substr(cut + 1);
        }
        return out + line;
    }

    std::string make_option_desc(const CLI::Option* option) const override {
        return wrapped(option->get_description());
    }

    std::string make_subcommand(const CLI::App* verb) const override {
        std::ostringstream out;
        CLI::detail::format_help(out, verb->get_display_name(true), wrapped(verb->get_description()), flags);
        return out.str();
    }

    std::string make_footer(const CLI::App* app) const override {
        std::istringstream lines{app->get_footer()};
        std::string out;
        for (std::string line; std::getline(lines, line);) {
            out += continued(line) + '\n';
        }
        return out;
    }

private:
    /// Lines as wide as the room beside the flags.
    static std::string wrapped(const std::string& text) {
        std::string out;
        std::size_t line = 0;
        std::istringstream words{text};
        for (std::string word; words >> word;) {
            const bool fits = line == 0 || line + 1 + word.size() <= columns - flags;
            out += line == 0 ? "" : fits ? " " : "\n";
            line = fits && line != 0 ? line + 1 + word.size() : word.size();
            out += word;
        }
        return out;
    }

    /// A command goes on behind a backslash, cut before a flag; any other text is left alone.
    static std::string continued(std::string line) {
        std::string out;
        while (line.size() > columns) {
            const std::size_t cut = line.rfind(" --", columns - 2);
            if (cut == std::string::npos || line.find_first_not_of(' ') > cut) {
                break;
            }
            out += line.substr(0, cut) + " \\\n";
            line = "     " + line.substr(cut);
        }
        return out + line;
    }
};

}  // namespace kvcap::cli
