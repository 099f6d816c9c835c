// SPDX-License-Identifier: MIT
// Which quantities can be mixed up at a call, and what their arithmetic does at the edges?
// Sums and products saturate at `off_scale` ("at least that much"), which absorbs; `fold` reports it as Errc::overflow.
#pragma once

#include <compare>
#include <cstdint>

namespace kvcap::inline v1 {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

/// Top of every scale: a value known only to be at least this large.
inline constexpr u64 off_scale = ~u64{0};

constexpr u64 saturating_sum(u64 a, u64 b) noexcept {
    return a > off_scale - b ? off_scale : a + b;
}

constexpr u64 saturating_product(u64 a, u64 b) noexcept {
    if (((a | b) >> 32) == 0) {
        return a * b;
    }
    return a != 0 && b > off_scale / a ? off_scale : a * b;
}

/// For members narrower than 64 bits: what does not fit becomes the member's top, which stands for "off scale" there.
constexpr u32 saturated_u32(u64 value) noexcept {
    return value > ~u32{0} ? ~u32{0} : static_cast<u32>(value);
}

constexpr u16 saturated_u16(u64 value) noexcept {
    return value > 0xffff ? u16{0xffff} : static_cast<u16>(value);
}

/// pre: by > 0
constexpr u64 ceil_div(u64 value, u64 by) noexcept {
    return value / by + (value % by != 0 ? 1 : 0);
}

/// pre: to > 0. Smallest multiple of `to` that is not below `value`; saturates.
constexpr u64 round_up(u64 value, u64 to) noexcept {
    return saturating_product(ceil_div(value, to), to);
}

/// A product of two 64-bit numbers, whole. Where the machine has no 128-bit numbers, by halves.
struct WideProduct {
    u64 high = 0;
    u64 low = 0;
    friend constexpr auto operator<=>(const WideProduct&, const WideProduct&) = default;
};

constexpr WideProduct product_by_halves(u64 a, u64 b) noexcept {
    constexpr u64 half = 0xffff'ffff;
    const u64 low = (a & half) * (b & half);
    const u64 middle = (a >> 32) * (b & half) + (low >> 32);
    const u64 other = (a & half) * (b >> 32) + (middle & half);
    return {(a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32), other << 32 | (low & half)};
}

/// a x b > c x d, without losing a bit.
constexpr bool product_exceeds(u64 a, u64 b, u64 c, u64 d) noexcept {
#if defined(__SIZEOF_INT128__)
    __extension__ using u128 = unsigned __int128;
    return static_cast<u128>(a) * b > static_cast<u128>(c) * d;
#else
    return product_by_halves(a, b) > product_by_halves(c, d);
#endif
}

/// floor(a x b / by) of the whole product, or off_scale when that leaves 64 bits. pre: by > 0
constexpr u64 product_over(u64 a, u64 b, u64 by) noexcept {
    const WideProduct product = product_by_halves(a, b);
    if (product.high >= by) {
        return off_scale;
    }
    u64 rest = product.high;
    u64 quotient = 0;
    for (u32 bit = 64; bit-- > 0;) {
        const bool carry = rest >> 63 != 0;  // then `rest` is 2^64 more than it shows, and above `by`
        rest = rest << 1 | (product.low >> bit & 1);
        const bool takes = carry || rest >= by;
        rest = takes ? rest - by : rest;
        quotient = quotient << 1 | (takes ? 1 : 0);
    }
    return quotient;
}

constexpr u64 smaller(u64 a, u64 b) noexcept {
    return b < a ? b : a;
}

constexpr u64 larger(u64 a, u64 b) noexcept {
    return a < b ? b : a;
}

constexpr u64 greatest_common_divisor(u64 a, u64 b) noexcept {
    while (b != 0) {
        const u64 rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

constexpr u64 least_common_multiple(u64 a, u64 b) noexcept {
    return a == 0 || b == 0 ? 0 : saturating_product(a / greatest_common_divisor(a, b), b);
}

/// A count of one unit. Same-unit sums, scaling and ordering only: differences go through `minus`, quotients
/// through `how_many` (result.hpp), so nothing wraps or divides by zero.
template <class Unit>
struct Quantity {
    u64 value = 0;

    friend constexpr Quantity operator+(Quantity a, Quantity b) noexcept {
        return {saturating_sum(a.value, b.value)};
    }
    friend constexpr Quantity operator*(Quantity a, u64 times) noexcept {
        return {saturating_product(a.value, times)};
    }
    friend constexpr Quantity operator*(u64 times, Quantity a) noexcept { return a * times; }
    constexpr Quantity& operator+=(Quantity more) noexcept { return *this = *this + more; }
    friend constexpr auto operator<=>(const Quantity&, const Quantity&) = default;
};

using Bytes = Quantity<struct BytesUnit>;
using Tokens = Quantity<struct TokensUnit>;
/// Entries of a cache that hold content: one per token, per `stride` tokens, or one in all.
using Slots = Quantity<struct SlotsUnit>;
using BytesPerSlot = Quantity<struct BytesPerSlotUnit>;

constexpr Bytes operator*(Slots slots, BytesPerSlot each) noexcept {
    return {saturating_product(slots.value, each.value)};
}

inline namespace literals {

constexpr Bytes operator""_B(unsigned long long n) noexcept { return {n}; }
constexpr Bytes operator""_KiB(unsigned long long n) noexcept { return {saturating_product(n, u64{1} << 10)}; }
constexpr Bytes operator""_MiB(unsigned long long n) noexcept { return {saturating_product(n, u64{1} << 20)}; }
constexpr Bytes operator""_GiB(unsigned long long n) noexcept { return {saturating_product(n, u64{1} << 30)}; }
constexpr Tokens operator""_tok(unsigned long long n) noexcept { return {n}; }

}  // namespace literals
}  // namespace kvcap::inline v1
