// SPDX-License-Identifier: MIT
// Which features of a cache does no engine keep? In one order, so that all name the same one; and the name of a
// recurrent state that one of them does not serve.
#pragma once

#include <kvcap/form.hpp>

namespace kvcap::inline v1 {

/// The first feature of `stays` that no engine keeps; Uncovered::nothing: some do.
constexpr Uncovered unserved(const Retention& stays) noexcept {
    const bool part = stays.source == Source::encoder && stays.keep != Keep::everything;
    return stays.source == Source::prompt ? Uncovered::prompt_only
           : part                         ? Uncovered::encoder_part
           : stays.keeps_sinks()          ? Uncovered::sinks
           : stays.keep == Keep::budget   ? Uncovered::budget
           : stays.lag != 0               ? Uncovered::lag
                                          : Uncovered::nothing;
}

/// A state by its kind; forms of another kind that keep only the last are states of no known kind.
constexpr Uncovered unserved_state(Kind kind) noexcept {
    return kind < Kind::mamba1 ? Uncovered::state
                               : static_cast<Uncovered>(static_cast<u8>(Uncovered::mamba1) + static_cast<u8>(kind) -
                                                        static_cast<u8>(Kind::mamba1));
}
static_assert(unserved_state(Kind::mamba1) == Uncovered::mamba1 && unserved_state(Kind::rwkv) == Uncovered::rwkv &&
              unserved_state(Kind::state) == Uncovered::state && unserved_state(Kind::latent) == Uncovered::state);

/// The refusal of a cache for a feature; the number belongs to lags and strides.
constexpr Error not_covered(const Retention& stays, Uncovered what) noexcept {
    const u64 number = what == Uncovered::lag ? stays.lag : what == Uncovered::stride ? stays.stride : 0;
    return {.code = Errc::unsupported, .what = what, .got = number};
}

}  // namespace kvcap::inline v1
