// SPDX-License-Identifier: MIT
// The roofline of one deployment as a sheet of numbers: what a step reads and computes by part, against the
// device, and what links carry. roofline_text.hpp and roofline_json.hpp write it down.
#pragma once

#include <kvcap/io/mixture.hpp>
#include <kvcap/report/labels.hpp>
#include <kvcap/roofline.hpp>
#include <vector>

namespace kvcap::inline v1::report {

/// A part of the step on one rank, for all its sequences.
struct RooflinePart {
    std::string name;
    std::string kind;  ///< "weights", or the cache's kind
    Bytes bytes{};
    u64 flops = 0;
    double intensity() const {
        return bytes.value == 0 ? 0 : static_cast<double>(flops) / static_cast<double>(bytes.value);
    }
};

/// per_position: flops / bytes of one cached position. expanded: the same with heads written out (0: no
/// latent).
struct Intensity {
    std::string name;
    double per_position = 0;
    double expanded = 0;
};

struct RooflineSheet {
    Device device{};
    u64 tokens = 0;
    u64 sequences = 1;  ///< of the rank
    u64 generated = 0;
    u32 stages = 1;
    std::vector<RooflinePart> parts{};
    std::vector<Intensity> intensities{};
    StepCost step{};            ///< of the slowest stage
    double step_seconds = 0;    ///< all stages
    u64 cache_passes_at = 0;    ///< sequences of the rank; off_scale: never
    u64 prompt_flops = 0;       ///< of the whole replica
    double prompt_seconds = 0;  ///< at peak, on the replica's tensor and own context ranks
    Bytes prefix{};             ///< each byte once
    Bytes prefix_on_rank{};     ///< of the fullest rank
    double replica_peak = 0;    ///< flops a second of all its ranks
    ExpertTraffic experts{};    ///< per_token() 0: none are routed
    Bytes cache_per_token{};    ///< each byte once
    bool weights_known = true;

    bool reads_bind() const {
        return static_cast<double>(step.bytes().value) / device.bandwidth >=
               static_cast<double>(step.flops()) / device.peak;
    }
    double cache_share() const {
        const u64 all = step.bytes().value;
        return all == 0 ? 0 : static_cast<double>(step.cache.per_sequence().value) / static_cast<double>(all);
    }
    /// Bytes a second above which loading the prefix beats computing it at peak.
    double break_even() const { return break_even_bandwidth(prefix, prompt_flops, replica_peak); }
    double transfer() const { return transfer_seconds(prefix_on_rank, device.link); }
};

/// Rows for the weights that are read, then for the caches.
inline std::vector<RooflinePart> parts_of(const WeightReads& weights, const CacheWork& caches,
                                          const ModelSpec& model, u64 sequences) {
    std::vector<RooflinePart> parts{};
    const auto add = [&](const char* name, const WeightReads::Part& part) {
        if (part.read.value != 0) {
            parts.push_back({name, "weights", part.read, saturating_product(2 * sequences, part.active)});
        }
    };
    add("attention, norms", weights.attention);
    add("k and v projections", weights.keys);
    add("MLP", weights.dense);
    add("routed experts", weights.experts);
    add("head", weights.head);
    for (const FormWork& work : caches) {
        const LayerForm& form = model.forms[work.form];
        const std::string chosen = work.picks ? fmt::format(", {} picked", grouped(work.entries)) : "";
        parts.push_back({short_label_of(form) + chosen, std::string{kind_of(form)}, work.bytes * sequences,
                         saturating_product(work.flops, sequences)});
    }
    return parts;
}

/// Intensity of every attention and latent form, each once.
inline std::vector<Intensity> intensities_of(const ModelSpec& model, const Sharding& sharding,
                                             const AttentionFacts& facts) {
    std::vector<Intensity> all;
    for (const LayerForm& form : model.forms) {
        const bool attends = form.kind == Kind::attention || form.kind == Kind::latent;
        const Result<PositionCost> cost = position_cost(form, model.query_heads, sharding, facts);
        if (!attends || form.retention.keep == Keep::once || !cost || cost->bytes == 0) {
            continue;
        }
        const double each = static_cast<double>(cost->flops) / static_cast<double>(cost->bytes);
        const ElementFormat& format = form.streams[0].format;
        const bool expands = form.kind == Kind::latent && facts.expanded != 0;
        const double wide = 2.0 * format.elems / format.bytes;
        all.push_back({label_of(form), each, expands ? wide : 0});
    }
    return all;
}

/// The smallest number of sequences whose cache reads exceed the weight reads, which grow with them where
/// experts are routed. weights(n) -> Bytes read by n sequences.
inline u64 cache_passes_weights(Bytes cache_each, auto weights) {
    if (cache_each.value == 0) {
        return off_scale;
    }
    const u64 most = batch_where_cache_passes(weights(u64{1} << 30), cache_each);
    return largest(most, [&](u64 n) { return n == 0 || !(weights(n) < cache_each * n); }) + 1;
}

}  // namespace kvcap::inline v1::report
