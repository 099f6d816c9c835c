// SPDX-License-Identifier: MIT
// Which known word did someone mean? The one with the fewest insertions, deletions, replacements and swaps of
// neighbours (optimal string alignment), if that is at most a third of its letters.
#pragma once

#include <algorithm>
#include <string>
#include <kvcap/io/letters.hpp>
#include <string_view>
#include <vector>

namespace kvcap::inline v1 {

/// Edits that turn `a` into each beginning of `b`, the empty one first; letters differ regardless of case.
inline std::vector<std::size_t> edits_to_beginnings(std::string_view a, std::string_view b) {
    const auto same = [](char x, char y) { return io::lower(x) == io::lower(y); };
    std::vector<std::size_t> before(b.size() + 1);
    std::vector<std::size_t> last(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) {
        last[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replace = last[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1);
            row[j] = std::min({replace, last[j] + 1, row[j - 1] + 1});
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1])) {
                row[j] = std::min(row[j], before[j - 2] + 1);
            }
        }
        std::swap(before, last);
        std::swap(last, row);
    }
    return last;
}

/// Edits that turn `a` into `b`.
inline std::size_t edits_between(std::string_view a, std::string_view b) {
    return edits_to_beginnings(a, b).back();
}

/// The nearest of `known` (any range of strings), the first on a tie; empty when nothing is near.
template <class Words>
std::string nearest(std::string_view word, const Words& known) {
    std::string best;
    std::size_t fewest = std::max<std::size_t>(1, word.size() / 3) + 1;
    for (const auto& candidate : known) {
        const std::string_view text{candidate};
        const std::size_t apart =
            text.size() > word.size() ? text.size() - word.size() : word.size() - text.size();
        if (apart >= fewest || word.size() > 200) {
            continue;
        }
        if (const std::size_t edits = edits_between(word, text); edits < fewest) {
            fewest = edits;
            best = text;
        }
    }
    return best;
}

}  // namespace kvcap::inline v1
