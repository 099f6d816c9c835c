// SPDX-License-Identifier: MIT
// The work of kvcap simulate: exact curves where the policy allows it, replays where it does not, samples when asked.
#include "simulate.hpp"

#include <algorithm>
#include <kvcap/report/plot.hpp>

namespace kvcap::cli {

namespace {

constexpr u64 knee_from = 8'000'000'000;
constexpr u32 line_points = 64;

HitCurve one_pass(const Trace& trace, const StoredSizes& sizes, const SavePolicy& policy, const HitRule& rule) {
    if (sizes.only_pages()) {
        PageCurve curve{trace.block_tokens, rule, trace.distinct};
        std::vector<u64> ids;
        for (const TraceRequest& request : trace.requests) {
            const u32* path = trace.path(request);
            ids.assign(path, path + request.blocks);
            curve.add(request.tokens, ids.data(), request.blocks);
        }
        return curve.curve(sizes.page);
    }
    HybridCurve curve{sizes, policy, trace.block_tokens, rule};
    for (const TraceRequest& request : trace.requests) {
        curve.add(request.tokens, trace.path(request), request.blocks);
    }
    return curve.curve();
}

/// Replays of any policy: by ranges where ids form a forest, else by the list.
class Replays {
public:
    Replays(const Simulation& run, const StoredSizes& sizes, const SavePolicy& policy)
        : run_{run}, sizes_{sizes}, policy_{policy}, paths_{run.is_forest ? run.trace : empty_, run.rule} {}

