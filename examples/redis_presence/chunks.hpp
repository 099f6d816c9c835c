// SPDX-License-Identifier: MIT
// A prompt as chunks in a store, and their keys. A model's caches form object groups (pages, window tails, snapshots),
// each with one object a chunk and rank; an object is named as LMCache's server does: model@kv_rank@group@hash[@salt],
// where the hash chains over all tokens up to the chunk's end.
#pragma once

#include <kvcap/core.hpp>
#include <kvcap/identity/keys.hpp>
#include <kvcap/reuse/repair.hpp>
#include <kvcap/store/copies.hpp>

#include <openssl/evp.h>
#include <stdexcept>
#include <string>
#include <vector>

namespace presence {

using namespace kvcap;

inline std::string sha256(std::string_view bytes) {
    std::string digest(32, '\0');
    unsigned size = 0;
    if (EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()), &size, EVP_sha256(),
                   nullptr) != 1) {
        throw std::runtime_error("SHA-256 is not available");
    }
    return digest;
}

template <class T>
T value_of(const Result<T>& result) {
    if (!result) {
        char words[160];
        message(result.error(), words, sizeof words);
        throw std::runtime_error(words);
    }
    return *result;
}

/// Whose caches, cut and dealt how, for whom.
struct Deployment {
    ModelSpec model{};
    std::string name;
    Sharding sharding{};
    u64 chunk = 256;
    std::string hash_seed = "0";
    std::string salt{};
};

/// One object group of the model: what a boundary needs of it, what its missing objects cost, and how many ranks hold
/// different bytes. rank_count: equal bytes on all ranks are stored once, under the key of a single rank; anything else
/// is stored by every rank, also where some of them hold copies.
struct ChunkGroup {
    u32 number = 0;
    ObjectGroup objects{};
    Rule rule{};
    u32 rank_count = 1;
    u64 bytes = 0;
};

class Chunks {
public:
    Chunks(const Deployment& of, const std::vector<u32>& prompt) : of_{of}, prompt_{prompt.size()} {
        if (of.chunk == 0 || of.sharding.tp == 0) {
            throw std::runtime_error("a chunk has at least one token, and a deployment at least one rank");
        }
        hashes_.reserve(prompt.size() / of.chunk);
        const ObjectGroups groups = object_groups(of.model);
        for (u32 g = 0; g < groups.size(); ++g) {
            if (groups[g].kind != ObjectKind::fixed) {
                groups_.push_back(group(g, groups[g]));
            }
        }
        // The chain of LMCache's hashes: [parent, tokens, nothing else], the salt being part of the key.
        ChunkIdentity chunk{.parent = stated_none, .tokens = {}, .adapter = stated_none,
                            .adapter_version = stated_none, .salt = stated_none, .user_key = stated_none, .media = {},
                            .embeddings = stated_none};
        for (u64 first = 0; first + of.chunk <= prompt.size(); first += of.chunk) {
            chunk.tokens = {prompt.data() + first, of.chunk};
            hashes_.push_back(vllm_block_hash(chunk, of.hash_seed, sha256));
            chunk.parent = std::string_view{hashes_.back()};
        }
    }
    Chunks(const Chunks&) = delete;
    Chunks& operator=(const Chunks&) = delete;

    const std::vector<ChunkGroup>& groups() const noexcept { return groups_; }
    u64 count() const noexcept { return hashes_.size(); }
    /// How far may the prompt be skipped? To a chunk's end, and its last token is computed in any case.
    Ask ask() const noexcept { return ask_for(prompt_, of_.chunk); }

    /// The keys of a chunk's objects: all of them are needed.
    std::vector<std::string> keys(u32 g, u64 page) const {
        std::vector<std::string> keys;
        ChunkIdentity content{};
        if (!of_.salt.empty()) {
            content.salt = std::string_view{of_.salt};
        }
        for (u32 rank = 0; rank < groups_[g].rank_count; ++rank) {
            FormatIdentity format{};
            format.model = std::string_view{of_.name};
            format.group = u64{groups_[g].number};
            format.tp = u64{groups_[g].rank_count}, format.tp_rank = u64{rank};
            format.pp = u64{1}, format.pp_rank = u64{0};
            const KeyText key = lmcache_object_key(format, content, hashes_[page]);
            if (!key) {
                throw std::runtime_error("no key: a separator in the model's name or salt, a salt of more than 128 "
                                         "characters, or more than 255 ranks");
            }
            keys.push_back(key.text);
        }
        return keys;
    }

private:
    ChunkGroup group(u32 number, const ObjectGroup& objects) const {
        const Retention kept{.keep = objects.keep, .source = objects.source, .span = objects.span,
                             .sinks = objects.sinks};
        const u32 shards = value_of(shards_of(of_.model, objects, of_.sharding));
        const Copies copies = shards == 1 ? Copies::once : Copies::each_rank;
        const GroupBytes bytes = value_of(group_bytes(of_.model, objects, of_.chunk, of_.sharding, copies));
        return {.number = number, .objects = objects, .rule = rule_of(kept, of_.chunk),
                .rank_count = shards == 1 ? 1 : of_.sharding.tp, .bytes = bytes.stored.value};
    }

    Deployment of_;
    u64 prompt_ = 0;
    std::vector<ChunkGroup> groups_;
    std::vector<std::string> hashes_;
};

}  // namespace presence
