// SPDX-License-Identifier: MIT
// What the C++20 library beside emscripten 3.1 lacks and kvcap uses.
#pragma once

#include <bit>

#ifndef __cpp_lib_bit_cast
namespace std {
template <class To, class From>
constexpr To bit_cast(const From& from) noexcept {
    return __builtin_bit_cast(To, from);
}
}  // namespace std
#endif
