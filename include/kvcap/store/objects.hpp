// SPDX-License-Identifier: MIT
// How large is a stored chunk? Per group and rank: sum over its caches of (chunk / stride) slots x bytes_per_slot, one
// slot for a snapshot; split into objects as the store lays them out, each rounded up to the store's alignment.
// Source: LMCache get_shapes, _derive_slots_per_chunk (0070790).
#pragma once

#include <kvcap/store/groups.hpp>

namespace kvcap::inline v1 {

/// Slots of a chunk when a block of tokens_per_block tokens holds slots_per_block entries. Errors: not_divisible,
/// when a block is not whole entries or a chunk not whole blocks.
constexpr Result<u64> slots_per_chunk(u64 chunk_tokens, u64 tokens_per_block, u64 slots_per_block) noexcept {
    if (tokens_per_block == 0 || slots_per_block == 0) {
        return Errc::zero_dimension;
    }
    if (tokens_per_block % slots_per_block != 0) {
        return Error{.code = Errc::not_divisible, .got = tokens_per_block, .want = slots_per_block};
    }
    if (chunk_tokens % tokens_per_block != 0) {
        return Error{.code = Errc::not_divisible, .got = chunk_tokens, .want = tokens_per_block};
    }
    return saturating_product(chunk_tokens / tokens_per_block, slots_per_block);
}

/// floor: a part of a chunk at the end is not stored (vLLM, LMCache server, llm-d). ceil: it is, as an object of its
/// own (Mooncake's traces, LMCache with save_unfull_chunk).
enum class TailRule : u8 { floor, ceil };

constexpr u64 stored_chunks(u64 tokens, u64 chunk, TailRule rule) noexcept {
    return rule == TailRule::floor ? tokens / chunk : ceil_div(tokens, chunk);
}

/// whole: one object for all layers and planes. per_layer: one for each cache. per_plane: one for each cache and stream
/// (keys apart from values).
enum class ObjectLayout : u8 { whole, per_layer, per_plane };

struct ObjectRule {
    ObjectLayout layout = ObjectLayout::whole;
    u64 alignment = 1;
    u64 replicas = 1;
};

/// objects: keys a chunk takes. content: its bytes. stored: rounded up object by object, times the store's replicas.
struct ObjectBytes {
    u64 objects = 0;
    Bytes content{};
    Bytes stored{};

    friend constexpr ObjectBytes operator+(const ObjectBytes& a, const ObjectBytes& b) noexcept {
        return {saturating_sum(a.objects, b.objects), a.content + b.content, a.stored + b.stored};
    }
    friend constexpr bool operator==(const ObjectBytes&, const ObjectBytes&) = default;
};

/// Entries of one cache in an object of `tokens` tokens. Errors: not_divisible, when entries straddle the chunk's end.
constexpr Result<u64> slots_in_object(const LayerForm& form, u64 tokens) noexcept {
    switch (kind_of(form.retention)) {
        case ObjectKind::snapshot:
            return form.retention.keep == Keep::budget ? (form.retention.span + form.retention.sinks).value : u64{1};
        case ObjectKind::fixed: return u64{1};
        case ObjectKind::page:
        case ObjectKind::tail: break;
    }
    const u64 stride = form.retention.stride;
    if (tokens % stride != 0) {
        return Error{.code = Errc::not_divisible, .got = tokens, .want = stride};
    }
    return tokens / stride;
}

constexpr u64 stored_in(u64 bytes, const ObjectRule& rule) noexcept {
    return saturating_product(round_up(bytes, rule.alignment), rule.replicas);
}

constexpr Result<ObjectBytes> bytes_of_cache(const LayerForm& form, u64 tokens, const Sharding& sharding,
                                             const ObjectRule& rule) noexcept {
    const Result<u64> slots = slots_in_object(form, tokens);
    if (!slots) {
        return slots.error();
    }
    ObjectBytes sum{.objects = rule.layout == ObjectLayout::per_layer ? u64{1} : u64{0}};
    for (const Stream& stream : form.streams) {
        const LayerForm plane{.retention = form.retention, .streams = {1, {stream}}, .kind = form.kind};
        const Result<BytesPerSlot> each = bytes_per_slot(plane, sharding);
        if (!each) {
            return each.error();
        }
        const Bytes bytes = Slots{*slots} * *each;
        const bool own = rule.layout == ObjectLayout::per_plane;
        sum = sum + ObjectBytes{own ? u64{1} : u64{0}, bytes, own ? Bytes{stored_in(bytes.value, rule)} : Bytes{}};
    }
    if (rule.layout == ObjectLayout::per_layer) {
        sum.stored = {stored_in(sum.content.value, rule)};
    }
    return sum;
}

/// Objects of one group for one chunk of `tokens` tokens on one rank of `stage`. Errors: divided_by_zero for an
/// alignment of nothing; those of the bytes and the split.
constexpr Result<ObjectBytes> object_bytes(const ModelSpec& model, const ObjectGroup& group, u64 tokens,
                                           const Sharding& sharding = {}, u32 stage = 0,
                                           const ObjectRule& rule = {}) noexcept {
    if (rule.alignment == 0) {
        return Errc::divided_by_zero;
    }
    const Result<Inplace<u32, 32>> counts = caches_on_stage(model, sharding, stage);
    if (!counts) {
        return counts.error();
    }
    ObjectBytes sum{};
    for (const u16 at : group.forms) {
        const Result<ObjectBytes> one = bytes_of_cache(model.forms[at], tokens, sharding, rule);
        if (!one) {
            return one.error();
        }
        const u64 caches = (*counts)[at];
        sum = sum + ObjectBytes{saturating_product(one->objects, caches), one->content * caches, one->stored * caches};
    }
    if (rule.layout == ObjectLayout::whole && sum.content.value > 0) {
        sum.objects = 1;
        sum.stored = {stored_in(sum.content.value, rule)};
    }
    if (sum.stored.value == off_scale) {
        return Errc::overflow;
    }
    return sum;
}

/// Bytes of a tensor of known extents, as stores that describe objects by shape count them.
constexpr Result<Bytes> tensor_bytes(const u64* extents, u32 dimensions, ElementFormat format) noexcept {
    u64 elements = 1;
    for (u32 i = 0; i < dimensions; ++i) {
        elements = saturating_product(elements, extents[i]);
    }
    const Result<u64> bytes = format.row_bytes(elements);
    if (elements == off_scale || bytes.value_or(0) == off_scale) {
        return Errc::overflow;
    }
    return bytes ? Result<Bytes>{Bytes{*bytes}} : Result<Bytes>{bytes.error()};
}

}  // namespace kvcap::inline v1
