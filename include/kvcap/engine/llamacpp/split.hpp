// SPDX-License-Identifier: MIT
// Which device holds which block, or which slice of a row? Layer split: whole blocks by cumulative shares, in
// 32-bit floats. Tensor split: slices of each row, rounded down to a granularity and rotated over blocks of
// one kind.
// Source: llama.cpp v0.5.0, llama-model.cpp (load_tensors, llama_meta_device_get_split_state).
#pragma once

#include <kvcap/engine/llamacpp/rows.hpp>

namespace kvcap::inline v1::llamacpp {

inline constexpr u32 most_devices = 16;
inline constexpr int on_cpu = -1;

/// share: relative; all zero (or none) = free memory for the layer split, even for the tensor split.
struct Devices {
    u32 count = 1;
    u32 gpu_layers = 0;
    float share[most_devices]{};
    bool offload_cache = true;
    friend constexpr bool operator==(const Devices&, const Devices&) = default;
};

/// Whether -sm tensor runs with cells of the type. With q4_1, q5_0, q5_1 and iq4_nl the context is made, and the first
/// graph ends in GGML_ASSERT(ret.axis != GGML_BACKEND_SPLIT_AXIS_UNKNOWN).
/// Source: ggml-org/llama.cpp, issue 27116 (open in September 2026); of pull request 23792, q4_0 and q8_0 do.
constexpr bool tensor_split_runs(Ggml type) noexcept {
    return !ggml_type(type).quantized || type == Ggml::q4_0 || type == Ggml::q8_0;
}

/// Device of a block: -1 = CPU. pre: count <= most_devices; shares not all zero when there are several
/// devices.
constexpr int device_of(const Card& card, const Devices& devices, u32 block) noexcept {
    const u32 all = card.all_layers();
    const u32 active = static_cast<u32>(smaller(devices.gpu_layers, u64{all} + 1));
    const u32 first = all + 1 - active;
    if (block < first || active == 0 || devices.count == 0 || !devices.offload_cache) {
        return on_cpu;
    }
    float sum = 0;
    float cumulative[most_devices]{};
    for (u32 i = 0; i < devices.count; ++i) {
        sum += devices.share[i];
        cumulative[i] = sum;
    }
    const float at = static_cast<float>(block - first) / static_cast<float>(active);
    u32 device = 0;
    while (device + 1 < devices.count && cumulative[device] / sum <= at) {
        ++device;
    }
    return static_cast<int>(device);
}

/// Cache bytes of each device; the CPU is the last entry.
struct PerDevice {
    u64 device[most_devices]{};
    u64 cpu = 0;

    constexpr u64& at(int where) noexcept { return where == on_cpu ? cpu : device[where]; }
    constexpr u64 at(int where) const noexcept { return where == on_cpu ? cpu : device[where]; }
};

/// One cache's tensors per device.
constexpr Result<PerDevice> cache_per_device(const Card& card, const Layout& layout, const CacheShape& cache,
                                             const Devices& devices) noexcept {
    PerDevice sum{};
    for (u32 i = 0; i < card.all_layers(); ++i) {
        if (!owns(card, cache, i)) {
            continue;
        }
        const Result<BlockBytes> own = block_bytes(card, layout, cache, i);
        if (!own) {
            return own.error();
        }
        u64& here = sum.at(device_of(card, devices, i));
        here = saturating_sum(here, own->total());
    }
    return sum;
}

constexpr Result<PerDevice> per_device(const Card& card, const Layout& layout,
                                       const Devices& devices) noexcept {
    PerDevice sum{};
    for (const CacheShape& cache : layout.caches) {
        const Result<PerDevice> own = cache_per_device(card, layout, cache, devices);
        if (!own) {
            return own.error();
        }
        sum.cpu = saturating_sum(sum.cpu, own->cpu);
        for (u32 d = 0; d < most_devices; ++d) {
            sum.device[d] = saturating_sum(sum.device[d], own->device[d]);
        }
    }
    return sum;
}

/// Equal pieces of a row that are each split alike.
struct Segment {
    u64 width = 0;
    u32 count = 1;
    u64 granularity = 1;
};

struct Slices {
    bool mirrored = false;
    u64 elements[most_devices]{};

