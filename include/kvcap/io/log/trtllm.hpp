// SPDX-License-Identifier: MIT
// What does TensorRT-LLM's start say? Both backends; two phases print the same line, the first for an estimate.
#pragma once

#include <kvcap/io/log/start.hpp>

namespace kvcap::inline v1::logs::trtllm {

/// "[... RANK 3]" in front or in the sentence's own bracket.
inline void note_rank(Start& start, const Hit& hit) {
    if (const auto rank =
            seek(hit.front.substr(hit.front.size() - std::min<std::size_t>(hit.front.size(), 96)), "RANK {n}")) {
        start.facts.put("rank", datum_of(rank->at[0], 'n', hit.line));
    }
}

/// "Max KV cache blocks per sequence: 65 [window size=2049], tokens per block=32, primary blocks=..., max sequence
/// length=..."
inline void read_phase(Start& start, const Hit& hit, const Words& at) {
    start.results = true;
    note_rank(start, hit);
    Facts phase;
    phase.put("blocks_per_sequence", datum_of(at.at[0], 'n', hit.line));
    const auto take = [&](std::string_view pattern, std::string_view key) {
        if (const auto found = seek(hit.text.substr(0, 512), pattern)) {
            phase.put(key, datum_of(found->at[0], 'n', hit.line));
        }
    };
    take("window size={n}", "window");
    take("tokens per block={n}", "tokens_per_block");
    take("primary blocks={n}", "primary_blocks");
    take("secondary blocks={n}", "secondary_blocks");
    take("max sequence length={n}", "max_seq_len");
    if (start.parts.size() < 64) {
        start.parts.push_back(std::move(phase));
    }
}

inline void put_amount(Start& start, const Hit& hit, const Words& at, std::string_view key, std::string_view unit) {
    start.facts.put(key, words(std::string{at.at[0]} + ' ' + std::string{unit}, hit.line));
}
inline void read_context_memory(Start& start, const Hit& hit, const Words& at) {
    put_amount(start, hit, at, "context_memory", "MiB");
}
inline void read_runtime(Start& start, const Hit& hit, const Words& at) {
    put_amount(start, hit, at, "runtime_buffers", "MB");
}
inline void read_decoder(Start& start, const Hit& hit, const Words& at) {
    put_amount(start, hit, at, "decoder", "MB");
}

inline void read_pool(Start& start, const Hit& hit, const Words&) {
    start.results = true;
    note_rank(start, hit);
}
/// "Using 12345 tokens in paged KV cache.": the number stands in front.
inline void read_oldest_pool(Start& start, const Hit& hit, const Words& at) {
    if (const auto tokens =
            seek(hit.front.substr(hit.front.size() - std::min<std::size_t>(hit.front.size(), 32)), "Using {n}")) {
        start.facts.put("capacity_tokens", datum_of(tokens->at[0], 'n', hit.line));
        read_pool(start, hit, at);
    }
}
inline void read_pytorch(Start& start, const Hit& hit, const Words&) {
    start.facts.put("backend", words("pytorch", hit.line));
}
inline void read_autodeploy(Start& start, const Hit& hit, const Words&) {
    start.facts.put("backend", words("autodeploy", hit.line));
}
inline void read_cut(Start& start, const Hit& hit, const Words&) {
    start.fail("context_cut_to_pool", hit.line);
}
inline void read_too_long(Start& start, const Hit& hit, const Words&) {
    start.fail("max_len_exceeds_kv", hit.line);
}
inline void read_reuse_off(Start& start, const Hit& hit, const Words&) {
    start.facts.put("prefix_caching", flag(false, hit.line));
}

inline constexpr Rule rules[] = {
    {"TensorRT-LLM version: {w}", "version", Keep::begin},
    {"TensorRT LLM version: {w}", "version", Keep::begin},
    {"Using LLM with PyTorch backend", {}, Keep::begin, read_pytorch},
    {" tokens in paged KV cache.", {}, Keep::last, read_oldest_pool},
    {"Max tokens in paged KV cache: {n}. Allocating {n} bytes", "capacity_tokens,kv_bytes", Keep::last, read_pool},
    {"[MemUsageChange] Allocated {d} GiB for max tokens in paged KV cache ({n})", "kv_gib,capacity_tokens",
     Keep::last, read_pool},
    {"[MemUsageChange] Allocated {d} GB for max tokens in paged KV cache ({n})", "kv_gb,capacity_tokens", Keep::last,
     read_pool},
    {"[MemUsageChange] Allocated {d} MiB for execution context memory", {}, Keep::last, read_context_memory},
    {"[MemUsageChange] Allocated {d} MB GPU memory for runtime buffers", {}, Keep::last, read_runtime},
    {"[MemUsageChange] Allocated {d} MB GPU memory for decoder", {}, Keep::last, read_decoder},
    {"[MemUsageChange] TensorRT-managed allocation in IExecutionContext creation{*}now: CPU {n}, GPU {n} (MiB)",
     "-,engine_mib", Keep::first},
    {"Loaded engine size: {n} MiB", "engine_mib"},
    {"Number of tokens per block: {n}", "tokens_per_block"},
    {"Memory usage when calculating max tokens in paged kv cache: total: {d} GiB, available: {d} GiB",
     "total_gib,available_gib"},
    {"Number of blocks in KV cache primary pool: {n}", "primary_blocks", Keep::last, read_pool},
    {"Number of blocks in KV cache secondary pool: {n}", "secondary_blocks"},
    {"Max KV cache pages per sequence: {n}", "pages_per_sequence"},
    {"Max KV cache blocks per sequence: {n}", {}, Keep::last, read_phase},
    {"TRTGptModel maxNumSequences: {n}", "max_num_sequences"},
    {"TRTGptModel maxBatchSize: {n}", "max_batch_size"},
    {"TRTGptModel maxSequenceLen: {n}", "max_model_len"},
    {"TRTGptModel maxNumTokens: {n}", "max_num_tokens"},
    {"TRTGptModel maxInputLen: {n}", "max_input_len"},
    {"TRTGptModel mMaxAttentionWindowSize: ({n}) * {n}", "window,window_layers"},
    {"max_seq_len={n}, max_num_requests={n}, max_num_tokens={n}", "max_model_len,max_num_requests,max_num_tokens"},
    {"self.max_seq_len={n}, self.max_batch_size={n}, self.page_size={n}",
     "max_model_len,max_batch_size,tokens_per_block", Keep::last, read_autodeploy},
    {"self.num_pages={n}", "primary_blocks"},
    {"Capacity Scheduler Policy: {w}", "scheduler"},
    {"Context Chunking Scheduler Policy: {w}", "chunking"},
    {"Estimated max memory in KV cache : {d} GiB", "estimated_kv_gib", Keep::last, read_pytorch},
    {"KV cache block reuse is disabled", {}, Keep::last, read_reuse_off},
    {"kv_cache_free_gpu_mem_fraction is not specified, will use default value of {d}", "default_fraction"},
    {"maxAttentionWindow and maxSequenceLen are too large{*}reduced to {n}", "cut_to", Keep::last, read_cut},
    {"maxTokensInPagedKvCache must be large enough", {}, Keep::last, read_too_long},
    {"Impossible to fit any sequence in kvCache", {}, Keep::last, read_too_long},
};
static_assert(have_stems(rules));

/// Windows of one phase print a line each: from the last line back, those of one length and of unlike windows.
inline std::vector<const Facts*> last_phase(const std::vector<Facts>& parts) {
    std::vector<const Facts*> lines;
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
        const auto repeats = [&](const Facts* line) {
            return line->number("window") == part->number("window") ||
                   line->number("max_seq_len") != part->number("max_seq_len");
        };
        if (!lines.empty() && (!part->has("window") || std::any_of(lines.begin(), lines.end(), repeats))) {
            break;
        }
        lines.insert(lines.begin(), &*part);
    }
    return lines;
}

