// SPDX-License-Identifier: MIT
// The figures of a log that are always worth a line on the screen, those of unlike ranks by their value.
#include "doctor_facts.hpp"

#include "screen.hpp"

#include <kvcap/report/diagnose/implausible.hpp>

#include <algorithm>

namespace kvcap::cli {

std::string lines_words(const std::vector<u64>& lines) {
    return lines.empty() ? "" : fmt::format("  [line{} {}]", lines.size() > 1 ? "s" : "", fmt::join(lines, ", "));
}

namespace {

/// "61.00 (TP0); 61.20 (TP1, TP2)": the least first, at most eight ranks of each by name.
std::string by_value(const logs::Datum& all) {
    std::vector<std::pair<const logs::Datum*, std::vector<std::string>>> groups;
    const bool named = all.kind == logs::Datum::Kind::record;  // engines of a list stay in their order
    for (const logs::Field& one : all.items) {
        auto same = std::find_if(groups.begin(), groups.end(),
                                 [&](const auto& group) { return logs::same_value(*group.first, one.value); });
        if (same == groups.end()) {
            const double own = logs::number(one.value).value_or(0);
            const auto more = [&](const auto& group) {
                return named && logs::number(*group.first).value_or(0) > own;
            };
            same = groups.insert(std::find_if(groups.begin(), groups.end(), more), {&one.value, {}});
        }
        same->second.push_back(one.name);
    }
    std::string out;
    for (auto& [value, names] : groups) {
        const std::size_t more = names.size() > 8 ? names.size() - 8 : 0;
        names.resize(names.size() - more);
        std::erase(names, "");
        out += (out.empty() ? "" : "; ") + report::printed(*value);
        out += names.empty() ? ""
                             : fmt::format(" ({}{})", fmt::join(names, ", "),
                                           more == 0 ? "" : fmt::format(" and {} more", more));
    }
    return out;
}

}  // namespace

std::string stated_figures(const logs::Facts& facts) {
    std::string out;
    for (const char* key : {"tp",
                            "pp",
                            "dp",
                            "dcp",
                            "kv_dtype",
                            "max_model_len",
                            "gpu_memory_utilization",
                            "mem_fraction_static",
                            "weights_gib",
                            "weights_gb",
                            "available_kv_gib",
                            "available_kv_gib_by_rank",
                            "needed_kv_gib",
                            "capacity_tokens",
                            "capacity_by_dp",
                            "full_layer_tokens",
                            "swa_layer_tokens",
                            "concurrency",
                            "gpu_blocks",
                            "block_size",
                            "state_slots",
                            "cells",
                            "streams",
                            "kv_mib",
                            "rs_mib",
                            "compute_mib",
                            "kv_gib",
                            "error_category"}) {
        if (const logs::Datum* datum = facts.find(key)) {
            const std::string value = datum->items.empty() ? report::printed(*datum) : by_value(*datum);
            const u64 line = datum->items.empty() ? datum->line : datum->items.front().value.line;
            out += broken_paragraph(fmt::format("  {:<18} {}{}", key, value,
                                                line == 0 ? "" : lines_words({line}))) + '\n';
        }
    }
    return out;
}

}  // namespace kvcap::cli
