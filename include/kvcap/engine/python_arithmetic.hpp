// SPDX-License-Identifier: MIT
// How do engines written in Python round? x // y on floats is floor of the exact quotient's float (CPython
// float_floor_div), int(x) cuts the fraction off. Exact and constexpr, so a whole quotient never slips by
// one.
#pragma once

#include <kvcap/units.hpp>

namespace kvcap::inline v1 {

inline constexpr double bytes_per_gib = 1073741824.0;

/// int(x) of a value that must not be negative; negative and off-scale values give the ends of the range.
constexpr u64 truncated(double x) noexcept {
    if (!(x >= 1.0)) {
        return 0;
    }
    return x < 18446744073709551615.0 ? static_cast<u64>(x) : off_scale;
}

/// The exact remainder of x / y, as C's fmod. pre: x >= 0, y > 0, both finite.
constexpr double remainder_of(double x, double y) noexcept {
    double step = y;
    while (step <= x / 2) {
        step *= 2;
    }
    for (; step >= y; step /= 2) {
        x -= x >= step ? step : 0.0;
    }
    return x;
}

/// Python's x // y as a whole number; 0 for a negative x (its callers refuse those). pre: y > 0.
constexpr u64 floor_div(double x, double y) noexcept {
    if (!(x >= y)) {
        return 0;
    }
    const double quotient = (x - remainder_of(x, y)) / y;
    const u64 whole = truncated(quotient);
    return quotient - static_cast<double>(whole) > 0.5 ? whole + 1 : whole;
}

/// Greatest multiple of `to` that is not above `value`. pre: to > 0
constexpr u64 round_down(u64 value, u64 to) noexcept {
    return value / to * to;
}

constexpr u64 clamped(u64 value, u64 low, u64 high) noexcept {
    return larger(smaller(value, high), low);
}

}  // namespace kvcap::inline v1
