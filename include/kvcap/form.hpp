// SPDX-License-Identifier: MIT
// What does one cache keep, and which positions stay? The normal form to which every layer kind lowers:
// streams (what one slot holds) x retention (how many slots a sequence of given lengths has filled).
// Held bytes = slots(retention, lengths) x sum over streams of heads x rows x row_bytes(width).
#pragma once

#include <kvcap/element.hpp>
#include <kvcap/inplace.hpp>

namespace kvcap::inline v1 {

enum class Role : u8 { key, value, latent, rope, index, conv, state };

/// How tensor-parallel ranks share a stream. replicated: whole on each. heads: dealt, or copied when fewer than ranks.
/// channels: must divide. groups: divide, else exactly one on each rank (Mamba-2 pads B and C groups so).
enum class Split : u8 { replicated, heads, channels, groups };

enum class Keep : u8 { everything, window, chunk, budget, last, once };

/// Whose tokens fill the cache: prompt and decoded, prompt only (depth reuse), or an encoder's (cross attention).
enum class Source : u8 { decoder, prompt, encoder };

/// A name for people and for engine rules that depend on the layer class. Bytes never depend on it.
enum class Kind : u8 {
    attention, latent, index, compressor,
    mamba1, mamba2, gated_delta, kda, lightning, gla, rwkv, rglru, short_conv, mlstm, state,
};

/// elements of one slot = heads x rows x width; rows are convolution taps or a state's middle dimension.
struct Stream {
    Role role = Role::key;
    Split split = Split::replicated;
    u16 rows = 1;
    u32 heads = 1;
    u32 width = 0;
    ElementFormat format{};

    constexpr u64 elements() const noexcept { return saturating_product(u64{heads} * rows, width); }
    /// A size at its member's top: some product that made it left the member.
    constexpr bool is_off_scale() const noexcept {
        return heads == ~u32{0} || width == ~u32{0} || rows == 0xffff;
    }
    friend constexpr bool operator==(const Stream&, const Stream&) = default;
};

/// Lengths of one sequence, in tokens. branches: samples or beams that share the prompt.
struct Lengths {
    Tokens prompt{};
    Tokens decoded{};
    Tokens encoder{};
    u32 branches = 1;

    constexpr u64 from(Source source) const noexcept {
        switch (source) {
            case Source::decoder: return (prompt + decoded).value;
            case Source::prompt: return prompt.value;
            case Source::encoder: return encoder.value;
        }
        return 0;
    }
    friend constexpr bool operator==(const Lengths&, const Lengths&) = default;
};

/// span, sinks: tokens. stride: tokens per entry; an unfinished entry is not here. lag: the youngest tokens that are
/// not here (yet). `everything` with a span is a window that engines may use as a hint and that frees nothing.
struct Retention {
    Keep keep = Keep::everything;
    Source source = Source::decoder;
    u32 stride = 1;
    u32 lag = 0;
    Tokens span{};
    Tokens sinks{};

    /// High-water mark of filled slots up to these lengths: monotone, although chunks empty at their ends. Lengths off
    /// the scale fill slots off the scale.
    constexpr Slots slots(const Lengths& lengths) const noexcept {
        const u64 seen = lengths.from(source);
        const u64 here = seen == off_scale ? off_scale : seen > lag ? seen - lag : 0;
        switch (keep) {
            case Keep::everything: return {here == off_scale ? off_scale : here / stride};
            case Keep::window:
            case Keep::chunk:
            case Keep::budget: return {smaller(here, (span + sinks).value) / stride};
            case Keep::last: return {smaller(seen, 1)};
            case Keep::once: return {1};
        }
        return {};
    }
    /// Of many tokens some stay: as many as `span` and `sinks` say.
    constexpr bool is_bounded() const noexcept {
        return keep == Keep::window || keep == Keep::chunk || keep == Keep::budget;
    }
    /// A window, chunk or budget of no tokens.
    constexpr bool keeps_nothing() const noexcept { return is_bounded() && span.value == 0 && sinks.value == 0; }
    /// The first tokens stay although those after them go. Where everything stays, sinks free nothing.
    constexpr bool keeps_sinks() const noexcept { return is_bounded() && sinks.value != 0; }
    friend constexpr bool operator==(const Retention&, const Retention&) = default;
};

/// One cache of one layer.
struct LayerForm {
    Retention retention{};
    Inplace<Stream, 6> streams{};
    Kind kind = Kind::attention;

    constexpr u64 elements() const noexcept {
        u64 sum = 0;
        for (const Stream& stream : streams) {
            sum = saturating_sum(sum, stream.elements());
        }
        return sum;
    }
    friend constexpr bool operator==(const LayerForm&, const LayerForm&) = default;
};

/// The caches of one layer, in the order in which an engine registers them.
using LayerForms = Inplace<LayerForm, 8>;

}  // namespace kvcap::inline v1
