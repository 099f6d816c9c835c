// SPDX-License-Identifier: MIT
// How large are a model's weights, in all and on one rank? Parts that parallelism treats alike, per layer,
// with parameters and bytes. Sources, best first: safetensors headers, their index, a card, derived from the
// config.
#pragma once

#include <kvcap/io/diagnosis.hpp>
#include <kvcap/io/proportion.hpp>
#include <kvcap/sharding.hpp>

namespace kvcap::inline v1 {

enum class WeightSource : u8 { unknown, safetensors, index, card, derived, gguf };

/// embedding: first stage, split by vocabulary. head: last stage, likewise. keys: k and v projections, dealt
/// or copied with their heads. attention, dense: divided by tp. experts: divided by ep, or by tp without it.
/// whole: on every rank.
enum class WeightPart : u8 { embedding, head, keys, attention, dense, experts, whole };

/// layer: no_layer for what belongs to none. heads: key heads of a `keys` part.
struct WeightGroup {
    WeightPart part = WeightPart::whole;
    u32 layer = no_layer;
    u32 heads = 0;
    u64 parameters = 0;
    u64 bytes = 0;
    friend bool operator==(const WeightGroup&, const WeightGroup&) = default;
};

struct WeightType {
    std::string dtype;
    u64 parameters = 0;
    u64 bytes = 0;
    friend bool operator==(const WeightType&, const WeightType&) = default;
};

struct Weights {
    WeightSource source = WeightSource::unknown;
    u64 parameters = 0;
    u64 bytes = 0;
    u32 layers = 0;
    bool tied = false;  ///< the head is the embedding: with several stages the first and the last hold it
    std::vector<WeightType> types{};
    std::vector<WeightGroup> groups{};
    friend bool operator==(const Weights&, const Weights&) = default;

    void add(const WeightGroup& group) {
        parameters = saturating_sum(parameters, group.parameters);
        bytes = saturating_sum(bytes, group.bytes);
        for (std::size_t i = groups.size(); i-- > 0;) {  // files list a layer's tensors together
            WeightGroup& known = groups[i];
            if (known.part == group.part && known.layer == group.layer && known.heads == group.heads) {
                known.parameters = saturating_sum(known.parameters, group.parameters);
                known.bytes = saturating_sum(known.bytes, group.bytes);
                return;
            }
        }
        groups.push_back(group);
    }
};

constexpr const char* name_of(WeightSource source) noexcept {
    switch (source) {
        case WeightSource::unknown: return "unknown";
        case WeightSource::safetensors: return "safetensors headers";
        case WeightSource::index: return "safetensors index";
        case WeightSource::card: return "card";
        case WeightSource::derived: return "derived from the config";
        case WeightSource::gguf: return "GGUF tensors";
    }
    return "unknown";
}

/// What ranks under attention data parallelism do with what is neither attention nor experts: divide it by tp, all but
/// the input embedding, or hold it whole.
enum class OtherParts : u8 { divided, embedding_whole, whole };

/// ep: ranks over which experts are dealt, whole or in slices, where these are more than tp or other ranks (1: experts
/// are split by tp like the rest). attention_dp: each rank holds all attention weights.
struct WeightSplit {
    Sharding sharding{};
    u32 ep = 1;
    bool attention_dp = false;
    OtherParts others = OtherParts::divided;  ///< under attention_dp

    constexpr u32 tp() const noexcept { return sharding.tp == 0 ? 1 : sharding.tp; }
    /// Ranks over which a part other than `whole` is dealt.
    constexpr u32 ranks_of(WeightPart part) const noexcept {
        const bool whole = attention_dp && others == OtherParts::whole;
        switch (part) {
            case WeightPart::keys:
            case WeightPart::attention: return attention_dp ? 1 : tp();
            case WeightPart::experts: return ep > 1 ? ep : tp();
            case WeightPart::embedding: return attention_dp && others != OtherParts::divided ? 1 : tp();
            default: return whole ? 1 : tp();
        }
    }
};

inline constexpr const char* weight_rule =
    "vocabulary, attention and MLP divided by tp; k and v copied where key heads are fewer; experts by ep, else by tp; "
    "norms, routers and latent down-projections whole; embedding on the first stage, head on the last";

/// Bytes of `own` of `heads` heads, rounded up. pre: 0 < own <= heads < 2^32
constexpr u64 part_of_heads(u64 bytes, u64 own, u64 heads) noexcept {
    return bytes / heads * own + ceil_div(bytes % heads * own, heads);
}

/// Bytes of one group on a rank of `stage`; rounded up where a part does not divide.
inline u64 bytes_on_rank(const WeightGroup& group, const WeightSplit& split) noexcept {
    const u32 ranks = split.ranks_of(group.part);
    if (group.part == WeightPart::whole) {
        return group.bytes;
    }
    if (group.part == WeightPart::keys) {
        const u64 heads = group.heads == 0 ? ranks : group.heads;
        return part_of_heads(group.bytes, ceil_div(heads, ranks), heads);
    }
    return ceil_div(group.bytes, ranks);
}

/// Bytes of weights on a rank of pipeline stage `stage`, by `weight_rule`.
inline Result<Bytes> weights_on_rank(const Weights& weights, const WeightSplit& split, u32 stage = 0) {
    const Result<LayerRange> own = layers_of_stage(weights.layers, split.sharding, stage);
    if (!own) {
        return own.error();
    }
    const bool first = stage == 0;
    const bool last = stage + 1 == split.sharding.pp;
    u64 sum = 0;
    for (const WeightGroup& group : weights.groups) {
        const bool in_layers = group.layer >= own->begin && group.layer < own->end;
        const bool behind = group.layer != no_layer && group.layer >= weights.layers;  // draft layers
        const bool here = group.part == WeightPart::embedding ? first || (last && weights.tied)
                          : group.layer == no_layer            ? last
                                                               : in_layers || (behind && last);
        sum = saturating_sum(sum, here ? bytes_on_rank(group, split) : 0);
    }
    return Bytes{sum};
}

/// The groups of `shape` with the bytes of `total`: where only a sum is known (a card, an index), they follow the
/// shape's by largest remainders, and add up to it.
inline Weights spread(const Weights& shape, WeightSource source, u64 total, std::vector<WeightType> types) {
    Weights all{.source = source, .parameters = shape.parameters, .bytes = total, .layers = shape.layers,
                .tied = shape.tied, .types = std::move(types), .groups = shape.groups};
    if (all.groups.empty()) {
        all.groups.push_back({.part = WeightPart::dense, .layer = no_layer, .parameters = 0, .bytes = total});
        return all;
    }
    std::vector<u64> derived;
    for (const WeightGroup& group : all.groups) {
        derived.push_back(group.bytes);
    }
    const std::vector<u64> bytes = io::in_proportion(total, std::move(derived));
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        all.groups[i].bytes = bytes[i];
    }
    return all;
}

}  // namespace kvcap::inline v1
