// SPDX-License-Identifier: MIT
// Nothing that was said is passed over: options that cannot stand together are refused, and those that change
// nothing for this model are said to.
#pragma once

#include "deployment.hpp"

namespace kvcap::cli {

/// A usage error that names both when two options of a verb were given that say one thing twice.
void refuse_pairs(const CLI::App& verb);

/// A usage error that names the first of `names` that was given.
void refuse_given(const CLI::App& verb, std::initializer_list<const char*> names, std::string_view why);

/// Notes: lengths that no layer of this model tells apart.
void note_unused(const LengthOptions& lengths, const ModelSpec& model, std::vector<Note>& notes);
/// Notes: --pp-split where there is one stage, --dp-attention where there is one rank.
void note_unused(const ShardingOptions& sharding, std::vector<Note>& notes);

/// Notes: flags of the engine about layers that this model does not have: `with` is the answer without them too.
void note_unused(const Deployment& on, const Setting& setting, const EngineAnswer& with, std::vector<Note>& notes);

}  // namespace kvcap::cli
