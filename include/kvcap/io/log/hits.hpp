// SPDX-License-Identifier: MIT
// Where in a large text do any of many sentences begin? Each gives its first eight bytes, its stem; a table over
// hashed blocks of four bytes says how far the next stem must be, so that most bytes are never looked at (Wu and
// Manber 1994).
#pragma once

#include <kvcap/io/log/datum.hpp>

#include <algorithm>
#include <cstring>

namespace kvcap::inline v1::logs {

class Stems {
public:
    static constexpr std::size_t length = 8;

    /// pre: every stem has `length` bytes. They are views of literals.
    explicit Stems(const std::vector<std::string_view>& stems) : shift_(slots, static_cast<unsigned char>(farthest)) {
        for (std::size_t k = 0; k < stems.size(); ++k) {
            for (std::size_t i = 0; i <= length - block; ++i) {
                unsigned char& shift = shift_[slot(stems[k].data() + i)];
                shift = std::min(shift, static_cast<unsigned char>(length - block - i));
            }
            ends_.push_back({slot(stems[k].data() + length - block), stems[k], k});
        }
        std::sort(ends_.begin(), ends_.end(),
                  [](const End& a, const End& b) { return a.slot != b.slot ? a.slot < b.slot : a.index < b.index; });
    }

    /// Calls found(position, index of the stem) for every stem in the text, in the order of the text.
    template <class Found>
    void search(std::string_view text, Found&& found) const {
        for (std::size_t at = length - block; at + block <= text.size();) {
            const std::uint32_t here = slot(text.data() + at);
            if (const unsigned char shift = shift_[here]; shift != 0) {
                at += shift;
                continue;
            }
            const std::size_t begin = at - (length - block);
            for (auto end = std::lower_bound(ends_.begin(), ends_.end(), here, before);
                 end != ends_.end() && end->slot == here; ++end) {
                if (text.substr(begin, length) == end->stem) {
                    found(begin, end->index);
                }
            }
            ++at;
        }
    }

private:
    static constexpr std::size_t block = 4;
    static constexpr std::size_t farthest = length - block + 1;
    static constexpr std::size_t slots = std::size_t{1} << 14;

    struct End {
        std::uint32_t slot;
        std::string_view stem;
        std::size_t index;
    };
    static bool before(const End& end, std::uint32_t slot) noexcept { return end.slot < slot; }
    static std::uint32_t slot(const char* at) noexcept {
        std::uint32_t four = 0;
        std::memcpy(&four, at, block);
        return (four * 2654435761u) >> 18;
    }

    std::vector<unsigned char> shift_;
    std::vector<End> ends_;
};

}  // namespace kvcap::inline v1::logs
