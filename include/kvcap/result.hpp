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
    unsupported,           // the rule set has no such case; got: which (engine's own numbering)
    not_divisible,         // got is not a multiple of want
    refused_combination,   // the engine itself refuses these options together; got: which
    unknown_version,       // no rules for this version or date
    window_pool_too_small, // got: tokens of the window pool, want: the least that admits one request
    no_state_slots,        // got: bytes left, want: bytes of one state slot
    pool_of_no_tokens,     // got: tokens before rounding to pages, want: tokens of one page
};

/// layer: the layer concerned, or `no_layer`. hint: a further number named at the code, else 0.
inline constexpr u32 no_layer = ~u32{0};

struct Error {
    Errc code = Errc::ok;
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
