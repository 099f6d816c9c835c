// SPDX-License-Identifier: MIT
// A model that was read, in the words of the corpus' truth file: layers grouped by what they cache.
#pragma once

#include "runner.hpp"

#include <kvcap/io/read_model.hpp>

namespace golden {

/// The groups of a model: kind, layers, every dimension; in order of their first layer.
Json corpus_groups(const kvcap::ReadModel& model);

/// Elements of a model on a tensor-parallel rank, by how they behave; or `invalid` with the reason.
Json corpus_totals(const kvcap::ReadModel& model, unsigned tp);

/// The file's truth against the model; reports every field that differs.
void compare_with_truth(const kvcap::ReadModel& model, const Json& truth, Report& report);

}  // namespace golden
