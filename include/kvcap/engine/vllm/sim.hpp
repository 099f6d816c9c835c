// SPDX-License-Identifier: MIT
// What does vLLM's pool hold after requests have run, one after the other? A simulator of admission, chunked
// prefill, decoding, retention, eviction and reuse over exact keys, for studying a workload without a GPU.
// Sources: v1/core/kv_cache_manager.py, kv_cache_coordinator.py, sched/scheduler.py
// `_mamba_block_aligned_split`.
#pragma once

#include <kvcap/engine/vllm/hits.hpp>
#include <kvcap/engine/vllm/sim/keys.hpp>
#include <kvcap/engine/vllm/sim/table.hpp>

namespace kvcap::inline v1::vllm {

/// blocks: of the pool, with the null block. step: most tokens of one step. lookahead: slots a drafter takes
/// besides. dense, retention: prefix_cache_retention_interval.
struct SimOptions {
    std::vector<SimGroup> groups{};
    u64 blocks = 0;
    u64 step = 8192;
    u64 scheduler_block = 16;
    u64 hash_block = 16;
    u64 lookahead = 0;
    bool speculative = false;
    bool context_parallel = false;
    bool dense = false;
    u64 retention = 0;
};

/// hits: per group, as handed over. present: per group, which full blocks of the request can be found
/// afterwards. partial: per group, which hash boundaries inside blocks can be. steps: tokens of each.
struct SimResult {
    bool rejected = false;
    u64 hit_tokens = 0;
    u64 junction = 0;
    std::vector<Found> hits{};
    std::vector<u64> steps{};
    u64 peak = 0;
    std::vector<u64> peak_of_group{};
    std::vector<std::vector<bool>> present{};
    std::vector<std::vector<u64>> partial{};
    u64 free_blocks = 0;
};

class Simulator {
public:
    /// pre: blocks > 0, at most 64 groups
    explicit Simulator(SimOptions options) : options_{std::move(options)}, pool_{options_.blocks} {
        bool flagged = false;
        for (const SimGroup& group : options_.groups) {
            flagged = flagged || group.drafts;
        }
        for (SimGroup& group : options_.groups) {
            group.drafts = group.drafts || (options_.speculative && !flagged);
            tables_.emplace_back(group, static_cast<u32>(tables_.size()));
        }
    }

    /// Runs a request to its end and frees it.
    SimResult run(const SimRequest& request) {
        SimResult result;
        result.peak_of_group.resize(tables_.size());
        std::vector<u64> tokens = request.tokens;
        std::vector<u64> chain;
        extend_chain(keys_, request, tokens, options_.hash_block, chain);
        const std::vector<std::vector<u32>> hits = find_hits(chain, tokens.size(), result);
        u64 computed = result.hit_tokens;
        const u64 prompt = request.tokens.size();
        const u64 end = prompt + request.decoded.size();
        while (computed < end && !result.rejected) {
            if (computed >= prompt) {
                tokens.push_back(request.decoded[computed - prompt]);
                extend_chain(keys_, request, tokens, options_.hash_block, chain);
            }
            const u64 more = computed < prompt ? prefill(computed, prompt, result.junction) : 1;
            result.rejected = more == 0 || !allocate(computed, more, prompt, hits, result);
            if (!result.rejected) {
                computed += more;
                cache(chain, computed, prompt, result);
            }
        }
        finish(chain, tokens.size(), result);
        return result;
    }

    u64 free_blocks() const { return pool_.free_blocks(); }

    /// Presence words and partial boundaries of a chain, group by group. Groups point into the words.
    struct Seen {
        std::vector<LookupGroup> groups;
        std::vector<std::vector<u64>> words;
        std::vector<std::vector<u64>> partial;
    };

    /// What of a prompt can be found now; nothing is touched.
    Seen seen(const SimRequest& request) {
        std::vector<u64> chain;
        extend_chain(keys_, request, request.tokens, options_.hash_block, chain);
        return seen(chain);
    }

