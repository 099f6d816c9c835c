// SPDX-License-Identifier: MIT
// Attention that keeps one latent vector per token for all heads: MLA (DeepSeek-V2, 2024), with index keys
// (DeepSeek-V3.2), and with compressed entries (DeepSeek-V4). A latent is no set of heads: every rank stores all of it.
#pragma once

#include <kvcap/layer/attention.hpp>

namespace kvcap::inline v1 {

/// Elements per token = latent + rope. No factor 2, no heads.
struct Mla {
    u32 latent = 0;
    u32 rope = 0;
    ElementFormat format = bf16;

    constexpr LayerForms forms() const noexcept {
        const Stream compressed{.role = Role::latent, .width = latent, .format = format};
        const Stream position{.role = Role::rope, .width = rope, .format = format};
        return forms_of(rope == 0 ? form_of(Kind::latent, {}, compressed)
                                  : form_of(Kind::latent, {}, compressed, position));
    }
    friend constexpr bool operator==(const Mla&, const Mla&) = default;
};

/// Two caches: index keys first (engines register them first), then the latent. index_dim 0: a layer that reuses
/// another layer's index and keeps the latent only (GLM-5.2).
struct SparseMla {
    u32 latent = 0;
    u32 rope = 0;
    u32 index_dim = 0;
    ElementFormat format = bf16;
    ElementFormat index_format = bf16;

    constexpr LayerForms forms() const noexcept {
        const LayerForms kept = Mla{.latent = latent, .rope = rope, .format = format}.forms();
        if (index_dim == 0) {
            return kept;
        }
        return forms_of(IndexKeys{.dim = index_dim, .format = index_format}.forms()[0], kept[0]);
    }
    friend constexpr bool operator==(const SparseMla&, const SparseMla&) = default;
};

/// DeepSeek-V4: a window of plain latents, and behind it one latent per `ratio` tokens; at ratio 4 also one index key
/// per `ratio` tokens. What the compressors must still see is fp32: windows of 2 x 4 or 1 x 128 positions, with a
/// key part and a gate part, twice as wide when blocks overlap (ratio 4).
/// ratio 0: the window only. Five caches at ratio 4, three at ratio 128, one at 0.
struct CompressedLatent {
    u32 latent = 0;
    u32 window = 0;
    u32 ratio = 0;
    u32 index_dim = 0;
    ElementFormat format = bf16;
    ElementFormat index_format = bf16;

    constexpr LayerForms forms() const noexcept {
        const Retention recent{.keep = Keep::window, .span = {window}};
        const Stream vector{.role = Role::latent, .width = latent, .format = format};
        const LayerForm plain = form_of(Kind::latent, recent, vector);
        if (ratio == 0) {
            return forms_of(plain);
        }
        const Retention strided{.stride = ratio};
        const LayerForm compressed = form_of(Kind::latent, strided, vector);
        if (index_dim == 0) {
            return forms_of(plain, compressed, compressor(latent));
        }
        const LayerForm index = form_of(
            Kind::index, strided, Stream{.role = Role::index, .width = index_dim, .format = index_format});
        return forms_of(plain, compressed, index, compressor(latent), compressor(index_dim));
    }
    friend constexpr bool operator==(const CompressedLatent&, const CompressedLatent&) = default;

private:
    constexpr bool overlaps() const noexcept { return index_dim != 0; }
    constexpr LayerForm compressor(u32 width) const noexcept {
        const u32 blocks = overlaps() ? 2 : 1;
        return form_of(Kind::compressor, {.keep = Keep::window, .span = {u64{ratio} * blocks}},
                       Stream{.role = Role::state, .width = saturated_u32(u64{2} * blocks * width), .format = f32});
    }
};

}  // namespace kvcap::inline v1
