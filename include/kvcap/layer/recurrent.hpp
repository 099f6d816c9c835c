// SPDX-License-Identifier: MIT
// Layers whose memory does not grow: a recurrent state and the last inputs of a causal convolution.
// Serving convention: a convolution of k taps keeps k - 1 inputs (Stream::rows). Shapes follow vLLM 0.28
// model_executor/layers/mamba/mamba_utils.py; formats are the caller's.
#pragma once

#include <kvcap/layer/concept.hpp>

namespace kvcap::inline v1 {

inline constexpr Retention last_only{.keep = Keep::last};

constexpr Stream conv_of(u64 channels, u32 kernel, ElementFormat format, Split split = Split::channels) noexcept {
    return {.role = Role::conv, .split = split, .rows = saturated_u16(kernel == 0 ? 0 : kernel - 1),
            .heads = saturated_u32(channels), .width = 1, .format = format};
}

/// Mamba (Gu and Dao 2023): conv inner x (kernel - 1); state inner x state_dim.
struct Mamba1 {
    u32 inner = 0;
    u32 state_dim = 0;
    u32 kernel = 4;
    ElementFormat conv_format = bf16;
    ElementFormat state_format = bf16;

    constexpr LayerForms forms() const noexcept {
        return forms_of(form_of(Kind::mamba1, last_only, conv_of(inner, kernel, conv_format),
                                Stream{.role = Role::state, .split = Split::channels, .heads = inner,
                                       .width = state_dim, .format = state_format}));
    }
    friend constexpr bool operator==(const Mamba1&, const Mamba1&) = default;
};

/// Mamba-2 (Dao and Gu 2024): conv (heads x head_dim + 2 x groups x state_dim) x (kernel - 1), in two streams because
/// B and C groups are padded to the ranks; state heads x head_dim x state_dim.
struct Mamba2 {
    u32 heads = 0;
    u32 head_dim = 0;
    u32 state_dim = 0;
    u32 groups = 1;
    u32 kernel = 4;
    ElementFormat conv_format = bf16;
    ElementFormat state_format = bf16;

    constexpr LayerForms forms() const noexcept {
        Stream b_and_c = conv_of(groups, kernel, conv_format, Split::groups);
        b_and_c.width = saturated_u32(u64{2} * state_dim);
        const Stream inner = conv_of(u64{heads} * head_dim, kernel, conv_format);
        const Stream state{.role = Role::state, .split = Split::channels, .rows = saturated_u16(head_dim),
                           .heads = heads, .width = state_dim, .format = state_format};
        return forms_of(groups == 0 ? form_of(Kind::mamba2, last_only, inner, state)
                                    : form_of(Kind::mamba2, last_only, inner, b_and_c, state));
    }
    friend constexpr bool operator==(const Mamba2&, const Mamba2&) = default;
};

/// Gated delta net (Yang et al. 2024; Qwen3-Next): conv (2 x key_heads x key_dim + value_heads x value_dim) x
/// (kernel - 1); state value_heads x value_dim x key_dim.
struct GatedDelta {
    u32 key_heads = 0;
    u32 key_dim = 0;
    u32 value_heads = 0;
    u32 value_dim = 0;
    u32 kernel = 4;
    ElementFormat conv_format = bf16;
    ElementFormat state_format = bf16;

    constexpr LayerForms forms() const noexcept {
        return forms_of(form_of(Kind::gated_delta, last_only,
                                conv_of(saturating_sum(saturating_product(u64{2} * key_heads, key_dim),
                                                       u64{value_heads} * value_dim),
                                        kernel, conv_format),
                                Stream{.role = Role::state, .split = Split::channels,
                                       .rows = saturated_u16(value_dim), .heads = value_heads, .width = key_dim,
                                       .format = state_format}));
    }
    friend constexpr bool operator==(const GatedDelta&, const GatedDelta&) = default;
};

/// Kimi delta attention (Kimi Linear 2025): conv 3 x heads x head_dim x (kernel - 1); state heads x head_dim^2 in fp32.
struct Kda {
    u32 heads = 0;
    u32 head_dim = 0;
    u32 kernel = 4;
    ElementFormat conv_format = bf16;
    ElementFormat state_format = f32;

