// SPDX-License-Identifier: MIT
// Which printed figures cannot be? Counts with more digits than a computer counts, and values outside what the engine
// could have had. Each is told with its line and its value; rules are not asked with them.
#pragma once

#include <kvcap/report/diagnose/finding.hpp>

namespace kvcap::inline v1::report {

struct PlausibleRange {
    std::string_view fact;
    double least = 0;
    double most = 0;
};

/// Sizes of splits; tokens up to 2^40; memory of one rank up to a pebibyte.
inline constexpr PlausibleRange plausible_ranges[] = {
    {"tp", 1, 4096},
    {"pp", 1, 4096},
    {"dp", 1, 65536},
    {"dcp", 1, 4096},
    {"max_model_len", 1, 1099511627776.0},
    {"max_num_seqs", 1, 1099511627776.0},
    {"max_num_batched_tokens", 1, 1099511627776.0},
    {"gpu_memory_utilization", 1e-6, 1},
    {"block_size", 1, 1073741824.0},
    {"page_size", 1, 1073741824.0},
    {"tokens_per_block", 1, 1073741824.0},
    {"gpu_blocks", 0, 1099511627776.0},
    {"capacity_tokens", 0, 1e15},
    {"concurrency", 0, 1e12},
    {"n_ctx", 1, 1099511627776.0},
    {"n_seq_max", 1, 1099511627776.0},
    {"cells", 0, 1099511627776.0},
    {"state_slots", 0, 1099511627776.0},
    {"spec_tokens", 0, 65536},
    {"weights_gib", 0, 1048576},
    {"weights_gb", 0, 1048576},
    {"available_kv_gib", -1048576, 1048576},
    {"needed_kv_gib", 0, 1048576},
    {"kv_gib", 0, 1048576},
    {"kv_mib", 0, 1073741824.0},
};

/// What of a start cannot be, in the order of the table; counts below zero first.
inline std::vector<Finding> implausible(const LogStart& start) {
    std::vector<Finding> found;
    const auto tell = [&](std::string_view name, const logs::Datum& said, std::string meaning) {
        Finding finding{.kind = "implausible-number",
                        .seen = fmt::format("{} = {}", name, said.kind == logs::Datum::Kind::integer
                                                                ? with_commas(static_cast<double>(said.integer))
                                                                : said.words),
                        .meaning = std::move(meaning),
                        .change = "look at that line: it is cut, folded or not the engine's"};
        if (said.line != 0) {
            finding.lines.push_back(said.line);
        }
        found.push_back(std::move(finding));
    };
    for (const logs::Field& field : start.unreadable) {
        tell(field.name, field.value, "a count below zero, so it is left out");
    }
    for (const PlausibleRange& range : plausible_ranges) {
        const logs::Datum* said = start.facts.find(range.fact);
        const std::optional<double> value = said == nullptr ? std::nullopt : logs::number(*said);
        if (value && !(*value >= range.least && *value <= range.most)) {
            tell(range.fact, *said,
                 fmt::format("outside {:g} to {:g}, so the rules are not asked with it", range.least, range.most));
        }
    }
    return found;
}

}  // namespace kvcap::inline v1::report
