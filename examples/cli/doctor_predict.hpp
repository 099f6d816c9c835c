// SPDX-License-Identifier: MIT
// What do the engine's rules say for the start that a log describes? The rules are asked with every budget that the
// printed amount stands for; their lines are read by the same reader as the log.
#pragma once

#include "engines.hpp"

#include <kvcap/report/doctor_json.hpp>

namespace kvcap::cli {

/// The card that a log's model name means: the name itself, its last part, or that without words of a quantisation.
/// Empty: none.
std::string card_of_log(const LogStart& start);

/// model: as --model, or empty to look it up among the cards by the log's own name.
report::Prediction predict(const LogStart& start, const std::string& model);

/// Bytes of one token on one rank, where the model is known; for findings.
std::optional<double> token_bytes(const LogStart& start, const std::string& model);

/// When ranks hold bytes that other ranks hold too: by how much, and what attention data parallelism would give back.
std::optional<report::Finding> replication(const LogStart& start, const std::string& model);

}  // namespace kvcap::cli
