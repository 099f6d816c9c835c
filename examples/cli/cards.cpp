// SPDX-License-Identifier: MIT
// Looking up cards by name.
#include "cards.hpp"

#include <algorithm>
#include <kvcap/io/nearest.hpp>

namespace kvcap::cli {

namespace {

char folded(char c) {
    return c == '_' ? '-' : io::lower(c);
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

/// Letters and digits alone: "llama-3.1-8b" begins as "llama3" does.
std::string unpunctuated(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const char low = folded(c);
        const bool kept = (low >= 'a' && low <= 'z') || (low >= '0' && low <= '9');
        out += kept ? std::string(1, low) : "";
    }
    return out;
}

/// Edits from `wanted` to the nearest beginning of the text without punctuation.
std::size_t edits_to_beginning(std::string_view wanted, std::string_view text) {
    const std::vector<std::size_t> edits = edits_to_beginnings(wanted, unpunctuated(text));
    return *std::min_element(edits.begin(), edits.end());
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
    const std::string letters = unpunctuated(wanted);
    struct Near {
        std::size_t apart;
        std::size_t edits;
        std::string_view name;
    };
    std::vector<Near> near;
    for (const Card& card : cards()) {
        const std::size_t inside = contains(card.name, wanted) ? 1 : letters.size();
        const std::size_t relation = edits_to_beginning(letters, card.family) + 1;  // mixtral is of the family mistral
        const std::size_t apart =
            std::min({edits_to_beginning(letters, card.name), inside, relation,
                      edits_to_beginning(letters, without_organisation(card.hf_id))});
        near.push_back({apart, edits_between(wanted, card.name), card.name});
    }
    std::sort(near.begin(), near.end(), [](const Near& a, const Near& b) {
        return a.apart != b.apart ? a.apart < b.apart : a.edits != b.edits ? a.edits < b.edits : a.name < b.name;
    });
    std::vector<std::string_view> names;
    for (const Near& card : near) {
        if (names.size() < most && card.apart < letters.size() &&
            card.apart <= std::max<std::size_t>(1, letters.size() / 3)) {
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
