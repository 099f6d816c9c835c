// SPDX-License-Identifier: MIT
// How many bytes does vLLM store for one token of a layer, and for a state? From a form, the KV dtype and the
// split. Sources: v1/kv_cache_interface.py, backends' `customize_spec` (nvfp4: FlashInfer; per-token-head:
// Triton; 656 bytes: FlashMLA sparse), model_executor/layers/mamba/mamba_utils.py.
#pragma once

#include <kvcap/engine/uncovered.hpp>
#include <kvcap/engine/vllm/spec.hpp>
#include <kvcap/sharding.hpp>

namespace kvcap::inline v1::vllm {

/// slots: head slots of a page. cell: bytes of one slot and token.
struct Packing {
    u32 slots = 0;
    u64 cell = 0;
};

constexpr u64 turboquant_cell(u64 key, u64 value, u32 key_bits, u32 value_bits) noexcept {
    const u64 key_bytes = key_bits == 8 ? key : ceil_div(key * key_bits, 8) + 2;
    return round_up(key_bytes + ceil_div(value * value_bits, 8) + 4, 2);
}

/// Keys and values of `heads` local heads. Unquantised rows are the caller's `plain` bytes.
constexpr Result<Packing> pack_heads(KvDtype dtype, u32 heads, u64 key, u64 value, u64 plain) noexcept {
    const u64 both = key + value;
    switch (dtype) {
        case KvDtype::automatic: return Packing{heads, plain};
        case KvDtype::fp8:
        case KvDtype::fp8_ds_mla: return Packing{heads, both};
        case KvDtype::int8_per_token_head:
        case KvDtype::fp8_per_token_head: return Packing{heads, both + 8};
        case KvDtype::int4_per_token_head: return Packing{heads, key / 2 + value / 2 + 8};
        case KvDtype::nvfp4:
            if (key != value) {
                return Error{
                    .code = Errc::unsupported, .what = Uncovered::unequal_widths, .got = value, .want = key};
            }
            return Packing{2 * heads, key / 2 + key / 16};
        case KvDtype::turboquant_k8v4: return Packing{heads, turboquant_cell(key, value, 8, 4)};
        case KvDtype::turboquant_4bit_nc: return Packing{heads, turboquant_cell(key, value, 4, 4)};
        case KvDtype::turboquant_k3v4_nc: return Packing{heads, turboquant_cell(key, value, 3, 4)};
        case KvDtype::turboquant_3bit_nc: return Packing{heads, turboquant_cell(key, value, 3, 3)};
    }
    return Error{.code = Errc::unsupported, .what = Uncovered::kv_format};
}

inline constexpr u64 flash_mla_cell = 656;

/// A latent of `width` elements; nvfp4 and TurboQuant have no layout for it.
constexpr Result<Packing> pack_latent(KvDtype dtype, u64 width, u64 plain) noexcept {
    switch (dtype) {
        case KvDtype::automatic: return Packing{1, plain};
        case KvDtype::fp8: return Packing{1, width};
        case KvDtype::fp8_ds_mla: return Packing{1, flash_mla_cell};
        case KvDtype::int8_per_token_head:
        case KvDtype::fp8_per_token_head: return Packing{1, width + 8};
        case KvDtype::int4_per_token_head: return Packing{1, width / 2 + 8};
        default: break;
    }
    return Error{.code = Errc::unsupported, .what = Uncovered::kv_format, .got = static_cast<u64>(dtype)};
}

constexpr bool is_state(const LayerForm& form) noexcept { return form.retention.keep == Keep::last; }
constexpr bool is_heads(const LayerForm& form) noexcept {
    return form.kind == Kind::attention && !is_state(form);
}

constexpr u64 width_of(const LayerForm& form) noexcept {
    u64 sum = 0;
    for (const Stream& stream : form.streams) {
        sum += u64{stream.heads} * stream.rows * stream.width;
    }
    return sum;
}

/// Bytes of one element of a form stored as it says.
constexpr u8 element_bytes(const LayerForm& form) noexcept {
    const ElementFormat format = form.streams.empty() ? bf16 : form.streams[0].format;
    return static_cast<u8>(format.elems == 1 ? format.bytes : 1);
}

/// Index keys are kept in fp8 with one fp32 scale per 128, whatever the model's dtype (mla/indexer.py).
constexpr u64 index_cell(u64 width) noexcept { return width + width / 128 * 4; }

/// Local heads and per-head widths of keys and values. Error: streams that are no pair of equally many heads.
struct Heads {
    u32 local = 0;
    u64 key = 0;
    u64 value = 0;
    u64 plain = 0;
};

constexpr Result<Heads> heads_of(const LayerForm& form, const Sharding& sharding) noexcept {
    Heads heads{};
    for (const Stream& stream : form.streams) {
        const Result<u32> local = heads_on_rank(stream, sharding);
        const Result<u64> row = stream.format.row_bytes(stream.width);
        if (!local || !row) {
            return local ? row.error() : local.error();
        }
        if (heads.local != 0 && heads.local != *local) {
            return Error{
                .code = Errc::unsupported, .what = Uncovered::unequal_heads, .got = *local, .want = heads.local};
        }
        heads.local = *local;
        (stream.role == Role::value ? heads.value : heads.key) += stream.width;
        heads.plain += *row;
    }
    return heads;
}

/// Bytes of the convolution (auto: the model's) and of the state (auto: the convolution's; KDA always fp32).
struct StateWidths {
    u32 conv = 2;
    u32 state = 2;
};

constexpr StateWidths state_widths(const LayerForm& form, const Options& options) noexcept {
    u32 conv = options.conv_bytes != 0 ? options.conv_bytes : options.model_bytes;
    if (options.conv_bytes == 0) {
        for (const Stream& stream : form.streams) {
            conv = stream.role == Role::conv ? stream.format.bytes : conv;
        }
    }
    if (form.kind == Kind::kda) {
        return {conv, 4};
    }
    return {conv, options.ssm_bytes != 0 && form.kind != Kind::lightning ? options.ssm_bytes : conv};
}

/// Rows that drafts add to a convolution state.
constexpr u32 draft_rows(Kind kind, const Options& options) noexcept {
    const bool widened = kind == Kind::mamba2 || kind == Kind::gated_delta || kind == Kind::kda;
    return widened && options.widened_conv ? options.spec_tokens : 0;
}

constexpr bool known_state(Kind kind) noexcept {
    return kind == Kind::mamba1 || kind == Kind::mamba2 || kind == Kind::gated_delta || kind == Kind::kda ||
           kind == Kind::lightning || kind == Kind::short_conv;
}

/// Bytes of one state on a rank. Error: kinds that vLLM does not serve; splits that do not divide.
constexpr Result<u64> state_bytes(const LayerForm& form, const Options& options,
                                  const Sharding& sharding) noexcept {
    if (!known_state(form.kind)) {
        const Uncovered what = unserved(form.retention);
        return not_covered(form.retention, what != Uncovered::nothing ? what : unserved_state(form.kind));
    }
    const StateWidths widths = state_widths(form, options);
    u64 sum = 0;
    for (const Stream& stream : form.streams) {
        const bool conv = stream.role == Role::conv;
        const Result<u32> dealt_heads = form.kind == Kind::lightning ? Result<u32>{stream.heads / sharding.tp}
                                                                     : heads_on_rank(stream, sharding);
        if (!dealt_heads) {
            return dealt_heads.error();
        }
        const u64 rows = stream.rows + (conv ? draft_rows(form.kind, options) : 0);
        sum += saturating_product(u64{*dealt_heads} * rows,
                                  u64{stream.width} * (conv ? widths.conv : widths.state));
    }
    return sum;
}

}  // namespace kvcap::inline v1::vllm
