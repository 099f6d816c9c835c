// SPDX-License-Identifier: MIT
// When are two blocks the same to vLLM's prefix cache? key(block) = (key of the block before, its tokens, its
// extra keys): adapter name in every block, media items that overlap it with their offset in it, and the salt
// in the first. Exact keys instead of hashes. Source: v1/core/kv_cache_utils.py `get_request_block_hasher`
// (2026-08-20).
#pragma once

#include <kvcap/units.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace kvcap::inline v1::vllm {

/// An image or other item that fills `length` tokens from `offset` on. Items of a request are sorted by
/// offset.
struct SimMedia {
    std::string id{};
    u64 offset = 0;
    u64 length = 0;
};

/// tokens: the prompt. decoded: what is generated after it, one token a step.
struct SimRequest {
    std::vector<u64> tokens{};
    std::vector<u64> decoded{};
    std::string salt{};
    std::string adapter{};
    std::vector<SimMedia> media{};
};

/// Numbers equal chains of blocks equally.
class SimKeys {
public:
    u64 of(u64 before, const std::string& content) {
        const auto [at, added] = known_.try_emplace({before, content}, known_.size() + 1);
        static_cast<void>(added);
        return at->second;
    }

private:
    std::map<std::pair<u64, std::string>, u64> known_;
};

/// Media items of the block [from, to), from item `at` on; moves `at` past items that end in it.
inline std::string media_keys(const std::vector<SimMedia>& media, u64 from, u64 to, std::size_t& at) {
    std::string keys;
    if (media.empty() || media.back().offset + media.back().length <= from) {
        return keys;
    }
    while (at < media.size() && to > media[at].offset) {
        const u64 end = media[at].offset + media[at].length;
        if (from >= end) {
            ++at;
            continue;
        }
        keys += "media " + media[at].id + '@' + std::to_string(media[at].offset - from) + '\n';
        if (to < end) {
            break;
        }
        ++at;
    }
    return keys;
}

/// Extends `chain` by the keys of all whole hash blocks of `tokens`. Blocks that are added to a chain later
/// look at the last media item only, as vLLM does. An adapter and a salt of one name are one key, as in vLLM.
inline void extend_chain(SimKeys& keys, const SimRequest& request, const std::vector<u64>& tokens,
                         u64 hash_block, std::vector<u64>& chain) {
    std::size_t item = chain.empty() || request.media.empty() ? 0 : request.media.size() - 1;
    for (u64 from = chain.size() * hash_block; from + hash_block <= tokens.size(); from += hash_block) {
        std::string content;
        for (u64 i = from; i < from + hash_block; ++i) {
            content += std::to_string(tokens[i]) + ' ';
        }
        content += request.adapter.empty() ? "" : "text " + request.adapter + '\n';
        content += media_keys(request.media, from, from + hash_block, item);
        content += from != 0 || request.salt.empty() ? "" : "text " + request.salt + '\n';
        chain.push_back(keys.of(chain.empty() ? 0 : chain.back(), content));
    }
}

}  // namespace kvcap::inline v1::vllm
