// SPDX-License-Identifier: MIT
// What does llama-server skip of a model's prompts? Its rule, and a file of prompts request by request, in words.
#include "llamacpp.hpp"
#include "reuse_prompts.hpp"
#include "screen.hpp"

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

llamacpp::Layout layout_of(const LlamaModel& model, const llamacpp::Options& context) {
    const Result<llamacpp::Layout> made = llamacpp::layout(model.card, context);
    if (!made) {
        stop(Exit::usage, "llama.cpp refuses: " + refusal_words(made.error()));
    }
    return *made;
}

void check(const report::ReplayRequest& prompt, u64 slot_tokens, const std::string& where) {
    if (prompt.tokens.size() >= slot_tokens) {
        stop(Exit::bad_input, fmt::format("{} has {} tokens, a slot {}", where, report::grouped(prompt.tokens.size()),
                                          report::grouped(slot_tokens)));
    }
    if (!prompt.salt.empty() || !prompt.adapter.empty()) {
        stop(Exit::bad_input, where + ": slots of llama-server know no salt and no adapter");
    }
}

}  // namespace

ServerRule server_rule(const LlamaModel& model, const llamacpp::Options& context) {
    const llamacpp::Layout made = layout_of(model, context);
    ServerRule rule{.caches = !made.caches.empty()};
    for (const llamacpp::CacheShape& cache : made.caches) {
        rule.states = rule.states || llamacpp::is_states(cache.part);
        if (cache.window_type != llamacpp::WindowType::none && !context.swa_full) {
            rule.window = model.card.window;
            rule.window_cells = cache.cells;
        }
    }
    if (rule.states || rule.window != 0) {
        rule.early = smaller(made.resolved.n_batch, 4 + made.resolved.n_ubatch);
    }
    rule.chunks = !made.can_shift ? ServerRule::Chunks::off
                  : rule.states   ? ServerRule::Chunks::unsound
                                  : ServerRule::Chunks::moved;
    return rule;
}

std::vector<ServerRequest> replay_on_server(const LlamaModel& model, const llamacpp::Options& context,
                                            const llamacpp::ReuseOptions& reuse, const std::string& file) {
    const llamacpp::Layout made = layout_of(model, context);
    if (made.memory == llamacpp::Memory::none || made.memory == llamacpp::Memory::dsv4) {
        stop(Exit::unknown_architecture, "no reuse rules are known for this memory");
    }
    llamacpp::ServerReuse server{model.card, made, reuse};
    std::vector<ServerRequest> all;
    for (const report::ReplayRequest& prompt : prompts_of(file)) {
        check(prompt, made.resolved.n_ctx_seq, fmt::format("{}: prompt {}", file, all.size() + 1));
        all.push_back({prompt.tokens.size(), server.serve(token_list(prompt.tokens), token_list(prompt.generated))});
    }
    return all;
}

std::string rule_words(const ServerRule& rule) {
    if (!rule.caches) {
        return "llama-server keeps no cache for this model: nothing is skipped.\n";
    }
    std::string out = paragraph("llama-server skips the common prefix of a prompt and what a slot holds, at most "
                                "all but the last token.") +
                      '\n';
    if (rule.window != 0) {
        out += paragraph(fmt::format("Windows of {}: the slot must still hold more than {} tokens before the end of "
                                     "the prefix (its window cache has {} cells); otherwise it goes back to a "
                                     "checkpoint, or computes everything.",
                                     rule.window, rule.window, report::grouped(rule.window_cells))) +
               '\n';
    }
    out += rule.states ? paragraph("States: only exactly where the slot stands, or at a checkpoint.") + '\n' : "";
    if (rule.early != 0) {
        out += paragraph(fmt::format("Checkpoints are taken {} and 4 tokens before the end of each prompt, and where a "
                                     "prompt is continued.",
                                     rule.early)) +
               '\n';
    }
    const char* chunks = rule.chunks == ServerRule::Chunks::off
                             ? "Chunk reuse (--cache-reuse) is off: positions cannot be shifted."
                         : rule.chunks == ServerRule::Chunks::unsound
                             ? "Chunk reuse (--cache-reuse) is UNSOUND here: it keeps checkpoints of other tokens."
                             : "Chunk reuse (--cache-reuse) can move later chunks to their new places.";
    return out + paragraph(chunks) + '\n';
}

}  // namespace kvcap::cli
