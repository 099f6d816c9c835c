// SPDX-License-Identifier: MIT
// Which blocks does one request hold in one group, step by step? Blocks behind a window, a chunk or a state's
// last two are given back; a hit that ends inside a block is copied before it is written.
// Source: v1/core/single_type_kv_cache_manager.py (2026-08-20).
#pragma once

#include <kvcap/engine/vllm/registered.hpp>
#include <kvcap/engine/vllm/sim/pool.hpp>

namespace kvcap::inline v1::vllm {

/// block: effective tokens a block (times the context-parallel ranks for attention). span: window or chunk.
struct SimGroup {
    SpecKind kind = SpecKind::full;
    StateMode mode = StateMode::align;
    u64 block = 16;
    u64 span = 0;
    u64 extra = 0;
    bool drafts = false;

    bool aligned_state() const { return kind == SpecKind::state && mode == StateMode::align; }
    /// Leading tokens that are no longer needed after `computed`.
    u64 skipped(u64 computed) const {
        switch (kind) {
            case SpecKind::window:
            case SpecKind::window_mla: return computed + 1 - smaller(computed + 1, span + extra);
            case SpecKind::chunked: return computed / span * span;
            case SpecKind::state: return computed == 0 ? 0 : computed - 1;
            default: return 0;
        }
    }
    /// Most blocks a request is admitted with; in_flight: tokens of a step.
    u64 admitted(u64 blocks, u64 in_flight) const {
        switch (kind) {
            case SpecKind::window:
            case SpecKind::window_mla:
                return smaller(blocks, ceil_div(larger(span + extra, 1) - 1 + in_flight, block) + 1);
            case SpecKind::chunked: return smaller(blocks, ceil_div(span + in_flight, block));
            default: return blocks;
        }
    }
};

class SimTable {
public:
    SimTable(const SimGroup& group, u32 number) : group_{group}, number_{number} {}

    const SimGroup& group() const { return group_; }
    const std::vector<u32>& blocks() const { return blocks_; }
    u64 held() const {
        u64 count = 0;
        for (const u32 id : blocks_) {
            count += id != SimPool::null_block ? 1 : 0;
        }
        return count;
    }

    /// Blocks to be taken from the free list for `tokens` tokens, hits in it included.
    u64 wanted(const SimPool& pool, u64 tokens, const std::vector<u32>& hits, u64 computed,
               u64 in_flight) const {
        const bool partial =
            (!hits.empty() && computed % group_.block != 0) || copy_from_ != SimPool::null_block;
        const u64 required = in_flight == 0 ? ceil_div(tokens, group_.block)
                                            : group_.admitted(ceil_div(tokens, group_.block), in_flight);
        const u64 have = hits.size() + blocks_.size();
        const u64 skipped = group_.aligned_state() ? 0 : group_.skipped(computed) / group_.block;
        u64 fresh = required - smaller(required, larger(skipped, have));
        fresh = group_.aligned_state() ? (fresh > 0 || partial ? 1 : 0) : fresh;
        for (u64 i = skipped - smaller(skipped, blocks_.size()); i < hits.size(); ++i) {
            fresh += pool.is_free(hits[i]) ? 1 : 0;
        }
        return fresh + (partial ? 1 : 0);
    }

    /// Gives back what `computed` tokens no longer need.
    void drop_skipped(SimPool& pool, u64 computed) {
        std::vector<u32> freed;
        for (u64 i = smaller(group_.skipped(computed) / group_.block, blocks_.size()); i-- > 0;) {
            if (blocks_[i] == SimPool::null_block) {
                break;
            }
            freed.push_back(std::exchange(blocks_[i], SimPool::null_block));
        }
        pool.release(freed);
        const bool moved = group_.aligned_state() && last_state_ != none &&
                           last_state_ + 1 < ceil_div(computed, group_.block);
        if (moved && blocks_[last_state_] != SimPool::null_block) {
            pool.release({std::exchange(blocks_[last_state_], SimPool::null_block)});
        }
    }

