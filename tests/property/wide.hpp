// SPDX-License-Identifier: MIT
// Sums that leave 64 bits, and what an answer may be beside them: the exact number, or Errc::overflow.
#pragma once

#include <kvcap/result.hpp>

namespace property {

__extension__ using u128 = unsigned __int128;

/// The top value itself says "at least that much".
inline bool is_off(u128 exact) { return exact >= kvcap::off_scale; }

/// Saturating at 2^128 - 1, far beyond what any answer can say.
inline u128 wide_product(u128 a, u128 b) { return a != 0 && b > ~u128{0} / a ? ~u128{0} : a * b; }
inline u128 wide_sum(u128 a, u128 b) { return a > ~u128{0} - b ? ~u128{0} : a + b; }

/// Counts answers of both sides, so that a test can ask for enough of each.
struct Sided {
    kvcap::u64 exact = 0;
    kvcap::u64 refused = 0;

    /// excused: the number fits although one that it is made of does not, so that a refusal is as good.
    template <class T>
    bool agrees(const kvcap::Result<T>& answer, u128 wanted, bool excused, auto number) {
        if (!answer) {
            ++refused;
            return answer.error().code == kvcap::Errc::overflow && (excused || is_off(wanted));
        }
        ++exact;
        return excused || (!is_off(wanted) && number(*answer) == wanted);
    }
};

}  // namespace property
