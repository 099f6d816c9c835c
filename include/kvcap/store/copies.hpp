// SPDX-License-Identifier: MIT
// What is stored twice? Tensor-parallel ranks whose bytes are equal make one shard: latents and index keys one in all,
// heads fewer than ranks one a head, states one a rank. The factor is per group, never per model (vllm#49499).
#pragma once

#include <kvcap/store/objects.hpp>

namespace kvcap::inline v1 {

/// Distinct shards of a stream over the tensor-parallel ranks; consecutive ranks hold equal ones.
constexpr Result<u32> shards_of(const Stream& stream, const Sharding& sharding) noexcept {
    const Result<u32> own = heads_on_rank(stream, sharding);
    if (!own) {
        return own.error();
    }
    if (stream.split == Split::replicated) {
        return u32{1};
    }
    const bool copied = (stream.split == Split::heads || stream.split == Split::groups) && stream.heads < sharding.tp;
    if (!copied) {
        return sharding.tp;
    }
    if (stream.heads == 0 || sharding.tp % stream.heads != 0) {
        return Error{.code = Errc::heads_not_divisible, .got = stream.heads, .want = sharding.tp};
    }
    return stream.heads;
}

/// Shards of a whole group: ranks are equal only where all its streams are.
constexpr Result<u32> shards_of(const ModelSpec& model, const ObjectGroup& group, const Sharding& sharding) noexcept {
    u64 shards = 1;
    for (const u16 at : group.forms) {
        for (const Stream& stream : model.forms[at].streams) {
            const Result<u32> own = shards_of(stream, sharding);
            if (!own) {
                return own.error();
            }
            shards = least_common_multiple(shards, *own);
        }
    }
    return static_cast<u32>(shards);
}

/// The shard that a rank holds; ranks with the same one may share a key. pre: shards divides tp, rank < tp
constexpr u32 shard_of_rank(u32 shards, u32 tp, u32 rank) noexcept {
    return static_cast<u32>(u64{rank} * shards / tp);
}

/// Tokens of a chunk that one context-parallel rank stores: its part of pages, all of what is whole on each rank.
/// Errors: not_divisible, when the portions dealt in a chunk are not equal, so that its ranks' objects would be of
/// changing sizes.
constexpr Result<u64> tokens_on_context_rank(const ModelSpec& model, const ObjectGroup& group, u64 tokens,
                                             const Sharding& sharding) noexcept {
    if (sharding.cp == 0 || sharding.interleave == 0) {
        return Errc::zero_parallelism;
    }
    if (sharding.cp == 1 || group.kind != ObjectKind::page) {
        return tokens;
    }
    const u64 round = u64{sharding.cp} * sharding.interleave;
    for (const u16 at : group.forms) {
        const Result<u64> slots = slots_in_object(model.forms[at], tokens);
        if (!slots) {
            return slots.error();
        }
        if (*slots % round != 0) {
            return Error{.code = Errc::not_divisible, .got = *slots, .want = round};
        }
    }
    return tokens / sharding.cp;
}

/// once: the ranks of a shard store one object. each_rank: every rank stores its own.
enum class Copies : u8 { once, each_rank };

/// For one chunk of one group over all ranks of all stages; pages are dealt to context-parallel ranks, all else is
/// whole on each of them. unique: every byte once. stored: as kept, with the store's
/// alignment and replicas. loaded: what all ranks receive together when the chunk is used. read: what leaves the store
/// when one rank of a shard reads and passes it on.
struct GroupBytes {
    u32 shards = 1;
    Bytes unique{};
    Bytes stored{};
    Bytes loaded{};
    Bytes read{};
    u64 objects = 0;
    friend constexpr bool operator==(const GroupBytes&, const GroupBytes&) = default;
};

constexpr Result<GroupBytes> group_bytes(const ModelSpec& model, const ObjectGroup& group, u64 tokens,
                                         const Sharding& sharding = {}, Copies copies = Copies::once,
                                         const ObjectRule& rule = {}) noexcept {
    const Result<u32> shards = shards_of(model, group, sharding);
    const Result<ObjectBytes> whole = object_bytes(model, group, tokens);
    const Result<u64> part = tokens_on_context_rank(model, group, tokens, sharding);
    if (!shards || !whole || !part) {
        return !shards ? shards.error() : !whole ? whole.error() : part.error();
    }
    const u64 contexts = sharding.cp;
    const u64 parts = group.kind == ObjectKind::page ? contexts : 1;
    const u64 kept = copies == Copies::once ? *shards * parts : sharding.tp * contexts;
    GroupBytes sum{.shards = *shards, .unique = whole->content};
    for (u32 stage = 0; stage < sharding.pp; ++stage) {
        const Result<ObjectBytes> own = object_bytes(model, group, *part, sharding, stage, rule);
        if (!own) {
            return own.error();
        }
        sum.stored += own->stored * kept;
        sum.objects = saturating_sum(sum.objects, saturating_product(own->objects, kept));
        sum.loaded += own->content * (sharding.tp * contexts);
        sum.read += own->content * (*shards * parts);
    }
    const u64 most = larger(larger(sum.stored.value, sum.loaded.value), larger(sum.read.value, sum.objects));
    return most == off_scale ? Result<GroupBytes>{Errc::overflow} : Result<GroupBytes>{sum};
}

}  // namespace kvcap::inline v1
