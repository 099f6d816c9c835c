// SPDX-License-Identifier: MIT
// What does SGLang let its user decide about the cache? Its server arguments, with its defaults, and the
// budget rule: free after load - total before load x (1 - mem_fraction_static), in doubles of GiB. Rules:
// SGLang main at 8905cbd (2026-07-20), srt/server_args.py, mem_cache/kv_cache_configurator.py.
#pragma once

#include <kvcap/element.hpp>
#include <kvcap/engine/python_arithmetic.hpp>

namespace kvcap::inline v1::sglang {

/// Newest commit date whose rules these are.
inline constexpr u32 rules_date = 20260720;

/// An argument the user did not give.
inline constexpr u64 not_set = off_scale;

enum class KvDtype : u8 { bf16, fp8, mxfp8, fp4 };
/// nvfp4 keeps an fp8 workspace of one layer beside its pool; the block-16 flavour is charged for one it does
/// not have.
enum class Fp4 : u8 { nvfp4, mx_block16 };
/// How a hybrid state model keeps copies of states for its prefix tree.
enum class StateStrategy : u8 { no_buffer, extra_buffer, extra_buffer_lazy };
/// eagle: also standalone and MTP drafts, which look like the target's layers. dflash: also DSPARK.
enum class Draft : u8 { none, eagle, dflash };

struct Speculation {
    Draft draft = Draft::none;
    u32 layers = 0;         ///< draft layers that cache, in the target's full geometry
    u32 window_layers = 0;  ///< of these, banded ones (Inkling), in the window geometry
    u32 tokens = 0;         ///< --speculative-num-draft-tokens
    u32 steps = 1;
    u32 topk = 1;

    constexpr bool on() const noexcept { return draft != Draft::none; }
    friend constexpr bool operator==(const Speculation&, const Speculation&) = default;
};

struct Options {
    KvDtype dtype = KvDtype::bf16;
    Fp4 fp4 = Fp4::nvfp4;
    u64 page = 1;
    u64 context = 131072;            ///< --context-length; only the request limit depends on it
    u32 attention_dp = 1;            ///< dp when --enable-dp-attention, else 1
    bool window_pool = false;        ///< the architecture is on the engine's list (architectures.hpp)
    u64 effective_window = 0;        ///< 0: the model's own window
    double window_ratio = 0.8;       ///< --swa-full-tokens-ratio
    double state_ratio = 0.9;        ///< --mamba-full-memory-ratio
    u64 max_total_tokens = not_set;
    u64 max_running_requests = not_set;
    u64 max_state_slots = not_set;   ///< --max-mamba-cache-size
    u64 chunked_prefill = 8192;
    u64 eviction_interval = 128;     ///< SGLANG_SWA_EVICTION_INTERVAL
    bool prefix_cache = true;
    bool overlap = true;
    bool raw_latent_rows = false;    ///< DSA on the TRTLLM backend: fp8 latents without scales
    bool dsa_layer_split = false;    ///< DSA caches dealt by layer to the context-parallel ranks
    bool decode_only = false;        ///< --disaggregation-mode decode
    u64 decode_extra_slots = 0;
    double host_ratio = 0;             ///< --hicache-ratio; 0: no host tier
    double host_size_gb = 0;           ///< --hicache-size, 10^9 bytes; wins over the ratio in pools of tokens
    StateStrategy states = StateStrategy::no_buffer;
    ElementFormat conv_format = bf16;
    ElementFormat state_format = f32;  ///< fp32 unless the config's mamba_ssm_dtype says otherwise
    u32 index_value_bytes = 2;         ///< MiniMax index keys: bytes of the model's dtype
    u32 rope = 64;                     ///< DeepSeek-V4: rope elements inside its latent
    u32 compressor_state_bytes = 4;    ///< SGLANG_DSV4_COMPRESS_STATE_DTYPE: fp32 or bf16
    Speculation speculation{};

    friend constexpr bool operator==(const Options&, const Options&) = default;
};

/// Bytes of one element as torch counts it; fp4 counts as 1 and is halved where the engine halves it.
constexpr u32 element_bytes(KvDtype dtype) noexcept {
    return dtype == KvDtype::bf16 ? 2 : 1;
}

/// Requests (or slots) of one attention-data-parallel worker. pre: attention_dp > 0
constexpr u64 per_worker(u64 given, const Options& options) noexcept {
    return given == not_set ? not_set : given / options.attention_dp;
}

/// free GiB before and after the weights were loaded; the least over the ranks.
struct Memory {
    double total_before_load_gib = 0;
    double free_after_load_gib = 0;
    double static_fraction = 0.88;
};

/// GiB for caches and states; not above 0 when the weights leave nothing.
constexpr double rest_gib(const Memory& memory) noexcept {
    const double dynamic = 1 - memory.static_fraction;
    const double slack = memory.total_before_load_gib * dynamic;
    return memory.free_after_load_gib - slack;
}

/// A budget that never binds: pool sizes come from max_total_tokens and max_state_slots alone.
inline constexpr double unlimited_gib = 1048576.0;

}  // namespace kvcap::inline v1::sglang