    std::vector<ReplayResult> at(const std::vector<u64>& capacities) const {
        return for_each_capacity(capacities, run_.threads, [&](u64 capacity) {
            return run_.is_forest ? RangeReplay{paths_, sizes_, policy_, capacity}.run()
                                  : replay(run_.trace, sizes_, policy_, {.all = capacity}, run_.rule);
        });
    }
    ReplayResult at(u64 capacity) const { return at(std::vector<u64>{capacity})[0]; }

private:
    const Simulation& run_;
    const StoredSizes& sizes_;
    SavePolicy policy_;
    Trace empty_{};
    OwnedPaths paths_;
};

double ratio(const ReplayResult& result) {
    return result.prompt_tokens == 0
               ? 0
               : static_cast<double>(result.hit_tokens) / static_cast<double>(result.prompt_tokens);
}

void read_curve(const HitCurve& curve, const Simulation& run, CurveAnswer& answer) {
    for (const u64 capacity : run.capacities) {
        answer.points.push_back({capacity, curve.ratio(curve.hit_tokens(capacity))});
    }
    answer.reachable_tokens = curve.reachable();
    answer.reachable = curve.ratio(curve.reachable());
    answer.for_half = curve.bytes_for(0.5);
    answer.for_ninety = curve.bytes_for(0.9);
    answer.for_ninety_nine = curve.bytes_for(0.99);
    answer.knee = curve.knee(knee_from);
    if (curve.steps().empty()) {
        return;
    }
    const u64 most = curve.steps().back().bytes;
    for (const u64 capacity : log_spaced(larger(curve.steps().front().bytes, most / 4096 + 1), most, line_points)) {
        answer.line.emplace_back(static_cast<double>(capacity), curve.ratio(curve.hit_tokens(capacity)));
    }
}

/// Points of replays: sizes for shares of the reachable hits are the least point that reaches them.
void read_replays(const Replays& replays, const Simulation& run, CurveAnswer& answer) {
    const ReplayResult all = replays.at(off_scale);
    const u64 most = larger(all.written_bytes, 2);
    const std::vector<u64> spaced = log_spaced(larger(most / 4096, 1), most, line_points);
    const std::vector<ReplayResult> results = replays.at(spaced);
    answer.reachable_tokens = all.hit_tokens;
    answer.reachable = ratio(all);
    const auto least_for = [&](double share) -> u64 {
        for (std::size_t i = 0; i < spaced.size(); ++i) {
            if (static_cast<double>(results[i].hit_tokens) >= share * static_cast<double>(all.hit_tokens)) {
                return all.hit_tokens == 0 ? 0 : spaced[i];
            }
        }
        return 0;
    };
    answer.for_half = least_for(0.5);
    answer.for_ninety = least_for(0.9);
    answer.for_ninety_nine = least_for(0.99);
    for (std::size_t i = 0; i < spaced.size(); ++i) {
        answer.line.emplace_back(static_cast<double>(spaced[i]), ratio(results[i]));
    }
    const std::vector<ReplayResult> asked = replays.at(run.capacities);
    for (std::size_t i = 0; i < asked.size(); ++i) {
        answer.points.push_back({run.capacities[i], ratio(asked[i])});
    }
    answer.exact = false;
}

/// Whole trees of the trace: the sample is part 0 of `sample_parts`; its error comes from ten parts of its own.
void read_sample(const Simulation& run, const StoredSizes& sizes, const SavePolicy& policy, CurveAnswer& answer) {
    const TreeSample sample = sample_trees(run.trace, 0, run.sample_parts);
    const HitCurve curve = one_pass(sample.trace, sizes, policy, run.rule);
    std::vector<HitCurve> parts;
    for (u32 part = 0; part < 10; ++part) {
        parts.push_back(one_pass(sample_trees(sample.trace, part, 10, 1).trace, sizes, policy, run.rule));
    }
    for (const u64 capacity : run.capacities) {
        const Estimate made = estimate(curve, parts, capacity, run.sample_parts, u64{run.sample_parts} * 10,
                                       larger(answer.block_bytes, 1));
        answer.points.push_back({capacity, made.ratio, made.error, made.trustworthy});
    }
    answer.trees = sample.trees;
    answer.exact = false;
    answer.reachable_tokens = curve.reachable();
    answer.reachable = curve.ratio(curve.reachable());
    answer.for_half = curve.bytes_for(0.5) * run.sample_parts;
    answer.for_ninety = curve.bytes_for(0.9) * run.sample_parts;
    answer.for_ninety_nine = curve.bytes_for(0.99) * run.sample_parts;
    if (!curve.steps().empty()) {
        const u64 most = curve.steps().back().bytes;
        for (const u64 capacity : log_spaced(larger(most / 4096, 1), larger(most, 2), line_points)) {
            answer.line.emplace_back(static_cast<double>(capacity) * run.sample_parts,
                                     curve.ratio(curve.hit_tokens(capacity)));
        }
    }
}

/// Tiers hold what the faster ones before them do not, and an object leaves one for the next: together one LRU.
void read_tiers(const Replays& replays, const Simulation& run, CurveAnswer& answer) {
    u64 reached = 0;
    u64 before = 0;
    u64 loaded = 0;
    for (const NamedTier& named : run.tiers) {
        reached = saturating_sum(reached, named.tier.capacity.value);
        const ReplayResult result = replays.at(reached);
        TierPart part{.name = named.name, .capacity = reached,
                      .hit_tokens = result.hit_tokens > before ? result.hit_tokens - before : 0,
                      .loaded_bytes = result.loaded_bytes, .written_bytes = result.written_bytes};
        const u64 own = result.loaded_bytes - smaller(loaded, result.loaded_bytes);
        if (named.tier.bytes_per_second > 0 && own != 0) {
            const u64 mean = own / run.trace.requests.size();
            part.load_seconds = transfer_seconds({mean}, named.tier.bytes_per_second, named.tier.latency);
        }
        loaded = larger(loaded, result.loaded_bytes);
        before = larger(before, result.hit_tokens);
        answer.tiers.push_back(part);
    }
}

/// Ten fixed shares for snapshots against one budget for all.
void read_splits(const Simulation& run, const StoredSizes& sizes, const SavePolicy& policy, CurveAnswer& answer) {
    constexpr u32 shares[] = {2, 5, 10, 15, 20, 30, 40, 50, 65, 80};
    std::vector<u64> capacities = run.capacities;
    if (!run.tiers.empty()) {
        capacities.clear();
        u64 reached = 0;
        for (const NamedTier& named : run.tiers) {
            capacities.push_back(reached += named.tier.capacity.value);
        }
    }
    for (const u64 capacity : capacities) {
        SplitPart part{.capacity = capacity};
        part.shared = ratio(replay(run.trace, sizes, policy, {.all = capacity}, run.rule));
        for (const u32 share : shares) {
            const u64 states = capacity / 100 * share;
            const double hit =
                ratio(replay(run.trace, sizes, policy, {.all = capacity, .snapshots = states}, run.rule));
            if (hit > part.best) {
                part.best = hit;
                part.percent = share;
            }
        }
        answer.splits.push_back(part);
    }
}

}  // namespace

CurveAnswer simulate(const Simulation& run, const std::string& model, const StoredSizes& sizes,
                     const NamedPolicy& named) {
    CurveAnswer answer{.model = model, .policy = sizes.only_pages() ? "pages" : named.name, .sizes = sizes};
    answer.block_bytes = sizes.page;
    for (const TailClass& tail : sizes.tails) {
        answer.block_bytes += tail.bytes;
    }
    SavePolicy policy = named.policy;
    policy.engine_like = run.engine_like && !sizes.only_pages();
    const Replays replays{run, sizes, policy};
    if (run.sample_parts > 1) {
        read_sample(run, sizes, named.policy, answer);
        return answer;
    }
    if (policy.engine_like || !run.is_forest) {
        read_replays(replays, run, answer);
    } else {
        read_curve(one_pass(run.trace, sizes, policy, run.rule), run, answer);
    }
    read_tiers(replays, run, answer);
    if (run.split && sizes.snapshot != 0) {
        read_splits(run, sizes, policy, answer);
    }
    return answer;
}

}  // namespace kvcap::cli
