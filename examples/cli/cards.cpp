// SPDX-License-Identifier: MIT
// Looking up cards by name.
#include "cards.hpp"

#include <algorithm>
#include <kvcap/io/nearest.hpp>

namespace kvcap::cli {

namespace {

char folded(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c == '_' ? '-' : c;
}

bool same(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return folded(x) == folded(y); });
}

bool contains(std::string_view text, std::string_view word) {
    return std::search(text.begin(), text.end(), word.begin(), word.end(),
                       [](char x, char y) { return folded(x) == folded(y); }) != text.end();
}

std::string_view without_organisation(std::string_view id) {
    return id.substr(id.rfind('/') + 1);  // npos + 1 is 0
}

bool family_and_name(const Card& card, std::string_view name) {
    const std::size_t slash = name.find('/');
    return slash != std::string_view::npos && same(card.family, name.substr(0, slash)) &&
           same(card.name, name.substr(slash + 1));
}

}  // namespace

const Card* find_card(std::string_view name) noexcept {
    const Card* by_short_id = nullptr;
    for (const Card& card : cards()) {
        if (same(card.name, name) || same(card.hf_id, name) || family_and_name(card, name)) {
            return &card;
        }
        if (by_short_id == nullptr && !card.hf_id.empty() && same(without_organisation(card.hf_id), name)) {
            by_short_id = &card;
        }
    }
    return by_short_id;
}

std::vector<std::string_view> cards_like(std::string_view name, std::size_t most) {
    if (name.size() > 200) {
        return {};  // no card's name is near it, and comparing costs its length
    }
    const std::string_view wanted = without_organisation(name);
    struct Near {
        std::size_t apart;
        std::string_view name;
    };
    std::vector<Near> near;
    for (const Card& card : cards()) {
        const std::size_t by_name = edits_between(wanted, card.name);
        const std::size_t by_id = edits_between(wanted, without_organisation(card.hf_id));
        const std::size_t by_family = edits_between(wanted, card.family);
        const std::size_t inside = contains(card.name, wanted) ? 1 : by_name;
        near.push_back({std::min({by_name, by_id, by_family, inside}), card.name});
    }
    std::sort(near.begin(), near.end(), [](const Near& a, const Near& b) {
        return a.apart != b.apart ? a.apart < b.apart : a.name < b.name;
    });
    std::vector<std::string_view> names;
    for (const Near& card : near) {
        if (names.size() < most && card.apart <= std::max<std::size_t>(2, wanted.size() / 2)) {
            names.push_back(card.name);
        }
    }
    return names;
}

bool matches(const Card& card, const std::vector<std::string>& words) {
    return std::all_of(words.begin(), words.end(), [&](const std::string& word) {
        return contains(card.name, word) || contains(card.hf_id, word) || contains(card.family, word);
    });
}

}  // namespace kvcap::cli
