// SPDX-License-Identifier: MIT
// Prompts through an engine, one after the other: what was computed before, what of it the pages kept still
// allow, and what the engine hits. Between the three stand the rules that cost something (reuse_engine.hpp).
#pragma once

#include <algorithm>
#include <kvcap/report/reuse_engine.hpp>

namespace kvcap::inline v1::report {

/// generated: tokens after the prompt; the last of them is never put into a cache.
struct ReplayRequest {
    std::vector<u64> tokens{};
    std::vector<u64> generated{};
    std::string salt{};
    std::string adapter{};

    /// Tokens that are in the caches when the request ends.
    std::vector<u64> computed() const {
        std::vector<u64> all = tokens;
        if (!generated.empty()) {
            all.insert(all.end(), generated.begin(), generated.end() - 1);
        }
        return all;
    }
};

/// hit <= ideal <= seen. lifted: look-up rules sum to ideal - hit, the others to seen - ideal. other: tokens
/// in common with an earlier request of another salt or adapter, when that is more than `seen`.
struct Replayed {
    u64 tokens = 0;
    u64 seen = 0;
    u64 ideal = 0;
    u64 hit = 0;
    u64 other = 0;
    bool rejected = false;  ///< the engine has no room for it
    std::vector<Lifted> lifted{};
};

/// What was computed before.
class Earlier {
public:
    /// pre: request.tokens is not empty. At most all but the last token.
    void look(const ReplayRequest& request, Replayed& result) const {
        result.tokens = request.tokens.size();
        for (const ReplayRequest& one : requests_) {
            const u64 same = common(one.tokens, request.tokens);
            const bool own = one.salt == request.salt && one.adapter == request.adapter;
            u64& most = own ? result.seen : result.other;
            most = larger(most, same);
        }
        result.other = result.other > result.seen ? result.other : 0;
    }
    /// upto: tokens that were computed, if not all.
    void add(const ReplayRequest& request, u64 upto = off_scale) {
        ReplayRequest& kept =
            requests_.emplace_back(ReplayRequest{request.computed(), {}, request.salt, request.adapter});
        kept.tokens.resize(smaller(kept.tokens.size(), upto));
    }

private:
    static u64 common(const std::vector<u64>& before, const std::vector<u64>& now) {
        const auto most = static_cast<std::ptrdiff_t>(smaller(before.size(), now.size() - 1));
        return static_cast<u64>(std::mismatch(before.begin(), before.begin() + most, now.begin()).first -
                                before.begin());
    }
    std::vector<ReplayRequest> requests_;
};

/// Presence of one request's prompt, group by group, in pages of `page` tokens. Groups point into the words.
struct Positions {
    u64 page = 1;
    u64 pages = 0;
    std::vector<std::vector<u64>> words{};
    std::vector<Rule> rules{};

    Positions(u64 prompt, u64 page_tokens) : page{page_tokens}, pages{ceil_div(prompt, page_tokens)} {}

    void add(Rule rule) {
        rule.page = page;
        rules.push_back(rule);
        words.emplace_back(pages / 64 + 1, 0);
    }
    /// Tokens [first, end) of group g are held. pre: multiples of the page, or the end beyond the prompt
    void hold(std::size_t g, u64 first, u64 end) {
        for (u64 i = first / page; i < smaller(end / page, pages); ++i) {
            words[g][i / 64] |= u64{1} << (i % 64);
        }
    }
    std::vector<Group<>> groups() const {
        std::vector<Group<>> all;
        for (std::size_t g = 0; g < rules.size(); ++g) {
            all.push_back({rules[g], {words[g].data(), pages}});
        }
        return all;
    }
};

/// The rest between what was kept, everything lifted, and what was computed: whole blocks, or whole units of
/// several groups' blocks; others when it is neither.
inline void lift_rest(Compared& kept, u64 seen, u64 block, u64 unit) {
    const EngineRule rule = seen - seen % block == kept.ideal  ? EngineRule::stored_blocks
                            : seen - seen % unit == kept.ideal ? EngineRule::stored_units
                                                               : EngineRule::others;
    kept.lift(rule, seen, rule == EngineRule::stored_units ? unit : block);
}

}  // namespace kvcap::inline v1::report
