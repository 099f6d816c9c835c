// SPDX-License-Identifier: MIT
// kvcap size MODEL: bytes held per token, per sequence, on each rank, over all ranks and each byte once.
#include "context_ranks.hpp"
#include "deployment.hpp"
#include "engines.hpp"
#include "llamacpp.hpp"
#include "options.hpp"
#include "pairs.hpp"
#include "screen.hpp"

#include <kvcap/io/spec_line.hpp>
#include <kvcap/report.hpp>
#include <memory>

namespace kvcap::cli {

namespace {

struct SizeOptions {
    ModelOptions model;
    ShardingOptions sharding;
    LengthOptions lengths;
    EngineOptions engine;
    Output output;
    bool explain = false;
    bool per_layer = false;
};

report::SizeQuestion question(const SizeOptions& options, const Model& model) {
    refuse_context_ranks(options.sharding, options.engine.face());
    refuse_attention_ranks(options.sharding, options.engine.face().name);
    const u32 attention_ranks = options.sharding.dp_attention ? options.sharding.tp : 1;
    const Error wrong = attention_ranks_error(model.spec, attention_ranks, options.engine.face());
    if (wrong.code != Errc::ok) {
        stop(wrong, model.label);
    }
    report::SizeQuestion asked{.sharding = split_under(options.engine.face(), options.sharding),
                               .tp = options.sharding.tp,
                               .dp = options.sharding.dp,
                               .dp_attention = options.sharding.dp_attention,
                               .cp_among_tp = among_tensor_ranks(options.sharding, options.engine.face().name),
                               .points = {}};
    if (asked.ranks() > 65536) {
        stop(Exit::usage, fmt::format("{} ranks; at most 65,536 are listed", report::grouped(asked.ranks())));
    }
    const u64 sequences = options.lengths.sequences();
    for (const u64 tokens : options.lengths.points(model.read)) {
        asked.points.push_back({tokens, sequences, options.lengths.lengths(tokens, model.read)});
    }
    return asked;
}

/// Context ranks among the tensor ranks share what would be copies; with fewer copies a rank's tokens would
/// lack heads.
report::SizeAnswer answer_of(const SizeOptions& options, const Model& model, const report::SizeQuestion& asked) {
    refuse_split(model, asked.sharding, options.sharding, options.engine.face());
    return value_of(report::answer(model.spec, asked), model.label);
}

/// What the lengths and the split assume, behind the notes of the reader.
std::vector<Note> notes_of(const SizeOptions& options, const Model& model, const report::SizeQuestion& asked) {
    std::vector<Note> notes = model.notes;
    note_unused(options.lengths, model.spec, notes);
    note_unused(options.sharding, notes);
    const report::SizePoint& last = asked.points.back();
    bool crosses = false;
    for (const LayerForm& form : model.spec.forms) {
        crosses = crosses || form.retention.source == Source::encoder;
    }
    if (crosses && last.lengths.encoder.value == 0) {
        notes.push_back({Origin::assumed, "--encoder-tokens", "0, so cross attention holds nothing here"});
    }
    const u64 context = model.read.max_context;
    if (context != 0 && last.tokens > context) {
        notes.push_back({Origin::assumed, "--tokens",
                         fmt::format("{} is beyond the model's context of {}", report::grouped(last.tokens),
                                     report::grouped(context))});
    }
    return notes;
}

/// What an engine sets aside for one request of each length on the fullest rank, whatever memory there is.
struct Reserved {
    std::string rules;
    std::vector<report::ReservedAt> points;
    std::vector<std::string> units;  ///< of each point, of all pools
};

Reserved reserved_by(const SizeOptions& options, const Model& model, const report::SizeQuestion& asked,
                     std::vector<Note>& notes) {
    const EngineFace& face = options.engine.face();
    const EngineFlags flags = options.engine.flags();
    refuse_formats(face, options.model);
    Reserved all{};
    for (const report::SizePoint& point : asked.points) {
        EngineQuestion question{.model = &model, .version = options.engine.version(),
                                .kv_cache_dtype = as_stored(options.model, flags).kv_cache_dtype,
                                .sharding = asked.sharding};
        question.available.assign(asked.sharding.pp, Bytes{u64{1} << 46});
        question.each = {point.lengths};
        question.counts = {1};
        question.max_len = larger(point.tokens, 1);
        question.flags = &flags;
        const EngineAnswer answer = face.ask(question);
        if (answer.without_rules()) {
            stop(Exit::unknown_architecture, no_rules_words(answer));
        }
        if (!answer.runs()) {
            stop(exit_of(answer), fmt::format("{}: {}", answer.rules, answer.refusal));
        }
        notes.insert(notes.end(), all.points.empty() ? answer.notes.begin() : answer.notes.end(), answer.notes.end());
        all.rules = answer.rules;
        all.points.push_back({point.tokens, answer.reserved_request, answer.request_units, answer.unit});
        all.units.push_back(units_words(answer));
    }
    return all;
}

std::string reserved_text(const Reserved& reserved, report::Unit unit) {
    std::string out;
    for (std::size_t i = 0; i < reserved.points.size(); ++i) {
        const report::ReservedAt& at = reserved.points[i];
        out += paragraph(fmt::format("  {} reserves {} on a rank for a request of {} tokens ({})", reserved.rules,
                                     report::amount_and_exact(at.bytes, unit), report::grouped(at.tokens),
                                     reserved.units[i])) + '\n';
    }
    return out;
}

void print_screen(const SizeOptions& options, const Model& model, const report::SizeQuestion& asked,
                  const report::SizeAnswer& size, const Reserved& reserved, const std::vector<Note>& notes,
                  Session& session) {
    const report::Unit unit = options.output.unit_for(size.points.back().total);
    std::string out = heading(model, report::sharding_words(asked), session);
    out += report::SizeScreen{model.spec, asked, size, unit}.table();
    out += reserved_text(reserved, unit);
    if (options.per_layer) {
        out += '\n' + paragraphs(report::layers_table(model.spec, model.read.shared));
    }
    if (options.explain) {
        out += '\n' + paragraphs(report::arithmetic_text(model.spec, asked, size));
    }
    out += notes_text(notes, options.explain, session);
    if (const auto verdict = report::textbook_verdict(model.read, model.spec, size)) {
        const u64 tokens = size.points.back().point.tokens;
        out += session.warning(paragraph(report::text_of(*verdict, tokens))) + '\n';
    }
    session.print(out);
}

void run(const SizeOptions& options, Session& session) {
    options.output.begin(session);
    const ModelOptions stored = as_stored(options.model, options.engine.flags());  // stops at flags of another engine
    std::vector<Note> taken;
    const Model model = load_for(options.engine.face(), stored, taken);
    if (options.per_layer && model.spec.all_layers() > 65536) {
        stop(Exit::usage, "--per-layer: at most 65,536 layers are listed");
    }
    const report::SizeQuestion asked = question(options, model);
    const report::SizeAnswer size = answer_of(options, model, asked);
    std::vector<Note> notes = notes_of(options, model, asked);
    notes.insert(notes.end(), taken.begin(), taken.end());
    const Reserved reserved = options.engine.engine == "exact" ? Reserved{} : reserved_by(options, model, asked, notes);
    if (options.output.csv) {
        return session.print(report::size_csv(asked, size));
    }
    if (options.output.json) {
        const std::string spec = spec_line(model.spec, model.read.shared);
        const report::SizeHeading heading{.model = full_name(model),
                                          .spec = spec,
                                          .kv_cache_dtype = model.dtype,
                                          .kv_cache_dtype_asked = stored.kv_cache_dtype,
                                          .engine = reserved.points.empty() ? "exact" : reserved.rules,
                                          .reserved = reserved.points};
        return session.print(report::size_json(heading, model.spec, model.read, asked, size, notes,
                                               options.per_layer));
    }
    print_screen(options, model, asked, size, reserved, notes, session);
}

}  // namespace

void add_size(CLI::App& app, Session& session) {
    const auto options = std::make_shared<SizeOptions>();
    CLI::App* verb = app.add_subcommand("size", "Bytes a cache holds: per token, on each rank, in all, each byte once");
    options->model.add_to(*verb);
    options->lengths.add_to(*verb);
    options->sharding.add_to(*verb);
    options->model.add_formats_to(*verb);
    options->engine.add_to(*verb);
    verb->add_flag("--explain", options->explain, "The arithmetic as on paper; every note");
    verb->add_flag("--per-layer", options->per_layer, "Every layer");
    options->output.add_to(*verb);
    verb->footer("Examples:\n"
                 "  kvcap size deepseek-v3 --tokens 32k --tp 8\n"
                 "  kvcap size '8*gqa(8,128) + 40*window(1024, gqa(8,128))' --explain\n"
                 "  kvcap size path/to/config.json --batch 16 --json");
    verb->callback([options, &session] { run(*options, session); });
}

}  // namespace kvcap::cli
