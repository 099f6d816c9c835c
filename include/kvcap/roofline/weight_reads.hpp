// SPDX-License-Identifier: MIT
// The weights that one step reads on a rank, by part: what changes to a cache may change with them. keys: k
// and v projections alone. attention: other projections and what is whole on every rank (norms, routers,
// latents).
#pragma once

#include <kvcap/roofline/decode.hpp>

namespace kvcap::inline v1 {

struct WeightReads {
    /// read: bytes of one step. active: parameters that take part in one token of this rank.
    struct Part {
        Bytes read{};
        u64 active = 0;
        friend constexpr bool operator==(const Part&, const Part&) = default;
    };
    Part attention{};
    Part keys{};
    Part dense{};
    Part experts{};
    Part head{};

    constexpr WeightCost total() const noexcept {
        return {
            .read_bytes = attention.read + keys.read + dense.read + experts.read + head.read,
            .active_params = active()};
    }
    constexpr u64 active() const noexcept {
        const u64 parts[] = {attention.active, keys.active, dense.active, experts.active, head.active};
        u64 sum = 0;
        for (const u64 part : parts) {
            sum = saturating_sum(sum, part);
        }
        return sum;
    }
    friend constexpr bool operator==(const WeightReads&, const WeightReads&) = default;
};

}  // namespace kvcap::inline v1
