// SPDX-License-Identifier: MIT
// What does SGLang's start say? Its GB are GiB (keys ..._gb keep the printed word). Ranks stand in the bracket in
// front.
#pragma once

#include <kvcap/io/log/start.hpp>

namespace kvcap::inline v1::logs::sglang {

inline void read_argument(Start& start, std::string_view key, std::string_view value, u64 line) {
    struct Named {
        std::string_view argument, fact;
    };
    constexpr Named named[] = {{"tp_size", "tp"},
                               {"pp_size", "pp"},
                               {"dp_size", "dp"},
                               {"kv_cache_dtype", "kv_dtype"},
                               {"quantization", "quantization"},
                               {"page_size", "page_size"},
                               {"context_length", "max_model_len"},
                               {"max_total_tokens", "requested_max_total_tokens"},
                               {"max_running_requests", "requested_running"},
                               {"max_mamba_cache_size", "requested_state_slots"},
                               {"mamba_full_memory_ratio", "state_ratio"},
                               {"swa_full_tokens_ratio", "swa_ratio"},
                               {"chunked_prefill_size", "chunked_prefill"},
                               {"speculative_algorithm", "spec_method"},
                               {"attention_backend", "attention_backend"}};
    const Datum datum = literal(value, line);
    if (key == "mem_fraction_static" && datum.kind != Datum::Kind::none) {
        start.facts.put("mem_fraction_static", words(unquoted(value), line));
    } else if (key == "disable_radix_cache" && datum.kind == Datum::Kind::flag) {
        start.facts.put("prefix_caching", flag(datum.integer == 0, line));
    } else if (key == "enable_dp_attention" && datum.kind == Datum::Kind::flag && datum.integer != 0) {
        start.facts.put("dp_attention", datum);
    } else if (key == "ep_size" && datum.integer > 1) {
        start.facts.put("ep", datum);
    } else if (const Datum name = name_of(value, line); name.kind == Datum::Kind::none) {
        return;
    } else if (key == "model_path") {
        start.facts.put("model", name);
    } else if (key == "served_model_name" && name.words != start.facts.text("model")) {
        start.facts.put("served_name", name);
    }
    for (const Named& one : named) {
        if (one.argument == key && datum.kind != Datum::Kind::none) {
            start.facts.put(one.fact, datum);
        }
    }
}

inline void read_arguments(Start& start, const Hit& hit, const Words& at) {
    each_argument(at.rest, [&](std::string_view key, std::string_view value, bool whole) {
        if (whole && !value.empty()) {
            read_argument(start, key, value, hit.line);
        }
    });
}

inline void put_found(Start& start, const Hit& hit, std::string_view pattern, std::string_view key,
                      Keep keep = Keep::last) {
    if (const auto found = seek(hit.first_line(), pattern)) {
        keep_value(start, hit, keep, key, datum_of(found->at[0], found->kind[0], hit.line));
    }
}

inline void read_weights(Start& start, const Hit& hit, const Words&) {
    start.results = true;
    put_found(start, hit, " type={w}", "arch");
    put_found(start, hit, " dtype={w}", "dtype");
    put_found(start, hit, " quant={w}", "weights_quant");
    put_found(start, hit, " avail mem={d} GB", "avail_after_weights_gb", Keep::lowest);
    put_found(start, hit, " mem usage={d} GB", "weights_gb", Keep::lowest);
}

/// One pool of one rank. The bracket behind "allocated" may hold a label.
inline void read_pool(Start& start, const Hit& hit, const Words&) {
    start.results = true;
    start.failures.clear();
    put_found(start, hit, "dtype: {w}", "kv_dtype");
    Facts pool;
    pool.put("rank", words(hit.origin.ranks.any() ? hit.origin.ranks.name() : "unnamed"));
    pool.put("order", integer(std::max(hit.origin.ranks.tp, 0)));
    const auto take = [&](std::string_view pattern, std::string_view key) {
        if (const auto found = seek(hit.first_line(), pattern)) {
            pool.put(key, datum_of(found->at[0], found->kind[0], hit.line));
        }
    };
    take("#tokens: {n}", "tokens");
    take(" K size: {d} GB", "k_size_gb");
    take(" V size: {d} GB", "v_size_gb");
    take(" KV size: {d} GB", "kv_size_gb");
    if (start.parts.size() < 4096) {
        start.parts.push_back(std::move(pool));
    }
}

inline void read_state(Start& start, const Hit& hit, const Words&) {
    start.results = true;
    put_found(start, hit, "intermediate_ssm_state_cache size: {d} GB", "intermediate_ssm_gb", Keep::lowest);
    put_found(start, hit, "intermediate_conv_window_cache size: {d} GB", "intermediate_conv_gb", Keep::lowest);
}

inline void read_calculation(Start& start, const Hit& hit, const Words&) {
    start.results = true;
    put_found(start, hit, "bytes_per_full_token={d}", "bytes_per_full_token", Keep::lowest);
    put_found(start, hit, "available_bytes={d} GB", "available_kv_gib", Keep::by_rank);
    put_found(start, hit, ", full_token={n}", "full_tokens", Keep::lowest);
    put_found(start, hit, "c128_state_fixed={d} GB", "state_fixed_gb", Keep::lowest);
}

inline void read_totals(Start& start, const Hit& hit, const Words&) {
    start.results = true;
    start.failures.clear();
    put_found(start, hit, "max_total_num_tokens={n}", "max_total_num_tokens", Keep::lowest);
    put_found(start, hit, "chunked_prefill_size={n}", "chunked_prefill");
    put_found(start, hit, "max_running_requests={n}", "max_running_requests");
    put_found(start, hit, "context_len={n}", "max_model_len");
    put_found(start, hit, "available_gpu_mem={d} GB", "available_gpu_mem_gb", Keep::lowest);
}

inline void read_profiled(Start& start, const Hit& hit, const Words& at) {
    start.results = true;
    if (integer_of(at.at[1]).value_or(0) <= 0) {
        start.fail("no_memory_for_kv", hit.line);
    }
}

inline void read_no_memory(Start& start, const Hit& hit, const Words&) {
    start.fail("no_memory_for_kv", hit.line);
}
inline void read_echo(Start& start, const Hit& hit, const Words&) {
    start.fail("", hit.line);
}

inline void read_graph(Start& start, const Hit& hit, const Words&) {
    start.results = true;
    put_found(start, hit, "mem usage={d} GB", "graph_gb", Keep::lowest);
}

inline void read_tree(Start& start, const Hit& hit, const Words&) {
    put_found(start, hit, "impl={w}", "tree_cache");
    for (const std::string_view key : {"hybrid_swa", "hybrid_ssm", "hierarchical"}) {
        if (const auto found = seek(hit.first_line(), std::string{key} + "={w}")) {
            start.facts.put(key, literal(found->at[0], hit.line));
        }
    }
}

/// "vector [11, 11, 10]": as many ranks hold a context together.
inline void read_uneven(Start& start, const Hit& hit, const Words&) {
    start.results = true;
    put_found(start, hit, "projected {n}", "projected_tokens");
    put_found(start, hit, "EFFECTIVE max_total_num_tokens {n}", "effective_tokens");
    put_found(start, hit, "user limit {n}", "user_limit_tokens");
    put_found(start, hit, "hybrid mamba cap {n}", "state_cap_tokens");
    if (const auto vector = seek(hit.first_line(), "vector [")) {
        const std::string_view inside = vector->rest.substr(0, vector->rest.find(']'));
        start.facts.put("dcp", integer(1 + std::count(inside.begin(), inside.end(), ','), hit.line));
    }
}

inline constexpr Rule rules[] = {
    {"server_args=ServerArgs(", {}, Keep::begin, read_arguments},
    {"server_args={", {}, Keep::begin, read_arguments},
    {"Load weight begin. avail mem={d} GB", "avail_before_weights_gb", Keep::lowest},
    {"Load weight end.", {}, Keep::last, read_weights},
    {"Using KV cache dtype: {w}", "kv_dtype"},
    {"Setting KV cache dtype to {w} for", "kv_dtype"},
    {"Setting page_size to {n}", "page_size"},
    {"Setting swa_full_tokens_ratio to {d} for {w}", "swa_ratio,arch"},
    {"KV Cache is allocated", {}, Keep::last, read_pool},
    {"Mamba Cache is allocated. max_mamba_cache_size: {n}, conv_state size: {d} GB, ssm_state size: {d} GB",
     "state_slots,conv_state_gb,ssm_state_gb", Keep::lowest, read_state},
    {"Use sliding window memory pool. full_layer_tokens={n}, swa_layer_tokens={n}",
     "full_layer_tokens,swa_layer_tokens"},
    {"Use Sliding window memory pool. full_layer_tokens={n}, swa_layer_tokens={n}",
     "full_layer_tokens,swa_layer_tokens"},
    {"SWAKVPool mem usage: {d} GB, swa size: {n}, full size: {n}", "swa_pool_gb,swa_size,full_size", Keep::lowest},
    {" memory calculation: ", {}, Keep::last, read_calculation},
    {"Memory profiling: available_gpu_memory={d} GB, total_gpu_memory={d} GB, mem_fraction_static={d}, "
     "rest_memory={d} GB",
     "profiled_available_gb,profiled_total_gb,profiled_fraction,rest_memory_gb", Keep::lowest},
    {"Memory pool end. avail mem={d} GB", "avail_after_pool_gb", Keep::lowest},
    {"Capture cuda graph begin", {}},
    {"Capture cuda graph end", {}, Keep::last, read_graph},
    {"Capture target decode CUDA graph end", {}, Keep::last, read_graph},
    {"max_total_num_tokens={n}, chunked_prefill_size", {}, Keep::last, read_totals},
    {"max_total_num_tokens={n}, max_running_requests", {}, Keep::last, read_totals},
    {"max_total_tokens={n} is larger than the profiled value {n}", "requested_max_total_tokens,profiled_tokens",
     Keep::lowest, read_profiled},
    {"Tree cache initialized: ", {}, Keep::last, read_tree},
    {"Allocating {d} GB host memory for hierarchical KV cache", "host_gb", Keep::lowest},
    {"KV pool sizing: available_bytes={n} ({d} GiB), cell_size={n}, page_size={n} -> max_total_num_tokens={n}",
     "available_bytes,-,cell_size,page_size,profiled_tokens", Keep::by_rank},
    {"Uneven-DCP token sizing: ", {}, Keep::last, read_uneven},
    {"Not enough memory. Please try to increase --mem-fraction-static", {}, Keep::last, read_no_memory},
    {"Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static={d}", "mem_fraction_static",
     Keep::last, read_no_memory},
    {"Scheduler hit an exception", {}, Keep::last, read_echo},
};
static_assert(have_stems(rules));

}  // namespace kvcap::inline v1::logs::sglang
