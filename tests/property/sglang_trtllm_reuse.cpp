// SPDX-License-Identifier: MIT
// Laws of two reuse simulators on random traffic: SGLang's trees against a page-by-page trie, and
// TensorRT-LLM's blocks, none of which may be lost or given out twice.
#include "random.hpp"

#include <catch2/catch.hpp>
#include <kvcap/engine/sglang/tree.hpp>
#include <kvcap/engine/trtllm/reuse.hpp>

namespace sglang_trtllm_reuse_tests {

using namespace kvcap;
using namespace property;

namespace {

using Tokens_ = std::vector<u64>;

/// Prompts that share prefixes: a few stems, cut and continued.
Tokens_ random_prompt(Random& random) {
    Tokens_ tokens;
    const u64 stem = random.in(1, 3);
    for (u64 i = random.in(0, 60); i-- > 0;) {
        tokens.push_back(stem * 1000 + tokens.size());
    }
    const u64 branch = random.in(1, 4);
    for (u64 i = random.in(1, 40); i-- > 0;) {
        tokens.push_back(branch * 100'000 + tokens.size());
    }
    return tokens;
}

/// One node a page. end: a boundary of the real tree's nodes lies behind this page.
struct Trie {
    std::map<Tokens_, std::unique_ptr<Trie>> next;
    bool live = false;
    bool end = false;
    bool state = false;
};

/// What the rules say page by page, without eviction: live tokens, ends of nodes, states.
struct Oracle {
    Trie root;
    u64 page = 1;
    u64 window = 0;
    bool states = false;

    Tokens_ page_of(const Tokens_& tokens, u64 i) const {
        const auto from = tokens.begin() + static_cast<std::ptrdiff_t>(i * page);
        return {from, from + static_cast<std::ptrdiff_t>(page)};
    }

    std::vector<Trie*> path(const Tokens_& tokens) {
        std::vector<Trie*> nodes;
        Trie* at = &root;
        for (u64 i = 0; i < tokens.size() / page; ++i) {
            const auto found = at->next.find(page_of(tokens, i));
            if (found == at->next.end()) {
                break;
            }
            nodes.push_back(at = found->second.get());
        }
        return nodes;
    }

    u64 lookup(const Tokens_& tokens) {
        const std::vector<Trie*> nodes = path(tokens);
        if (!nodes.empty()) {
            nodes.back()->end = true;  // the lookup cuts the node it ends in
        }
        u64 best = 0;
        u64 run = 0;
        bool hole = false;
        for (u64 i = 0; i < nodes.size(); ++i) {
            run = nodes[i]->live ? run + page : 0;
            hole = hole || !nodes[i]->live;
            const bool in_window = window == 0 || (nodes[i]->live && (!hole || run >= window));
            best = nodes[i]->end && in_window && (!states || nodes[i]->state) ? (i + 1) * page : best;
        }
        return best;
    }

    /// Returns how much was there already.
    u64 insert(const Tokens_& tokens, u64 released) {
        const std::vector<Trie*> before = path(tokens);
        Trie* at = before.empty() ? &root : before.back();
        at->end = true;
        const u64 length = tokens.size() / page;
        for (u64 i = before.size(); i < length; ++i) {
            at = (at->next[page_of(tokens, i)] = std::make_unique<Trie>()).get();
        }
        const std::vector<Trie*> nodes = path(tokens);
        heal(nodes, before.size(), released / page);
        place(nodes, before.size(), released / page);
        if (!nodes.empty()) {
            nodes.back()->state = states;
        }
        return before.size() * page;
    }

    /// Tombstones of the shared part get data again from the released boundary on; the first one is cut
    /// there.
    void heal(const std::vector<Trie*>& nodes, u64 shared, u64 released) const {
        if (window != 0 && released > 0 && released < shared && !nodes[released]->live) {
            nodes[released - 1]->end = true;
        }
        for (u64 i = released; window != 0 && i < shared; ++i) {
            nodes[i]->live = true;
        }
    }

    /// A new leaf is cut at the released boundary, and before a tail of one window.
    void place(const std::vector<Trie*>& nodes, u64 shared, u64 released) const {
        const u64 tail = ceil_div(window, page);
        for (u64 i = shared; i < nodes.size(); ++i) {
            nodes[i]->live = i >= released;
            const bool front = nodes.size() - (i + 1) == tail && i + 1 > larger(shared, released);
            nodes[i]->end = i + 1 == nodes.size() || (window != 0 && (i + 1 == released || front));
        }
    }
};

}  // namespace

TEST_CASE("SGLang's trees agree with a trie that has no nodes", "[engine][sglang][reuse]") {
    Random random{seed()};
    for (u64 run = 0; run < cases(300); ++run) {
        const u64 page = u64{1} << random.in(0, 3);
        const u64 window = random.chance(60) ? random.in(1, 20) : 0;
        const bool states = random.chance(40);
        sglang::RadixTree tree{{.page = page, .window = window, .states = states, .state_chunk = 16}};
        Oracle oracle{.root = {}, .page = page, .window = window, .states = states};
        INFO("run " << run << " seed " << seed() << " page " << page << " window " << window << " states "
                    << states);
        for (u64 step = 0; step < 30; ++step) {
            const Tokens_ tokens = random_prompt(random);
            INFO("step " << step);
            if (random.chance(50)) {
                REQUIRE(tree.lookup(tokens).hit == oracle.lookup(tokens));
            } else {
                const u64 released = window == 0 ? 0 : random.in(0, tokens.size() / page) * page;
                REQUIRE(tree.insert({.tokens = tokens, .released = released}).present ==
                        oracle.insert(tokens, released));
            }
        }
    }
}

TEST_CASE("evicting SGLang's trees frees what was there, but not what is locked", "[engine][sglang][reuse]") {
    Random random{seed()};
    for (u64 run = 0; run < cases(200); ++run) {
        const u64 window = random.chance(50) ? random.in(1, 20) : 0;
        const bool states = random.chance(50);
        sglang::RadixTree tree{{.window = window, .states = states, .unified = window != 0 || states,
                                .eviction = static_cast<sglang::Eviction>(random.in(0, 6))}};
        u64 stored = 0;
        for (u64 step = 0; step < 20; ++step) {
            const Tokens_ tokens = random_prompt(random);
            stored += tokens.size() - tree.insert({.tokens = tokens}).present;
        }
        const auto lock = tree.lock(tree.lookup(random_prompt(random)).node);
        const u64 locked = tree.locked().full;
        CHECK(tree.evictable().full + locked == stored);
        stored -=
            tree.evict({.full = random.in(1, 100), .window = random.in(0, 50), .states = random.in(0, 3)})
                .full;
        CHECK(tree.evictable().full + tree.locked().full == stored);
        stored -= tree.evict({.full = off_scale}).full;
        CHECK(tree.locked().full == stored);
        CHECK(tree.locked().full == locked);
        tree.unlock(lock);
        CHECK(tree.locked().full == 0);
        CHECK(tree.evict({.full = off_scale}).full == stored);
        CHECK(tree.evictable().full + tree.evictable().window + tree.evictable().states == 0);
    }
}

TEST_CASE("TensorRT-LLM gives no block twice and reuses at most all but the last token",
          "[engine][trtllm][reuse]") {
    Random random{seed()};
    for (u64 run = 0; run < cases(200); ++run) {
        const trtllm::ReuseRules rules{.tokens_per_block = u64{1} << random.in(1, 4),
                                       .primary_blocks = random.in(60, 120),
                                       .secondary_blocks = random.in(0, 40),
                                       .partial = random.chance(70),
                                       .copy_on_partial = random.chance(70)};
        trtllm::BlockReuse reuse{rules};
        std::map<u64, u64> running;
        for (u64 id = 0; id < 60; ++id) {
            INFO("run " << run << " request " << id << " seed " << seed());
            const trtllm::Prompt prompt{.tokens = random_prompt(random)};
            const auto reused = reuse.start(id, prompt);
            if (reused) {
                REQUIRE(*reused < prompt.tokens.size());
                running[id] = prompt.tokens.size();
                const std::vector<u64> blocks = reuse.window(0).block_ids(id);
                REQUIRE(blocks.size() == ceil_div(prompt.tokens.size(), rules.tokens_per_block));
                REQUIRE(std::set<u64>(blocks.begin(), blocks.end()).size() == blocks.size());
            }
            while (!running.empty() && (!reused || random.chance(40))) {
                reuse.finish(running.begin()->first);
                running.erase(running.begin());
                if (!reused) {
                    break;
                }
            }
        }
        for (const auto& [id, length] : running) {
            reuse.finish(id);
        }
        const trtllm::Prompt again{.tokens = random_prompt(random)};
        REQUIRE(reuse.start(1000, again));
        reuse.finish(1000);
        CHECK(*reuse.start(1001, again) == again.tokens.size() - 1);
    }
}

}  // namespace sglang_trtllm_reuse_tests
