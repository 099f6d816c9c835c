// SPDX-License-Identifier: MIT
// Which prefix does TensorRT-LLM's second-generation cache manager reuse of a chain of key-matched blocks?
// The whole chain, its short tail included, cut to the deepest end where every group still has the pages it
// needs: a window W wants pages from floor(max(0, t + 1 - W) / block) on, i.e. the W - 1 tokens before the
// end t, and always the last. Source: kv_cache_manager_v2 (27efb004dedb, f4faed18a1a3).
#pragma once

#include <kvcap/reuse/descent.hpp>

namespace kvcap::inline v1::trtllm {

/// window 0: full attention. pages: which blocks of the matched chain the group still has.
struct MatchedGroup {
    u64 window = 0;
    PageBits pages{};
};

/// matched: tokens of the chain; the last block may be short. Errc::capacity beyond most_groups.
constexpr Result<u64> reused_tokens(const MatchedGroup* groups, u32 count, u64 matched, u64 block) noexcept {
    if (block == 0) {
        return Errc::zero_dimension;
    }
    if (count > most_groups) {
        return Error{.code = Errc::capacity, .got = count, .want = most_groups};
    }
    Group<> rules[most_groups]{};
    for (u32 g = 0; g < count; ++g) {
        const u64 window = groups[g].window;
        rules[g] = {.rule = {.needs = window == 0 ? Needs::everything : Needs::window, .page = block,
                             .reach = larger(1, reach_of(window, WindowEdge::past))},
                    .pages = groups[g].pages};
    }
    return common_floor(rules, count, matched, Grid{.unit = block, .tail = matched});
}

}  // namespace kvcap::inline v1::trtllm
