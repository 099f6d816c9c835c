// SPDX-License-Identifier: MIT
// vLLM's lookups against its managers and coordinator written out block by block, on random caches.
#include "random.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <kvcap/engine/vllm/hits.hpp>
#include <string>
#include <vector>

namespace reuse_vllm_tests {

using namespace kvcap;
using property::Random;
using vllm::LookupGroup;
using vllm::SpecKind;

namespace {

/// The blocks a manager hands over: true = cached, false = null block.
using Cells = std::vector<bool>;

struct Store {
    std::vector<LookupGroup> groups;
    std::vector<std::vector<u64>> words;
    std::vector<std::vector<u64>> partial;

    bool has(const std::vector<u32>& members, u64 block) const {
        return std::all_of(members.begin(), members.end(), [&](u32 g) {
            return block < groups[g].held.count && (words[g][block / 64] >> (block % 64) & 1) != 0;
        });
    }
    bool ends(const std::vector<u32>& members, u64 tokens) const {
        return std::all_of(members.begin(), members.end(), [&](u32 g) {
            return std::find(partial[g].begin(), partial[g].end(), tokens) != partial[g].end();
        });
    }
};

struct Answer {
    u64 tokens = 0;
    Cells cells;
};

Answer find_full(const Store& store, const std::vector<u32>& members, u64 most, u64 alignment, bool drop) {
    const u64 block = store.groups[members[0]].block;
    u64 blocks = 0;
    while (blocks < most / block && store.has(members, blocks)) {
        ++blocks;
    }
    u64 tokens = blocks * block;
    if (alignment < block && block % alignment == 0) {
        for (u64 at = std::min(most, tokens + block - 1) / alignment * alignment; at > blocks * block;
             at -= alignment) {
            if (store.ends(members, at)) {
                tokens = at;
                break;
            }
        }
    }
    if (drop && tokens > 0) {
        tokens -= std::min(alignment, block);
    }
    tokens -= tokens % alignment;
    return {tokens, Cells(ceil_div(tokens, block), true)};
}

Answer find_window(const Store& store, const std::vector<u32>& members, u64 most, u64 alignment, bool drop) {
    const LookupGroup& group = store.groups[members[0]];
    const u64 block = group.block;
    const u64 need = (group.span - 1 + block - 1) / block + (drop ? 1 : 0);
    Cells cells(most / block, false);
    u64 run = 0;
    bool matched = false;
    for (u64 i = most / block; i-- > 0;) {
        if (!store.has(members, i)) {
            run = 0;
            continue;
        }
        if (run == 0 && block != alignment && (drop ? i : i + 1) * block % alignment != 0) {
            continue;
        }
        cells[i] = true;
        if (++run >= need) {
            cells.resize(i + run);
            std::fill(cells.begin(), cells.begin() + static_cast<std::ptrdiff_t>(i), false);
            matched = true;
            break;
        }
    }
    if (!matched) {
        cells.resize(run);
        while (block != alignment && cells.size() * block % alignment != 0) {
            cells.pop_back();
        }
    }
    if (drop && !cells.empty()) {
        cells.pop_back();
        while (block != alignment && cells.size() * block % alignment != 0) {
            cells.pop_back();
        }
    }
    return {cells.size() * block, cells};
}

Answer find_chunk(const Store& store, const std::vector<u32>& members, u64 most) {
    const LookupGroup& group = store.groups[members[0]];
    const u64 start = most / group.span * group.span / group.block;
    Cells cells(start, false);
    for (u64 i = start; i < most / group.block && store.has(members, i); ++i) {
        cells.push_back(true);
    }
    return {cells.size() * group.block, cells};
}

Answer find_state(const Store& store, const std::vector<u32>& members, u64 most, u64 alignment) {
    const u64 block = store.groups[members[0]].block;
    for (u64 at = most; at > 0; --at) {
        const bool whole = at % block == 0 && at % alignment == 0 && store.has(members, at / block - 1);
        if (whole || (alignment < block && at % alignment == 0 && store.ends(members, at))) {
            Cells cells(ceil_div(at, block), false);
            cells.back() = true;
            return {at, cells};
        }
    }
    return {};
}

Answer find(const Store& store, const std::vector<u32>& members, u64 most, u64 alignment, bool drop) {
    switch (store.groups[members[0]].kind) {
        case SpecKind::window: return find_window(store, members, most, alignment, drop);
        case SpecKind::chunked: return find_chunk(store, members, most);
        case SpecKind::state: return find_state(store, members, most, alignment);
        default: return find_full(store, members, most, alignment, drop);
    }
}

struct Expected {
    u64 tokens = 0;
    u64 missed = 0;
    std::vector<Cells> cells;
};

bool full_kind(const Store& store, const std::vector<u32>& members) {
    return store.groups[members[0]].kind == SpecKind::full || store.groups[members[0]].kind == SpecKind::mla;
}

Expected coordinate(const Store& store, const vllm::Lookup& asked, bool fine) {
    const auto drafted = [&](u32 g) {
        const bool flagged =
            std::any_of(store.groups.begin(), store.groups.end(), [](const auto& x) { return x.drafts; });
        return store.groups[g].drafts || (asked.speculative && !flagged);
    };
    Expected expected;
    expected.cells.resize(store.groups.size());
    if (store.groups.size() == 1) {
        const Answer answer = find(store, {0}, asked.most, store.groups[0].block, drafted(0));
        expected.tokens = answer.tokens;
        expected.cells[0] = answer.cells;
        return expected;
    }
    std::vector<std::vector<u32>> classes;
    for (const bool full : {true, false}) {
        for (u32 g = 0; g < store.groups.size(); ++g) {
            if (full_kind(store, {g}) != full) {
                continue;
            }
            const auto same = std::find_if(classes.begin(), classes.end(), [&](const auto& members) {
                return store.groups[members[0]].same_spec(store.groups[g]);
            });
            if (same == classes.end()) {
                classes.push_back({g});
            } else {
                same->push_back(g);
            }
        }
    }
    const u64 alignment = fine ? asked.hash_block : asked.scheduler_block;
    const bool two = classes.size() == 2 && full_kind(store, classes[0]);
    std::vector<bool> verified(classes.size(), false);
    std::vector<Answer> found(classes.size());
    std::vector<bool> looked(classes.size(), false);
    u64 hit = asked.most;
    u64 longest = 0;
    while (true) {
        u64 current = hit;
        for (std::size_t c = 0; c < classes.size(); ++c) {
            const std::vector<u32>& members = classes[c];
            const LookupGroup& group = store.groups[members[0]];
            if (full_kind(store, members) && looked[c]) {
                current = std::min(current, found[c].tokens);
                continue;
            }
            const bool drafts = std::any_of(members.begin(), members.end(), drafted);
            const bool drop = drafts && !verified[c];
            u64 most = current;
            if (drop && group.kind != SpecKind::state) {
                const bool units = fine && full_kind(store, members) && group.block > asked.hash_block;
                most = std::min(current + (units ? asked.hash_block : group.block), asked.most);
            }
            found[c] = find(store, members, most, alignment, drop);
            looked[c] = true;
            if (drop) {
                verified[c] = true;
            } else if (found[c].tokens < current) {
                verified.assign(classes.size(), false);
            }
            current = found[c].tokens;
            longest = std::max(longest, current);
        }
        if (current >= hit) {
            break;
        }
        hit = current;
        if (two) {
            break;
        }
    }
    if (full_kind(store, classes[0])) {
        found[0].cells.resize(
            std::min<std::size_t>(found[0].cells.size(), ceil_div(hit, store.groups[classes[0][0]].block)));
    }
    expected.tokens = hit;
    expected.missed = longest - hit;
    for (std::size_t c = 0; c < classes.size(); ++c) {
        for (const u32 g : classes[c]) {
            expected.cells[g] = found[c].cells;
        }
    }
    return expected;
}

Cells cells_of(const vllm::Found& found) {
    Cells cells(found.null_blocks, false);
    cells.resize(found.blocks, true);
    return cells;
}

TEST_CASE("vLLM lookups equal the coordinator written out", "[reuse]") {
    Random random{property::seed() + 50};
    u64 hits = 0;
    u64 fine_cases = 0;
    const u64 cases = property::cases(20'000);
    for (u64 i = 0; i < cases; ++i) {
        INFO("seed " << property::seed() << ", case " << i);
        Store store;
        const u32 count = random.in32(1, 5);
        const u64 base = u64{4} << random.in(0, 3);
        const bool mixed = random.chance(40);
        const bool chunked = !mixed && random.chance(15);
        const bool fine_wanted = random.chance(25);
        const u64 prompt = random.log_in(2000);
        for (u32 g = 0; g < count; ++g) {
            LookupGroup group;
            const u64 kind = random.in(0, 4);
            group.kind = kind == 0 ? SpecKind::mla : kind < 2 ? SpecKind::full : kind == 2 ? SpecKind::state
                         : chunked ? SpecKind::chunked : SpecKind::window;
            group.block = mixed ? base << random.in(0, 3) : base;
            if (fine_wanted) {
                group.kind = kind < 3 ? SpecKind::full : SpecKind::state;
                group.block = base * 8;
            }
            group.span = group.kind == SpecKind::window || group.kind == SpecKind::chunked
                             ? random.log_in(300) : 0;
            group.drafts = !chunked && random.chance(15);
            if (g > 0 && random.chance(20)) {
                const bool drafts = group.drafts;
                group = store.groups[random.in(0, g - 1)];
                group.drafts = drafts;
            }
            store.groups.push_back(group);
        }
        for (LookupGroup& group : store.groups) {
            const u64 blocks = prompt / group.block;
            std::vector<u64> words(blocks / 64 + 1, 0);
            const u64 style = random.in(0, 3);
            bool bit = true;
            for (u64 b = 0; b < blocks; ++b) {
                bit = style == 0 ? true : style == 1 ? random.chance(50) : random.chance(15) ? !bit : bit;
                words[b / 64] |= u64{bit ? 1u : 0u} << (b % 64);
            }
            store.words.push_back(std::move(words));
            std::vector<u64> partial;
            for (u64 at = base; fine_wanted && at <= prompt; at += base) {
                if (at % group.block != 0 && random.chance(20)) {
                    partial.push_back(at);
                }
            }
            store.partial.push_back(std::move(partial));
        }
        for (u32 g = 0; g < count; ++g) {
            store.groups[g].held = {store.words[g].data(), prompt / store.groups[g].block};
            store.groups[g].partial = store.partial[g].data();
            store.groups[g].partials = static_cast<u32>(store.partial[g].size());
        }
        vllm::Lookup asked{.groups = store.groups.data(), .count = count, .most = prompt - random.in(0, 1),
                           .speculative = !chunked && random.chance(30)};
        const vllm::Blocks blocks = vllm::resolve_blocks(asked.groups, count, fine_wanted ? base : 0).value();
        asked.scheduler_block = blocks.scheduler;
        asked.hash_block = blocks.hash;
        const auto all_of = [&](auto keeps) {
            return std::all_of(store.groups.begin(), store.groups.end(), keeps);
        };
        const bool fine = count > 1 && !all_of([&](const auto& group) {
                              return group.kind != SpecKind::state || group.block <= asked.hash_block;
                          }) &&
                          all_of([&](const auto& group) {
                              return group.kind == SpecKind::state || group.kind == SpecKind::full ||
                                     group.kind == SpecKind::mla || group.block == asked.hash_block;
                          });
        fine_cases += fine ? 1 : 0;
        const Expected want = coordinate(store, asked, fine);
        const Result<vllm::Lookedup> got = vllm::look_up(asked);
        REQUIRE(got.has_value());
        REQUIRE(got->tokens == want.tokens);
        REQUIRE(got->missed == want.missed);
        REQUIRE(got->per_group.size() == count);
        for (u32 g = 0; g < count; ++g) {
            REQUIRE(cells_of(got->per_group[g]) == want.cells[g]);
        }
        hits += want.tokens > 0 ? 1 : 0;
    }
    REQUIRE(hits >= property::at_least(2'001, 20'000));
    REQUIRE(fine_cases >= property::at_least(1'001, 20'000));
}

}  // namespace

}  // namespace reuse_vllm_tests
