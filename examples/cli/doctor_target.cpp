// SPDX-License-Identifier: MIT
// What are the rules asked for? Tokens of a pool for its memory, of each engine of a start; sizes for their tokens.
#include "doctor_target.hpp"

#include <kvcap/report/diagnose/finding.hpp>

#include <algorithm>

namespace kvcap::cli {

namespace {

using report::gib;
using report::known;

/// The least of what ranks of one engine printed; dp -1: of all. stage -1: of every stage.
const logs::Datum* least_of(const LogStart& start, std::string_view name, int dp, int stage = -1) {
    const logs::Datum* least = nullptr;
    for (const logs::Ranked& one : start.ranked) {
        const logs::Ranks ranks = logs::ranks_of(one.rank);
        const bool own = dp < 0 || ranks.dp < 0 || ranks.dp == dp;
        const bool here = own && (stage < 0 || ranks.pp < 0 || ranks.pp == stage);
        const auto value = logs::number(one.value);
        if (one.name == name && here && value && (least == nullptr || *value < *logs::number(*least))) {
            least = &one.value;
        }
    }
    return least == nullptr && dp < 0 && stage < 0 ? start.facts.find(name) : least;
}

/// Data-parallel ranks that printed a pool; -1 alone where they are not told apart.
std::vector<int> engines_of(const LogStart& start) {
    std::vector<int> all;
    for (const logs::Ranked& one : start.ranked) {
        const int dp = one.name == "capacity_tokens" ? logs::ranks_of(one.rank).dp : -1;
        if (dp >= 0 && std::find(all.begin(), all.end(), dp) == all.end() && all.size() < 64) {
            all.push_back(dp);
        }
    }
    std::sort(all.begin(), all.end());
    return all.size() < 2 ? std::vector<int>{-1} : all;
}

/// Every stage gets what its own poorest rank has: vLLM makes as many blocks as the least of all workers can hold.
bool set_memory(Target& target, const LogStart& start, int dp) {
    const u32 stages = static_cast<u32>(std::clamp(start.facts.number("pp").value_or(1), 1.0, 64.0));
    const logs::Datum* least = least_of(start, "available_kv_gib", dp);
    const auto value = least == nullptr ? std::nullopt : logs::number(*least);
    if (!value || !(*value > 0)) {
        return false;
    }
    target.low = (*value - logs::half_digit(*least)) * gib;
    target.high = (*value + logs::half_digit(*least)) * gib;
    for (u32 stage = 0; stage < stages; ++stage) {
        const logs::Datum* own = least_of(start, "available_kv_gib", dp, static_cast<int>(stage));
        target.above.push_back(own == nullptr ? 0 : (*logs::number(*own) - *value) * gib);
    }
    return true;
}

std::vector<Target> vllm_targets(const LogStart& start) {
    std::vector<Target> all;
    const std::vector<int> engines = engines_of(start);
    for (const int dp : engines) {
        Target target;
        target.engine = dp < 0 ? "" : fmt::format("DP{}", dp);
        target.figures = {printed("capacity_tokens", least_of(start, "capacity_tokens", dp))};
        target.concurrency = printed("concurrency", least_of(start, "concurrency", dp));
        if (!known(target.figures[0].value)) {
            target.figures = {printed("estimated_max_len", start.facts.find("estimated_max_len"))};
        }
        const bool asked = known(target.figures[0].value) && set_memory(target, start, dp);
        const auto same = [&](const Target& other) {
            return other.figures[0].value == target.figures[0].value && other.low == target.low;
        };
        if (asked && std::none_of(all.begin(), all.end(), same)) {
            all.push_back(std::move(target));
        }
    }
    return all;
}

/// What SGLang makes pools of: printed as the rest, or what is free after loading less what the share leaves of what
/// was free before (the least of all ranks each). The second is not all of it where a backend takes a workspace, and
/// builds before 2026-02 charged window layers twice. Nothing where drafts or further stages take part.
std::vector<Target> sglang_memory(const LogStart& start) {
    report::Diagnosis on{start.facts};
    const logs::Datum* after = least_of(start, "avail_after_weights_gb", -1);
    const logs::Datum* before = least_of(start, "avail_before_weights_gb", -1);
    const double outside = 1 - on["mem_fraction_static"];
    Target target;
    if (on["rest_memory_gb"] > 0) {
        target.low = on.low("rest_memory_gb") * gib, target.high = on.high("rest_memory_gb") * gib;
    } else if (after != nullptr && before != nullptr && known(outside)) {
        const double rest = logs::number(*after).value_or(std::nan("")) - logs::number(*before).value_or(0) * outside;
        const double half = logs::half_digit(*after) + logs::half_digit(*before) * outside;
        target.low = (rest - half) * gib, target.high = (rest + half) * gib;
    }
    target.decides = on["rest_memory_gb"] > 0;
    const bool plain = !on.has("spec_method") && !on.has("state_slots") && !(on["pp"] > 1) && !on.has("host_gb") &&
                       !on.has("effective_tokens");
    if (!plain || target.high == Target::boundless || !(target.low > 0)) {
        return {};
    }
    if (const logs::Datum* asked = start.facts.find("requested_max_total_tokens"); asked != nullptr) {
        target.flags["max-total-tokens"] = std::to_string(asked->integer);
    }
    target.figures = {printed("capacity_tokens", start.facts.find("capacity_tokens"))};
    return known(target.figures[0].value) ? std::vector{target} : std::vector<Target>{};
}

std::vector<Target> sglang_targets(const LogStart& start) {
    std::vector<Target> all;
    Target sizes;
    sizes.figures = figures_of(start);
    for (const auto& [fact, flag] : {std::pair{"capacity_tokens", "max-total-tokens"},
                                     std::pair{"state_slots", "max-mamba-cache-size"}}) {
        if (const logs::Datum* said = start.facts.find(fact); said != nullptr) {
            sizes.flags[flag] = std::to_string(said->integer);
        }
    }
    if (!sizes.figures.empty() && start.facts.has("capacity_tokens")) {
        all.push_back(std::move(sizes));
    }
    for (Target& memory : sglang_memory(start)) {
        if (memory.decides || !all.empty()) {
            all.push_back(std::move(memory));
        }
    }
    return all;
}

std::vector<Target> trtllm_targets(const LogStart& start) {
    report::Diagnosis on{start.facts};
    if (!(on["kv_gib"] > 0) || !on.has("capacity_tokens")) {
        return {};
    }
    return {{.figures = {printed("capacity_tokens", start.facts.find("capacity_tokens"))},
             .low = on.low("kv_gib") * gib,
             .high = on.high("kv_gib") * gib}};
}

}  // namespace

std::string face_of(const LogStart& start) {
    return start.engine == "tensorrt-llm" ? "trtllm"
           : start.engine == "llama.cpp"  ? "llamacpp"
           : start.engine == "ollama"     ? ""
                                          : start.engine;
}

std::vector<Target> targets_of(const LogStart& start) {
    if (start.engine == "vllm") {
        return vllm_targets(start);
    }
    if (start.engine == "sglang") {
        return sglang_targets(start);
    }
    if (start.engine == "tensorrt-llm") {
        return trtllm_targets(start);
    }
    if (start.engine != "llama.cpp") {
        return {};
    }
    std::vector<PrintedFigure> figures = figures_of(start);  // states alone do not depend on the context
    const bool sized = context_of(start) != 0 || (!figures.empty() && figures.front().figure == "rs_mib");
    return figures.empty() || !sized ? std::vector<Target>{} : std::vector{Target{.figures = std::move(figures)}};
}

std::string wanted_lines(const LogStart& start) {
    if (start.engine == "vllm") {
        return "'Available KV cache memory' and 'GPU KV cache size'";
    }
    if (start.engine == "sglang") {
        return "'KV Cache is allocated' or 'Use sliding window memory pool', and 'max_total_num_tokens'";
    }
    if (start.engine == "tensorrt-llm") {
        return "'Allocated ... GiB for max tokens in paged KV cache'";
    }
    return start.engine == "llama.cpp" ? "'llama_kv_cache: size' with its cells" : "";
}

}  // namespace kvcap::cli
