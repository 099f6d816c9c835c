// SPDX-License-Identifier: MIT
// Random reuse questions, and the answer written from the definition alone: token by token, boundary by
// boundary.
#pragma once

#include "random.hpp"

#include <algorithm>
#include <cstring>
#include <kvcap/reuse.hpp>
#include <string>
#include <vector>

namespace property {

/// One group with a word array for each rank.
struct RankedGroup {
    kvcap::Rule rule{};
    u64 pages = 0;
    bool replicated = false;
    std::vector<std::vector<u64>> ranks;
    std::vector<const u64*> rank_words;
    std::vector<u64> joined;

    bool held(u64 page) const {
        if (page >= pages) {
            return false;
        }
        u32 count = 0;
        for (const std::vector<u64>& words : ranks) {
            count += static_cast<u32>((words[page / 64] >> (page % 64)) & 1);
        }
        return replicated ? count > 0 : count == ranks.size();
    }
};

struct ReuseCase {
    std::vector<RankedGroup> groups;
    kvcap::Ask ask{};
    std::vector<kvcap::Group<kvcap::PageBits>> bits;
    std::vector<kvcap::Group<kvcap::ShardBits>> shards;

    u32 count() const { return static_cast<u32>(groups.size()); }
};

/// Fills the two views of `made.groups`. The words must not move afterwards.
inline void view(ReuseCase& made) {
    for (RankedGroup& group : made.groups) {
        group.joined.assign(group.pages / 64 + 1, 0);
        for (u64 page = 0; page < group.pages; ++page) {
            group.joined[page / 64] |= u64{group.held(page) ? 1u : 0u} << (page % 64);
        }
        group.joined[group.pages / 64] |= ~kvcap::low_bits(group.pages % 64);  // beyond the count: anything
        group.rank_words.clear();
        for (const std::vector<u64>& words : group.ranks) {
            group.rank_words.push_back(words.data());
        }
    }
    for (const RankedGroup& group : made.groups) {
        made.bits.push_back({group.rule, {group.joined.data(), group.pages}});
        made.shards.push_back({group.rule, {group.rank_words.data(), static_cast<u32>(group.ranks.size()),
                                            group.replicated, group.pages}});
    }
}

inline std::vector<u64> random_words(Random& random, u64 pages, u64 need) {
    std::vector<u64> words(pages / 64 + 1, ~u64{0});
    const auto drop = [&](u64 page) { words[page / 64] &= ~(u64{1} << (page % 64)); };
    const u64 style = random.in(0, 9);  // 0 and 7 to 9: all held
    const u64 prefix = random.in(0, pages);
    const u64 holes = random.in(0, 5);
    const u64 period = need + random.in(0, 2);
    const u32 percent = random.in32(1, 99);
    for (u64 page = 0; page < pages; ++page) {
        const bool missing = style == 1   ? true
                             : style == 2 ? page >= prefix
                             : style == 3 ? random.chance(percent)
                             : style == 4 ? random.in(0, pages) <= holes
                             : style == 5 ? page % (period + 1) == period
                             : style == 6 ? page < prefix
                                          : false;
        if (missing) {
            drop(page);
        }
    }
    return words;
}

inline kvcap::Rule random_rule(Random& random, u64 tokens, u64 page) {
    using kvcap::Needs;
    const u64 kind = random.in(0, 11);
    const u64 reach =
        random.in(0, 3) == 0 ? random.in(0, 2 * tokens) : random.log_in(2 * tokens) - random.in(0, 1);
    if (kind < 3) {
        const bool special = random.chance(15);
        return {.needs = Needs::everything, .page = page, .stride = special ? random.log_in(32) : 1,
                .lag = special ? random.in(0, 40) : 0};
    }
    if (kind < 7) {
        return {.needs = Needs::window,
                .page = page,
                .reach = reach,
                .sinks = random.chance(25) ? random.log_in(200) : 0};
    }
    if (kind < 9) {
        const u64 chunk =
            random.chance(70) ? page * random.log_in(kvcap::larger(1, tokens / page)) : random.log_in(tokens);
        return {.needs = Needs::chunk, .page = page, .reach = chunk};
    }
    if (kind < 11) {
        return {.needs = Needs::snapshot, .page = page};
    }
    return {.needs = random.chance(80) ? Needs::whole : Needs::nothing, .page = page};
}

/// Sizes log-uniform up to `most` tokens; pages of 1 to 64, often equal.
inline ReuseCase random_reuse(Random& random, u64 most, u32 most_groups = 6) {
    ReuseCase made;
    const u64 tokens = random.log_in(most);
    const u32 count = random.in32(1, most_groups);
    const bool equal = random.chance(60);
    const u64 page = random.chance(50) ? u64{1} << random.in(0, 6) : random.in(1, 64);
    for (u32 g = 0; g < count; ++g) {
        RankedGroup group;
        const u64 own = equal               ? page
                        : random.chance(60) ? u64{1} << random.in(0, 6)
                                            : page * random.in(1, 64 / page);
        group.rule = random_rule(random, tokens, own);
        group.pages = group.rule.needs == kvcap::Needs::whole
                          ? random.in(0, 100)
                          : kvcap::ceil_div(tokens, own) + random.in(0, 2);
        group.pages -= random.chance(10) ? random.in(0, group.pages) : 0;
        group.replicated = random.chance(30);
        const u32 ranks = random.chance(70) ? 1 : random.in32(2, 4);
        const u64 need = group.rule.reach / own;
        const std::vector<u64> common = random_words(random, group.pages, need);
        for (u32 rank = 0; rank < ranks; ++rank) {
            group.ranks.push_back(rank > 0 && random.chance(60) ? common
                                                                : random_words(random, group.pages, need));
        }
        made.groups.push_back(std::move(group));
    }
    view(made);
    made.ask = kvcap::ask_for(tokens, kvcap::common_unit(made.bits.data(), count));
    if (!equal && random.chance(50)) {
        made.ask.grid.unit = random.log_in(64);
    }
    if (random.chance(15)) {
        made.ask.grid.tail = random.in(1, tokens);
    }
    if (random.chance(20)) {
        made.ask.limit = random.in(0, tokens);
    }
    return made;
}

inline bool on_grid(const ReuseCase& made, u64 b) {
    const kvcap::Grid& grid = made.ask.grid;
    return b <= grid.tail && (b % grid.unit == 0 || b == grid.tail);
}

/// Which tokens group `g` holds: one byte a token.
inline std::string tokens_held(const ReuseCase& made, u32 g) {
    const RankedGroup& group = made.groups[g];
    const u64 tokens = std::max(made.ask.prompt + 1,
                                group.rule.needs == kvcap::Needs::whole ? group.pages * group.rule.page : 0);
    std::string tokens_of(tokens, '\0');
    for (u64 page = 0; page * group.rule.page < tokens; ++page) {
        const u64 end = std::min(tokens, (page + 1) * group.rule.page);
        std::fill(tokens_of.begin() + static_cast<std::ptrdiff_t>(page * group.rule.page),
                  tokens_of.begin() + static_cast<std::ptrdiff_t>(end), group.held(page) ? '\1' : '\0');
    }
    return tokens_of;
}

/// Does group `g` accept boundary b? Word for word the definition, token by token of `tokens`
/// (tokens_held()).
inline bool accepts(const ReuseCase& made, u32 g, const std::string& tokens, u64 b) {
    using kvcap::Needs;
    const RankedGroup& group = made.groups[g];
    const kvcap::Rule& rule = group.rule;
    const auto all_held = [&](u64 from, u64 to) {
        return from >= to || std::memchr(tokens.data() + from, '\0', to - from) == nullptr;
    };
    if (b == 0) {
        return true;
    }
    switch (rule.needs) {
        case Needs::everything: {
            const u64 kept = b > rule.lag ? b - rule.lag : 0;
            return all_held(0, kept - kept % rule.stride);
        }
        case Needs::window:
            return all_held(b > rule.reach ? b - rule.reach : 0, b) &&
                   all_held(0, b < rule.sinks ? b : rule.sinks);
        case Needs::chunk: return all_held(b / rule.reach * rule.reach, b);
        case Needs::snapshot: {
            const u64 tail = made.ask.grid.tail;
            const u64 page = (b - 1) / rule.page;
            const u64 place = (page + 1) * rule.page;
            return (place < tail ? place : tail) == b && group.held(page);
        }
        case Needs::whole: return all_held(0, group.pages * rule.page);
        case Needs::nothing: return true;
    }
    return false;
}

/// Remembers what was asked, so that the questions without a group cost little.
class Oracle {
public:
    explicit Oracle(const ReuseCase& made) : made_{made} {
        for (u64 b = made.ask.limit;; --b) {
            if (on_grid(made, b)) {
                boundaries_.push_back(b);
            }
            if (b == 0) {
                break;
            }
        }
        for (u32 g = 0; g < made.count(); ++g) {
            tokens_.push_back(tokens_held(made, g));
            known_.emplace_back(made.ask.prompt + 1, '\0');
        }
    }

    bool accepts(u32 g, u64 b) {
        char& known = known_[g][b];
        if (known == 0) {
            known = property::accepts(made_, g, tokens_[g], b) ? 1 : 2;
        }
        return known == 1;
    }
    /// The greatest boundary accepted by every group for which keep(g) is true.
    template <class Keep>
    u64 greatest(Keep keep) {
        for (const u64 b : boundaries_) {
            bool all = true;
            for (u32 g = 0; g < made_.count() && all; ++g) {
                all = !keep(g) || accepts(g, b);
            }
            if (all) {
                return b;
            }
        }
        return 0;
    }

private:
    const ReuseCase& made_;
    std::vector<u64> boundaries_;
    std::vector<std::string> tokens_;
    std::vector<std::string> known_;
};

}  // namespace property
