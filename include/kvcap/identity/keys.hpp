// SPDX-License-Identifier: MIT
// What does a system call this chunk? The literal keys of vLLM, LMCache, the Mooncake connector and llm-d, written from
// an identity. They say less than the identity does: missing(system) tells what.
// Sources: vLLM v1/core/kv_cache_utils.py (sha256_cbor), LMCache lmcache/utils.py and v1/distributed/api.py, vLLM
// MooncakeStoreConnector, llm-d-kv-cache token_processor.go, Dynamo lib/tokens.
#pragma once

#include <kvcap/identity.hpp>
#include <string>

namespace kvcap::inline v1 {

/// LMCache's rank: world, global rank, local world, local rank, 8 bits each. A rank above 255 would run into its
/// neighbour and is refused.
constexpr Result<u32> lmcache_kv_rank(u64 world, u64 global_rank, u64 local_world, u64 local_rank) noexcept {
    const u64 fields[] = {world, global_rank, local_world, local_rank};
    u64 packed = 0;
    for (const u64 field : fields) {
        if (field > 0xff) {
            return Error{.code = Errc::rank_out_of_range, .got = field, .want = 0x100};
        }
        packed = packed << 8 | field;
    }
    return static_cast<u32>(packed);
}

/// Dynamo's positional hash: 2 bits of mode, then a position as narrow as it fits and the rest of 64 bits of local
/// hash.
struct PositionalMode {
    u32 mode = 0;
    u32 position_bits = 0;
    u32 local_hash_bits = 0;
    friend constexpr bool operator==(const PositionalMode&, const PositionalMode&) = default;
};

constexpr Result<PositionalMode> dynamo_positional_mode(u64 position) noexcept {
    constexpr PositionalMode modes[] = {{0, 8, 54}, {1, 16, 46}, {2, 24, 38}, {3, 31, 31}};
    for (const PositionalMode& mode : modes) {
        if (position >> mode.position_bits == 0) {
            return mode;
        }
    }
    return Error{.code = Errc::unsupported, .what = Uncovered::position, .got = position, .want = u64{1} << 31};
}

/// Bytes that Dynamo hashes for one block: 4 a token, or 13 a token (tag, u32, u64) when media lie in it.
constexpr u64 dynamo_block_hash_bytes(u64 block_tokens, bool media_in_block) noexcept {
    return saturating_product(block_tokens, media_in_block ? 13 : 4);
}

/// RFC 8949 deterministic encoding of the few types that block hashes use.
class Cbor {
public:
    Cbor& array(u64 items) { return head(4, items); }
    Cbor& number(u64 value) { return head(0, value); }
    Cbor& null() { return put(0xf6); }
    Cbor& bytes(std::string_view value) { return head(2, value.size()).append(value); }
    Cbor& text(std::string_view value) { return head(3, value.size()).append(value); }
    const std::string& str() const noexcept { return out_; }

private:
    Cbor& put(u64 byte) {
        out_.push_back(static_cast<char>(byte));
        return *this;
    }
    Cbor& append(std::string_view value) {
        out_.append(value);
        return *this;
    }
    Cbor& head(u64 major, u64 value) {
        const u64 type = major << 5;
        if (value < 24) {
            return put(type | value);
        }
        const u32 width = value <= 0xff ? 0 : value <= 0xffff ? 1 : value <= 0xffff'ffff ? 2 : 3;
        put(type | (24 + width));
        for (u32 i = u32{1} << width; i-- > 0;) {
            put(value >> (8 * i) & 0xff);
        }
        return *this;
    }
    std::string out_;
};

inline std::string hex(std::string_view bytes) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (const char c : bytes) {
        text += digits[static_cast<u8>(c) >> 4];
        text += digits[static_cast<u8>(c) & 15];
    }
    return text;
}

inline std::string hex32(u32 value) {
    const char bytes[] = {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
                          static_cast<char>(value)};
    return hex({bytes, 4});
}