    /// Whether each element of a row lies somewhere.
    constexpr bool cover(u64 row) const noexcept {
        u64 sum = 0;
        for (const u64 each : elements) {
            sum = saturating_sum(sum, each);
        }
        return mirrored || sum == row;
    }
};

/// Earlier blocks of the same kind, so that what rounding leaves over goes round the devices.
constexpr u32 rotation_of(const Card& card, u32 block, u32 devices) noexcept {
    u32 earlier = 0;
    for (u32 i = 0; i < block; ++i) {
        earlier += card.blocks[i].window == card.blocks[block].window &&
                   card.blocks[i].state == card.blocks[block].state ? 1 : 0;
    }
    return earlier % devices;
}

/// End of slice `slice`: its cumulative share in 32-bit floats, rounded down to the granularity.
constexpr u64 boundary(const Segment& segment, const Devices& devices, const float* cumulative,
                       u32 slice) noexcept {
    constexpr float top = 9.0e18F;
    const float all = cumulative[devices.count - 1];
    const float part = all == 0.0F ? 0.0F : static_cast<float>(segment.width) * cumulative[slice] / all;
    const u64 even = saturating_product(segment.width, slice + 1) / devices.count;
    const u64 exact = smaller(all == 0.0F  ? even
                              : part < top ? static_cast<u64>(part)
                                           : segment.width,
                              segment.width);
    return exact - exact % larger(segment.granularity, 1);
}

constexpr void deal(const Segment& segment, const Devices& devices, u32 rotation, Slices& to) noexcept {
    float cumulative[most_devices]{};
    float sum = 0;
    for (u32 j = 0; j < devices.count; ++j) {
        sum += devices.share[(j + rotation) % devices.count];
        cumulative[j] = sum;
    }
    u64 low = 0;
    for (u32 j = 0; j < devices.count; ++j) {
        const u64 high = j + 1 == devices.count ? segment.width : boundary(segment, devices, cumulative, j);
        u64& here = to.elements[(j + rotation) % devices.count];
        here = saturating_sum(here, saturating_product(high - low, segment.count));
        low = high;
    }
}

/// Granularity of a K or V row: whole weight blocks of a query group, over the heads of the group.
constexpr u64 attention_granularity(const Block& block, u32 weight_block, u32 devices) noexcept {
    const u64 group = block.kv_heads == 0 ? 1 : larger(block.heads / block.kv_heads, 1);
    const u64 query = group * block.key;
    u64 step = weight_block;
    while (step < 128 && step * devices < query) {
        step *= 2;
    }
    return least_common_multiple(query, step) / group;
}

enum class Plane : u8 { k, v, r, s, p, compressor };

/// Delta-net rows: R keeps (kernel - 1) inputs of keys and values, S a matrix a head. weight_block: of
/// ssm_out.
constexpr void deal_state(const Card& card, Plane plane, u64 row, u32 weight_block, const Devices& devices,
                          u32 rotation, Slices& to) noexcept {
    const DeltaNet& net = card.delta;
    const u64 keys = u64{net.state_size} * net.groups;
    const u64 values = u64{net.state_size} * net.rank;
    const u64 taps = net.kernel > 0 ? net.kernel - 1 : 0;
    const u64 step =
        least_common_multiple(least_common_multiple(weight_block, 128), larger(net.state_size, 1));
    const bool pairs = card.arch().arch == Arch::qwen3next;
    const u32 ratio = net.groups == 0 ? 1 : static_cast<u32>(larger(net.rank / net.groups, 1));
    if (plane == Plane::r && pairs) {
        deal({saturating_product(keys, taps), 2, saturating_product(step, taps)}, devices, rotation, to);
        deal({saturating_product(values, taps), 1, saturating_product(step, taps)}, devices, rotation, to);
    } else if (plane == Plane::r) {
        deal({saturating_product(keys, taps), 2 + ratio, saturating_product(step, taps)}, devices, rotation, to);
    } else if (pairs) {
        deal({row, 1, saturating_product(step, net.state_size)}, devices, rotation, to);
    } else {
        deal({saturating_product(keys, net.state_size), ratio, saturating_product(step, net.state_size)}, devices,
             rotation, to);
    }
}

/// Elements of one row on each device. weight_block: of attn_output (for states: of ssm_out) weights.
/// pre: owns(card, cache, block), 1 <= devices.count <= most_devices
constexpr Slices slices(const Card& card, const CacheShape& cache, u32 block, Plane plane, u64 row,
                        const Devices& devices, u32 weight_block) noexcept {
    const Arch arch = card.arch().arch;
    const bool index = cache.part == Part::indexer || cache.part == Part::dsa_indexer;
    if (index || plane == Plane::p || plane == Plane::compressor || arch == Arch::hrm_text ||
        arch == Arch::deepseek4 || (arch == Arch::lfm2 && is_states(cache.part))) {
        return {.mirrored = true};
    }
    Slices to{};
    const u32 rotation = rotation_of(card, block, devices.count);
    if (is_states(cache.part)) {
        deal_state(card, plane, row, weight_block, devices, rotation, to);
    } else {
        deal({row, 1, attention_granularity(card.blocks[block], weight_block, devices.count)}, devices,
             rotation, to);
    }
    return to;
}

/// Bytes of one tensor's slices in the buffers of each device. bytes: of the whole tensor, row: its elements
/// a cell.
constexpr void add_slices(PerDevice& to, const Slices& cut, u64 bytes, u64 row, const Devices& devices,
                          const Backend& backend) noexcept {
    for (u32 d = 0; d < devices.count && row != 0; ++d) {
        const u64 own = cut.mirrored ? bytes : product_over(bytes, cut.elements[d], row);
        to.device[d] = saturating_sum(to.device[d], round_up(own, backend.align));
    }
}

/// Tensor split: one cache's bytes on each device. The engine's log shows the largest of them only.
/// pre: layout has SplitMode::tensor, which refuses the architectures that cannot be sliced. Errors: Errc::overflow;
/// Errc::unsupported for states that are no delta net (RWKV), whose slices are not known, and for a net whose heads do
/// not make up its row.
constexpr Result<PerDevice> cache_per_slice(const Card& card, const Layout& layout, const CacheShape& cache,
                                            const Devices& devices, u32 weight_block,
                                            const Backend& backend = cpu_backend) noexcept {
    PerDevice sum{};
    for (u32 i = 0; i < card.all_layers(); ++i) {
        if (!owns(card, cache, i)) {
            continue;
        }
        const Result<BlockBytes> own = block_bytes(card, layout, cache, i);
        if (!own) {
            return own.error();
        }
        if (own->total() == off_scale) {
            return Error{.code = Errc::overflow, .layer = i};
        }
        bool covered = true;
        const auto add = [&](Plane plane, u64 bytes, u64 row) noexcept {
            const Slices cut = slices(card, cache, i, plane, row, devices, weight_block);
            covered = covered && cut.cover(row);
            add_slices(sum, cut, bytes, row, devices, backend);
        };
        if (is_compressor(cache.part)) {
            const u64 columns = compressor_columns(card, cache.part, i);
            add(Plane::compressor, own->compressor / 2, columns);
            add(Plane::compressor, own->compressor / 2, columns);
        } else if (is_states(cache.part)) {
            add(Plane::r, own->r, card.state.r);
            add(Plane::s, own->s, card.state.s);
            add(Plane::p, own->p, card.state.p);
        } else {
            add(Plane::k, own->k, key_elements(card, cache, i));
            add(Plane::v, own->v, value_elements(card, cache, i));
        }
        if (!covered) {
            return Error{.code = Errc::unsupported, .what = Uncovered::sliced_state, .layer = i};
        }
    }
    return sum;
}

}  // namespace kvcap::inline v1::llamacpp
