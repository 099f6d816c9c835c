// SPDX-License-Identifier: MIT
// What does a store of one capacity do with a trace? The list itself: look-up first and atomically, then touches, each
// followed by evictions of the least recent until everything fits. Any policy, any ids, one capacity a run.
#pragma once

#include <bit>
#include <kvcap/store/trace/requests.hpp>
#include <kvcap/store/trace/saving.hpp>

namespace kvcap::inline v1 {

enum class TouchOrder : u8 { deepest_first, root_first };

/// all: bytes of the whole store. snapshots: bytes of it that are kept for snapshots alone, off_scale: no split.
struct StoreBudget {
    u64 all = 0;
    u64 snapshots = off_scale;
};

struct ReplayResult {
    u64 prompt_tokens = 0;
    u64 hit_tokens = 0;
    u64 references = 0;
    u64 hit_blocks = 0;
    u64 evictions = 0;
    u64 loaded_bytes = 0;   ///< objects that hits read
    u64 written_bytes = 0;  ///< objects that were not there
    friend bool operator==(const ReplayResult&, const ReplayResult&) = default;
};

class Replay {
public:
    Replay(StoredSizes sizes, SavePolicy policy, StoreBudget budget, u64 block_tokens, u32 distinct,
           HitRule rule = {}, TouchOrder order = TouchOrder::deepest_first)
        : sizes_{std::move(sizes)},
          policy_{policy},
          block_tokens_{block_tokens},
          rule_{rule},
          order_{order},
          snapshot_kind_{static_cast<u32>(sizes_.tails.size() + 1)},
          shift_{static_cast<u32>(std::bit_width(sizes_.tails.size() + (sizes_.snapshot != 0 ? 1u : 0u)))},
          first_end_{distinct << shift_},
          links_(first_end_ + u64{2}),
          seen_(distinct) {
        bytes_.push_back(sizes_.page);
        for (const TailClass& tail : sizes_.tails) {
            bytes_.push_back(tail.bytes);
        }
        bytes_.push_back(sizes_.snapshot);
        const bool split = budget.snapshots != off_scale;
        shelves_[0].capacity = split ? budget.all - smaller(budget.all, budget.snapshots) : budget.all;
        shelves_[1].capacity = split ? smaller(budget.all, budget.snapshots) : 0;
        snapshot_shelf_ = split ? 1 : 0;
        for (u32 shelf = 0; shelf < 2; ++shelf) {
            const u32 end = end_of(shelf);
            links_[end] = {end, end};
        }
    }

    void add(u64 tokens, const u32* path, u32 given) {
        const RequestBlocks blocks = blocks_of(tokens, given, block_tokens_, rule_);
        result_.prompt_tokens += tokens;
        result_.references += given;
        const u32 ever = ever_seen(path, blocks.stored);
        const u32 present = sizes_.page == 0 ? ever : pages_present(path, blocks.stored);
        const u32 hit = boundary(path, static_cast<u32>(smaller(present, blocks.usable)));
        result_.hit_blocks += hit;
        result_.hit_tokens += tokens_skipped(tokens, hit, block_tokens_, rule_);
        if (hit > 0) {
            count_loaded(hit);
        }
        const u32 known = policy_.engine_like ? present : ever;
        save(path, {.stored = blocks.stored, .whole = blocks.whole, .junction = known,
                    .beyond = policy_.engine_like ? hit : known, .again = policy_.engine_like ? hit : 0});
    }

    const ReplayResult& result() const noexcept { return result_; }

private:
    static constexpr u32 absent = ~u32{0};
    struct Link {
        u32 newer = absent;
        u32 older = absent;
    };
    struct Shelf {
        u64 capacity = 0;
        u64 used = 0;
    };

