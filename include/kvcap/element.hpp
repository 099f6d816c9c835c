// SPDX-License-Identifier: MIT
// How are elements stored? Every `elems` elements of a row take `bytes` bytes, scales included:
// bf16 {1,2}; fp8 {1,1}; ggml q8_0 {32,34}; nvfp4 {16,9}; fp8 with an fp32 scale per 128 {128,132}.
#pragma once

#include <kvcap/result.hpp>

namespace kvcap::inline v1 {

struct ElementFormat {
    u32 elems = 1;
    u32 bytes = 2;

    /// Bytes of a row of `width` elements. A width that is no multiple of the block is an error, not a rounding.
    constexpr Result<u64> row_bytes(u64 width) const noexcept {
        if (elems == 0) {
            return Error{.code = Errc::zero_dimension};
        }
        if (bytes == ~u32{0}) {
            return Errc::overflow;
        }
        if (elems == 1) {
            return saturating_product(width, bytes);
        }
        if (width % elems != 0) {
            return Error{.code = Errc::block_not_divisible, .got = width, .want = elems};
        }
        return saturating_product(width / elems, bytes);
    }

    friend constexpr bool operator==(const ElementFormat&, const ElementFormat&) = default;
};

inline constexpr ElementFormat f32{.elems = 1, .bytes = 4};
inline constexpr ElementFormat bf16{.elems = 1, .bytes = 2};
inline constexpr ElementFormat f16{.elems = 1, .bytes = 2};
inline constexpr ElementFormat fp8{.elems = 1, .bytes = 1};
inline constexpr ElementFormat int8{.elems = 1, .bytes = 1};
inline constexpr ElementFormat int4{.elems = 2, .bytes = 1};

/// DeepSeek's index keys: fp8 with one fp32 scale per 128 elements (132 bytes for a key of 128).
inline constexpr ElementFormat fp8_scale_per_128{.elems = 128, .bytes = 132};

}  // namespace kvcap::inline v1
