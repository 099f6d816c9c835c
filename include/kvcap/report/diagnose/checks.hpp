// SPDX-License-Identifier: MIT
// Do a log's own figures agree? Each identity that an engine's printed numbers must obey, within their printed
// digits; and which of them could not be asked, for want of which figures.
#pragma once

#include <kvcap/report/diagnose/finding.hpp>

#include <algorithm>

namespace kvcap::inline v1::report {

/// printed: as in the log. low, high: what the other figures allow.
struct Check {
    std::string what;
    double printed = 0;
    double low = 0;
    double high = 0;
    std::vector<u64> lines{};

    bool agrees() const noexcept { return printed >= low && printed <= high; }
};

/// A check that was not made: a figure it needs is not in the log, or cannot be.
struct Unchecked {
    std::string what;
    std::vector<std::string> missing{};
};

struct Checks {
    std::vector<Check> made{};
    std::vector<Unchecked> unchecked{};
};

namespace checks {

/// needs: the figures that `low` and `high` are made of.
inline void add(Diagnosis& on, Checks& all, std::string_view fact, std::string what,
                std::initializer_list<std::string_view> needs, double low, double high) {
    if (known(on[fact], low, high)) {
        const logs::Datum* datum = on.find(fact);
        all.made.push_back({std::move(what), on[fact], low, high, {}});
        if (datum->line != 0) {
            all.made.back().lines.push_back(datum->line);
        }
        return;
    }
    Unchecked one{.what = std::move(what)};
    const auto miss = [&](std::string_view name) {
        if (!known(on[name])) {
            one.missing.emplace_back(name);
        }
    };
    miss(fact);
    for (const std::string_view name : needs) {
        miss(name);
    }
    if (one.missing.empty()) {  // all are there, and one of them divides as zero
        one.missing.assign(needs.begin(), needs.end());
    }
    all.unchecked.push_back(std::move(one));
}

inline void vllm(Diagnosis& on, Checks& all) {
    const double blocks = on["gpu_blocks"], length = on["max_model_len"];
    if (on.text("generation") == "v0") {
        add(on, all, "concurrency", "concurrency is blocks x 16 / length", {"gpu_blocks", "max_model_len"},
            blocks * 16 / length - 0.0051, blocks * 16 / length + 0.0051);
        const double rest = on["budget_gib"] - on["weights_gib"] - on["non_torch_gib"] - on["peak_activation_gib"];
        add(on, all, "available_kv_gib", "the pool is the budget less weights, non-torch memory and activations",
            {"budget_gib", "weights_gib", "non_torch_gib", "peak_activation_gib"}, rest - 0.0251, rest + 0.0251);
    }
    const bool negative = on["graph_estimate_gib"] < 0;
    add(on, all, "equivalent_utilization",
        "the share without graphs is below the share, unless the estimate is negative", {"gpu_memory_utilization"}, -1,
        negative ? 2 : on["gpu_memory_utilization"] + 0.00005);
    const double suggested = on["capacity_tokens_metrics"];
    add(on, all, "capacity_tokens", "log and metrics print the same tokens", {"capacity_tokens_metrics"}, suggested,
        suggested);
    const double block = on["block_size_metrics"];
    add(on, all, "block_size_set",
        "log and metrics print the same block size (vLLM until mid 2026 exports the least of all groups: vllm#51163)",
        {"block_size_metrics"}, block, block);
}

/// The parts of lines that only some models or builds print; checks of them are asked where one of them is there.
inline bool any_of(const Diagnosis& on, std::initializer_list<std::string_view> facts) {
    return std::any_of(facts.begin(), facts.end(), [&](std::string_view fact) { return on.has(fact); });
}

/// The pool's own line and the totals, of a rank that holds every token of a request.
inline void allocated(Diagnosis& on, Checks& all) {
    const logs::Datum* ranks = on.find("allocated_tokens_by_rank");
    const bool parts = any_of(on, {"dcp", "draft_pool_tokens", "effective_tokens"});
    if (ranks == nullptr || ranks->items.empty() || parts || !on.has("max_total_num_tokens")) {
        return;
    }
    const double tokens = logs::number(ranks->items.front().value).value_or(std::nan(""));
    add(on, all, "max_total_num_tokens", "the pool and the totals print the same tokens", {"allocated_tokens_by_rank"},
        tokens, tokens);
}

/// Its full and window tokens, in the lines that print them again.
inline void window_pools(Diagnosis& on, Checks& all) {
    const double full = on["full_layer_tokens"], window = on["swa_layer_tokens"];
    add(on, all, "capacity_tokens", "max_total_num_tokens is the full layers' tokens", {"full_layer_tokens"}, full,
        full);
    add(on, all, "full_size", "both lines print the same full tokens", {"full_layer_tokens"}, full, full);
    add(on, all, "swa_size", "both lines print the same window tokens", {"swa_layer_tokens"}, window, window);
}

inline void full_tokens(Diagnosis& on, Checks& all) {
    const double page = known(on["page_size"]) ? on["page_size"] : 1;
    const double rate_low = on.low("bytes_per_full_token"), rate_high = on.high("bytes_per_full_token");
    add(on, all, "full_tokens", "tokens are the pool by bytes a token, in whole pages",
        {"bytes_per_full_token", "available_kv_gib"}, on.low("available_kv_gib") * gib / rate_high - page,
        on.high("available_kv_gib") * gib / rate_low);
}

inline void profile(Diagnosis& on, Checks& all) {
    const double rest = on["profiled_available_gb"] - on["profiled_total_gb"] * (1 - on["profiled_fraction"]);
    add(on, all, "rest_memory_gb", "the rest is what is free less total x (1 - share)",
        {"profiled_available_gb", "profiled_total_gb", "profiled_fraction"}, rest - 0.0151, rest + 0.0151);
}

inline void sglang(Diagnosis& on, Checks& all) {
    if (any_of(on, {"full_tokens", "bytes_per_full_token"})) {
        full_tokens(on, all);
    }
    if (any_of(on, {"rest_memory_gb", "profiled_available_gb"})) {
        profile(on, all);
    }
    allocated(on, all);
    if (on.has("full_layer_tokens")) {
        window_pools(on, all);
    }
    const double total = on["avail_before_weights_gb"] - on["avail_after_weights_gb"];
    add(on, all, "weights_gb", "weights are what loading took", {"avail_before_weights_gb", "avail_after_weights_gb"},
        total - 0.0151, total + 0.0151);
}

inline void trtllm(Diagnosis& on, Checks& all) {
    const double tokens = on["primary_blocks"] * on["tokens_per_block"];
    if (!on.has("phases")) {
        add(on, all, "capacity_tokens", "tokens are blocks x tokens a block", {"primary_blocks", "tokens_per_block"},
            tokens, tokens);
    }
    add(on, all, "kv_gib", "the pool is at most what is free", {"available_gib"}, 0, on.high("available_gib"));
    if (on.has("blocks_per_sequence")) {  // a window keeps one block more than it fills, or is cut to its pool
        const double block = on["tokens_per_block"], length = on["max_model_len"];
        add(on, all, "blocks_per_sequence", "a sequence's blocks hold its window",
            {"window", "tokens_per_block", "max_model_len"}, std::ceil(std::min(on["window"], length) / block),
            std::ceil(length / block) + 1);
    }
}

/// Of one of several caches: K and V, where both are printed.
inline void cache_parts(Checks& all, const logs::Facts& cache) {
    const auto amount = cache.number("kv_mib"), k = cache.number("k_mib"), v = cache.number("v_mib");
    if (amount && k && v) {
        all.made.push_back({"the cache is K and V", *amount, *k + *v - 0.0151, *k + *v + 0.0151,
                            {cache.find("kv_mib")->line}});
    }
}

/// The largest cache has a cell for each token of the context, padded to 256 in each stream.
inline void cells(Diagnosis& on, Checks& all) {
    const double streams = known(on["streams"]) ? on["streams"] : 1;
    double printed = on["cells"];
    const logs::Datum* caches = on.find("caches");
    for (std::size_t i = 0; caches != nullptr && i < caches->items.size(); ++i) {
        const double own = logs::Facts{caches->items[i].value.items}.number("cells").value_or(0);
        printed = i == 0 || own > printed ? own : printed;
    }
    if (known(printed, on["n_ctx"]) && !on.has("contexts")) {
        all.made.push_back({"cells of all streams are the context", printed * streams, on["n_ctx"],
                            on["n_ctx"] + 256 * streams, {on.find("n_ctx")->line}});
    }
}

inline void llamacpp(Diagnosis& on, Checks& all) {
    cells(on, all);
    if (const logs::Datum* caches = on.find("caches"); caches != nullptr) {
        for (const logs::Field& one : caches->items) {
            cache_parts(all, logs::Facts{one.value.items});
        }
        return;
    }
    const double sum = on["k_mib"] + on["v_mib"];
    add(on, all, "kv_mib", "the cache is K and V", {"k_mib", "v_mib"}, sum - 0.0151, sum + 0.0151);
    const double buffer = on["kv_buffer_mib"];
    add(on, all, "kv_mib", "the buffer holds the cache", {"kv_buffer_mib"}, 0, buffer + 0.0051);
}

}  // namespace checks

inline Checks checks_of(const LogStart& start) {
    Diagnosis on{start.facts};
    Checks all;
    if (start.engine == "vllm") {
        checks::vllm(on, all);
    } else if (start.engine == "sglang") {
        checks::sglang(on, all);
    } else if (start.engine == "tensorrt-llm") {
        checks::trtllm(on, all);
    } else {
        checks::llamacpp(on, all);
    }
    return all;
}

}  // namespace kvcap::inline v1::report