namespace keys {

inline void token_list(Cbor& cbor, std::span<const u32> tokens) {
    cbor.array(tokens.size());
    for (const u32 token : tokens) {
        cbor.number(token);
    }
}

/// vLLM's extra keys, in its order: adapter name, media (hash, offset), salt (first block only), embeddings.
inline void extra_keys(Cbor& cbor, const ChunkIdentity& chunk) {
    const bool salted = chunk.salt.has_value() && !chunk.parent.has_value();
    const u64 items = (chunk.adapter.has_value() ? 1u : 0u) + chunk.media.size() + (salted ? 1u : 0u) +
                      (chunk.embeddings.has_value() ? 1u : 0u);
    if (items == 0) {
        cbor.null();
        return;
    }
    cbor.array(items);
    if (chunk.adapter.has_value()) {
        cbor.text(chunk.adapter.value);
    }
    for (const MediaRun& run : chunk.media) {
        cbor.array(2).text(run.hash).number(run.at);
    }
    if (salted) {
        cbor.text(chunk.salt.value);
    }
    if (chunk.embeddings.has_value()) {
        cbor.bytes(chunk.embeddings.value);
    }
}

constexpr u64 fnv64a(std::string_view bytes) noexcept {
    u64 hash = 0xcbf29ce484222325;
    for (const char c : bytes) {
        hash = (hash ^ static_cast<u8>(c)) * 0x100000001b3;
    }
    return hash;
}

}  // namespace keys

/// A digest policy: bytes in, digest bytes out.
template <class D>
concept Digest = requires(D& digest, std::string_view bytes) {
    { digest(bytes) } -> std::convertible_to<std::string>;
};

/// vLLM's block hash with sha256_cbor: digest of [parent, tokens, extra keys]; the root's parent is the digest of the
/// hash seed as a text (PYTHONHASHSEED). chunk.parent: the digest bytes of the block before.
template <Digest D>
std::string vllm_block_hash(const ChunkIdentity& chunk, std::string_view hash_seed, D&& digest) {
    Cbor cbor;
    cbor.array(3);
    if (chunk.parent.has_value()) {
        cbor.bytes(chunk.parent.value);
    } else {
        cbor.bytes(digest(std::string_view{Cbor{}.text(hash_seed).str()}));
    }
    keys::token_list(cbor, chunk.tokens);
    keys::extra_keys(cbor, chunk);
    return digest(std::string_view{cbor.str()});
}

/// What a system's own hash of a chunk is made from; the rest is dropped, so it need not be stated. LMCache hashes
/// parent and tokens alone, llm-d's index the adapter (at the root) and media, vLLM all but an adapter's version.
constexpr ChunkIdentity hashed_content(System system, ChunkIdentity chunk) noexcept {
    const bool lmcache = system == System::lmcache_key || system == System::lmcache_object_key;
    const bool index = system == System::llmd_index;
    chunk.user_key = stated_none;
    if (lmcache) {
        chunk.adapter = stated_none;
        chunk.media = {};
    }
    if (lmcache || index) {
        chunk.salt = stated_none;
        chunk.embeddings = stated_none;
    }
    chunk.adapter_version = chunk.adapter;
    return chunk;
}

/// llm-d's index: FNV-64a of [parent, tokens, extra]; the root is that of [hash of the seed, null, model], the
/// adapter's name instead of the model's where there is one. parent: the hash of the block before, for all but the
/// first.
inline u64 llmd_root(std::string_view model_or_adapter, std::string_view hash_seed) {
    Cbor cbor;
    cbor.array(3).number(keys::fnv64a(hash_seed)).null().text(model_or_adapter);
    return keys::fnv64a(cbor.str());
}

