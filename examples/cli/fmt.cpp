// SPDX-License-Identifier: MIT
// fmt's code, once: the distribution's library may be a shared one, and in every source it takes a second to compile.
#if defined(FMT_HEADER_ONLY)  // another version than the one named below: see CMakeLists.txt
#include <fmt/format.h>
#else
#include <fmt/format-inl.h>

// What fmt 9.1 declares in its headers and keeps in its library.
namespace fmt::inline v9::detail {
template auto dragonbox::to_decimal(float) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double) noexcept -> dragonbox::decimal_fp<double>;
template locale_ref::locale_ref(const std::locale&);
template auto locale_ref::get<std::locale>() const -> std::locale;
template auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl(locale_ref) -> char;
template void buffer<char>::append(const char*, const char*);
template void vformat_to(buffer<char>&, string_view, basic_format_args<FMT_BUFFER_CONTEXT(char)>, locale_ref);
}  // namespace fmt::inline v9::detail
#endif
