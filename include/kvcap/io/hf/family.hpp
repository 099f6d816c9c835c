// SPDX-License-Identifier: MIT
// What is a family to the reader? A `model_type`, the rule that lowers it, and what its config class takes
// for absent keys.
#pragma once

#include <kvcap/units.hpp>
#include <string_view>

namespace kvcap::inline v1::hf {

/// What the config class takes when a key is absent. 0: no default (refused), except kv_heads (as many as
/// query heads), head_dim (width / heads) and window (none).
struct Defaults {
    u32 layers = 0;
    u32 width = 0;
    u32 heads = 0;
    u32 kv_heads = 0;
    u32 head_dim = 0;
    u32 window = 0;
};

class Lowering;

/// One `model_type`: its rule and its class defaults.
struct Family {
    std::string_view type;
    void (*lower)(Lowering&);
    Defaults defaults{};
};

inline constexpr u32 most_layers = 4096;
inline constexpr u32 most_size = u32{1} << 20;
inline constexpr u64 most_tokens = u64{1} << 40;

}  // namespace kvcap::inline v1::hf
