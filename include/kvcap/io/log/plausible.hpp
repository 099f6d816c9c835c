// SPDX-License-Identifier: MIT
// Which printed figures cannot be? Counts with more digits than a computer counts, sizes below zero, pools of nothing,
// more tokens than there are bytes. They are set apart with their line before anything is made of them.
#pragma once

#include <kvcap/io/log/start.hpp>

#include <limits>

namespace kvcap::inline v1::logs {

struct PlausibleRange {
    std::string_view fact;
    double least = 0;
    double most = 0;
};

inline constexpr double gib_limit = 1048576;             ///< a pebibyte of one rank
inline constexpr double mib_limit = 1024 * gib_limit;
inline constexpr double count_limit = 1099511627776.0;   ///< tokens, blocks, cells: 2^40
inline constexpr double byte_limit = 1024 * 1024 * mib_limit;
inline constexpr double any_amount = 1125899906842624.0; ///< of words with their own unit: 2^50
inline constexpr double below = -gib_limit;

/// Facts with a range of their own. Below zero: what engines print as a difference.
inline constexpr PlausibleRange plausible_ranges[] = {
    {"tp", 1, 4096},
    {"pp", 1, 4096},
    {"dp", 1, 65536},
    {"ep", 1, 65536},
    {"dcp", 1, 4096},
    {"max_model_len", 1, count_limit},
    {"max_num_seqs", 1, count_limit},
    {"max_num_batched_tokens", 1, count_limit},
    {"gpu_memory_utilization", 1e-6, 1},
    {"utilization_noted", 1e-6, 1},
    {"utilization_desired", 1e-6, 1},
    {"mem_fraction_static", 1e-6, 1},
    {"profiled_fraction", 1e-6, 1},
    {"default_fraction", 1e-6, 1},
    {"equivalent_utilization", -1, 2},
    {"needed_kv_gib", 0.001, gib_limit},
    {"max_seq_len", 1, count_limit},
    {"window", 1, count_limit},
    {"chunked_prefill", -1, count_limit},
    {"verbosity", -any_amount, any_amount},
    {"block_size", 1, 1073741824.0},
    {"block_size_given", 1, 1073741824.0},
    {"block_size_set", 1, 1073741824.0},
    {"block_size_metrics", 1, 1073741824.0},
    {"kernel_block_size", 1, 1073741824.0},
    {"state_block_size", 1, 1073741824.0},
    {"page_size", 1, 1073741824.0},
    {"tokens_per_block", 1, 1073741824.0},
    {"gpu_blocks", 1, count_limit},
    {"gpu_blocks_before", 1, count_limit},
    {"primary_blocks", 1, count_limit},
    {"capacity_tokens", 1, 1e15},
    {"capacity_tokens_metrics", 1, 1e15},
    {"tokens", 1, 1e15},
    {"concurrency", 0.01, 1e12},
    {"concurrency_metrics", 0.01, 1e12},
    {"auto_fit_from", 1, count_limit},
    {"auto_fit_to", 1, count_limit},
    {"estimated_max_len", 0, count_limit},
    {"page_bytes_planned", 1, byte_limit},
    {"page_bytes_actual", 1, byte_limit},
    {"n_ctx", 1, count_limit},
    {"n_ctx_seq", 1, count_limit},
    {"n_ctx_slot", 1, count_limit},
    {"n_seq_max", 1, count_limit},
    {"n_batch", 1, count_limit},
    {"n_ubatch", 1, count_limit},
    {"streams", 1, count_limit},
    {"batch", 1, count_limit},
    {"cells", 1, count_limit},
    {"layers_model", 1, 65536},
    {"layers_offload", 0, 65536},
    {"spec_tokens", 0, 65536},
    {"cell_size", 1, byte_limit},
    {"bytes_per_full_token", 1e-6, byte_limit},
    {"total_gib", 0.01, gib_limit},
    {"profiled_total_gb", 0.01, gib_limit},
    {"available_kv_gib", below, gib_limit},
    {"available_kv_gib_binding", below, gib_limit},
    {"graph_estimate_gib", below, gib_limit},
    {"rest_memory_gb", below, gib_limit},
    {"available_bytes", -byte_limit, byte_limit},
    {"profiled_tokens", -count_limit, count_limit},
    {"padding_pct", 0, 1e6},
    {"padding_waste_pct", 0, 1e6},
    {"weights", 0, any_amount},
    {"kv", 0, any_amount},
    {"compute", 0, any_amount},
    {"rs", 0, any_amount},
    {"kv_buffer", 0, any_amount},
    {"total", 0, any_amount},
    {"system_free", 0, any_amount},
    {"gpu_available", 0, any_amount},
    {"memory_available", 0, any_amount},
    {"required_full", 0, any_amount},
    {"required_partial", 0, any_amount},
    {"required_kv", 0, any_amount},
    {"weights_total", 0, any_amount},
    {"graph_full", 0, any_amount},
    {"context_memory", 0, any_amount},
};

/// By the unit at a name's end, for the others.
inline constexpr PlausibleRange plausible_units[] = {
    {"_gib", 0, gib_limit},   {"_gb", 0, gib_limit},       {"_mib", 0, mib_limit},      {"_bytes", 0, byte_limit},
    {"_tokens", 0, 1e15},     {"_blocks", 0, count_limit}, {"_slots", 0, count_limit},  {"_layers", 0, 65536},
    {"_size", 0, count_limit}};

/// Of whatever else is a number: engines count, and measure, from zero up.
inline constexpr PlausibleRange plausible_count = {"", 0, any_amount};

/// The range of a fact, of one rank or device too.
inline const PlausibleRange& plausible_range(std::string_view name) noexcept {
    for (const std::string_view end : {"_by_device", "_by_rank"}) {
        name.remove_suffix(name.ends_with(end) ? end.size() : 0);
    }
    for (const PlausibleRange& range : plausible_ranges) {
        if (range.fact == name) {
            return range;
        }
    }
    for (const PlausibleRange& unit : plausible_units) {
        if (name.ends_with(unit.fact)) {
            return unit;
        }
    }
    return plausible_count;
}

/// A number, or the number that an amount such as "18.5 GiB" begins with.
inline std::optional<double> amount_of(const Datum& datum) {
    const std::optional<double> whole = number(datum);
    if (whole || datum.kind != Datum::Kind::words) {
        return whole;
    }
    const std::size_t length = decimal_length(datum.words);
    return length == 0 ? std::nullopt : number(words(std::string_view{datum.words}.substr(0, length)));
}

/// A whole number without ".0", others as short as they are.
inline std::string limit_words(double value) {
    std::string out = std::to_string(value);
    out.erase(out.find_last_not_of('0') + 1);
    if (out.ends_with('.')) {
        out.pop_back();
    }
    return out;
}

/// Why a value cannot be; empty when it can.
inline std::string odd(const PlausibleRange& range, const Datum& datum) {
    for (const Field& one : datum.items) {
        if (std::string why = odd(range, one.value); !why.empty()) {
            return why;
        }
    }
    const std::optional<double> value = range.fact.empty() ? number(datum) : amount_of(datum);
    if (!value || (*value >= range.least && *value <= range.most)) {
        return {};
    }
    return !(*value >= range.least) ? "less than " + limit_words(range.least)
                                    : "more than " + limit_words(range.most);
}

inline void set_apart(Start& start, std::string_view name, const Datum& value, std::string why) {
    if (start.unusable.size() < 64) {
        start.unusable.push_back({std::string{name}, value, std::move(why)});
    }
}

inline void set_apart_odd(Start& start, Facts& facts) {
    std::vector<std::string> names;
    for (const Field& field : facts.fields()) {
        if (std::string why = odd(plausible_range(field.name), field.value); !why.empty()) {
            set_apart(start, field.name, field.value, std::move(why));
            names.push_back(field.name);
        }
    }
    for (const std::string& name : names) {
        facts.drop(name);
    }
}

/// Before lines are put together: what was read of the start, of its ranks, and of its pools and caches.
inline void set_apart_odd(Start& start) {
    set_apart_odd(start, start.facts);
    for (Facts& part : start.parts) {
        set_apart_odd(start, part);
    }
    std::erase_if(start.ranked, [&](const Ranked& one) {
        std::string why = odd(plausible_range(one.name), one.value);
        if (why.empty()) {
            return false;
        }
        set_apart(start, one.name, one.value, std::move(why));
        return true;
    });
}

/// Bytes that the printed amounts stand for at most; not a number when one is not there.
inline double most_bytes(const Facts& facts, std::initializer_list<std::string_view> amounts, double unit) {
    double all = 0;
    for (const std::string_view name : amounts) {
        const Datum* said = facts.find(name);
        const std::optional<double> value = said == nullptr ? std::nullopt : number(*said);
        all += value ? (*value + half_digit(*said)) * unit : std::numeric_limits<double>::quiet_NaN();
    }
    return all;
}

/// What a printed count stands for: requests of full length, and cells of every stream.
inline double counted(const Facts& facts, std::string_view count) {
    const double value = facts.number(count).value_or(0);
    return count == "concurrency" ? value * facts.number("max_model_len").value_or(1)
           : count == "cells"     ? value * facts.number("streams").value_or(1)
                                  : value;
}

/// A pool, and the counts that cannot be more than its bytes (a token takes one at least, whatever the format).
struct PoolOfTokens {
    std::initializer_list<std::string_view> amounts;
    double unit = 1;
};

/// After lines are put together: a count of tokens, blocks or cells above the bytes of its pool. Neither is used.
inline void set_apart_contradictions(Start& start, const PoolOfTokens& pool) {
    const double bytes = most_bytes(start.facts, pool.amounts, pool.unit) * start.facts.number("dcp").value_or(1);
    bool contradicted = false;
    for (const std::string_view count : {"capacity_tokens", "gpu_blocks", "primary_blocks", "cells", "concurrency"}) {
        const Datum* said = start.facts.find(count);
        const double value = counted(start.facts, count);
        const bool nothing_kept = count == "cells" && start.facts.number("kv_layers").value_or(1) == 0;
        if (said != nullptr && value > 0 && value > bytes && !nothing_kept) {
            set_apart(start, count, *said, "more than the pool has bytes");
            start.facts.drop(count);
            contradicted = true;
        }
    }
    for (const std::string_view name : pool.amounts) {
        if (const Datum* said = start.facts.find(name); contradicted && said != nullptr) {
            set_apart(start, name, *said, "fewer bytes than what it is said to hold");
            start.facts.drop(name);
        }
    }
}

inline void set_apart_contradictions(Start& start) {
    constexpr double mib = 1024.0 * 1024.0, gib = 1024 * mib;
    set_apart_contradictions(start, {{"available_kv_gib"}, gib});
    set_apart_contradictions(start, {{"kv_gib"}, gib});
    set_apart_contradictions(start, {{"kv_bytes"}, 1});
    set_apart_contradictions(start, {{"k_size_gb", "v_size_gb"}, gib});
    set_apart_contradictions(start, {{"kv_size_gb"}, gib});
    set_apart_contradictions(start, {{"kv_mib"}, mib});
}

}  // namespace kvcap::inline v1::logs
