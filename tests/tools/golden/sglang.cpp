// SPDX-License-Identifier: MIT
// The golden files of SGLang: arrays of cases with `engine` sglang.
#include "sglang.hpp"

namespace golden {

namespace {

void run_one(const Json& json, Report& report) {
    const StrictObject one{json};
    for (const char* key : {"id", "engine", "obtained", "note"}) {
        one.ignore(key);
    }
    const auto kind = one.get<std::string>("kind");
    if (kind == "pool_capacity") {
        sglang_capacity(one, report);
    } else if (kind == "prefix_reuse") {
        sglang_reuse(one, report);
    } else {
        sglang_rule(kind, one, report);
    }
    one.done("the case");
}

void run(const File& file) {
    for (const Json& one : file.content) {
        run_case(one, file.report, [&](const Json& json) { run_one(json, file.report); });
    }
}

}  // namespace

const Format sglang_format{"sglang", [](const File& file) { return is_array_of(file, "sglang"); }, run};

}  // namespace golden
