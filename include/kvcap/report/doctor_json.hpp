// SPDX-License-Identifier: MIT
// kvcap doctor --json, schema kvcap.doctor/1: per engine its facts (null where a log never says what such logs may
// say), the line of each, findings with their figures, checks and what the engine's rules predict.
#pragma once

#include <cmath>
#include <kvcap/report/diagnose.hpp>
#include <kvcap/report/diagnose/checks.hpp>
#include <kvcap/report/json.hpp>

#include <optional>

namespace kvcap::inline v1::report {

/// Said by every record, null when the log does not.
inline constexpr const char* doctor_keys[] = {"engine",
                                              "generation",
                                              "version",
                                              "model",
                                              "arch",
                                              "served_name",
                                              "tp",
                                              "pp",
                                              "dp",
                                              "ep",
                                              "dcp",
                                              "dtype",
                                              "quantization",
                                              "kv_dtype",
                                              "max_model_len",
                                              "max_num_seqs",
                                              "prefix_caching",
                                              "gpu_memory_utilization",
                                              "weights_gib",
                                              "available_kv_gib",
                                              "gpu_blocks",
                                              "capacity_tokens",
                                              "concurrency",
                                              "block_size",
                                              "padding_pct",
                                              "padding_layers",
                                              "padding_waste_pct",
                                              "state_slots",
                                              "cells",
                                              "k_mib",
                                              "v_mib",
                                              "rs_mib",
                                              "compute_mib",
                                              "error_category"};

/// A second figure beside the predicted one: as printed, and for the least and the greatest budget.
struct Beside {
    double printed = 0;
    double low = 0;
    double high = 0;
};

/// One more figure of the same reading. engine: "DP1", of a start whose engines have pools of their own, else empty.
struct AlsoPredicted {
    std::string figure{};
    std::string engine{};
    double printed = 0;
    double low = 0;
    double high = 0;
    bool agrees = false;
    bool decides = true;  ///< false where memory that no line prints may take part: then it may differ
};

/// What the engine's rules say for this model: the budgets, among those that the printed amount stands for, which
/// give the printed count. reason: why nothing was predicted.
struct Prediction {
    std::string model{};
    std::string rules{};
    std::string reason{};
    std::string figure{};  ///< the fact that is predicted
    std::string engine{};  ///< as AlsoPredicted's
    double printed = 0;
    double low = 0;   ///< predicted for the least budget
    double high = 0;  ///< and for the greatest
    double first_budget = 0;
    double last_budget = 0;
    std::optional<Beside> concurrency{};  ///< where the log and the rules print it
    std::vector<AlsoPredicted> also{};
    bool asked = false;
    bool count_agrees = false;  ///< the predicted figure alone
    bool agrees = false;
};

struct Doctored {
    LogStart start;
    std::vector<Finding> findings{};
    Checks checks{};
    Prediction prediction{};

