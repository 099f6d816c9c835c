// SPDX-License-Identifier: MIT
// The part of JSON Schema that docs/reference/schemas uses: types, constants, enums, required and known keys.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
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

/// The first violation, empty when there is none. A key that the schema does not list is one, unless
/// `additionalProperties` says what it may hold.
inline std::string violation(const json& value, const json& schema, const json& root, const std::string& at = "") {
    if (schema.contains("$ref")) {
        return violation(value, root["$defs"][schema["$ref"].get<std::string>().substr(8)], root, at);
    }
    if (schema.contains("const") && value != schema["const"]) {
        return at + ": not " + schema["const"].dump();
    }
    if (schema.contains("enum") &&
        std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end()) {
        return at + ": " + value.dump() + " is none of the enum";
    }
    if (schema.contains("type")) {
        const json types = schema["type"].is_array() ? schema["type"] : json::array({schema["type"]});
        if (std::none_of(types.begin(), types.end(), [&](const json& type) { return is(value, type); })) {
            return at + ": " + value.dump().substr(0, 40) + " is no " + schema["type"].dump();
        }
    }
    for (const json& key : value.is_object() ? schema.value("required", json::array()) : json::array()) {
        if (!value.contains(key)) {
            return at + ": without " + key.dump();
        }
    }
    if (value.is_object()) {
        const json known = schema.value("properties", json::object());
        const json others = schema.value("additionalProperties", json(false));
        for (const auto& [key, part] : value.items()) {
            if (!known.contains(key) && !others.is_object()) {
                return at + ": unknown key " + key;
            }
            const json& inner = known.contains(key) ? known[key] : others;
            if (std::string wrong = violation(part, inner, root, at + '/' + key); !wrong.empty()) {
                return wrong;
            }
        }
    }
    if (value.is_array() && !schema.contains("items")) {
        return at + ": a list whose items the schema does not describe";
    }
    for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
        if (std::string wrong = violation(value[i], schema["items"], root, at + '/' + std::to_string(i));
            !wrong.empty()) {
            return wrong;
        }
    }
    return {};
}

/// The first violation of the verb's schema.
inline std::string violation_of(const json& value, const std::string& verb) {
    const json schema = of(verb);
    return violation(value, schema, schema);
}

}  // namespace schemas
