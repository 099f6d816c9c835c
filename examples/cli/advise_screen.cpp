// SPDX-License-Identifier: MIT
// The answer of `advise` as a screen, and as JSON (kvcap.advise/1).
#include "advise.hpp"
#include "screen.hpp"

#include <cmath>
#include <kvcap/report/advice.hpp>
#include <kvcap/report/json.hpp>

namespace kvcap::cli {

namespace {

u64 tokens_of(const Asked& asked) {
    return (asked.wanted.each.prompt + asked.wanted.each.decoded).value;
}

std::string table_of(const Asked& asked, const Costs& baseline, const std::vector<Advice>& all) {
    using A = report::Align;
    report::Table table{{A::right, A::left, A::right, A::right, A::left}};
    table.row({"", "choice", std::string{report::heading_of(asked.aim)}, "saves", "needs"});
    table.row(
        {"", "as asked", report::price_words(baseline, asked.aim), "", baseline.fits ? "" : "does not fit"});
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Advice& one = all[i];
        const std::string needs{report::words_of(needs_of(one.choice.technique))};
        table.row({std::to_string(i + 1), report::name_of(one.choice),
                   report::price_words(one.costs, asked.aim), report::percent(one.saved),
                   needs + (one.costs.fits ? "" : "; no fit")});
    }
    return table.text();
}

/// How to verify each, and its risk: of the first three that save something, or of all.
std::string how_to(const std::vector<Advice>& all, bool every) {
    std::string out;
    std::size_t said = 0;
    for (const Advice& one : all) {
        if (!every && (said == 3 || one.saved <= 0)) {
            break;
        }
        out += fmt::format("{}\n", report::name_of(one.choice));
        out += paragraph(fmt::format("  verify: {}", report::verify_of(one.choice.technique))) + '\n';
        out += paragraph(fmt::format("  risk: {}", report::risk_words(one.choice.technique))) + '\n';
        ++said;
    }
    return out;
}

/// timed: the GPU's rates are known; without them no time is bounded, and null says so.
void add_costs(report::Json& json, const Costs& costs, bool timed) {
    const auto bound = [&](double value) { return timed ? value : std::nan(""); };
    json.field("fits", costs.fits).field("memory_bytes", costs.memory).field("cache_bytes", costs.cache);
    json.field("most_sequences", costs.most).field("step_seconds", bound(costs.step), 9);
    json.field("first_token_seconds", bound(costs.first), 9).field("tokens_per_second", bound(costs.rate), 1);
    json.field("cache_share_of_reads", costs.cache_share(), 6);
}

void write_choice(report::Json& json, const Advice& one, bool timed) {
    const Technique technique = one.choice.technique;
    json.object().field("technique", report::key_of(technique)).field("size", one.choice.size);
    json.field("name", report::name_of(one.choice)).field("saved", one.saved, 6);
    json.field("needs", report::words_of(needs_of(technique)));
    json.field("risk", report::words_of(risk_of(technique)));
    add_costs(json, one.costs, timed);
    json.field("verify", report::verify_of(technique)).field("risk_words", report::risk_words(technique)).end();
}

}  // namespace

std::string advise_screen(const Advised& advised, const Session& session) {
    const auto& [options, work, machine, asked, baseline, all] = advised;
    std::string out = heading(work.model, fmt::format("TP {}", asked.variant.sharding.tp), session);
    out += paragraph(fmt::format(
               "{} of {} tokens on {} x {}, goal {}; held bytes and bounds at peak, not predictions",
               report::counted(asked.wanted.sequences, "sequence", "sequences"), report::grouped(tokens_of(asked)),
               gpus_of(options), machine.gpu.title, report::name_of(asked.aim))) +
           '\n';
    out += table_of(asked, baseline, all);
    out += session.bold(paragraph(report::verdict_words(all, baseline, asked.aim))) + '\n';
    out += how_to(all, options.explain);
    const bool stacked = !asked.tries.reusing.empty() && kv_heads(work.model.spec) == 0;
    out += stacked
               ? paragraph(
                     "depth reuse on a latent: the savings stack, and so may the losses; measure each apart, "
                     "then both") +
                     '\n'
               : "";
    return out + notes_text(work.notes, false, session);
}

std::string advise_json(const Advised& advised) {
    const auto& [options, work, machine, asked, baseline, all] = advised;
    report::Json json;
    json.object().field("schema", "kvcap.advise/1");
    write_model(json, work.model, options.model.kv_cache_dtype);
    json.field("gpu", machine.gpu.name);
    json.field("gpus", gpus_of(options));
    json.field("tp", asked.variant.sharding.tp).field("goal", report::name_of(asked.aim));
    json.field("tokens", tokens_of(asked));
    json.field("sequences", asked.wanted.sequences);
    const bool timed = unrated(machine).empty();
    json.object("as_asked", report::Layout::flat);
    add_costs(json, baseline, timed);
    json.end().field("verdict", report::verdict_words(all, baseline, asked.aim)).array("choices");
    for (const Advice& one : all) {
        write_choice(json, one, timed);
    }
    return json.end().end().text();
}

}  // namespace kvcap::cli
