// SPDX-License-Identifier: MIT
// How many tokens are hit at which capacity? A staircase: each step is a capacity at which some request hits further.
#pragma once

#include <algorithm>
#include <cmath>
#include <kvcap/units.hpp>
#include <vector>

namespace kvcap::inline v1 {

/// From this many bytes on, `tokens` tokens are hit in all.
struct CurveStep {
    u64 bytes = 0;
    u64 tokens = 0;
    friend constexpr bool operator==(const CurveStep&, const CurveStep&) = default;
};

class HitCurve {
public:
    HitCurve() = default;
    /// gains: bytes and the tokens that this capacity adds, in any order.
    HitCurve(std::vector<CurveStep> gains, u64 prompt_tokens) : steps_{std::move(gains)}, all_{prompt_tokens} {
        merge(steps_);
        u64 sum = 0;
        for (CurveStep& step : steps_) {
            step.tokens = sum += step.tokens;
        }
    }

    const std::vector<CurveStep>& steps() const noexcept { return steps_; }
    u64 prompt_tokens() const noexcept { return all_; }
    /// Hits of a store without limits.
    u64 reachable() const noexcept { return steps_.empty() ? 0 : steps_.back().tokens; }
    u64 hit_tokens(u64 bytes) const noexcept {
        const auto after = std::upper_bound(steps_.begin(), steps_.end(), bytes,
                                            [](u64 value, const CurveStep& step) { return value < step.bytes; });
        return after == steps_.begin() ? 0 : std::prev(after)->tokens;
    }
    double ratio(u64 tokens) const noexcept {
        return all_ == 0 ? 0 : static_cast<double>(tokens) / static_cast<double>(all_);
    }
    /// Least capacity for this share of the reachable hits; 0 when there are none.
    u64 bytes_for(double share) const noexcept {
        const double wanted = share * static_cast<double>(reachable());
        const auto at = std::partition_point(steps_.begin(), steps_.end(), [&](const CurveStep& step) {
            return static_cast<double>(step.tokens) < wanted;
        });
        return at == steps_.end() ? 0 : at->bytes;
    }
    /// The knee: greatest height above the chord of (log bytes, hits) between `from` and the last step.
    u64 knee(u64 from) const noexcept {
        if (steps_.empty() || steps_.back().bytes <= from || from == 0) {
            return 0;
        }
        const double x0 = std::log(static_cast<double>(from));
        const double x1 = std::log(static_cast<double>(steps_.back().bytes));
        const double y0 = static_cast<double>(hit_tokens(from));
        const double y1 = static_cast<double>(reachable());
        double best = 0;
        u64 at = 0;
        for (const CurveStep& step : steps_) {
            if (step.bytes < from) {
                continue;
            }
            const double along = (std::log(static_cast<double>(step.bytes)) - x0) / (x1 - x0);
            const double above = static_cast<double>(step.tokens) - (y0 + along * (y1 - y0));
            if (above > best) {
                best = above;
                at = step.bytes;
            }
        }
        return at;
    }

    /// Sorts gains and adds those of equal capacity.
    static void merge(std::vector<CurveStep>& gains) {
        std::sort(gains.begin(), gains.end(), [](const CurveStep& a, const CurveStep& b) { return a.bytes < b.bytes; });
        std::size_t kept = 0;
        for (const CurveStep& gain : gains) {
            if (kept > 0 && gains[kept - 1].bytes == gain.bytes) {
                gains[kept - 1].tokens += gain.tokens;
            } else {
                gains[kept++] = gain;
            }
        }
        gains.resize(kept);
    }

private:
    std::vector<CurveStep> steps_;
    u64 all_ = 0;
};

/// Sums over a sequence whose items change: prefix(i) = items [0, i).
template <class T>
class Fenwick {
public:
    void reset(u64 size) { sums_.assign(size + 1, T{}); }
    u64 size() const noexcept { return sums_.empty() ? 0 : sums_.size() - 1; }
    void add(u64 at, T change) noexcept {
        for (u64 i = at + 1; i < sums_.size(); i += i & (~i + 1)) {
            sums_[i] = static_cast<T>(sums_[i] + change);
        }
    }
    T prefix(u64 end) const noexcept {
        T sum{};
        for (u64 i = end; i != 0; i &= i - 1) {
            sum = static_cast<T>(sum + sums_[i]);
        }
        return sum;
    }
    /// Adopts items, placed at [0, items); linear.
    void build(const std::vector<T>& items, u64 size) {
        reset(size);
        for (u64 i = 1; i <= size; ++i) {
            sums_[i] = static_cast<T>(sums_[i] + (i <= items.size() ? items[i - 1] : T{}));
            const u64 above = i + (i & (~i + 1));
            if (above <= size) {
                sums_[above] = static_cast<T>(sums_[above] + sums_[i]);
            }
        }
    }
    u64 bytes() const noexcept { return sums_.size() * sizeof(T); }

private:
    std::vector<T> sums_;
};

}  // namespace kvcap::inline v1
