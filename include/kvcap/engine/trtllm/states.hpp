// SPDX-License-Identifier: MIT
// What do recurrent states cost TensorRT-LLM? A pool of max_batch slots and one for padding, or, where states
// live in blocks, an affine budget: slots up front, and a snapshot every `interval` tokens. Source:
// _torch/pyexecutor/mamba_cache_manager.py at 003f8d088d93.
#pragma once

#include <kvcap/sharding.hpp>
#include <kvcap/engine/trtllm/options.hpp>

namespace kvcap::inline v1::trtllm {

struct StateBytes {
    u64 conv = 0;
    u64 state = 0;
    constexpr u64 total() const noexcept { return conv + state; }
};

/// One layer's state on a rank. Heads and convolution channels must divide.
constexpr Result<StateBytes> state_bytes(const LayerForm& form, u32 tp, const Options& options) noexcept {
    u64 channels = 0;
    u64 taps = 0;
    StateBytes bytes{};
    for (const Stream& stream : form.streams) {
        if (stream.role == Role::conv) {
            channels += u64{stream.heads} * stream.width;
            taps = stream.rows;
            continue;
        }
        if (stream.heads % tp != 0) {
            return Error{.code = Errc::channels_not_divisible, .got = stream.heads, .want = tp};
        }
        bytes.state += stream.elements() / tp * options.state_format.bytes;
    }
    if (channels % tp != 0) {
        return Error{.code = Errc::channels_not_divisible, .got = channels, .want = tp};
    }
    bytes.conv = channels / tp * taps * options.conv_format.bytes;
    return bytes;
}

/// attention, state: bytes of a token and of a slot. interval: tokens between snapshots, 0 for none.
struct HybridBudget {
    u64 attention = 0;
    u64 state = 0;
    u64 slots = 0;
    u64 interval = 0;
    u64 tokens_per_block = 32;

    /// Bytes a further token costs: its keys and values, its part of a snapshot, and of the block a snapshot
    /// breaks.
    constexpr u64 slope() const noexcept {
        if (interval == 0) {
            return attention;
        }
        const u64 broken =
            interval % tokens_per_block != 0 ? ceil_div(saturating_product(attention, tokens_per_block), interval) : 0;
        return saturating_sum(attention, saturating_sum(ceil_div(state, interval), broken));
    }
    constexpr u64 intercept() const noexcept { return saturating_product(slots, state); }
    constexpr u64 max_tokens(u64 budget) const noexcept {
        return budget > intercept() && slope() > 0 ? (budget - intercept()) / slope() : 0;
    }
};

}  // namespace kvcap::inline v1::trtllm