    /// Takes over the blocks of a hit of `computed` tokens. pre: the table is empty
    void take_hits(SimPool& pool, const std::vector<u32>& hits, u64 computed) {
        const u64 skipped = group_.skipped(computed) / group_.block;
        blocks_.assign(skipped, SimPool::null_block);
        for (u64 i = skipped; i < hits.size(); ++i) {
            pool.touch(hits[i]);
            blocks_.push_back(hits[i]);
        }
        cached_ = blocks_.size();
        if (skipped < hits.size() && computed % group_.block != 0) {
            cached_ = computed / group_.block;
            copy_at_ = cached_;
            copy_from_ = hits.back();
        }
    }

    /// Blocks for `tokens` slots; aligned states: for `main` tokens, the running one only. Returns what a
    /// copy has used, to be released when it is done.
    std::vector<u32> grow(SimPool& pool, u64 tokens, u64 main) {
        const u64 required = ceil_div(group_.aligned_state() ? main : tokens, group_.block);
        const bool grows = required > blocks_.size() || copy_from_ != SimPool::null_block;
        if (group_.aligned_state() && grows) {
            last_state_ = blocks_.empty() ? none : blocks_.size() - 1;
        }
        std::vector<u32> done = copy(pool);
        while (group_.aligned_state() && blocks_.size() + 1 < required) {
            blocks_.push_back(SimPool::null_block);
        }
        while (blocks_.size() < required) {
            blocks_.push_back(pool.take());
        }
        running_ = true;
        return done;
    }

    /// Registers full blocks of the first `tokens` tokens, and the prompt's last hash boundary inside a
    /// block.
    void cache(SimPool& pool, const std::vector<u64>& chain, u64 hash_block, u64 tokens, u64 prompt,
               RetentionRule rule) {
        rule.kind = group_.kind;
        rule.block = group_.block;
        rule.window = group_.span;
        rule.drafts = group_.drafts;
        for (; cached_ < tokens / group_.block; ++cached_) {
            const u64 end = (cached_ + 1) * group_.block;
            if (blocks_[cached_] != SimPool::null_block && registers(rule, cached_)) {
                pool.insert({chain[end / hash_block - 1], number_}, blocks_[cached_], end);
            }
        }
        cache_tail(pool, chain, hash_block, tokens, prompt / hash_block * hash_block);
    }

    void free(SimPool& pool) {
        std::vector<u32> ids(blocks_.rbegin(), blocks_.rend());
        pool.release(ids);
        *this = SimTable{group_, number_};
    }

private:
    static constexpr u64 none = off_scale;

    /// The copy before a shared tail is written. A state's own tail stays with the request; its keys move to
    /// the copy.
    std::vector<u32> copy(SimPool& pool) {
        if (copy_from_ == SimPool::null_block) {
            return {};
        }
        const u32 source = std::exchange(copy_from_, SimPool::null_block);
        const u32 target = pool.take();
        if (group_.aligned_state() && running_) {
            pool.move_keys(source, target);
            return {target};
        }
        blocks_[copy_at_] = target;
        return {source};
    }

    void cache_tail(SimPool& pool, const std::vector<u64>& chain, u64 hash_block, u64 tokens, u64 boundary) {
        const bool full = is_full(group_.kind) && boundary <= tokens;
        const bool state = group_.aligned_state() && boundary == tokens;
        const u64 at = boundary / group_.block;
        if (!(full || state) || group_.block == hash_block || boundary % group_.block == 0 ||
            at >= blocks_.size() || blocks_[at] == SimPool::null_block) {
            return;
        }
        pool.insert({chain[boundary / hash_block - 1], number_}, blocks_[at], boundary);
        if (state) {
            copy_at_ = at;
            copy_from_ = blocks_[at];
            cached_ = at;
        }
    }

    SimGroup group_{};
    u32 number_ = 0;
    std::vector<u32> blocks_;
    u64 cached_ = 0;
    u64 last_state_ = none;
    bool running_ = false;
    u64 copy_at_ = 0;
    u32 copy_from_ = SimPool::null_block;
};

}  // namespace kvcap::inline v1::vllm
