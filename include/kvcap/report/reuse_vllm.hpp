// SPDX-License-Identifier: MIT
// Where does vLLM's hit differ from what the pages held allow, and by which of its rules? For given presence,
// and for prompts run through its simulator. Rules: engine/vllm/hits.hpp, engine/vllm/sim.hpp.
#pragma once

#include <kvcap/engine/vllm/sim.hpp>
#include <kvcap/report/reuse_replay.hpp>
#include <numeric>

namespace kvcap::inline v1::report {

/// match_unit: --prefix-match-unit; 0: not given. speculative: a drafter that reads hidden states runs.
struct VllmLookup {
    u64 match_unit = 0;
    bool speculative = false;
    bool context_parallel = false;
};

/// The group as vLLM's look-up sees it. Errors: Errc::unsupported where vLLM has no such group (sinks beside
/// a window, entries that lag, encoder tokens: it caches no prefix for those).
inline Result<vllm::LookupGroup> vllm_group(const EngineGroup& group) {
    const Rule& rule = group.group.rule;
    vllm::LookupGroup to{.drafts = group.draft, .block = rule.page, .held = group.group.pages};
    switch (rule.needs) {
        case Needs::everything:
            if (rule.lag != 0) {
                return Error{.code = Errc::unsupported, .what = Uncovered::lag, .got = rule.lag};
            }
            return to;
        case Needs::window:
            to.kind = vllm::SpecKind::window;
            to.span = rule.reach + 1;
            if (rule.sinks != 0) {
                return Error{.code = Errc::unsupported, .what = Uncovered::sinks};
            }
            return to;
        case Needs::chunk:
            to.kind = vllm::SpecKind::chunked;
            to.span = rule.reach;
            return to;
        case Needs::snapshot: to.kind = vllm::SpecKind::state; return to;
        case Needs::whole:
        case Needs::nothing: break;
    }
    return Error{.code = Errc::unsupported, .what = Uncovered::whole_group};
}

/// Every multiple of `unit` inside the blocks that a group holds: what it would have to store to serve there.
inline std::vector<u64> ends_inside(const vllm::LookupGroup& group, u64 unit) {
    std::vector<u64> ends;
    for (u64 i = 0; i < group.held.count; ++i) {
        for (u64 at = unit; at < group.block && held(group.held, i); at += unit) {
            ends.push_back(i * group.block + at);
        }
    }
    return ends;
}

/// The same question without a drafter, then as if windows that need no earlier token had their block, then
/// with every boundary inside a block stored.
inline void lift_vllm_lookup(Compared& compared, std::vector<vllm::LookupGroup> groups, vllm::Lookup asked) {
    const auto again = [&] {
        asked.groups = groups.data();
        asked.count = static_cast<u32>(groups.size());
        const Result<vllm::Lookedup> found = vllm::look_up(asked);
        return found ? found->tokens : 0;
    };
    for (vllm::LookupGroup& group : groups) {
        group.drafts = false;
    }
    asked.speculative = false;
    compared.lift(EngineRule::draft_block, again());
    u64 most = 0;
    for (const vllm::LookupGroup& group : groups) {
        most = larger(most, group.held.count);
    }
    const std::vector<u64> everything(most / 64 + 1, ~u64{0});
    for (vllm::LookupGroup& group : groups) {
        const bool needless = group.kind == vllm::SpecKind::window && group.span <= 1;
        group.held.words = needless ? everything.data() : group.held.words;
    }
    compared.lift(EngineRule::window_of_one, again());
    std::vector<std::vector<u64>> ends(groups.size());
    for (std::size_t g = 0; g < groups.size(); ++g) {
        if (vllm::is_full(groups[g].kind) && groups[g].block > compared.alignment) {
            ends[g] = ends_inside(groups[g], compared.alignment);
            groups[g].partial = ends[g].data();
            groups[g].partials = static_cast<u32>(ends[g].size());
        }
    }
    if (groups.size() > 1) {
        compared.lift(EngineRule::inside_block, again());
    }
}

/// vLLM's hit beside what `ask` allows on boundaries as fine as either's. pre: fault() finds none. Errors: as
/// vllm_group, with the group; and vLLM's own refusals.
inline Result<Compared> compare_vllm(const std::vector<EngineGroup>& held, const Ask& ask,
                                     const VllmLookup& how = {}) {
    std::vector<vllm::LookupGroup> groups;
    std::vector<Group<>> ideal;
    for (u32 g = 0; g < held.size(); ++g) {
        const Result<vllm::LookupGroup> one = vllm_group(held[g]);
        if (!one) {
            return Error{.code = one.error().code, .layer = g};
        }
        groups.push_back(*one);
        ideal.push_back(held[g].group);
    }
    vllm::Lookup asked{.groups = groups.data(),
                       .count = static_cast<u32>(groups.size()),
                       .most = ask.limit,
                       .speculative = how.speculative,
                       .context_parallel = how.context_parallel};
    const Result<vllm::Blocks> blocks = vllm::resolve_blocks(asked.groups, asked.count, how.match_unit);
    if (!blocks) {
        return blocks.error();
    }
    asked.scheduler_block = blocks->scheduler;
    asked.hash_block = blocks->hash;
    const Result<vllm::Classes> classes = vllm::classes_of(asked);
    const Result<vllm::Lookedup> found =
        classes ? vllm::look_up(asked) : Result<vllm::Lookedup>{classes.error()};
    if (!found) {
        return found.error();
    }
    Compared compared{.hit = found->tokens, .ideal = found->tokens, .alignment = classes->alignment};
    lift_vllm_lookup(compared, groups, asked);
    const Grid grid{.unit = greatest_common_divisor(ask.grid.unit, compared.alignment),
                    .tail = ask.grid.tail};
    compared.lift(EngineRule::own_rules, allowed(ideal, ask.limit, Grid{.unit = compared.alignment}));
    bool common = false;
    for (const vllm::LookupGroup& group : groups) {
        common = common || group.block != groups[0].block;
    }
    lift_grid(compared, ideal, ask, grid, common);
    compared.ideal = allowed(ideal, ask.limit, grid);
    compared.tail = grid.tail;
    return compared;
}

/// Presence in pages of a hash block: of a state only its end, of other groups all tokens of a block.
inline Positions vllm_positions(const vllm::Simulator::Seen& seen, u64 hash_block, u64 prompt) {
    Positions to{prompt, hash_block};
    for (std::size_t g = 0; g < seen.groups.size(); ++g) {
        const vllm::LookupGroup& group = seen.groups[g];
        const bool state = group.kind == vllm::SpecKind::state;
        Rule rule{};
        if (state) {
            rule.needs = Needs::snapshot;
        } else if (vllm::is_window(group.kind)) {
            rule = {.needs = Needs::window, .reach = reach_of(group.span, WindowEdge::past)};
        } else if (group.kind == vllm::SpecKind::chunked) {
            rule = {.needs = Needs::chunk, .reach = group.span};
        }
        to.add(rule);
        const auto hold = [&](u64 first, u64 end) { to.hold(g, state ? end - hash_block : first, end); };
        for (u64 i = 0; i < group.held.count; ++i) {
            if (held(group.held, i)) {
                hold(i * group.block, (i + 1) * group.block);
            }
        }
        for (u32 i = 0; i < group.partials; ++i) {
            hold(group.partial[i] - group.partial[i] % group.block, group.partial[i]);
        }
    }
    return to;
}

/// Requests through vLLM's pool, and through pools in which one rule after the other is lifted.
class VllmReplay {
public:
    /// roomy: so many blocks that nothing is ever evicted. pre: as vllm::Simulator
    VllmReplay(vllm::SimOptions options, u64 roomy) : options_{options} {
        stores_.push_back({EngineRule::others, vllm::Simulator{options}});
        const auto lift = [&](EngineRule rule, bool helps) {
            if (helps) {
                stores_.push_back({rule, vllm::Simulator{options}});
            }
        };
        const bool tight = options.blocks < roomy;
        options.blocks = larger(options.blocks, roomy);
        lift(EngineRule::evicted, tight);
        const bool masked = !options.dense && some(options, [](const vllm::SimGroup& group) {
            return group.kind == vllm::SpecKind::state || vllm::is_window(group.kind);
        });
        options.dense = true;
        lift(EngineRule::not_registered, masked);
        const bool drafts =
            options.speculative || some(options, [](const vllm::SimGroup& group) { return group.drafts; });
        options.speculative = false;
        options.lookahead = 0;
        for (vllm::SimGroup& group : options.groups) {
            group.drafts = false;
        }
        lift(EngineRule::draft_stored, drafts);
        u64 block = 0;
        for (const vllm::SimGroup& group : options.groups) {
            block = group.aligned_state() ? larger(block, group.block) : block;
        }
        options.step = block == 0 ? options.step : block;
        lift(EngineRule::step_ends, block != 0);
    }