inline u64 llmd_block_hash(u64 parent, const ChunkIdentity& chunk) {
    Cbor cbor;
    cbor.array(3).number(parent);
    keys::token_list(cbor, chunk.tokens);
    if (chunk.media.empty()) {
        cbor.null();
    } else {
        cbor.array(chunk.media.size());
        for (const MediaRun& run : chunk.media) {
            cbor.text(run.hash);
        }
    }
    return keys::fnv64a(cbor.str());
}

/// A key, or the fact that keeps it from being one.
struct KeyText {
    std::string text;
    Refusal refusal{};
    explicit operator bool() const noexcept { return !refusal; }
};

constexpr Refusal refuse_any_of(std::string_view forbidden, Field field, const StatedText& fact) noexcept {
    const bool found = fact.has_value() && fact.value.find_first_of(forbidden) != std::string_view::npos;
    return {field, found ? WhyRefused::separator : WhyRefused::fine};
}

/// LMCache in process: model@world@worker@hash@dtype. Its dtype for every fp8 cache is uint8. chunk_hash: of what
/// hashed_content() leaves.
inline KeyText lmcache_key(const FormatIdentity& id, std::string_view chunk_hash) {
    if (const Refusal refusal = refuse_any_of("@", Field::model, id.model)) {
        return {{}, refusal};
    }
    const std::string_view dtype = lmcache_dtype(id.kv_dtype.value);
    const auto [world, worker] = worker_of(id);
    return {std::string{id.model.value} + '@' + std::to_string(world) + '@' + std::to_string(worker) + '@' +
                hex(chunk_hash) + '@' + std::string{dtype}, {}};
}

/// LMCache server: model@kv_rank@group@hash[@salt], rank and group in hex. One node holds all ranks.
inline KeyText lmcache_object_key(const FormatIdentity& id, const ChunkIdentity& chunk, std::string_view chunk_hash) {
    if (const Refusal refusal = refuse_any_of("@", Field::model, id.model)) {
        return {{}, refusal};
    }
    if (const Refusal refusal = refuse_any_of(std::string_view{"@/\\\0", 4}, Field::salt, chunk.salt)) {
        return {{}, refusal};
    }
    if (chunk.salt.value.size() > 128) {
        return {{}, {Field::salt, WhyRefused::malformed}};
    }
    const auto [world, worker] = worker_of(id);
    const Result<u32> rank = lmcache_kv_rank(world, worker, world, worker);
    if (!rank) {
        return {{}, {Field::tp_rank, WhyRefused::rank_out_of_range}};
    }
    const u32 group = static_cast<u32>(id.group.value);
    const std::string padded = hex32(group);
    const std::size_t first = padded.find_first_not_of('0');
    std::string text = std::string{id.model.value} + '@' + hex32(*rank) + '@' +
                       (first == std::string::npos ? "0" : padded.substr(first)) + '@' + hex(chunk_hash);
    return {chunk.salt.has_value() ? text + '@' + std::string{chunk.salt.value} : text, {}};
}

/// Mooncake connector of vLLM: [prefix@]model@tp_rank:@pcp@dcp@pp_rank:@group:@hash. Ranks with equal bytes share one
/// tp_rank: fold or renumber them before (store/objects.hpp says which are equal).
inline KeyText mooncake_key(const FormatIdentity& id, std::string_view block_hash, std::string_view prefix = {}) {
    if (const Refusal refusal = refuse_any_of("@", Field::model, id.model)) {
        return {{}, refusal};
    }
    std::string text = prefix.empty() ? std::string{} : std::string{prefix} + '@';
    text += std::string{id.model.value} + "@tp_rank:" + std::to_string(id.tp_rank.value) + "@pcp" +
            std::to_string(id.pcp_rank.value) + "@dcp" + std::to_string(id.dcp_rank.value) + "@pp_rank:" +
            std::to_string(id.pp_rank.value) + "@group:" + std::to_string(id.group.value) + '@' + hex(block_hash);
    return {text, {}};
}

}  // namespace kvcap::inline v1
