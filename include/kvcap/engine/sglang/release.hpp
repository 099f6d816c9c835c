// SPDX-License-Identifier: MIT
// Which window slots does a running request give back, and where does a prefill step keep a state? Both
// decide what a later prompt can reuse. Sources: mem_cache/common.py free_swa_out_of_window_slots;
// managers/schedule_batch.py _mamba_radix_cache_v2_req_prepare_for_extend.
#pragma once

#include <kvcap/engine/python_arithmetic.hpp>

namespace kvcap::inline v1::sglang {

/// tokens: before this step. protected_prefix: already in the tree. floor: the request's own lower end,
/// rounded up to pages. released: tokens in front that have no window slots any more.
struct WindowRelease {
    u64 tokens = 0;
    u64 window = 0;
    u64 page = 1;
    u64 protected_prefix = 0;
    u64 floor = 0;
    u64 released = 0;
    bool prefix_cache = true;
};

struct Released {
    u64 upto = 0;
    u64 freed = 0;
    friend constexpr bool operator==(const Released&, const Released&) = default;
};

/// pre: page > 0. With a prefix cache at least a page stays, so that a stored leaf keeps window data.
constexpr Released released(const WindowRelease& request) noexcept {
    const u64 floor = request.floor > request.protected_prefix ? round_up(request.floor, request.page)
                                                               : request.protected_prefix;
    const u64 before = larger(request.released, floor);
    const u64 stays = request.prefix_cache ? larger(request.window, request.page) : request.window;
    const u64 outside = request.tokens > stays ? request.tokens - stays : 0;
    const u64 upto = round_down(larger(before, outside), request.page);
    return upto > before ? Released{upto, upto - before} : Released{before, 0};
}

/// A prefill step of `fresh` tokens behind `prefix`. branch: the point where the tree asked for a state;
/// no_branch: none.
struct PrefillStep {
    u64 prefix = 0;
    u64 fresh = 0;
    u64 branch = off_scale;
};
inline constexpr u64 no_branch = off_scale;
inline constexpr u64 no_state = off_scale;

/// Tokens between two places where a state can be kept. pre: one of 64 and page divides the other.
constexpr u64 state_chunk(u64 page) noexcept {
    return larger(64, page);
}

/// Where the step keeps its state (extra-buffer strategies), or no_state. The branch point wins over the end.
constexpr u64 state_kept_at(const PrefillStep& step, u64 chunk) noexcept {
    if (step.fresh < chunk) {
        return no_state;
    }
    const bool inside =
        step.branch != no_branch && step.branch > step.prefix && step.branch < step.prefix + step.fresh;
    return inside && (step.branch - step.prefix) % chunk == 0 ? step.branch
                                                              : step.prefix + round_down(step.fresh, chunk);
}

}  // namespace kvcap::inline v1::sglang
