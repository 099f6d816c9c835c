// SPDX-License-Identifier: MIT
// One question to an engine's rules: its flags, its split and its memory, as the log states them.
#include "doctor_asking.hpp"

#include <algorithm>

namespace kvcap::cli {

namespace {

/// States that a rank allocates beside the pool whose size it prints: their slots do not depend on the memory.
double bytes_of_states(const EngineAnswer& answer) {
    std::vector<u32> pools;
    u64 bytes = 0;
    for (const GroupClass& kind : answer.plan.classes) {
        const bool told = std::find(pools.begin(), pools.end(), kind.pool) != pools.end();
        if (answer.runs() && kind.retention.keep == Keep::last && !told) {
            bytes = saturating_sum(bytes, answer.plan.pools[kind.pool].allocated.value);
            pools.push_back(kind.pool);
        }
    }
    return static_cast<double>(bytes);
}

}  // namespace

Asking::Asking(const LogStart& start, const Model& model, const Target& target, const OpenReading& open,
               const EngineFace& face)
    : flags_{flags_of(start)}, target_{target}, face_{face} {
    question_.model = &model;
    for (const auto& [flag, value] : target.flags) {
        flags_[flag] = value;
    }
    if (open.drafts != 0) {
        flags_["num-speculative-tokens"] = std::to_string(open.drafts);
    }
    if (open.step != 0) {
        flags_[start.engine == "llama.cpp" ? "ubatch-size" : "max-num-batched-tokens"] = std::to_string(open.step);
    }
    question_.version = open.version;
    question_.kv_cache_dtype = open.kv_dtype;
    const bool context = start.engine == "vllm";  // SGLang's prints what one rank holds of every request
    question_.sharding = split_of(start, open.tp);
    question_.sharding.cp = context ? question_.sharding.cp : 1;
    question_.sharding.pp = static_cast<u32>(std::clamp(start.facts.number("pp").value_or(1), 1.0, 64.0));
    const double length = start.facts.number("max_model_len").value_or(static_cast<double>(context_of(start)));
    question_.max_len = length >= 1 ? static_cast<u64>(length) : 4096;
    question_.each = {{.prompt = {question_.max_len}}};
    question_.counts = {1};
    question_.flags = &flags_;
    if (start.engine == "tensorrt-llm" && target.figures.front().figure == "capacity_tokens") {
        question_.available.assign(question_.sharding.pp, Bytes{static_cast<u64>(Target::boundless)});
        states_ = bytes_of_states(face_.ask(question_));
    }
}

double Asking::at(double budget) {
    said = {};
    budget += states_;
    question_.available.assign(question_.sharding.pp, Bytes{static_cast<u64>(budget)});
    for (std::size_t i = 0; i < target_.above.size() && i < question_.available.size(); ++i) {
        question_.available[i] = Bytes{static_cast<u64>(budget + target_.above[i])};
    }
    const EngineAnswer answer = face_.ask(question_);
    rules = answer.rules;
    const PrintedFigure& wanted = target_.figures.front();
    if (wanted.figure == "estimated_max_len") {
        return answer.longest_hint != 0 ? static_cast<double>(answer.longest_hint) : std::nan("");
    }
    std::string lines;
    for (std::size_t i = 0; answer.runs() && i < answer.log.size(); ++i) {
        lines += answer.log[i] + '\n';
    }
    for (LogStart& start : read_log(std::string_view{lines}).starts) {
        std::vector<PrintedFigure> some = figures_of(start);
        some.push_back(printed("capacity_tokens", start.facts.find("capacity_tokens")));
        said = std::move(start);
        return take_like(wanted, some).value;
    }
    return std::nan("");
}

}  // namespace kvcap::cli
