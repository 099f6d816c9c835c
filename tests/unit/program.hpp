// SPDX-License-Identifier: MIT
// Runs the program and checks JSON against the schemas in docs/reference/schemas.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

namespace program {

using nlohmann::json;

struct Ran {
    int code = -1;
    std::string out;
    std::string err;
};

inline std::string text_of(const std::filesystem::path& path) {
    std::ifstream file{path, std::ios::binary};
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/// Only a build without examples has no program.
inline bool known() {
    return std::getenv("KVCAP_CLI") != nullptr;
}

/// A word that a shell takes as it is.
inline std::string quoted(const std::string& word) {
    std::string out = "'";
    for (const char c : word) {
        out += c == '\'' ? "'\\''" : std::string(1, c);
    }
    return out + "'";
}

inline Ran run(const std::string& arguments) {
    const std::string stem =
        (std::filesystem::temp_directory_path() / ("kvcap-run-" + std::to_string(::getpid()))).string();
    const std::string command =
        quoted(std::getenv("KVCAP_CLI")) + " " + arguments + " >" + stem + ".out 2>" + stem + ".err";
    const int status = std::system(command.c_str());
    Ran ran{WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of(stem + ".out"), text_of(stem + ".err")};
    std::filesystem::remove(stem + ".out");
    std::filesystem::remove(stem + ".err");
    return ran;
}

inline bool of_type(const json& value, const std::string& type) {
    return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
           (type == "string" && value.is_string()) || (type == "integer" && value.is_number_integer()) ||
           (type == "number" && value.is_number()) || (type == "boolean" && value.is_boolean()) ||
           (type == "null" && value.is_null());
}

/// The first violation of a schema (type, const, enum, required, properties, items); empty when there is
/// none.
inline std::string violation(const json& value, const json& schema, const std::string& at = "") {
    if (schema.contains("const") && value != schema["const"]) {
        return at + ": not " + schema["const"].dump();
    }
    if (schema.contains("enum") &&
        std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end()) {
        return at + ": " + value.dump() + " is none of the enum";
    }
    if (schema.contains("type")) {
        const json types = schema["type"].is_array() ? schema["type"] : json::array({schema["type"]});
        if (std::none_of(types.begin(), types.end(),
                         [&](const json& type) { return of_type(value, type); })) {
            return at + ": " + value.dump().substr(0, 40) + " is no " + schema["type"].dump();
        }
    }
    for (const json& key : value.is_object() ? schema.value("required", json::array()) : json::array()) {
        if (!value.contains(key)) {
            return at + ": without " + key.dump();
        }
    }
    std::string wrong;
    if (value.is_object()) {
        for (const auto& [key, part] : value.items()) {
            wrong = !wrong.empty() ? wrong
                    : !schema["properties"].contains(key)
                        ? at + ": unknown key " + key
                        : violation(part, schema["properties"][key], at + '/' + key);
        }
    }
    for (std::size_t i = 0; value.is_array() && wrong.empty() && i < value.size(); ++i) {
        wrong = violation(value[i], schema["items"], at + '/' + std::to_string(i));
    }
    return wrong;
}

inline std::string violation_of(const json& value, const std::string& schema) {
    const auto path =
        std::filesystem::path{KVCAP_SOURCE_DIR} / "docs/reference/schemas" / (schema + ".schema.json");
    return violation(value, json::parse(text_of(path)));
}

/// Columns of the longest line (UTF-8 characters).
inline std::size_t widest(const std::string& text) {
    std::istringstream lines{text};
    std::size_t most = 0;
    for (std::string line; std::getline(lines, line);) {
        most = std::max(most, static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
                            return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
                        })));
    }
    return most;
}

}  // namespace program
