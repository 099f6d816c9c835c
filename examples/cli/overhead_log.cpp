// SPDX-License-Identifier: MIT
// --overhead-from LOG: non-KV memory of a rank as the user's own engine printed it.
#include "memory.hpp"

#include <fstream>
#include <kvcap/report/diagnose/implausible.hpp>
#include <kvcap/report/diagnose/overhead.hpp>

namespace kvcap::cli {

MeasuredOverhead overhead_from(const std::string& path, Bytes total) {
    std::ifstream in{path, std::ios::binary};
    if (!in) {
        stop(Exit::bad_input, "--overhead-from: " + path + " cannot be read; wanted an engine's start-up log");
    }
    const LogReading reading = read_log(in);
    for (const LogStart& start : reading.starts) {
        if (!start.unusable.empty()) {
            const report::Finding odd = report::implausible(start).front();
            stop(Exit::bad_input, fmt::format("--overhead-from: {}{}: {}: {}; wanted a log whose figures can be", path,
                                              odd.lines.empty() ? "" : fmt::format(" line {}", odd.lines.front()),
                                              odd.seen, odd.meaning));
        }
        if (const auto measured = report::overhead_of(start, static_cast<double>(total.value))) {
            return {{static_cast<u64>(std::min(measured->bytes, 9e15))},
                    fmt::format("{} of {}: {}", start.engine, path, measured->how), start.engine};
        }
    }
    std::string lacking;
    for (const LogStart& start : reading.starts) {
        const std::string lines = report::overhead::lacking(start);
        lacking += lines.empty() ? "" : fmt::format("; of {} it lacks {}", start.engine, lines);
    }
    lacking = reading.starts.empty() ? ": no line of an engine's start" : lacking;
    stop(Exit::bad_input, "--overhead-from: " + path + " does not print what weights, activations and the cache took" +
                              lacking);
}

}  // namespace kvcap::cli
