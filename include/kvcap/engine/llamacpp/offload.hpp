// SPDX-License-Identifier: MIT
// What does each device hold, and how far can -c or -ngl go? Weights of its blocks + caches of its blocks +
// the compute buffer, which is the engine's own number and given. Layer split; what is not offloaded stays on
// the CPU.
// Source: llama.cpp v0.5.0, llama-model.cpp (load_tensors).
#pragma once

#include <kvcap/engine/llamacpp/split.hpp>
#include <optional>

namespace kvcap::inline v1::llamacpp {

/// Bytes of a file's tensors. input: the token embedding, which stays on the CPU; where there is no output
/// matrix (`tied`), the output layer has a copy of it. experts: of each block, part of its bytes; nullptr: none.
/// host_experts: of so many first blocks they stay on the CPU (-ncmoe; common/common.h, LLM_FFN_EXPS_REGEX).
struct BlockWeights {
    const u64* blocks = nullptr;
    u32 count = 0;
    u64 input = 0;
    u64 output = 0;
    bool tied = false;
    const u64* experts = nullptr;
    u32 host_experts = 0;

    constexpr u64 on_host(u32 block) const noexcept {
        return experts != nullptr && block < host_experts ? smaller(experts[block], blocks[block]) : 0;
    }
};

/// What a device has, and the compute buffer that the engine needs there.
struct DeviceMemory {
    u64 available[most_devices]{};
    u64 compute[most_devices]{};
};

/// Weights on each device: block i with its cache, the output layer as block L.
constexpr PerDevice weights_per_device(const Card& card, const Devices& devices,
                                       const BlockWeights& weights) noexcept {
    PerDevice sum{};
    Devices placed = devices;
    placed.offload_cache = true;
    sum.cpu = weights.input;
    for (u32 i = 0; i < weights.count; ++i) {
        u64& here = sum.at(device_of(card, placed, i));
        here = saturating_sum(here, weights.blocks[i] - weights.on_host(i));
        sum.cpu = saturating_sum(sum.cpu, weights.on_host(i));
    }
    u64& last = sum.at(device_of(card, placed, card.all_layers()));
    const bool copied = weights.tied && device_of(card, placed, card.all_layers()) != on_cpu;
    last = saturating_sum(last, saturating_sum(weights.output, copied ? weights.input : 0));
    return sum;
}

/// Weights, caches and compute buffers of each device together.
constexpr Result<PerDevice> device_load(const Card& card, const Options& options, const Devices& devices,
                                        const BlockWeights& weights, const DeviceMemory& memory) noexcept {
    const Result<Layout> made = layout(card, options);
    if (!made) {
        return made.error();
    }
    const Result<PerDevice> caches = per_device(card, *made, devices);
    if (!caches) {
        return caches.error();
    }
    PerDevice sum = weights_per_device(card, devices, weights);
    sum.cpu = saturating_sum(sum.cpu, caches->cpu);
    for (u32 d = 0; d < devices.count; ++d) {
        const u64 compute = devices.gpu_layers > 0 ? memory.compute[d] : 0;
        sum.device[d] = saturating_sum(saturating_sum(sum.device[d], caches->device[d]), compute);
    }
    return sum;
}

/// The first device that has too little, or `devices.count` when all is well.
constexpr Result<u32> lacking_device(const Card& card, const Options& options, const Devices& devices,
                                     const BlockWeights& weights, const DeviceMemory& memory) noexcept {
    const Result<PerDevice> load = device_load(card, options, devices, weights, memory);
    if (!load) {
        return load.error();
    }
    u32 d = 0;
    while (d < devices.count && load->device[d] <= memory.available[d]) {
        ++d;
    }
    return d;
}

/// The largest -c, a multiple of 256, up to `limit`; 0 when not even 256 fit. Errors: a refusal of the
/// engine.
constexpr Result<u32> largest_context(const Card& card, Options options, const Devices& devices,
                                      const BlockWeights& weights, const DeviceMemory& memory,
                                      u32 limit) noexcept {
    u32 low = 0;
    u32 high = limit / static_cast<u32>(cell_step);
    while (low < high) {
        const u32 middle = high - (high - low) / 2;
        options.n_ctx = middle * static_cast<u32>(cell_step);
        const Result<u32> lacking = lacking_device(card, options, devices, weights, memory);
        if (!lacking) {
            return lacking.error();
        }
        if (*lacking == devices.count) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low * static_cast<u32>(cell_step);
}

/// The largest -ngl at this context. Shares of several devices move with it, so every value is tried.
constexpr Result<u32> most_offloaded(const Card& card, const Options& options, Devices devices,
                                     const BlockWeights& weights, const DeviceMemory& memory) noexcept {
    for (devices.gpu_layers = card.all_layers() + 1; devices.gpu_layers > 0; --devices.gpu_layers) {
        const Result<u32> lacking = lacking_device(card, options, devices, weights, memory);
        if (!lacking) {
            return lacking.error();
        }
        if (*lacking == devices.count) {
            return devices.gpu_layers;
        }
    }
    return u32{0};
}

/// The least -ncmoe at this context and -ngl; nothing where the experts of all blocks on the CPU are not enough.
constexpr Result<std::optional<u32>> least_host_experts(const Card& card, const Options& options,
                                                        const Devices& devices, BlockWeights weights,
                                                        const DeviceMemory& memory) noexcept {
    for (weights.host_experts = 0; weights.host_experts <= weights.count; ++weights.host_experts) {
        const Result<u32> lacking = lacking_device(card, options, devices, weights, memory);
        if (!lacking) {
            return lacking.error();
        }
        if (*lacking == devices.count) {
            return std::optional{weights.host_experts};
        }
    }
    return std::optional<u32>{};
}

}  // namespace kvcap::inline v1::llamacpp
