// SPDX-License-Identifier: MIT
// Which full blocks of a request does vLLM register for later hits? Windows and states keep only what a
// boundary on the retention interval, or one of the request's own boundaries (replay, junction), will ask
// for. Source: v1/core/single_type_kv_cache_manager.py, `prefix_cache_retention_interval` (2026-08-17).
#pragma once

#include <kvcap/engine/vllm/spec.hpp>

namespace kvcap::inline v1::vllm {

/// interval: tokens; 0 keeps only the request's own boundaries; dense keeps what every scheduler block asks
/// for.
struct RetentionRule {
    SpecKind kind = SpecKind::window;
    u64 block = 16;
    u64 window = 0;
    bool drafts = false;
    u64 alignment = 16;  ///< scheduler block
    bool dense = true;
    u64 interval = 0;
    const u64* boundaries = nullptr;  ///< tokens
    u32 count = 0;
};

/// Blocks a window must find before a boundary; one more for a drafter's look-ahead.
constexpr u64 window_need(const RetentionRule& rule) noexcept {
    return ceil_div(larger(rule.window, 1) - 1, rule.block) + (rule.drafts ? 1 : 0);
}

/// Whether the rule keeps every block, so that no mask is made.
constexpr bool registers_all(const RetentionRule& rule) noexcept {
    if (is_full(rule.kind) || rule.kind == SpecKind::chunked ||
        (rule.kind == SpecKind::state && rule.dense)) {
        return true;
    }
    const u64 segment = rule.dense ? rule.alignment : rule.interval;
    if (segment == 0) {
        return false;
    }
    const u64 period = segment / rule.block;
    return rule.kind == SpecKind::state ? period <= 1 : window_need(rule) >= period;
}

/// Whether block `i` is kept for boundary `tokens` of the request.
constexpr bool registers_for(const RetentionRule& rule, u64 i, u64 tokens) noexcept {
    const u64 end = tokens / rule.alignment * rule.alignment / rule.block;
    if (rule.kind == SpecKind::state) {
        return i + 1 == end;
    }
    const u64 stop = end + (rule.drafts ? 1 : 0);
    return i < stop && i + window_need(rule) >= stop;
}

/// pre: block > 0, alignment > 0
constexpr bool registers(const RetentionRule& rule, u64 i) noexcept {
    if (registers_all(rule)) {
        return true;
    }
    const u64 segment = rule.dense ? rule.alignment : rule.interval;
    if (const u64 period = segment / rule.block; period != 0) {
        const u64 shift = rule.kind != SpecKind::state && rule.drafts ? 1 : 0;
        const bool on = rule.kind == SpecKind::state
                            ? (i + 1) % period == 0
                            : i >= shift && (i - shift) % period >= period - window_need(rule);
        if (on) {
            return true;
        }
    }
    for (u32 b = 0; b < rule.count && !rule.dense; ++b) {
        if (registers_for(rule, i, rule.boundaries[b])) {
            return true;
        }
    }
    return false;
}

}  // namespace kvcap::inline v1::vllm
