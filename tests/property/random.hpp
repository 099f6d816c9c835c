// SPDX-License-Identifier: MIT
// Seeded randomness for property tests: the seed is printed on failure and can be given again as KVCAP_SEED;
// KVCAP_CASES sets how many cases run.
#pragma once

#include <kvcap/core.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>

namespace property {

using kvcap::u32;
using kvcap::u64;

inline u64 from_environment(const char* name, u64 otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

inline u64 seed() {
    return from_environment("KVCAP_SEED", 20261129);
}
inline u64 cases(u64 by_default) {
    return from_environment("KVCAP_CASES", by_default);
}

/// The least of a count that a run must meet, given what the default number of cases meets: fewer cases meet as much
/// less, and by chance three deviations less.
inline u64 at_least(u64 wanted, u64 by_default) {
    const u64 asked = cases(by_default);
    if (asked >= by_default) {
        return wanted;
    }
    const double expected = static_cast<double>(wanted) * static_cast<double>(asked) / static_cast<double>(by_default);
    return static_cast<u64>(std::max(0.0, expected - 3 * std::sqrt(expected)));
}

class Random {
public:
    explicit Random(u64 seed) : engine_{seed} {}

    /// Uniform in [low, high].
    u64 in(u64 low, u64 high) { return std::uniform_int_distribution<u64>{low, high}(engine_); }
    u32 in32(u32 low, u32 high) { return static_cast<u32>(in(low, high)); }
    bool chance(u32 percent) { return in(1, 100) <= percent; }
    /// About uniform in the logarithm, in [1, high].
    u64 log_in(u64 high) { return in(1, u64{1} << in(0, 63 - static_cast<u64>(__builtin_clzll(high)))); }

private:
    std::mt19937_64 engine_;
};

/// Any layer kind, with small random sizes; every policy of the library can come out.
kvcap::LayerForms random_layer(Random& random);
kvcap::ModelSpec random_model(Random& random);

}  // namespace property
