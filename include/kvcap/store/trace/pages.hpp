// SPDX-License-Identifier: MIT
// The exact curve of full attention for every capacity at once, in one pass over raw ids.
// Look-up first and atomically, then a touch of the deepest block first and the root last: a parent is never older than
// its child, so stack distances grow along a path and hits(C) = blocks with distance <= C. What a request touched last
// is always one range of depths (low, n], since later requests take prefixes of it: a Fenwick tree over requests with
// the lengths of their ranges gives d(b_i) = blocks of newer requests + (i - low). pre: ids form a prefix forest.
// Blocks pinned by running requests are not modelled. Memory: 12 bytes a slot, 12 a request, 8 a distance.
#pragma once

#include <kvcap/store/trace/curve.hpp>
#include <kvcap/store/trace/requests.hpp>

namespace kvcap::inline v1 {

class PageCurve {
public:
    PageCurve(u64 block_tokens, HitRule rule = {}, u64 expected_blocks = 0)
        : block_tokens_{block_tokens}, rule_{rule}, last_{expected_blocks} {
        newer_.reset(1024);
        low_.reserve(1024);
    }

    void add(u64 tokens, const u64* ids, u32 given) {
        const RequestBlocks blocks = blocks_of(tokens, given, block_tokens_, rule_);
        prompt_tokens_ += tokens;
        references_ += given;
        const u32 n = blocks.stored;
        if (n == 0) {
            return;
        }
        last_.make_room(n);
        if (low_.size() == newer_.size()) {
            compact();
        }
        find_all(ids, n);
        const u32 known = count_runs(n);
        count_hits(smaller(known, blocks.usable), tokens);
        take(n, known);
    }

    u64 distinct() const noexcept { return last_.size(); }
    u64 prompt_tokens() const noexcept { return prompt_tokens_; }
    u64 references() const noexcept { return references_; }
    /// Blocks hit in a store of `capacity` blocks.
    u64 hits(u64 capacity) const noexcept {
        u64 sum = 0;
        i64 level = 0;
        for (u64 d = 0; d < rises_.size() && d <= capacity; ++d) {
            level += rises_[d];
            sum += static_cast<u64>(level);
        }
        return sum;
    }
    HitCurve curve(u64 block_bytes) const {
        std::vector<CurveStep> gains;
        i64 level = 0;
        for (u64 d = 0; d < rises_.size(); ++d) {
            level += rises_[d];
            if (level > 0) {
                gains.push_back({d * block_bytes, static_cast<u64>(level) * block_tokens_});
            }
        }
        for (const CurveStep& less : shortened_) {
            gains.push_back({less.bytes * block_bytes, u64{0} - less.tokens});
        }
        return {std::move(gains), prompt_tokens_};
    }
    u64 bytes() const noexcept {
        return last_.bytes() + newer_.bytes() + low_.capacity() * sizeof(u32) +
               rises_.capacity() * sizeof(i32) + owners_.capacity() * sizeof(u32);
    }

private:
    using i32 = std::int32_t;
    using i64 = std::int64_t;
    static constexpr u32 nobody = IdTable::unknown;
    struct Run {
        u32 owner = 0;
        u32 begin = 0;  // depths (begin, end]
        u32 end = 0;
        u64 distance = 0;  // of depth begin + 1
    };

    /// New blocks get the number of the request to come at once: each id lies once in its path.
    void find_all(const u64* ids, u32 n) {
        owners_.resize(n);
        for (u32 i = 0; i < n; ++i) {
            owners_[i] = last_.expect(ids[i]);
        }
        const u32 self = static_cast<u32>(low_.size());
        for (u32 i = 0; i < n; ++i) {
            u32& last = last_.value(ids[i], owners_[i]);
            owners_[i] = last;
            last = self;
        }
    }
    /// The runs of equal owners along the path, with distances, before anything changes. Returns the known depth.
    u32 count_runs(u32 n) {
        runs_.clear();
        for (u32 i = 0; i < n && owners_[i] != nobody;) {
            const u32 owner = owners_[i];
            u32 end = i + 1;
            while (end < n && owners_[end] == owner) {
                ++end;
            }
            const u64 newer = total_ - newer_.prefix(u64{owner} + 1);
            runs_.push_back({owner, i, end, newer + (i + 1 - low_[owner])});
            i = end;
        }
        return runs_.empty() ? 0 : runs_.back().end;
    }
    void count_hits(u64 depth, u64 tokens) {
        for (const Run& run : runs_) {
            if (run.begin >= depth) {
                break;
            }
            const u64 length = smaller(run.end, depth) - run.begin;
            const u64 end = run.distance + length;
            if (rises_.size() <= end) {
                rises_.resize(larger(end + 1, rises_.size() + rises_.size() / 4));
            }
            ++rises_[run.distance];
            --rises_[end];
            const u64 skipped = tokens_skipped(tokens, depth, block_tokens_, rule_);
            if (run.begin + length == depth && skipped < depth * block_tokens_) {
                shortened_.push_back({end - 1, depth * block_tokens_ - skipped});
            }
        }
    }
    void take(u32 n, u32 known) {
        for (const Run& run : runs_) {
            newer_.add(run.owner, u32{0} - (run.end - run.begin));
            low_[run.owner] = run.end;
        }
        total_ += n - known;
        newer_.add(low_.size(), n);
        low_.push_back(0);
    }
    /// Renumbers the requests that still own blocks; doubles the room when they are more than half.
    void compact() {
        const u64 room = newer_.size();
        std::vector<u32> weights(room);
        for (u64 r = 0; r < room; ++r) {
            weights[r] = newer_.prefix(r + 1) - newer_.prefix(r);
        }
        std::vector<u32> renamed(room);
        u32 alive = 0;
        for (u64 r = 0; r < room; ++r) {
            renamed[r] = alive;
            if (weights[r] != 0) {
                weights[alive] = weights[r];
                low_[alive++] = low_[r];
            }
        }
        weights.resize(alive);
        low_.resize(alive);
        last_.each_value([&](u32& last) noexcept { last = renamed[last]; });
        newer_.build(weights, u64{alive} * 2 > room ? room * 2 : room);
        low_.reserve(newer_.size());
    }

    u64 block_tokens_;
    HitRule rule_;
    IdTable last_;  // block -> the request that touched it last
    Fenwick<u32> newer_;
    std::vector<u32> low_;
    u64 total_ = 0;
    std::vector<i32> rises_;
    std::vector<CurveStep> shortened_;
    std::vector<u32> owners_;  // first the place in the table, then the last request, of each block of a path
    std::vector<Run> runs_;
    u64 prompt_tokens_ = 0;
    u64 references_ = 0;
};

}  // namespace kvcap::inline v1
