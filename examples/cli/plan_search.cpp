// SPDX-License-Identifier: MIT
// What does the engine say of a candidate: the most requests, the longest context, bytes read a token, or why
// it does not serve the load?
#include "plan.hpp"

namespace kvcap::cli {

namespace {

/// Requests by the staircases of one engine's plan; without a plan, by its verdict. llama.cpp's cells are as many as
/// were asked for, so its plan says nothing of more, nor do others that follow the load; of a mix the staircases of one
/// length say nothing either. The length as `fit` finds it.
Outcome most_of(const Deployment& on, const Setting& setting, const EngineAnswer& answer, u64 holders) {
    const PoolPlan& plan = answer.plan;
    const u64 context = context_limit(on.formats[0].model);
    const u64 limit = on.max_len != 0 ? smaller(context, on.max_len) : context;
    const Bytes non_kv = on.known_non_kv(setting);
    const bool counts = plan.pools.empty() || answer.by_load || on.mix.each.size() > 1 || on.face->name == "llamacpp";
    return {.sequences = counts ? on.most_sequences(setting, non_kv)
                                : saturating_product(most_sequences(plan, on.mix.each[0]), holders),
            .context = on.longest(setting, non_kv, limit)};
}

/// Of the stage that reads most.
Result<u64> read_per_token(const Search& search, const Candidate& candidate) {
    Sharding split = candidate.sharding;
    split.tp = candidate.attention_dp ? 1 : split.tp;
    u64 most = 0;
    for (u32 stage = 0; stage < split.pp; ++stage) {
        const Result<Footprint> held = fold(search.on.formats[candidate.format].model.spec,
                                            search.on.mix.each[0], split, {.stage = stage});
        if (!held) {
            return held.error();
        }
        most = larger(most, held->per_sequence().value);
    }
    return most;
}

/// With `extra` more memory on each GPU, or more --kv-budget.
Result<Outcome> outcome_of(const Search& search, const Candidate& candidate, Bytes extra = {}) {
    const Result<u64> read = read_per_token(search, candidate);
    if (!read) {
        return read.error();
    }
    const Deployment on = deployment_of(search, candidate);
    Setting setting = setting_of(search, candidate);
    setting.extra_memory = extra;
    const EngineAnswer answer = on.ask(setting, on.known_non_kv(setting));
    if (!answer.runs()) {
        return answer.error.code == Errc::ok ? Error{.code = Errc::refused_combination} : answer.error;
    }
    if (!answer.unfit.empty()) {
        return answer.error.code != Errc::ok ? answer.error  // else the engine queues the rest, see engines.hpp
                                             : Error{.code = Errc::capacity, .got = setting.sequences};
    }
    Outcome outcome = most_of(on, setting, answer, holders_of(candidate));
    if (outcome.sequences < setting.sequences) {
        return Error{.code = Errc::does_not_fit, .got = answer.verdict.usable, .want = answer.verdict.needed};
    }
    for (const std::string_view flag : at_once_flags(*on.face)) {
        if (const auto run = on.flags.find(flag); run != on.flags.end()) {
            const u64 most = saturating_product(count_of(run->second, "--" + run->first), holders_of(candidate));
            outcome.sequences = smaller(outcome.sequences, most);
        }
    }
    outcome.read_per_token = *read;
    return outcome;
}

/// What leaves the scale serves nobody.
bool is_served(const Search& search, const Candidate& candidate, Bytes extra) noexcept {
    try {
        return bool{outcome_of(search, candidate, extra)};
    } catch (const Stop&) {
        return false;
    }
}

}  // namespace

Setting setting_of(const Search& search, const Candidate& candidate) {
    Setting setting = search.asked;
    setting.sharding = candidate.sharding;
    setting.attention_dp = candidate.attention_dp;
    setting.kv_format = candidate.format;
    return setting;
}

Deployment deployment_of(const Search& search, const Candidate& candidate) {
    Deployment on = search.on;
    on.dp = candidate.dp;
    if (search.blocks[candidate.block] != 0) {
        on.flags[std::string{block_flag(*on.face)}] = std::to_string(search.blocks[candidate.block]);
    }
    const auto at_once = on.flags.find("max-running-requests");
    if (at_once != on.flags.end() && candidate.attention_dp) {  // SGLang's line counts those of all ranks
        at_once->second = std::to_string(
            ceil_div(count_of(at_once->second, "--max-running-requests"), candidate.sharding.tp));
    }
    return on;
}

std::string refusal_of(const Search& search, const Candidate& candidate) {
    const Deployment on = deployment_of(search, candidate);
    const Setting setting = setting_of(search, candidate);
    return on.ask(setting, on.known_non_kv(setting)).refusal;
}

u64 holders_of(const Candidate& candidate) {
    return u64{candidate.dp} * (candidate.attention_dp ? candidate.sharding.tp : 1);
}

std::optional<Miss> nearest_miss(const Search& search, const SearchResult& found) {
    constexpr u64 most = u64{1} << 46;
    std::optional<Miss> nearest;
    if (!found.ranked.empty()) {
        return nearest;
    }
    for (const Dropped& each : found.dropped) {
        const auto serves = [&](u64 extra) noexcept { return is_served(search, each.candidate, {extra}); };
        const Bytes there = deployment_of(search, each.candidate).most_extra(setting_of(search, each.candidate));
        const u64 nearer = smaller(there.value, nearest ? nearest->lacking.value - 1 : most);
        if (nearer == 0 || !serves(nearer)) {
            continue;
        }
        nearest = Miss{each.candidate, {largest(nearer, [&](u64 extra) { return !serves(extra); }) + 1}};
    }
    return nearest;
}

SearchResult run_search(const Search& search) {
    return kvcap::search(search.space, search.goal,
                         [&](const Candidate& candidate) { return outcome_of(search, candidate); });
}

}  // namespace kvcap::cli
