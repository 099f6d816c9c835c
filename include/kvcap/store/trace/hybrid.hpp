// SPDX-License-Identifier: MIT
// The exact curve of a hybrid model for every capacity at once: pages, window tails and snapshots in one LRU of bytes.
// D(o) = bytes of all objects at least as recent as o. It never falls between touches of o, so o is present at capacity
// C iff D(o) <= C, provided that what is touched does not depend on C (SavePolicy without engine_like). Boundary p is
// served from T(p) = max of D over its last page, tails, sinks and snapshot; hit(C) = the greatest p with T(p) <= C.
// Touches: per depth snapshot, tails, page, from the deepest to the root. pre: ids form a prefix forest.
// Pages need no place each: a Fenwick tree over requests as in pages.hpp. Tails and snapshots have one each.
#pragma once

#include <kvcap/store/trace/curve.hpp>
#include <kvcap/store/trace/requests.hpp>
#include <kvcap/store/trace/saving.hpp>

namespace kvcap::inline v1 {

class HybridCurve {
public:
    HybridCurve(StoredSizes sizes, SavePolicy policy, u64 block_tokens, HitRule rule = {})
        : sizes_{std::move(sizes)}, policy_{policy}, block_tokens_{block_tokens}, rule_{rule},
          place_(sizes_.tails.size() + 1) {
        owned_.reset(1024);
        placed_.reset(1024);
    }

    /// path: dense ids; every id below distinct() or the next new one.
    void add(u64 tokens, const u32* path, u32 given) {
        const RequestBlocks blocks = blocks_of(tokens, given, block_tokens_, rule_);
        prompt_tokens_ += tokens;
        references_ += given;
        const u32 n = blocks.stored;
        if (n == 0) {
            return;
        }
        make_room(path, n);
        find_runs(path, n);
        const u32 known = runs_.empty() ? 0 : runs_.back().end;
        measure(path, static_cast<u32>(smaller(known, blocks.usable)), tokens);
        touch_pages(path, n, known);
        touch_others(path, n, known, blocks.whole);
    }

    HitCurve curve() const { return {gains_, prompt_tokens_}; }
    u64 distinct() const noexcept { return distinct_; }
    u64 references() const noexcept { return references_; }

private:
    static constexpr u32 nowhere = ~u32{0};
    struct Run {
        u32 owner = 0;
        u32 begin = 0;  // depths (begin, end]
        u32 end = 0;
        u64 newer = 0;  // pages of requests newer than the owner
    };
    /// One touched tail block or snapshot. kind: tail group, or tails.size() for the snapshot. until: its request is
    /// the last of the owners [0, until); `gone`: that request owns no page any more and has left the sequence.
    struct Thing {
        u32 block = 0;
        u32 kind = 0;
        u32 depth = 0;
        u32 until = 0;
        bool gone = false;
    };
    struct Owner {
        u32 low = 0;    // pages (low, end] are its own
        u32 end = 0;
        u32 first = 0;  // its things are [first, last) of the sequence, deepest first
        u32 last = 0;
    };

    u64 bytes_of(u32 kind) const noexcept {
        return kind < sizes_.tails.size() ? sizes_.tails[kind].bytes : sizes_.snapshot;
    }

    void make_room(const u32* path, u32 n) {
        for (u32 i = 0; i < n; ++i) {
            distinct_ = static_cast<u32>(larger(distinct_, u64{path[i]} + 1));
        }
        if (page_of_.size() < distinct_) {
            const u64 room = larger(distinct_, page_of_.size() + page_of_.size() / 2);
            page_of_.resize(room, nowhere);
            for (std::vector<u32>& places : place_) {
                places.resize(room, nowhere);
            }
        }
        if (owners_.size() == owned_.size()) {
            compact_owners();
        }
        const u64 most = u64{n} * place_.size();
        if (things_.size() + most > placed_.size()) {
            compact_things(most);
        }
    }

    void find_runs(const u32* path, u32 n) {
        runs_.clear();
        for (u32 i = 0; i < n && page_of_[path[i]] != nowhere;) {
            const u32 owner = page_of_[path[i]];
            u32 end = i + 1;
            while (end < n && page_of_[path[end]] == owner) {
                ++end;
            }
            runs_.push_back({owner, i, end, pages_ - owned_.prefix(u64{owner} + 1)});
            i = end;
        }
    }

    /// Bytes at least as recent as the page at `depth` (1 = root) that lies in `run`.
    u64 distance_of_page(const Run& run, u32 depth) const noexcept {
        const Owner& owner = owners_[run.owner];
        u64 newest = owner.first;  // first of its things above `depth`
        for (u64 count = owner.last - owner.first; count > 0;) {
            const u64 half = count / 2;
            if (things_[newest + half].depth >= depth) {
                newest += half + 1;
                count -= half + 1;
            } else {
                count = half;
            }
        }
        return (run.newer + depth - owner.low) * sizes_.page + (placed_bytes_ - placed_.prefix(newest));
    }
    u64 distance_of_thing(u32 place) const noexcept {
        const Thing& thing = things_[place];
        u64 own = 0;
        if (!thing.gone) {
            const Owner& owner = owners_[thing.until - 1];
            const u64 depth = smaller(thing.depth, owner.end);
            own = depth > owner.low ? depth - owner.low : 0;
        }
        const u64 newer = pages_ - owned_.prefix(thing.until);
        return (newer + own) * sizes_.page + (placed_bytes_ - placed_.prefix(place));
    }

