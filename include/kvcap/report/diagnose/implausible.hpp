// SPDX-License-Identifier: MIT
// Which printed figures cannot be? Each is told with its line, its value and why; nothing is computed with them.
#pragma once

#include <kvcap/report/diagnose/finding.hpp>

namespace kvcap::inline v1::report {

/// "CUDA0 -3.0 GiB, CUDA1 2.0 GiB" where each rank or device has its own.
inline std::string printed(const logs::Datum& said) {
    if (said.kind == logs::Datum::Kind::integer) {
        return with_commas(static_cast<double>(said.integer));
    }
    std::string out = said.words;
    for (const logs::Field& one : said.items) {
        out += (out.empty() ? "" : ", ") + one.name + (one.name.empty() ? "" : " ") + printed(one.value);
    }
    return out;
}

/// In the order in which the reader set them apart.
inline std::vector<Finding> implausible(const LogStart& start) {
    std::vector<Finding> found;
    for (const logs::Unusable& odd : start.unusable) {
        Finding finding{.kind = "implausible-number",
                        .seen = fmt::format("{} = {}", odd.name, printed(odd.value)),
                        .meaning = odd.why + ", so nothing is computed with it",
                        .change = "look at that line: it is cut, folded or not the engine's"};
        const u64 line = odd.value.items.empty() ? odd.value.line : odd.value.items.front().value.line;
        if (line != 0) {
            finding.lines.push_back(line);
        }
        found.push_back(std::move(finding));
    }
    return found;
}

}  // namespace kvcap::inline v1::report
