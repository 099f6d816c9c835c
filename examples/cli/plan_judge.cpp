// SPDX-License-Identifier: MIT
// plan --launch: what a line's engine says of it on this GPU, as a screen and as JSON (kvcap.launch/1).
#include "plan.hpp"
#include "screen.hpp"

#include <kvcap/report.hpp>
#include <kvcap/report/launch.hpp>

namespace kvcap::cli {

namespace {

/// What the line says, or its engine's defaults, is said once.
void refuse_beside_line(const PlanOptions& options) {
    for (const char* flag : fixable) {
        if (options.fixes(flag)) {
            stop(Exit::usage,
                 fmt::format("{} and --launch: the line says it, or the engine's default", flag));
        }
    }
    const auto refuse = [](const std::string& name, bool given) {
        if (given) {
            stop(Exit::usage, fmt::format("--{} and --launch: an engine's flag belongs into its line", name));
        }
    };
    for (const auto& [name, value] : options.on.engine.values) {
        refuse(name, !value.empty());
    }
    for (const auto& [name, on] : options.on.engine.switches) {
        refuse(name, on);
    }
}

Bytes margin_of(const Verdict& verdict) {
    return verdict.fits ? verdict.spare_bytes : verdict.lacking_bytes;
}

std::string json_of(const Launch& launch, const Launched& got) {
    const EngineAnswer& answer = got.answer;
    report::Json json;
    json.object().field("schema", "kvcap.launch/1").field("engine", launch.engine);
    json.field("rules", answer.rules).field("model", launch.model).field("servers", launch.servers);
    write_split(json, {.tp = launch.tp, .pp = launch.pp, .cp = launch.cp}, launch.dp, launch.attention_dp);
    json.field("max_len", launch.tokens).field("sequences_of_a_rank", launch.sequences);
    json.field("kv_cache_dtype", launch.dtype);
    json.field("runs", answer.runs()).field("fits", answer.fits()).field("refusal", answer.refusal);
    json.field("margin_bytes", margin_of(answer.verdict)).field("line", report::launch_line(launch));
    report::write_notes(json, got.notes);
    return json.end().text();
}

std::string screen_of(const Launch& launch, const Launched& got, const Session& session) {
    const EngineAnswer& answer = got.answer;
    std::string out = heading(got.on.formats[0].model, answer.rules, session);
    out += paragraph(fmt::format(
               "TP {} PP {} CP {} DP {}{}: {} of {} tokens on each rank that holds requests", launch.tp,
               launch.pp, launch.cp, launch.dp, launch.attention_dp ? " attention-DP" : "",
               report::counted(got.on.sequences_of_one(got.setting), "request", "requests"),
               report::grouped(got.setting.tokens.value))) +
           '\n';
    out += answer.runs() ? fmt::format("{}, {} {}\n", answer.fits() ? "FITS" : "DOES NOT FIT",
                                       report::amount(margin_of(answer.verdict)),
                                       answer.verdict.fits ? "spare" : "lacking")
                         : paragraph("DOES NOT START: " + answer.refusal) + '\n';
    return out + notes_text(got.notes, false, session);
}

}  // namespace

void judge_line(const PlanOptions& options, Session& session) {
    refuse_beside_line(options);
    const Launch launch = value_of(read_launch(options.launch));
    const Launched got = evaluate(launch, options.on);
    session.exit = got.answer.fits() ? Exit::ok : Exit::does_not_fit;
    session.print(options.output.json ? json_of(launch, got) : screen_of(launch, got, session));
}

}  // namespace kvcap::cli
