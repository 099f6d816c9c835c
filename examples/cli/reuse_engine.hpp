// SPDX-License-Identifier: MIT
// A reuse question under an engine: the engine's plan of the model (or, for a scenario, its rules alone) with
// the flags that were given.
#pragma once

#include "reuse.hpp"

#include <kvcap/report/reuse_replay.hpp>

namespace kvcap::cli {

class UnderEngine {
public:
    /// model: nullptr for a scenario; then only rules and flags are of use. longest: tokens of the longest
    /// request. Stops when the engine or its version is unknown, or when it refuses the model.
    UnderEngine(const ReuseOptions& options, const Model* model, u64 longest);
    UnderEngine(const UnderEngine&) = delete;
    UnderEngine& operator=(const UnderEngine&) = delete;

    std::string_view name() const { return face_->name; }
    std::string title() const { return std::string{face_->title}; }
    /// "vLLM 0.28.0"
    const std::string& rules() const { return answer_.rules; }
    const PoolPlan& plan() const { return answer_.plan; }
    const std::vector<PoolRow>& rows() const { return answer_.rows; }
    const EngineQuestion& flags() const { return question_; }
    const Model* model() const { return model_; }
    /// Whether its pool has the size of --kv-budget, or of this flag.
    bool has_memory(std::string_view flag) const { return budgeted_ || question_.has(flag); }
    const std::vector<Note>& notes() const { return notes_; }
    void note(Origin origin, std::string what, std::string why) {
        notes_.push_back({origin, std::move(what), std::move(why)});
    }

private:
    /// Where this vLLM caches the model's prefixes on request only.
    void note_caching(const Model& model, const std::string& version);

    const EngineFace* face_;
    EngineFlags given_;
    std::optional<Model> stand_in_;
    const Model* model_ = nullptr;
    EngineQuestion question_{};
    EngineAnswer answer_{};
    std::vector<Note> notes_{};
    bool budgeted_ = false;
};

/// The groups of the engine's plan as a question, with the pages of --held.
ReuseScenario engine_scenario(const ReuseOptions& options, const UnderEngine& engine);

/// The engine's hit for the pages of a scenario, beside the ideal one.
void answer_presence(const ReuseOptions& options, const ReuseScenario& scenario,
                     const std::vector<Note>& notes, UnderEngine& engine, const std::string& title,
                     Session& session);

/// The prompts of --prompts, one after the other.
void answer_prompts(const ReuseOptions& options, UnderEngine& engine,
                    const std::vector<report::ReplayRequest>& prompts, const std::string& title,
                    Session& session);

/// The window or chunk of the model, as a rule; needs everything when it has none.
Rule window_rule(const Model& model);

/// Lines of what each lifted rule costs: "  - 16      hits end where a block of 16 ends"; named: with "ideal"
/// or "seen" before them, from which it is taken off.
std::string lifted_lines(const std::vector<report::Lifted>& lifted, bool named);
void write_lifted(report::Json& json, const std::vector<report::Lifted>& lifted);

}  // namespace kvcap::cli
