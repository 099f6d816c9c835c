// SPDX-License-Identifier: MIT
// kvcap show MODEL: how a model was understood, layer by layer, and where each fact comes from.
#include "screen.hpp"

#include "options.hpp"

#include <kvcap/io/spec_line.hpp>
#include <kvcap/report.hpp>
#include <memory>

namespace kvcap::cli {

namespace {

struct ShowOptions {
    ModelOptions model;
    Output output;
};

constexpr u64 usual_length = 32768;

std::string facts_text(const Model& model) {
    const ReadModel& read = model.read;
    std::string out;
    const auto fact = [&](std::string_view name, const std::string& text) {
        out += text.empty() ? "" : fmt::format("  {:<14}{}\n", name, text);
    };
    fact("architecture", read.architecture + (read.outer_type.empty() ? "" : " in " + read.outer_type));
    fact("kinds", report::kinds_words(model.spec));
    const u64 query_heads = read.query_heads != 0 ? read.query_heads : model.spec.query_heads;
    fact("query heads", query_heads == 0 ? "" : report::grouped(query_heads));
    fact("context", read.max_context == 0 ? "" : report::grouped(read.max_context) + " tokens");
    fact("encoder", read.encoder_tokens == 0 ? "" : report::grouped(read.encoder_tokens) + " tokens at most");
    fact("draft layers",
         read.draft.all_layers() == 0 ? "" : layers_line(read.draft) + ", cached only when drafting");
    return out;
}

report::SizeQuestion one_copy(const Model& model) {
    report::SizeQuestion asked{};
    asked.points.push_back(
        {usual_length, 1, {.prompt = {usual_length}, .encoder = {model.read.encoder_tokens}}});
    return asked;
}

std::string show_json(const Model& model, std::string_view asked_dtype, const report::SizeAnswer& size) {
    report::Json json;
    const ReadModel& read = model.read;
    json.object().field("schema", "kvcap.show/1");
    write_model(json, model, asked_dtype);
    json.field("architecture", read.architecture);
    json.field("layers", model.spec.layers).field("draft_layers", model.spec.draft_layers);
    json.field("query_heads", read.query_heads != 0 ? read.query_heads : u64{model.spec.query_heads});
    json.field("max_context", read.max_context).field("encoder_tokens", read.encoder_tokens);
    json.field("draft_spec", read.draft.all_layers() == 0 ? std::string{} : spec_line(read.draft));
    json.field("bytes_per_token", size.per_token).field("state_bytes_per_sequence", size.state);
    report::write_groups(json, model.spec, size);
    report::write_notes(json, model.notes);
    return json.end().text();
}

void run(const ShowOptions& options, Session& session) {
    options.output.begin(session);
    const Model model = load(options.model);
    const report::SizeAnswer size = value_of(report::answer(model.spec, one_copy(model)), model.label);
    if (options.output.json) {
        return session.print(show_json(model, options.model.kv_cache_dtype, size));
    }
    std::string out = heading(model, {}, session) + facts_text(model);
    out += '\n' + paragraphs(report::layers_table(model.spec, model.read.shared)) + '\n';
    out += fmt::format("one more token {}", report::exact(size.per_token));
    out += size.state.value == 0 ? "\n" : fmt::format(", state {}\n", report::exact(size.state));
    out += notes_text(model.notes, true, session);
    if (const auto verdict = report::textbook_verdict(model.read, model.spec, size)) {
        out += session.warning(paragraph(report::text_of(*verdict, usual_length))) + '\n';
    }
    session.print(out);
}

}  // namespace

void add_show(CLI::App& app, Session& session) {
    const auto options = std::make_shared<ShowOptions>();
    CLI::App* verb = app.add_subcommand("show", "How a model is understood, and why");
    options->model.add_to(*verb);
    options->model.add_formats_to(*verb);
    options->output.add_to(*verb, false, false);
    verb->footer("Examples:\n"
                 "  kvcap show gemma-3-27b\n"
                 "  kvcap show '36*gdn(16,128,32,128) + 12*gqa(2,256)'\n"
                 "  kvcap show path/to/model --json");
    verb->callback([options, &session] { run(*options, session); });
}

}  // namespace kvcap::cli
