// SPDX-License-Identifier: MIT
// kvcap doctor LOG: what did the engine print, what does it mean, and does it agree with the engine's rules?
#include "doctor_facts.hpp"
#include "doctor_predict.hpp"
#include "doctor_target.hpp"
#include "options.hpp"
#include "screen.hpp"

#include <kvcap/report/diagnose/implausible.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

namespace kvcap::cli {

namespace {

struct DoctorOptions {
    std::string log = "-";
    std::string model;
    u64 findings = 12;
    Output output;
};

LogReading read(const std::string& path) {
    if (path == "-") {
        return read_log(std::cin);
    }
    std::error_code wrong;
    if (std::filesystem::is_directory(path, wrong)) {
        stop(Exit::bad_input, path + ": a folder; wanted a log file or -");
    }
    std::ifstream in{path, std::ios::binary};
    if (!in) {
        stop(Exit::bad_input, path + ": cannot be read; wanted a log file or -");
    }
    return read_log(in);
}

std::string heading(const report::Doctored& one, const Session& session) {
    const logs::Facts& facts = one.start.facts;
    std::string rest;
    for (const char* key : {"generation", "version", facts.has("model") ? "model" : "served_name", "arch"}) {
        rest += facts.has(key) ? "  " + facts.text(key) : "";
    }
    rest += one.start.service.empty() ? "" : "  (" + one.start.service + ")";
    const std::string folded = broken_paragraph(one.start.engine + rest);
    return session.bold(one.start.engine) + folded.substr(one.start.engine.size()) + '\n';
}

std::string finding_text(const report::Finding& finding, const Session& session) {
    const std::string gain =
        finding.gain_bytes > 0 ? fmt::format("  (+{:.2f} GiB)", finding.gain_bytes / report::gib) : "";
    std::string out = session.bold(finding.kind) + gain + '\n';
    const std::string where = lines_words(finding.lines);
    out += broken_paragraph(fmt::format("  {}: {}.{}", finding.seen, finding.meaning, where)) + '\n';
    return out + (finding.change.empty() ? "" : broken_paragraph("  -> " + finding.change) + '\n');
}

std::string plain(double value) {
    return value == std::floor(value) ? report::with_commas(value) : fmt::format("{:.2f}", value);
}

std::string span_words(double low, double high) {
    return low == high ? plain(low) : fmt::format("{} to {}", plain(low), plain(high));
}

/// "DP1: 429,344 tokens predicted, 429,344 printed"
std::string beside(const report::AlsoPredicted& one) {
    return fmt::format("{}{}{} {} predicted{}, {} printed{}", one.engine, one.engine.empty() ? "" : ": ",
                       span_words(one.low, one.high), figure_words(one.figure),
                       one.decides ? "" : " of what the share leaves", plain(one.printed),
                       one.agrees || one.decides ? "" : " (another build, or memory that no line prints)");
}

std::string prediction_text(const report::Prediction& prediction, const Session& session) {
    if (!prediction.asked) {
        return broken_paragraph("not predicted: " + prediction.reason) + '\n';
    }
    std::string text = fmt::format("{} for {}: {}", prediction.rules, prediction.model,
                                   beside({prediction.figure, prediction.engine, prediction.printed, prediction.low,
                                           prediction.high, prediction.agrees}));
    if (const auto& at_once = prediction.concurrency; at_once && !prediction.agrees) {
        text += fmt::format("; concurrency {} predicted, {:.2f} printed", span_words(at_once->low, at_once->high),
                            at_once->printed);
    }
    for (const report::AlsoPredicted& one : prediction.also) {
        text += "; " + beside(one);
    }
    text += prediction.agrees ? ": agrees" : ": DISAGREES";
    if (prediction.agrees && prediction.last_budget > prediction.first_budget) {
        text += fmt::format(" (budgets of {} to {} bytes give it)", report::with_commas(prediction.first_budget),
                            report::with_commas(prediction.last_budget));
    }
    text += prediction.reason.empty() ? "" : "; " + prediction.reason;
    return prediction.agrees ? broken_paragraph(text) + '\n' : session.warning(broken_paragraph(text)) + '\n';
}

/// "2 of 3 checks not made; the log lacks block_size_metrics, capacity_tokens_metrics"
std::string unchecked_text(const report::Checks& checks) {
    std::vector<std::string> names;
    for (const report::Unchecked& one : checks.unchecked) {
        for (const std::string& name : one.missing) {
            if (std::find(names.begin(), names.end(), name) == names.end()) {
                names.push_back(name);
            }
        }
    }
    const std::size_t all = checks.made.size() + checks.unchecked.size();
    return names.empty() ? "" : paragraph(fmt::format("{} of {} not made; the log lacks {}", checks.unchecked.size(),
                                                      report::counted(all, "check", "checks"),
                                                      fmt::join(names, ", "))) + '\n';
}

std::string screen(const report::Doctored& one, u64 most, const Session& session) {
    std::string out = heading(one, session) + stated_figures(one.start.facts) + '\n';
    for (const report::Check& check : one.checks.made) {
        if (!check.agrees()) {
            out += session.warning(
                       paragraph(fmt::format("DISAGREES: {}: {:.6g} printed, {:.6g} to {:.6g} expected{}", check.what,
                                             check.printed, check.low, check.high, lines_words(check.lines)))) +
                   '\n';
        }
    }
    out += unchecked_text(one.checks);
    out += prediction_text(one.prediction, session) + '\n';
    for (std::size_t i = 0; i < one.findings.size() && i < most; ++i) {
        out += finding_text(one.findings[i], session);
    }
    if (one.findings.size() > most) {
        out += fmt::format("{} more findings: --findings {}\n", one.findings.size() - most, one.findings.size());
    }
    return out;
}

report::Prediction not_asked(const report::Finding& odd) {
    report::Prediction none;
    none.reason = odd.seen + " cannot be: " + odd.meaning + lines_words(odd.lines);
    return none;
}

void run(const DoctorOptions& options, Session& session) {
    options.output.begin(session);
    LogReading reading = read(options.log);
    if (reading.starts.empty()) {
        stop(Exit::bad_input,
             fmt::format(
                 "{}: no line of an engine's start in {} lines; wanted a log of vLLM, SGLang, llama.cpp, ollama or "
                 "TensorRT-LLM, or its /metrics",
                 options.log, report::with_commas(static_cast<double>(reading.lines))));
    }
    std::vector<report::Doctored> all;
    for (LogStart& start : reading.starts) {
        report::Doctored one{.start = std::move(start)};
        one.findings = report::diagnose(one.start, token_bytes(one.start, options.model));
        if (auto copies = replication(one.start, options.model)) {
            one.findings.push_back(std::move(*copies));
            one.findings = report::by_gain(std::move(one.findings));
        }
        std::vector<report::Finding> odd = report::implausible(one.start);
        one.checks = report::checks_of(one.start);
        one.prediction = odd.empty() ? predict(one.start, options.model) : not_asked(odd.front());
        one.findings.insert(one.findings.begin(), odd.begin(), odd.end());
        session.exit = one.agrees() ? session.exit : Exit::does_not_fit;
        all.push_back(std::move(one));
    }
    if (options.output.json) {
        return session.print(report::doctor_json(all, reading.lines, reading.bytes));
    }
    for (const report::Doctored& one : all) {
        session.print(screen(one, options.findings, session));
    }
}

}  // namespace

void add_doctor(CLI::App& app, Session& session) {
    CLI::App* verb = app.add_subcommand("doctor", "What an engine's start-up log means");
    const auto options = std::make_shared<DoctorOptions>();
    verb->add_option("LOG", options->log, "A log file, or - for standard input")->type_name("");
    verb->add_option("-m,--model", options->model, "The model, where the log does not name it")->type_name("MODEL");
    verb->add_option("--findings", options->findings, "How many findings to show")
        ->capture_default_str()
        ->type_name("N");
    options->output.add_to(*verb, false);
    verb->footer(
        "Example:\n  docker logs vllm 2>&1 | kvcap doctor -\n\nExit code 0 when printed and predicted agree, 1 when "
        "not.");
    verb->callback([options, &session] { run(*options, session); });
}

}  // namespace kvcap::cli
