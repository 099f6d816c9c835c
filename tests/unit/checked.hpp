// SPDX-License-Identifier: MIT
// Runs the program and asks that its JSON keeps the verb's schema, or that it refuses with a code and words.
#pragma once

#include "json_schema.hpp"
#include "program.hpp"

namespace program {

using nlohmann::json;

inline json checked(const std::string& verb, const std::string& arguments, int code = 0) {
    const Ran ran = run(verb + ' ' + arguments + " --json");
    CAPTURE(verb, arguments, ran.err, ran.out);
    REQUIRE(ran.code == code);
    const json read = json::parse(ran.out);
    CHECK(schemas::violation_of(read, verb) == "");
    return read;
}

/// Whether a note of the answer has the words.
inline bool says(const json& answer, const std::string& words) {
    return answer["notes"].dump().find(words) != std::string::npos;
}

/// The least more memory with which it fits; 0 when no amount is suggested.
inline long long more_memory(const json& found) {
    for (const json& each : found["changes"]) {
        if (each["kind"] == "memory") {
            return each["extra_memory_bytes"];
        }
    }
    return 0;
}

inline void refused(const std::string& arguments, int code, const std::string& words) {
    const Ran ran = run(arguments);
    CAPTURE(arguments, ran.err, ran.out);
    CHECK(ran.code == code);
    CHECK((ran.err + ran.out).find(words) != std::string::npos);
}

}  // namespace program
