// SPDX-License-Identifier: MIT
// Which weights does one step read on a rank, and how many flops are they a token? All but the input
// embedding (looked up), and of routed experts those that some token of the step visits, when routing is
// even.
#pragma once

#include <kvcap/io/mixture.hpp>
#include <kvcap/roofline/weight_reads.hpp>

namespace kvcap::inline v1 {

/// Parameters of a group: as counted, or 16 bits each when only bytes are known.
inline u64 parameters_of(const WeightGroup& group, const Weights& all) noexcept {
    return all.parameters == 0 ? group.bytes / 2 : group.parameters;
}

/// The group as one step reads it on a rank. tokens: of the step, over all ranks that the experts are dealt
/// to.
inline WeightReads::Part part_read(const WeightGroup& group, const Weights& all, const Mixture& mixture,
                                   const WeightSplit& split, u64 tokens) {
    const u64 here = bytes_on_rank(group, split);
    const double of_all = group.bytes == 0 ? 0 : static_cast<double>(here) / static_cast<double>(group.bytes);
    double active = of_all * static_cast<double>(parameters_of(group, all));
    double read = static_cast<double>(here);
    if (group.part == WeightPart::experts && mixture.routed()) {
        const double visited = static_cast<double>(mixture.per_token) / static_cast<double>(mixture.experts);
        active *= visited * (split.attention_dp ? split.sharding.tp : 1);  // tokens come from all ranks
        read *= mixture.share(tokens);
    }
    return {{static_cast<u64>(read + 0.5)}, static_cast<u64>(active + 0.5)};
}

/// What one step of `tokens` tokens reads of the weights on a rank of `stage`.
inline Result<WeightReads> weight_reads(const Weights& weights, const Mixture& mixture,
                                        const WeightSplit& split, u64 tokens, u32 stage = 0) {
    const Result<LayerRange> own = layers_of_stage(weights.layers, split.sharding, stage);
    if (!own) {
        return own.error();
    }
    const bool last = stage + 1 == split.sharding.pp;
    WeightReads reads{};
    for (const WeightGroup& group : weights.groups) {
        const bool as_head =
            group.part == WeightPart::head || (group.part == WeightPart::embedding && weights.tied);
        const bool here =
            group.layer == no_layer ? last : group.layer >= own->begin && group.layer < own->end;
        if (!here || (group.part == WeightPart::embedding && !weights.tied)) {
            continue;
        }
        const WeightReads::Part part = part_read(group, weights, mixture, split, tokens);
        WeightReads::Part& to = as_head                             ? reads.head
                                : group.part == WeightPart::keys    ? reads.keys
                                : group.part == WeightPart::dense   ? reads.dense
                                : group.part == WeightPart::experts ? reads.experts
                                                                    : reads.attention;
        to.read += part.read;
        to.active = saturating_sum(to.active, part.active);
    }
    return reads;
}

}  // namespace kvcap::inline v1
