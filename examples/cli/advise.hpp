// SPDX-License-Identifier: MIT
// kvcap advise: what is asked (advise.cpp), and the ranked techniques as a screen or JSON (advise_screen.cpp).
#pragma once

#include "work.hpp"

#include <kvcap/plan/advice_rank.hpp>

namespace kvcap::cli {

struct AdviseOptions {
    ModelOptions model;
    ShardingOptions sharding;
    LengthOptions lengths;
    DeviceOptions device;
    u32 gpus = 0;
    std::string util;
    std::string non_kv = "0B";
    std::string weights;
    std::string goal = "memory";
    std::string prefix = "0";
    std::string similarity;
    double threshold = 0.98;
    double fallback = 0;
    bool accept_stale = false;
    std::string window = "4096";
    double budget = 0.2;
    double rank = 0.5;
    bool explain = false;
    Output output;
};

/// GPUs there are: those of --gpus, or as many as the split takes.
u32 gpus_of(const AdviseOptions& options);

/// The options in the library's words.
struct Asked {
    Variant variant{};
    Wanted wanted{};
    Tries tries{};
    Aim aim = Aim::memory;
};

/// Everything that was evaluated; screens and JSON only read it.
struct Advised {
    const AdviseOptions& options;
    const Work& work;
    const Machine& machine;
    const Asked& asked;
    const Costs& baseline;
    const std::vector<Advice>& all;
};

std::string advise_screen(const Advised& advised, const Session& session);
/// kvcap.advise/1
std::string advise_json(const Advised& advised);

}  // namespace kvcap::cli