    /// Errors: what vLLM's look-up refuses. pre: the prompt is not empty
    Result<Replayed> run(const ReplayRequest& request) {
        Replayed result{};
        earlier_.look(request, result);
        const Ask ask = ask_for(result.tokens, 1);
        const vllm::SimRequest own = sim_request(request);
        vllm::Simulator& real = stores_[0].simulator;
        const vllm::Simulator::Seen seen = real.seen(own);
        const vllm::Lookup asked = real.lookup(seen, result.tokens);
        const Result<vllm::Lookedup> found = vllm::look_up(asked);
        if (!found) {
            return found.error();
        }
        Compared compared{
            .hit = found->tokens, .ideal = found->tokens, .alignment = vllm::classes_of(asked)->alignment};
        lift_vllm_lookup(compared, seen.groups, asked);
        const Positions here = vllm_positions(seen, options_.hash_block, result.tokens);
        compared.lift(EngineRule::own_rules,
                      allowed(here.groups(), ask.limit, Grid{.unit = compared.alignment}));
        lift_grid(compared, here.groups(), ask, ask.grid, options_.groups.size() > 1 && several_blocks());
        result.hit = compared.hit;
        result.ideal = compared.ideal;
        for (std::size_t i = 1; i < stores_.size(); ++i) {
            const Positions there =
                vllm_positions(stores_[i].simulator.seen(own), options_.hash_block, result.tokens);
            compared.lift(stores_[i].lifted,
                          smaller(result.seen, allowed(there.groups(), ask.limit, ask.grid)));
        }
        lift_rest(compared, result.seen, options_.hash_block, options_.scheduler_block);
        result.lifted = compared.lifted;
        const vllm::SimResult ran = real.run(own);
        result.rejected = ran.rejected;
        earlier_.add(request, std::accumulate(ran.steps.begin(), ran.steps.end(), ran.hit_tokens));
        for (std::size_t i = 1; i < stores_.size(); ++i) {
            static_cast<void>(stores_[i].simulator.run(own));
        }
        return result;
    }

private:
    struct Store {
        EngineRule lifted = EngineRule::others;
        vllm::Simulator simulator;
    };
    template <class Test>
    static bool some(const vllm::SimOptions& options, Test test) {
        return std::any_of(options.groups.begin(), options.groups.end(), test);
    }
    bool several_blocks() const {
        return some(options_,
                    [&](const vllm::SimGroup& group) { return group.block != options_.groups[0].block; });
    }
    static vllm::SimRequest sim_request(const ReplayRequest& request) {
        vllm::SimRequest own{.tokens = request.tokens, .salt = request.salt, .adapter = request.adapter};
        if (!request.generated.empty()) {
            own.decoded.assign(request.generated.begin(), request.generated.end() - 1);
        }
        return own;
    }

    vllm::SimOptions options_;
    std::vector<Store> stores_;
    Earlier earlier_;
};

}  // namespace kvcap::inline v1::report
