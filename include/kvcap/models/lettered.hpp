// SPDX-License-Identifier: MIT
// How is an irregular model written down? As a word with one letter a layer, the way model files themselves do it.
// A letter that names no policy is Errc::unsupported, so a constant made with it does not build.
#pragma once

#include <kvcap/model.hpp>

namespace kvcap::inline v1 {

/// What the layers of one letter keep.
struct Letter {
    char name = ' ';
    LayerForms forms{};
};

template <LayerPolicy P>
constexpr Letter letter(char name, const P& policy) noexcept {
    return {name, policy.forms()};
}

template <u32 Size, u32 Letters>
struct Lettered {
    char word[Size]{};
    Letter letters[Letters]{};

    constexpr Errc append(ModelSpec& to) const noexcept {
        for (u32 i = 0; i + 1 < Size; ++i) {
            u32 at = 0;
            while (at < Letters && letters[at].name != word[i]) {
                ++at;
            }
            if (at == Letters) {
                return Errc::unsupported;
            }
            if (const Errc code = to.add(to.layers++, letters[at].forms); code != Errc::ok) {
                return code;
            }
        }
        return Errc::ok;
    }
};

/// `lettered("MEM*", letter('M', mamba), letter('*', attention), letter('E', NoCache{}))`: four layers.
template <u32 Size, std::same_as<Letter>... Letters>
constexpr Lettered<Size, sizeof...(Letters)> lettered(const char (&word)[Size], const Letters&... letters) noexcept {
    Lettered<Size, sizeof...(Letters)> part{{}, {letters...}};
    for (u32 i = 0; i < Size; ++i) {
        part.word[i] = word[i];
    }
    return part;
}

}  // namespace kvcap::inline v1
