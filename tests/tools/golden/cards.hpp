// SPDX-License-Identifier: MIT
// kvcap-golden --cards [CORPUS]: do the model cards read as recorded, and, where published files are at hand, as those?
// kvcap-golden --cards-table: the table of docs/reference/models.md.
#pragma once

#include "runner.hpp"

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

/// corpus: a folder with expected.json and configs/index.csv, or empty.
void run_cards(const std::string& corpus, Report& report);

}  // namespace golden