    constexpr LayerForms forms() const noexcept {
        return forms_of(form_of(Kind::kda, last_only,
                                conv_of(saturating_product(u64{3} * heads, head_dim), kernel, conv_format),
                                Stream{.role = Role::state, .split = Split::channels,
                                       .rows = saturated_u16(head_dim), .heads = heads, .width = head_dim,
                                       .format = state_format}));
    }
    friend constexpr bool operator==(const Kda&, const Kda&) = default;
};

/// States by description: up to three streams beside each other. The makers below name the known kinds.
struct State {
    Kind kind = Kind::state;
    Inplace<Stream, 6> streams{};

    constexpr LayerForms forms() const noexcept {
        return forms_of(LayerForm{.retention = last_only, .streams = streams, .kind = kind});
    }
    friend constexpr bool operator==(const State&, const State&) = default;
};

template <std::same_as<Stream>... Streams>
constexpr State state_of(Kind kind, const Streams&... streams) noexcept {
    return {.kind = kind, .streams = form_of(kind, last_only, streams...).streams};
}

constexpr Stream matrix_state(u32 heads, u32 rows, u32 width, ElementFormat format) noexcept {
    return {.role = Role::state, .split = Split::channels, .rows = saturated_u16(rows), .heads = heads,
            .width = width, .format = format};
}

/// Lightning attention (MiniMax-01, Ring-linear): heads x head_dim^2, no convolution.
constexpr State lightning(u32 heads, u32 head_dim, ElementFormat format = f32) noexcept {
    return state_of(Kind::lightning, matrix_state(heads, head_dim, head_dim, format));
}

/// Gated linear attention (Yang et al. 2023): heads x key_dim x value_dim.
constexpr State gla(u32 heads, u32 key_dim, u32 value_dim, ElementFormat format = f32) noexcept {
    return state_of(Kind::gla, matrix_state(heads, key_dim, value_dim, format));
}

/// Short convolution (LFM2): width x (kernel - 1).
constexpr State short_conv(u32 width, u32 kernel, ElementFormat format = bf16) noexcept {
    return state_of(Kind::short_conv, conv_of(width, kernel, format));
}

/// RG-LRU (Griffin, De et al. 2024): conv width x (kernel - 1); one fp32 vector of the width.
constexpr State rg_lru(u32 width, u32 kernel, ElementFormat conv_format = bf16) noexcept {
    return state_of(Kind::rglru, conv_of(width, kernel, conv_format), matrix_state(width, 1, 1, f32));
}

/// RWKV-5 to 7: two token shifts of the width on every rank; heads x head_dim^2 in fp32.
constexpr State rwkv(u32 width, u32 heads, u32 head_dim, ElementFormat shift_format = bf16) noexcept {
    return state_of(Kind::rwkv, Stream{.role = Role::conv, .rows = 2, .width = width, .format = shift_format},
                    matrix_state(heads, head_dim, head_dim, f32));
}

/// RWKV-4: two token shifts of the width; three fp32 vectors of the attention width.
constexpr State rwkv4(u32 width, u32 attention_width, ElementFormat shift_format = f32) noexcept {
    return state_of(Kind::rwkv, Stream{.role = Role::conv, .rows = 2, .width = width, .format = shift_format},
                    matrix_state(attention_width, 3, 1, f32));
}

/// xLSTM's mLSTM (Beck et al. 2024): matrix memory heads x key_dim x value_dim, normaliser heads x key_dim, one
/// stabiliser a head.
constexpr State mlstm(u32 heads, u32 key_dim, u32 value_dim, ElementFormat format = f32) noexcept {
    return state_of(Kind::mlstm, matrix_state(heads, key_dim, value_dim, format),
                    matrix_state(heads, 1, key_dim, format), matrix_state(heads, 1, 1, format));
}

}  // namespace kvcap::inline v1
