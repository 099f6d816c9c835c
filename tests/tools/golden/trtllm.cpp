// SPDX-License-Identifier: MIT
// The golden files of TensorRT-LLM: arrays of cases with `engine` tensorrt_llm.
#include "trtllm.hpp"

#include "reuse.hpp"

#include <algorithm>
#include <cmath>

namespace golden {

namespace {

bool close_lists(const Json& want, const Json& got, double tolerance) {
    return want.size() == got.size() &&
           std::equal(want.begin(), want.end(), got.begin(), [&](const Json& a, const Json& b) {
               return std::abs(a.get<double>() - b.get<double>()) <= tolerance;
           });
}

/// Pools in any order; the files list them by role and heads.
Json sorted(Json list) {
    std::sort(list.begin(), list.end());
    return list;
}

void compare(const std::string& field, const Json& want, const Json& got, const Json& expect,
             Report& report) {
    if (field == "shares") {
        if (!close_lists(want, got, expect.at("tolerance").get<double>())) {
            report.fail(field, want, got);
        }
    } else if (field == "pools") {
        report.equal(field, sorted(want), sorted(got));
    } else if (field == "blocks_listed_at_tokens") {
        for (const auto& [tokens, blocks] : want.items()) {
            report.equal(field + " " + tokens, blocks, got.value(tokens, Json{}));
        }
    } else {
        report.equal(field, want, got);
    }
}

void capacity(const std::string& kind, const StrictObject& one, Report& report) {
    const StrictObject inputs{one.at("inputs")};
    const Json got = trtllm_capacity(kind, inputs);
    inputs.done("inputs");
    const Json& expect = one.at("expect");
    for (const auto& [field, want] : expect.items()) {
        if (field != "tolerance") {
            compare(field, want, got.contains(field) ? got[field] : Json("not answered"), expect, report);
        }
    }
}

void run_one(const Json& json, Report& report) {
    const StrictObject one{json};
    for (const char* key : {"id", "engine", "obtained", "note", "source"}) {
        one.ignore(key);
    }
    const auto kind = one.get<std::string>("kind");
    if (kind == "prefix_reuse") {
        trtllm_reuse(one, report);
    } else if (kind == "reuse_with_block_presence") {
        trtllm_presence(one, report);
    } else {
        capacity(kind, one, report);
    }
    one.done("the case");
}

void run(const File& file) {
    for (const Json& one : file.content) {
        run_case(one, file.report, [&](const Json& json) { run_one(json, file.report); });
    }
}

}  // namespace

const Format trtllm_format{"tensorrt_llm", [](const File& file) { return is_array_of(file, "tensorrt_llm"); },
                           run};

}  // namespace golden
