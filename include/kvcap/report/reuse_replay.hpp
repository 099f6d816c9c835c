// SPDX-License-Identifier: MIT
// Prompts through an engine, one after the other: what was computed before, what of it the pages kept still
// allow, and what the engine hits. Between the three stand the rules that cost something (reuse_engine.hpp).
#pragma once

#include <kvcap/report/reuse_engine.hpp>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

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

/// hit <= ideal <= seen, but both are more than seen where the engine's own key takes a salt for an adapter of that
/// name (vLLM). lifted: look-up rules sum to ideal - hit, the others to seen - ideal. other: tokens in common
/// with an earlier request of another salt or adapter, when that is more than `seen`.
struct Replayed {
    u64 tokens = 0;
    u64 seen = 0;
    u64 ideal = 0;
    u64 hit = 0;
    u64 other = 0;
    bool rejected = false;  ///< the engine has no room for it
    std::vector<Lifted> lifted{};
};

/// What was computed before: a tree of tokens, each with the salt and adapter that first computed up to it, and the
/// others that did.
class Earlier {
public:
    /// pre: request.tokens is not empty. At most all but the last token.
    void look(const ReplayRequest& request, Replayed& result) const {
        result.tokens = request.tokens.size();
        const auto known = keys_.find({request.salt, request.adapter});
        const u64 key = known == keys_.end() ? off_scale : known->second;
        u64 at = 0;
        for (u64 depth = 1; depth < result.tokens; ++depth) {
            const auto next = steps_.find({at, request.tokens[depth - 1]});
            if (next == steps_.end()) {
                break;
            }
            at = next->second;
            const bool own = owners_[at] == key || also_.count({at, key}) != 0;
            result.seen = own ? depth : result.seen;
            result.other = owners_[at] != key || shared_[at] ? depth : result.other;
        }
        result.other = result.other > result.seen ? result.other : 0;
    }
    /// upto: tokens that were computed, if not all.
    void add(const ReplayRequest& request, u64 upto = off_scale) {
        const u64 key = keys_.emplace(std::pair{request.salt, request.adapter}, keys_.size()).first->second;
        const std::vector<u64> computed = request.computed();
        u64 at = 0;
        for (u64 i = 0; i < smaller(computed.size(), upto); ++i) {
            const auto [next, made] = steps_.emplace(Edge{at, computed[i]}, owners_.size());
            at = next->second;
            if (made) {
                owners_.push_back(key);
                shared_.push_back(false);
            } else if (owners_[at] != key) {
                shared_[at] = true;
                also_.insert({at, key});
            }
        }
    }

private:
    /// From a place in the tree: by a token, or, in `also_`, to a salt and adapter.
    struct Edge {
        u64 from = 0;
        u64 by = 0;
        friend bool operator==(const Edge&, const Edge&) = default;
    };
    struct Mixed {
        std::size_t operator()(const Edge& edge) const noexcept {
            const u64 mixed = (edge.from * 0x9e37'79b9'7f4a'7c15 ^ edge.by) * 0xff51'afd7'ed55'8ccd;
            return static_cast<std::size_t>(mixed >> 16);
        }
    };
    std::unordered_map<Edge, u64, Mixed> steps_;
    std::unordered_set<Edge, Mixed> also_;
    std::map<std::pair<std::string, std::string>, u64> keys_;
    std::vector<u64> owners_{0};  ///< of each place; the first is where no token is
    std::vector<bool> shared_{false};
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
