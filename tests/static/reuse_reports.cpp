// SPDX-License-Identifier: MIT
// Public reports about prefix reuse, as facts: what was expected to be skipped, and what was. Identity reports are in
// tests/unit/identity.cpp.
#include <kvcap/core.hpp>
#include <kvcap/engine/vllm/hits.hpp>
#include <kvcap/reuse.hpp>

using namespace kvcap;

namespace {

/// Blocks [0, solid) and the one at `also`.
struct Bits {
    u64 words[4]{};

    constexpr explicit Bits(u64 solid, u64 also = no_page) noexcept {
        for (u64 page = 0; page < 256; ++page) {
            words[page / 64] |= u64{page < solid || page == also ? 1u : 0u} << (page % 64);
        }
    }
    constexpr PageBits view() const noexcept { return {words, 256}; }
};

constexpr u64 attention_and_state(u64 block, const Bits& pages, const Bits& states, u64 most, bool drafts = false) {
    const vllm::LookupGroup groups[] = {
        {.kind = vllm::SpecKind::full, .drafts = drafts, .block = block, .held = pages.view()},
        {.kind = vllm::SpecKind::state, .block = block, .held = states.view()}};
    return vllm::look_up({.groups = groups, .count = 2, .most = most, .scheduler_block = block, .hash_block = block})
        .value()
        .tokens;
}

// syv-ai/qwen38-27b-rtx3090#102: a prompt repeated word for word computes at least its last token, so a prompt of whole
// blocks computes its last block again; else the rest, up to block - 1 tokens.
static_assert(attention_and_state(480, Bits{7}, Bits{7}, 7 * 480 - 1) == 6 * 480);
static_assert(attention_and_state(480, Bits{7}, Bits{7}, 7 * 480 + 448 - 1) == 7 * 480);
static_assert(attention_and_state(864, Bits{7}, Bits{7}, 7 * 864 + 832 - 1) == 7 * 864);
static_assert(attention_and_state(864, Bits{1}, Bits{1}, 864 - 1) == 0);

// vllm#45238: 1,500 shared tokens in blocks of 528. A state kept only at the prompt's end lies in what is not shared.
static_assert(attention_and_state(528, Bits{2}, Bits{0}, 2199) == 0);
static_assert(attention_and_state(528, Bits{2}, Bits{0, 1}, 2199) == 1056);

// vllm#51250: 55,009 tokens twice, blocks of 784: 54,880. A drafter's window group without blocks vetoes all of it.
static_assert(attention_and_state(784, Bits{70}, Bits{70}, 55'008) == 54'880);
constexpr u64 with_draft_window(u64 held) {
    const Bits all{70};
    const Bits window{held};
    const vllm::LookupGroup groups[] = {
        {.kind = vllm::SpecKind::full, .block = 784, .held = all.view()},
        {.kind = vllm::SpecKind::state, .block = 784, .held = all.view()},
        {.kind = vllm::SpecKind::window, .block = 784, .span = 2048, .held = window.view()}};
    return vllm::look_up({.groups = groups, .count = 3, .most = 55'008, .scheduler_block = 784, .hash_block = 784})
        .value()
        .tokens;
}
static_assert(with_draft_window(0) == 0 && with_draft_window(70) == 54'880);

// vllm#52244: with a drafter one unit is given back: max((n - 1 - U) / U * U, 0), for its nine settings' units.
constexpr bool gives_a_unit_back(u64 unit) {
    const u64 prompts[] = {unit, unit + 1, 2 * unit, 2 * unit + 1, 5 * unit + unit / 2, 9 * unit};
    for (const u64 n : prompts) {
        const u64 want = n - 1 < unit ? 0 : (n - 1 - unit) / unit * unit;
        if (attention_and_state(unit, Bits{100}, Bits{100}, n - 1, true) != want) {
            return false;
        }
    }
    return true;
}
static_assert(gives_a_unit_back(4416) && gives_a_unit_back(1104) && gives_a_unit_back(276));

// vllm#56615: what a drafter drops at look-up must have been stored. Attention only up to B, state at B: nothing;
// attention one unit further: B.
static_assert(attention_and_state(64, Bits{8}, Bits{0, 7}, 4000, true) == 0);
static_assert(attention_and_state(64, Bits{9}, Bits{0, 7}, 4000, true) == 512);

// vllm#53749: a shared prefix shorter than a block of 1,056 is never hit; with a match unit of 352, 704 of 883 tokens.
constexpr u64 shared_prefix(u64 shared, u64 unit) {
    const u64 ends[] = {352, 704};
    const Bits none{shared / 1056};
    const vllm::LookupGroup groups[] = {
        {.kind = vllm::SpecKind::full, .block = 1056, .held = none.view(), .partial = ends, .partials = 2},
        {.kind = vllm::SpecKind::state, .block = 1056, .held = none.view(), .partial = ends, .partials = 2}};
    const vllm::Blocks blocks = vllm::resolve_blocks(groups, 2, unit).value();
    return vllm::look_up({.groups = groups, .count = 2, .most = 5000, .scheduler_block = blocks.scheduler,
                          .hash_block = blocks.hash})
        .value()
        .tokens;
}
static_assert(shared_prefix(908, 0) == 0 && shared_prefix(883, 352) == 704);

// sglang#35515: only the last window of an idle branch is kept. One of its two blocks evicted, and nothing is left.
constexpr u64 idle_branch(const Bits& window) {
    const Bits pages{200};
    const Group<> groups[] = {{{.needs = Needs::everything, .page = 64}, pages.view()},
                              {{.needs = Needs::window, .page = 64, .reach = 127}, window.view()}};
    return reusable(groups, 2, Ask{.prompt = 12'801, .limit = 12'800, .grid = {.unit = 64}});
}
constexpr Bits last_window = [] {
    Bits bits{0, 199};
    bits.words[3] |= u64{1} << (198 - 192);
    return bits;
}();
static_assert(idle_branch(last_window) == 12'800 && idle_branch(Bits{0, 199}) == 0);

// sglang#10214: stages that evict apart skip what all of them hold.
constexpr u64 both_stages(const Bits& first, const Bits& second) {
    const u64* const words[] = {first.words, second.words};
    const Group<ShardBits> group{{.needs = Needs::everything, .page = 16}, {.words = words, .ranks = 2, .count = 256}};
    return reusable(&group, 1, Ask{.prompt = 4096, .limit = 4095, .grid = {.unit = 16}});
}
static_assert(both_stages(Bits{40}, Bits{25}) == 25 * 16 && both_stages(Bits{25}, Bits{40}) == 25 * 16);

}  // namespace
