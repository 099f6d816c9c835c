// SPDX-License-Identifier: MIT
// kvcap identity: what makes two caches exchangeable, what differs, what a system's own key leaves out, and
// that key.
#include "identity.hpp"

#include "options.hpp"
#include <memory>

namespace kvcap::cli {

namespace {

void run(const IdentityOptions& options, Session& session) {
    options.output.begin(session);
    if (!options.missing.empty()) {
        if (!options.what.empty()) {
            stop(Exit::usage, fmt::format("--missing and {}: it asks about a system's key, not about a cache",
                                          options.what[0]));
        }
        refuse_others(options, "--missing", "it asks about a system's key, not about a cache", "--missing");
        return print_missing_facts(options, session);
    }
    if (options.what.empty()) {
        stop(Exit::usage, "identity: wanted a MODEL, an identity as JSON, or diff A B");
    }
    if (options.what[0] == "diff") {
        return print_identity_diff(options, session);
    }
    if (options.what.size() != 1) {
        stop(Exit::usage,
             fmt::format("identity: '{}' after {} is not understood", options.what[1], options.what[0]));
    }
    const OwnedIdentity id = identity_of(options);
    if (!options.run_config.empty() && options.as != "llm-d") {
        stop(Exit::usage, "--run-config belongs to --as llm-d");
    }
    if (options.verb->get_option("--prefix")->count() != 0 && options.as != "mooncake") {
        stop(Exit::usage, "--prefix belongs to --as mooncake");
    }
    if (!options.as.empty()) {
        return print_literal_key(options, id, session);
    }
    print_identity(options, id, session);
}

}  // namespace

void refuse_others(const IdentityOptions& options, std::string_view what, std::string_view why,
                   std::string_view but) {
    for (const CLI::Option* option : options.verb->get_options()) {
        const std::string flag = option->get_name();
        const bool shows = flag == "--json" || flag == "--unit" || flag == "--color" || flag == "--colour";
        if (option->count() != 0 && flag.starts_with("--") && !shows && flag != but) {
            stop(Exit::usage, fmt::format("{} and {}: {}", flag, what, why));
        }
    }
}

void add_identity(CLI::App& app, Session& session) {
    const auto options = std::make_shared<IdentityOptions>();
    CLI::App* verb =
        app.add_subcommand("identity", "When one cache may be used for another, and what keys leave out");
    verb->add_option("WHAT", options->what, "MODEL, an identity as .json, or: diff A.json B.json")
        ->type_name("");
    verb->add_option("--set", options->facts, "FIELD=VALUE, or FIELD= for none; again for more");
    verb->add_option("--as", options->as, "The literal key: vllm, lmcache, lmcache-server, mooncake, llm-d");
    verb->add_option("--missing", options->missing, "What the key of this system does not tell apart");
    verb->add_option("--ids", options->tokens, "Token ids of the chunk: 1,2,3");
    verb->add_option("--prefix", options->prefix, "Prefix of a mooncake key");
    verb->add_option("--run-config", options->run_config,
                     "With --as llm-d: the run's config.json, for a file name");
    options->sharding.add_to(*verb);
    options->model.add_formats_to(*verb);
    options->output.add_to(*verb, false, false);
    verb->footer(
        "Examples:\n"
        "  kvcap identity deepseek-v3 --tp 8 --set weights_revision=e815299 --set rope='yarn 40'\n"
        "  kvcap identity diff prefill.json decode.json\n"
        "  kvcap identity --missing mooncake\n"
        "  kvcap identity store.json --ids 1,2,3 --set parent= --as lmcache");
    options->verb = verb;
    verb->callback([options, &session] { run(*options, session); });
}

}  // namespace kvcap::cli
