// SPDX-License-Identifier: MIT
// What does llama-server's host prompt cache (--cache-ram) keep, and when is an entry taken out? An entry is
// a whole saved sequence with its checkpoints; it replaces a slot when it keeps more of itself and covers
// more of the prompt.
// Source: llama.cpp v0.5.0, tools/server/server-task.cpp (server_prompt_cache).
#pragma once

#include <algorithm>
#include <kvcap/engine/llamacpp/server_slot.hpp>
#include <optional>

namespace kvcap::inline v1::llamacpp {

/// kept: positions of the window half that the saved state has.
struct SavedPrompt {
    SlotContent content;
    std::vector<u64> kept;
    u64 bytes = 0;
};

class RamCache {
public:
    explicit RamCache(u64 limit) : limit_{limit} {}

    bool enabled() const { return limit_ > 0; }

    void save(SavedPrompt prompt) {
        const TokenList& history = prompt.content.history;
        const bool known = std::any_of(entries_.begin(), entries_.end(), [&](const SavedPrompt& e) {
            return common_prefix(e.content.history, history) == history.size();
        });
        if (known || prompt.bytes > limit_) {
            return;
        }
        std::erase_if(entries_, [&](const SavedPrompt& e) {
            return common_prefix(e.content.history, history) == e.content.history.size();
        });
        entries_.push_back(std::move(prompt));
        while (entries_.size() > 1 && bytes() > limit_) {
            entries_.erase(entries_.begin());
        }
    }

    /// Takes out the entry that is better than what the slot holds, if any.
    std::optional<SavedPrompt> take(const TokenList& held, const TokenList& prompt) {
        double keeps = part_of(common_prefix(held, prompt), held.size());
        double covers = part_of(common_prefix(held, prompt), prompt.size());
        auto best = entries_.end();
        for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
            const TokenList& own = entry->content.history;
            const u64 n = common_prefix(own, prompt);
            const double kept = part_of(n, own.size());
            const double covered = part_of(n, prompt.size());
            if (kept >= 0.25 && kept > keeps && covered > covers) {
                best = entry;
                keeps = kept;
                covers = covered;
            }
        }
        if (best == entries_.end()) {
            return std::nullopt;
        }
        SavedPrompt found = std::move(*best);
        entries_.erase(best);
        return found;
    }

    u64 bytes() const {
        u64 sum = 0;
        for (const SavedPrompt& entry : entries_) {
            sum = saturating_sum(sum, entry.bytes);
            for (const Checkpoint& checkpoint : entry.content.checkpoints) {
                sum = saturating_sum(sum, checkpoint.bytes);
            }
        }
        return sum;
    }

private:
    u64 limit_;
    std::vector<SavedPrompt> entries_;
};

}  // namespace kvcap::inline v1::llamacpp
