// SPDX-License-Identifier: MIT
// What vLLM printed: block sizes, padding, capacities, refusals, and the hits of a prompt sent twice.
#include "observations.hpp"
#include "vllm.hpp"

#include <algorithm>
#include <kvcap/engine/vllm/sim.hpp>

namespace golden {

namespace {

vllm::Rules rules_of(const std::string& name) {
    if (name.empty()) {
        return vllm::newest_rules;
    }
    const Result<vllm::Rules> rules = vllm::rules_named(name.c_str());
    if (!rules) {
        throw std::runtime_error("a version or date with known rules, not " + name);
    }
    return *rules;
}

struct Started {
    VllmCase from;
    vllm::Engine engine;
    vllm::Outcome outcome;
};

/// Starts the engine; without a budget with all the memory there is.
Started start(const Observation& asked) {
    Started to{.from = vllm_case(asked.options, StrictObject{asked.model}), .engine = {}, .outcome = {}};
    asked.options.ignore("repeat_prompt_tokens");
    const u64 budget = asked.has_budget ? asked.budget : u64{1} << 50;
    to.from.available.assign(to.from.sharding.pp, {budget});
    to.engine = {.options = to.from.options, .rules = rules_of(asked.rules)};
    to.outcome = to.engine.start(to.from.model, to.from.sharding,
                                 {to.from.available.data(), static_cast<u32>(to.from.available.size())});
    if (to.outcome.error.code != Errc::ok) {
        throw std::runtime_error("a model that can be planned");
    }
    return to;
}

void add_padding(Json& json, const vllm::Design& made) {
    for (const vllm::Spec& spec : made.layout.specs) {
        if (spec.kind == vllm::SpecKind::state && !json.contains("state_padding_bytes")) {
            const u64 own = spec.natural_page();
            const u64 added = spec.page() - own;
            json["state_padding_bytes"] = added;
            json["state_padding_percent_text"] =
                two_decimals(100.0 * static_cast<double>(added) / static_cast<double>(own));
        } else if (spec.kind != vllm::SpecKind::state && !json.contains("page_bytes")) {
            json["page_bytes"] = spec.page();
        }
    }
    for (const vllm::GroupKind& kind : made.grouping.kinds) {
        if (kind.padding != 0 && !json.contains("padding_layers")) {
            json["padding_layers"] = kind.padding;
            json["padding_layers_percent_text"] =
                two_decimals(static_cast<double>(kind.padding) / static_cast<double>(kind.caches) * 100.0);
        }
    }
}

/// Bytes of one request of the full length, on the worker that needs most.
u64 needed(const Started& from) {
    const vllm::Design& made = from.outcome.design;
    const vllm::Planning with{made.layout, made.grouping, made.options, from.engine.rules, made.load};
    u64 most = 0;
    for (u32 stage = 0; stage < made.layout.stages; ++stage) {
        const u64 bytes =
            vllm::request_bytes(with, from.outcome.sizing.uses[stage], stage, made.options.max_model_len);
        most = std::max(most, bytes);
    }
    return most;
}

/// Sends prompts twice to an idle server of ample memory.
Json repeated_hits(const Started& from, const Json& prompts) {
    const PoolPlan& plan = from.outcome.plan;
    vllm::SimOptions options{.step = from.engine.options.max_num_batched_tokens,
                             .scheduler_block = plan.scheduler_block,
                             .hash_block = plan.hash_block,
                             .speculative = from.engine.options.spec_tokens > 0,
                             .dense = !from.engine.rules.has(vllm::Change::zero_retention)};
    u64 longest = 0;
    for (const Json& n : prompts) {
        longest = std::max(longest, n.get<u64>());
    }
    for (const GroupClass& kind : plan.classes) {
        for (u32 g = 0; g < kind.groups; ++g) {
            options.groups.push_back({.kind = static_cast<vllm::SpecKind>(kind.kind),
                                      .mode = vllm::mode_of(from.engine.options),
                                      .block = kind.block,
                                      .span = kind.retention.span.value,
                                      .drafts = kind.draft});
            options.blocks += 4 * (longest / kind.block + 4);
        }
    }
    Json hits = Json::array();
    for (const Json& n : prompts) {
        vllm::Simulator simulator{options};
        vllm::SimRequest request;
        for (u64 i = 0; i < n.get<u64>(); ++i) {
            request.tokens.push_back(i);
        }
        simulator.run(request);
        hits.push_back(simulator.run(request).hit_tokens);
    }
    return hits;
}

Json answer(const Observation& asked) {
    const Started from = start(asked);
    const vllm::Outcome& outcome = from.outcome;
    Json json{{"block_size", outcome.design.blocks.block}};
    add_padding(json, outcome.design);
    json["needed_gib_2dp"] = scaled_text(needed(from), 30, 2);
    if (outcome.sizing.refusal.reason == vllm::Reason::not_enough_memory) {
        json["estimated_max_model_len"] = outcome.sizing.refusal.longest;
    }
    if (!outcome.runs()) {
        return json;
    }
    json["num_blocks"] = outcome.sizing.blocks;
    json["capacity_tokens"] = outcome.log.tokens;
    json["max_concurrency_text"] = two_decimals(outcome.log.concurrency);
    if (asked.options.has("repeat_prompt_tokens")) {
        const Json& prompts = asked.options.at("repeat_prompt_tokens");
        const Json hits = repeated_hits(from, prompts.is_array() ? prompts : Json::array({prompts}));
        json["hit_tokens"] = prompts.is_array() ? hits : hits[0];
    }
    return json;
}

u64 step(const Observation& asked) {
    const Started from = start(asked);
    return std::max<u64>(1, from.outcome.sizing.uses.empty() ? 1 : from.outcome.sizing.uses[0].per_block);
}

}  // namespace

extern const Observer vllm_observer{"vllm", answer, step};

}  // namespace golden
