// SPDX-License-Identifier: MIT
// kvcap pools MODEL: what an engine makes of the memory: blocks or slots, groups, pages, padding, and its log
// lines.
#include "deployment.hpp"
#include "options.hpp"
#include "pairs.hpp"
#include "screen.hpp"

#include <kvcap/io/spec_line.hpp>
#include <kvcap/report.hpp>
#include <memory>

namespace kvcap::cli {

namespace {

struct PoolsOptions {
    DeploymentOptions on;
    Output output;
};

/// beyond: what the engine does beyond the model's context, where that is asked for.
struct PoolsAnswered {
    const EngineFace* face = nullptr;
    EngineAnswer answer{};
    std::string beyond{};
};

/// What an engine sets aside beyond what there is: one that goes by what is asked, not by the memory, ends then.
Bytes lacking_of(const EngineAnswer& answer) {
    return answer.runs() && answer.by_bytes && !answer.plan.pools.empty() ? answer.verdict.lacking_bytes : Bytes{};
}

std::string rows_table(const EngineAnswer& answer) {
    using A = report::Align;
    report::Table table{{A::left, A::right, A::right, A::right, A::right, A::right}};
    table.row({"group", "groups", "caches", "tokens", "page", "a request"});
    std::string padding;
    for (const PoolRow& row : answer.rows) {
        table.row({row.holds, report::grouped(row.groups), report::grouped(row.caches),
                   row.tokens_per_unit == 0 ? "-" : report::grouped(row.tokens_per_unit),
                   report::exact(row.unit), report::grouped(row.units_per_request)});
        if (row.padding.value != 0) {
            const double share = 100.0 * static_cast<double>(row.padding.value) / static_cast<double>(row.unit.value);
            padding += paragraph(fmt::format("  padding of a page, {}: {} ({:.1f}%)", row.holds,
                                             report::exact(row.padding), share)) + '\n';
        }
    }
    return answer.rows.empty() ? "" : table.text() + padding;
}

std::string pools_table(const EngineAnswer& answer, report::Unit unit) {
    using A = report::Align;
    report::Table table{{A::left, A::right, A::right, A::right}};
    table.row({"pool of " + answer.unit, "units", "each", "allocated"});
    for (u32 i = 0; i < answer.plan.pools.size(); ++i) {
        const Pool& pool = answer.plan.pools[i];
        table.row(
            {fmt::format("{}{}", i + 1, pool.spare == 0 ? "" : fmt::format(" ({} kept back)", pool.spare)),
             report::grouped(pool.units), report::exact(pool.each), report::amount(pool.allocated, unit)});
    }
    return answer.plan.pools.empty() ? "" : table.text();
}

std::string screen_of(const PoolsAnswered& one, report::Unit unit, const Session& session) {
    std::string out = session.bold(one.answer.rules) + '\n';
    if (!one.answer.runs()) {
        return out + paragraph("  " + (one.answer.without_rules() ? no_rules_words(one.answer)
                                                                  : "does not start: " + one.answer.refusal)) + '\n';
    }
    if (const Bytes lacking = lacking_of(one.answer); lacking.value != 0) {
        const std::string words = fmt::format("  does not start: it asks for {} more than there is",
                                              report::amount(lacking));
        out += session.warning(paragraph(words)) + '\n';
    }
    out += one.beyond + pools_table(one.answer, unit) + rows_table(one.answer);
    return out + log_text(one.answer.log, "  log: ");
}

void write_pools(report::Json& json, const EngineAnswer& answer) {
    json.array("pools");
    for (const Pool& pool : answer.plan.pools) {
        json.object({}, report::Layout::flat).field("units", pool.units).field("spare", pool.spare);
        json.field("extra", pool.extra).field("copies", pool.copies).field("unit_bytes", pool.each);
        json.field("allocated_bytes", pool.allocated).field("second_units", pool.second);
        json.field("limiting_worker", pool.limiting).end();
    }
    json.end().array("groups");
    for (const PoolRow& row : answer.rows) {
        json.object({}, report::Layout::flat).field("holds", row.holds).field("groups", row.groups);
        json.field("caches", row.caches)
            .field("tokens_per_unit", row.tokens_per_unit)
            .field("page_bytes", row.unit);
        json.field("padding_bytes", row.padding).field("units_per_request", row.units_per_request).end();
    }
    json.end();
}

std::string json_of(const Deployment& on, const std::vector<PoolsAnswered>& all, const std::vector<Note>& notes) {
    report::Json json;
    json.object().field("schema", "kvcap.pools/1");
    write_model(json, on.formats[0].model, on.formats[0].dtype);
    json.field("beyond_context", on.beyond_context());
    json.array("engines");
    for (const PoolsAnswered& one : all) {
        json.object().field("engine", one.face->name).field("rules", one.answer.rules);
        json.field("backend", one.answer.backend);
        json.field("starts", one.answer.runs() && lacking_of(one.answer).value == 0)
            .field("lacking_bytes", lacking_of(one.answer))
            .field("refusal", one.answer.refusal)
            .field("reason", one.answer.reason)
            .field("unit", one.answer.unit);
        json.field("block_size", one.answer.plan.reported_block)
            .field("max_model_len", one.answer.plan.max_len);
        json.field("units_per_request", one.answer.request_units);
        json.field("reserved_bytes_per_request", one.answer.reserved_request);
        write_pools(json, one.answer);
        json.array("engine_log");
        for (const std::string& line : one.answer.log) {
            json.item(line);
        }
        json.end();
        report::write_notes(json, one.answer.notes);
        json.end();
    }
    json.end();
    report::write_notes(json, notes);
    return json.end().text();
}

/// The least of the codes of those that do not start: that memory lacks is said before what is refused.
Exit exit_of_all(const std::vector<PoolsAnswered>& all) {
    Exit least = Exit::ok;
    for (const PoolsAnswered& one : all) {
        const Exit code = lacking_of(one.answer).value != 0 ? Exit::does_not_fit
                          : one.answer.runs()               ? Exit::ok
                                                            : exit_of(one.answer);
        least = code != Exit::ok && (least == Exit::ok || code < least) ? code : least;
    }
    return least;
}

/// One engine of several: where it has no words but an end of the program, those are its refusal.
EngineAnswer answer_or_why(const Deployment& on, const Setting& asked) {
    try {
        return on.ask(asked, on.known_non_kv(asked));
    } catch (const Stop& end) {
        const bool unknown = end.code == Exit::unknown_architecture;
        return {.rules = std::string{on.face->title},
                .refusal = end.text,
                .error = {.code = unknown ? Errc::unsupported : Errc::refused_combination}};
    }
}

void run(PoolsOptions options, Session& session) {
    options.output.begin(session);
    const report::Unit unit = options.output.unit_for({u64{1} << 40});
    const bool every = options.on.engine.engine == "all";
    std::vector<Note> notes;
    if (every) {
        for (const EngineFace* face : engine_faces()) {
            refuse_formats(*face, options.on.model);
        }
        options.on.engine.engine = "exact";
    }
    Deployment on = options.on.deployment(notes);
    const Setting asked = options.on.setting(on);
    note_idle(on, options.on.memory.gpus, notes);
    note_unused(options.on.sharding, notes);
    if (!on.memory.non_kv_known && !on.memory.by_budget) {
        notes.push_back({Origin::assumed, "--non-kv-bytes",
                         "0: nothing but weights and cache; give it for real numbers"});
    }
    std::vector<PoolsAnswered> all;
    for (const EngineFace* face : engine_faces()) {
        if (every ? face->name != "exact" : face == on.face) {
            on.face = face;
            on.memory.of_free = options.on.memory.of_free(face->share_of_free);
            all.push_back({face, every ? answer_or_why(on, asked) : on.ask(asked, on.known_non_kv(asked)),
                           beyond_text(on, session)});
        }
    }
    const Model& model = on.formats[0].model;
    note_unknown_weights(on, asked, notes);
    if (!every) {
        note_unused(on, asked, all[0].answer, notes);
    }
    if (all.size() == 1 && all[0].answer.without_rules()) {
        stop(Exit::unknown_architecture, no_rules_words(all[0].answer));
    }
    session.exit = exit_of_all(all);
    if (options.output.json) {
        return session.print(json_of(on, all, notes));
    }
    std::string out = heading(model, on.memory.described, session);
    for (const PoolsAnswered& one : all) {
        out += screen_of(one, unit, session);
        notes.insert(notes.end(), one.answer.notes.begin(), one.answer.notes.end());
    }
    session.print(out + notes_text(notes, false, session));
}

}  // namespace

void add_pools(CLI::App& app, Session& session) {
    const auto options = std::make_shared<PoolsOptions>();
    options->on.engine.engine = "vllm";
    CLI::App* verb =
        app.add_subcommand("pools", "What an engine makes of the memory: blocks, groups, pages, log lines");
    options->on.add_to(*verb);
    options->output.add_to(*verb, false);
    verb->footer(
        "Examples:\n"
        "  kvcap pools gemma-3-27b --kv-budget 20GiB --tokens 32k --engine vllm@0.28.0\n"
        "  kvcap pools qwen3-next-80b-a3b --gpu h200 --tp 2 --non-kv-bytes 4GiB --tokens 128k\n"
        "  kvcap pools llama-3.1-8b --kv-budget 40GiB --engine all");
    verb->callback([options, &session] { run(*options, session); });
}

}  // namespace kvcap::cli
