// SPDX-License-Identifier: MIT
// kvcap fit MODEL: does it fit, by how much, and what is the smallest change if not?
#include "deployment.hpp"
#include "screen.hpp"

#include <kvcap/io/spec_line.hpp>
#include <kvcap/report.hpp>
#include <memory>

namespace kvcap::cli {

namespace {

struct FitOptions {
    DeploymentOptions on;
    Output output;
};

/// Everything that was evaluated; screens and JSON only read it.
struct Finding {
    const Deployment& on;
    Setting asked{};
    EngineAnswer answer{};
    RankWeights weights{};
    Bytes non_kv{};
    std::optional<Bytes> room{};  ///< the most everything else may take
    bool fits = false;
    u64 most_sequences = 0;
    u64 longest = 0;
    u64 longest_limit = 0;
    std::vector<Change> changes{};
    std::vector<Note> notes{};
};

u64 context_limit(const Model& model) {
    return model.read.max_context != 0 ? model.read.max_context : u64{1} << 24;
}

/// The smallest single changes that make it fit, each evaluated; `on` learns which knobs there are.
std::vector<Change> changes_of(Deployment& on, const Setting& asked, u32 gpus) {
    on.knobs = on.knobs_of(asked);
    ChangeLimits limits{.gpus = gpus, .kv_formats = static_cast<u32>(on.formats.size())};
    for (const Knob& knob : on.knobs) {
        static_cast<void>(limits.knobs.push(static_cast<u32>(knob.values.size())));
    }
    const auto fits = [&](const Setting& setting) noexcept {
        try {
            return on.fits(setting);
        } catch (const Stop&) {
            return false;  // this engine or model refuses the variation
        }
    };
    std::vector<Change> changes;
    for (const Change& change : smallest_changes(asked, limits, fits)) {
        const bool mixed_shorter = change.kind == ChangeKind::shorter && on.mix.each.size() > 1;
        if (!mixed_shorter) {
            changes.push_back(change);
        }
    }
    return changes;
}

Finding find(Deployment& on, const Setting& asked, u32 gpus) {
    Finding found{.on = on, .asked = asked};
    found.non_kv = on.known_non_kv(asked);
    found.weights = on.weights(asked, 0);
    found.answer = on.ask(asked, found.non_kv);
    if (found.answer.without_rules()) {
        stop(Exit::unknown_architecture, no_rules_words(found.answer));
    }
    found.room = on.most_non_kv(asked);
    found.fits = found.answer.fits();
    found.longest_limit = larger(context_limit(on.formats[0].model), asked.tokens.value);
    found.most_sequences = on.most_sequences(asked, found.non_kv);
    if (on.mix.each.size() == 1 && on.max_len == 0) {
        found.longest = on.longest(asked, found.non_kv, found.longest_limit);
    }
    if (!found.fits) {
        found.changes = changes_of(on, asked, gpus);
    }
    return found;
}

std::string knob_words(const EngineFlags& turned) {
    std::string out;
    for (const auto& [name, value] : turned) {
        out += fmt::format("{}--{}{}{}", out.empty() ? "" : " ", name, value.empty() ? "" : " ", value);
    }
    return out;
}

std::string words(const Change& change, const Deployment& on) {
    const Setting& to = change.setting;
    switch (change.kind) {
        case ChangeKind::shorter: return fmt::format("{} tokens a request", report::grouped(to.tokens.value));
        case ChangeKind::fewer: return report::counted(to.sequences, "request at once", "requests at once");
        case ChangeKind::smaller_format: return "--kv-cache-dtype " + on.formats[to.kv_format].dtype;
        case ChangeKind::attention_dp: return "--dp-attention (each rank holds whole requests)";
        case ChangeKind::more_tp: return fmt::format("--tp {}", to.sharding.tp);
        case ChangeKind::more_pp: return fmt::format("--pp {}", to.sharding.pp);
        case ChangeKind::more_memory:
            return fmt::format("{} more a GPU for the engine", report::amount_and_exact(to.extra_memory));
        case ChangeKind::knob: return knob_words(on.turned(to));
    }
    return {};
}

const char* name_of(ChangeKind kind) {
    switch (kind) {
        case ChangeKind::shorter: return "shorter";
        case ChangeKind::fewer: return "fewer";
        case ChangeKind::smaller_format: return "kv_cache_dtype";
        case ChangeKind::attention_dp: return "dp_attention";
        case ChangeKind::more_tp: return "tp";
        case ChangeKind::more_pp: return "pp";
        case ChangeKind::more_memory: return "memory";
        case ChangeKind::knob: return "flag";
    }
    return "";
}

std::string weights_words(const Finding& found) {
    if (found.on.memory.by_budget) {
        return "";
    }
    if (found.weights.how.empty()) {
        return "weights unknown: they count as non-KV memory";
    }
    return fmt::format("weights {} a rank: {}", report::amount(found.weights.bytes), found.weights.how);
}

/// The memory that every rank lacks, weights and all; empty when no amount helps.
std::string lacking_words(const Finding& found) {
    for (const Change& change : found.changes) {
        if (change.kind == ChangeKind::more_memory) {
            return report::amount(change.setting.extra_memory);
        }
    }
    return {};
}

/// The verdict's sentence.
std::string verdict_words(const Finding& found) {
    const bool budget = found.on.memory.by_budget;
    if (!found.room) {
        const std::string with = budget ? "" : fmt::format("   [{}]", weights_words(found));
        const std::string lacking = lacking_words(found);
        const std::string why =
            found.answer.runs() ? "DOES NOT FIT" : "DOES NOT START: " + found.answer.refusal;
        return why + (lacking.empty() ? "" : "; " + lacking + " more a GPU would do") + with;
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
        return fmt::format("DOES NOT FIT: {} too little on a rank   [{}; {}]",
                           report::amount_and_exact(minus(found.non_kv, *found.room).value_or({})),
                           weights_words(found), known);
    }
    return fmt::format("FITS with {} to spare on each rank   [{}; {}]",
                       report::amount_and_exact(minus(*found.room, found.non_kv).value_or({})),
                       weights_words(found), known);
}

std::string capacity_words(const Finding& found) {
    std::string out;
    const bool bound = !found.on.memory.non_kv_known && !found.on.memory.by_budget;
    const char* upto = bound ? "at most (if nothing else took memory) " : "";
    const std::string of =
        found.on.mix.each.size() > 1
            ? fmt::format("of this mix ({:.0f} tokens on average)", found.on.mix.average_tokens())
            : fmt::format("of {} tokens", report::grouped(found.asked.tokens.value));
    out += paragraph(fmt::format("  {}{} {} at once", upto,
                                 report::counted(found.most_sequences, "request", "requests"), of)) + '\n';
    if (found.longest != 0) {
        out += paragraph(fmt::format("  {}{} tokens{} for {}", upto, report::grouped(found.longest),
                                     found.longest == context_limit(found.on.formats[0].model) &&
                                             found.on.formats[0].model.read.max_context != 0
                                         ? " (as long as the model allows)"
                                         : "",
                                     report::counted(found.asked.sequences, "request", "requests"))) + '\n';
    }
    return out;
}

std::string held_table(const Finding& found, report::Unit unit) {
    const Model& model = found.on.formats[0].model;
    Sharding split = found.asked.sharding;
    split.tp = found.asked.attention_dp ? 1 : split.tp;
    Lengths lengths = found.on.mix.each[0];
    Bytes held{};
    Bytes rate{};
    for (u32 stage = 0; stage < split.pp; ++stage) {
        held = std::max(held, value_of(fold(model.spec, lengths, split, {.stage = stage})).per_sequence());
        rate = std::max(rate, value_of(bytes_per_token(model.spec, split, stage)));
    }
    using A = report::Align;
    report::Table table{{A::left, A::right, A::right}};
    const bool runs = found.answer.runs();
    table.row({split.pp > 1 ? "the fullest rank" : "each rank", "held", "reserved"});
    table.row({"one more token", report::exact(rate), "-"});
    table.row(
        {fmt::format("one request, {} tokens", report::grouped((lengths.prompt + lengths.decoded).value)),
         report::amount(held, unit), runs ? report::amount(found.answer.reserved_request, unit) : "-"});
    std::string out = table.text();
    if (runs && found.answer.unit != "bytes") {
        out += fmt::format("  reserved: {} {}\n", report::grouped(found.answer.request_units),
                           found.answer.unit);
    }
    return out;
}

std::string textbook_words(const Finding& found, const Session& session) {
    const Model& model = found.on.formats[0].model;
    report::SizeQuestion asked{.sharding = found.asked.sharding, .tp = found.asked.sharding.tp, .points = {}};
    asked.points.push_back({found.asked.tokens.value, 1, found.on.mix.each[0]});
    const Result<report::SizeAnswer> size = report::answer(model.spec, asked);
    if (!size) {
        return {};
    }
    const auto verdict = report::textbook_verdict(model.read, model.spec, *size);
    return verdict ? session.warning(paragraph(report::text_of(*verdict, found.asked.tokens.value))) + '\n'
                   : "";
}

void print_screen(const Finding& found, report::Unit unit, Session& session) {
    const Model& model = found.on.formats[0].model;
    std::string out = heading(model, "rules: " + found.answer.rules, session);
    out += held_table(found, unit);
    out += '\n' + session.bold(paragraph(verdict_words(found))) + '\n';
    if (found.room) {
        out += capacity_words(found);
    }
    const bool known = found.on.memory.non_kv_known || found.on.memory.by_budget;
    out += log_text(found.answer.log, known ? "  the engine will log: " : "  the engine would then log: ");
    for (const Change& change : found.changes) {
        out += fmt::format("{}{}\n", &change == found.changes.data() ? "It fits with one of:\n  " : "  ",
                           words(change, found.on));
    }
    std::vector<Note> notes = found.notes;
    notes.insert(notes.end(), found.answer.notes.begin(), found.answer.notes.end());
    out += textbook_words(found, session);
    session.print(out + notes_text(notes, false, session));
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
        .end();
    json.field("extra_memory_bytes", setting.extra_memory).object("flags", report::Layout::flat);
    for (const auto& [name, value] : on.turned(setting)) {
        json.field(name, value);
    }
    json.end();
}

std::string json_of(const Finding& found) {
    const Model& model = found.on.formats[0].model;
    report::Json json;
    json.object().field("schema", "kvcap.fit/1").field("model", full_name(model));
    json.field("spec", spec_line(model.spec, model.read.shared)).field("engine", found.on.face->name);
    json.field("rules", found.answer.rules).field("backend", found.answer.backend);
    json.field("kv_cache_dtype_asked", found.on.formats[0].dtype);
    write_setting(json, found.asked, found.on);
    json.field("fits", found.fits);
    if (found.room) {
        json.field("fits_if_non_kv_at_most_bytes", *found.room);
    } else {
        json.null("fits_if_non_kv_at_most_bytes");
    }
    found.on.memory.non_kv_known ? json.field("non_kv_bytes", found.non_kv) : json.null("non_kv_bytes");
    found.weights.how.empty() ? json.null("weights_bytes_per_rank")
                              : json.field("weights_bytes_per_rank", found.weights.bytes);
    json.field("weights_source", found.weights.how);
    json.field("refusal", found.answer.refusal);
    json.field("reserved_bytes_per_request", found.answer.reserved_request);
    json.field("units_per_request", found.answer.request_units).field("unit", found.answer.unit);
    json.field("lacking_bytes", found.answer.verdict.lacking_bytes);
    json.field("most_sequences", found.most_sequences).field("longest_tokens", found.longest);
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
    std::vector<Note> notes = found.notes;
    notes.insert(notes.end(), found.answer.notes.begin(), found.answer.notes.end());
    report::write_notes(json, notes);
    return json.end().text();
}

void run(const FitOptions& options, Session& session) {
    options.output.begin(session);
    const report::Unit unit = options.output.unit_for({u64{1} << 40});
    std::vector<Note> notes;
    Deployment on = options.on.deployment(notes);
    const Setting asked = options.on.setting(on);
    const u32 gpus = options.on.memory.gpus != 0 ? options.on.memory.gpus / options.on.sharding.dp : 64;
    Finding found = find(on, asked, gpus);
    found.notes = std::move(notes);
    options.output.json ? session.print(json_of(found)) : print_screen(found, unit, session);
    session.exit = found.room && (found.fits || !on.memory.non_kv_known) ? Exit::ok : Exit::does_not_fit;
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
