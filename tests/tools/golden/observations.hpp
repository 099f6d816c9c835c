// SPDX-License-Identifier: MIT
// What real engines printed, as questions: one observer per engine answers `ask`, and the answers are
// compared with `expect`. Add an engine with one .cpp and one line in observations.inc.
#pragma once

#include "strict_object.hpp"

#include <string>
#include <vector>

namespace golden {

/// `ask` of one record. rules: version or date; empty: the newest. budget: bytes, when the record has a range
/// of them.
struct Observation {
    std::string rules;
    std::string role;
    const Json& model;
    const StrictObject& options;
    bool has_budget = false;
    std::uint64_t budget = 0;
};

/// answer: {field: value} with at least the expected fields. step: bytes in which the answers to this budget
/// change; at least 1.
struct Observer {
    const char* engine;
    Json (*answer)(const Observation&);
    std::uint64_t (*step)(const Observation&);
};

/// `bytes` / 2^`shift` with `digits` decimals, as printf prints it.
std::string scaled_text(std::uint64_t bytes, unsigned shift, int digits);

#define KVCAP_OBSERVER(name) extern const Observer name;
#include "observations.inc"
#undef KVCAP_OBSERVER

}  // namespace golden
