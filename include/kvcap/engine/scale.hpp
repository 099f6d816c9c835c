// SPDX-License-Identifier: MIT
// Which sizes can an engine's arithmetic take? Engines multiply elements, bytes, tokens of a page and pages as they
// come; inside these bounds none of the products leaves 64 bits, whatever is padded, scaled or added to them.
#pragma once

#include <kvcap/engine/concept.hpp>

namespace kvcap::inline v1 {

/// Memory of a worker: 2 EiB. With rows of 32 bits, a page of at most 2^60 bytes and it stay below 2^62.
inline constexpr u64 most_memory = u64{1} << 61;
inline constexpr u64 most_page_bytes = u64{1} << 58;
/// Bytes that an element takes at most: 4, and as much again for scales, padding and work space.
inline constexpr u64 most_element_bytes = 8;

/// Errc::overflow for a cache whose slot has 2^32 elements, and for a model of which one page of all caches leaves
/// the scale. page: tokens.
constexpr Error check_scale(const ModelSpec& model, u64 page) noexcept {
    u64 elements = 0;
    for (const Cache& cache : model.caches) {
        const u64 own = model.form_of(cache).elements();
        elements = saturating_sum(elements, own);
        if (own > ~u32{0} ||
            saturating_product(saturating_product(elements, most_element_bytes), larger(page, 1)) > most_page_bytes) {
            return {.code = Errc::overflow, .layer = cache.layer};
        }
    }
    return {};
}

/// Errc::overflow for a worker with more memory than the scale has.
constexpr Error check_memory(const Budget& budget) noexcept {
    for (u32 w = 0; w < budget.workers; ++w) {
        if (budget.available[w].value > most_memory) {
            return {.code = Errc::overflow, .got = budget.available[w].value, .want = most_memory};
        }
    }
    return {};
}

}  // namespace kvcap::inline v1
