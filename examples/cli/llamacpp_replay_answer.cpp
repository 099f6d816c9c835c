// SPDX-License-Identifier: MIT
// What llama-server skipped and why, on the screen and as JSON (schema kvcap.reuse.llamacpp/1).
#include "llamacpp.hpp"
#include "screen.hpp"

#include <kvcap/report/size_json.hpp>

namespace kvcap::cli {

namespace {

std::string reason(const llamacpp::Served& served) {
    if (served.unsound) {
        return "WRONG TOKENS: chunk reuse kept a checkpoint computed over another text";
    }
    std::string source = served.from_ram ? "saved prompt back from RAM" : "";
    if (served.from_checkpoint) {
        return (source.empty() ? "" : source + ", then ") + "back to a checkpoint";
    }
    if (served.cached == 0 && served.common > 0) {
        return fmt::format("{} tokens in common, but the memory no longer reaches back and no checkpoint does",
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

struct Sums {
    u64 tokens = 0;
    u64 skipped = 0;
};

Sums sums_of(const std::vector<ServerRequest>& requests) {
    Sums sums;
    for (const ServerRequest& one : requests) {
        sums.tokens += one.tokens;
        sums.skipped += one.served.cached;
    }
    return sums;
}

void begin(report::Json& json, std::string_view mode, const Model& model) {
    json.object().field("schema", "kvcap.reuse.llamacpp/1").field("mode", mode).field("engine", "llamacpp");
    json.field("rules", "llama.cpp v0.5.0 (2026-09-28)").field("model", full_name(model));
}

std::string ended(report::Json& json, const Model& model, const LlamaModel& llama) {
    std::vector<Note> notes = model.notes;
    notes.insert(notes.end(), llama.notes.begin(), llama.notes.end());
    report::write_notes(json, notes);
    return json.end().text();
}

}  // namespace

std::string replay_words(const std::vector<ServerRequest>& requests) {
    using A = report::Align;
    report::Table table{{A::right, A::right, A::right, A::right, A::right, A::left}};
    table.row({"prompt", "tokens", "skipped", "computed", "slot", ""});
    u64 number = 0;
    for (const ServerRequest& one : requests) {
        table.row({report::grouped(++number), report::grouped(one.tokens), report::grouped(one.served.cached),
                   report::grouped(one.served.processed), fmt::format("{}", one.served.slot), reason(one.served)});
    }
    const Sums sums = sums_of(requests);
    return table.text() + fmt::format("{} of {} prompt tokens skipped\n", report::grouped(sums.skipped),
                                      report::grouped(sums.tokens));
}

std::string rule_json(const ServerRule& rule, const Model& model, const LlamaModel& llama) {
    report::Json json;
    begin(json, "rule", model);
    json.field("keeps_caches", rule.caches).field("window_tokens", rule.window);
    json.field("window_cells", rule.window_cells).field("states", rule.states);
    json.array("checkpoints_before_end_tokens", report::Layout::flat);
    if (rule.early != 0) {
        json.item(rule.early).item(u64{4});
    }
    json.end().field("chunk_reuse", rule.chunks == ServerRule::Chunks::off       ? "off"
                                    : rule.chunks == ServerRule::Chunks::unsound ? "unsound"
                                                                                 : "moved");
    return ended(json, model, llama);
}

std::string replay_json(const std::vector<ServerRequest>& requests, const Model& model, const LlamaModel& llama) {
    report::Json json;
    begin(json, "prompts", model);
    json.array("prompts");
    for (const ServerRequest& one : requests) {
        const llamacpp::Served& served = one.served;
        json.object().field("tokens", one.tokens).field("skipped_tokens", served.cached);
        json.field("common_tokens", served.common).field("computed_tokens", served.processed);
        json.field("slot", served.slot).field("from_ram", served.from_ram);
        json.field("from_checkpoint", served.from_checkpoint).field("unsound", served.unsound);
        json.field("reason", reason(served)).end();
    }
    const Sums sums = sums_of(requests);
    json.end().field("prompt_tokens", sums.tokens).field("skipped_tokens", sums.skipped);
    return ended(json, model, llama);
}

}  // namespace kvcap::cli
