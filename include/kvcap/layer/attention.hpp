// SPDX-License-Identifier: MIT
// Attention that keeps keys and values per head: MHA, GQA (Ainslie et al. 2023), MQA (Shazeer 2019).
// Elements per token = kv_heads x (head_dim + value_dim). Query heads and experts change nothing.
#pragma once

#include <kvcap/layer/concept.hpp>

namespace kvcap::inline v1 {

/// value_dim 0: as wide as the key.
struct Gqa {
    u32 kv_heads = 0;
    u32 head_dim = 0;
    u32 value_dim = 0;
    ElementFormat format = bf16;

    constexpr LayerForms forms() const noexcept {
        const u32 v = value_dim == 0 ? head_dim : value_dim;
        return forms_of(form_of(Kind::attention, {},
                                Stream{.role = Role::key, .split = Split::heads, .heads = kv_heads, .width = head_dim,
                                       .format = format},
                                Stream{.role = Role::value, .split = Split::heads, .heads = kv_heads, .width = v,
                                       .format = format}));
    }
    friend constexpr bool operator==(const Gqa&, const Gqa&) = default;
};

/// Every query head has its own key and value: a Gqa whose kv_heads are the query heads.
using Mha = Gqa;

/// One key and value head for all query heads.
constexpr Gqa mqa(u32 head_dim, u32 value_dim = 0) noexcept {
    return {.kv_heads = 1, .head_dim = head_dim, .value_dim = value_dim};
}

/// Index keys of sparse attention (DeepSeek-V3.2, MiniMax-M3): `heads` vectors of `dim` per token, on every rank.
struct IndexKeys {
    u32 dim = 0;
    u32 heads = 1;
    ElementFormat format = bf16;

    constexpr LayerForms forms() const noexcept {
        return forms_of(form_of(Kind::index, {},
                                Stream{.role = Role::index, .heads = heads, .width = dim, .format = format}));
    }
    friend constexpr bool operator==(const IndexKeys&, const IndexKeys&) = default;
};

}  // namespace kvcap::inline v1
