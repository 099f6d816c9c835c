// SPDX-License-Identifier: MIT
// Is decoding attention bound by reading the cache? Intensity = flops / bytes per cached position and layer,
// against the device's turning point (flops per second / bytes per second). Flops count multiply and add as
// two. GQA: 2 x query_heads x (key + value width) / bytes of a slot. Absorbed MLA (DeepSeek-V2 appendix):
// every query head reads the latent itself: 2 x query_heads x ((latent + rope) + latent). A sparse index
// (DeepSeek-V3.2): 2 x index_heads x width for every key, and attention over the picked entries alone.
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

/// What a model's file says of its attention beyond the forms. index_heads: query heads of a sparse index.
/// picked: entries that a query reads of all (0: every one), in blocks of `block` tokens when block > 0.
/// expanded: elements per token and layer of MLA's keys and values written out per head (0: not known). cp_among_tp:
/// context ranks are tensor ranks; where they deal slots, each answers the query heads of all that share them.
struct AttentionFacts {
    u64 index_heads = 0;
    u64 picked = 0;
    u64 block = 0;
    u64 expanded = 0;
    bool cp_among_tp = false;

    constexpr u64 most_entries() const noexcept {
        return picked == 0 ? off_scale : saturating_product(picked, larger(block, 1));
    }
    friend constexpr bool operator==(const AttentionFacts&, const AttentionFacts&) = default;
};

/// Flops per element of a recurrent state in one step, from below: updated and read out, a multiply and an
/// add each.
inline constexpr u64 state_flops = 4;

/// One slot of a form on a rank. Query heads are dealt to tensor ranks, those of an index are on every rank;
/// a state's slot is the whole state.
constexpr Result<PositionCost> position_cost(const LayerForm& form, u32 query_heads,
                                             const Sharding& sharding = {},
                                             const AttentionFacts& facts = {}) noexcept {
    const Result<BytesPerSlot> slot = bytes_per_slot(form, sharding);
    if (!slot) {
        return slot.error();
    }
    u64 widths = 0;
    u64 own = 0;
    for (const Stream& stream : form.streams) {
        const bool scores =
            stream.role == Role::key || stream.role == Role::latent || stream.role == Role::rope;
        const bool mixes = stream.role == Role::value || stream.role == Role::latent;
        widths += u64{stream.width} * ((scores ? 1 : 0) + (mixes ? 1 : 0));
        if (stream.role == Role::index) {
            own = saturating_sum(own, saturating_product(saturating_product(2, facts.index_heads), stream.elements()));
        } else if (stream.role == Role::state && form.retention.keep == Keep::last) {
            const u64 heads = heads_on_rank(stream, sharding).value();
            own = saturating_sum(own, saturating_product(state_flops * stream.rows,
                                                         saturating_product(heads, stream.width)));
        }
    }
    const u64 gathered = facts.cp_among_tp && is_dealt_out(form) ? sharding.cp : 1;
    const u64 heads = saturating_product(2 * u64{query_heads}, gathered);
    const u64 flops = saturating_sum(own, product_over(heads, widths, sharding.tp));
    return flops == off_scale ? Result<PositionCost>{Errc::overflow} : PositionCost{flops, slot->value};
}

/// MLA with keys and values expanded per head before attention: heads x (nope + rope, value) are read
/// instead.
constexpr PositionCost expanded_mla(u32 query_heads, u32 key_width, u32 value_width,
                                    u32 bytes_per_element) noexcept {
    const u64 read = saturating_product(query_heads, u64{key_width} + value_width);
    return {saturating_product(2, read), saturating_product(read, bytes_per_element)};
}

}  // namespace kvcap::inline v1
