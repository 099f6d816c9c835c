// SPDX-License-Identifier: MIT
// Why does an engine skip less of a prompt than it could? A chain of answers, each found by evaluating the
// question again with one more of the engine's rules lifted: first the rules of its look-up, up to what the
// pages that lie there would allow, then those that decide what is kept, up to what was computed before.
#pragma once

#include <kvcap/report/amount.hpp>
#include <kvcap/reuse/explain.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap::inline v1::report {

/// What was lifted. Look-up rules come first; from `evicted` on they say what is kept.
enum class EngineRule : u8 {
    draft_block,     // a drafter's look-ahead unit is dropped from every hit
    from_the_start,  // a window's early blocks must be there as well
    chunk_window,    // a chunk is treated as a window of its length
    whole_window,    // the whole window before the boundary is wanted, not one token less
    window_of_one,   // a window that needs no earlier token still wants a block
    inside_block,    // a block serves as a whole, or up to an end that was stored in it
    own_rules,       // the rest of the look-up
    last_token,      // the last token is computed, and with it its whole block
    whole_blocks,    // hits end where a block ends
    common_blocks,   // hits end where blocks of all groups end
    evicted,         // given to other requests
    taken_over,      // a later request that matched part of a block went on in it
    not_registered,  // only what the retention interval asks for is kept
    draft_stored,    // storing waits for the drafter's look-ahead
    step_ends,       // a state is kept only where a step or a request ended
    window_freed,    // what slid out of the window was given back
    stored_blocks,   // whole blocks are stored
    stored_units,    // several groups store up to a common multiple of their blocks
    others,          // several rules that were not told apart
};

inline constexpr u32 engine_rules = static_cast<u32>(EngineRule::others) + 1;

constexpr bool is_of_lookup(EngineRule rule) noexcept {
    return rule < EngineRule::evicted;
}

/// tokens: gained when the rule is lifted after those before it in the list. unit: the rule's block or unit,
/// where it has one.
struct Lifted {
    EngineRule rule = EngineRule::others;
    u64 tokens = 0;
    u64 unit = 0;
    friend bool operator==(const Lifted&, const Lifted&) = default;
};

/// hit <= ideal, unless `beyond`: the engine takes more than the pages allow. lifted: sums to ideal - hit.
/// tail: a boundary of the ideal's beside the multiples; off_scale: there is none.
struct Compared {
    u64 hit = 0;
    u64 ideal = 0;
    u64 alignment = 1;  ///< the engine's boundaries are its multiples
    std::vector<Lifted> lifted{};
    u64 tail = off_scale;

    bool beyond() const { return hit > ideal; }

    /// The answer is `tokens` with one more rule lifted. Nothing is noted when nothing is gained.
    void lift(EngineRule rule, u64 tokens, u64 unit = 0) {
        if (tokens > ideal) {
            lifted.push_back({rule, tokens - ideal, unit});
            ideal = tokens;
        }
    }
};

constexpr std::string_view name_of(EngineRule rule) noexcept {
    constexpr std::string_view names[engine_rules] = {
        "draft_block",  "from_the_start", "chunk_window",   "whole_window", "window_of_one",
        "inside_block", "own_rules",      "last_token",     "whole_blocks", "common_blocks",
        "evicted",      "taken_over",     "not_registered", "draft_stored", "step_ends",
        "window_freed", "stored_blocks",  "stored_units",   "others"};
    return names[static_cast<u32>(rule)];
}

/// "hits end where a block of 16 ends"
inline std::string words_of(const Lifted& lifted) {
    const std::string unit = grouped(lifted.unit);
    switch (lifted.rule) {
        case EngineRule::draft_block: return "the drafter's look-ahead block is computed again";
        case EngineRule::from_the_start: return "the search starts at block 0, also in windows";
        case EngineRule::chunk_window: return "a chunk of " + unit + " is treated as a window";
        case EngineRule::whole_window:
            return "all " + unit + " tokens of the window are wanted, not " +
                   grouped(lifted.unit - smaller(lifted.unit, 1));
        case EngineRule::window_of_one: return "a window of 1 still wants a block of its own";
        case EngineRule::inside_block: return "a block serves whole, or up to an end stored inside it";
        case EngineRule::own_rules: return "the look-up goes its own way";
        case EngineRule::last_token: return "the last token is computed, and with it its block of " + unit;
        case EngineRule::whole_blocks: return "hits end where a block of " + unit + " ends";
        case EngineRule::common_blocks: return "hits end where blocks of all groups do: multiples of " + unit;
        case EngineRule::evicted: return "evicted";
        case EngineRule::taken_over: return "a later prompt that matched part of the block went on in it";
        case EngineRule::not_registered: return "windows and states are kept at a request's own ends only";
        case EngineRule::draft_stored: return "stored late, behind the drafter's look-ahead";
        case EngineRule::step_ends: return "states are kept only where a step or a request ended";
        case EngineRule::window_freed: return "what slid out of the window was given back";
        case EngineRule::stored_blocks: return "only whole blocks of " + unit + " are stored";
        case EngineRule::stored_units:
            return "stored up to multiples of " + unit + ", which all groups share";
        case EngineRule::others: break;
    }
    return "by several rules together";
}

/// One group of caches under an engine. draft: it holds a drafter's look-ahead. window: tokens before a
/// boundary that the engine wants of a window or chunk, where that is not its length; 0: its length.
struct EngineGroup {
    Group<> group{};
    bool draft = false;
    u64 window = 0;
};

/// The greatest boundary that these groups accept. pre: fault() finds none
inline u64 allowed(const std::vector<Group<>>& groups, u64 limit, const Grid& grid) {
    return common_floor(groups.data(), static_cast<u32>(groups.size()), limit, grid);
}

/// Lifts the engine's grid: from multiples of `compared.alignment` to the boundaries of `grid`. The last
/// token is to blame where the whole prompt would have been hit but for it.
inline void lift_grid(Compared& compared, const std::vector<Group<>>& groups, const Ask& ask,
                      const Grid& grid, bool common) {
    const u64 most = allowed(groups, ask.limit, grid);
    const bool last =
        ask.limit + 1 == ask.prompt && allowed(groups, ask.prompt, Grid{.unit = compared.alignment}) > most;
    const EngineRule rule = last     ? EngineRule::last_token
                            : common ? EngineRule::common_blocks
                                     : EngineRule::whole_blocks;
    compared.lift(rule, most, compared.alignment);
}

}  // namespace kvcap::inline v1::report
