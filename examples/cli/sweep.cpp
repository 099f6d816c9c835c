// SPDX-License-Identifier: MIT
// kvcap sweep MODEL...: held bytes over lengths, splits and formats, as table, CSV, JSON or a picture.
#include "screen.hpp"

#include "options.hpp"

#include <kvcap/io/spec_line.hpp>
#include <kvcap/report.hpp>
#include <kvcap/report/plot.hpp>
#include <memory>

namespace kvcap::cli {

namespace {

struct SweepOptions {
    std::vector<std::string> models;
    std::string tokens = "1k:1m:x2";
    std::string tp = "1";
    std::string dtypes = "auto";
    std::string batch = "1";
    std::string per = "rank";
    std::string out = "table";
    bool json = false;
    bool csv = false;
    std::string level;
};

/// One line of the sweep: a model in one format on one split, at every length.
struct Line {
    std::string model;
    std::string full_name;
    std::string asked_dtype;
    std::string dtype;
    u32 tp = 1;
    std::vector<Bytes> held;
};

/// "1k:1m:x2", "8k:64k:+8k", or a list.
std::vector<u64> lengths_of(const std::string& text) {
    const std::size_t first = text.find(':');
    if (first == std::string::npos) {
        return counts_of(text, "--tokens");
    }
    const std::size_t second = text.find(':', first + 1);
    const std::string step = second == std::string::npos ? "x2" : text.substr(second + 1);
    const u64 low = count_of(text.substr(0, first), "--tokens");
    const u64 high = count_of(
        text.substr(first + 1, second == std::string::npos ? second : second - first - 1), "--tokens");
    const bool times = !step.empty() && step[0] == 'x';
    const bool plus = !step.empty() && step[0] == '+';
    const u64 by = times || plus ? count_of(step.substr(1), "--tokens") : 0;
    if (low == 0 || low > high || (times && by < 2) || (plus && by == 0) || !(times || plus)) {
        stop(Exit::usage,
             fmt::format("--tokens: '{}' is no range; wanted LOW:HIGH:xFACTOR or LOW:HIGH:+STEP, as 1k:1m:x2",
                         text));
    }
    std::vector<u64> points;
    for (u64 n = low; n <= high; n = times ? n * by : n + by) {
        points.push_back(n);
        if (points.size() > 1'000'000) {
            stop(Exit::usage, fmt::format("--tokens: '{}' gives more than 1,000,000 lengths", text));
        }
    }
    return points;
}

Bytes held_at(const Model& model, u64 tokens, const Sharding& split, u64 sequences, bool whole) {
    const Lengths lengths{.prompt = {tokens}, .encoder = {model.read.encoder_tokens}};
    const Footprint held =
        value_of(whole ? fold(model.spec, lengths) : fold(model.spec, lengths, split), model.label);
    return on_scale(held.per_sequence() * sequences);
}

std::vector<Line> lines_of(const SweepOptions& options, const std::vector<u64>& points, Session& session) {
    const u64 sequences = count_of(options.batch, "--batch");
    if (sequences == 0) {
        stop(Exit::usage, "--batch: 0 sequences hold nothing; at least 1 is wanted");
    }
    const bool whole = options.per == "model";
    if (!whole && options.per != "rank") {
        stop(Exit::usage, fmt::format("--per: {} is neither rank nor model", options.per));
    }
    std::vector<Line> lines;
    for (const std::string& name : options.models) {
        for (const std::string& dtype : parts_of(options.dtypes)) {
            const Model model = load({.model = name, .kv_cache_dtype = dtype});
            for (const u64 tp : counts_of(options.tp, "--tp")) {
                const Sharding split{.tp = static_cast<u32>(smaller(tp, 65536))};
                const Result<Footprint> possible = fold(model.spec, {.prompt = {1}}, split);
                if (!possible) {
                    session.remark(fmt::format("{} at --tp {} is left out: {}", model.label, tp,
                                               report::text_of(possible.error())));
                    continue;
                }
                Line line{.model = model.label, .full_name = full_name(model), .asked_dtype = dtype,
                          .dtype = model.dtype, .tp = split.tp, .held = {}};
                for (const u64 tokens : points) {
                    line.held.push_back(held_at(model, tokens, split, sequences, whole));
                }
                lines.push_back(std::move(line));
            }
        }
    }
    return lines;
}

std::string title_of(const Line& line) {
    return fmt::format("{} {}{}", line.model, line.dtype, line.tp == 1 ? "" : fmt::format(" TP {}", line.tp));
}

/// How many lines stand beside each other in 80 columns, from the line `from` on: at least one, at most three.
std::size_t beside(const std::vector<Line>& lines, std::size_t from) {
    std::size_t width = 2 + std::size_t{13};
    std::size_t many = 0;
    while (from + many < lines.size() && many < 3) {
        width += 2 + std::max<std::size_t>(title_of(lines[from + many]).size(), 12);
        if (many != 0 && width > 80) {
            break;
        }
        ++many;
    }
    return many;
}

std::string table_of(const std::vector<Line>& lines, const std::vector<u64>& points) {
    std::string out;
    for (std::size_t from = 0, to = 0; from < lines.size(); from = to) {
        to = from + beside(lines, from);
        report::Table table{std::vector<report::Align>(to - from + 1, report::Align::right)};
        std::vector<std::string> head{"tokens"};
        for (std::size_t i = from; i < to; ++i) {
            head.push_back(title_of(lines[i]));
        }
        table.row(head);
        for (std::size_t p = 0; p < points.size(); ++p) {
            std::vector<std::string> cells{report::grouped(points[p])};
            for (std::size_t i = from; i < to; ++i) {
                cells.push_back(report::amount(lines[i].held[p]));
            }
            table.row(cells);
        }
        out += (from == 0 ? "" : "\n") + table.text();
    }
    return out;
}

std::string csv_of(const std::vector<Line>& lines, const std::vector<u64>& points) {
    std::string out = "model,kv_cache_dtype,tp,tokens,held_bytes\n";
    for (const Line& line : lines) {
        for (std::size_t p = 0; p < points.size(); ++p) {
            out += report::csv_line({line.model, line.dtype, std::to_string(line.tp),
                                     std::to_string(points[p]), std::to_string(line.held[p].value)});
        }
    }
    return out;
}

std::string json_of(const std::vector<Line>& lines, const std::vector<u64>& points,
                    const SweepOptions& options) {
    report::Json json;
    json.object().field("schema", "kvcap.sweep/1").field("per", options.per);
    json.field("sequences", count_of(options.batch, "--batch")).array("tokens", report::Layout::flat);
    for (const u64 n : points) {
        json.item(n);
    }
    json.end().array("lines");
    for (const Line& line : lines) {
        json.object().field("model", line.full_name).field("kv_cache_dtype", line.dtype);
        json.field("kv_cache_dtype_asked", line.asked_dtype).field("tp", line.tp);
        json.array("held_bytes", report::Layout::flat);
        for (const Bytes held : line.held) {
            json.item(held);
        }
        json.end().end();
    }
    return json.end().end().text();
}

std::string svg_of(const std::vector<Line>& lines, const std::vector<u64>& points,
                   const SweepOptions& options) {
    const std::string of = report::counted(count_of(options.batch, "--batch"), "sequence", "sequences");
    report::Plot plot{options.per == "model" ? "KV cache of " + of + ", each byte once"
                                             : "KV cache of " + of + ", held on each rank",
                      {"tokens of a sequence", true, 2, report::binary_count},
                      {"bytes held", true, 2, report::binary_bytes}};
    for (const Line& line : lines) {
        report::Series series{title_of(line), {}};
        for (std::size_t p = 0; p < points.size(); ++p) {
            series.points.emplace_back(static_cast<double>(points[p]),
                                       static_cast<double>(line.held[p].value));
        }
        plot.add(std::move(series));
    }
    if (!options.level.empty()) {
        plot.level(options.level, static_cast<double>(bytes_of(options.level, "--level").value));
    }
    return plot.svg();
}

/// --out, or its short forms --json and --csv.
std::string form_of(const SweepOptions& options) {
    if (options.json && options.csv) {
        stop(Exit::usage, "--json and --csv; wanted one of them");
    }
    const std::string form = options.json ? "json" : options.csv ? "csv" : options.out;
    if (form != options.out && options.out != "table") {
        stop(Exit::usage, fmt::format("--{} and --out {}; wanted one of them", form, options.out));
    }
    return form;
}

void run(const SweepOptions& options, Session& session) {
    const std::string form = form_of(options);
    if (!options.level.empty() && form != "svg") {
        stop(Exit::usage, "--level: a line across the picture; wanted --out svg as well");
    }
    const std::vector<u64> points = lengths_of(options.tokens);
    const std::vector<Line> lines = lines_of(options, points, session);
    if (lines.empty()) {
        stop(Exit::usage, "nothing is left to sweep");
    }
    if (form == "table") {
        session.print(table_of(lines, points));
    } else if (form == "csv") {
        session.print(csv_of(lines, points));
    } else if (form == "json") {
        session.print(json_of(lines, points, options));
    } else if (form == "svg") {
        session.print(svg_of(lines, points, options));
    } else {
        stop(Exit::usage, fmt::format("--out: {} is none of table, csv, json, svg", options.out));
    }
}

}  // namespace

void add_sweep(CLI::App& app, Session& session) {
    const auto options = std::make_shared<SweepOptions>();
    CLI::App* verb =
        app.add_subcommand("sweep", "Held bytes over lengths, splits and formats; also as a picture");
    verb->add_option("MODEL,-m,--model", options->models, "Names, HF ids, files or spec lines")
        ->required()
        ->type_name("");
    verb->add_option("--tokens", options->tokens, "LOW:HIGH:xFACTOR, LOW:HIGH:+STEP, or a list")
        ->capture_default_str()->check(filled());
    verb->add_option("--tp", options->tp, "Tensor ranks, a list")->capture_default_str();
    verb->add_option("--dtype,--kv-cache-dtype", options->dtypes, "KV formats, a list")
        ->capture_default_str();
    verb->add_option("--batch", options->batch, "Sequences of that length")->capture_default_str();
    verb->add_option("--per", options->per, "rank, or model (each byte once)")->capture_default_str();
    verb->add_option("--out", options->out, "table, csv, json or svg")->capture_default_str();
    verb->add_flag("--json", options->json, "The same as --out json");
    verb->add_flag("--csv", options->csv, "The same as --out csv");
    verb->add_option("--level", options->level, "A line across the picture: 80GiB");
    verb->footer(
        "Examples:\n"
        "  kvcap sweep deepseek-v3 --tokens 1k:1m:x2 --tp 1,8\n"
        "  kvcap sweep deepseek-v3 gemma-3-27b qwen3-next-80b-a3b --out svg > growth.svg\n"
        "  kvcap sweep llama-3.1-70b --dtype bf16,fp8 --tokens 8k,32k,128k --out csv");
    verb->callback([options, &session] { run(*options, session); });
}

}  // namespace kvcap::cli
