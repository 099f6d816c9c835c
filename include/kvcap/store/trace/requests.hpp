// SPDX-License-Identifier: MIT
// What is a request trace to a store? Requests as paths of block ids, where equal ids mean an equal prefix up to and
// including that block. Ids are dense: 0 .. distinct - 1, in the order of their first use.
#pragma once

#include <kvcap/store/objects.hpp>
#include <vector>

namespace kvcap::inline v1 {

/// Blocks [first, first + blocks) of the trace's ids. at: for the order, as the trace gives it (milliseconds, seconds).
struct TraceRequest {
    u64 tokens = 0;
    u64 first = 0;
    u32 blocks = 0;
    double at = 0;
};

struct Trace {
    u64 block_tokens = 0;
    std::vector<u32> ids;
    std::vector<TraceRequest> requests;
    u32 distinct = 0;

    const u32* path(const TraceRequest& request) const noexcept { return ids.data() + request.first; }
    u64 tokens() const noexcept {
        u64 sum = 0;
        for (const TraceRequest& request : requests) {
            sum += request.tokens;
        }
        return sum;
    }
};

/// tail: whether a part of a block at the end of a prompt is stored. recompute_last: the last token of a prompt is
/// always computed, since its output is wanted.
struct HitRule {
    TailRule tail = TailRule::floor;
    bool recompute_last = true;
    friend constexpr bool operator==(const HitRule&, const HitRule&) = default;
};

/// Blocks of a request that are stored, that may be hit, and that end on a block border (where a snapshot may lie).
struct RequestBlocks {
    u32 stored = 0;
    u32 usable = 0;
    u32 whole = 0;
};

constexpr RequestBlocks blocks_of(u64 tokens, u32 given, u64 block_tokens, const HitRule& rule) noexcept {
    const u64 last = rule.recompute_last && tokens > 0 ? tokens - 1 : tokens;
    const auto at_most_given = [&](u64 blocks) noexcept { return static_cast<u32>(smaller(blocks, given)); };
    const u32 whole = at_most_given(tokens / block_tokens);
    if (rule.tail == TailRule::floor) {
        return {whole, at_most_given(last / block_tokens), whole};
    }
    return {at_most_given(ceil_div(tokens, block_tokens)), at_most_given(ceil_div(last, block_tokens)), whole};
}

/// Tokens that `blocks` blocks from the start skip.
constexpr u64 tokens_skipped(u64 tokens, u64 blocks, u64 block_tokens, const HitRule& rule) noexcept {
    return smaller(blocks * block_tokens, rule.recompute_last && tokens > 0 ? tokens - 1 : tokens);
}

/// 64-bit ids and a 32-bit value each: open addressing with 12-byte slots, at most 0.7 full, grown by half.
class IdTable {
public:
    static constexpr u32 unknown = ~u32{0};

    explicit IdTable(u64 expected) { resize(expected + expected / 2 + 64); }

    /// Room for `more` new ids; moves slots, so places found before are void.
    void make_room(u64 more) {
        while ((used_ + more) * 10 >= slots_.size() * 7) {
            resize(slots_.size() + slots_.size() / 2);
        }
    }
    /// Where to look first; the slot is on its way into the cache.
    u32 expect(u64 id) const noexcept {
        const u64 at = place(id);
        __builtin_prefetch(&slots_[at], 1);
        return static_cast<u32>(at);
    }
    /// The value of an id, first looked for at `at`; `unknown` for a new one, which must be given a value.
    u32& value(u64 id, u64 at) noexcept {
        const u32 low = static_cast<u32>(id);
        const u32 high = static_cast<u32>(id >> 32);
        while (slots_[at].value != unknown && (slots_[at].low != low || slots_[at].high != high)) {
            at = at + 1 == slots_.size() ? 0 : at + 1;
        }
        if (slots_[at].value == unknown) {
            slots_[at] = {low, high, unknown};
            ++used_;
        }
        return slots_[at].value;
    }
    u32& value(u64 id) noexcept { return value(id, place(id)); }
    void each_value(auto&& change) noexcept {
        for (Slot& slot : slots_) {
            if (slot.value != unknown) {
                change(slot.value);
            }
        }
    }
    u64 size() const noexcept { return used_; }
    u64 bytes() const noexcept { return slots_.capacity() * sizeof(Slot); }

private:
    struct Slot {
        u32 low = 0;
        u32 high = 0;
        u32 value = unknown;
    };

    u64 place(u64 id) const noexcept {
        const u64 mixed = (id ^ (id >> 32)) * 0x9e3779b97f4a7c15;
        return ((mixed >> 32) * slots_.size()) >> 32;
    }
    void resize(u64 slots) {
        std::vector<Slot> old(slots);
        old.swap(slots_);
        used_ = 0;
        for (const Slot& slot : old) {
            if (slot.value != unknown) {
                value(u64{slot.high} << 32 | slot.low) = slot.value;
            }
        }
    }

    std::vector<Slot> slots_;
    u64 used_ = 0;
};

/// 64-bit ids to dense ones, in the order of their first use.
class Interner {
public:
    explicit Interner(u64 expected = 0) : table_{expected} {}

    u32 operator()(u64 id) {
        table_.make_room(1);
        u32& value = table_.value(id);
        value = value == IdTable::unknown ? distinct() - 1 : value;
        return value;
    }
    void prefetch(u64 id) const noexcept { table_.expect(id); }
    u32 distinct() const noexcept { return static_cast<u32>(table_.size()); }
    u64 bytes() const noexcept { return table_.bytes(); }

private:
    IdTable table_;
};

/// Whether every id has one parent and lies once in its request: what exact one-pass curves stand on. Traces of prefix
/// hashes are so; ids of contents alone are not.
inline bool is_prefix_forest(const Trace& trace) {
    constexpr u32 unseen = ~u32{0};
    constexpr u32 root = unseen - 1;
    std::vector<u32> parent(trace.distinct, unseen);
    for (const TraceRequest& request : trace.requests) {
        const u32* path = trace.path(request);
        for (u32 i = 0; i < request.blocks; ++i) {
            const u32 above = i == 0 ? root : path[i - 1];
            u32& known = parent[path[i]];
            if (known != unseen && known != above) {
                return false;
            }
            known = above;
        }
    }
    return true;
}

}  // namespace kvcap::inline v1