    /// T of the boundary after `depth` blocks when it can be below `best`; off_scale otherwise.
    u64 servable_from(const u32* path, u32 depth, const Run& run, u64 best) const noexcept {
        u64 most = 0;
        if (sizes_.snapshot != 0) {
            const u32 place = place_.back()[path[depth - 1]];
            if (place == nowhere || (most = distance_of_thing(place)) >= best) {
                return off_scale;
            }
        }
        for (u32 g = 0; g < sizes_.tails.size(); ++g) {
            const u64 first = depth - sizes_.tails[g].need_at(depth);
            const u64 sinks = sizes_.tails[g].sinks_at(depth);
            for (u64 k = 0; k < sinks + depth - first; ++k) {
                const u32 place = place_[g][path[k < sinks ? k : first + k - sinks]];
                if (place == nowhere || (most = larger(most, distance_of_thing(place))) >= best) {
                    return off_scale;
                }
            }
        }
        return larger(most, distance_of_page(run, depth));
    }

    void measure(const u32* path, u32 top, u64 tokens) {
        u64 best = off_scale;
        u64 at = 0;  // boundary of `best`
        u64 run = runs_.size();
        for (u32 depth = top; depth > 0; --depth) {
            while (run == runs_.size() || runs_[run].begin >= depth) {
                --run;
            }
            const u64 from = servable_from(path, depth, runs_[run], best);
            if (from < best) {
                gain(best, at, depth, tokens);
                best = from;
                at = depth;
            }
        }
        gain(best, at, 0, tokens);
    }
    /// From `bytes` on, the request skips `boundary` blocks; below, `lower`.
    void gain(u64 bytes, u64 boundary, u64 lower, u64 tokens) {
        if (bytes == off_scale) {
            return;
        }
        const u64 more = tokens_skipped(tokens, boundary, block_tokens_, rule_) -
                         tokens_skipped(tokens, lower, block_tokens_, rule_);
        if (more > 0) {
            gains_.push_back({bytes, more});
        }
        if (gains_.size() == gains_.capacity() && gains_.size() > 1'000'000) {
            HitCurve::merge(gains_);
        }
    }

    void touch_pages(const u32* path, u32 n, u32 known) {
        for (const Run& run : runs_) {
            owned_.add(run.owner, u64{0} - (run.end - run.begin));
            owners_[run.owner].low = run.end;
        }
        const u32 self = static_cast<u32>(owners_.size());
        for (u32 i = 0; i < n; ++i) {
            page_of_[path[i]] = self;
        }
        pages_ += n - known;
        owned_.add(self, n);
        const u32 here = static_cast<u32>(things_.size());
        owners_.push_back({.low = 0, .end = n, .first = here, .last = here});
    }

    void touch(u32 block, u32 kind, u32 depth) {
        const u64 bytes = bytes_of(kind);
        u32& place = place_[kind][block];
        if (place != nowhere) {
            placed_.add(place, u64{0} - bytes);
            placed_bytes_ -= bytes;
        }
        place = static_cast<u32>(things_.size());
        placed_.add(place, bytes);
        placed_bytes_ += bytes;
        things_.push_back({block, kind, depth, static_cast<u32>(owners_.size()), false});
    }

    void touch_others(const u32* path, u32 n, u32 known, u32 whole) {
        if (sizes_.only_pages()) {
            return;
        }
        each_saved(policy_, sizes_, {.stored = n, .whole = whole, .junction = known, .beyond = known},
                   [&](u32 kind, u32 depth) { touch(path[depth - 1], kind, depth); });
        owners_.back().last = static_cast<u32>(things_.size());
    }

    void compact_owners() {
        const u64 room = owners_.size();
        std::vector<u64> weights(room);
        std::vector<u32> renamed(room);
        u32 alive = 0;
        for (u64 r = 0; r < room; ++r) {
            const Owner owner = owners_[r];
            weights[r] = owner.end - owner.low;
            renamed[r] = alive;
            if (weights[r] != 0) {
                weights[alive] = weights[r];
                owners_[alive++] = owner;
            }
        }
        renamed.push_back(alive);
        for (Thing& thing : things_) {
            thing.gone = thing.gone || renamed[thing.until] == renamed[thing.until - 1];
            thing.until = renamed[thing.until];
        }
        weights.resize(alive);
        owners_.resize(alive);
        for (u32& owner : page_of_) {
            owner = owner == nowhere ? nowhere : renamed[owner];
        }
        owned_.build(weights, u64{alive} * 2 > room ? room * 2 : room);
    }

    void compact_things(u64 room_for) {
        std::vector<u64> weights;
        std::vector<u32> before(things_.size() + 1);
        u32 alive = 0;
        for (u32 i = 0; i < things_.size(); ++i) {
            before[i] = alive;
            const Thing thing = things_[i];
            if (place_[thing.kind][thing.block] == i) {
                place_[thing.kind][thing.block] = alive;
                weights.push_back(bytes_of(thing.kind));
                things_[alive++] = thing;
            }
        }
        before[things_.size()] = alive;
        for (Owner& owner : owners_) {
            owner.first = before[owner.first];
            owner.last = before[owner.last];
        }
        things_.resize(alive);
        placed_.build(weights, larger(placed_.size(), 2 * (alive + room_for)));
    }

    StoredSizes sizes_;
    SavePolicy policy_;
    u64 block_tokens_;
    HitRule rule_;
    u32 distinct_ = 0;
    std::vector<u32> page_of_;             // block -> request that touched its page last
    std::vector<std::vector<u32>> place_;  // kind -> block -> place among things
    std::vector<Owner> owners_;
    Fenwick<u64> owned_;   // pages, by request
    Fenwick<u64> placed_;  // bytes, by thing
    std::vector<Thing> things_;
    u64 pages_ = 0;
    u64 placed_bytes_ = 0;
    std::vector<Run> runs_;
    std::vector<CurveStep> gains_;
    u64 prompt_tokens_ = 0;
    u64 references_ = 0;
};

}  // namespace kvcap::inline v1
