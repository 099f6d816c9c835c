// SPDX-License-Identifier: MIT
// Prompts through llama-server's caches, request by request, in words.
#include "llamacpp.hpp"
#include "reuse_prompts.hpp"
#include "screen.hpp"

#include <kvcap/engine/llamacpp/server_reuse.hpp>

namespace kvcap::cli {

namespace {

llamacpp::TokenList token_list(const std::vector<u64>& tokens) {
    llamacpp::TokenList list;
    list.reserve(tokens.size());
    for (const u64 token : tokens) {
        list.push_back(static_cast<u32>(token));
    }
    return list;
}

std::string reason(const llamacpp::Served& served) {
    if (served.unsound) {
        return "WRONG TOKENS: chunk reuse kept a checkpoint computed over another text";
    }
    const std::string source = served.from_ram ? "saved prompt back from RAM" : "";
    if (served.from_checkpoint) {
        return (source.empty() ? "" : source + ", then ") + "back to a checkpoint";
    }
    if (served.cached == 0 && served.common > 0) {
        return fmt::format(
            "{} tokens in common, but the memory no longer reaches back and no checkpoint does",
            report::grouped(served.common));
    }
    if (!source.empty()) {
        return source;
    }
    if (served.cached > served.common) {
        return "common prefix, and chunks moved to their new places";
    }
    return served.cached == 0 ? "nothing in common" : "common prefix";
}

}  // namespace

std::string reuse_rule_words(const LlamaModel& model, const llamacpp::Options& context) {
    const Result<llamacpp::Layout> made = llamacpp::layout(model.card, context);
    if (!made) {
        stop(Exit::usage, "llama.cpp refuses: " + refusal_words(made.error()));
    }
    bool states = false;
    bool windows = false;
    for (const llamacpp::CacheShape& cache : made->caches) {
        states = states || llamacpp::is_states(cache.part);
        windows = windows || cache.window_type != llamacpp::WindowType::none;
    }
    if (made->caches.empty()) {
        return "llama-server keeps no cache for this model: nothing is skipped.\n";
    }
    std::string out =
        paragraph(
            "llama-server skips the common prefix of a prompt and what a slot holds, at most all but "
            "the last token.") +
        '\n';
    if (windows && !context.swa_full) {
        out += paragraph(fmt::format(
                   "Windows of {}: the slot must still hold more than {} tokens before the end of the "
                   "prefix (its window cache has {} cells); otherwise it goes back to a checkpoint, or "
                   "computes everything.",
                   model.card.window, model.card.window, report::grouped(made->caches[1].cells))) +
               '\n';
    }
    if (states) {
        out += paragraph("States: only exactly where the slot stands, or at a checkpoint.") + '\n';
    }
    if (states || (windows && !context.swa_full)) {
        const u64 early = smaller(made->resolved.n_batch, 4 + made->resolved.n_ubatch);
        out += paragraph(fmt::format(
                   "Checkpoints are taken {} and 4 tokens before the end of each prompt, and where a "
                   "prompt is continued.",
                   early)) +
               '\n';
    }
    const char* chunks =
        !made->can_shift ? "Chunk reuse (--cache-reuse) is off: positions cannot be shifted."
        : states ? "Chunk reuse (--cache-reuse) is UNSOUND here: it keeps checkpoints of other tokens."
                 : "Chunk reuse (--cache-reuse) can move later chunks to their new places.";
    return out + paragraph(chunks) + '\n';
}

std::string replay_words(const LlamaModel& model, const llamacpp::Options& context,
                         const llamacpp::ReuseOptions& reuse, const std::string& file) {
    const Result<llamacpp::Layout> made = llamacpp::layout(model.card, context);
    if (!made) {
        stop(Exit::usage, "llama.cpp refuses: " + refusal_words(made.error()));
    }
    if (made->memory == llamacpp::Memory::none || made->memory == llamacpp::Memory::dsv4) {
        stop(Exit::unknown_architecture, "no reuse rules are known for this memory");
    }
    llamacpp::ServerReuse server{model.card, *made, reuse};
    using A = report::Align;
    report::Table table{{A::right, A::right, A::right, A::right, A::right, A::left}};
    table.row({"prompt", "tokens", "skipped", "computed", "slot", ""});
    u64 number = 0;
    u64 skipped = 0;
    u64 all = 0;
    for (const report::ReplayRequest& prompt : prompts_of(file)) {
        if (prompt.tokens.size() >= made->resolved.n_ctx_seq) {
            stop(Exit::bad_input, fmt::format("{}: prompt {} has {} tokens, a slot {}", file, number + 1,
                                              report::grouped(prompt.tokens.size()),
                                              report::grouped(made->resolved.n_ctx_seq)));
        }
        if (!prompt.salt.empty() || !prompt.adapter.empty()) {
            stop(Exit::bad_input,
                 fmt::format("{}: prompt {}: slots of llama-server know no salt and no adapter", file,
                             number + 1));
        }
        const llamacpp::Served served = server.serve(token_list(prompt.tokens), token_list(prompt.generated));
        skipped += served.cached;
        all += prompt.tokens.size();
        table.row({report::grouped(++number), report::grouped(prompt.tokens.size()),
                   report::grouped(served.cached), report::grouped(served.processed),
                   fmt::format("{}", served.slot), reason(served)});
    }
    return table.text() +
           fmt::format("{} of {} prompt tokens skipped\n", report::grouped(skipped), report::grouped(all));
}

}  // namespace kvcap::cli
