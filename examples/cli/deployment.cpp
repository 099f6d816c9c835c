// SPDX-License-Identifier: MIT
// Variations of a deployment, each answered by its engine.
#include "deployment.hpp"

#include "context_ranks.hpp"

#include <algorithm>
#include <cmath>

namespace kvcap::cli {

u64 Deployment::sequences_of_one(const Setting& setting) const {
    const u64 engines = saturating_product(dp, setting.attention_dp ? setting.sharding.tp : 1);
    return ceil_div(setting.sequences, engines);
}

u64 Deployment::longest_asked() const {
    return larger(max_len, (mix.each[0].prompt + mix.each[0].decoded).value);
}

bool Deployment::beyond_context() const {
    const u64 stated = formats[0].model.read.max_context;
    return stated != 0 && longest_asked() > stated;
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
    return memory.by_budget ? RankWeights{} : own_weights(setting, stage);
}

RankWeights Deployment::own_weights(const Setting& setting, u32 stage) const {
    if (memory.weights_given) {
        return {memory.weights, "given"};
    }
    const RankPlace place{.sharding = setting.sharding,
                          .attention_dp = setting.attention_dp,
                          .dp = dp,
                          .stage = stage,
                          .whole_shared_experts = shares_sequences(setting)};
    return weights_on_rank(memory.by_budget ? beside_budget : weights_known, place, face);
}

bool Deployment::shares_sequences(const Setting& setting) const {
    return face->name == "vllm" && flags.count("enable-expert-parallel") != 0 && !setting.attention_dp &&
           setting.sharding.tp > 1 && dp > 1;
}

bool Deployment::lacks_weights(const Setting& setting) const {
    return !(memory.by_budget && memory.total.value == 0) && own_weights(setting, 0).how.empty();
}

RankWeights Deployment::most_own_weights(const Setting& setting) const {
    RankWeights most = own_weights(setting, 0);
    for (u32 stage = 1; stage < setting.sharding.pp; ++stage) {
        const RankWeights own = own_weights(setting, stage);
        most = most.bytes < own.bytes ? own : most;
    }
    return most;
}

RankWeights Deployment::most_weights(const Setting& setting) const {
    return memory.by_budget ? RankWeights{} : most_own_weights(setting);
}

std::vector<Bytes> Deployment::available(const Setting& setting, Bytes non_kv) const {
    const double part = memory.by_budget ? 1 : share(setting);
    std::vector<Bytes> bytes;
    for (u32 stage = 0; stage < setting.sharding.pp; ++stage) {
        bytes.push_back(memory.for_cache(part, weights(setting, stage).bytes, non_kv, setting.extra_memory));
    }
    return bytes;
}

double Deployment::share(const Setting& setting) const {
    if (setting.knob != 0 && knobs[setting.knob - 1].of_memory) {
        return share_of(knobs[setting.knob - 1].values[setting.knob_value]);
    }
    return memory.util ? *memory.util : face->share == nullptr ? usual_share : face->share(unmeasured(setting));
}

Bytes Deployment::overdrawn(const Setting& setting, Bytes non_kv) const {
    if (memory.by_budget) {
        return {};
    }
    const double part = memory.of_free ? 1 : share(setting);
    const double all = static_cast<double>((memory.total + setting.extra_memory).value);
    const Bytes there{static_cast<u64>(std::ceil(all * part))};
    return minus(most_weights(setting).bytes + non_kv, there).value_or({});
}

EngineQuestion Deployment::question(const Setting& setting, Bytes non_kv) const {
    EngineQuestion question = unmeasured(setting);
    question.available = available(setting, non_kv);
    return question;
}

EngineQuestion Deployment::unmeasured(const Setting& setting) const {
    const StoredModel& stored = formats[setting.kv_format];
    EngineQuestion question{.model = &stored.model,
                            .version = version,
                            .kv_cache_dtype = stored.dtype,
                            .sharding = attention_split(setting)};
    question.flags = &flags;
    question.ranks = static_cast<u32>(saturating_product(setting.sharding.tp, setting.sharding.pp));
    question.attention_ranks = setting.attention_dp ? setting.sharding.tp : 1;
    question.dp = dp;
    question.capability = memory.capability;
    question.gpu = memory.gpu;
    question.gpu_memory = memory.by_budget ? memory.total : memory.total + setting.extra_memory;
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

namespace {

/// By the flags for what the engine runs at once, where they were given.
void judge_requests(const EngineQuestion& asked, EngineAnswer& answer, const EngineFace& face) {
    for (const std::string_view flag : at_once_flags(face)) {
        if (answer.runs() && answer.unfit.empty() && asked.has(flag)) {
            judge_at_once(asked, flag, asked.number(flag, 1), face.title, answer);
        }
    }
}

}  // namespace

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
    if (setting.attention_dp && face->name == "llamacpp") {
        return {.rules = std::string{face->title}, .refusal = std::string{llama_attention_ranks}};
    }
    const Error ranks = attention_ranks_error(asked.model->spec, setting.attention_dp ? setting.sharding.tp : 1, *face);
    if (ranks.code != Errc::ok) {
        return {.rules = std::string{face->title}, .refusal = report::text_of(ranks), .error = ranks};
    }
    const bool own_rule = face->name == "vllm";  // it says itself which context ranks it refuses
    const std::string refusal = cp_among_tp && !own_rule ? context_refusal(asked.model->spec, asked.sharding) : "";
    if (!refusal.empty()) {
        return {.rules = std::string{face->title}, .refusal = refusal};
    }
    EngineAnswer answer = face->ask(asked);
    note_share(*this, setting, false, answer.notes);
    judge_requests(asked, answer, *face);
    judge_budget(setting, answer);
    if (answer.runs() && answer.by_bytes && !answer.verdict.fits) {
        answer.verdict.lacking_bytes += overdrawn(setting, non_kv);
    }
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
        Knob part{.flag = std::string{face->memory_flag}, .values = {}, .of_memory = true};
        for (int hundredths = static_cast<int>(share(setting) * 100 + 1e-9) + 1; hundredths <= 98; ++hundredths) {
            part.values.push_back(fmt::format("0.{:02}", hundredths));
        }
        all.push_back(std::move(part));
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

/// By the plan for the length asked, which is mostly that for another length too; 0: there is none.
u64 Deployment::longest_guess(const Setting& setting, Bytes non_kv, u64 limit) const {
    const EngineAnswer answer = ask(setting, non_kv);
    if (!answer.runs() || answer.plan.pools.empty()) {
        return 0;
    }
    const Lengths like{.encoder = mix.each[0].encoder};
    return kvcap::longest(answer.plan, sequences_of_one(setting), {limit}, like).value;
}

u64 Deployment::longest(const Setting& setting, Bytes non_kv, u64 limit) const {
    if (mix.each.size() > 1) {
        Deployment alike = *this;
        alike.mix = {{mix.each[0]}, {1}};
        return alike.longest(setting, non_kv, limit);
    }
    const auto fits = [&](u64 n) noexcept {
        Setting with = setting;
        with.tokens = {n};
        return n == 0 || bears(with, non_kv);
    };
    const u64 guess = longest_guess(setting, non_kv, limit);
    const bool holds = guess != 0 && fits(guess) && (guess >= limit || !fits(guess + 1));
    return holds ? guess : largest(limit, fits);
}

}  // namespace kvcap::cli
