// SPDX-License-Identifier: MIT
// Which figures of a log are shown, and how are its lines named?
#pragma once

#include <kvcap/io/log.hpp>

#include <string>
#include <vector>

namespace kvcap::cli {

/// "  [lines 3, 4]"; empty without lines.
std::string lines_words(const std::vector<u64>& lines);

/// The figures that are always worth a line, as printed, with the line they came from.
std::string stated_figures(const logs::Facts& facts);

}  // namespace kvcap::cli
