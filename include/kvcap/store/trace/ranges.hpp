// SPDX-License-Identifier: MIT
// The same store as replay.hpp for traces that form a prefix forest, without a list: recency is (request, depth), the
// newest request first and the root first within it, so eviction is one pointer that only moves on. Every request
// touches all its pages at every capacity, so who touched a page last is found once for all replays; one replay then
// costs a few ranges a request, and its tails and snapshots. Writes count what was missing at the look-up.
#pragma once

#include <kvcap/store/trace/replay.hpp>

namespace kvcap::inline v1 {

/// Depths (begin, end] of a request's path that request `owner` touched last before.
struct OwnedRun {
    u32 owner = 0;
    u32 begin = 0;
    u32 end = 0;
};

/// A trace with its runs. pre: is_prefix_forest(trace); the trace outlives this.
class OwnedPaths {
public:
    OwnedPaths(const Trace& trace, const HitRule& rule = {}) : trace_{&trace}, rule_{rule} {
        constexpr u32 nobody = ~u32{0};
        std::vector<u32> owner(trace.distinct, nobody);
        for (u32 r = 0; r < trace.requests.size(); ++r) {
            const TraceRequest& request = trace.requests[r];
            const RequestBlocks blocks = blocks_of(request.tokens, request.blocks, trace.block_tokens, rule);
            const u32* path = trace.path(request);
            blocks_.push_back(blocks);
            first_.push_back(runs_.size());
            u32 i = 0;
            while (i < blocks.stored && owner[path[i]] != nobody) {
                const u32 last = owner[path[i]];
                const u32 begin = i;
                while (i < blocks.stored && owner[path[i]] == last) {
                    ++i;
                }
                runs_.push_back({last, begin, i});
            }
            for (i = 0; i < blocks.stored; ++i) {
                owner[path[i]] = r;
            }
        }
        first_.push_back(runs_.size());
    }

    const Trace& trace() const noexcept { return *trace_; }
    const HitRule& rule() const noexcept { return rule_; }
    const RequestBlocks& blocks(u32 request) const noexcept { return blocks_[request]; }
    const OwnedRun* begin(u32 request) const noexcept { return runs_.data() + first_[request]; }
    const OwnedRun* end(u32 request) const noexcept { return runs_.data() + first_[request + 1]; }
    u32 known(u32 request) const noexcept { return begin(request) == end(request) ? 0 : (end(request) - 1)->end; }

private:
    const Trace* trace_;
    HitRule rule_;
    std::vector<RequestBlocks> blocks_;
    std::vector<u64> first_;
    std::vector<OwnedRun> runs_;
};

class RangeReplay {
public:
    RangeReplay(const OwnedPaths& paths, const StoredSizes& sizes, const SavePolicy& policy, u64 capacity)
        : paths_{paths}, sizes_{sizes}, policy_{policy}, capacity_{capacity},
          snapshot_kind_{static_cast<u32>(sizes.tails.size())},
          kinds_{snapshot_kind_ + (sizes.snapshot != 0 ? 1u : 0u)}, low_(paths.trace().requests.size()),
          place_(u64{paths.trace().distinct} * kinds_) {}

    ReplayResult run() {
        for (u32 r = 0; r < low_.size(); ++r) {
            add(r);
        }
        return result_;
    }

private:
    struct Thing {
        u32 block = 0;
        u32 kind = 0;
        u32 depth = 0;
        u32 request = 0;
    };

    /// Places are counted from 1 over the whole run; `gone_` of them have left.
    u32& place(u32 kind, u32 block) noexcept { return place_[u64{block} * kinds_ + kind]; }
    bool is_present(u32 kind, u32 block) noexcept { return place(kind, block) > gone_; }
    u64 bytes_of(u32 kind) const noexcept {
        return kind == snapshot_kind_ ? sizes_.snapshot : sizes_.tails[kind].bytes;
    }
    /// Deepest present page that `request` touched last.
    u32 deepest(u32 request) const noexcept {
        return request < oldest_ ? 0 : request == oldest_ ? oldest_end_ : paths_.blocks(request).stored;
    }

