// SPDX-License-Identifier: MIT
// The screen of kvcap simulate: curves side by side, tiers, splits, and by which rules they hold.
#include "screen.hpp"
#include "simulate.hpp"

#include <algorithm>
#include <kvcap/report/plot.hpp>

namespace kvcap::cli {

namespace {

std::string percent(double ratio) {
    return fmt::format("{:.2f}%", 100 * ratio);
}

std::string size_words(u64 bytes) {
    return bytes == 0 ? "-" : report::binary_bytes(static_cast<double>(bytes)).size() < 9
                                  ? report::binary_bytes(static_cast<double>(bytes))
                                  : report::amount({bytes}, {"GiB", u64{1} << 30});
}

std::string column_name(const CurveAnswer& answer, std::size_t at) {
    return fmt::format("[{}]", at + 1) + (answer.exact ? "" : "*");
}

std::string legend(const std::vector<CurveAnswer>& answers, const Simulation& run) {
    std::string out;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const CurveAnswer& a = answers[i];
        std::string objects;
        const auto add = [&](u64 bytes, const std::string& what) {
            objects += bytes == 0 ? "" : (objects.empty() ? "" : ", ") + what + ' ' + report::exact({bytes});
        };
        add(a.sizes.page, "page");
        for (const TailClass& tail : a.sizes.tails) {
            const std::string first = tail.sinks == 0 ? "" : fmt::format(", first {}", tail.sinks);
            add(tail.bytes, tail.period == 0 ? fmt::format("window block (last {}{})", tail.need, first)
                                             : fmt::format("chunk block (own chunk of {})", tail.period));
        }
        add(a.sizes.snapshot, "snapshot");
        out += paragraph(fmt::format("  [{}]{} {}, {}{}: {}", i + 1, a.exact ? "" : "*", a.model, a.policy,
                                     run.engine_like && !a.sizes.only_pages() ? ", engine-like" : "", objects)) + '\n';
    }
    return out;
}

std::string curves_table(const std::vector<CurveAnswer>& answers, const Simulation& run) {
    using Cells = std::vector<std::string>;
    report::Table table{std::vector<report::Align>(answers.size() + 1, report::Align::right)};
    Cells head{"capacity"};
    for (std::size_t i = 0; i < answers.size(); ++i) {
        head.push_back(column_name(answers[i], i));
    }
    table.row(head);
    for (std::size_t p = 0; p < run.capacities.size(); ++p) {
        Cells cells{size_words(run.capacities[p])};
        for (const CurveAnswer& a : answers) {
            const CurvePoint& point = a.points[p];
            cells.push_back(percent(point.ratio) +
                            (point.error > 0 ? fmt::format(" +-{:.2f}", 100 * point.error) : "") +
                            (point.trustworthy ? "" : " ?"));
        }
        table.row(cells);
    }
    const auto row = [&](const std::string& name, auto value) {
        Cells cells{name};
        for (const CurveAnswer& a : answers) {
            cells.push_back(value(a));
        }
        table.row(cells);
    };
    row("no limit", [](const CurveAnswer& a) { return percent(a.reachable); });
    row("50% of it", [](const CurveAnswer& a) { return size_words(a.for_half); });
    row("90% of it", [](const CurveAnswer& a) { return size_words(a.for_ninety); });
    row("99% of it", [](const CurveAnswer& a) { return size_words(a.for_ninety_nine); });
    row("knee", [](const CurveAnswer& a) { return a.exact ? size_words(a.knee) : std::string{"-"}; });
    return table.text();
}

std::string tiers_table(const std::vector<CurveAnswer>& answers, const Simulation& run) {
    using enum report::Align;
    report::Table table{{left, left, right, right, right, right}};
    table.row({"", "tier", "hits from it", "loaded", "written", "mean load"});
    const report::Unit tib{"TiB", u64{1} << 40};
    for (std::size_t i = 0; i < answers.size(); ++i) {
        for (const TierPart& part : answers[i].tiers) {
            table.row({column_name(answers[i], i), part.name,
                       percent(static_cast<double>(part.hit_tokens) / static_cast<double>(run.trace.tokens())),
                       report::amount({part.loaded_bytes}, tib), report::amount({part.written_bytes}, tib),
                       part.load_seconds > 0 ? fmt::format("{:.1f} ms", 1000 * part.load_seconds) : "-"});
        }
    }
    return '\n' +
           paragraph("Tiers, each holding what the ones before it do not; loaded and written with all tiers so far:") +
           '\n' + table.text();
}

std::string splits_table(const std::vector<CurveAnswer>& answers) {
    using enum report::Align;
    report::Table table{{left, right, right, right, right}};
    table.row({"", "capacity", "one budget", "best of ten splits", "for snapshots"});
    bool any = false;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        for (const SplitPart& part : answers[i].splits) {
            any = true;
            table.row({column_name(answers[i], i), size_words(part.capacity), percent(part.shared), percent(part.best),
                       fmt::format("{}%", part.percent)});
        }
    }
    return any ? "\n" + table.text() : "";
}

std::string rules_words(const SimulateOptions& options, const Simulation& run) {
    return fmt::format(
        "Hit tokens of all prompt tokens. LRU of bytes over all objects; a request looks up first and at "
        "once, then touches the deepest block first and the root last; prompts are saved at the request's "
        "end, outputs are not; tail {}; the last token is {}; copies {}{}. Blocks that running requests pin "
        "are not "
        "modelled.",
        options.tail, run.rule.recompute_last ? "computed again" : "hit too", options.copies,
        options.replicas > 1 ? fmt::format(" x {} replicas", options.replicas) : "");
}

}  // namespace

void print_screen(const SimulateOptions& options, const Simulation& run, const std::vector<CurveAnswer>& answers,
                  const std::vector<Note>& notes, Session& session) {
    std::string out = paragraph(fmt::format(
                          "{}: {} requests, {} prompt tokens, {} block references, {} blocks of {} tokens",
                          options.trace, report::grouped(run.trace.requests.size()),
                          report::grouped(run.trace.tokens()), report::grouped(run.trace.ids.size()),
                          report::grouped(run.trace.distinct), report::grouped(run.trace.block_tokens))) +
                      '\n';
    out += legend(answers, run) + '\n' + curves_table(answers, run);
    const bool points = std::any_of(answers.begin(), answers.end(), [](const CurveAnswer& a) { return !a.exact; });
    if (run.sample_parts > 1) {
        u64 trees = off_scale;
        for (const CurveAnswer& a : answers) {
            trees = smaller(trees, a.trees);
        }
        out += paragraph(fmt::format(
                   "* from 1/{} of the trees ({}), with the standard error of ten parts; ? = too small for "
                   "a request once scaled{}.",
                   run.sample_parts, report::grouped(trees),
                   trees < trustworthy_sample_trees ? "; 10,000 trees or more are advised" : "")) +
               '\n';
    } else if (points) {
        out += paragraph(
                   "* replays of single capacities: nothing between them is claimed, and hits may fall as a "
                   "store "
                   "grows.") +
               '\n';
    }
    out += run.tiers.empty() || run.sample_parts > 1 ? "" : tiers_table(answers, run);
    out += splits_table(answers) + '\n' + session.dim(paragraph(rules_words(options, run))) + '\n';
    session.print(out + notes_text(notes, false, session));
}

}  // namespace kvcap::cli
