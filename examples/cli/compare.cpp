// SPDX-License-Identifier: MIT
// kvcap compare A B ...: models, or one model in several settings, side by side.
#include "screen.hpp"

#include <kvcap/io/spec_line.hpp>
#include <kvcap/report.hpp>
#include <memory>

namespace kvcap::cli {

namespace {

struct CompareOptions {
    std::vector<std::string> models;
    ShardingOptions sharding;
    LengthOptions lengths;
    Output output;
};

/// One side: "NAME" or "NAME@fp8" (a KV format), "NAME@fp8@tp=8".
struct Side {
    Model model;
    Sharding split{};
    u64 tokens = 0;
    Bytes per_token{};
    Bytes per_rank{};
    Footprint whole{};
    double copies = 1;
};

Side side_of(const std::string& text, const CompareOptions& options) {
    std::vector<std::string> parts;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t sign = std::min(text.find('@', at), text.size());
        parts.push_back(text.substr(at, sign - at));
        at = sign + 1;
    }
    ModelOptions wanted{.model = parts[0]};
    Side side{.model = {}, .split = options.sharding.sharding()};
    for (std::size_t i = 1; i < parts.size(); ++i) {
        if (parts[i].rfind("tp=", 0) == 0) {
            side.split.tp = static_cast<u32>(smaller(count_of(parts[i].substr(3), text), 65536));
        } else {
            wanted.kv_cache_dtype = parts[i];
        }
    }
    side.model = load(wanted);
    const std::vector<u64> points = options.lengths.points(side.model.read);
    if (points.size() != 1) {
        stop(Exit::usage, "--tokens: one length is wanted here; several are what kvcap sweep is for");
    }
    side.tokens = points.front();
    const Lengths lengths = options.lengths.lengths(side.tokens, side.model.read);
    const u64 sequences = options.lengths.sequences();
    side.per_token = value_of(bytes_per_token(side.model.spec), text);
    const Spread spread = value_of(over_ranks(side.model.spec, lengths, side.split), text);
    const u64 engines = u64{options.sharding.dp} * (options.sharding.dp_attention ? options.sharding.tp : 1);
    const u64 fullest = ceil_div(sequences, engines);  // whole requests are dealt
    side.per_rank = on_scale(value_of(fullest_rank(side.model.spec, lengths, side.split, fullest), text));
    side.whole = value_of(fold(side.model.spec, lengths), text);
    side.whole = {side.whole.growing * sequences, side.whole.bounded * sequences,
                  side.whole.state * sequences, side.whole.cross * sequences, side.whole.once};
    side.copies = spread.unique.value == 0
                      ? 1
                      : static_cast<double>(spread.stored.value) / static_cast<double>(spread.unique.value);
    return side;
}

std::string ratio_words(const Side& side, const Side& first) {
    if (first.per_rank.value == 0) {
        return "-";
    }
    return report::factor(static_cast<double>(side.per_rank.value) /
                          static_cast<double>(first.per_rank.value));
}

std::string screen_of(const std::vector<Side>& sides, report::Unit unit) {
    using A = report::Align;
    report::Table table{{A::left, A::right, A::right, A::right, A::right, A::right}};
    table.row({"", "a token", "grows", "constant", "a rank", "of first"});
    for (const Side& side : sides) {
        table.row({fmt::format("{} {}{}", side.model.label, side.model.dtype,
                               side.split.tp == 1 ? "" : fmt::format(" TP {}", side.split.tp)),
                   report::exact(side.per_token), report::amount(side.whole.growing, unit),
                   report::amount(side.whole.bounded + side.whole.cross + side.whole.state, unit),
                   report::amount(side.per_rank, unit), ratio_words(side, sides.front())});
    }
    std::string out = table.text();
    for (const Side& side : sides) {
        out += paragraph(fmt::format(
                   "{}: {}{}", side.model.label, layers_line(side.model.spec, side.model.read.shared),
                   side.copies > 1 ? fmt::format("; each byte {} over the ranks", report::factor(side.copies))
                                   : "")) +
               '\n';
    }
    return out;
}

std::string json_of(const std::vector<Side>& sides) {
    report::Json json;
    json.object().field("schema", "kvcap.compare/1").array("sides");
    for (const Side& side : sides) {
        json.object()
            .field("model", side.model.label)
            .field("spec", spec_line(side.model.spec, side.model.read.shared));
        json.field("kv_cache_dtype", side.model.dtype).field("tp", side.split.tp).field("pp", side.split.pp);
        json.field("tokens", side.tokens).field("bytes_per_token", side.per_token);
        json.field("growing_bytes", side.whole.growing).field("bounded_bytes", side.whole.bounded);
        json.field("state_bytes", side.whole.state).field("cross_bytes", side.whole.cross);
        json.field("fullest_rank_bytes", side.per_rank).field("stored_over_unique", side.copies, 6).end();
    }
    return json.end().end().text();
}

void run(const CompareOptions& options, Session& session) {
    options.output.begin(session);
    std::vector<Side> sides;
    Bytes largest_shown{};
    for (const std::string& text : options.models) {
        sides.push_back(side_of(text, options));
        largest_shown = std::max(largest_shown, sides.back().whole.total());
    }
    if (options.output.json) {
        return session.print(json_of(sides));
    }
    const std::string head =
        fmt::format("held bytes of {} of {} tokens\n",
                    report::counted(options.lengths.sequences(), "sequence", "sequences"),
                    report::grouped(sides.front().tokens));
    session.print(head + screen_of(sides, options.output.unit_for(largest_shown)));
}

}  // namespace

void add_compare(CLI::App& app, Session& session) {
    const auto options = std::make_shared<CompareOptions>();
    CLI::App* verb = app.add_subcommand("compare", "Models, or settings of one model, side by side");
    verb->add_option("MODEL", options->models, "MODEL, MODEL@DTYPE or MODEL@DTYPE@tp=N, two or more")
        ->required()
        ->expected(2, 64)
        ->type_name("");
    options->lengths.add_to(*verb);
    options->sharding.add_to(*verb);
    options->output.add_to(*verb, false);
    verb->footer(
        "Examples:\n"
        "  kvcap compare deepseek-v3 llama-3.1-70b gemma-3-27b --tokens 128k\n"
        "  kvcap compare deepseek-v3 deepseek-v3@fp8_ds_mla deepseek-v3@fp8@tp=8 --tokens 32k");
    verb->callback([options, &session] { run(*options, session); });
}

}  // namespace kvcap::cli