    void add(u32 r) {
        const Trace& trace = paths_.trace();
        const u64 tokens = trace.requests[r].tokens;
        const u32* path = trace.path(trace.requests[r]);
        const RequestBlocks& blocks = paths_.blocks(r);
        result_.prompt_tokens += tokens;
        result_.references += trace.requests[r].blocks;
        u32 present = 0;
        for (const OwnedRun* run = paths_.begin(r); run != paths_.end(r) && present == run->begin; ++run) {
            present = static_cast<u32>(larger(present, smaller(run->end, deepest(run->owner))));
        }
        present = sizes_.page == 0 ? paths_.known(r) : present;
        const u32 hit = boundary(path, static_cast<u32>(smaller(present, blocks.usable)));
        result_.hit_blocks += hit;
        result_.hit_tokens += tokens_skipped(tokens, hit, trace.block_tokens, paths_.rule());
        if (hit > 0) {
            result_.loaded_bytes += hit * sizes_.page + sizes_.snapshot;
            for (const TailClass& tail : sizes_.tails) {
                result_.loaded_bytes += tail.blocks_at(hit) * tail.bytes;
            }
        }
        for (const OwnedRun* run = paths_.begin(r); run != paths_.end(r); ++run) {
            low_[run->owner] = run->end;
        }
        used_ += (blocks.stored - present) * sizes_.page;
        result_.written_bytes += (blocks.stored - present) * sizes_.page;
        if (kinds_ != 0) {
            const u32 known = policy_.engine_like ? present : paths_.known(r);
            each_saved(policy_, sizes_,
                       {.stored = blocks.stored, .whole = blocks.whole, .junction = known,
                        .beyond = policy_.engine_like ? hit : known, .again = policy_.engine_like ? hit : 0},
                       [&](u32 kind, u32 depth) { touch(r, kind, path[depth - 1], depth); });
        }
        if (r == oldest_) {
            oldest_end_ = blocks.stored;
        }
        evict(r);
    }

    u32 boundary(const u32* path, u32 top) noexcept {
        for (u32 at = top; at > 0;) {
            if (sizes_.snapshot != 0 && !is_present(snapshot_kind_, path[at - 1])) {
                --at;
                continue;
            }
            u32 broken = at;
            for (u32 g = 0; g < snapshot_kind_ && broken == at; ++g) {
                const u32 need = static_cast<u32>(sizes_.tails[g].need_at(at));
                for (u32 i = at; i > at - need && broken == at; --i) {
                    broken = is_present(g, path[i - 1]) ? at : i - 1;
                }
                for (u32 i = 0; i < sizes_.tails[g].sinks_at(at) && broken == at; ++i) {
                    broken = is_present(g, path[i]) ? at : i;
                }
            }
            if (broken == at) {
                return at;
            }
            at = broken;
        }
        return 0;
    }

    void touch(u32 r, u32 kind, u32 block, u32 depth) {
        u32& at = place(kind, block);
        if (at <= gone_) {
            used_ += bytes_of(kind);
            result_.written_bytes += bytes_of(kind);
        }
        at = static_cast<u32>(before_ + things_.size() + 1);
        things_.push_back({block, kind, depth, r});
    }
    void evict(u32 newest) {
        while (used_ > capacity_) {
            drop_moved();
            const bool has_thing = front_ < things_.size() && things_[front_].request == oldest_;
            const u32 thing_depth = has_thing ? things_[front_].depth : 0;
            const u32 low = low_[oldest_];
            const bool has_page = sizes_.page != 0 && oldest_end_ > low;
            if (has_thing && (!has_page || thing_depth >= oldest_end_)) {
                used_ -= bytes_of(things_[front_].kind);
                ++front_, ++gone_, ++result_.evictions;
                continue;
            }
            if (has_page) {
                const u64 floor = larger(low, thing_depth);
                const u64 pages = smaller(oldest_end_ - floor, ceil_div(used_ - capacity_, sizes_.page));
                used_ -= pages * sizes_.page;
                oldest_end_ -= static_cast<u32>(pages);
                result_.evictions += pages;
                continue;
            }
            if (oldest_ == newest) {
                return;
            }
            ++oldest_;
            oldest_end_ = paths_.blocks(oldest_).stored;
        }
    }
    /// Passes things that were touched again, and forgets the front when it is half of what is kept.
    void drop_moved() {
        while (front_ < things_.size() && place(things_[front_].kind, things_[front_].block) != gone_ + 1) {
            ++front_, ++gone_;
        }
        if (front_ > 4096 && front_ * 2 > things_.size()) {
            things_.erase(things_.begin(), things_.begin() + static_cast<std::ptrdiff_t>(front_));
            before_ += front_;
            front_ = 0;
        }
    }

    const OwnedPaths& paths_;
    const StoredSizes& sizes_;
    SavePolicy policy_;
    u64 capacity_;
    u32 snapshot_kind_;
    u32 kinds_;
    std::vector<u32> low_;   // pages of a request at or above this depth are others' now
    std::vector<u32> place_;
    std::vector<Thing> things_;
    u64 front_ = 0;
    u64 before_ = 0;
    u64 gone_ = 0;           // before_ + front_
    u32 oldest_ = 0;
    u32 oldest_end_ = 0;
    u64 used_ = 0;
    ReplayResult result_{};
};

}  // namespace kvcap::inline v1
