// SPDX-License-Identifier: MIT
// Which prefix does llama-server skip, request by request? A simulation of its slots, checkpoints, chunk
// reuse and RAM prompt cache over token lists; nothing is computed. As the engine does, chunk reuse on state
// memories keeps checkpoints of other tokens (`unsound` tells). Source: llama.cpp v0.5.0,
// tools/server/server-context.cpp.
#pragma once

#include <kvcap/engine/llamacpp/sequence_state.hpp>
#include <kvcap/engine/llamacpp/server_ram.hpp>
#include <kvcap/engine/llamacpp/window_cells.hpp>

namespace kvcap::inline v1::llamacpp {

/// cached: prompt tokens skipped; common: how many of them the slot held from the start on. from_checkpoint,
/// from_ram: how. unsound: the skipped tokens are not those of the prompt (chunk reuse on state memories).
struct Served {
    u32 slot = 0;
    u64 cached = 0;
    u64 common = 0;
    u64 processed = 0;
    bool from_checkpoint = false;
    bool from_ram = false;
    bool unsound = false;
    std::vector<Checkpoint> made;
};

class ServerReuse {
public:
    /// pre: the layout has a memory (not Memory::none or Memory::dsv4)
    ServerReuse(const Card& card, const Layout& layout, const ReuseOptions& options)
        : card_{card},
          layout_{layout},
          options_{options},
          slots_(layout.resolved.n_seq_max),
          ram_{options.ram} {
        for (u32 i = 0; i < slots_.size(); ++i) {
            slots_[i].id = i;
        }
        for (const CacheShape& cache : layout.caches) {
            states_ = states_ || is_states(cache.part);
            if (cache.window_type != WindowType::none && !layout.options.swa_full) {
                window_ = card.window;
                cells_.assign(cache.streams, WindowCells{cache.cells, card.window});
            }
        }
        checkpoints_on_ = options.checkpoints > 0 && (states_ || window_ > 0);
    }

    /// Serves one prompt, then decodes all but the last of `generated`.
    Served serve(const TokenList& prompt, const TokenList& generated) {
        ++task_;
        Served served;
        Slot& slot = choose_slot(prompt, served);
        served.common = common_prefix(slot.history, prompt);
        u64 reused = restore(slot, prompt, match(slot, prompt), served);
        if (reused == prompt.size() && reused > 0) {
            --reused;
        }
        truncate(slot, reused);
        served.slot = slot.id;
        served.cached = reused;
        served.processed = prompt.size() - reused;
        served.unsound = !std::equal(slot.truth.begin(), slot.truth.end(), prompt.begin());
        process(slot, prompt, served);
        for (std::size_t i = 0; i + 1 < generated.size(); ++i) {
            decode(slot, {generated[i]});
        }
        slot.used_at = task_;
        return served;
    }

    u64 ram_bytes() const { return ram_.bytes(); }

private:
    struct Slot : SlotContent {
        u32 id = 0;
        u64 used_at = 0;
    };

    /// The slot most like the prompt, above a tenth of it; else the one used longest ago.
    Slot& choose_slot(const TokenList& prompt, Served& served) {
        Slot* similar = nullptr;
        Slot* oldest = &slots_[0];
        double best = 0.1;
        for (Slot& slot : slots_) {
            const double alike = part_of(common_prefix(slot.history, prompt), prompt.size());
            if (alike > best) {
                similar = &slot;
                best = alike;
            }
            oldest = slot.used_at <= oldest->used_at ? &slot : oldest;
        }
        Slot& slot = similar != nullptr ? *similar : *oldest;
        const bool mostly_lost = part_of(common_prefix(slot.history, prompt), slot.history.size()) < 0.5;
        if (ram_.enabled() && !slot.history.empty() && (similar == nullptr || mostly_lost)) {
            const u64 bytes = sequence_state(card_, layout_, slot.history.size(), false).value_or(0);
            ram_.save({slot, visible(slot), bytes});
            served.from_ram = load(slot, prompt);
        }
        return slot;
    }
    bool load(Slot& slot, const TokenList& prompt) {
        std::optional<SavedPrompt> entry = ram_.take(slot.history, prompt);
        if (entry) {
            static_cast<SlotContent&>(slot) = std::move(entry->content);
            put_back(slot, entry->kept);
        }
        return entry.has_value();
    }

    // What the memory holds.

