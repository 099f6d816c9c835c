// SPDX-License-Identifier: MIT
// What would the engine's rules print for a start that a log describes, with so much memory? Their lines are read by
// the same reader as the log.
#pragma once

#include "doctor_readings.hpp"
#include "doctor_target.hpp"

namespace kvcap::cli {

/// One question to the rules, of one reading of the log.
class Asking {
public:
    Asking(const LogStart& start, const Model& model, const Target& target, const OpenReading& open,
           const EngineFace& face);

    /// The target's first figure for this budget of the poorest stage; not a number when the rules refuse or print
    /// none.
    double at(double budget);
    const Sharding& split() const { return question_.sharding; }

    std::string rules;
    LogStart said;  ///< the rules' own lines of the last budget

private:
    EngineFlags flags_;
    Target target_;
    const EngineFace& face_;
    EngineQuestion question_;
    double states_ = 0;  ///< bytes beside the pool that the log prints
};

}  // namespace kvcap::cli
