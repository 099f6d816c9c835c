// SPDX-License-Identifier: MIT
// What happened in this start? Findings from a log's facts alone, ranked by the memory they would give back.
// Nothing is computed that the facts do not hold; readings that the log cannot decide between are all given.
#pragma once

#include <kvcap/report/diagnose/ollama.hpp>
#include <kvcap/report/diagnose/sglang.hpp>
#include <kvcap/report/diagnose/trtllm.hpp>
#include <kvcap/report/diagnose/vllm.hpp>
#include <kvcap/report/diagnose/vllm_memory.hpp>
#include <kvcap/report/diagnose/vllm_ranks.hpp>

#include <algorithm>
#include <cmath>

namespace kvcap::inline v1::report {

namespace vllm_log {

inline void diagnose(Diagnosis& on) {
    reported(on);
    sequences(on);
    one_request(on);
    poorest_rank(on);
    groups(on);
    padding_layers(on);
    page_of_groups(on);
    reuse_step(on);
    data_parallel(on);
    graphs(on);
    suggestions(on);
    too_long(on);
    too_few_states(on);
    auto_fit(on);
    refused(on);
    budget(on);
    v0_blocks(on);
    workers(on);
    amounts(on);
    spent(on);
}

}  // namespace vllm_log

/// Said of a failure, whatever the engine.
inline void failure(Diagnosis& on) {
    const std::string category = on.text("error_category");
    const char* meaning =
        category == "unknown" ? "the cause is not in these lines: find the exception's own text above or below"
        : category == "failed_after_kv" ? "the pool was made; the failure came later and is no question of its size"
                                        : nullptr;
    if (meaning != nullptr) {
        on.add("not-kv", {"error_category"}, "the start failed", meaning);
    }
}

/// The largest gain first; equal ones in the order in which they were found.
inline std::vector<Finding> by_gain(std::vector<Finding> findings) {
    for (Finding& finding : findings) {
        finding.gain_bytes = std::isfinite(finding.gain_bytes) ? std::max(finding.gain_bytes, 0.0) : 0;
    }
    std::vector<std::size_t> order(findings.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
    }
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return findings[a].gain_bytes != findings[b].gain_bytes ? findings[a].gain_bytes > findings[b].gain_bytes
                                                                : a < b;
    });
    std::vector<Finding> out;
    out.reserve(order.size());
    for (const std::size_t i : order) {
        out.push_back(std::move(findings[i]));
    }
    return out;
}

/// token_bytes: of one token on one rank, where the model is known.
inline std::vector<Finding> diagnose(const LogStart& start, std::optional<double> token_bytes = std::nullopt) {
    const logs::Facts facts = start.engine == "vllm" ? vllm_log::with_least(start.facts) : start.facts;
    Diagnosis on{facts};
    if (start.engine == "vllm") {
        vllm_log::diagnose(on);
    } else if (start.engine == "sglang") {
        sglang_log::diagnose(on, token_bytes);
    } else if (start.engine == "tensorrt-llm") {
        trtllm_log::diagnose(on);
    } else {
        llamacpp_log::diagnose(on);
    }
    failure(on);
    return by_gain(std::move(on.findings));
}

}  // namespace kvcap::inline v1::report
