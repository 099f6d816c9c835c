// SPDX-License-Identifier: MIT
// Does every figure of a sentence exist? A sentence remembers it of the numbers it was made of; words of a log, which
// may be called anything, decide nothing.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <string_view>
#include <type_traits>

namespace kvcap::inline v1::report {

/// founded: no number in it is none, or infinite (a figure that the log does not say, a quotient by zero).
struct Sentence {
    std::string text{};
    bool founded = true;

    Sentence() = default;
    Sentence(std::string words) : text{std::move(words)} {}
    Sentence(const char* words) : text{words} {}
};

template <class T>
bool is_founded(const T& part) noexcept {
    if constexpr (std::is_floating_point_v<T>) {
        return std::isfinite(part);
    } else if constexpr (std::is_same_v<T, Sentence>) {
        return part.founded;
    } else {
        return true;
    }
}

}  // namespace kvcap::inline v1::report

template <>
struct fmt::formatter<kvcap::report::Sentence> : fmt::formatter<std::string_view> {
    template <class Context>
    auto format(const kvcap::report::Sentence& part, Context& context) const {
        return fmt::formatter<std::string_view>::format(part.text, context);
    }
};

namespace kvcap::inline v1::report {

/// fmt::format, of numbers, words and sentences.
template <class... Parts>
Sentence said(fmt::format_string<const Parts&...> form, const Parts&... parts) {
    Sentence sentence{fmt::format(form, parts...)};
    sentence.founded = (is_founded(parts) && ...);
    return sentence;
}

/// "1,234,567"
inline std::string with_commas(double value) {
    std::string out = fmt::format("{:.0f}", std::abs(value));
    for (std::ptrdiff_t i = static_cast<std::ptrdiff_t>(out.size()) - 3; i > 0; i -= 3) {
        out.insert(static_cast<std::size_t>(i), ",");
    }
    return (value < 0 ? "-" : "") + out;
}

/// The same as a part of a sentence.
inline Sentence commas(double value) {
    Sentence part{with_commas(value)};
    part.founded = std::isfinite(value);
    return part;
}

}  // namespace kvcap::inline v1::report
