// SPDX-License-Identifier: MIT
// From arguments to a verb's run: the parser, its refusals with the nearest word, and the exit code.
#include "program.hpp"

#include "help.hpp"
#include "pairs.hpp"

#include <algorithm>
#include <kvcap/io/nearest.hpp>
#include <sstream>

#ifndef KVCAP_CLI_VERSION
#define KVCAP_CLI_VERSION "unversioned"
#endif

namespace kvcap::cli {

#define KVCAP_VERB(name) void add_##name(CLI::App& app, Session& session);
#include "verbs.inc"
#undef KVCAP_VERB

namespace {

struct Verb {
    std::string_view name;
    void (*add)(CLI::App& app, Session& session);
};

/// In the order of the help.
constexpr Verb verbs[] = {
#define KVCAP_VERB(name) {#name, add_##name},
#include "verbs.inc"
#undef KVCAP_VERB
};

constexpr const char* first_steps =
    "kvcap says how many bytes a KV cache takes, exactly. Try:\n"
    "\n"
    "  kvcap size deepseek-v3 --tokens 32k --tp 8    bytes held on each rank\n"
    "  kvcap show '48*window(1024, gqa(8,128))'      any model in one line\n"
    "  kvcap models qwen                             models it knows by name\n"
    "\n"
    "kvcap --help lists every verb; kvcap VERB --help shows one with an example.\n";

bool is_verb(std::string_view name) {
    for (const Verb& verb : verbs) {
        if (verb.name == name) {
            return true;
        }
    }
    return false;
}

/// `help` is --help, `help VERB` is VERB --help, and a first -v or -V is --version.
std::vector<std::string> as_flags(std::vector<std::string> arguments) {
    if (arguments.empty()) {
        return arguments;
    }
    if (arguments.front() == "-v" || arguments.front() == "-V") {
        arguments.front() = "--version";
    } else if (arguments.front() == "help") {
        arguments.front() = "--help";
        if (arguments.size() > 1 && !arguments[1].starts_with('-') && arguments[1] != "help") {
            std::swap(arguments[0], arguments[1]);
        }
    }
    return arguments;
}

/// Only the verb that is asked for is built: a run pays for no other.
void add_verbs(CLI::App& app, Session& session, std::string_view asked) {
    for (const Verb& verb : verbs) {
        if (verb.name == asked) {
            return verb.add(app, session);
        }
    }
    for (const Verb& verb : verbs) {
        verb.add(app, session);
    }
}

std::vector<std::string> known_words(const CLI::App& app, std::string_view asked) {
    std::vector<std::string> words;
    for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
        if (verb->get_name() != asked) {
            words.push_back(verb->get_name());
            continue;
        }
        for (const CLI::Option* option : verb->get_options()) {
            for (const std::string& name : option->get_lnames()) {
                words.push_back("--" + name);
            }
        }
    }
    return words;
}

/// The error in words. What is left over stands in the order in which it was given.
std::string words_of(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& arguments) {
    std::vector<std::string> left = app.remaining(true);
    if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::ExtrasError) || left.empty()) {
        return error.what();
    }
    std::string text = left.size() == 1 ? "The following argument was not expected:"
                                        : "The following arguments were not expected:";
    for (const std::string& argument : arguments) {
        if (const auto at = std::find(left.begin(), left.end(), argument); at != left.end()) {
            left.erase(at);
            text += " " + argument;
        }
    }
    return text;
}

/// What the parser did not understand, with the nearest word that it would have.
int refuse(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& arguments,
           Session& session) {
    const std::string asked = arguments.empty() ? "" : arguments.front();
    std::string text = words_of(app, error, arguments);
    const std::vector<std::string> words = known_words(app, asked);
    for (const std::string& argument : arguments) {
        const bool quoted = text.find(argument) != std::string::npos;
        const std::string near = quoted ? nearest(argument.substr(0, argument.find('=')), words) : "";
        if (!near.empty() && near != argument) {
            text += " (did you mean " + near + "?)";
            break;
        }
    }
    const bool verb_known =
        app.get_subcommands([&](const CLI::App* verb) { return verb->get_name() == asked; }).size();
    session.remark(text);
    session.complain(fmt::format("Try: kvcap {}--help\n", verb_known ? asked + " " : ""));
    return static_cast<int>(Exit::usage);
}

int run_in(Session& session, std::vector<std::string> given) {
    const std::vector<std::string> arguments = as_flags(spelled_out(std::move(given)));
    CLI::App app{"Exact KV-cache memory of language models: bytes held, capacity, prefix reuse.", "kvcap"};
    app.set_version_flag("-v,-V,--version", "kvcap " KVCAP_CLI_VERSION, "The version");
    app.require_subcommand(1);
    app.formatter(std::make_shared<Help>());
    app.footer("Example:\n  kvcap size deepseek-v3 --tokens 32k --tp 8\n\n"
               "Exit codes: 0 ok, 1 does not fit, 2 usage, 3 bad input, 4 unknown architecture.");
    app.parse_complete_callback([&app] {
        for (const CLI::App* verb : app.get_subcommands()) {
            refuse_pairs(*verb);
        }
    });
    add_verbs(app, session, arguments.empty() ? "" : arguments.front());
    if (arguments.empty()) {
        session.print(first_steps);
        return static_cast<int>(Exit::ok);
    }
    if (const std::string& asked = arguments.front(); !asked.starts_with('-') && !is_verb(asked)) {
        std::vector<std::string_view> names{"help"};
        for (const Verb& verb : verbs) {
            names.push_back(verb.name);
        }
        const std::string near = nearest(asked, names);
        session.remark("'" + asked + "' is no verb" + (near.empty() ? "" : " (did you mean " + near + "?)"));
        session.complain("Try: kvcap --help\n");
        return static_cast<int>(Exit::usage);
    }
    try {
        app.parse(std::vector<std::string>{arguments.rbegin(), arguments.rend()});
    } catch (const CLI::Success& asked) {
        std::ostringstream text;
        const int code = app.exit(asked, text, text);
        session.print(text.str());
        return code;
    } catch (const CLI::ParseError& error) {
        return refuse(app, error, arguments, session);
    } catch (const Stop& end) {
        session.progress("");
        session.remark(end.text);
        return static_cast<int>(end.code);
    }
    return static_cast<int>(session.exit);
}

/// What no verb caught ends the run as bad input, never the process.
int run_safely(Session& session, std::vector<std::string> arguments) noexcept {
    try {
        return run_in(session, std::move(arguments));
    } catch (const Stop& end) {
        session.remark(end.text);
        return static_cast<int>(end.code);
    } catch (const std::exception& failure) {
        session.remark(failure.what());
        return static_cast<int>(Exit::bad_input);
    }
}

}  // namespace

int run(std::vector<std::string> arguments) noexcept {
    Session session;
    return run_safely(session, std::move(arguments));
}

Outcome run_caught(std::vector<std::string> arguments) noexcept {
    Outcome outcome;
    Session session;
    session.out = &outcome.out;
    session.err = &outcome.err;
    outcome.code = run_safely(session, std::move(arguments));
    return outcome;
}

}  // namespace kvcap::cli
