// SPDX-License-Identifier: MIT
// How many requests does an engine run at once, whatever the memory? What comes beyond queues.
#include "engines.hpp"

#include <vector>

namespace kvcap::cli {

void judge_at_once(const EngineQuestion& question, std::string_view flag, u64 most, std::string_view server,
                   EngineAnswer& answer) {
    const u64 asked = question.requests();
    if (asked <= most) {
        return;
    }
    answer.verdict.fits = false;
    answer.unfit = fmt::format("{} at once (--{}), and of {} requests {} queues {}",
                               report::counted(most, "sequence runs", "sequences run"), flag, report::grouped(asked),
                               server, report::grouped(asked - most));
    answer.notes.push_back({Origin::derived, "--" + std::string{flag}, answer.unfit});
}

std::vector<std::string_view> at_once_flags(const EngineFace& face) {
    std::vector<std::string_view> flags;
    if (face.launch != nullptr) {
        flags = {face.launch->requests_flag, face.launch->step_flag};
        std::erase(flags, "");
    }
    return flags;
}

}  // namespace kvcap::cli
