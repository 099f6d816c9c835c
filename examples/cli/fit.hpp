// SPDX-License-Identifier: MIT
// kvcap fit: what was found (fit.cpp), the single changes that make it fit (fit_changes.cpp), and the answer as a
// screen or JSON (fit_screen.cpp).
#pragma once

#include "deployment.hpp"

namespace kvcap::cli {

/// Everything that was evaluated; screens and JSON only read it.
struct Finding {
    const Deployment& on;
    Setting asked{};
    EngineAnswer answer{};
    RankWeights weights{};
    Bytes non_kv{};
    std::optional<Bytes> room{};  ///< the most everything else may take
    bool fits = false;
    u64 most_sequences = 0;
    u64 longest = 0;
    bool longest_asked = false;  ///< lengths are not mixed
    std::vector<Change> changes{};
    std::vector<Note> notes{};
};

/// The smallest single changes that make it fit, each evaluated; `on` learns which knobs there are.
std::vector<Change> changes_of(Deployment& on, const Setting& asked, u32 gpus);
/// "--tp 4", "1 request at once"
std::string words(const Change& change, const Deployment& on);
/// What a larger share of all memory leaves for what the engine has outside of it; empty of other changes.
std::string left_words(const Change& change, const Deployment& on);
/// The change's name in JSON.
const char* name_of(ChangeKind kind);

void print_fit(const Finding& found, report::Unit unit, Session& session);
std::string fit_json(const Finding& found);

}  // namespace kvcap::cli
