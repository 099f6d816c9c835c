// SPDX-License-Identifier: MIT
// The three kinds of SGLang golden files: pool capacity, single rules, prefix trees.
#pragma once

#include "strict_object.hpp"

#include <kvcap/core.hpp>
#include <kvcap/engine/sglang.hpp>

namespace golden {

kvcap::ModelSpec sglang_model(const StrictObject& model);
void apply_sglang_model(const StrictObject& model, kvcap::sglang::Options& options);
void apply_sglang_options(const StrictObject& options, kvcap::sglang::Options& to);
kvcap::sglang::KvDtype sglang_dtype(const std::string& name);
std::string two_decimals_gib(kvcap::u64 bytes);

/// Every field that one rank can answer, or {"error": name}.
Json sglang_answer(const StrictObject& one);
void sglang_capacity(const StrictObject& one, Report& report);
void sglang_rule(const std::string& kind, const StrictObject& one, Report& report);
void sglang_reuse(const StrictObject& one, Report& report);

}  // namespace golden
