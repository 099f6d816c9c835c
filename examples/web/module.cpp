// SPDX-License-Identifier: MIT
// The program behind the page: one call with the arguments of a command line, one answer with what it would print.
#include "memory.hpp"
#include "program.hpp"

#include <emscripten/emscripten.h>
#include <nlohmann/json.hpp>

namespace kvcap::cli {

/// In place of overhead_log.cpp: the page has no log to read.
MeasuredOverhead overhead_from(const std::string& path, Bytes) {
    stop(Exit::usage, "--overhead-from: " + path + " is read by the command-line program only; give --non-kv-bytes");
}

}  // namespace kvcap::cli

namespace {

std::string answer_to(const char* arguments) {
    const nlohmann::json given = nlohmann::json::parse(arguments, nullptr, false);
    if (!given.is_array()) {
        return R"({"code": 2, "out": "", "err": "kvcap: wanted a JSON array of arguments\n"})";
    }
    std::vector<std::string> words;
    for (const nlohmann::json& word : given) {
        words.push_back(word.is_string() ? word.get<std::string>() : word.dump());
    }
    const kvcap::cli::Outcome outcome = kvcap::cli::run_caught(std::move(words));
    return nlohmann::json{{"code", outcome.code}, {"out", outcome.out}, {"err", outcome.err}}.dump(
        -1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

/// arguments: a JSON array of strings, such as ["size", "deepseek-v3", "--json"]. Returns {"code", "out", "err"} as
/// JSON text that stays until the next call.
extern "C" EMSCRIPTEN_KEEPALIVE const char* kvcap_run(const char* arguments) {
    static std::string answer;
    answer = answer_to(arguments);
    return answer.c_str();
}
