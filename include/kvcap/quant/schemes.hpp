// SPDX-License-Identifier: MIT
// The storage schemes that engines serve, each with its scales. A scheme is a function from form to form.
// Sources: vLLM 0.28 v1/kv_cache_interface.py; OCP microscaling 1.0 (mxfp4, mxfp8); ggml block layouts (ggml-common.h).
#pragma once

#include <kvcap/quant/quantized.hpp>

namespace kvcap::inline v1 {

/// One format for all attention streams: bf16, f16, f32 and every block format below.
struct Stored {
    ElementFormat format = bf16;

    constexpr LayerForm store(const LayerForm& form) const noexcept {
        return store_attention(form, [&](const Stream&) noexcept { return format; });
    }
    friend constexpr bool operator==(const Stored&, const Stored&) = default;
};

inline constexpr ElementFormat mxfp4{.elems = 32, .bytes = 17};
inline constexpr ElementFormat mxfp8{.elems = 32, .bytes = 33};
inline constexpr ElementFormat nvfp4{.elems = 16, .bytes = 9};

namespace ggml {
inline constexpr ElementFormat q8_0{.elems = 32, .bytes = 34};
inline constexpr ElementFormat q5_1{.elems = 32, .bytes = 24};
inline constexpr ElementFormat q5_0{.elems = 32, .bytes = 22};
inline constexpr ElementFormat q4_1{.elems = 32, .bytes = 20};
inline constexpr ElementFormat q4_0{.elems = 32, .bytes = 18};
inline constexpr ElementFormat iq4_nl{.elems = 32, .bytes = 18};
}  // namespace ggml

/// One-byte elements with fp32 scales that exist once: one a stream (`per_head` false) or one a head.
struct OneByte {
    bool per_head = false;

    constexpr LayerForm store(const LayerForm& form) const noexcept { return Stored{fp8}.store(form); }

    constexpr LayerForm scales(const LayerForm& form) const noexcept {
        LayerForm once{.retention = {.keep = Keep::once}, .streams = {}, .kind = form.kind};
        for (const Stream& stream : form.streams) {
            if (!is_attention(stream.role)) {
                continue;
            }
            once.streams.items[once.streams.count++] =
                Stream{.role = stream.role, .split = per_head ? stream.split : Split::replicated,
                       .heads = per_head ? stream.heads : 1, .width = 1, .format = f32};
        }
        return once;
    }
    friend constexpr bool operator==(const OneByte&, const OneByte&) = default;
};

inline constexpr OneByte fp8_per_tensor{};
inline constexpr OneByte int8_per_tensor{};
inline constexpr OneByte fp8_per_head{.per_head = true};

/// One-byte elements and one fp32 scale per token, head and plane: a row of d takes d + 4 bytes.
struct OneBytePerTokenHead {
    constexpr LayerForm store(const LayerForm& form) const noexcept {
        return store_attention(form, [](const Stream& s) noexcept {
            return ElementFormat{.elems = s.width, .bytes = saturated_u32(u64{s.width} + 4)};
        });
    }
    friend constexpr bool operator==(const OneBytePerTokenHead&, const OneBytePerTokenHead&) = default;
};

inline constexpr OneBytePerTokenHead fp8_per_token_head{};
inline constexpr OneBytePerTokenHead int8_per_token_head{};

/// Two elements a byte and one fp32 scale per token, head and plane: a row of d takes floor(d / 2) + 4 bytes.
struct Int4PerTokenHead {
    constexpr LayerForm store(const LayerForm& form) const noexcept {
        return store_attention(form, [](const Stream& s) noexcept {
            return ElementFormat{.elems = s.width, .bytes = s.width / 2 + 4};
        });
    }
    friend constexpr bool operator==(const Int4PerTokenHead&, const Int4PerTokenHead&) = default;
};

/// FlashMLA's fp8 layout: the latent in fp8 with one fp32 scale per 128, the rope part in bf16
/// (512 + 16 + 128 = 656 bytes for DeepSeek).
struct Fp8DsMla {
    constexpr LayerForm store(const LayerForm& form) const noexcept {
        return store_attention(form, [](const Stream& s) noexcept {
            return s.role == Role::rope ? bf16 : fp8_scale_per_128;
        });
    }
    friend constexpr bool operator==(const Fp8DsMla&, const Fp8DsMla&) = default;
};

/// TurboQuant (vLLM): keys of d elements take d bytes at 8 bits, else ceil(d x bits / 8) + 2; values
/// ceil(d x bits / 8) + 4; key and value of a head are rounded to an even number of bytes together.
struct TurboQuant {
    u32 key_bits = 8;
    u32 value_bits = 4;

    constexpr LayerForm store(const LayerForm& form) const noexcept {
        u64 key_bytes = 0;
        return store_attention(form, [&](const Stream& s) noexcept {
            if (s.role == Role::value) {
                const u64 own = packed(s.width, value_bits) + 4;
                return ElementFormat{.elems = s.width, .bytes = saturated_u32(own + (key_bytes + own) % 2)};
            }
            key_bytes = key_bits == 8 ? s.width : packed(s.width, key_bits) + 2;
            return ElementFormat{.elems = s.width, .bytes = saturated_u32(key_bytes)};
        });
    }
    friend constexpr bool operator==(const TurboQuant&, const TurboQuant&) = default;

private:
    static constexpr u64 packed(u32 width, u32 bits) noexcept {
        return ceil_div(u64{width} * bits, 8);
    }
};

}  // namespace kvcap::inline v1
