// SPDX-License-Identifier: MIT
// kvcap-golden --cards [CORPUS]: do the model cards read as recorded, and, where published files are at hand, as those?
#pragma once

#include "runner.hpp"

namespace golden {

/// corpus: a folder with expected.json and configs/index.csv, or empty.
void run_cards(const std::string& corpus, Report& report);

}  // namespace golden
