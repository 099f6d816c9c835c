// SPDX-License-Identifier: MIT
// What is a metadata value of a GGUF file? A typed view of its bytes; nothing is copied, arrays stay where
// they lie.
// Source: ggml's gguf.md (versions 2 and 3, either byte order).
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <kvcap/units.hpp>
#include <optional>
#include <string_view>

namespace kvcap::inline v1::gguf {

/// Values are the file's own numbers.
enum class Type : u32 {
    u8_ = 0,
    i8_ = 1,
    u16_ = 2,
    i16_ = 3,
    u32_ = 4,
    i32_ = 5,
    f32_ = 6,
    bool_ = 7,
    string_ = 8,
    array_ = 9,
    u64_ = 10,
    i64_ = 11,
    f64_ = 12,
};

inline constexpr u32 type_count = 13;

constexpr std::string_view name_of(Type type) noexcept {
    constexpr std::string_view names[type_count] = {"u8", "i8", "u16", "i16", "u32", "i32", "f32",
                                                    "bool", "string", "array", "u64", "i64", "f64"};
    return static_cast<u32>(type) < type_count ? names[static_cast<u32>(type)] : "unknown type";
}

/// Bytes of a scalar; 0 for strings and arrays.
constexpr u64 width_of(Type type) noexcept {
    constexpr u8 widths[type_count] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return static_cast<u32>(type) < type_count ? widths[static_cast<u32>(type)] : 0;
}

/// pre: size bytes at `from`, size <= 8
inline u64 load(const std::byte* from, u64 size, bool big_endian) noexcept {
    constexpr bool big_host = std::endian::native == std::endian::big;
    u64 value = 0;
    if (size == 8 && big_endian == big_host) {  // nearly all of a vocabulary
        std::memcpy(&value, from, 8);
        return value;
    }
    for (u64 i = 0; i < size; ++i) {
        const u64 at = big_endian ? i : size - 1 - i;
        value = value << 8 | std::to_integer<u64>(from[at]);
    }
    return value;
}

/// A scalar (count 1) or an array of `count` elements of type `type`. Strings: `data` starts at the first
/// length.
struct Value {
    Type type = Type::u32_;
    bool array = false;
    bool big_endian = false;
    u64 count = 1;
    const std::byte* data = nullptr;

    /// An element as a non-negative integer; nothing when it is negative, a fraction or no number. Booleans
    /// are 0, 1.
    std::optional<u64> integer(u64 index = 0) const noexcept {
        const u64 width = width_of(type);
        if (width == 0 || index >= count || type == Type::f32_ || type == Type::f64_) {
            return std::nullopt;
        }
        const u64 raw = load(data + index * width, width, big_endian);
        const bool is_signed =
            type == Type::i8_ || type == Type::i16_ || type == Type::i32_ || type == Type::i64_;
        if (is_signed && (raw >> (8 * width - 1)) != 0) {
            return std::nullopt;
        }
        return raw;
    }

    std::optional<double> real(u64 index = 0) const noexcept {
        if (index < count && type == Type::f32_) {
            return std::bit_cast<float>(static_cast<u32>(load(data + index * 4, 4, big_endian)));
        }
        if (index < count && type == Type::f64_) {
            return std::bit_cast<double>(load(data + index * 8, 8, big_endian));
        }
        return std::nullopt;
    }

    /// A scalar string. The text is not checked: it is bytes.
    std::optional<std::string_view> text() const noexcept {
        if (type != Type::string_ || array) {
            return std::nullopt;
        }
        return std::string_view{reinterpret_cast<const char*>(data + 8),
                                static_cast<std::size_t>(load(data, 8, big_endian))};
    }
};

}  // namespace kvcap::inline v1::gguf
