// SPDX-License-Identifier: MIT
// The model cards of configs/models, compiled in: looked up by name without parsing any.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap::cli {

/// name: file name without .json. text: the card, a config.json with the fields that matter.
struct Card {
    std::string_view name;
    std::string_view hf_id;
    std::string_view family;
    std::string_view text;
};

/// Sorted by family and name.
struct CardList {
    const Card* first = nullptr;
    std::size_t count = 0;
    const Card* begin() const noexcept { return first; }
    const Card* end() const noexcept { return first + count; }
};

CardList cards() noexcept;

/// configs/gpus.json
std::string_view gpu_catalogue() noexcept;

/// The card called `name`: its name, family/name, Hugging Face id, or that id without the organisation;
/// letters in any case, "_" as "-". Null when there is none.
const Card* find_card(std::string_view name) noexcept;

/// Names of cards that `name` may have meant, at most `most`: those it is the beginning of with the fewest edits,
/// punctuation aside ("llama3": llama-3-8b), then with the fewest to the whole name.
std::vector<std::string_view> cards_like(std::string_view name, std::size_t most);

/// Whether every word is part of the card's family, name or id.
bool matches(const Card& card, const std::vector<std::string>& words);

}  // namespace kvcap::cli
