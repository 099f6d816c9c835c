// SPDX-License-Identifier: MIT
// What do SGLang's gathered lines amount to? Pools of the fullest rank, window and full pools, the draft's; sizes
// from tags; why a start failed.
#pragma once

#include <kvcap/io/log/sglang.hpp>

namespace kvcap::inline v1::logs::sglang {

inline void put_pool_sizes(Facts& to, const Facts& pool) {
    for (const char* key : {"k_size_gb", "v_size_gb", "kv_size_gb"}) {
        if (const Datum* size = pool.find(key)) {
            to.put(key, *size);
        }
    }
}

/// The pools of the rank that printed most of them, the lowest of those.
inline std::vector<const Facts*> fullest_rank(const Start& start) {
    std::vector<const Facts*> best;
    for (const Facts& first : start.parts) {
        std::vector<const Facts*> same;
        for (const Facts& other : start.parts) {
            if (other.text("rank") == first.text("rank")) {
                same.push_back(&other);
            }
        }
        const bool lower = best.empty() || first.find("order")->integer < best[0]->find("order")->integer;
        if (same.size() > best.size() || (same.size() == best.size() && lower)) {
            best = std::move(same);
        }
        if (start.parts.size() > 256) {
            break;
        }
    }
    return best;
}

/// Window pools are allocated before the full ones; of one pool alone, or in another order, its tokens say which it is.
inline std::string_view pool_kind(const Start& start, const std::vector<const Facts*>& pools, std::size_t at) {
    const auto tokens = pools[at]->number("tokens"), window = start.facts.number("swa_layer_tokens"),
               full = start.facts.number("full_layer_tokens");
    const bool said = tokens && window && full && *window != *full;
    if (said && (*tokens == *window || *tokens == *full)) {
        return *tokens == *window ? "window" : "full";
    }
    return at == 0 ? "window" : "full";
}

inline void settle_window_pools(Start& start, const std::vector<const Facts*>& pools) {
    Datum all = list();
    for (std::size_t i = 0; i < pools.size(); ++i) {
        Facts one;
        one.put("kind", words(pool_kind(start, pools, i)));
        if (const Datum* tokens = pools[i]->find("tokens")) {
            one.put("tokens", *tokens);
        }
        put_pool_sizes(one, *pools[i]);
        Datum row = record();
        row.items = one.fields();
        all.items.push_back({{}, std::move(row)});
    }
    start.facts.put("pools", std::move(all));
}

inline void settle_pools(Start& start) {
    const std::vector<const Facts*> pools = fullest_rank(start);
    if (pools.empty()) {
        return;
    }
    if (start.has_ranked("swa_pool_gb") || start.facts.has("swa_layer_tokens")) {
        return settle_window_pools(start, pools);
    }
    put_pool_sizes(start.facts, *pools[0]);
    if (const Datum* tokens = pools[0]->find("tokens"); tokens != nullptr && pools.size() == 1) {
        start.facts.offer("capacity_tokens", *tokens);
    }
    if (pools.size() > 1 && pools[1]->has("tokens")) {
        start.facts.put("draft_pool_tokens", *pools[1]->find("tokens"));
        double draft = 0;
        for (const char* key : {"k_size_gb", "v_size_gb", "kv_size_gb"}) {
            draft += pools[1]->number(key).value_or(0);
        }
        start.facts.put("draft_pool_mgb", integer(static_cast<std::int64_t>(draft * 1000 + 0.5)));
    }
    Datum by_rank = record();
    for (const Facts& pool : start.parts) {
        const auto same = [&](const Field& seen) { return seen.name == pool.text("rank"); };
        if (pool.has("tokens") && std::none_of(by_rank.items.begin(), by_rank.items.end(), same)) {
            by_rank.items.push_back({pool.text("rank"), *pool.find("tokens")});
        }
    }
    start.facts.put("allocated_tokens_by_rank", std::move(by_rank));
}

/// Attention data parallelism tags both coordinates; ranks in powers of two are then counted from the highest.
inline void settle_sizes(Start& start) {
    const RankCount tp = count_ranks(start, &Ranks::tp);
    const RankCount dp = count_ranks(start, &Ranks::dp);
    const bool doubled = tp.highest == dp.highest && tp.highest >= 1 && ((tp.highest + 1) & tp.highest) == 0;
    if (doubled) {
        start.facts.offer("tp", integer(tp.highest + 1));
        start.facts.offer("dp", integer(dp.highest + 1));
    }
    settle_size(start, "tp", &Ranks::tp);
    settle_size(start, "dp", &Ranks::dp);
    settle_size(start, "pp", &Ranks::pp);
}

inline void settle(Start& start) {
    for (const char* name : {"weights_gb",
                             "avail_before_weights_gb",
                             "avail_after_weights_gb",
                             "state_slots",
                             "conv_state_gb",
                             "ssm_state_gb",
                             "intermediate_ssm_gb",
                             "intermediate_conv_gb",
                             "swa_pool_gb",
                             "swa_size",
                             "full_size",
                             "bytes_per_full_token",
                             "full_tokens",
                             "state_fixed_gb",
                             "profiled_available_gb",
                             "profiled_total_gb",
                             "profiled_fraction",
                             "rest_memory_gb",
                             "avail_after_pool_gb",
                             "graph_gb",
                             "available_gpu_mem_gb",
                             "requested_max_total_tokens",
                             "host_gb",
                             "max_total_num_tokens"}) {
        settle_ranks(start, name, std::string{name} + "_by_rank", true);
    }
    for (const char* name : {"available_kv_gib", "available_bytes", "profiled_tokens", "cell_size", "page_size"}) {
        settle_ranks(start, name, std::string{name} + "_by_rank", false);
    }
    for (const char* source : {"effective_tokens", "max_total_num_tokens", "full_layer_tokens"}) {
        if (const Datum* tokens = start.facts.find(source)) {
            start.facts.offer("capacity_tokens", *tokens);
        }
    }
    settle_pools(start);
    settle_sizes(start);
    if (const Datum* fraction = start.facts.find("profiled_fraction")) {
        start.facts.offer("mem_fraction_static", *fraction);
    }
    if (start.facts.text("dtype") == start.facts.text("kv_dtype")) {
        start.facts.drop("dtype");  // the cache's own line says it
    }
    if (!start.failures.empty()) {
        const bool known = !start.failures.back().category.empty();
        const auto named = std::find_if(start.failures.rbegin(), start.failures.rend(),
                                        [](const Failure& f) { return !f.category.empty(); });
        const bool pool = start.facts.has("capacity_tokens") || !start.parts.empty();
        const std::string category = named != start.failures.rend() ? named->category
                                     : pool                         ? "failed_after_kv"
                                                                    : "unknown";
        start.facts.put("error_category",
                        words(known ? start.failures.back().category : category, start.failures.back().line));
    }
}

}  // namespace kvcap::inline v1::logs::sglang
