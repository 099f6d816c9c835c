// SPDX-License-Identifier: MIT
// How many tokens does a tier hold when groups keep different numbers of chunks, and when does loading pay?
// A request of T tokens holds sum over groups of min(ceil(T / chunk), cap) chunks (vllm#53902); a tier of n slots holds
// floor(n T / chunks) tokens, most at the T that the caller allows. Bytes divided by a slope are wrong for hybrids.
#pragma once

#include <kvcap/roofline/transfer.hpp>
#include <kvcap/store/copies.hpp>

namespace kvcap::inline v1 {

/// Chunks that one request keeps of each group: ceil(window / chunk), 1 of a state, off_scale of full attention.
using ChunkCaps = Inplace<u64, 32>;

constexpr Result<u64> chunks_of_request(const ChunkCaps& caps, u64 chunk, u64 tokens) noexcept {
    if (chunk == 0) {
        return Errc::divided_by_zero;
    }
    u64 sum = 0;
    for (const u64 cap : caps) {
        sum = saturating_sum(sum, smaller(ceil_div(tokens, chunk), cap));
    }
    return sum;
}

/// tokens: of all requests together. requests: whole ones. each: tokens of one, the best length. chunks: one request's.
struct TierCapacity {
    u64 tokens = 0;
    u64 requests = 0;
    u64 each = 0;
    u64 chunks = 0;
    friend constexpr bool operator==(const TierCapacity&, const TierCapacity&) = default;
};

/// chunk: a slot holds one chunk of one group. whole_row: every key takes a slot of each group though it fills one
/// (vllm#56871), which divides the slots by the number of groups.
enum class RowUse : u8 { chunk, whole_row };

/// The best length is the longest that is whole chunks: chunks(T) is concave, so T / chunks(T) never falls.
/// Errors: does_not_fit, when the longest request has no whole chunk.
constexpr Result<TierCapacity> tier_capacity(u64 slots, const ChunkCaps& caps, u64 chunk, u64 longest,
                                             RowUse use = RowUse::chunk) noexcept {
    const u64 tokens = chunk == 0 ? 0 : longest / chunk * chunk;
    const Result<u64> chunks = chunks_of_request(caps, chunk, tokens);
    if (!chunks) {
        return chunks.error();
    }
    if (*chunks == 0) {
        return Error{.code = Errc::does_not_fit, .got = longest, .want = chunk};
    }
    const u64 usable = use == RowUse::whole_row ? slots / caps.size() : slots;
    const u64 held = product_over(usable, tokens, *chunks);
    if (*chunks == off_scale || held == off_scale) {
        return Errc::overflow;
    }
    return TierCapacity{.tokens = held, .requests = usable / *chunks, .each = tokens, .chunks = *chunks};
}

/// Bytes that a tier keeps for one prompt of `tokens`: all pages, the chunks a window needs, one snapshot a state
/// group.
constexpr Result<Bytes> prompt_bytes(const ModelSpec& model, u64 tokens, u64 chunk, const Sharding& sharding = {},
                                     Copies copies = Copies::once, const ObjectRule& rule = {},
                                     TailRule tail = TailRule::floor) noexcept {
    if (chunk == 0) {
        return Errc::divided_by_zero;
    }
    Bytes sum{};
    for (const ObjectGroup& group : object_groups(model)) {
        const Result<GroupBytes> each = group_bytes(model, group, chunk, sharding, copies, rule);
        if (!each) {
            return each.error();
        }
        const u64 all = stored_chunks(tokens, chunk, tail);
        const bool once = group.kind == ObjectKind::snapshot || group.kind == ObjectKind::fixed;
        sum += each->stored * (once ? smaller(all, 1) : smaller(all, chunks_needed(group, chunk)));
    }
    return sum.value == off_scale ? Result<Bytes>{Errc::overflow} : Result<Bytes>{sum};
}

/// A tier: how much it holds and how fast it answers.
struct Tier {
    Bytes capacity{};
    double bytes_per_second = 0;
    double latency = 0;
};

/// Prompts of one length that a tier holds side by side, nothing shared, and their tokens.
constexpr Result<TierCapacity> tier_capacity(const Tier& tier, const ModelSpec& model, u64 tokens, u64 chunk,
                                             const Sharding& sharding = {}, Copies copies = Copies::once,
                                             const ObjectRule& rule = {}) noexcept {
    const Result<Bytes> each = prompt_bytes(model, tokens, chunk, sharding, copies, rule);
    if (!each) {
        return each.error();
    }
    if (each->value == 0) {
        return Error{.code = Errc::divided_by_zero, .got = tier.capacity.value};
    }
    const u64 requests = tier.capacity.value / each->value;
    const u64 held = saturating_product(requests, tokens / chunk * chunk);
    if (held == off_scale) {
        return Errc::overflow;
    }
    return TierCapacity{.tokens = held, .requests = requests, .each = tokens, .chunks = tokens / chunk};
}

/// Loading a prefix against computing it again.
struct LoadVerdict {
    double load_seconds = 0;
    double recompute_seconds = 0;
    constexpr bool load_pays() const noexcept { return load_seconds < recompute_seconds; }
};

constexpr LoadVerdict load_or_recompute(Bytes prefix, const Tier& tier, u64 recompute_flops,
                                        double flops_per_second) noexcept {
    return {.load_seconds = transfer_seconds(prefix, tier.bytes_per_second, tier.latency),
            .recompute_seconds = flops_per_second > 0 ? static_cast<double>(recompute_flops) / flops_per_second : 0};
}

}  // namespace kvcap::inline v1
