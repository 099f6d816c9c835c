// SPDX-License-Identifier: MIT
// How is a large count written in a note? In groups of three digits, as on the screens.
#pragma once

#include <kvcap/units.hpp>
#include <string>

namespace kvcap::inline v1::io {

/// 8030261248 -> "8,030,261,248"
inline std::string grouped(u64 n) {
    std::string digits = std::to_string(n);
    for (std::size_t at = digits.size(); at > 3;) {
        at -= 3;
        digits.insert(at, 1, ',');
    }
    return digits;
}

}  // namespace kvcap::inline v1::io
