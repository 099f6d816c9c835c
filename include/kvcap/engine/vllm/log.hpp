// SPDX-License-Identifier: MIT
// What does vLLM print about its cache? "GPU KV cache size: N tokens", "Maximum concurrency for L tokens per
// request: X.XXx", padding and block size lines; with the arithmetic (double, truncation) of its version.
// Source: v1/core/kv_cache_utils.py `get_kv_cache_capacity`, earlier `_report_kv_cache_config`.
#pragma once

#include <bit>
#include <kvcap/engine/python_arithmetic.hpp>
#include <kvcap/engine/vllm/pool.hpp>

namespace kvcap::inline v1::vllm {

/// concurrency: as printed before rounding. padded_state, state: bytes of a state page with and without
/// padding; equal when no line is printed. Padding of groups is in GroupKind::padding.
struct Log {
    u64 tokens = 0;
    u64 max_len = 0;
    double concurrency = 0.0;
    u64 request_blocks = 0;
    u64 block = 0;
    u64 padded_state = 0;
    u64 state = 0;
    friend constexpr bool operator==(const Log&, const Log&) = default;
};

/// round(100 x value) to even, exactly as printf("%.2f") rounds a double. pre: 0 <= value < 2^53
constexpr u64 hundredths(double value) noexcept {
    const u64 bits = std::bit_cast<u64>(value);
    const u64 exponent = bits >> 52 & 0x7ff;
    if (exponent < 1075 - 62) {
        return 0;
    }
    const u64 scaled = ((bits & ((u64{1} << 52) - 1)) | (u64{1} << 52)) * 100;
    if (exponent >= 1075) {
        return scaled << (exponent - 1075);
    }
    const u32 shift = static_cast<u32>(1075 - exponent);
    const u64 whole = scaled >> shift;
    const u64 rest = scaled & ((u64{1} << shift) - 1);
    const u64 half = u64{1} << (shift - 1);
    return whole + (rest > half || (rest == half && whole % 2 == 1) ? 1 : 0);
}

/// Bytes one request takes of the first worker's groups over the bytes of one block of the first group (to
/// 2026-08).
constexpr u64 blocks_by_bytes(const Planning& with, u64 tokens) noexcept {
    const OnStage own{with.grouping, with.layout, with.rules.has(Change::stage_pages) ? 0 : whole_model};
    u64 bytes = 0;
    u64 first_page = 0;
    for (u32 k = 0; k < with.grouping.kinds.size(); ++k) {
        const GroupKind& kind = with.grouping.kinds[k];
        const u64 on_stage = own.bytes[own.first[k]];
        const u64 page = kind.mixed && on_stage != 0 ? on_stage : kind.page;
        const u64 blocks = steps_of(kind.spec, with.load, with.rules).units(request_of(tokens, with.options));
        bytes = saturating_sum(bytes, saturating_product(saturating_product(blocks, kind.groups), page));
        first_page = k == 0 ? page : first_page;
    }
    return first_page == 0 ? 0 : ceil_div(bytes, first_page);
}

/// What a started engine logs. pre: sizing was not refused and there are groups.
constexpr Log log_of(const Planning& with, const Sizing& sizing, u64 reported_block) noexcept {
    Log log{.max_len = sizing.max_len, .block = reported_block};
    log.request_blocks = with.rules.has(Change::concurrency_by_blocks)
                             ? blocks_for(with, sizing.max_len)
                             : blocks_by_bytes(with, sizing.max_len);
    if (log.request_blocks != 0) {
        log.concurrency = static_cast<double>(sizing.blocks) / static_cast<double>(log.request_blocks);
    }
    if (with.rules.has(Change::logs_concurrency)) {
        log.tokens = truncated(log.concurrency * static_cast<double>(sizing.max_len));
    } else {
        const u64 groups = larger(with.grouping.groups(), 1);
        log.tokens = saturating_product(saturating_product(sizing.blocks / groups, reported_block), with.load.dcp);
    }
    for (const Spec& spec : with.layout.specs) {
        if (spec.kind == SpecKind::state && log.state == 0) {
            log.state = spec.natural_page();
            log.padded_state = spec.page();
        }
    }
    return log;
}

}  // namespace kvcap::inline v1::vllm
