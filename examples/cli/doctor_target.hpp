// SPDX-License-Identifier: MIT
// Which printed figures can the rules be asked for, and with which memory? Each engine of a start with its own pool,
// each cache by its kind.
#pragma once

#include "engines.hpp"

#include <kvcap/io/log.hpp>

#include <cmath>

namespace kvcap::cli {

/// A figure as a log prints it. layers: of a cache, which tell caches of one kind apart; 0: none, or it is no cache.
struct PrintedFigure {
    std::string figure;
    double value = std::nan("");
    double half = 0;  ///< of a unit of its last digit
    double layers = 0;
};

/// The figure of that name with its printed digits; its value is none where it is not said.
PrintedFigure printed(std::string figure, const logs::Datum* said, double layers = 0);

/// What to ask the rules, and the figures to compare, the first of them with every budget. low, high: of the poorest
/// stage; above: by how much each stage has more. Equal and boundless where memory decides nothing.
struct Target {
    static constexpr double boundless = 1125899906842624.0;  ///< 2^50

    std::string engine{};  ///< "DP1", where a start has several with pools of their own
    std::vector<PrintedFigure> figures{};
    PrintedFigure concurrency{};
    double low = boundless;
    double high = boundless;
    std::vector<double> above{};
    bool decides = true;  ///< not where memory that the log does not print takes part: that a figure differs is told
    EngineFlags flags{};
};

/// The face of the log's engine; empty: none predicts its lines.
std::string face_of(const LogStart& start);

/// The first is told first; empty: the log has no figure that the rules could be asked for.
std::vector<Target> targets_of(const LogStart& start);

/// Lines whose figures would make a prediction possible, in the engine's words.
std::string wanted_lines(const LogStart& start);

/// Figures that a log and the rules' own lines both may have, in the order of the log.
std::vector<PrintedFigure> figures_of(const LogStart& start);

/// Of `some`, the figure that stands for `like`, taken out of them; its value is none where there is none.
PrintedFigure take_like(const PrintedFigure& like, std::vector<PrintedFigure>& some);

/// "GB of keys"
std::string_view figure_words(std::string_view figure);

/// Cells of all streams of what grows with the context, where llama.cpp's log does not say -c; 0: neither.
u64 context_of(const LogStart& start);

}  // namespace kvcap::cli
