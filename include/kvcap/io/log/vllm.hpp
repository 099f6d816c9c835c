// SPDX-License-Identifier: MIT
// What does vLLM's start say? Sentences of 0.1 to the builds of late 2026, in their old and new words (V0 and V1,
// plug-ins for other devices), and the arguments as printed.
#pragma once

#include <kvcap/io/log/start.hpp>

namespace kvcap::inline v1::logs::vllm {

/// Named otherwise in the facts; gpu_memory_utilization keeps its digits.
struct Setting {
    std::string_view argument;
    std::string_view fact;
};

inline constexpr Setting settings[] = {
    {"tensor_parallel_size", "tp"},
    {"pipeline_parallel_size", "pp"},
    {"data_parallel_size", "dp"},
    {"decode_context_parallel_size", "dcp"},
    {"dtype", "dtype"},
    {"quantization", "quantization"},
    {"kv_cache_dtype", "kv_dtype"},
    {"max_model_len", "max_model_len"},
    {"max_seq_len", "max_model_len"},
    {"max_num_seqs", "max_num_seqs"},
    {"max_num_batched_tokens", "max_num_batched_tokens"},
    {"enable_prefix_caching", "prefix_caching"},
    {"block_size", "block_size_given"},
    {"mamba_cache_mode", "state_mode"},
    {"prefix_match_unit", "prefix_match_unit"},
    {"kv_cache_memory_bytes", "manual_kv_bytes"},
    {"num_gpu_blocks_override", "gpu_blocks_given"},
    {"attention_backend", "attention_backend"},
};

/// The first name; one that merely shortens the model's own base name is no other name.
inline void read_served_name(Start& start, std::string_view value, u64 line) {
    std::string_view name = trimmed(value, "[]() ");
    name = unquoted(name.substr(0, item_length(name)));
    if (!name.empty() && name != "None") {
        start.facts.put("served_name", words(name, line));
    }
}

inline void read_speculation(Start& start, std::string_view value, u64 line) {
    if (!value.starts_with('{')) {
        return;
    }
    each_argument(value.substr(1), [&](std::string_view key, std::string_view inner, bool) {
        const std::string_view fact = key == "method"                   ? "spec_method"
                                      : key == "num_speculative_tokens" ? "spec_tokens"
                                                                        : "";
        if (Datum datum = literal(inner, line); !fact.empty() && datum.kind != Datum::Kind::none) {
            start.facts.put(fact, std::move(datum));
        }
    });
}

inline void read_setting(Start& start, std::string_view key, std::string_view value, u64 line) {
    if (key == "served_model_name") {
        return read_served_name(start, value, line);
    }
    if (key == "speculative_config") {
        return read_speculation(start, value, line);
    }
    if (key == "gpu_memory_utilization" && decimal_length(value) == value.size()) {
        return start.facts.put("gpu_memory_utilization", words(value, line));
    }
    if (key == "model_tag") {
        return start.facts.offer("model", name_of(value, line));
    }
    if (key == "model") {
        if (Datum name = name_of(value, line); name.kind != Datum::Kind::none) {
            start.facts.put("model", std::move(name));
        }
        return;
    }
    if (key == "quantization" && unquoted(value).starts_with("online_")) {
        return start.facts.put("online_quantization", literal(value, line));  // of the loader, not of the checkpoint
    }
    for (const Setting& setting : settings) {
        Datum datum = setting.argument == key ? literal(value, line) : Datum{};
        if (datum.kind == Datum::Kind::integer && datum.integer < -1 && start.unusable.size() < 64) {
            start.unusable.push_back({std::string{setting.fact}, words(value, line), "less than 0"});
        }
        if (datum.kind != Datum::Kind::none && !(datum.kind == Datum::Kind::integer && datum.integer < 0)) {
            start.facts.put(setting.fact, std::move(datum));
        }
    }
}

inline void read_arguments(Start& start, const Hit& hit, const Words& at) {
    bool cut = trimmed(at.rest).ends_with(',');
    each_argument(at.rest, [&](std::string_view key, std::string_view value, bool whole) {
        cut = cut || !whole;
        if (whole && !value.empty()) {
            read_setting(start, key, value, hit.line);
        }
    });
    if (cut) {  // arguments may follow that are not seen
        start.facts.put("cut_words", flag(true, hit.line));
    }
}

/// A generation follows from words that only one of them prints; V1's own beat V0's, which the first V1 still used.
inline void v0(Start& start, const Hit& hit, const Words&) {
    start.facts.offer("v0_words", flag(true, hit.line));
}
inline void v1(Start& start, const Hit& hit, const Words&) {
    start.facts.offer("v1_words", flag(true, hit.line));
}

inline void read_version(Start& start, std::string_view text, u64 line) {
    if (!text.empty() && (digit(text[0]) || text == "dev")) {
        start.facts.put("version", words(text, line));
    }
}

/// "Initializing a V1 LLM engine (v0.10.0) with config: model='...', ..."
inline void read_initializing(Start& start, const Hit& hit, const Words& at) {
    const std::string_view head = hit.text.substr(0, hit.text.find(" with config"));
    head.find("V1") != head.npos ? v1(start, hit, at) : v0(start, hit, at);
    if (const auto version = seek(head, "(v{w})")) {
        read_version(start, version->at[0], hit.line);
    }
    if (const auto config = seek(hit.text, "with config:")) {
        read_arguments(start, hit, *config);
    }
}

/// The banner's right part, behind block letters.
inline void read_banner(Start& start, const Hit& hit, const Words& at) {
    const bool block_letters =
        hit.front.find("\xE2\x96") != hit.front.npos || hit.front.find("INFO") != hit.front.npos;
    if (!block_letters || at.size == 0) {
        return;
    }
    if (hit.text.substr(2, 7) == "version") {
        read_version(start, at.at[0], hit.line);
    } else {
        start.facts.put("model", words(at.at[0], hit.line));
    }
}

/// One line per process; in older builds one per rank, by one process in one second: then the least is the
/// engine's.
inline void read_capacity(Start& start, const Hit& hit, const Words& at) {
    start.results = true;
    start.failures.clear();
    v1(start, hit, at);
    const Datum tokens = datum_of(at.at[0], 'n', hit.line);
    const Ranked* before = start.said_in_the_same_second("capacity_tokens", hit);
    if (before == nullptr || tokens.integer < before->value.integer) {
        start.put_ranked("capacity_tokens", hit, tokens);
    }
}

/// As the tokens: of lines in one second by one process the least.
inline void read_concurrency(Start& start, const Hit& hit, const Words& at) {
    const Datum requests = datum_of(at.at[1], 'd', hit.line);
    const Ranked* before = start.said_in_the_same_second("concurrency", hit);
    if (before == nullptr || number(requests).value_or(0) < number(before->value).value_or(0)) {
        start.put_ranked("concurrency", hit, requests);
    }
}

inline void read_blocks(Start& start, const Hit& hit, const Words& at) {
    start.results = true;
    if (const auto cpu = seek(hit.first_line(), "# CPU blocks: {n}")) {
        start.facts.put("cpu_blocks", datum_of(cpu->at[0], 'n', hit.line));
        v0(start, hit, at);
    } else if (hit.front.ends_with("# ")) {
        v1(start, hit, at);
    }
}

inline void read_available(Start& start, const Hit& hit, const Words& at) {
    start.results = true;
    v1(start, hit, at);
}

inline void read_override(Start& start, const Hit& hit, const Words& at) {
    v1(start, hit, at);
    if (hit.origin.file.starts_with("tpu") || start.facts.has("page_bytes_actual")) {
        start.facts.put("device", words("tpu", hit.line));
    }
}

inline void read_page_sizes(Start& start, const Hit& hit, const Words& at) {
    v1(start, hit, at);
    if (hit.origin.file.starts_with("tpu")) {
        start.facts.put("device", words("tpu", hit.line));
    }
}

inline void read_manual(Start& start, const Hit& hit, const Words& at) {
    read_available(start, hit, at);
    start.facts.put("manual_kv_gib", datum_of(at.at[1], 'd', hit.line));
}

inline void read_state_caching(Start& start, const Hit& hit, const Words& at) {
    v1(start, hit, at);
    start.facts.offer("prefix_caching", flag(true, hit.line));
}

inline void read_hybrid_off(Start& start, const Hit& hit, const Words& at) {
    v1(start, hit, at);
    start.facts.put("hybrid_manager", words("disabled", hit.line));
}

/// "Desired GPU memory utilization is (0.9, 71.33 GiB). Actual usage is ..."
inline void read_free_memory(Start& start, const Hit& hit, const Words& at) {
    v1(start, hit, at);
    const auto take = [&](std::string_view pattern, std::string_view key) {
        if (const auto found = seek(hit.text, pattern)) {
            start.facts.put(key, datum_of(found->at[0], found->kind[0], hit.line));
        }
    };
    take("Actual usage is {d} GiB for weight", "weights_used_gib");
    take("Actual usage is {d} GiB for consumed memory", "consumed_gib");
    take("{d} GiB for peak activation", "peak_activation_gib");
    take("{d} GiB for non-torch", "non_torch_gib");
    take("{d} GiB for CUDAGraph", "graph_actual_gib");
    take("with `--kv-cache-memory={n}`", "suggested_kv_bytes");
    take("with `--kv-cache-memory-bytes={n}`", "suggested_kv_bytes");
    take("or `--kv-cache-memory={n}`", "max_kv_bytes");
    take("or `--kv-cache-memory-bytes={n}`", "max_kv_bytes");
    take("with --kv-cache-memory={n} to fit", "suggested_kv_bytes");
    take("or --kv-cache-memory={n} to fully", "max_kv_bytes");
    take("kv cache memory in use is {d} GiB", "kv_in_use_gib");
    take("kv cache memory in use is {n} bytes", "kv_in_use_bytes");
}

inline void read_ray(Start& start, const Hit& hit, const Words&) {
    start.facts.offer("executor", words("ray", hit.line));
}
inline void read_worker(Start& start, const Hit& hit, const Words& at) {
    const std::string_view tag = hit.text.substr(0, hit.text.find(')'));
    start.note(ranks_of(tag));
    v1(start, hit, at);
}
inline void read_v0_worker(Start& start, const Hit& hit, const Words& at) {
    start.note_pid(at.at[0]);
    v0(start, hit, at);
}

}  // namespace kvcap::inline v1::logs::vllm
