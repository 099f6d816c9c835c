// SPDX-License-Identifier: MIT
// kvcap models [WORDS]: the models known by name, with kinds, layers and bytes per token.
#include "cards.hpp"
#include "screen.hpp"
#include "cli.hpp"
#include "options.hpp"

#include <kvcap/io/spec_line.hpp>
#include <kvcap/report.hpp>
#include <memory>

namespace kvcap::cli {

namespace {

struct ModelsOptions {
    std::vector<std::string> words;
    Output output;
};

struct Row {
    const Card* card = nullptr;
    Model model;
    Bytes per_token{};
    Bytes growing{};  ///< a token's, where its context fills no window
    Bytes state{};
};

Row row_of(const Card& card) {
    ModelOptions options;
    options.model = card.name;
    Row row{.card = &card, .model = load(options), .per_token = {}, .growing = {}, .state = {}};
    report::SizeQuestion asked{};
    asked.points.push_back({1, 1, {.prompt = {1}}});
    const report::SizeAnswer size = value_of(report::answer(row.model.spec, asked), card.name);
    row.per_token = size.per_token;
    const u64 context = row.model.read.max_context;
    row.growing = context == 0 ? row.per_token : value_of(bytes_per_token(growing_to(row.model.spec, context)));
    row.state = size.state;
    return row;
}

/// The kinds in at most `most` columns.
std::string shortened(std::string kinds, std::size_t most) {
    if (kinds.size() > most) {
        kinds = kinds.substr(0, most - 3) + "...";
    }
    return kinds;
}

std::string screen(const std::vector<Row>& rows) {
    std::size_t names = 5;
    std::size_t rates = 9;
    for (const Row& row : rows) {
        names = std::max(names, row.card->name.size());
        rates = std::max(rates, report::exact(row.growing).size());
    }
    const std::size_t others = 2 + names + 2 + 6 + 2 + 2 + rates;
    const std::size_t kinds = others + 12 > 80 ? 12 : 80 - others;
    using report::Align;
    report::Table table{{Align::left, Align::right, Align::left, Align::right}};
    table.row({"model", "layers", "kinds", "per token"});
    for (const Row& row : rows) {
        const bool grows = row.growing.value != 0 || row.state.value == 0;
        table.row({std::string{row.card->name}, report::grouped(row.model.spec.all_layers()),
                   shortened(report::kinds_words(row.model.spec), kinds),
                   grows ? report::exact(row.growing) : "-"});
    }
    return table.text() + report::counted(rows.size(), "model", "models") + '\n';
}

std::string json_of(const std::vector<Row>& rows) {
    report::Json json;
    json.object().field("schema", "kvcap.models/1").array("models");
    for (const Row& row : rows) {
        const ModelSpec& spec = row.model.spec;
        json.object()
            .field("name", row.card->name)
            .field("hf_id", row.card->hf_id)
            .field("family", row.card->family);
        json.field("layers", spec.all_layers()).field("kinds", report::kinds_words(spec));
        json.field("spec", spec_line(spec, row.model.read.shared)).field("bytes_per_token", row.per_token);
        json.field("state_bytes_per_sequence", row.state).end();
    }
    return json.end().end().text();
}

std::string csv(const std::vector<Row>& rows) {
    std::string out =
        report::csv_line({"name", "hf_id", "family", "layers", "kinds", "bytes_per_token", "state_bytes"});
    for (const Row& row : rows) {
        const ModelSpec& spec = row.model.spec;
        out += report::csv_line({std::string{row.card->name}, std::string{row.card->hf_id},
                                 std::string{row.card->family}, std::to_string(spec.all_layers()),
                                 report::kinds_words(spec), std::to_string(row.per_token.value),
                                 std::to_string(row.state.value)});
    }
    return out;
}

void run(const ModelsOptions& options, Session& session) {
    options.output.begin(session);
    std::vector<Row> rows;
    for (const Card& card : cards()) {
        if (matches(card, options.words)) {
            rows.push_back(row_of(card));
        }
    }
    if (rows.empty()) {
        std::string near;
        for (const std::string_view name : cards_like(options.words.front(), 3)) {
            near += fmt::format("{}{}", near.empty() ? "; nearest: " : ", ", name);
        }
        stop(Exit::bad_input, "no card has all of these words" + near);
    }
    session.print(options.output.json ? json_of(rows) : options.output.csv ? csv(rows) : screen(rows));
}

}  // namespace

void add_models(CLI::App& app, Session& session) {
    const auto options = std::make_shared<ModelsOptions>();
    CLI::App* verb = app.add_subcommand("models", "Models known by name");
    verb->add_option("WORDS", options->words, "Parts of a name, id or family");
    options->output.add_to(*verb, true, false);
    verb->footer("Example:\n  kvcap models qwen3");
    verb->callback([options, &session] { run(*options, session); });
}

}  // namespace kvcap::cli
