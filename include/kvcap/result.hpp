// SPDX-License-Identifier: MIT
// How does a function say no? With an Error that is data: a code, a place and the two numbers that disagree.
// Sentences are made in message.hpp. std::expected would change with the language level, so Result is ours always.
#pragma once

#include <kvcap/units.hpp>

namespace kvcap::inline v1 {

enum class Errc : u8 {
    ok,
    capacity,              // got: items, want: the most that fit (forms, caches, streams, pools ...)
    overflow,              // the sum leaves 64 bits
    negative,              // got - want would be below zero
    divided_by_zero,       // a quotient by nothing
    block_not_divisible,   // got: row width, want: elements of a storage block
    heads_not_divisible,   // got: heads, want: ranks
    query_heads_not_divisible,  // got: query heads, want: ranks
    channels_not_divisible,     // got: channels, want: ranks
    stages_exceed_layers,  // got: stages, want: layers
    stage_layers_mismatch, // got: layers in the explicit list, want: layers of the model
    rank_out_of_range,     // got: rank, want: ranks
    zero_parallelism,      // a parallel size of zero
    no_layers,             // a model without layers
    zero_dimension,        // got: 0 where a size is needed
    no_memory,             // got: usable bytes, want: bytes of one unit
    does_not_fit,          // got: available, want: needed, hint: largest that fits
    unsupported,           // the rule set has no such case: Error::what; got, want: the numbers its words have
    not_divisible,         // got is not a multiple of want
    refused_combination,   // the engine itself refuses these options together; got: which
    unknown_version,       // no rules for this version or date
    window_pool_too_small, // got: tokens of the window pool, want: the least that admits one request
    no_state_slots,        // got: bytes left, want: bytes of one state slot
    too_few_state_slots,   // got: slots, want: those of one request
    pool_of_no_tokens,     // got: tokens before rounding to pages, want: tokens of one page
};

/// What a rule set has no case for, beside Errc::unsupported. nothing: not said. Recurrent states stand in the order of
/// `Kind`.
enum class Uncovered : u8 {
    nothing,
    sinks,             // first tokens beside a window, chunk or budget
    prompt_only,       // tokens of the prompt alone
    encoder_part,      // encoder tokens that are not kept as whole keys and values
    encoder_prefix,    // the prefix of an encoder's tokens
    budget,            // a budget of tokens
    lag,               // got: tokens by which entries lag
    stride,            // got: tokens of an entry
    strided_window,    // got: tokens of an entry of a window
    dealt_stride,      // got: tokens of an entry that context ranks share
    dealt_runs,        // got: tokens that go to one context rank at a time
    chunked_latent,
    stream,            // a stream of another role
    unequal_widths,    // got: of values, want: of keys
    unequal_heads,     // got, want: heads of two streams
    second_shape,      // of keys and values
    second_window,     // got: tokens, want: of the first
    second_state,
    compressor,
    mamba1, mamba2, gated_delta, kda, lightning, gla, rwkv, rglru, short_conv, mlstm, state,
    kv_format,         // the layer in the format asked for
    no_attention,
    context_ranks,     // got: how many
    two_splits,        // tensor ranks and pipeline stages at once
    devices,           // got: how many, want: the most
    sliced_state,      // a recurrent state cut among tensor ranks
    saved_compressed,  // a saved sequence of compressed latents
    whole_group,       // a group that is reused as a whole or not
    position,          // got, want: the first that is too large
    bare_index,        // index keys beside keys and values
};

/// layer: the layer concerned, or `no_layer`. hint: a further number named at the code, else 0.
inline constexpr u32 no_layer = ~u32{0};

struct Error {
    Errc code = Errc::ok;
    Uncovered what = Uncovered::nothing;
    u32 layer = no_layer;
    u64 got = 0;
    u64 want = 0;
    u64 hint = 0;

    friend constexpr bool operator==(const Error&, const Error&) = default;
};

/// Stops a constant evaluation with the name of the call; traps at run time.
[[noreturn]] inline void no_value_in_result() {
#if defined(__GNUC__)
    __builtin_trap();
#else
    for (int* nowhere = nullptr;;) {
        *nowhere = 0;
    }
#endif
}

/// A value or an Error. Members are named as in std::expected. Never throws.
template <class T>
class [[nodiscard]] Result {
public:
    using value_type = T;

    constexpr Result(const T& value) noexcept : value_{value} {}
    constexpr Result(const Error& error) noexcept : error_{error} {}
    constexpr Result(Errc code) noexcept : error_{.code = code} {}

    constexpr bool has_value() const noexcept { return error_.code == Errc::ok; }
    constexpr explicit operator bool() const noexcept { return has_value(); }
    constexpr const Error& error() const noexcept { return error_; }

    /// pre: has_value()
    constexpr const T& value() const noexcept {
        if (!has_value()) {
            no_value_in_result();
        }
        return value_;
    }
    constexpr const T& operator*() const noexcept { return value(); }
    constexpr const T* operator->() const noexcept { return &value(); }
    constexpr T value_or(const T& otherwise) const noexcept { return has_value() ? value_ : otherwise; }

    friend constexpr bool operator==(const Result& a, const Result& b) noexcept {
        return a.error_ == b.error_ && (!a.has_value() || a.value_ == b.value_);
    }
    friend constexpr bool operator==(const Result& a, const T& b) noexcept {
        return a.has_value() && a.value_ == b;
    }

private:
    T value_{};
    Error error_{};
};

template <class Unit>
constexpr Result<Quantity<Unit>> minus(Quantity<Unit> from, Quantity<Unit> less) noexcept {
    if (from < less) {
        return Error{.code = Errc::negative, .got = from.value, .want = less.value};
    }
    return Quantity<Unit>{from.value - less.value};
}

/// How many whole pieces of `each` a budget holds.
template <class Unit>
constexpr Result<u64> how_many(Quantity<Unit> budget, Quantity<Unit> each) noexcept {
    if (each.value == 0) {
        return Error{.code = Errc::divided_by_zero, .got = budget.value};
    }
    return budget.value / each.value;
}

/// The number itself; Errc::overflow where it only says "at least that much".
constexpr Result<u64> on_scale(u64 value) noexcept {
    return value == off_scale ? Result<u64>{Errc::overflow} : Result<u64>{value};
}

/// Names two facts in a requires-clause, so that a failing build prints both values.
template <auto Got, auto Want>
concept Equals = Got == Want;

}  // namespace kvcap::inline v1
