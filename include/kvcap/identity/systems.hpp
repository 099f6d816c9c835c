// SPDX-License-Identifier: MIT
// Which of these facts does a system's own key leave out, so that whoever deploys it must keep them equal by hand?
// Read in: vLLM 2026-08 block hashes and connectors, LMCache 2026-08, Mooncake 3b5a5941, Dynamo lib/tokens 05039e48,
// llm-d-kv-cache 7be76e11, FlexKV 34ab141e, UCM cdd44067, AIBrix e3e10f9e, HF3FS and SGLang as reported.
#pragma once

#include <kvcap/identity/chunk.hpp>

namespace kvcap::inline v1 {

enum class System : u8 {
    vllm_block_hash, lmcache_key, lmcache_object_key, lmcache_identity, mooncake_connector, hf3fs_connector, dynamo,
    llmd_index, llmd_files, flexkv, ucm, aibrix, count,
};

inline constexpr u32 system_count = static_cast<u32>(System::count);

/// absent: no part of the key. registered: held beside the objects, in a folder or a layout that readers must check.
/// operator_only: a prefix, tag or salt that carries it if someone sets it. mistaken: the key has a like fact that does
/// not tell these caches apart (a name for a version, the model's dtype for the cache's). in_key: tells them apart.
enum class Presence : u8 { absent, registered, operator_only, mistaken, in_key };

struct KeyPart {
    Field field = Field::count;
    Presence presence = Presence::absent;
};

using KeyParts = Inplace<KeyPart, field_count>;

namespace systems {

template <class... Fields_>
constexpr void put(KeyParts& parts, Presence presence, Fields_... fields) noexcept {
    ((parts.items[parts.count++] = {fields, presence}), ...);
}

/// What a vLLM block hash says of the content: the adapter by its name only.
constexpr void block_hash(KeyParts& parts) noexcept {
    using enum Field;
    put(parts, Presence::in_key, parent, tokens, adapter, salt, media, embeddings, hash_algorithm, hash_seed,
        page_tokens);
    put(parts, Presence::mistaken, adapter_version);
}

}  // namespace systems

constexpr std::string_view name_of(System system) noexcept {
    switch (system) {
        case System::vllm_block_hash: return "vllm";
        case System::lmcache_key: return "lmcache";
        case System::lmcache_object_key: return "lmcache-server";
        case System::lmcache_identity: return "lmcache-identity";
        case System::mooncake_connector: return "mooncake";
        case System::hf3fs_connector: return "hf3fs";
        case System::dynamo: return "dynamo";
        case System::llmd_index: return "llm-d-index";
        case System::llmd_files: return "llm-d";
        case System::flexkv: return "flexkv";
        case System::ucm: return "ucm";
        case System::aibrix: return "aibrix";
        case System::count: break;
    }
    return "";
}

/// Everything the key of `system` says, and how; fields not listed are absent.
constexpr KeyParts key_of(System system) noexcept {
    using enum Field;
    using enum Presence;
    using systems::put;
    KeyParts parts{};
    switch (system) {
        case System::vllm_block_hash: systems::block_hash(parts); break;
        case System::lmcache_key:
            put(parts, in_key, model, parent, tokens, tp, tp_rank, pp, pp_rank, pcp, pcp_rank, hash_algorithm,
                hash_seed);
            put(parts, mistaken, kv_dtype, adapter_version, media);
            put(parts, operator_only, adapter, salt);
            break;
        case System::lmcache_object_key:
            put(parts, in_key, model, parent, tokens, tp, tp_rank, pp, pp_rank, pcp, pcp_rank, group, group_kind, salt,
                hash_algorithm, hash_seed);
            put(parts, mistaken, media);
            put(parts, registered, kv_dtype, caches, chunk_tokens, page_tokens, layout);
            put(parts, operator_only, adapter, adapter_version);
            break;
        case System::lmcache_identity:
            put(parts, in_key, model, weights_revision, tokenizer_revision, kv_dtype, quant_scheme, scale_granularity,
                scales_revision, backend, kernel_block_tokens, tp, tp_rank, pp, pp_rank, pcp, pcp_rank, dcp, dcp_rank,
                group, group_kind, salt, adapter, adapter_version, token_drop_algorithm, token_drop_policy, compression,
                parent, tokens, hash_algorithm, hash_seed);
            put(parts, registered, caches, chunk_tokens, page_tokens, layout);
            put(parts, mistaken, media);
            break;
        case System::mooncake_connector:
            systems::block_hash(parts);
            put(parts, in_key, model, tp_rank, pp_rank, pcp_rank, dcp_rank, group, group_kind, cache_role);
            put(parts, operator_only, weights_revision, kv_dtype, quant_scheme, scale_granularity, backend,
                layout, rope);
            break;
        case System::hf3fs_connector: put(parts, in_key, parent, tokens); break;
        case System::dynamo:
            put(parts, in_key, parent, tokens, adapter, media, salt, chunk_tokens, hash_algorithm, hash_seed);
            put(parts, mistaken, adapter_version);
            put(parts, operator_only, model, weights_revision);
            break;
        case System::llmd_index:
            put(parts, in_key, model, parent, tokens, adapter, media, chunk_tokens, hash_algorithm, hash_seed);
            put(parts, mistaken, adapter_version);
            break;
        case System::llmd_files:
            systems::block_hash(parts);
            put(parts, in_key, model, kv_dtype, chunk_tokens, tp, tp_rank, pp, pp_rank, pcp, pcp_rank, dcp,
                dcp_rank, group, group_kind, caches, cache_role, writer);
            put(parts, mistaken, engine);
            break;
        case System::flexkv:
            put(parts, in_key, parent, tokens, hash_algorithm, hash_seed);
            put(parts, registered, kv_dtype, chunk_tokens, tp, pp, group, caches);
            put(parts, operator_only, model, adapter, salt, user_key);
            break;
        case System::ucm:
            put(parts, in_key, model, parent, tokens, tp, tp_rank, chunk_tokens, hash_algorithm);
            put(parts, mistaken, kv_dtype, hash_seed);
            break;
        case System::aibrix:
            put(parts, in_key, model, parent, tokens, kv_dtype, chunk_tokens, layout, caches, hash_algorithm);
            put(parts, mistaken, tp, tp_rank, pp, pp_rank);
            break;
        case System::count: break;
    }
    return parts;
}

constexpr Presence presence(System system, Field field) noexcept {
    for (const KeyPart& part : key_of(system)) {
        if (part.field == field) {
            return part.presence;
        }
    }
    return Presence::absent;
}

/// What the key of `system` does not tell apart by itself.
constexpr Fields missing(System system) noexcept {
    Fields left_out{};
    for (u32 i = 0; i < field_count; ++i) {
        const Field field = static_cast<Field>(i);
        if (presence(system, field) != Presence::in_key) {
            left_out.items[left_out.count++] = field;
        }
    }
    return left_out;
}

/// Of the fields that differ, those that `system` cannot see. When all of them are such, its keys are equal: a
/// collision.
constexpr Fields unseen(System system, const Fields& differing) noexcept {
    Fields left_out{};
    for (const Field field : differing) {
        if (presence(system, field) != Presence::in_key) {
            left_out.items[left_out.count++] = field;
        }
    }
    return left_out;
}

constexpr bool collides(System system, const Fields& differing) noexcept {
    return !differing.empty() && unseen(system, differing) == differing;
}

/// vLLM's workers: stages, then prefill-context ranks, then tensor ranks. What is not stated counts as not divided.
struct Worker {
    u64 world = 1;
    u64 rank = 0;
    friend constexpr bool operator==(const Worker&, const Worker&) = default;
};

constexpr Worker worker_of(const FormatIdentity& id) noexcept {
    const u64 tp = larger(id.tp.value, 1);
    const u64 pcp = larger(id.pcp.value, 1);
    return {saturating_product(saturating_product(tp, pcp), larger(id.pp.value, 1)),
            saturating_sum(saturating_product(saturating_product(id.pp_rank.value, pcp), tp),
                           saturating_sum(saturating_product(id.pcp_rank.value, tp), id.tp_rank.value))};
}

/// What LMCache calls an element type: the tensor's own, by which every fp8 and 4-bit cache is bytes. Names it does not
/// know stay as they are. Source: vLLM, utils/torch_utils.py STR_DTYPE_TO_TORCH_DTYPE.
constexpr std::string_view lmcache_dtype(std::string_view given) noexcept {
    constexpr std::string_view names[][2] = {{"bf16", "bfloat16"}, {"f16", "half"}, {"fp16", "half"},
                                             {"float16", "half"}, {"f32", "float"}, {"fp32", "float"},
                                             {"float32", "float"}};
    for (const auto& [ours, theirs] : names) {
        if (given == ours) {
            return theirs;
        }
    }
    for (const std::string_view bytes : {"fp8", "nvfp4", "fp4_e2m1", "turboquant_", "int4_per_token_head"}) {
        if (given.substr(0, bytes.size()) == bytes) {
            return "uint8";
        }
    }
    return given == "int8_per_token_head" ? "int8" : given;
}

/// Whether the key of `system` differs between these two when only `field` is looked at. LMCache's keys have the
/// number of workers and the worker, so TP 2 and PP 2 are one to them, and an element type that is bytes for every fp8.
constexpr bool tells_apart(System system, Field field, const FormatIdentity& a, const FormatIdentity& b) noexcept {
    const bool lmcache = system == System::lmcache_key || system == System::lmcache_object_key;
    if (system == System::lmcache_key && field == Field::kv_dtype) {
        return lmcache_dtype(a.kv_dtype.value) != lmcache_dtype(b.kv_dtype.value);
    }
    if (lmcache && field >= Field::tp && field <= Field::pcp_rank) {
        return !(worker_of(a) == worker_of(b));
    }
    return presence(system, field) == Presence::in_key;
}

/// Whether two caches that differ get one key, their values looked at.
constexpr bool collide(System system, const FormatIdentity& a, const ChunkIdentity& of_a, const FormatIdentity& b,
                       const ChunkIdentity& of_b) noexcept {
    const Fields formats = diff(a, b);
    const Fields contents = diff(of_a, of_b);
    for (const Field field : formats) {
        if (tells_apart(system, field, a, b)) {
            return false;
        }
    }
    return !(formats.empty() && contents.empty()) && unseen(system, contents) == contents;
}

}  // namespace kvcap::inline v1
