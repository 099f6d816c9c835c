// SPDX-License-Identifier: MIT
// What the parts of `kvcap reuse` share: its options, a question with everything that was evaluated for it,
// and how a model's groups become a question.
#pragma once

#include "engines.hpp"

#include <kvcap/io/scenario_view.hpp>
#include <kvcap/reuse/model_rules.hpp>

namespace kvcap::cli {

struct ReuseOptions {
    ModelOptions model;
    Output output;
    std::string prompt;
    std::string limit;
    std::string unit;
    std::string page;
    std::string snapshot;
    std::string edge = "past";
    std::vector<std::string> held;
    EngineOptions engine;
    ShardingOptions sharding;
    std::string budget;
    std::string max_len;
    std::string prompts;
    bool explain = false;
    bool steps = false;
};

/// Everything that was evaluated; screens and JSON only read it.
struct Answered {
    const ReuseScenario& scenario;
    ScenarioView view;
    Explanation known;
    std::vector<RepairStep> steps{};
    Repairs repairs{};
    bool priced = false;

    explicit Answered(const ReuseScenario& asked);
    const ScenarioGroup& group(u32 g) const { return scenario.groups[view.index[g]]; }
};

std::string groups_table(const Answered& answered, bool all);
std::string verdict(const Answered& answered);
std::string staircase(const Answered& answered, bool all);
std::string json_of(const Answered& answered);
/// Small amounts exactly, others also in a unit that suits them.
std::string bytes_words(u64 bytes);

ModelRules rules_for(const ReuseOptions& options, const Model& model);
/// What must be there to skip p tokens, in words or as JSON.
std::string explanation(const Model& model, const ModelRules& rules, const Session& session);
std::string explanation_json(const ModelRules& rules);
/// "needs", "page_tokens", "reach_tokens" and "sink_tokens" of a group.
void write_rule(report::Json& json, const Rule& rule);
/// The groups of a model, for a prompt of --prompt tokens, with no page held.
ReuseScenario scenario_of(const ReuseOptions& options, const ModelRules& rules);
/// Sets the pages of --held, the limit and the unit.
void ask_with(const ReuseOptions& options, ReuseScenario& scenario);
/// A group of so many pages as the prompt has, none held.
void add_group(ReuseScenario& scenario, std::string name, const Rule& rule, u64 bytes);

/// Another engine's way (llamacpp: its server's), for presence or for a file of prompts.
void run_engine(const ReuseOptions& options, const std::optional<Diagnosed<ReuseScenario>>& scenario,
                Session& session);

}  // namespace kvcap::cli
