// SPDX-License-Identifier: MIT
// kvcap-golden --cards [CORPUS]: do the model cards read as recorded, and, where published files are at hand, as those?
// kvcap-golden --cards-table: the table of docs/reference/models.md.
#pragma once

#include "runner.hpp"

#include <filesystem>
#include <kvcap/io/read_model.hpp>
#include <map>

namespace golden {

struct CardFile {
    std::string name;  ///< family/name
    Json content;
    kvcap::Diagnosed<kvcap::ReadModel> read;
};

/// Every card of configs/models, by family/name.
std::map<std::string, CardFile> all_cards();

std::string cards_table();

std::string text_of(const std::filesystem::path& path);
/// Python writes Infinity and NaN bare, which is no JSON; no card has such a value, so null stands for them here.
Json parsed(std::string text);

/// Against tests/golden/cards.json.
void run_recorded_cards(Report& report);

/// corpus: a folder with expected.json and configs/index.csv, or empty.
void run_cards(const std::string& corpus, Report& report);

}  // namespace golden
