// SPDX-License-Identifier: MIT
// Which known names are closest to an unknown one? Edit distance (Levenshtein 1966), the three nearest.
#pragma once

#include <algorithm>
#include <kvcap/io/hf/families/registry.hpp>

namespace kvcap::inline v1 {

inline std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) {
        row[j] = j;
    }
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0]++;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
        }
    }
    return row[b.size()];
}

/// The `most` names nearest to `wanted`, nearest first, joined by commas. Only the first 64 characters count.
inline std::string nearest_names(std::string_view wanted, std::vector<std::string_view> names,
                                 std::size_t most = 3) {
    const std::string_view word = wanted.substr(0, 64);
    std::vector<std::pair<std::size_t, std::size_t>> order;  // distance, place: ties stay as they were given
    for (std::size_t i = 0; i < names.size(); ++i) {
        order.emplace_back(edit_distance(word, names[i]), i);
    }
    std::sort(order.begin(), order.end());
    std::string joined;
    for (std::size_t i = 0; i < names.size() && i < most; ++i) {
        (joined += i == 0 ? "" : ", ") += names[order[i].second];
    }
    return joined;
}

namespace hf {

inline std::string nearest_types(std::string_view wanted) {
    std::vector<std::string_view> names;
    for (const Family& family : families) {
        names.push_back(family.type);
    }
    for (const Wrapper& wrapper : wrappers) {
        names.push_back(wrapper.outer);
    }
    return nearest_names(wanted, std::move(names));
}

}  // namespace hf
}  // namespace kvcap::inline v1
