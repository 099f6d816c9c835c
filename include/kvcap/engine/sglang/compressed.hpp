// SPDX-License-Identifier: MIT
// How does SGLang divide memory for DeepSeek-V4? One token of the full pool pays for a share of the window
// pool, a quarter or a 128th of an entry, its index key and the compressors' rings; the 128-fold compressor's
// state is fixed by the number of requests. Source: pool_configurator.DSV4PoolConfigurator,
// mem_cache/deepseek_v4_memory_pool.py.
#pragma once

#include <kvcap/engine/sglang/windows.hpp>

namespace kvcap::inline v1::sglang {

/// Rows of a compressor's ring; twice as many with drafts.
struct Rings {
    u64 quarter = 8;
    u64 hundredth = 128;
};

constexpr Rings rings(const Options& options) noexcept {
    return options.speculation.on() ? Rings{16, 256} : Rings{};
}

/// Bytes of one latent: fp8, the rope part in bf16, and 8 of scales (448 + 128 + 8 = 584).
constexpr u64 compressed_latent_bytes(u64 latent, const Options& options) noexcept {
    return latent + options.rope + 8;
}

/// Requests that the engine foresees for `tokens`: by its estimate of 512 contexts, between 2,048 and 4,096.
constexpr u64 estimated_requests(u64 tokens, u64 context) noexcept {
    const double contexts = static_cast<double>(tokens) / static_cast<double>(context);
    return smaller(clamped(truncated(contexts * 512), 2048, 4096), tokens / 2);
}

/// Double products in the engine's order of evaluation.
constexpr double compressed_cell(const Local& local, const Options& options) noexcept {
    const double latent = static_cast<double>(compressed_latent_bytes(local.window.latent, options));
    const double index = static_cast<double>(scaled_index_bytes(local.index_width));
    const double state = static_cast<double>(4 * u64{local.window.latent} * options.compressor_state_bytes);
    const double index_state =
        static_cast<double>(4 * u64{local.index_width} * options.compressor_state_bytes);
    const double ring = static_cast<double>(rings(options).quarter) / static_cast<double>(local.window_of);
    const double quarter = local.quarter_layers;
    const double windows = options.window_ratio * latent * local.window_layers;
    const double entries = 0.25 * latent * quarter;
    const double rare = 1.0 / 128 * latent * local.hundredth_layers;
    const double keys = 0.25 * index * quarter;
    const double states = options.window_ratio * ring * state * quarter;
    const double index_states = options.window_ratio * ring * index_state * quarter;
    const double sum = windows + entries + rare + keys + states + 0.0 + index_states;
    const double layers = local.window_layers;
    return options.speculation.on() ? sum * ((layers + 1) / layers) : sum;
}

constexpr u64 request_rows(u64 requests, const Options& options) noexcept {
    return saturating_sum(saturating_sum(requests, options.decode_only ? options.decode_extra_slots : 0), 1);
}

/// Bytes of one request's rows in the 128-fold compressors' states.
constexpr u64 request_ring_bytes(const Local& local, const Options& options) noexcept {
    const u64 row = saturating_product(2 * u64{local.window.latent}, options.compressor_state_bytes);
    return saturating_product(rings(options).hundredth, saturating_product(row, local.hundredth_layers));
}

/// Bytes of the 128-fold compressors' states for so many requests.
constexpr u64 request_state_bytes(u64 requests, const Local& local, const Options& options) noexcept {
    const u64 ring = rings(options).hundredth;
    const u64 rows = round_up(saturating_sum(saturating_product(request_rows(requests, options), ring), ring + 1), 128);
    const u64 row = saturating_product(2 * u64{local.window.latent}, options.compressor_state_bytes);
    return saturating_product(rows, saturating_product(row, local.hundredth_layers));
}

constexpr TokenPools compressed_pools_of(u64 tokens, const Local& local, const Options& options) noexcept {
    const u64 full = round_down(tokens, options.page);
    const u64 window = round_down(truncated(static_cast<double>(full) * options.window_ratio), options.page);
    return {.tokens = full, .full = full, .window = window, .quarter = full / 4, .hundredth = full / 128,
            .quarter_states = window / local.window_of * rings(options).quarter};
}

constexpr Result<TokenPools> compressed_pools(u64 budget, const Local& local,
                                              const Options& options) noexcept {
    if (options.page % 128 != 0) {
        return Error{.code = Errc::not_divisible, .got = options.page, .want = 128};
    }
    if (local.window_of == 0 || local.window_layers == 0) {
        return Errc::zero_dimension;
    }
    const double cell = compressed_cell(local, options);
    const u64 requests =
        options.max_running_requests != not_set
            ? per_worker(options.max_running_requests, options)
            : estimated_requests(truncated(static_cast<double>(budget) / cell), options.context);
    const u64 fixed = request_state_bytes(requests, local, options);
    const double left = static_cast<double>(budget > fixed ? budget - fixed : 0);
    return compressed_pools_of(truncated(left / cell), local, options);
}

}  // namespace kvcap::inline v1::sglang
