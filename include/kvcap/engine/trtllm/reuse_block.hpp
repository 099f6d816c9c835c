// SPDX-License-Identifier: MIT
// What makes two blocks of TensorRT-LLM the same, and which free block is taken next? Simulator only: this
// header and reuse.hpp use containers. Sources: kvCacheManager.cpp BlockKey, findMatchingBlock;
// evictionPolicy.cpp.
#pragma once

#include <kvcap/units.hpp>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kvcap::inline v1::trtllm {

/// extra: an id beside the token (prompt embedding tables); 0 for none.
struct UniqueToken {
    u64 id = 0;
    u64 extra = 0;
    friend bool operator==(const UniqueToken&, const UniqueToken&) = default;
};

/// A media item that overlaps a block, and how far into the item the block begins.
struct MediaPart {
    std::string hash{};
    u64 offset = 0;
    friend bool operator==(const MediaPart&, const MediaPart&) = default;
};

/// Adapter 0 is not the absence of one.
struct BlockKey {
    bool extra_ids = false;
    std::optional<u64> adapter{};
    std::vector<UniqueToken> tokens{};
    std::vector<MediaPart> media{};
    std::optional<std::string> salt{};

    /// Leading tokens in common, if everything else is equal.
    u64 common(const BlockKey& other) const {
        if (extra_ids != other.extra_ids || adapter != other.adapter || media != other.media ||
            salt != other.salt) {
            return 0;
        }
        std::size_t same = 0;
        while (same < tokens.size() && same < other.tokens.size() && tokens[same] == other.tokens[same]) {
            ++same;
        }
        return same;
    }
    friend bool operator==(const BlockKey&, const BlockKey&) = default;
};

inline constexpr u64 default_priority = 35;

/// parent: the block before it in the search tree, null when it is not stored. owner: the request it was last
/// given to.
struct Block {
    u64 id = 0;
    bool primary = true;
    bool queued = false;
    bool full = false;
    u64 refs = 0;
    u64 priority = default_priority;
    u64 owner = off_scale;
    BlockKey key{};
    Block* parent = nullptr;
    std::vector<Block*> children{};
    std::list<Block*>::iterator place{};

    /// Takes the block and all below it out of the search tree.
    void forget() {
        while (!children.empty()) {
            children.back()->forget();
        }
        if (parent != nullptr) {
            std::erase(parent->children, this);
            parent = nullptr;
        }
    }
};

/// Free blocks of one tier: lowest priority first, then least recently released.
class FreeBlocks {
public:
    u64 count() const noexcept { return count_; }
    Block* front() const {
        for (const auto& [priority, queue] : queues_) {
            if (!queue.empty()) {
                return queue.front();
            }
        }
        return nullptr;
    }
    void push(Block& block) {
        std::list<Block*>& queue = queues_[block.priority];
        block.place = queue.insert(queue.end(), &block);
        block.queued = true;
        ++count_;
    }
    void erase(Block& block) {
        queues_[block.priority].erase(block.place);
        block.queued = false;
        --count_;
    }

private:
    std::map<u64, std::list<Block*>> queues_;
    u64 count_ = 0;
};

}  // namespace kvcap::inline v1::trtllm