    /// The question that a prompt of so many tokens asks. Points into `all`.
    Lookup lookup(const Seen& all, u64 prompt) const {
        return {.groups = all.groups.data(), .count = static_cast<u32>(all.groups.size()),
                .most = prompt == 0 ? 0 : prompt - 1, .scheduler_block = options_.scheduler_block,
                .hash_block = options_.hash_block, .speculative = options_.speculative,
                .context_parallel = options_.context_parallel};
    }

private:
    bool found(const std::vector<u64>& chain, u32 group, u64 boundary) const {
        return pool_.find({chain[boundary / options_.hash_block - 1], group}) != SimPool::null_block;
    }

    Seen seen(const std::vector<u64>& chain) const {
        Seen all;
        all.words.resize(tables_.size());
        all.partial.resize(tables_.size());
        for (u32 g = 0; g < tables_.size(); ++g) {
            const SimGroup& group = tables_[g].group();
            const u64 count = chain.size() * options_.hash_block / group.block;
            all.words[g].resize(count / 64 + 1);
            for (u64 unit = 1; unit <= chain.size(); ++unit) {
                const u64 boundary = unit * options_.hash_block;
                if (!found(chain, g, boundary)) {
                    continue;
                }
                if (boundary % group.block != 0) {
                    all.partial[g].push_back(boundary);
                } else if (const u64 at = boundary / group.block - 1; at < count) {
                    all.words[g][at / 64] |= u64{1} << (at % 64);
                }
            }
            all.groups.push_back({.kind = group.kind,
                                  .mode = group.mode,
                                  .drafts = group.drafts,
                                  .block = group.block,
                                  .span = group.span,
                                  .tag = static_cast<u32>(group.extra),
                                  .held = {all.words[g].data(), count},
                                  .partial = all.partial[g].data(),
                                  .partials = static_cast<u32>(all.partial[g].size())});
        }
        return all;
    }

    std::vector<std::vector<u32>> find_hits(const std::vector<u64>& chain, u64 prompt,
                                            SimResult& result) const {
        std::vector<std::vector<u32>> hits(tables_.size());
        result.hits.resize(tables_.size());
        const Seen all = seen(chain);
        const Result<Lookedup> got = look_up(lookup(all, prompt));
        if (!got) {
            return hits;
        }
        result.hit_tokens = got->tokens;
        result.junction = got->missed == 0 ? 0 : got->tokens + got->missed;
        for (u32 g = 0; g < tables_.size(); ++g) {
            const Found& own = got->per_group[g];
            result.hits[g] = own;
            hits[g].assign(own.null_blocks, SimPool::null_block);
            for (u64 i = own.null_blocks; i < own.blocks; ++i) {
                const u64 end = smaller((i + 1) * tables_[g].group().block, own.tokens);
                hits[g].push_back(pool_.find({chain[end / options_.hash_block - 1], g}));
            }
        }
        return hits;
    }

    /// Tokens of the next prefill step: at most `step`, ending where aligned states must be cached.
    u64 prefill(u64 start, u64 prompt, u64 junction) const {
        const u64 most = smaller(options_.step, prompt - start);
        for (const SimTable& table : tables_) {
            if (table.group().aligned_state()) {
                return split(start, most, prompt, junction, table.group().block);
            }
        }
        return most;
    }

    u64 split(u64 start, u64 most, u64 prompt, u64 junction, u64 block) const {
        u64 last = prompt - prompt % block;
        last = options_.speculative ? last - smaller(last, block) : last;
        u64 end = start + most;
        if (end < prompt && (end / block * block > start || block <= options_.step)) {
            end = end / block * block;
        }
        const u64 tail =
            fine() && options_.hash_block < block ? prompt / options_.hash_block * options_.hash_block : 0;
        const u64 stops[4] = {
            start % block != 0 ? (start / block + 1) * block : 0, last,
            last < tail && tail < prompt ? tail : 0,
            start < junction && junction < end ? start + (junction - start) / block * block : 0};
        u64 stop = end;
        for (const u64 at : stops) {
            stop = start < at && at < stop ? at : stop;
        }
        return stop - smaller(stop, start);
    }

