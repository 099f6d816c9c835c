// SPDX-License-Identifier: MIT
// Golden facts of storage and sizing projects: `{"version": 1, "cases": [{id, kind, inputs, expected, ...}]}`.
#pragma once

#include "strict_object.hpp"

#include <functional>
#include <kvcap/core.hpp>
#include <optional>

namespace golden {

/// A model as the inputs of a case describe it, in the words of those projects, and how it is asked about.
struct StoredModel {
    kvcap::ModelSpec spec{};
    kvcap::Sharding sharding{};
    kvcap::u64 tokens = 1;
    kvcap::u64 layers = 0;
    kvcap::u64 kv_heads = 0;
    kvcap::u64 head_dim = 0;
};

/// state_bytes: of one element of a recurrent state, when the inputs do not say.
StoredModel stored_model(const StrictObject& inputs, kvcap::u32 state_bytes = 4);

/// Kinds about a whole model: kv_bytes, kv_elements_per_token, kv_ratio, max_tokens, model_kv, swa_layout.
bool storage_model(const std::string& kind, const StrictObject& inputs, const Json& expected, Report& report);

/// Compares every key of `expected` with `value(key)`; a key without a value is a failure.
void compare(const Json& expected, Report& report, const std::function<std::optional<Json>(const std::string&)>& value);

}  // namespace golden
