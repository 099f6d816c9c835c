// SPDX-License-Identifier: MIT
// A sequence with a fixed capacity and no allocation: trivially copyable when T is, usable as a template argument.
// A full sequence is an error at the call (Errc::capacity), never a silent loss.
#pragma once

#include <kvcap/units.hpp>

namespace kvcap::inline v1 {

template <class T, u32 Capacity>
struct Inplace {
    using value_type = T;

    u32 count = 0;
    T items[Capacity]{};

    static constexpr u32 capacity() noexcept { return Capacity; }
    constexpr u32 size() const noexcept { return count; }
    constexpr bool empty() const noexcept { return count == 0; }
    constexpr bool full() const noexcept { return count == Capacity; }

    [[nodiscard]] constexpr bool push(const T& item) noexcept {
        if (full()) {
            return false;
        }
        items[count++] = item;
        return true;
    }

    constexpr T& operator[](u32 i) noexcept { return items[i]; }
    constexpr const T& operator[](u32 i) const noexcept { return items[i]; }
    constexpr T* begin() noexcept { return items; }
    constexpr T* end() noexcept { return items + count; }
    constexpr const T* begin() const noexcept { return items; }
    constexpr const T* end() const noexcept { return items + count; }

    /// Compares the live items only.
    friend constexpr bool operator==(const Inplace& a, const Inplace& b) noexcept {
        if (a.count != b.count) {
            return false;
        }
        for (u32 i = 0; i < a.count; ++i) {
            if (!(a.items[i] == b.items[i])) {
                return false;
            }
        }
        return true;
    }
};

}  // namespace kvcap::inline v1