    bool fine() const {
        Seen none;
        for (const SimTable& table : tables_) {
            none.groups.push_back(
                {.kind = table.group().kind, .mode = table.group().mode, .block = table.group().block});
        }
        return tables_.size() > 1 && fine_grained(lookup(none, 0));
    }

    /// Room for the next `more` tokens. The first step also asks whether the whole prompt fits.
    bool allocate(u64 computed, u64 more, u64 prompt, const std::vector<std::vector<u32>>& hits,
                  SimResult& result) {
        const bool first = result.steps.empty();
        const u64 slots = computed + more + options_.lookahead;
        if (first && wanted(prompt, hits, computed, options_.step) > pool_.free_blocks()) {
            return false;
        }
        for (SimTable& table : tables_) {
            table.drop_skipped(pool_, computed);
        }
        const std::vector<std::vector<u32>> none(tables_.size());
        if (wanted(slots, first ? hits : none, computed, 0, computed + more) > pool_.free_blocks()) {
            return false;
        }
        for (u32 g = 0; first && g < tables_.size(); ++g) {
            tables_[g].take_hits(pool_, hits[g], computed);
        }
        u64 held = 0;
        std::vector<u32> copied;
        for (u32 g = 0; g < tables_.size(); ++g) {
            const std::vector<u32> done = tables_[g].grow(pool_, slots, computed + more);
            copied.insert(copied.end(), done.begin(), done.end());
            result.peak_of_group[g] = larger(result.peak_of_group[g], tables_[g].held());
            held += tables_[g].held();
        }
        pool_.release(copied);
        result.peak = larger(result.peak, held);
        result.steps.push_back(more);
        return true;
    }

    /// main: tokens without look-ahead, which aligned states count; 0: as `tokens`.
    u64 wanted(u64 tokens, const std::vector<std::vector<u32>>& hits, u64 computed, u64 in_flight,
               u64 main = 0) const {
        u64 sum = 0;
        for (u32 g = 0; g < tables_.size(); ++g) {
            const u64 own = main != 0 && tables_[g].group().aligned_state() ? main : tokens;
            sum += tables_[g].wanted(pool_, own, hits[g], computed, in_flight);
        }
        return sum;
    }

    /// Several groups cache up to a scheduler block only (not with fine hits), a drafter's class one block
    /// beyond.
    void cache(const std::vector<u64>& chain, u64 computed, u64 prompt, const SimResult& result) {
        const bool rounds = tables_.size() > 1 && !fine();
        const u64 aligned =
            rounds ? computed / options_.scheduler_block * options_.scheduler_block : computed;
        const u64 boundaries[2] = {prompt == 0 ? 0 : prompt - 1, result.junction};
        const RetentionRule rule{.alignment = options_.scheduler_block, .dense = options_.dense,
                                 .interval = options_.retention, .boundaries = boundaries,
                                 .count = result.junction == 0 ? 1u : 2u};
        for (SimTable& table : tables_) {
            const bool beyond = table.group().drafts && aligned > 0 && tables_.size() > 1;
            table.cache(pool_, chain, options_.hash_block,
                        beyond ? smaller(computed, aligned + table.group().block) : aligned, prompt, rule);
        }
    }

    void finish(const std::vector<u64>& chain, u64 tokens, SimResult& result) {
        for (SimTable& table : tables_) {
            table.free(pool_);
        }
        const Seen all = seen(chain);
        for (u32 g = 0; g < tables_.size(); ++g) {
            std::vector<bool> own;
            for (u64 i = 0; i < tokens / tables_[g].group().block; ++i) {
                own.push_back((all.words[g][i / 64] >> (i % 64) & 1) != 0);
            }
            result.present.push_back(own);
        }
        result.partial = all.partial;
        result.free_blocks = pool_.free_blocks();
    }

    SimOptions options_;
    SimPool pool_;
    SimKeys keys_;
    std::vector<SimTable> tables_{};
};

}  // namespace kvcap::inline v1::vllm