    WindowCells& cells_of(const Slot& slot) { return cells_[cells_.size() == 1 ? 0 : slot.id]; }
    static int sequence(const Slot& slot) { return static_cast<int>(slot.id); }
    std::vector<u64> visible(const Slot& slot) {
        return window_ == 0 ? std::vector<u64>{} : cells_of(slot).visible(sequence(slot));
    }
    void put_back(Slot& slot, const std::vector<u64>& kept) {
        if (window_ > 0) {
            cells_of(slot).remove_from(sequence(slot), 0);
            static_cast<void>(cells_of(slot).add(sequence(slot), kept));
        }
    }
    /// First position of all halves of the memory.
    u64 first_position(const Slot& slot) {
        const u64 first = window_ > 0 ? cells_of(slot).first(sequence(slot)).value_or(0) : 0;
        return states_ ? larger(first, slot.state_at) : first;
    }
    void truncate(Slot& slot, u64 tokens) {
        slot.history.resize(tokens);
        slot.truth.resize(tokens);
        if (window_ > 0) {
            cells_of(slot).remove_from(sequence(slot), tokens);
        }
    }
    void decode(Slot& slot, const TokenList& tokens) {
        const u64 micro = larger(layout_.resolved.n_ubatch, 1);
        for (u64 begin = 0; begin < tokens.size(); begin += micro) {
            std::vector<u64> at;
            for (u64 i = begin; i < smaller(tokens.size(), begin + micro); ++i) {
                at.push_back(slot.history.size());
                slot.history.push_back(tokens[i]);
                slot.truth.push_back(tokens[i]);
            }
            if (window_ > 0) {
                static_cast<void>(cells_of(slot).add(sequence(slot), at));
            }
            slot.state_at = slot.history.size() - 1;
        }
    }

    // Reuse.

    /// Common prefix, then chunks that can be moved to their new places.
    u64 match(Slot& slot, const TokenList& prompt) {
        u64 n = common_prefix(slot.history, prompt);
        if (options_.reuse_chunk == 0 || !layout_.can_shift) {
            return n;
        }
        const TokenList& held = slot.history;
        for (u64 from = n; from < held.size() && n < prompt.size();) {
            u64 length = 0;
            while (from + length < held.size() && n + length < prompt.size() &&
                   held[from + length] == prompt[n + length]) {
                ++length;
            }
            if (length < options_.reuse_chunk) {
                ++from;
                continue;
            }
            move_chunk(slot, from, n, length);
            from += length;
            n += length;
        }
        return n;
    }
    void move_chunk(Slot& slot, u64 from, u64 to, u64 length) {
        for (u64 i = 0; i < length; ++i) {
            slot.history[to + i] = slot.history[from + i];
            if (!states_) {
                slot.truth[to + i] = slot.truth[from + i];
            }
        }
        if (slot.state_at >= from && slot.state_at < from + length) {
            slot.state_at -= from - to;
        }
    }
    /// Goes back to a checkpoint when the memory no longer reaches the end of the prefix.
    u64 restore(Slot& slot, const TokenList& prompt, u64 n, Served& served) {
        u64 next = n;
        const u64 less = window_ + (n < prompt.size() ? 0 : 1);
        const u64 threshold = next > less ? next - less : 0;
        if (n > 0 && first_position(slot) >= threshold) {
            const Checkpoint* found = newest_usable(slot.checkpoints, next, threshold);
            served.from_checkpoint = found != nullptr;
            next = found == nullptr ? 0 : smaller(next, larger(found->first + 1, found->last));
            n = found == nullptr ? 0 : smaller(next, found->tokens);
            if (found != nullptr) {
                put_back(slot, found->kept);
                slot.state_at = found->last;
            }
        }
        std::erase_if(slot.checkpoints, [&](const Checkpoint& c) { return c.last > next; });
        return n;
    }

    // Prompt processing.

    /// End of the batch that starts at `begin`: checkpoints break it shortly before the end of the prompt.
    u64 batch_end(u64 begin, u64 total) const {
        const u64 most = layout_.resolved.n_batch;
        u64 end = smaller(total, begin + larger(most, 1));
        for (u64 offset = 4 + layout_.resolved.n_ubatch; checkpoints_on_; offset = 4) {
            const u64 last = smaller(most, offset);
            if (total > last && total - last > begin) {
                end = smaller(end, total - last);
            }
            if (offset == 4) {
                break;
            }
        }
        return end;
    }
    void process(Slot& slot, const TokenList& prompt, Served& served) {
        for (u64 begin = slot.history.size(); begin < prompt.size();) {
            const u64 end = batch_end(begin, prompt.size());
            // A batch that ends the prompt is within a micro-batch of its end.
            const bool near_end = prompt.size() < end + larger(layout_.resolved.n_ubatch, 1);
            if (checkpoints_on_ && begin > 0 && near_end) {
                served.made.push_back(take_checkpoint(slot));
            }
            decode(slot, TokenList(prompt.begin() + static_cast<std::ptrdiff_t>(begin),
                                   prompt.begin() + static_cast<std::ptrdiff_t>(end)));
            begin = end;
        }
    }
    Checkpoint take_checkpoint(Slot& slot) {
        Checkpoint now{.tokens = slot.history.size(),
                       .first = first_position(slot),
                       .last = slot.history.size() - 1,
                       .task = task_,
                       .bytes = 0,
                       .kept = visible(slot)};
        const u64 cells = window_ > 0 ? now.kept.size() : now.tokens;
        now.bytes = sequence_state(card_, layout_, cells, true).value_or(0);
        keep_checkpoint(slot.checkpoints, now, options_);
        return now;
    }

    Card card_;
    Layout layout_;
    ReuseOptions options_;
    std::vector<Slot> slots_;
    RamCache ram_;
    std::vector<WindowCells> cells_;
    u64 window_ = 0;
    u64 task_ = 0;
    bool states_ = false;
    bool checkpoints_on_ = false;
};

}  // namespace kvcap::inline v1::llamacpp