    bool agrees() const {
        return std::all_of(checks.made.begin(), checks.made.end(), [](const Check& check) { return check.agrees(); }) &&
               (!prediction.asked || prediction.agrees);
    }
};

inline void put(Json& json, std::string_view key, const logs::Datum& datum) {
    switch (datum.kind) {
        case logs::Datum::Kind::none: json.null(key); return;
        case logs::Datum::Kind::flag: json.field(key, datum.integer != 0); return;
        case logs::Datum::Kind::integer: json.field(key, datum.integer); return;
        case logs::Datum::Kind::words: json.field(key, std::string_view{datum.words}); return;
        case logs::Datum::Kind::list: json.array(key, Layout::flat); break;
        case logs::Datum::Kind::record: json.object(key, Layout::flat); break;
    }
    for (const logs::Field& field : datum.items) {
        put(json, datum.kind == logs::Datum::Kind::record && field.name.empty() ? "unnamed" : field.name,
            field.value);
    }
    json.end();
}

/// Whole numbers as integers; others with as many digits as six figures need.
inline void put_number(Json& json, std::string_view key, double value) {
    if (std::abs(value) < 9e15 && value == std::floor(value)) {
        json.field(key, static_cast<std::int64_t>(value));
    } else {
        json.field(key, value, std::abs(value) >= 1000 ? 3 : 6);
    }
}

inline void put_finding(Json& json, const Finding& finding) {
    json.object().field("kind", std::string_view{finding.kind}).field("seen", std::string_view{finding.seen});
    json.field("meaning", std::string_view{finding.meaning}).field("change", std::string_view{finding.change});
    json.field("gain_bytes", static_cast<std::int64_t>(std::clamp(finding.gain_bytes, 0.0, 9e15)))
        .object("numbers", Layout::flat);
    for (const Figure& figure : finding.figures) {
        figure.words.empty() ? put_number(json, figure.name, figure.value)
                             : static_cast<void>(json.field(figure.name, std::string_view{figure.words}));
    }
    json.end().array("lines", Layout::flat);
    for (const u64 line : finding.lines) {
        json.item(line);
    }
    json.end().end();
}

inline void put_facts(Json& json, const logs::Facts& facts) {
    json.object("facts");
    for (const char* key : doctor_keys) {
        const logs::Datum* datum = facts.find(key);
        datum == nullptr ? static_cast<void>(json.null(key)) : put(json, key, *datum);
    }
    for (const logs::Field& field : facts.fields()) {
        const bool listed = std::any_of(std::begin(doctor_keys), std::end(doctor_keys),
                                        [&](const char* key) { return field.name == key; });
        if (!listed && !field.name.ends_with("_words")) {
            put(json, field.name, field.value);
        }
    }
    json.end().object("lines", Layout::flat);
    for (const logs::Field& field : facts.fields()) {
        if (field.value.line != 0) {
            json.field(field.name, field.value.line);
        }
    }
    json.end();
}

inline void put_prediction(Json& json, const Prediction& prediction) {
    json.object("prediction")
        .field("model", std::string_view{prediction.model})
        .field("rules", std::string_view{prediction.rules});
    json.field("reason", std::string_view{prediction.reason});
    if (prediction.asked) {
        json.field("figure", std::string_view{prediction.figure}).field("engine", std::string_view{prediction.engine});
        put_number(json, "printed", prediction.printed);
        put_number(json, "low", prediction.low);
        put_number(json, "high", prediction.high);
        put_number(json, "first_budget", prediction.first_budget);
        put_number(json, "last_budget", prediction.last_budget);
        if (prediction.concurrency) {
            json.object("concurrency", Layout::flat);
            put_number(json, "printed", prediction.concurrency->printed);
            put_number(json, "low", prediction.concurrency->low);
            put_number(json, "high", prediction.concurrency->high);
            json.end();
        }
        json.array("also");
        for (const AlsoPredicted& one : prediction.also) {
            json.object({}, Layout::flat).field("figure", std::string_view{one.figure});
            json.field("engine", std::string_view{one.engine});
            put_number(json, "printed", one.printed);
            put_number(json, "low", one.low);
            put_number(json, "high", one.high);
            json.field("agrees", one.agrees).field("decides", one.decides).end();
        }
        json.end().field("agrees", prediction.agrees);
    }
    json.end();
}

inline void put_unchecked(Json& json, const std::vector<Unchecked>& all) {
    json.array("unchecked");
    for (const Unchecked& one : all) {
        json.object({}, Layout::flat).field("what", std::string_view{one.what}).array("missing", Layout::flat);
        for (const std::string& name : one.missing) {
            json.item(std::string_view{name});
        }
        json.end().end();
    }
    json.end();
}

inline std::string doctor_json(const std::vector<Doctored>& engines, u64 lines, u64 bytes) {
    Json json;
    json.object().field("schema", "kvcap.doctor/1").field("lines", lines).field("bytes", bytes).array("engines");
    for (const Doctored& one : engines) {
        json.object()
            .field("engine", std::string_view{one.start.engine})
            .field("service", std::string_view{one.start.service});
        put_facts(json, one.start.facts);
        json.array("findings");
        for (const Finding& finding : one.findings) {
            put_finding(json, finding);
        }
        json.end().array("checks");
        for (const Check& check : one.checks.made) {
            json.object({}, Layout::flat).field("what", std::string_view{check.what});
            put_number(json, "printed", check.printed);
            put_number(json, "low", check.low);
            put_number(json, "high", check.high);
            json.field("agrees", check.agrees()).end();
        }
        json.end();
        put_unchecked(json, one.checks.unchecked);
        put_prediction(json, one.prediction);
        json.field("agrees", one.agrees()).end();
    }
    json.end().end();
    return json.text();
}

}  // namespace kvcap::inline v1::report
