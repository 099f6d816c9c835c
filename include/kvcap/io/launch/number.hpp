// SPDX-License-Identifier: MIT
// Which number does a flag's value write? Engines read suffixes by rules of their own, each for some of its flags:
// what one takes for 2,000, another takes for 2,048 or refuses.
#pragma once

#include <charconv>
#include <kvcap/units.hpp>
#include <optional>
#include <string_view>

namespace kvcap::inline v1::io {

/// How a flag's number may be written: digits alone, or with suffixes as vLLM or SGLang read them.
enum class Written : unsigned char { plain, vllm, sglang };

constexpr std::string_view written_words(Written as) {
    return as == Written::vllm     ? " (vLLM: also 25.6k; fractions only of k, m, g, t)"
           : as == Written::sglang ? " (SGLang: also 25.6k and 64Ki; fractions only of k, M, G, T)"
                                   : ", in digits alone";
}

/// What a suffix multiplies by, 0: none of them; fraction: whether fractions may stand before it.
struct Suffix {
    u64 times = 0;
    bool fraction = false;
};

constexpr u64 launch_power(u64 base, std::size_t exponent) {
    return exponent == 0 ? 1 : base * launch_power(base, exponent - 1);
}

/// vLLM: k, m, g, t are powers of 1,000 and K, M, G, T powers of 1,024. SGLang: k, M, G, T and Ki, Mi, Gi, Ti.
/// Source: human_readable_int of vLLM, engine/arg_utils.py, and of SGLang, utils/common.py.
constexpr Suffix launch_suffix(std::string_view suffix, Written as) {
    if (suffix.empty() || as == Written::plain) {
        return {suffix.empty() ? u64{1} : u64{0}, false};
    }
    const bool binary = as == Written::vllm ? suffix[0] < 'a' : suffix.size() == 2 && suffix[1] == 'i';
    const std::string_view letters = as == Written::vllm ? (binary ? "KMGT" : "kmgt") : (binary ? "KMGT" : "kMGT");
    const std::size_t at = letters.find(suffix[0]);
    const std::size_t wanted = as == Written::sglang && binary ? 2 : 1;
    if (at == std::string_view::npos || suffix.size() != wanted) {
        return {};
    }
    return {launch_power(binary ? 1024 : 1000, at + 1), !binary};
}

/// digits / scale, and what stands behind them. Beyond 64 bits: off the scale.
struct Decimal {
    u64 digits = 0;
    u64 scale = 1;
    std::string_view suffix{};
};

/// "25.6k"; nothing without a digit on each side of a point, or with more digits than a double holds exactly.
inline std::optional<Decimal> launch_decimal(std::string_view text) {
    const char* const end = text.data() + text.size();
    Decimal read{};
    std::from_chars_result digits = std::from_chars(text.data(), end, read.digits);
    if (digits.ec == std::errc::invalid_argument) {
        return std::nullopt;
    }
    read.digits = digits.ec == std::errc{} ? read.digits : off_scale;
    const char* at = digits.ptr;
    if (at != end && *at == '.') {
        for (++at; at != end && *at >= '0' && *at <= '9'; ++at) {
            read.digits = saturating_sum(saturating_product(read.digits, 10), static_cast<u64>(*at - '0'));
            read.scale = saturating_product(read.scale, 10);
        }
        if (read.scale == 1 || read.scale == off_scale || read.digits >= u64{1} << 53) {
            return std::nullopt;
        }
    }
    read.suffix = {at, static_cast<std::size_t>(end - at)};
    return read;
}

/// The whole number of a value; above 64 bits off_scale. Fractions are cut: vLLM's as doubles, SGLang's exactly.
inline std::optional<u64> launch_number(std::string_view text, Written as = Written::plain) {
    const std::optional<Decimal> read = launch_decimal(text);
    const Suffix suffix = read ? launch_suffix(read->suffix, as) : Suffix{};
    if (suffix.times == 0 || (read->scale != 1 && !suffix.fraction)) {
        return std::nullopt;
    }
    if (as == Written::sglang || read->scale == 1) {
        return product_over(read->digits, suffix.times, read->scale);
    }
    const double share = static_cast<double>(read->digits) / static_cast<double>(read->scale);
    const double number = share * static_cast<double>(suffix.times);
    return number < 0x1p63 ? static_cast<u64>(number) : off_scale;
}

}  // namespace kvcap::inline v1::io
