// SPDX-License-Identifier: MIT
// Answers to the language-neutral cases of tests/conformance, through the public API.
#pragma once

#include "runner.hpp"

namespace golden {

/// The answer to one case; `model` is its entry of `models`, or null. Throws when the case cannot be read.
Json conformance_answer(const Json& one, const Json& model);
/// The answer to a case of kind `plan`.
Json conformance_plan(const Json& one);
/// Reads a case a line from standard input and writes its answer as a line, as check.py wants it.
int answer_lines();

}  // namespace golden
