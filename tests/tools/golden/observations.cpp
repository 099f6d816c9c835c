// SPDX-License-Identifier: MIT
// Records of what engines printed: a list of objects with `ask` and `expect`. A field passes when equal or
// inside [lo, hi]; with `exists`, when one budget of the printed range gives all fields at once, else every
// budget must.
#include "observations.hpp"

#include <cmath>
#include <cstdio>

namespace golden {

std::string scaled_text(std::uint64_t bytes, unsigned shift, int digits) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", digits,
                  std::ldexp(static_cast<double>(bytes), -static_cast<int>(shift)));
    return text;
}

namespace {

const std::vector<Observer>& observers() {
    static const std::vector<Observer> all{
#define KVCAP_OBSERVER(name) name,
#include "observations.inc"
#undef KVCAP_OBSERVER
    };
    return all;
}

/// Equal, inside [lo, hi], or one value per prompt.
bool agrees(const Json& want, const Json& got) {
    if (want.is_array() && want.size() == 2 && got.is_number()) {
        return got >= want[0] && got <= want[1];
    }
    if (want.is_object() && want.contains("each")) {
        return want["each"] == got;
    }
    return want == got;
}

/// The fields that disagree.
Json disagreement(const Json& expect, const Json& got) {
    Json wrong = Json::object();
    for (const auto& [field, want] : expect.items()) {
        if (field != "exists" && !agrees(want, got.value(field, Json()))) {
            wrong[field] = got.value(field, Json());
        }
    }
    return wrong;
}

/// The lowest budget, every multiple of the step inside the range, the highest.
std::vector<std::uint64_t> budgets(const Observer& observer, Observation asked, const Json& range) {
    const auto low = range.at(0).get<std::uint64_t>();
    const auto high = range.at(1).get<std::uint64_t>();
    std::vector<std::uint64_t> all{low};
    asked.budget = low;
    const std::uint64_t step = observer.step(asked);
    for (std::uint64_t at = (low / step + 1) * step; at <= high; at += step) {
        all.push_back(at);
    }
    all.push_back(high);
    return all;
}

void compare(const Observer& observer, Observation asked, const Json& expect, Report& report) {
    if (!asked.options.has("available_bytes_range")) {
        report.equal("expect", Json::object(), disagreement(expect, observer.answer(asked)));
        return;
    }
    const bool exists = expect.value("exists", false);
    asked.has_budget = true;
    Json nearest;
    for (const std::uint64_t budget : budgets(observer, asked, asked.options.at("available_bytes_range"))) {
        asked.budget = budget;
        const Json wrong = disagreement(expect, observer.answer(asked));
        if (exists && wrong.empty()) {
            return;
        }
        if (!exists && !wrong.empty()) {
            report.fail("expect at " + std::to_string(budget), expect, wrong);
            return;
        }
        nearest = nearest.is_null() || wrong.size() < nearest.size() ? wrong : nearest;
    }
    if (exists) {
        report.fail("expect at some budget", expect, nearest);
    }
}

void run_record(const Json& record, Report& report) {
    if (!record.contains("ask") || record.at("ask").is_null()) {
        report.not_askable(record.value("id", ""));
        return;
    }
    const StrictObject ask{record.at("ask")};
    const auto engine = ask.get<std::string>("engine");
    for (const Observer& observer : observers()) {
        if (engine != observer.engine) {
            continue;
        }
        run_case(record, report, [&](const Json& one) {
            const StrictObject options{ask.at("options")};
            const Observation asked{.rules = ask.get<std::string>("rules", ""),
                                    .role = ask.get<std::string>("role", ""),
                                    .model = ask.at("model"),
                                    .options = options};
            ask.ignore("inferred");
            ask.done("the ask");
            compare(observer, asked, one.at("expect"), report);
            options.ignore("available_gib");  // the range says the same in bytes
            options.done("the options");
        });
        return;
    }
    report.skip("observation of " + engine);
}

/// A list of records of observations, or of reports, which ask nothing.
bool is_list_with(const File& file, const char* key) {
    return file.content.is_array() && !file.content.empty() && file.content[0].is_object() &&
           file.content[0].contains(key);
}

}  // namespace

extern const Format observations_format{"observations",
                                        [](const File& file) { return is_list_with(file, "ask"); },
                                        [](const File& file) {
                                            for (const Json& record : file.content) {
                                                run_record(record, file.report);
                                            }
                                        }};

extern const Format reports_format{"reports",
                                   [](const File& file) { return is_list_with(file, "what_went_wrong"); },
                                   [](const File& file) {
                                       for (const Json& record : file.content) {
                                           file.report.not_askable(record.value("id", ""));
                                       }
                                   }};

}  // namespace golden
