// SPDX-License-Identifier: MIT
// The answer of `fit` as a screen, and as JSON (kvcap.fit/1).
#include "fit.hpp"
#include "margin.hpp"
#include "screen.hpp"

#include <cmath>
#include <kvcap/io/spec_line.hpp>
#include <kvcap/report.hpp>

namespace kvcap::cli {

namespace {

/// Nothing tells the weights, and nothing that is counted as the rest can hold them.
bool weights_open(const Finding& found) {
    return !found.on.memory.by_budget && found.on.memory.non_kv_known && found.weights.how.empty();
}

std::string weights_words(const Finding& found) {
    if (found.on.memory.by_budget) {
        return "";
    }
    if (found.weights.how.empty()) {
        return found.on.memory.non_kv_known ? "weights unknown" : "weights unknown: they count as non-KV memory";
    }
    return fmt::format("weights {} a rank: {}", report::amount(found.weights.bytes), found.weights.how);
}

/// The memory with which it would fit, weights and all; empty when no amount helps.
std::string lacking_words(const Finding& found) {
    for (const Change& change : found.changes) {
        if (change.kind == ChangeKind::more_memory) {
            return more_words(found.on.memory, report::amount(change.setting.extra_memory));
        }
    }
    return {};
}

/// A shortage that no budget of the GPU that is named would end: ", 5.000 GiB lacking in the pool".
std::string beyond_gpu(const Finding& found) {
    const Memory& memory = found.on.memory;
    const bool bounded = memory.by_budget && memory.total.value != 0 && lacking_words(found).empty();
    return bounded && margin_of(found.answer).value != 0
               ? fmt::format(", {}; a GPU has no more beside the weights", margin_words(found.answer))
               : "";
}

/// The most that the weights may be beside all else, of which a part may grow with them.
Bytes most_weights_of(const Finding& found) {
    const u64 room = found.room->value;
    return {largest(room, [&](u64 weights) {
        return weights <= room && found.on.memory.non_kv(Bytes{weights}).value <= room - weights;
    })};
}

/// The verdict's sentence.
std::string verdict_words(const Finding& found) {
    const bool budget = found.on.memory.by_budget;
    if (!found.room) {
        const std::string with = budget ? "" : fmt::format("   [{}]", weights_words(found));
        const std::string lacking = lacking_words(found);
        const std::string& unfit = found.answer.unfit;
        const std::string why = !found.answer.runs() ? "DOES NOT START: " + found.answer.refusal
                                : unfit.empty()      ? "DOES NOT FIT" + beyond_gpu(found)
                                                     : "DOES NOT FIT as asked: " + unfit;
        return why + (lacking.empty() ? "" : "; " + lacking + " would do") + with;
    }
    if (budget) {
        return fmt::format("FITS with {} to spare on each rank", report::amount_and_exact(*found.room));
    }
    if (!found.on.memory.non_kv_known) {
        return fmt::format("FITS if non-KV memory is at most {} a GPU   [{}]", report::amount(*found.room),
                           weights_words(found));
    }
    const std::string known =
        fmt::format("non-KV memory {}{}", report::amount(found.non_kv),
                    found.on.memory.assumption.empty() ? "" : " assumed: " + found.on.memory.assumption);
    if (!found.fits) {
        const std::string refusal = found.answer.runs() ? "FIT:" : "START: " + found.answer.refusal + ";";
        return fmt::format("DOES NOT {} non-KV memory takes {} too much on a rank   [{}; {}]", refusal,
                           report::amount_and_exact(minus(found.non_kv, *found.room).value_or({})),
                           weights_words(found), known);
    }
    const std::string spare = report::amount_and_exact(minus(*found.room, found.non_kv).value_or({}));
    const std::string verdict =
        weights_open(found) ? fmt::format("FITS if weights are at most {} a rank",
                                          report::amount_and_exact(most_weights_of(found)))
                            : fmt::format("FITS with {} to spare on each rank", spare);
    return fmt::format("{}   [{}; {}]", verdict, weights_words(found), known);
}

std::string capacity_words(const Finding& found) {
    std::string out;
    const bool bound = weights_open(found) || (!found.on.memory.non_kv_known && !found.on.memory.by_budget);
    const char* upto = bound ? "at most (if nothing else took memory) " : "";
    const std::string of =
        found.on.mix.each.size() > 1
            ? fmt::format("of this mix ({} tokens on average)",
                          report::grouped(static_cast<u64>(std::llround(found.on.mix.average_tokens()))))
            : fmt::format("of {} tokens", report::grouped(found.asked.tokens.value));
    out += paragraph(fmt::format("  {}{} {} at once", upto,
                                 report::counted(found.most_sequences, "request", "requests"), of)) + '\n';
    if (found.longest != 0) {
        const std::string_view by = bound_of(found.longest, found.on.formats[0].model);
        out += paragraph(fmt::format("  {}{} tokens{} for {}", upto, report::grouped(found.longest),
                                     found.longest == found.on.max_len ? " (as long as --engine-max-len allows)"
                                     : by == "model"  ? " (as long as the model allows)"
                                     : by == "search" ? " (the model states no context; no longer ones are tried)"
                                                      : "",
                                     report::counted(found.asked.sequences, "request", "requests"))) + '\n';
    }
    return out;
}

/// What a request fills of a rank's caches, and one more token adds.
struct Filled {
    Bytes held{};
    Bytes rate{};
};

/// llama.cpp's tensor ranks have slices of rows, which the plan knows and no split into heads.
Filled of_sliced_rows(const PoolPlan& plan, const Lengths& lengths) {
    Filled filled{};
    for (const GroupClass& kind : plan.classes) {
        const Retention& kept = kind.retention;
        const bool grows = kept.keep == Keep::everything ||
                           (kept.keep == Keep::window && kept.span.value > (lengths.prompt + lengths.decoded).value);
        filled.held += kind.page * kind.retention.slots(lengths).value;
        filled.rate += grows ? Bytes{kind.page.value / kind.retention.stride} : Bytes{};
    }
    return filled;
}

Filled of_fullest_rank(const ModelSpec& model, const Lengths& lengths, const Sharding& split) {
    Filled filled{};
    const ModelSpec growing = growing_to(model, (lengths.prompt + lengths.decoded).value);
    for (u32 stage = 0; stage < split.pp; ++stage) {
        filled.held = std::max(filled.held, value_of(fold(model, lengths, split, {.stage = stage})).per_sequence());
        filled.rate = std::max(filled.rate, value_of(bytes_per_token(growing, split, stage)));
    }
    return filled;
}

/// llama.cpp's -sm tensor: each byte lies on one device, whatever the heads.
bool slices_rows(const Finding& found) {
    return found.on.face->name == "llamacpp" && found.asked.sharding.tp > 1 && !found.asked.attention_dp;
}

std::string held_table(const Finding& found, report::Unit unit) {
    const Model& model = found.on.formats[0].model;
    Sharding split = found.asked.sharding;
    split.tp = found.asked.attention_dp ? 1 : split.tp;
    const Lengths lengths = found.on.mix.each[0];
    const bool runs = found.answer.runs();
    const auto [held, rate] =
        runs && slices_rows(found) ? of_sliced_rows(found.answer.plan, lengths)
                                   : of_fullest_rank(model.spec, lengths, split);
    using A = report::Align;
    report::Table table{{A::left, A::right, A::right}};
    table.row({split.pp > 1 ? "the fullest rank" : "each rank", "held", "reserved"});
    table.row({"one more token", report::exact(rate), "-"});
    table.row(
        {fmt::format("one request, {} tokens", report::grouped((lengths.prompt + lengths.decoded).value)),
         report::amount(held, unit), runs ? report::amount(found.answer.reserved_request, unit) : "-"});
    std::string out = table.text();
    if (runs && found.answer.unit != "bytes") {
        out += paragraph("  reserved: " + units_words(found.answer)) + '\n';
    }
    return out;
}

std::string textbook_words(const Finding& found, const Session& session) {
    const Model& model = found.on.formats[0].model;
    Sharding split = found.asked.sharding;
    split.tp = slices_rows(found) ? 1 : split.tp;
    report::SizeQuestion asked{.sharding = split, .tp = split.tp, .points = {}};
    asked.points.push_back({found.asked.tokens.value, 1, found.on.mix.each[0]});
    const Result<report::SizeAnswer> size = report::answer(model.spec, asked);
    if (!size) {
        return {};
    }
    const auto verdict = report::textbook_verdict(model.read, model.spec, *size);
    return verdict ? session.warning(paragraph(report::text_of(*verdict, found.asked.tokens.value))) + '\n'
                   : "";
}

void write_setting(report::Json& json, const Setting& setting, const Deployment& on) {
    json.field("tokens", setting.tokens).field("sequences", setting.sequences);
    json.field("kv_cache_dtype", on.formats[setting.kv_format].model.dtype);
    json.object("sharding", report::Layout::flat)
        .field("tp", setting.sharding.tp)
        .field("pp", setting.sharding.pp);
    json.field("cp", setting.sharding.cp)
        .field("dp", on.dp)
        .field("dp_attention", setting.attention_dp)
        .field("cp_among_tp", on.cp_among_tp)
        .end();
    json.field("extra_memory_bytes", setting.extra_memory).object("flags", report::Layout::flat);
    for (const auto& [name, value] : on.turned(setting)) {
        json.field(name, value);
    }
    json.end();
}

std::vector<Note> all_notes(const Finding& found) {
    std::vector<Note> notes = found.notes;
    notes.insert(notes.end(), found.answer.notes.begin(), found.answer.notes.end());
    return notes;
}

}  // namespace

void print_fit(const Finding& found, report::Unit unit, Session& session) {
    const Model& model = found.on.formats[0].model;
    std::string out = heading(model, "rules: " + found.answer.rules, session);
    if (found.on.gpus > 1) {
        const std::string split = split_words(found.asked.sharding, found.on.dp, found.asked.attention_dp);
        out += fmt::format("  {} on {} GPUs\n", split, report::grouped(found.on.gpus));
    }
    out += held_table(found, unit);
    out += '\n' + session.bold(paragraph(verdict_words(found))) + '\n';
    out += beyond_text(found.on, session);
    if (found.room) {
        out += capacity_words(found);
    }
    const bool known = found.on.memory.by_budget || (found.on.memory.non_kv_known && !weights_open(found));
    out += log_text(found.answer.log, known ? "  the engine will log: " : "  the engine would then log: ");
    for (const Change& change : found.changes) {
        out += fmt::format("{}{}{}\n", &change == found.changes.data() ? "It fits with one of:\n  " : "  ",
                           words(change, found.on), left_words(change, found.on));
    }
    out += textbook_words(found, session);
    session.print(out + notes_text(all_notes(found), false, session));
}

std::string fit_json(const Finding& found) {
    const Model& model = found.on.formats[0].model;
    report::Json json;
    json.object().field("schema", "kvcap.fit/1").field("model", full_name(model));
    json.field("spec", spec_line(model.spec, model.read.shared)).field("engine", found.on.face->name);
    json.field("rules", found.answer.rules).field("backend", found.answer.backend);
    json.field("kv_cache_dtype_asked", found.on.formats[0].dtype);
    write_setting(json, found.asked, found.on);
    json.field("fits", found.fits).field("beyond_context", found.on.beyond_context());
    if (found.room) {
        json.field("fits_if_non_kv_at_most_bytes", *found.room);
    } else {
        json.null("fits_if_non_kv_at_most_bytes");
    }
    found.on.memory.non_kv_known ? json.field("non_kv_bytes", found.non_kv) : json.null("non_kv_bytes");
    found.weights.how.empty() ? json.null("weights_bytes_per_rank")
                              : json.field("weights_bytes_per_rank", found.weights.bytes);
    json.field("weights_source", found.weights.how);
    json.field("refusal", found.answer.refusal).field("reason", found.answer.reason);
    json.field("reserved_bytes_per_request", found.answer.reserved_request);
    json.field("units_per_request", found.answer.request_units).field("unit", found.answer.unit);
    json.field("lacking_bytes", found.answer.verdict.lacking_bytes);
    write_tightest_pool(json, found.answer);
    json.field("most_sequences", found.most_sequences).field("longest_tokens", found.longest);
    found.longest_asked ? json.field("longest_bound_by", bound_of(found.longest, model))
                        : json.null("longest_bound_by");
    json.array("engine_log");
    for (const std::string& line : found.answer.log) {
        json.item(line);
    }
    json.end().array("changes");
    for (const Change& change : found.changes) {
        json.object().field("kind", name_of(change.kind)).field("words", words(change, found.on));
        write_setting(json, change.setting, found.on);
        json.end();
    }
    json.end();
    report::write_notes(json, all_notes(found));
    return json.end().text();
}

}  // namespace kvcap::cli
