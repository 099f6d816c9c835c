// SPDX-License-Identifier: MIT
// Variations of a deployment, each answered by its engine.
#include "deployment.hpp"

#include "context_ranks.hpp"

#include <algorithm>

namespace kvcap::cli {

u64 Deployment::sequences_of_one(const Setting& setting) const {
    const u64 engines = saturating_product(dp, setting.attention_dp ? setting.sharding.tp : 1);
    return ceil_div(setting.sequences, engines);
}

u64 context_limit(const Model& model) {
    return model.read.max_context != 0 ? model.read.max_context : u64{1} << 24;
}

const char* bound_of(u64 longest, const Model& model) {
    return longest < context_limit(model) ? "engine" : model.read.max_context != 0 ? "model" : "search";
}

Sharding attention_split(const Setting& setting) {
    Sharding split = setting.sharding;
    split.tp = setting.attention_dp ? 1 : split.tp;
    return split;
}

RankWeights Deployment::weights(const Setting& setting, u32 stage) const {
    if (memory.by_budget) {
        return {};
    }
    if (memory.weights_given) {
        return {memory.weights, "given"};
    }
    return weights_on_rank(weights_known, setting.sharding, setting.attention_dp, stage, face->name == "vllm");
}

RankWeights Deployment::most_weights(const Setting& setting) const {
    RankWeights most = weights(setting, 0);
    for (u32 stage = 1; stage < setting.sharding.pp; ++stage) {
        const RankWeights own = weights(setting, stage);
        most = most.bytes < own.bytes ? own : most;
    }
    return most;
}

std::vector<Bytes> Deployment::available(const Setting& setting, Bytes non_kv) const {
    Memory here = memory;
    if (setting.knob != 0 && knobs[setting.knob - 1].of_memory) {
        here.util = share_of(knobs[setting.knob - 1].values[setting.knob_value]);
    }
    std::vector<Bytes> bytes;
    for (u32 stage = 0; stage < setting.sharding.pp; ++stage) {
        bytes.push_back(here.for_cache(weights(setting, stage).bytes, non_kv, setting.extra_memory));
    }
    return bytes;
}

EngineQuestion Deployment::question(const Setting& setting, Bytes non_kv) const {
    const StoredModel& stored = formats[setting.kv_format];
    EngineQuestion question{.model = &stored.model,
                            .version = version,
                            .kv_cache_dtype = stored.dtype,
                            .sharding = attention_split(setting)};
    question.available = available(setting, non_kv);
    question.flags = &flags;
    question.capability = memory.capability;
    question.gpu = memory.gpu;
    question.gpu_memory = memory.total;
    question.each = mix.each;
    if (question.each.size() == 1) {
        const u64 decoded = std::min(question.each[0].decoded.value, setting.tokens.value);
        question.each[0].decoded = {decoded};
        question.each[0].prompt = {setting.tokens.value - decoded};
    }
    question.counts = mix.counts(sequences_of_one(setting));
    const Lengths& longest = question.longest();
    question.max_len = max_len != 0 ? max_len : larger((longest.prompt + longest.decoded).value, 1);
    return question;
}

EngineAnswer Deployment::ask(const Setting& setting, Bytes non_kv) const {
    EngineQuestion asked = question(setting, non_kv);
    EngineFlags changed = flags;
    if (setting.knob != 0 && !knobs[setting.knob - 1].of_memory) {
        for (const auto& [name, value] : turned(setting)) {
            changed[name] = value;
        }
    }
    asked.flags = &changed;
    if (asked.sharding.cp > 1 && !face->no_context_ranks.empty()) {
        return {.rules = std::string{face->title}, .refusal = std::string{face->no_context_ranks}};
    }
    const bool own_rule = face->name == "vllm";  // it says itself which context ranks it refuses
    const std::string refusal = cp_among_tp && !own_rule ? context_refusal(asked.model->spec, asked.sharding) : "";
    if (!refusal.empty()) {
        return {.rules = std::string{face->title}, .refusal = refusal};
    }
    EngineAnswer answer = face->ask(asked);
    const u64 wanted = (asked.longest().prompt + asked.longest().decoded).value;
    if (answer.runs() && wanted > asked.max_len) {
        answer.verdict.fits = false;
        answer.notes.push_back({Origin::assumed, "--engine-max-len",
                                fmt::format("{}: a request of {} tokens is longer, and the engine refuses it",
                                            report::grouped(asked.max_len), report::grouped(wanted))});
    }
    return answer;
}

bool Deployment::bears(const Setting& setting, Bytes non_kv) const noexcept {
    try {
        return ask(setting, non_kv).fits();
    } catch (const Stop&) {
        return false;
    }
}

bool Deployment::bears(const Setting& setting) const noexcept {
    try {
        ShardingOptions typed{};
        typed.cp_among_tp = cp_among_tp;
        refuse_split(formats[setting.kv_format].model, attention_split(setting), typed, *face);
        return bears(setting, known_non_kv(setting));
    } catch (const Stop&) {
        return false;
    }
}

EngineFlags Deployment::turned(const Setting& setting) const {
    if (setting.knob == 0) {
        return {};
    }
    const Knob& knob = knobs[setting.knob - 1];
    return {{knob.flag, knob.values[setting.knob_value]}};
}

std::vector<Knob> Deployment::knobs_of(const Setting& setting) const {
    std::vector<Knob> all = face->knobs == nullptr ? std::vector<Knob>{} : face->knobs(question(setting, {}));
    if (!memory.by_budget && !face->memory_flag.empty()) {
        Knob share{.flag = std::string{face->memory_flag}, .values = {}, .of_memory = true};
        for (int hundredths = static_cast<int>(memory.util * 100 + 1e-9) + 1; hundredths <= 98; ++hundredths) {
            share.values.push_back(fmt::format("0.{:02}", hundredths));
        }
        all.push_back(std::move(share));
    }
    all.resize(std::min<std::size_t>(all.size(), most_knobs));
    return all;
}

Bytes Deployment::known_non_kv(const Setting& setting) const {
    if (!memory.non_kv_known) {
        return {};
    }
    Bytes most{};
    for (u32 stage = 0; stage < setting.sharding.pp; ++stage) {
        most = std::max(most, memory.non_kv(weights(setting, stage).bytes));
    }
    return most;
}

std::optional<Bytes> Deployment::most_non_kv(const Setting& setting) const {
    if (!ask(setting, {}).fits()) {
        return std::nullopt;
    }
    const u64 limit = (memory.by_budget ? memory.budget : memory.total).value;
    return Bytes{largest(limit, [&](u64 bytes) { return bears(setting, {bytes}); })};
}

u64 Deployment::most_sequences(const Setting& setting, Bytes non_kv) const {
    const auto fits = [&](u64 n) {
        Setting with = setting;
        with.sequences = n;
        return n == 0 || bears(with, non_kv);
    };
    u64 high = 1;
    while (high < (u64{1} << 32) && fits(high)) {
        high *= 2;
    }
    return largest(high, fits);
}

u64 Deployment::longest(const Setting& setting, Bytes non_kv, u64 limit) const {
    return largest(limit, [&](u64 n) {
        Setting with = setting;
        with.tokens = {n};
        return n == 0 || bears(with, non_kv);
    });
}

}  // namespace kvcap::cli
