// SPDX-License-Identifier: MIT
// Start-up logs with what to read from them: an index of records beside the logs. A record passes when every
// documented key of its `wanted` is exact, nulls included. Keys beyond the documented ones and figures of findings
// are counted apart: a finding is held when every one of its numbers stands, to its printed digits (rounded either
// way), in doctor's JSON.
#include "cards.hpp"
#include "runner.hpp"

#include <cmath>
#include <cstdio>
#include <kvcap/core.hpp>
#include <kvcap/report/doctor_json.hpp>
#include <set>

namespace golden {

namespace {

using namespace kvcap;

bool documented(const std::string& key) {
    static const std::set<std::string> more = {
        "needed_kv_gib", "estimated_max_len",  "cpu_blocks",       "conv_state_gb",          "ssm_state_gb",
        "caches",        "graph_estimate_gib", "graph_actual_gib", "equivalent_utilization", "several_runs",
        "runs",          "needed_kv_gb"};
    for (const char* known : report::doctor_keys) {
        if (key == known) {
            return true;
        }
    }
    const auto ends = [&](std::string_view tail) { return key.size() > tail.size() && key.ends_with(tail); };
    return more.count(key) != 0 || ends("_by_rank") || ends("_by_dp") || ends("_by_device") || ends("_at_least") ||
           ends("_gb");
}

/// Every wanted key, at any depth; a record may hold more than is wanted.
bool holds(const Json& want, const Json& got) {
    if (want.is_object() && got.is_object()) {
        for (const auto& [key, value] : want.items()) {
            if (!holds(value, got.value(key, Json{}))) {
                return false;
            }
        }
        return true;
    }
    if (want.is_array() && got.is_array()) {
        bool all = want.size() == got.size();
        for (std::size_t i = 0; all && i < want.size(); ++i) {
            all = holds(want[i], got[i]);
        }
        return all;
    }
    return want == got;
}

/// One engine: its facts. Several: what they all say of themselves, and `instances` by service.
Json facts_of(const Json& doctored, const Json& wanted) {
    const Json& engines = doctored["engines"];
    if (engines.size() == 1) {
        return engines[0]["facts"];
    }
    Json all = Json::object();
    for (const char* key : {"engine", "generation", "version"}) {
        const Json first = engines.empty() ? Json{} : engines[0]["facts"].value(key, Json{});
        bool same = true;
        for (const Json& one : engines) {
            same = same && one["facts"].value(key, Json{}) == first;
        }
        all[key] = same ? first : Json{};
    }
    all["instances"] = Json::array();
    for (const Json& instance : wanted.value("instances", Json::array())) {
        for (const Json& one : engines) {
            if (one["service"] == instance.value("prefix", "")) {
                Json facts = one["facts"];
                facts["prefix"] = one["service"];
                facts["graph_gib"] = facts.value("graph_actual_gib", Json{});
                all["instances"].push_back(facts);
            }
        }
    }
    return all;
}

void numbers_in(const Json& json, std::vector<double>& numbers, std::set<std::string>& words) {
    if (json.is_number()) {
        numbers.push_back(json.get<double>());
    } else if (json.is_string()) {
        const std::string text = json.get<std::string>();
        words.insert(text);
        if (const auto value = logs::number(logs::words(text))) {
            numbers.push_back(*value);
        }
    } else if (json.is_structured()) {
        for (const Json& inner : json) {
            numbers_in(inner, numbers, words);
        }
    }
}

/// Less than one unit of the last printed digit away.
bool number_held(const Json& want, const std::vector<double>& numbers) {
    const std::string text = want.dump();
    const std::size_t point = text.find('.');
    const double unit =
        point == std::string::npos ? 1 : std::pow(10.0, -static_cast<double>(text.size() - point - 1));
    for (const double number : numbers) {
        if (number == want.get<double>() || std::abs(number - want.get<double>()) < unit * 0.9999) {
            return true;
        }
    }
    return false;
}

bool finding_held(const Json& finding, const std::vector<double>& numbers, const std::set<std::string>& words) {
    for (const Json& want : finding.value("numbers", Json::object())) {
        if (want.is_string() ? words.count(want.get<std::string>()) == 0 : !number_held(want, numbers)) {
            return false;
        }
    }
    return true;
}

/// What a card of this architecture stores for a token: only when all cards of it agree.
std::optional<double> token_bytes(const LogStart& start) {
    const std::string arch = start.facts.text("arch");
    static const std::map<std::string, CardFile> cards = all_cards();
    std::optional<double> bytes;
    for (const auto& [name, card] : cards) {
        const std::string text = card.content.dump();
        if (arch.empty() || !card.read || text.find('"' + arch + '"') == std::string::npos) {
            continue;
        }
        const auto many = fold(card.read->spec, {.prompt = {65536}});
        const double one = many ? static_cast<double>(many->growing.value) : 0;
        if (bytes && *bytes != one / 65536) {
            return std::nullopt;
        }
        bytes = one / 65536;
    }
    return bytes;
}

Json doctored(const std::filesystem::path& log) {
    LogReading reading = read_log(std::string_view{text_of(log)});
    std::vector<report::Doctored> all;
    for (LogStart& start : reading.starts) {
        std::vector<report::Finding> findings = report::diagnose(start, token_bytes(start));
        report::Checks checks = report::checks_of(start);
        all.push_back({std::move(start), std::move(findings), std::move(checks), {}});
    }
    return Json::parse(report::doctor_json(all, reading.lines, reading.bytes));
}

struct Counts {
    int beyond = 0, beyond_missing = 0, findings = 0, held = 0;
};

void run_record(const Json& record, const std::filesystem::path& folder, Report& report, Counts& counts) {
    const std::string id = record.at("id").get<std::string>();
    report.begin(id);
    const Json& wanted = record.at("wanted");
    const Json json = doctored(folder / record.at("file").get<std::string>());
    const Json got = facts_of(json, wanted);
    report.equal("lines", record.at("lines"), json["lines"]);
    for (const auto& [key, value] : wanted.items()) {
        const bool same = holds(value, got.value(key, Json{}));
        if (documented(key) && !same) {
            report.fail(key, value, got.value(key, Json{}));
        } else if (!documented(key)) {
            ++counts.beyond;
            counts.beyond_missing += same ? 0 : 1;
            same ? 0
                 : std::printf("%s: beyond the documented keys: %s wants %s\n", id.c_str(), key.c_str(),
                               value.dump().c_str());
        }
    }
    std::vector<double> numbers;
    std::set<std::string> words;
    for (const Json& engine : json["engines"]) {
        numbers_in(engine["facts"], numbers, words);
        numbers_in(engine["findings"], numbers, words);
    }
    for (const Json& finding : record.at("findings")) {
        const bool all = finding_held(finding, numbers, words);
        ++counts.findings;
        counts.held += all ? 1 : 0;
        all ? 0
            : std::printf("%s: finding %s not held: %s\n", id.c_str(), finding.value("kind", "").c_str(),
                          finding["numbers"].dump().c_str());
    }
    report.end();
}

bool knows(const File& file) {
    const Json& all = file.content;
    return all.is_array() && !all.empty() && all[0].is_object() && all[0].contains("wanted") &&
           all[0].contains("findings") && all[0].contains("file");
}

void run(const File& file) {
    Counts counts;
    for (const Json& record : file.content) {
        run_record(record, std::filesystem::path{file.path}.parent_path(), file.report, counts);
    }
    std::printf("findings held: %d of %d; keys beyond the documented ones: %d of %d\n", counts.held, counts.findings,
                counts.beyond - counts.beyond_missing, counts.beyond);
    file.report.begin("findings");
    if (counts.held * 5 < counts.findings * 4) {
        file.report.fail("held", counts.findings * 4 / 5, counts.held);
    }
    file.report.end();
}

}  // namespace

extern const Format logs_format;
const Format logs_format{"start-up logs", knows, run};

}  // namespace golden
