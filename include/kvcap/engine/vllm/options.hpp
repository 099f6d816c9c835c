// SPDX-License-Identifier: MIT
// Which of vLLM's options decide KV-cache memory? Its own flags, under its own names where it has one.
// Sources: vLLM config/cache.py, config/scheduler.py; v1/attention/backends/*.py
// `get_supported_kernel_block_sizes`.
#pragma once

#include <kvcap/inplace.hpp>
#include <kvcap/units.hpp>

namespace kvcap::inline v1::vllm {

/// `--kv-cache-dtype`. automatic: as the forms of the model say. fp8 also stands for its e4m3 and e5m2
/// spellings.
enum class KvDtype : u8 {
    automatic, fp8, fp8_ds_mla, int8_per_token_head, fp8_per_token_head, int4_per_token_head, nvfp4,
    turboquant_k8v4, turboquant_4bit_nc, turboquant_k3v4_nc, turboquant_3bit_nc,
};

/// `--mamba-cache-mode`: one running state; states at block ends of the running chunk; a state for every
/// block.
enum class StateMode : u8 { none, align, all };

/// One entry of a backend's supported kernel block sizes: exactly `tokens`, or any multiple of it.
struct KernelBlock {
    u32 tokens = 16;
    bool multiple = true;
    friend constexpr bool operator==(const KernelBlock&, const KernelBlock&) = default;
};

using KernelBlocks = Inplace<KernelBlock, 8>;

/// Whether a layer's backend can read pages that are padded: as `by_stride` says, or otherwise.
enum class Strides : u8 { backend, readable, unreadable };

/// What vLLM's model class fixes for one form (same index as ModelSpec::forms) and no form can say; 0:
/// nothing. block: tokens per block. cell: bytes of one stored token. align: pages are multiples of it.
/// version, tag: compared for equality only (model_version, cache_dtype_str); version 1 is DeepSeek-V4's.
struct FormFacts {
    u32 block = 0;
    u64 cell = 0;
    u32 align = 0;
    u32 version = 0;
    u32 tag = 0;
    bool own_format = false;   ///< stored as the form says, whatever `--kv-cache-dtype`
    bool own_dtype = false;    ///< `dtype` holds instead of `--kv-cache-dtype`
    KvDtype dtype = KvDtype::automatic;
    bool unquantised = false;  ///< `--kv-cache-dtype-skip-layers`
    Strides strides = Strides::backend;
    friend constexpr bool operator==(const FormFacts&, const FormFacts&) = default;
};

inline constexpr u32 deepseek_v4 = 1;

/// Sizes in bytes, lengths in tokens; 0 means "not given" for block_size, num_blocks_override,
/// prefix_match_unit and the three dtype widths (then: the model's dtype; the convolution's dtype for the
/// state).
struct Options {
    KvDtype kv_dtype = KvDtype::automatic;
    u64 max_model_len = 8192;
    bool auto_length = false;  ///< `--max-model-len auto`: max_model_len is the most the model allows
    u64 max_num_batched_tokens = 8192;
    bool async_scheduling = false;
    bool second_runner = false;  ///< the V2 model runner: async scheduling also with pipeline stages
    bool prefix_caching = true;
    u32 block_size = 0;
    u64 prefix_match_unit = 0;
    u64 num_blocks_override = 0;
    bool hybrid_manager = true;
    bool cross_layer_blocks = false;
    u64 encoder_tokens = 0;

    StateMode mode = StateMode::align;  ///< without prefix caching always none
    u32 state_chunk = 256;
    u32 model_bytes = 2;
    u32 conv_bytes = 0;
    u32 ssm_bytes = 0;
    bool widened_conv = true;  ///< drafts enlarge convolution states (not for every class: classes.hpp)

    u32 spec_tokens = 0;
    bool multi_module_mtp = false;

    KernelBlocks kernel_blocks{.count = 1, .items = {}};
    bool by_stride = true;  ///< the backend can read pages that are padded

    Inplace<FormFacts, 32> facts{};
    Inplace<u16, 64> skip_layers{};  ///< `--kv-cache-dtype-skip-layers`, by number
    bool skip_windows = false;       ///< the same, "sliding_window"

    constexpr FormFacts facts_of(u32 form) const noexcept {
        return form < facts.size() ? facts[form] : FormFacts{};
    }
    constexpr bool skips() const noexcept {
        bool any = skip_windows || !skip_layers.empty();
        for (const FormFacts& fact : facts) {
            any = any || fact.unquantised;
        }
        return any;
    }
    friend constexpr bool operator==(const Options&, const Options&) = default;
};

/// Batches that may be scheduled but not settled (config/vllm.py `max_concurrent_batches`).
constexpr u32 batches_in_flight(const Options& options, u32 stages) noexcept {
    if (options.async_scheduling && options.second_runner) {
        return stages + 1;
    }
    return options.async_scheduling && stages <= 1 ? 2 : stages;
}

/// The mode that holds: off without prefix caching (models/config.py `MambaModelConfig`).
constexpr StateMode mode_of(const Options& options) noexcept {
    return !options.prefix_caching ? StateMode::none
           : options.mode == StateMode::none ? StateMode::align : options.mode;
}

constexpr u32 smallest_kernel_block(const KernelBlocks& blocks) noexcept {
    u32 least = blocks.empty() ? 16 : blocks[0].tokens;
    for (const KernelBlock& block : blocks) {
        least = block.tokens < least ? block.tokens : least;
    }
    return least;
}

/// Largest of a backend's blocks whose page fits `page` (0: no limit, then the smallest); exact sizes come
/// before multiples (attention.py `_largest_kernel_block_within`).
constexpr u32 window_block(const KernelBlocks& blocks, u64 token_bytes, u64 page) noexcept {
    bool exact = false;
    for (const KernelBlock& block : blocks) {
        exact = exact || !block.multiple;
    }
    u32 least = 0;
    u32 fitting = 0;
    for (const KernelBlock& block : blocks) {
        if (block.multiple == exact) {
            continue;
        }
        least = least == 0 || block.tokens < least ? block.tokens : least;
        if (saturating_product(block.tokens, token_bytes) <= page && block.tokens > fitting) {
            fitting = block.tokens;
        }
    }
    return page != 0 && token_bytes != 0 && fitting != 0 ? fitting : least;
}

}  // namespace kvcap::inline v1::vllm