/// A pool for each window; the engine's own count of blocks is their sum. One line has it of old.
inline void settle_windows(Start& start, const std::vector<const Facts*>& windows) {
    Datum pools = list();
    std::int64_t blocks = 0;
    bool counted = true;
    for (const Facts* window : windows) {
        Datum row = record();
        row.items = window->fields();
        pools.items.push_back({{}, std::move(row)});
        const Datum* primary = window->find("primary_blocks");
        counted = counted && primary != nullptr && primary->kind == Datum::Kind::integer;
        blocks += counted ? primary->integer : 0;
    }
    start.facts.put("pools", std::move(pools));
    for (const char* key : {"primary_blocks", "secondary_blocks"}) {
        start.facts.drop(key);
    }
    if (counted) {
        start.facts.put("primary_blocks", integer(blocks, windows.back()->find("primary_blocks")->line));
    }
}

inline Datum row(const Facts& phase, std::string_view kind) {
    Datum out = record();
    out.items.push_back({"kind", words(kind)});
    for (const Field& field : phase.fields()) {
        out.items.push_back(field);
    }
    return out;
}

/// A shorter sequence in the last phase than in the first is a silent cut.
inline void settle_phases(Start& start, const Facts& first, const Facts& last) {
    const auto before = first.number("max_seq_len");
    const auto after = last.number("max_seq_len");
    if (before && after && *after != *before) {
        Datum phases = list();
        phases.items.push_back({{}, row(first, "estimation")});
        phases.items.push_back({{}, row(last, "final")});
        start.facts.put("phases", std::move(phases));
    }
    if (before && after && *after < *before) {
        start.fail("context_cut_to_pool", last.find("max_seq_len")->line);
        start.facts.offer("capacity_tokens", *last.find("max_seq_len"));
        return;
    }
    for (const auto& [from, to] :
         {std::pair{"max_seq_len", "max_model_len"}, std::pair{"window", "window"},
          std::pair{"primary_blocks", "primary_blocks"}, std::pair{"secondary_blocks", "secondary_blocks"},
          std::pair{"blocks_per_sequence", "blocks_per_sequence"}}) {
        if (const Datum* value = last.find(from)) {
            start.facts.put(to, *value);
        }
    }
}

inline void settle(Start& start) {
    if (!start.parts.empty()) {
        settle_phases(start, start.parts.front(), start.parts.back());
        if (const Datum* block = start.parts.back().find("tokens_per_block")) {
            start.facts.put("tokens_per_block", *block);
        }
        if (const std::vector<const Facts*> windows = last_phase(start.parts); windows.size() > 1) {
            settle_windows(start, windows);
        }
    }
    if (!start.failures.empty()) {
        start.facts.put("error_category", words(start.failures.back().category, start.failures.back().line));
    }
}

}  // namespace kvcap::inline v1::logs::trtllm
