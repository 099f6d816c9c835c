// SPDX-License-Identifier: MIT
// To how many cells does --fit lower a llama-server that was started without -c? It starts from the model's context
// times the slots (server.hpp); where devices keep less than the margin free, all of them together, it goes down the
// line between what it projects for that and for the least context.
// Source: llama.cpp v0.5.0, common/fit.cpp (pull requests 27496, 28849).
#pragma once

#include <kvcap/engine/llamacpp/offload.hpp>
#include <kvcap/engine/llamacpp/server.hpp>

namespace kvcap::inline v1::llamacpp {

inline constexpr u64 fit_margin = u64{1} << 30;  ///< of each device
inline constexpr u64 fit_least = 4096;           ///< cells of a stream

/// What several devices are held to waste, since they get whole layers: of dense models half a layer each and one more
/// half, of models with experts a third of that. weights: of all devices.
constexpr u64 fit_waste(u32 devices, u64 weights, u64 layers, bool experts) noexcept {
    return devices < 2 || layers == 0 ? 0 : saturating_product(devices + u64{1}, weights / layers) / (experts ? 6 : 2);
}

/// Bytes of all devices together at `options.n_ctx`.
constexpr Result<u64> projected(const Card& card, const Options& options, const Devices& devices,
                                const BlockWeights& weights, const DeviceMemory& memory) noexcept {
    const Result<PerDevice> load = device_load(card, options, devices, weights, memory);
    if (!load) {
        return load.error();
    }
    u64 sum = 0;
    for (u32 d = 0; d < devices.count; ++d) {
        sum = saturating_sum(sum, load->device[d]);
    }
    return sum;
}

/// n_ctx after --fit. options.n_ctx: what it starts from; waste: fit_waste. Unchanged where the margins are kept by all
/// devices together: one that lacks may get fewer layers then. Errors: a refusal of the engine.
constexpr Result<u64> fitted_cells(const Card& card, Options options, const Devices& devices,
                                   const BlockWeights& weights, const DeviceMemory& memory, u64 waste) noexcept {
    const u32 streams = options.kv_unified ? 1 : static_cast<u32>(larger(options.n_seq_max, 1));
    const u64 asked = options.n_ctx;
    const u64 margin = saturating_product(devices.count, fit_margin);
    u64 free_bytes = 0;
    for (u32 d = 0; d < devices.count; ++d) {
        free_bytes = saturating_sum(free_bytes, memory.available[d]);
    }
    const Result<u64> most = projected(card, options, devices, weights, memory);
    const u64 least_cells = saturating_product(fit_least, streams);
    if (!most || saturating_sum(*most, margin) <= free_bytes || asked <= least_cells) {
        return most ? Result<u64>{asked} : Result<u64>{most.error()};
    }
    options.n_ctx = static_cast<u32>(least_cells);
    const Result<u64> least = projected(card, options, devices, weights, memory);
    return least ? Result<u64>{fitted_context({least_cells, *least}, {asked, *most}, free_bytes,
                                              saturating_sum(margin, waste), streams)}
                 : Result<u64>{least.error()};
}

}  // namespace kvcap::inline v1::llamacpp
