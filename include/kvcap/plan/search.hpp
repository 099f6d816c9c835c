// SPDX-License-Identifier: MIT
// Which split of n devices serves this best? Every TP x PP x CP x DP with that product, attention data
// parallelism inside TP, every stored format and block size; each is evaluated once by the caller's engine.
// What does not divide or fit is kept with its reason; what fits is ranked.
#pragma once

#include <algorithm>
#include <kvcap/sharding.hpp>
#include <vector>

namespace kvcap::inline v1 {

/// dp: replicas of the whole model. attention_dp: inside each group of tp ranks every rank holds whole
/// requests and the experts are spread over the group (EP). format, block: indices into the caller's lists.
struct Candidate {
    Sharding sharding{};
    u32 dp = 1;
    bool attention_dp = false;
    u32 format = 0;
    u32 block = 0;
    friend bool operator==(const Candidate&, const Candidate&) = default;
};

/// What the engine says of a candidate, summed over the whole deployment. read_per_token: cache bytes that
/// one decoded token makes the busiest rank read.
struct Outcome {
    u64 sequences = 0;
    u64 context = 0;
    u64 read_per_token = 0;
    friend bool operator==(const Outcome&, const Outcome&) = default;
};

struct Ranked {
    Candidate candidate{};
    Outcome outcome{};
    friend bool operator==(const Ranked&, const Ranked&) = default;
};

struct Dropped {
    Candidate candidate{};
    Error why{};
    friend bool operator==(const Dropped&, const Dropped&) = default;
};

enum class Goal : u8 { sequences, context, least_read };

/// cp_inside_tp: context ranks are tensor ranks that would hold copies (vLLM), and take no devices of their
/// own. only_*: nothing but this size, 0 for any; only_attention_dp: no other attention. stage_layers: of
/// pipelines with as many stages.
struct SearchSpace {
    u32 devices = 1;
    u32 formats = 1;
    u32 blocks = 1;
    u32 most_tp = 64;
    u32 most_pp = 64;
    u32 most_cp = 64;
    bool cp_inside_tp = false;
    bool attention_dp = true;
    Uneven uneven = Uneven::refuse;
    Remainder remainder = Remainder::first;
    u32 only_tp = 0;
    u32 only_pp = 0;
    u32 only_cp = 0;
    u32 only_dp = 0;
    bool only_attention_dp = false;
    decltype(Sharding::stage_layers) stage_layers{};

    bool allows(const Candidate& c) const {
        const auto is = [](u32 only, u32 value) { return only == 0 || only == value; };
        return is(only_tp, c.sharding.tp) && is(only_pp, c.sharding.pp) && is(only_cp, c.sharding.cp) &&
               is(only_dp, c.dp) && (c.attention_dp || !only_attention_dp);
    }
};

struct SearchResult {
    std::vector<Ranked> ranked;
    std::vector<Dropped> dropped;
};

/// Calls visit(candidate) for every split whose product is `devices`.
inline void each_candidate(const SearchSpace& space, auto visit) {
    const auto with_lists = [&](Candidate candidate) {
        if (!space.allows(candidate)) {
            return;
        }
        if (space.stage_layers.size() == candidate.sharding.pp) {
            candidate.sharding.stage_layers = space.stage_layers;
        }
        for (candidate.format = 0; candidate.format < space.formats; ++candidate.format) {
            for (candidate.block = 0; candidate.block < space.blocks; ++candidate.block) {
                visit(candidate);
            }
        }
    };
    const auto with_attention = [&](Candidate candidate) {
        with_lists(candidate);
        if (space.attention_dp && candidate.sharding.tp > 1 && candidate.sharding.cp == 1) {
            candidate.attention_dp = true;
            with_lists(candidate);
        }
    };
    for (u32 tp = 1; tp <= std::min(space.devices, space.most_tp); ++tp) {
        for (u32 pp = 1; space.devices % tp == 0 && pp <= std::min(space.devices / tp, space.most_pp); ++pp) {
            if (space.devices % (tp * pp) != 0) {
                continue;
            }
            const u32 rest = space.devices / (tp * pp);
            const u32 dealt_to = space.cp_inside_tp ? tp : rest;
            for (u32 cp = 1; cp <= std::min(dealt_to, space.most_cp); ++cp) {
                if (dealt_to % cp == 0) {
                    with_attention({.sharding = {.tp = tp,
                                                 .pp = pp,
                                                 .cp = cp,
                                                 .uneven = space.uneven,
                                                 .remainder = space.remainder},
                                    .dp = space.cp_inside_tp ? rest : rest / cp});
                }
            }
        }
    }
}

/// Better first. Ties: fewer stages, then the smaller tensor-parallel size, then the first format and block:
/// a total order.
inline bool better(const Ranked& a, const Ranked& b, Goal goal) {
    const auto key = [goal](const Outcome& o) {
        return goal == Goal::sequences ? o.sequences
               : goal == Goal::context ? o.context
                                       : off_scale - o.read_per_token;
    };
    if (key(a.outcome) != key(b.outcome)) {
        return key(a.outcome) > key(b.outcome);
    }
    if (a.outcome.read_per_token != b.outcome.read_per_token) {
        return a.outcome.read_per_token < b.outcome.read_per_token;
    }
    const Candidate& x = a.candidate;
    const Candidate& y = b.candidate;
    if (x.sharding.pp != y.sharding.pp) {
        return x.sharding.pp < y.sharding.pp;
    }
    if (x.sharding.tp != y.sharding.tp) {
        return x.sharding.tp < y.sharding.tp;
    }
    if (x.format != y.format || x.block != y.block) {
        return x.format != y.format ? x.format < y.format : x.block < y.block;
    }
    return x.sharding.cp != y.sharding.cp ? x.sharding.cp < y.sharding.cp : x.attention_dp < y.attention_dp;
}

/// evaluate(candidate) -> Result<Outcome>; an error drops the candidate and is its reason.
inline SearchResult search(const SearchSpace& space, Goal goal, auto evaluate) {
    SearchResult result;
    each_candidate(space, [&](const Candidate& candidate) {
        const Result<Outcome> outcome = evaluate(candidate);
        if (outcome) {
            result.ranked.push_back({candidate, *outcome});
        } else {
            result.dropped.push_back({candidate, outcome.error()});
        }
    });
    std::sort(result.ranked.begin(), result.ranked.end(),
              [goal](const Ranked& a, const Ranked& b) { return better(a, b, goal); });
    return result;
}

}  // namespace kvcap::inline v1
