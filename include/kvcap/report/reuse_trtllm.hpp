// SPDX-License-Identifier: MIT
// Where does TensorRT-LLM's hit differ from what the blocks held allow, and by which of its rules? For given
// presence under either manager, and for prompts run through the first one's blocks. Rules:
// engine/trtllm/reuse_class.hpp, engine/trtllm/presence.hpp.
#pragma once

#include <kvcap/engine/trtllm/presence.hpp>
#include <kvcap/engine/trtllm/reuse.hpp>
#include <kvcap/report/reuse_replay.hpp>

namespace kvcap::inline v1::report {

/// partial: part of a block may be used (never where states are kept). second: KVCacheManagerV2.
struct TrtllmLookup {
    u64 tokens_per_block = 32;
    bool partial = true;
    bool second = false;
};

/// What a group wants in TensorRT-LLM. First manager: every block from the start. Second: of a window what
/// the next token sees, but always the last block; a chunk is a window.
inline Rule trtllm_rule(Rule rule, bool second) {
    if (rule.needs != Needs::window && rule.needs != Needs::chunk) {
        return rule;
    }
    if (!second) {
        return {.needs = Needs::everything, .page = rule.page};
    }
    const u64 reach = rule.needs == Needs::chunk ? reach_of(rule.reach, WindowEdge::past) : rule.reach;
    return {.needs = Needs::window, .page = rule.page, .reach = larger(1, reach)};
}

/// TensorRT-LLM's hit beside what `ask` allows on boundaries as fine as either's. pre: fault() finds none,
/// blocks are not 0. Errors: Errc::unsupported with the group, for sinks and for entries that lag.
inline Result<Compared> compare_trtllm(const std::vector<EngineGroup>& held, const Ask& ask,
                                       const TrtllmLookup& how) {
    std::vector<Group<>> own;
    std::vector<Group<>> ideal;
    bool states = false;
    u64 chunk = 0;
    for (u32 g = 0; g < held.size(); ++g) {
        const Group<>& group = held[g].group;
        if (group.rule.lag != 0 || group.rule.sinks != 0) {
            return Error{.code = Errc::unsupported,
                         .what = group.rule.lag != 0 ? Uncovered::lag : Uncovered::sinks,
                         .layer = g,
                         .got = group.rule.lag};
        }
        states = states || group.rule.needs == Needs::snapshot;
        chunk = group.rule.needs == Needs::chunk ? larger(chunk, group.rule.reach) : chunk;
        ideal.push_back(group);
        own.push_back({trtllm_rule(group.rule, how.second), group.pages});
    }
    const u64 end = smaller(ask.limit, ask.grid.tail);
    const bool short_end = !states && (how.partial || ask.grid.tail == ask.limit);
    const Grid blocks{.unit = how.tokens_per_block, .tail = short_end ? end : off_scale};
    const u64 hit = allowed(own, ask.limit, blocks);
    Compared compared{.hit = hit, .ideal = hit, .alignment = how.tokens_per_block};
    compared.tail = short_end ? end : ask.grid.tail;
    if (how.second) {
        for (std::size_t g = 0; g < own.size(); ++g) {
            own[g] = ideal[g].rule.needs == Needs::chunk ? ideal[g] : own[g];
        }
        compared.lift(EngineRule::chunk_window, allowed(own, ask.limit, blocks), chunk);
        compared.lift(EngineRule::window_of_one, allowed(ideal, ask.limit, blocks));
    } else {
        compared.lift(EngineRule::from_the_start, allowed(ideal, ask.limit, blocks));
    }
    lift_grid(compared, ideal, ask,
              {.unit = greatest_common_divisor(ask.grid.unit, how.tokens_per_block),
               .tail = compared.tail},
              false);
    return compared;
}

/// Requests through the blocks of TensorRT-LLM's first manager, through as many as are ever needed, and
/// without blocks that change hands.
class TrtllmReplay {
public:
    /// roomy: so many blocks a window that nothing is ever evicted
    TrtllmReplay(trtllm::ReuseRules rules, u64 roomy) : rules_{rules} {
        const auto add = [&](EngineRule rule) {
            stores_.push_back({rule, std::make_unique<trtllm::BlockReuse>(rules)});
        };
        add(EngineRule::others);
        if (fewest() < roomy) {
            rules.primary_blocks = roomy;
            rules.primary_of.clear();
            add(EngineRule::evicted);
        }
        if (rules.partial) {
            rules.partial = false;
            add(EngineRule::taken_over);
        }
    }

