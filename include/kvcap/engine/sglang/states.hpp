// SPDX-License-Identifier: MIT
// How much memory does SGLang give to recurrent states? By default ratio / (1 + ratio) of what the weights
// left (47.4%), in slots of all state layers of the model, whatever the stage holds; the tensors have one
// slot more. Sources: configs/mamba_utils.py (shapes), KVCacheConfigurator._handle_max_mamba_cache,
// _calculate_mamba_ratio.
#pragma once

#include <kvcap/engine/sglang/layers.hpp>

namespace kvcap::inline v1::sglang {

/// One layer's state on a rank. conv: channels x taps; ssm: heads x rows x width.
struct StateShape {
    u64 conv_channels = 0;
    u64 conv_taps = 0;
    u64 ssm_heads = 0;
    u64 ssm_rows = 0;
    u64 ssm_width = 0;
    Bytes conv{};
    Bytes ssm{};
    friend constexpr bool operator==(const StateShape&, const StateShape&) = default;
};

/// Channels of a gated delta layer's convolution: values, keys and queries. Key heads are padded to the ranks
/// as Mamba-2 pads its groups. JetNemotron convolves values only (its state is key x value); the engine makes
/// room for all three.
constexpr u64 delta_channels(const Stream& state, const Stream& conv, u64 tp) noexcept {
    const bool values_only = conv.heads == u64{state.heads} * state.width;
    const u64 values = u64{state.heads} * (values_only ? state.width : state.rows);
    const u64 key_dim = values_only ? state.rows : state.width;
    const u64 key_heads =
        values_only ? state.heads : (conv.heads - smaller(conv.heads, values)) / (2 * key_dim);
    return (values + 2 * (key_heads % tp == 0 ? key_heads : tp) * key_dim) / tp;
}

/// Channels of one convolution on a rank.
constexpr Result<u64> conv_channels(const LayerForm& form, const Stream& conv,
                                    const Sharding& ranks) noexcept {
    const Stream& state = form.streams[form.streams.size() - 1];
    if (form.kind == Kind::gated_delta && state.elements() != 0 && state.heads % ranks.tp == 0) {
        return delta_channels(state, conv, ranks.tp);
    }
    const Result<u32> heads = heads_on_rank(conv, ranks);
    if (!heads) {
        return heads.error();
    }
    return u64{*heads} * conv.width;
}

constexpr Result<StateShape> state_shape(const LayerForm& form, const Sharding& ranks,
                                         const Options& options) noexcept {
    StateShape shape{};
    u64 conv = 0;
    u64 ssm = 0;
    for (const Stream& stream : form.streams) {
        if (stream.role == Role::conv) {
            const Result<u64> channels = conv_channels(form, stream, ranks);
            if (!channels) {
                return channels.error();
            }
            shape.conv_channels += *channels;
            shape.conv_taps = stream.rows;
            conv += *channels * stream.rows;
            continue;
        }
        const Result<u32> heads = heads_on_rank(stream, ranks);
        if (!heads) {
            return heads.error();
        }
        shape.ssm_heads = *heads;
        shape.ssm_rows = stream.rows;
        shape.ssm_width = stream.width;
        ssm += u64{*heads} * stream.rows * stream.width;
    }
    shape.conv = {conv * options.conv_format.bytes};
    shape.ssm = {ssm * options.state_format.bytes};
    return shape;
}

/// Slots that one running request takes: its own, and copies for the prefix tree.
constexpr u64 slots_per_request(const Options& options) noexcept {
    if (!options.prefix_cache) {
        return 1;
    }
    switch (options.states) {
        case StateStrategy::extra_buffer: return options.overlap ? 5 : 4;
        case StateStrategy::extra_buffer_lazy: return 4;
        case StateStrategy::no_buffer: break;
    }
    return 3;
}

/// slots: per attention-data-parallel worker. rest_gib: what is left for tokens.
struct StateBudget {
    u64 slots = 0;
    double rest_gib = 0;
};

constexpr double gib(double bytes) noexcept {
    return bytes / bytes_per_gib;
}

/// Slots of the ratio rule: the states' share of the rest, over a slot and its drafts.
constexpr u64 slots_by_ratio(double rest, Bytes slot, const Options& options) noexcept {
    const double weighted = rest * options.state_ratio;
    const double share = weighted / (1 + options.state_ratio);
    const double bytes = share * bytes_per_gib;
    const double each = static_cast<double>(slot.value);
    if (!options.speculation.on()) {
        return floor_div(bytes, each);
    }
    const double drafts =
        static_cast<double>(options.speculation.tokens) / static_cast<double>(slots_per_request(options));
    return floor_div(bytes, each * (1 + drafts));
}

/// Requests for which drafts keep a state after each drafted token.
constexpr u64 drafting_requests(u64 slots, const Options& options) noexcept {
    const bool by_requests = !options.prefix_cache && options.max_state_slots == not_set;
    return by_requests ? slots
                       : smaller(per_worker(options.max_running_requests, options),
                                 slots / slots_per_request(options));
}

/// slot: bytes of one slot over all state layers of the model.
constexpr Result<StateBudget> state_budget(double rest, Bytes slot, const Options& options) noexcept {
    if (options.speculation.on() && options.max_running_requests == not_set) {
        return Error{.code = Errc::refused_combination, .got = options.speculation.tokens};
    }
    if (options.states == StateStrategy::extra_buffer_lazy && !options.overlap && options.prefix_cache) {
        return Errc::refused_combination;
    }
    StateBudget budget{.rest_gib = rest};
    if (options.max_state_slots != not_set) {
        budget.slots = per_worker(options.max_state_slots, options);
    } else if (!options.prefix_cache && options.max_running_requests != not_set) {
        budget.slots = per_worker(options.max_running_requests, options);
    } else {
        budget.slots = slots_by_ratio(rest, slot, options);
    }
    if (options.speculation.on()) {
        const u64 drafts = saturating_product(drafting_requests(budget.slots, options), options.speculation.tokens);
        budget.rest_gib -= gib(static_cast<double>((slot * drafts).value));
    }
    if (budget.slots == 0) {
        return Error{
            .code = Errc::no_state_slots, .got = truncated(rest * bytes_per_gib), .want = slot.value};
    }
    budget.rest_gib -= gib(static_cast<double>((budget.slots * slot).value));
    return budget;
}

}  // namespace kvcap::inline v1::sglang
