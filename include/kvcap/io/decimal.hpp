// SPDX-License-Identifier: MIT
// Which double do these printed digits mean? The nearest one, in no locale. Some standard libraries (libc++ 14 and
// later ones too) read no floating-point numbers with from_chars; there a stream in the classic locale does it.
#pragma once

#include <charconv>
#include <string_view>
#include <version>
#if !defined(__cpp_lib_to_chars)
#include <locale>
#include <sstream>
#include <string>
#endif

namespace kvcap::inline v1::io {

/// Whether the whole text is a decimal number without exponent: "12", "-0.5".
inline bool read_decimal(std::string_view text, double& value) {
#if defined(__cpp_lib_to_chars)
    const char* end = text.data() + text.size();
    const auto [stop, wrong] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
    return wrong == std::errc{} && stop == end;
#else
    const std::string_view digits = text.substr(!text.empty() && text[0] == '-' ? 1 : 0);
    if (digits.find_first_not_of("0123456789.") != digits.npos || digits.find_first_of("0123456789") == digits.npos) {
        return false;
    }
    std::istringstream in{std::string{text}};
    in.imbue(std::locale::classic());
    return in >> value && in.peek() == std::istringstream::traits_type::eof();
#endif
}

}  // namespace kvcap::inline v1::io
