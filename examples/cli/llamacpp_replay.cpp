// SPDX-License-Identifier: MIT
// Prompts through llama-server's caches, request by request, in words.
#include "llamacpp.hpp"
#include "screen.hpp"

#include <kvcap/engine/llamacpp/server_reuse.hpp>
#include <kvcap/io/text_file.hpp>
#include <sstream>

namespace kvcap::cli {

namespace {

struct Prompt {
    llamacpp::TokenList tokens;
    u64 generated = 0;
};

/// Tokens of made-up texts: the n-th of one name is always the same and differs from all others.
class Texts {
public:
    void append(const std::string& piece, const std::string& where, llamacpp::TokenList& to) {
        const std::size_t colon = piece.find(':');
        const std::size_t dash = piece.find('-', colon == std::string::npos ? 0 : colon);
        if (colon == std::string::npos || dash == std::string::npos) {
            stop(Exit::bad_input,
                 fmt::format("{}: {} is no piece of a text; wanted NAME:FROM-TO, such as a:0-600", where,
                             piece));
        }
        const u64 from = count_of(piece.substr(colon + 1, dash - colon - 1), where);
        const u64 until = count_of(piece.substr(dash + 1), where);
        if (from > until || until > most_tokens || to.size() + (until - from) > most_tokens) {
            stop(Exit::bad_input, fmt::format("{}: {}; wanted FROM below TO and at most {} tokens", where,
                                              piece, report::grouped(most_tokens)));
        }
        const std::string name = piece.substr(0, colon);
        const auto known = std::find(names_.begin(), names_.end(), name);
        const auto number = static_cast<u32>(known - names_.begin());
        if (known == names_.end()) {
            names_.push_back(name);
        }
        for (u64 i = from; i < until; ++i) {
            to.push_back(static_cast<u32>(number * most_tokens + i));
        }
    }

private:
    static constexpr u64 most_tokens = u64{1} << 20;
    std::vector<std::string> names_;
};

std::vector<Prompt> prompts_of(const std::string& file) {
    const Diagnosed<std::string> text = read_text_file(file);
    if (!text) {
        stop(*text.error);
    }
    std::vector<Prompt> all;
    Texts texts;
    std::istringstream lines{*text};
    u64 number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        std::istringstream words{line.substr(0, line.find('#'))};
        Prompt prompt;
        const std::string where = fmt::format("{}, line {}", file, number);
        for (std::string word; words >> word;) {
            if (word.front() == '+') {
                prompt.generated = count_of(word.substr(1), where);
            } else {
                texts.append(word, where, prompt.tokens);
            }
        }
        if (!prompt.tokens.empty()) {
            all.push_back(std::move(prompt));
        }
    }
    return all;
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
    for (const Prompt& prompt : prompts_of(file)) {
        if (prompt.tokens.size() >= made->resolved.n_ctx_seq) {
            stop(Exit::bad_input, fmt::format("{}: prompt {} has {} tokens, a slot {}", file, number + 1,
                                              report::grouped(prompt.tokens.size()),
                                              report::grouped(made->resolved.n_ctx_seq)));
        }
        llamacpp::TokenList generated;
        for (u64 i = 0; i < prompt.generated; ++i) {
            generated.push_back(~u32{0} - static_cast<u32>(number * 4096 + i));
        }
        const llamacpp::Served served = server.serve(prompt.tokens, generated);
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
