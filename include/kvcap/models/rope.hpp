// SPDX-License-Identifier: MIT
// How does a model stretch its rotary positions? What its config says of it: engines differ in what they make of it.
#pragma once

#include <kvcap/units.hpp>

namespace kvcap::inline v1 {

/// none: positions as they are. other: linear, dynamic, ntk ... (a factor over the positions that the config states).
enum class RopeKind : u8 { none, llama3, longrope, yarn, other };

/// original: positions before; 0: not said. factor: by which they are stretched, above 0 and at most 2^16.
struct RopeScaling {
    RopeKind kind = RopeKind::none;
    u64 original = 0;
    double factor = 1;

    /// `positions` (at most 2^40) times the factor, cut to whole ones.
    constexpr u64 stretched(u64 positions) const noexcept {
        return static_cast<u64>(static_cast<double>(positions) * factor);
    }
    friend constexpr bool operator==(const RopeScaling&, const RopeScaling&) = default;
};

}  // namespace kvcap::inline v1
