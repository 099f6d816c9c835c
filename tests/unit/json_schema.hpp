// SPDX-License-Identifier: MIT
// The part of JSON Schema that docs/reference/schemas and tests/conformance use: types, constants, enums, bounds,
// patterns, required and known keys.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>

namespace schemas {

using nlohmann::json;

/// The schema of a verb.
inline json of(const std::string& verb) {
    std::ifstream file{std::filesystem::path{KVCAP_SOURCE_DIR} / "docs/reference/schemas" / (verb + ".schema.json")};
    return json::parse(file);
}

inline bool is(const json& value, const std::string& type) {
    return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
           (type == "string" && value.is_string()) || (type == "integer" && value.is_number_integer()) ||
           (type == "number" && value.is_number()) || (type == "boolean" && value.is_boolean()) ||
           (type == "null" && value.is_null());
}

/// Every keyword that `violation` judges, or that says nothing about a value: another one is a violation.
inline bool known_keyword(const std::string& word) {
    static const std::set<std::string> known{"$ref", "const", "enum", "type", "required", "properties",
                                             "additionalProperties", "items", "minimum", "minItems", "maxItems",
                                             "minProperties", "pattern", "$schema", "$defs", "title", "description"};
    return known.count(word) != 0;
}

inline std::string violation(const json& value, const json& schema, const json& root, const std::string& at = "");

/// What a schema says of a value alone.
inline std::string violation_of_scalar(const json& value, const json& schema) {
    if (schema.contains("const") && value != schema["const"]) {
        return "not " + schema["const"].dump();
    }
    if (schema.contains("enum") &&
        std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end()) {
        return value.dump() + " is none of the enum";
    }
    if (schema.contains("type")) {
        const json types = schema["type"].is_array() ? schema["type"] : json::array({schema["type"]});
        if (std::none_of(types.begin(), types.end(), [&](const json& type) { return is(value, type); })) {
            return value.dump().substr(0, 40) + " is no " + schema["type"].dump();
        }
    }
    if (schema.contains("minimum") && value.is_number() && value < schema["minimum"]) {
        return value.dump() + " is below " + schema["minimum"].dump();
    }
    if (schema.contains("pattern") && value.is_string() &&
        !std::regex_search(value.get<std::string>(), std::regex{schema["pattern"].get<std::string>()})) {
        return value.dump().substr(0, 40) + " does not match " + schema["pattern"].dump();
    }
    return {};
}

/// A key that the schema does not list is a violation, unless `additionalProperties` says what it may hold (true:
/// anything).
inline std::string violation_of_object(const json& value, const json& schema, const json& root, const std::string& at) {
    if (value.size() < schema.value("minProperties", std::size_t{0})) {
        return at + ": too few keys";
    }
    for (const json& key : schema.contains("required") ? schema["required"] : json::array()) {
        if (!value.contains(key)) {
            return at + ": without " + key.dump();
        }
    }
    const auto known = schema.find("properties");
    const auto others = schema.find("additionalProperties");
    for (const auto& [key, part] : value.items()) {
        const bool listed = known != schema.end() && known->contains(key);
        if (!listed && others != schema.end() && *others == true) {
            continue;
        }
        if (!listed && (others == schema.end() || !others->is_object())) {
            return at + ": unknown key " + key;
        }
        const json& inner = listed ? (*known)[key] : *others;
        if (std::string wrong = violation(part, inner, root, at + '/' + key); !wrong.empty()) {
            return wrong;
        }
    }
    return {};
}

inline std::string violation_of_list(const json& value, const json& schema, const json& root, const std::string& at) {
    if (!schema.contains("items")) {
        return at + ": a list whose items the schema does not describe";
    }
    const std::size_t size = value.size();
    if (size < schema.value("minItems", std::size_t{0}) || size > schema.value("maxItems", size)) {
        return at + ": a list of " + std::to_string(size);
    }
    for (std::size_t i = 0; i < value.size(); ++i) {
        std::string wrong = violation(value[i], schema["items"], root, at + '/' + std::to_string(i));
        if (!wrong.empty()) {
            return wrong;
        }
    }
    return {};
}

/// The first violation, empty when there is none.
inline std::string violation(const json& value, const json& schema, const json& root, const std::string& at) {
    for (const auto& [word, _] : schema.items()) {
        if (!known_keyword(word)) {
            return at + ": the schema says " + word + ", which this check does not know";
        }
    }
    if (schema.contains("$ref")) {
        return violation(value, root["$defs"][schema["$ref"].get<std::string>().substr(8)], root, at);
    }
    if (const std::string wrong = violation_of_scalar(value, schema); !wrong.empty()) {
        return at + ": " + wrong;
    }
    return value.is_object()  ? violation_of_object(value, schema, root, at)
           : value.is_array() ? violation_of_list(value, schema, root, at)
                              : std::string{};
}

/// The first violation of the verb's schema.
inline std::string violation_of(const json& value, const std::string& verb) {
    const json schema = of(verb);
    return violation(value, schema, schema);
}

}  // namespace schemas
