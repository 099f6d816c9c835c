// SPDX-License-Identifier: MIT
// A whole start-up log, and all that is made of it: every fact by its name, every figure of every finding.
#pragma once

#include <catch2/catch.hpp>
#include <kvcap/report/diagnose.hpp>
#include <kvcap/report/diagnose/checks.hpp>
#include <kvcap/report/diagnose/overhead.hpp>
#include <set>
#include <string>

namespace starts {

using kvcap::LogStart;
using kvcap::logs::Datum;

inline LogStart only(std::string_view text) {
    kvcap::LogReading reading = kvcap::read_log(text);
    REQUIRE(reading.starts.size() == 1);
    return std::move(reading.starts[0]);
}

/// "3", "true", "f16", "[...]", "{name: ...}"
inline std::string said(const Datum& datum) {
    switch (datum.kind) {
        case Datum::Kind::none: return "none";
        case Datum::Kind::flag: return datum.integer != 0 ? "true" : "false";
        case Datum::Kind::integer: return std::to_string(datum.integer);
        case Datum::Kind::words: return datum.words;
        case Datum::Kind::list:
        case Datum::Kind::record: break;
    }
    std::string all;
    for (const kvcap::logs::Field& field : datum.items) {
        all += (all.empty() ? "" : ", ") + (field.name.empty() ? "" : field.name + ": ") + said(field.value);
    }
    return datum.kind == Datum::Kind::list ? '[' + all + ']' : '{' + all + '}';
}

using Facts = std::set<std::string>;  ///< "name=value"

/// Every fact, without the engine's name, which `LogStart::engine` gives.
inline Facts facts(const LogStart& start) {
    Facts all;
    for (const kvcap::logs::Field& field : start.facts.fields()) {
        if (field.name != "engine") {
            CHECK(all.insert(field.name + '=' + said(field.value)).second);
        }
    }
    return all;
}

inline std::string said(const LogStart& start, std::string_view fact) {
    const Datum* datum = start.facts.find(fact);
    return datum == nullptr ? "null" : said(*datum);
}
inline std::string said(std::string_view text, std::string_view fact) {
    return said(only(text), fact);
}

/// The finding of this kind, or an empty one.
inline kvcap::report::Finding finding(const LogStart& start, std::string_view kind, std::size_t nth = 0) {
    for (const kvcap::report::Finding& one : kvcap::report::diagnose(start)) {
        if (one.kind == kind && nth-- == 0) {
            return one;
        }
    }
    return {};
}

/// A figure of a finding; not a number where there is none.
inline double figure(const LogStart& start, std::string_view kind, std::string_view name,
                     std::size_t nth = 0) {
    for (const kvcap::report::Figure& one : finding(start, kind, nth).figures) {
        if (one.name == name) {
            return one.value;
        }
    }
    return std::nan("");
}

inline bool all_agree(const LogStart& start, std::size_t count) {
    const std::vector<kvcap::report::Check> checks = kvcap::report::checks_of(start).made;
    CHECK(checks.size() == count);
    return std::all_of(checks.begin(), checks.end(), [](const auto& check) { return check.agrees(); });
}

/// GiB beside weights and cache, and how they were found.
inline std::pair<double, std::string> overhead(const LogStart& start) {
    const auto found = kvcap::report::overhead_of(start);
    return found ? std::pair{found->bytes / kvcap::report::gib, found->how} : std::pair{-1.0, std::string{}};
}

inline Approx about(double value) {
    return Approx(value).epsilon(1e-6);
}

}  // namespace starts
