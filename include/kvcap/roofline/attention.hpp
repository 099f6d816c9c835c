// SPDX-License-Identifier: MIT
// Is decoding attention bound by reading the cache? Intensity = flops / bytes per cached position and layer,
// against the device's turning point (flops per second / bytes per second). Flops count multiply and add as
// two. GQA: 2 x query_heads x (key + value width) / bytes of a slot. Absorbed MLA (DeepSeek-V2 appendix):
// every query head reads the latent itself: 2 x query_heads x ((latent + rope) + latent).
#pragma once

#include <kvcap/capacity.hpp>
#include <kvcap/engine/demand.hpp>

namespace kvcap::inline v1 {

/// Work of one query token on one cached position in one layer, on one rank.
struct PositionCost {
    u64 flops = 0;
    u64 bytes = 0;
    constexpr Ratio intensity() const noexcept { return {flops, bytes}; }
    friend constexpr bool operator==(const PositionCost&, const PositionCost&) = default;
};

/// An attention or latent form with `query_heads` on the same rank; index keys and states cost no attention
/// flops here.
constexpr Result<PositionCost> position_cost(const LayerForm& form, u32 query_heads,
                                             const Sharding& sharding = {}) noexcept {
    const Result<BytesPerSlot> slot = bytes_per_slot(form, sharding);
    if (!slot) {
        return slot.error();
    }
    u64 widths = 0;
    for (const Stream& stream : form.streams) {
        const bool scores =
            stream.role == Role::key || stream.role == Role::latent || stream.role == Role::rope;
        const bool mixes = stream.role == Role::value || stream.role == Role::latent;
        widths += u64{stream.width} * ((scores ? 1 : 0) + (mixes ? 1 : 0));
    }
    return PositionCost{2 * u64{query_heads} * widths / sharding.tp, slot->value};
}

/// MLA with keys and values expanded per head before attention: heads x (nope + rope, value) are read
/// instead.
constexpr PositionCost expanded_mla(u32 query_heads, u32 key_width, u32 value_width,
                                    u32 bytes_per_element) noexcept {
    const u64 read = u64{query_heads} * (u64{key_width} + value_width);
    return {2 * read, read * bytes_per_element};
}

}  // namespace kvcap::inline v1
