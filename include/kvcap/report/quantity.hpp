// SPDX-License-Identifier: MIT
// Rates, flops and times for people: three significant digits and a decimal prefix ("131 Tflop", "3.35 TB/s",
// "8.97 ms"). Bytes of memory are amount.hpp's.
#pragma once

#include <fmt/format.h>
#include <kvcap/units.hpp>
#include <string>

namespace kvcap::inline v1::report {

/// 1.31e14 -> "131 T" + unit; numbers below 1000 have no prefix.
inline std::string with_prefix(double value, const char* unit) {
    const char* prefix[] = {"", "k", "M", "G", "T", "P", "E"};
    int step = 0;
    for (; value >= 999.5 && step < 6; ++step) {
        value /= 1000;
    }
    const int decimals = value >= 99.95 || step == 0 ? 0 : value >= 9.995 ? 1 : 2;
    return fmt::format("{:.{}f} {}{}", value, decimals, prefix[step], unit);
}

/// "8.97 ms", "1.20 s", "37.0 us"
inline std::string duration(double seconds) {
    const bool micro = seconds < 0.9995e-3;
    const bool milli = !micro && seconds < 0.9995;
    const double shown = micro ? seconds * 1e6 : milli ? seconds * 1e3 : seconds;
    const int decimals = shown >= 99.95 ? 0 : shown >= 9.995 ? 1 : 2;
    return fmt::format("{:.{}f} {}", shown, decimals, micro ? "us" : milli ? "ms" : "s");
}

/// 0.0214 -> "2.1%"; below 10% with one decimal
inline std::string percent(double share) {
    const double shown = share * 100;
    return fmt::format("{:.{}f}%", shown, shown > -9.95 && shown < 9.95 ? 1 : 0);
}

}  // namespace kvcap::inline v1::report
