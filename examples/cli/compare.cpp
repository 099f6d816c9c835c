// SPDX-License-Identifier: MIT
// kvcap compare A B ...: models, or one model in several settings, side by side.
#include "context_ranks.hpp"
#include "options.hpp"
#include "screen.hpp"

#include <algorithm>
#include <kvcap/io/spec_line.hpp>
#include <kvcap/report.hpp>
#include <memory>
#include <optional>

namespace kvcap::cli {

namespace {

struct CompareOptions {
    std::vector<std::string> models;
    ShardingOptions sharding;
    LengthOptions lengths;
    Output output;
    bool textbook = false;
    bool markdown = false;
};

/// One side: "NAME" or "NAME@fp8" (a KV format), "NAME@fp8@tp=8".
struct Side {
    std::string name{};  ///< the model's label; what was typed, where it has none
    Model model;
    std::string asked_dtype = "auto";
    Sharding split{};
    u64 tokens = 0;
    Bytes per_token{};
    Bytes per_rank{};
    Footprint whole{};
    double copies = 1;
    std::optional<Bytes> textbook{};  ///< 2 x layers x kv_heads x head_dim, as the file's top-level keys say
    std::string mistake{};
};

/// What the textbook formula says of the same sequences, and the mistake behind most of the difference.
void add_textbook(Side& side, const Lengths& lengths, u64 sequences) {
    const Bytes one = report::textbook_bytes(side.model.read.textbook, report::attention_formats(side.model.spec),
                                             (lengths.prompt + lengths.decoded).value);
    const Bytes book = on_scale(one * sequences);
    if (book.value == 0) {
        return;
    }
    side.textbook = book;
    const Bytes held = on_scale(side.whole.total());
    side.mistake = book == held
                       ? "the textbook is right here"
                       : report::costliest_mistake(side.model.read, side.model.spec, lengths, book > held);
}

Side side_of(const std::string& text, const CompareOptions& options) {
    std::vector<std::string> parts;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t sign = std::min(text.find('@', at), text.size());
        parts.push_back(text.substr(at, sign - at));
        at = sign + 1;
    }
    ModelOptions wanted{.model = parts[0]};
    Side side{.model = {}, .split = options.sharding.sharding()};
    std::string split_by;
    std::string stored_as;
    for (std::size_t i = 1; i < parts.size(); ++i) {
        std::string& before = parts[i].rfind("tp=", 0) == 0 ? split_by : stored_as;
        if (!before.empty() && before != parts[i]) {
            stop(Exit::usage, fmt::format("{}: @{} and @{} contradict each other", text, before, parts[i]));
        }
        before = parts[i];
        if (parts[i].rfind("tp=", 0) == 0) {
            side.split.tp = static_cast<u32>(smaller(count_of(parts[i].substr(3), text), 65536));
        } else if (parts[i].find('=') != std::string::npos) {
            stop(Exit::usage, fmt::format("{}: @{}: only @FORMAT and @tp=N are compared; other options hold for all",
                                          text, parts[i]));
        } else {
            wanted.kv_cache_dtype = parts[i];
        }
    }
    side.model = load(wanted);
    side.asked_dtype = wanted.kv_cache_dtype;
    side.name = side.model.label.empty() ? parts[0] : side.model.label;
    const std::vector<u64> points = options.lengths.points(side.model.read);
    if (points.size() != 1) {
        stop(Exit::usage, "--tokens: one length is wanted here; several are what kvcap sweep is for");
    }
    side.tokens = points.front();
    const Lengths lengths = options.lengths.lengths(side.tokens, side.model.read);
    const u64 sequences = options.lengths.sequences();
    side.per_token = value_of(bytes_per_token(side.model.spec), text);
    const Spread spread = value_of(over_ranks(side.model.spec, lengths, side.split), text);
    refuse_attention_ranks(options.sharding);
    const u64 engines = u64{options.sharding.dp} * (options.sharding.dp_attention ? options.sharding.tp : 1);
    const u64 fullest = ceil_div(sequences, engines);  // whole requests are dealt
    side.per_rank = on_scale(value_of(fullest_rank(side.model.spec, lengths, side.split, fullest), text));
    side.whole = value_of(fold(side.model.spec, lengths), text);
    side.whole = {side.whole.growing * sequences, side.whole.bounded * sequences,
                  side.whole.state * sequences, side.whole.cross * sequences, side.whole.once};
    add_textbook(side, lengths, sequences);
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

std::string title_of(const Side& side) {
    return fmt::format("{} {}{}", side.name, side.model.dtype,
                       side.split.tp == 1 ? "" : fmt::format(" TP {}", side.split.tp));
}

bool is_split(const Side& side) {
    return side.per_rank != on_scale(side.whole.total());
}

/// The format and the split only where the name alone does not say which side it is.
std::string textbook_name(const Side& side, const std::vector<Side>& sides) {
    const auto same = std::count_if(sides.begin(), sides.end(),
                                    [&](const Side& other) { return other.name == side.name; });
    return same > 1 || side.asked_dtype != "auto" || is_split(side) ? title_of(side) : side.name;
}

std::string why_of(const Side& side) {
    return side.textbook ? side.mistake : "no config.json to read the formula's numbers from";
}

/// Textbook, truth, and the mistake; a spec line has no textbook. numbered: names and mistakes stand below.
report::Table textbook_table(const std::vector<Side>& sides, report::Unit unit, bool markdown,
                             bool numbered = false) {
    using A = report::Align;
    const bool split = std::any_of(sides.begin(), sides.end(), is_split);
    std::vector<A> columns{A::left, A::right, A::right, A::right, A::left};
    columns.insert(columns.begin() + 4, split ? 1 : 0, A::right);
    report::Table table{columns};
    const auto row = [&](report::Table::Cells cells, const std::string& rank) {
        cells.insert(cells.begin() + 4, split ? 1 : 0, rank);
        table.row(std::move(cells));
    };
    row({markdown ? "model" : "", "textbook", "held", "off by", numbered ? "" : "why"}, "a rank");
    for (const Side& side : sides) {
        const double times =
            !side.textbook || side.whole.total().value == 0
                ? 0
                : static_cast<double>(side.textbook->value) / static_cast<double>(side.whole.total().value);
        row({numbered ? std::to_string(&side - sides.data() + 1) : textbook_name(side, sides),
             side.textbook ? report::amount(*side.textbook, unit) : "-",
             report::amount(side.whole.total(), unit), times == 0 ? "-" : report::factor(times),
             numbered ? "" : why_of(side)},
            report::amount(side.per_rank, unit));
    }
    return table;
}

std::string textbook_text(const std::vector<Side>& sides, report::Unit unit) {
    std::string titled = textbook_table(sides, unit, false).text();
    if (widest_line(titled) <= 80) {
        return titled;
    }
    std::string out = textbook_table(sides, unit, false, true).text();
    for (const Side& side : sides) {
        out += paragraph(fmt::format("{}  {}: {}", &side - sides.data() + 1, textbook_name(side, sides),
                                     why_of(side))) +
               '\n';
    }
    return out;
}

/// numbered: with numbers for titles, which the lines below explain.
report::Table sides_table(const std::vector<Side>& sides, report::Unit unit, bool markdown, bool numbered = false) {
    using A = report::Align;
    report::Table table{{A::left, A::right, A::right, A::right, A::right, A::right}};
    table.row({markdown ? "model" : "", "a token", "grows", "constant", "a rank", "of first"});
    for (const Side& side : sides) {
        table.row({numbered ? std::to_string(&side - sides.data() + 1) : title_of(side),
                   report::exact(side.per_token), report::amount(side.whole.growing, unit),
                   report::amount(side.whole.bounded + side.whole.cross + side.whole.state, unit),
                   report::amount(side.per_rank, unit), ratio_words(side, sides.front())});
    }
    return table;
}

std::string layers_text(const std::vector<Side>& sides, bool numbered) {
    std::string out;
    for (const Side& side : sides) {
        if (!numbered && side.model.label.empty() && side.copies <= 1) {
            continue;  // the name is the layers
        }
        const std::string name =
            numbered ? fmt::format("{}  {}", &side - sides.data() + 1, title_of(side)) : side.name;
        const std::string layers =
            side.model.label.empty() ? "" : ": " + layers_line(side.model.spec, side.model.read.shared);
        out += paragraph(name + layers +
                         (side.copies > 1
                              ? fmt::format("; each byte {} over the ranks", report::factor(side.copies))
                              : "")) +
               '\n';
    }
    return out;
}

std::string json_of(const std::vector<Side>& sides) {
    report::Json json;
    json.object().field("schema", "kvcap.compare/1").array("sides");
    for (const Side& side : sides) {
        json.object();
        write_model(json, side.model, side.asked_dtype);
        json.field("tp", side.split.tp).field("pp", side.split.pp);
        json.field("tokens", side.tokens).field("bytes_per_token", side.per_token);
        json.field("growing_bytes", side.whole.growing).field("bounded_bytes", side.whole.bounded);
        json.field("state_bytes", side.whole.state).field("cross_bytes", side.whole.cross);
        json.field("fullest_rank_bytes", side.per_rank).field("stored_over_unique", side.copies, 6);
        if (side.textbook) {
            json.field("textbook_bytes", *side.textbook).field("textbook_mistake", side.mistake);
        }
        json.end();
    }
    return json.end().end().text();
}

void run(const CompareOptions& options, Session& session) {
    options.output.begin(session);
    std::vector<Side> sides;
    Bytes largest_shown{};
    for (const std::string& text : options.models) {
        sides.push_back(side_of(text, options));
        const Bytes shown = sides.back().whole.total();
        largest_shown = std::max(
            {largest_shown, shown, options.textbook ? sides.back().textbook.value_or(shown) : shown});
    }
    if (options.output.json) {
        return session.print(json_of(sides));
    }
    const std::string head =
        fmt::format("held bytes of {} of {} tokens\n",
                    report::counted(options.lengths.sequences(), "sequence", "sequences"),
                    report::grouped(sides.front().tokens));
    const report::Unit unit = options.output.unit_for(largest_shown);
    if (options.markdown) {
        return session.print((options.textbook ? textbook_table(sides, unit, true) : sides_table(sides, unit, true))
                                 .markdown());
    }
    if (options.textbook) {
        return session.print(head + textbook_text(sides, unit));
    }
    const std::string titled = sides_table(sides, unit, false).text();
    const bool numbered = widest_line(titled) > 80;
    session.print(head + (numbered ? sides_table(sides, unit, false, true).text() : titled) +
                  layers_text(sides, numbered));
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
    verb->add_flag("--textbook", options->textbook,
                   "2 x layers x heads x head_dim against the truth, and why they differ");
    verb->add_flag("--markdown", options->markdown, "The table as Markdown, to paste");
    verb->footer(
        "Examples:\n"
        "  kvcap compare deepseek-v3 llama-3.1-70b gemma-3-27b --tokens 128k\n"
        "  kvcap compare deepseek-v3 deepseek-v3@fp8_ds_mla deepseek-v3@fp8@tp=8 --tokens 32k");
    verb->callback([options, &session] { run(*options, session); });
}

}  // namespace kvcap::cli
