// SPDX-License-Identifier: MIT
// What can one ask of TensorRT-LLM's block reuse? The classes behind reuse.hpp: one search tree of blocks per
// window. The reused length of a request is the least over its windows. Source: kvCacheManager.cpp
// WindowBlockManager.
#pragma once

#include <kvcap/engine/trtllm/reuse_block.hpp>
#include <kvcap/result.hpp>
#include <memory>

namespace kvcap::inline v1::trtllm {

struct MediaItem {
    std::string hash{};
    u64 start = 0;
    u64 length = 0;
};

/// extra: empty, or one per token.
struct Prompt {
    std::vector<u64> tokens{};
    std::vector<u64> extra{};
    std::optional<u64> adapter{};
    std::optional<std::string> salt{};
    std::vector<MediaItem> media{};
    std::optional<u64> priority{};  ///< retention; a reused block keeps its own when not given
};

/// windows: tokens each; empty for one full window. primary_of, secondary_of: blocks of each window, where they
/// differ. offload_priority: blocks below it are dropped, not moved to host.
struct ReuseRules {
    u64 tokens_per_block = 32;
    u64 primary_blocks = 0;
    u64 secondary_blocks = 0;
    std::vector<u64> windows{};
    u64 max_seq_len = off_scale;
    bool partial = true;
    bool copy_on_partial = true;
    u64 offload_priority = default_priority;
    std::vector<u64> primary_of{};
    std::vector<u64> secondary_of{};
};

/// The blocks and the search tree of one window.
class WindowReuse {
public:
    WindowReuse(const ReuseRules& rules, u64 window);

    bool slides() const noexcept { return slides_; }
    /// Gives a prompt its blocks. Errors: Errc::does_not_fit (got: free blocks, want: blocks needed).
    Result<u64> start(u64 id, const std::vector<BlockKey>& keys, u64 blocks, std::optional<u64> priority);
    Result<u64> append(u64 id, u64 tokens);
    void store(u64 id, const std::vector<BlockKey>& keys);
    void finish(u64 id);
    std::vector<u64> block_ids(u64 id) const;
    /// Tokens from the start that stored blocks have in common with these keys, parts of blocks included.
    u64 stored(const std::vector<BlockKey>& keys) const;
    u64 detached(u64 id) const { return sequences_.at(id).detached; }
    /// Moves a request's blocks to the host tier and back, one after the other.
    void offload_and_onboard(u64 id);
    /// Requests of which a detached block was given to another.
    std::vector<u64> robbed() const;

private:
    struct Sequence {
        std::vector<Block*> blocks{};
        u64 detached = 0;
        bool robbed = false;
    };
    struct Found {
        Block* block = nullptr;
        u64 tokens = 0;
        bool partial = false;
    };
    FreeBlocks& queue_of(const Block& block) { return block.primary ? primary_ : secondary_; }
    void claim(Block& block);
    void release(Block& block);
    Found find(const Block& parent, const BlockKey& key, bool partial) const;
    u64 needed(const std::vector<BlockKey>& keys, u64 blocks) const;
    Block& take(u64 id, u64 priority);
    Block& use(u64 id, const Found& found, const BlockKey& key, std::optional<u64> priority);
    void onboard(u64 id, Block& block);
    void hold(u64 id, Block& block);

    ReuseRules rules_;
    u64 window_ = 0;
    bool slides_ = false;
    std::vector<std::unique_ptr<Block>> all_;
    Block root_{};
    FreeBlocks primary_;
    FreeBlocks secondary_;
    std::map<u64, Sequence> sequences_;
};

class BlockReuse {
public:
    explicit BlockReuse(const ReuseRules& rules);

    /// Tokens of the prompt that need not be computed.
    Result<u64> start(u64 id, const Prompt& prompt);
    /// Adds one generated token. Errors: as start.
    Result<u64> generate(u64 id, u64 token);
    /// Whole blocks of all but the last token, and not for windows that slide.
    void store_prefill(u64 id);
    /// Stores all but the last token (of the first `tokens`, where given) and gives the blocks back.
    void finish(u64 id, u64 tokens = off_scale);
    WindowReuse& window(std::size_t at) { return *windows_.at(at); }
    /// For each window: tokens of the prompt that lie in stored blocks. Nothing is touched.
    std::vector<u64> stored(const Prompt& prompt) const;
    /// False once a block that slid out of the request's window was given to another request.
    bool storable(u64 id) const;
    std::vector<u64> not_storable() const;

private:
    std::vector<BlockKey> keys_of(const Prompt& prompt, u64 tokens, bool short_tail) const;

    ReuseRules rules_;
    std::vector<std::unique_ptr<WindowReuse>> windows_;
    std::map<u64, Prompt> running_;
};

}  // namespace kvcap::inline v1::trtllm
