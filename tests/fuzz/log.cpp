// SPDX-License-Identifier: MIT
// Any text as a log: never a crash, and nothing that doctor would print holds a control character. A log read in
// pieces is the log read at once.
#include "check.hpp"

#include <kvcap/io/log.hpp>
#include <kvcap/report/doctor_json.hpp>

#include <cstddef>
#include <cstdint>

namespace {

void expect_shown(std::string_view text, bool newline) {
    while (!text.empty()) {
        const std::size_t length = newline && text[0] == '\n' ? 1 : kvcap::logs::shown_bytes(text);
        check(length != 0);
        text.remove_prefix(length);
    }
}

std::string doctored(kvcap::LogReading reading) {
    using namespace kvcap;
    std::vector<report::Doctored> all;
    for (LogStart& start : reading.starts) {
        std::vector<report::Finding> findings = report::diagnose(start);
        for (const report::Finding& finding : findings) {
            expect_shown(finding.seen + finding.meaning + finding.change, false);
        }
        report::Checks checks = report::checks_of(start);
        all.push_back({std::move(start), std::move(findings), std::move(checks), {}});
    }
    return report::doctor_json(all, reading.lines, reading.bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    const std::string whole = doctored(kvcap::read_log(text));
    expect_shown(whole, true);
    kvcap::LogReader pieces;
    for (std::size_t at = 0; at < text.size(); at += 7) {
        pieces.feed(text.substr(at, 7));
    }
    check(doctored(pieces.finish()) == whole);
    return 0;
}
