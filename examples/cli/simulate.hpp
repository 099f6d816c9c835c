// SPDX-License-Identifier: MIT
// kvcap simulate: its options, the question, and the answers that its screens, JSON and picture share.
#pragma once

#include "cli.hpp"

#include <kvcap/store/tiers.hpp>
#include <kvcap/store/trace.hpp>

namespace kvcap::cli {

struct SimulateOptions {
    std::string trace;
    std::vector<std::string> models;
    ModelOptions formats;
    ShardingOptions sharding;
    std::vector<std::string> policies;
    std::vector<std::string> tiers;
    std::string at = "64GiB,128GiB,256GiB,512GiB,1TiB,2TiB,4TiB,8TiB";
    std::string format = "any";
    std::string block = "0";
    std::string trace_model;
    std::string tail = "floor";
    std::string last = "recompute";
    std::string copies = "once";
    std::string align = "1";
    u64 replicas = 1;
    bool engine_like = false;
    bool split = false;
    u32 threads = 0;
    u32 sample_parts = 0;
    std::string svg;
    Output output;
};

/// --tier NAME=SIZE[@RATE]
struct NamedTier {
    std::string name;
    Tier tier;
};

struct NamedPolicy {
    std::string name;
    SavePolicy policy;
};

/// What is the same for all curves of a run.
struct Simulation {
    const Trace& trace;
    HitRule rule{};
    std::vector<u64> capacities;
    std::vector<NamedTier> tiers;
    bool engine_like = false;
    bool split = false;
    u32 threads = 0;
    u32 sample_parts = 0;
    bool is_forest = true;
};

/// One tier's part of the hits, and what its hits and its store moved at the capacity reached so far.
struct TierPart {
    std::string name;
    u64 capacity = 0;       ///< of this tier and all before it
    u64 hit_tokens = 0;     ///< served from this tier
    u64 loaded_bytes = 0;   ///< by all hits up to this tier
    u64 written_bytes = 0;
    double load_seconds = 0;  ///< of this tier's own bytes at its rate, the mean of all requests; 0 without a rate
};

struct SplitPart {
    u64 capacity = 0;
    double shared = 0;      ///< hit ratio of one budget
    double best = 0;        ///< of the best fixed share
    u32 percent = 0;        ///< of that share, for snapshots
};

struct CurvePoint {
    u64 capacity = 0;
    double ratio = 0;
    double error = 0;
    bool trustworthy = true;
};

struct CurveAnswer {
    std::string model;
    std::string policy;
    StoredSizes sizes{};
    u64 block_bytes = 0;    ///< of all objects of one block and one boundary
    bool exact = true;      ///< one pass; else points
    std::vector<CurvePoint> points{};
    std::vector<std::pair<double, double>> line{};  ///< capacity, ratio: for the picture and the JSON
    double reachable = 0;
    u64 reachable_tokens = 0;
    u64 for_half = 0, for_ninety = 0, for_ninety_nine = 0, knee = 0;
    std::vector<TierPart> tiers{};
    std::vector<SplitPart> splits{};
    u64 trees = 0;
};

CurveAnswer simulate(const Simulation& run, const std::string& model, const StoredSizes& sizes,
                     const NamedPolicy& policy);

std::vector<std::string> split_at(const std::string& text, char at);
/// Words joined by '+': junction, end, every (each block), every=K, window (all window blocks).
NamedPolicy policy_of(const std::string& text);
NamedTier tier_of(const std::string& text);

void print_screen(const SimulateOptions& options, const Simulation& run, const std::vector<CurveAnswer>& answers,
                  const std::vector<Note>& notes, Session& session);
std::string json_of(const SimulateOptions& options, const Simulation& run, const std::vector<CurveAnswer>& answers);
/// Lines go on to the largest store of all, since a larger store holds what a smaller one does; replays end where
/// they do.
std::string svg_of(const std::vector<CurveAnswer>& answers);

}  // namespace kvcap::cli