    /// pre: the prompt is not empty
    Replayed run(const ReplayRequest& request) {
        Replayed result{};
        earlier_.look(request, result);
        const trtllm::Prompt prompt = prompt_of(request);
        const u64 here = least(stores_[0].blocks->stored(prompt));
        Compared compared{.alignment = rules_.tokens_per_block};
        const u64 stored = serve(*stores_[0].blocks, prompt, request, result, compared.hit);
        compared.ideal = compared.hit;
        compared.lift(EngineRule::whole_blocks, here, rules_.tokens_per_block);
        result.hit = compared.hit;
        result.ideal = compared.ideal;
        for (std::size_t i = 1; i < stores_.size(); ++i) {
            Replayed other{};
            u64 hit = 0;
            trtllm::BlockReuse& store = *stores_[i].blocks;
            compared.lift(stores_[i].lifted, smaller(result.seen, least(store.stored(prompt))));
            static_cast<void>(serve(store, prompt, request, other, hit));
        }
        lift_rest(compared, result.seen, rules_.tokens_per_block, rules_.tokens_per_block);
        result.lifted = compared.lifted;
        earlier_.add(request, stored);
        return result;
    }

private:
    struct Store {
        EngineRule lifted = EngineRule::others;
        std::unique_ptr<trtllm::BlockReuse> blocks;
    };
    u64 fewest() const {
        return rules_.primary_of.empty()
                   ? rules_.primary_blocks
                   : *std::min_element(rules_.primary_of.begin(), rules_.primary_of.end());
    }
    static u64 least(const std::vector<u64>& tokens) {
        return *std::min_element(tokens.begin(), tokens.end());
    }

    /// Adapters are numbers to the engine: in order of appearance.
    trtllm::Prompt prompt_of(const ReplayRequest& request) {
        trtllm::Prompt prompt{.tokens = request.tokens};
        if (!request.adapter.empty()) {
            prompt.adapter = adapters_.try_emplace(request.adapter, adapters_.size()).first->second;
        }
        if (!request.salt.empty()) {
            prompt.salt = request.salt;
        }
        return prompt;
    }

    /// Returns how many tokens were computed and may be stored. A prompt that has more blocks than a window's
    /// pool is turned away; of one that grows beyond it only the prompt is stored.
    u64 serve(trtllm::BlockReuse& store, const trtllm::Prompt& prompt, const ReplayRequest& request,
              Replayed& result, u64& hit) {
        const bool real = &store == stores_[0].blocks.get();
        if (real && ceil_div(prompt.tokens.size(), rules_.tokens_per_block) > fewest()) {
            result.rejected = true;
            return 0;
        }
        const u64 id = ++requests_;
        const Result<u64> reused = store.start(id, prompt);
        if (!reused) {
            result.rejected = true;
            return 0;
        }
        hit = *reused;
        store.store_prefill(id);
        for (u64 i = 0; i < larger(request.generated.size(), 1) && !result.rejected; ++i) {
            const u64 token =
                request.generated.empty() ? 0 : request.generated[i];  // one token always comes out
            result.rejected = !store.generate(id, token);
        }
        store.finish(id, result.rejected ? 0 : off_scale);
        return result.rejected ? prompt.tokens.size() : off_scale;
    }

    trtllm::ReuseRules rules_;
    std::vector<Store> stores_;
    std::map<std::string, u64> adapters_;
    u64 requests_ = 0;
    Earlier earlier_;
};

}  // namespace kvcap::inline v1::report
