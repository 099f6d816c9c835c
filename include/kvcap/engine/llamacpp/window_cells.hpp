// SPDX-License-Identifier: MIT
// Which positions does a window cache still hold? Its cells are handed out from a moving head; one is free
// when empty or when its own sequence no longer sees it, and overwriting a position drops that sequence's
// older ones.
// Source: llama.cpp v0.5.0, llama-kv-cache.cpp (find_slot, apply_ubatch, seq_rm).
#pragma once

#include <kvcap/units.hpp>
#include <optional>
#include <vector>

namespace kvcap::inline v1::llamacpp {

class WindowCells {
public:
    WindowCells(u64 cells, u64 window) : cells_(cells), window_{window} {}

    struct Cell {
        int sequence = -1;  ///< -1: empty
        u64 position = 0;
    };

    std::optional<u64> first(int sequence) const { return extreme(sequence, true); }
    std::optional<u64> last(int sequence) const { return extreme(sequence, false); }

    /// Positions that the sequence's next token still sees: what a saved state keeps.
    std::vector<u64> visible(int sequence) const {
        std::vector<u64> kept;
        const std::optional<u64> newest = last(sequence);
        for (const Cell& cell : cells_) {
            if (cell.sequence == sequence && *newest - cell.position < window_) {
                kept.push_back(cell.position);
            }
        }
        return kept;
    }

    /// Removes the positions from `begin` on.
    void remove_from(int sequence, u64 begin) { remove(sequence, begin, off_scale); }

    /// Decodes one micro-batch. False when not enough cells are free.
    [[nodiscard]] bool add(int sequence, const std::vector<u64>& positions) {
        const std::vector<u64> at = find(positions.size());
        if (at.size() != positions.size()) {
            return false;
        }
        std::vector<Cell> overwritten;
        for (std::size_t i = 0; i < at.size(); ++i) {
            if (cells_[at[i]].sequence >= 0) {
                overwritten.push_back(cells_[at[i]]);
            }
            cells_[at[i]] = {sequence, positions[i]};
        }
        for (const Cell& gone : overwritten) {
            remove(gone.sequence, 0, gone.position + 1);
        }
        if (!at.empty()) {
            head_ = at.back() + 1;
        }
        return true;
    }

private:
    std::optional<u64> extreme(int sequence, bool smallest) const {
        std::optional<u64> found;
        for (const Cell& cell : cells_) {
            if (cell.sequence == sequence &&
                (!found || (smallest ? cell.position < *found : cell.position > *found))) {
                found = cell.position;
            }
        }
        return found;
    }
    void remove(int sequence, u64 begin, u64 end) {
        u64 freed = cells_.size();
        for (u64 i = 0; i < cells_.size(); ++i) {
            if (cells_[i].sequence == sequence && cells_[i].position >= begin && cells_[i].position < end) {
                cells_[i] = {};
                freed = smaller(freed, i);
            }
        }
        head_ = smaller(head_, freed);
    }
    bool usable(const Cell& cell) const {
        return cell.sequence < 0 || *last(cell.sequence) + 1 - cell.position >= window_;
    }
    u64 used() const {
        u64 count = 0;
        for (const Cell& cell : cells_) {
            count += cell.sequence >= 0 ? 1 : 0;
        }
        return count;
    }
    std::vector<u64> find(std::size_t wanted) const {
        std::vector<u64> at;
        u64 head = head_ > used() + 2 * wanted ? 0 : head_;
        for (u64 tested = 0; tested < cells_.size() && at.size() < wanted; ++tested, ++head) {
            head = head >= cells_.size() ? 0 : head;
            if (usable(cells_[head])) {
                at.push_back(head);
            }
        }
        return at;
    }

    std::vector<Cell> cells_;
    u64 window_;
    u64 head_ = 0;
};

}  // namespace kvcap::inline v1::llamacpp