    u32 node(u32 kind, u32 block) const noexcept { return block << shift_ | kind; }
    u32 kind_of_node(u32 at) const noexcept { return at & ((1u << shift_) - 1); }
    u32 end_of(u32 shelf) const noexcept { return first_end_ + shelf; }
    u32 shelf_of(u32 kind) const noexcept { return kind == snapshot_kind_ ? snapshot_shelf_ : 0; }
    bool is_present(u32 kind, u32 block) const noexcept { return links_[node(kind, block)].newer != absent; }
    u32 pages_present(const u32* path, u32 n) const noexcept {
        u32 present = 0;
        while (present < n && is_present(0, path[present])) {
            ++present;
        }
        return present;
    }
    /// The greatest boundary at or below `top` whose tails and snapshot are there.
    u32 boundary(const u32* path, u32 top) const noexcept {
        for (u32 at = top; at > 0;) {
            if (sizes_.snapshot != 0 && !is_present(snapshot_kind_, path[at - 1])) {
                --at;
                continue;
            }
            const u32 broken = last_hole(path, at);
            if (broken == absent) {
                return at;
            }
            at = broken;
        }
        return 0;
    }
    /// Depth below which boundaries may be whole again: the last missing tail block before `at`, or the first missing
    /// sink.
    u32 last_hole(const u32* path, u32 at) const noexcept {
        for (u32 g = 0; g < sizes_.tails.size(); ++g) {
            const u32 need = static_cast<u32>(sizes_.tails[g].need_at(at));
            for (u32 i = at; i > at - need; --i) {
                if (!is_present(g + 1, path[i - 1])) {
                    return i - 1;
                }
            }
            for (u32 i = 0; i < sizes_.tails[g].sinks_at(at); ++i) {
                if (!is_present(g + 1, path[i])) {
                    return i;
                }
            }
        }
        return absent;
    }
    u32 ever_seen(const u32* path, u32 n) noexcept {
        u32 known = 0;
        while (known < n && seen_[path[known]] != 0) {
            ++known;
        }
        for (u32 i = known; i < n; ++i) {
            seen_[path[i]] = 1;
        }
        return known;
    }
    void count_loaded(u32 hit) noexcept {
        result_.loaded_bytes += hit * sizes_.page + sizes_.snapshot;
        for (const TailClass& tail : sizes_.tails) {
            result_.loaded_bytes += tail.blocks_at(hit) * tail.bytes;
        }
    }

    void save(const u32* path, const SavePoints& points) {
        const bool specials = !sizes_.only_pages();
        u64 next_saved = off_scale;
        const auto at = [&](u32 depth) {
            const bool here = specials && points.saved(policy_, depth);
            next_saved = here ? depth : next_saved;
            if (here && sizes_.snapshot != 0) {
                touch(snapshot_kind_, path[depth - 1]);
            }
            for (u32 g = 0; g < sizes_.tails.size(); ++g) {
                const bool is_needed = next_saved != off_scale && sizes_.tails[g].needs(depth, next_saved);
                if (is_needed || (policy_.window_blocks && depth > points.beyond)) {
                    touch(g + 1, path[depth - 1]);
                }
            }
            if (sizes_.page != 0) {
                touch(0, path[depth - 1]);
            }
        };
        if (order_ == TouchOrder::deepest_first) {
            for (u32 depth = points.stored; depth > 0; --depth) {
                at(depth);
            }
            return;
        }
        for (u32 depth = 1; depth <= points.stored; ++depth) {
            next_saved = off_scale;
            for (u32 ahead = depth; specials && ahead <= points.stored && next_saved == off_scale; ++ahead) {
                next_saved = points.saved(policy_, ahead) ? ahead : next_saved;
            }
            at(depth);
        }
    }

    void unlink(u32 at) noexcept {
        const Link link = links_[at];
        links_[link.newer].older = link.older;
        links_[link.older].newer = link.newer;
    }
    void touch(u32 kind, u32 block) noexcept {
        const u32 at = node(kind, block);
        Shelf& shelf = shelves_[shelf_of(kind)];
        const u32 end = end_of(shelf_of(kind));
        const u64 bytes = bytes_[kind];
        if (links_[at].newer != absent) {
            unlink(at);
        } else {
            shelf.used += bytes;
            result_.written_bytes += bytes;
        }
        const u32 newest = links_[end].older;
        links_[at] = {end, newest};
        links_[newest].newer = at;
        links_[end].older = at;
        while (shelf.used > shelf.capacity) {
            const u32 oldest = links_[end].newer;
            unlink(oldest);
            links_[oldest].newer = absent;
            shelf.used -= bytes_[kind_of_node(oldest)];
            ++result_.evictions;
        }
    }

    StoredSizes sizes_;
    SavePolicy policy_;
    u64 block_tokens_;
    HitRule rule_;
    TouchOrder order_;
    u32 snapshot_kind_;  // kinds: 0 pages, then the tails, then snapshots
    u32 shift_;          // a block's kinds lie side by side
    u32 first_end_;
    u32 snapshot_shelf_ = 0;
    std::vector<u64> bytes_;   // of an object, by kind
    std::vector<Link> links_;  // one a block and kind, and an end for each shelf; `newer` absent: not stored
    std::vector<u8> seen_;
    Shelf shelves_[2]{};
    ReplayResult result_{};
};

inline ReplayResult replay(const Trace& trace, const StoredSizes& sizes, const SavePolicy& policy, StoreBudget budget,
                           const HitRule& rule = {}, TouchOrder order = TouchOrder::deepest_first) {
    Replay run{sizes, policy, budget, trace.block_tokens, trace.distinct, rule, order};
    for (const TraceRequest& request : trace.requests) {
        run.add(request.tokens, trace.path(request), request.blocks);
    }
    return run.result();
}

}  // namespace kvcap::inline v1
