// SPDX-License-Identifier: MIT
// When are two names the same but for the case of their letters? By ASCII alone, whatever the locale.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace kvcap::inline v1::io {

constexpr char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

inline std::string lower_case(std::string_view text) {
    std::string all{text};
    std::transform(all.begin(), all.end(), all.begin(), lower);
    return all;
}

inline bool same_letters(std::string_view a, std::string_view b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace kvcap::inline v1::io
