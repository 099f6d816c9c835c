// SPDX-License-Identifier: MIT
// kvcap: how many bytes a KV cache takes, what fits, and how far a prompt can be skipped. One file per verb.
#include "help.hpp"

#include <cstdio>
#include <kvcap/io/nearest.hpp>

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

/// What the parser did not understand, with the nearest word that it would have.
int refuse(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& arguments) {
    const std::string asked = arguments.empty() ? "" : arguments.front();
    std::string text = error.what();
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
    std::fprintf(stderr, "kvcap: %s\nTry: kvcap %s--help\n", text.c_str(),
                 verb_known ? (asked + " ").c_str() : "");
    return static_cast<int>(Exit::usage);
}

int run(std::vector<std::string> given) {
    const std::vector<std::string> arguments = spelled_out(std::move(given));
    Session session;
    CLI::App app{"Exact KV-cache memory of language models: bytes held, capacity, prefix reuse.", "kvcap"};
    app.set_version_flag("--version", "kvcap " KVCAP_CLI_VERSION, "The version");
    app.require_subcommand(1);
    app.formatter(std::make_shared<Help>());
    app.footer("Example:\n  kvcap size deepseek-v3 --tokens 32k --tp 8\n\n"
               "Exit codes: 0 ok, 1 does not fit, 2 usage, 3 bad input, 4 unknown architecture.");
    add_verbs(app, session, arguments.empty() ? "" : arguments.front());
    if (arguments.empty()) {
        session.print(first_steps);
        return static_cast<int>(Exit::ok);
    }
    if (const std::string& asked = arguments.front(); !asked.starts_with('-') && !is_verb(asked)) {
        std::vector<std::string_view> names;
        for (const Verb& verb : verbs) {
            names.push_back(verb.name);
        }
        const std::string near = nearest(asked, names);
        session.remark("'" + asked + "' is no verb" + (near.empty() ? "" : " (did you mean " + near + "?)"));
        std::fputs("Try: kvcap --help\n", stderr);
        return static_cast<int>(Exit::usage);
    }
    try {
        app.parse(std::vector<std::string>{arguments.rbegin(), arguments.rend()});
    } catch (const CLI::Success& asked) {
        return app.exit(asked);
    } catch (const CLI::ParseError& error) {
        return refuse(app, error, arguments);
    } catch (const Stop& end) {
        session.progress("");
        session.remark(end.text);
        return static_cast<int>(end.code);
    }
    return static_cast<int>(session.exit);
}

}  // namespace
}  // namespace kvcap::cli

int main(int count, char** arguments) {
    try {
        return kvcap::cli::run({arguments + (count > 0 ? 1 : 0), arguments + count});
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "kvcap: %s\n", failure.what());
        return static_cast<int>(kvcap::cli::Exit::bad_input);
    }
}
