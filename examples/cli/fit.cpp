// SPDX-License-Identifier: MIT
// kvcap fit MODEL: does it fit, by how much, and what is the smallest change if not?
#include "fit.hpp"
#include "options.hpp"
#include "pairs.hpp"

#include <memory>

namespace kvcap::cli {

namespace {

struct FitOptions {
    DeploymentOptions on;
    Output output;
};

Finding find(Deployment& on, const Setting& asked, u32 gpus) {
    Finding found{.on = on, .asked = asked};
    found.non_kv = on.known_non_kv(asked);
    found.weights = on.most_weights(asked);
    found.answer = on.ask(asked, found.non_kv);
    if (found.answer.without_rules()) {
        stop(Exit::unknown_architecture, no_rules_words(found.answer));
    }
    found.room = on.most_non_kv(asked);
    found.fits = found.answer.fits();
    found.most_sequences = on.most_sequences(asked, found.non_kv);
    found.longest_asked = on.mix.each.size() == 1;
    if (found.longest_asked) {
        const u64 context = context_limit(on.formats[0].model);
        found.longest = on.longest(asked, found.non_kv, on.max_len != 0 ? smaller(context, on.max_len) : context);
    }
    if (!found.fits) {
        found.changes = changes_of(on, asked, gpus);
    }
    return found;
}

void run(const FitOptions& options, Session& session) {
    options.output.begin(session);
    const report::Unit unit = options.output.unit_for({u64{1} << 40});
    std::vector<Note> notes;
    Deployment on = options.on.deployment(notes);
    const Setting asked = options.on.setting(on);
    note_idle(on, options.on.memory.gpus, notes);
    note_unused(options.on.sharding, notes);
    const u32 gpus = options.on.memory.gpus != 0 ? options.on.memory.gpus / options.on.sharding.dp : 64;
    Finding found = find(on, asked, gpus);
    note_unused(on, asked, found.answer, notes);
    if (on.memory.non_kv_known) {
        note_unknown_weights(on, asked, notes);
    }
    found.notes = std::move(notes);
    options.output.json ? session.print(fit_json(found)) : print_fit(found, unit, session);
    const bool serves = found.room && (found.fits || !on.memory.non_kv_known);
    session.exit = serves ? Exit::ok : found.answer.fits() ? Exit::does_not_fit : exit_of(found.answer);
}

}  // namespace

void add_fit(CLI::App& app, Session& session) {
    const auto options = std::make_shared<FitOptions>();
    CLI::App* verb =
        app.add_subcommand("fit", "Does it fit on these GPUs, by how much, and what would make it fit");
    options->on.add_to(*verb);
    options->output.add_to(*verb, false);
    verb->footer(
        "Examples:\n"
        "  kvcap fit deepseek-v3 --gpu h200 --gpus 8 --tp 8 --tokens 32k --engine vllm@0.28.0\n"
        "  kvcap fit llama-3.1-8b --gpu l40s --tokens 8k --batch 64 --overhead kaito-2026-06\n"
        "  kvcap fit qwen3-next-80b-a3b --kv-budget 20GiB --tp 2 --lengths p50=2k,p90=8k,p100=32k");
    verb->callback([options, &session] { run(*options, session); });
}

}  // namespace kvcap::cli
