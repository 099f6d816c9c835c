// SPDX-License-Identifier: MIT
// The answer of kvcap simulate as JSON, and as a picture.
#include "simulate.hpp"

#include <algorithm>
#include <kvcap/report/plot.hpp>

namespace kvcap::cli {

namespace {

void add_curve(report::Json& json, const CurveAnswer& a, const Simulation& run) {
    json.object().field("model", a.model).field("policy", a.policy).field("exact", a.exact);
    json.field("engine_like", run.engine_like && !a.sizes.only_pages()).object("object_bytes", report::Layout::flat);
    json.field("page", a.sizes.page).field("snapshot", a.sizes.snapshot).array("window_blocks");
    for (const TailClass& tail : a.sizes.tails) {
        json.object().field("bytes", tail.bytes).field("needed", tail.need).field("chunk", tail.period);
        json.field("sinks", tail.sinks).end();
    }
    json.end().end().field("reachable_tokens", a.reachable_tokens).field("reachable", a.reachable, 6);
    json.field("bytes_for_50", a.for_half).field("bytes_for_90", a.for_ninety).field("bytes_for_99", a.for_ninety_nine);
    json.field("knee_bytes", a.knee).array("points");
    for (const CurvePoint& point : a.points) {
        json.object({}, report::Layout::flat).field("bytes", point.capacity).field("hit_ratio", point.ratio, 6);
        json.field("standard_error", point.error, 6).field("trustworthy", point.trustworthy).end();
    }
    json.end().array("line", report::Layout::flat);
    for (const auto& [bytes, hit] : a.line) {
        json.array().item(static_cast<u64>(bytes)).field({}, hit, 6).end();
    }
    json.end().array("tiers");
    for (const TierPart& part : a.tiers) {
        json.object({}, report::Layout::flat).field("name", part.name).field("capacity_bytes", part.capacity);
        json.field("hit_tokens", part.hit_tokens).field("loaded_bytes", part.loaded_bytes);
        json.field("written_bytes", part.written_bytes).field("mean_load_seconds", part.load_seconds, 6).end();
    }
    json.end().array("splits");
    for (const SplitPart& part : a.splits) {
        json.object({}, report::Layout::flat)
            .field("capacity_bytes", part.capacity)
            .field("one_budget", part.shared, 6);
        json.field("best_split", part.best, 6).field("snapshot_percent", part.percent).end();
    }
    json.end().end();
}

}  // namespace

std::string json_of(const SimulateOptions& options, const Simulation& run, const std::vector<CurveAnswer>& answers) {
    report::Json json;
    json.object().field("schema", "kvcap.simulate/1").object("trace");
    json.field("path", options.trace)
        .field("requests", run.trace.requests.size())
        .field("prompt_tokens", run.trace.tokens());
    json.field("block_references", run.trace.ids.size()).field("distinct_blocks", run.trace.distinct);
    json.field("block_tokens", run.trace.block_tokens).field("prefix_forest", run.is_forest).end();
    json.object("rules", report::Layout::flat).field("eviction", "lru").field("tail", options.tail);
    json.field("recompute_last", run.rule.recompute_last).field("copies", options.copies).end();
    json.array("curves");
    for (const CurveAnswer& answer : answers) {
        add_curve(json, answer, run);
    }
    return json.end().end().text();
}

std::string svg_of(const std::vector<CurveAnswer>& answers) {
    const bool one_policy = std::all_of(answers.begin(), answers.end(), [&](const CurveAnswer& a) {
        return a.policy == "pages" || a.policy == answers.back().policy;
    });
    const std::string policy = one_policy && answers.back().policy != "pages" ? " (" + answers.back().policy + ")" : "";
    report::Plot plot{"Hit tokens against the size of the store" + policy,
                      {"bytes stored", true, 2, report::binary_bytes},
                      {"hit tokens, % of all prompt tokens", false, 10, report::plain_number}};
    double most = 0;
    for (const CurveAnswer& answer : answers) {
        most = answer.line.empty() ? most : std::max(most, answer.line.back().first);
    }
    for (const CurveAnswer& answer : answers) {
        const std::size_t cut = answer.model.size() > 26 ? answer.model.rfind('-', 25) : std::string::npos;
        const std::string name = answer.model.substr(0, std::min<std::size_t>(cut, 26));  // no half words
        report::Series series{answer.policy == "pages" || one_policy ? name : name + ", " + answer.policy, {}};
        for (const auto& [bytes, hit] : answer.line) {
            series.points.emplace_back(bytes, 100 * hit);
        }
        if (answer.exact && !answer.line.empty()) {
            series.points.emplace_back(most, 100 * answer.reachable);
        }
        plot.add(std::move(series));
    }
    return plot.svg();
}

}  // namespace kvcap::cli
