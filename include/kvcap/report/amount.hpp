// SPDX-License-Identifier: MIT
// How is a number written for people? Integers in groups of three; bytes in a named unit, binary (GiB = 2^30)
// unless a decimal one (GB = 10^9) is asked for, never one under the other's name.
#pragma once

#include <fmt/format.h>
#include <kvcap/io/grouped.hpp>
#include <kvcap/io/letters.hpp>
#include <kvcap/units.hpp>
#include <string>
#include <string_view>

namespace kvcap::inline v1::report {

using io::grouped;

inline std::string exact(Bytes bytes) {
    return grouped(bytes.value) + " B";
}

struct Unit {
    std::string_view name = "GiB";
    u64 bytes = u64{1} << 30;
    friend constexpr bool operator==(const Unit&, const Unit&) = default;
};

inline constexpr Unit units[] = {{"B", 1},
                                 {"KiB", u64{1} << 10},
                                 {"MiB", u64{1} << 20},
                                 {"GiB", u64{1} << 30},
                                 {"TiB", u64{1} << 40},
                                 {"PiB", u64{1} << 50},
                                 {"kB", 1000},
                                 {"MB", 1000000},
                                 {"GB", 1000000000},
                                 {"TB", 1000000000000}};

/// The unit of that name in any case ("gib" is GiB, "gb" is GB), or null.
inline const Unit* unit_named(std::string_view name) {
    for (const Unit& unit : units) {
        if (io::same_letters(unit.name, name)) {
            return &unit;
        }
    }
    return nullptr;
}

/// Three decimals: "2.145 GiB". Bytes stay whole, and so does what three decimals would show as nothing.
inline std::string amount(Bytes bytes, Unit unit = {}) {
    const double in_unit = static_cast<double>(bytes.value) / static_cast<double>(unit.bytes);
    return unit.bytes == 1 || (bytes.value != 0 && in_unit < 0.0005)
               ? exact(bytes)
               : fmt::format("{:.3f} {}", in_unit, unit.name);
}

/// GiB; MiB or KiB where the largest amount to be shown is below a tenth of that; PiB from a million GiB.
inline Unit unit_for(Bytes largest_shown) {
    if (largest_shown.value >= 1'000'000 * units[3].bytes) {
        return units[5];
    }
    for (const Unit& unit : {units[3], units[2]}) {
        if (largest_shown.value >= unit.bytes / 10) {
            return unit;
        }
    }
    return units[1];
}

/// "2.145 GiB (2,302,672,896 B)"
inline std::string amount_and_exact(Bytes bytes, Unit unit = {}) {
    return unit.bytes == 1 ? exact(bytes) : fmt::format("{} ({})", amount(bytes, unit), exact(bytes));
}

/// One factor: "24.9x"; two significant decimals below 10 ("1.25x").
inline std::string factor(double times) {
    return times < 9.995 ? fmt::format("{:.2f}x", times) : fmt::format("{:.1f}x", times);
}

/// "1 layer", "61 layers"
inline std::string counted(u64 n, std::string_view one, std::string_view many) {
    return fmt::format("{} {}", grouped(n), n == 1 ? one : many);
}

}  // namespace kvcap::inline v1::report
