// SPDX-License-Identifier: MIT
// Where does SGLang's hit differ from what the pages held allow, and by which of its rules? For given
// presence, and for prompts run through its trees. Rules: engine/sglang/tree_class.hpp,
// engine/sglang/server.hpp.
#pragma once

#include <kvcap/engine/sglang/server.hpp>
#include <kvcap/report/reuse_replay.hpp>

namespace kvcap::inline v1::report {

/// SGLang's hit beside what `ask` allows on boundaries as fine as either's. A window is wanted whole, a chunk
/// is a window, boundaries are pages. pre: fault() finds none, page > 0. Errors: Errc::unsupported with the
/// group, for sinks and for entries that lag.
inline Result<Compared> compare_sglang(const std::vector<EngineGroup>& held, const Ask& ask, u64 page) {
    std::vector<Group<>> own;
    std::vector<Group<>> ideal;
    u64 window = 0;
    u64 chunk = 0;
    for (u32 g = 0; g < held.size(); ++g) {
        Group<> group = held[g].group;
        ideal.push_back(group);
        Rule& rule = group.rule;
        if (rule.lag != 0 || rule.sinks != 0) {
            return Error{.code = Errc::unsupported,
                         .what = rule.lag != 0 ? Uncovered::lag : Uncovered::sinks,
                         .layer = g,
                         .got = rule.lag};
        }
        if (rule.needs == Needs::window) {
            rule.reach = held[g].window != 0 ? held[g].window : rule.reach + 1;
            window = larger(window, rule.reach);
        } else if (rule.needs == Needs::chunk) {
            rule.reach = held[g].window != 0 ? held[g].window : rule.reach;
            chunk = larger(chunk, rule.reach);
            rule.needs = Needs::window;
        }
        own.push_back(group);
    }
    const Grid pages{.unit = page};
    const u64 hit = allowed(own, ask.limit, pages);
    Compared compared{.hit = hit, .ideal = hit, .alignment = page, .tail = ask.grid.tail};
    for (std::size_t g = 0; g < own.size(); ++g) {
        own[g] = ideal[g].rule.needs == Needs::chunk ? ideal[g] : own[g];
    }
    compared.lift(EngineRule::chunk_window, allowed(own, ask.limit, pages), chunk);
    compared.lift(EngineRule::whole_window, allowed(ideal, ask.limit, pages), window);
    lift_grid(compared, ideal, ask,
              {.unit = greatest_common_divisor(ask.grid.unit, page), .tail = ask.grid.tail}, false);
    return compared;
}

/// Presence along a stored path. window: what its window group needs.
inline Positions sglang_positions(const std::vector<sglang::PathPart>& path, const sglang::TreeRules& rules,
                                  const Rule& window, u64 prompt) {
    Positions to{prompt, rules.page};
    to.add({.needs = Needs::everything});
    const std::size_t windows = to.rules.size();
    if (rules.window != 0) {
        to.add(window);
    }
    const std::size_t states = to.rules.size();
    if (rules.states) {
        to.add({.needs = Needs::snapshot});
    }
    u64 at = 0;
    for (const sglang::PathPart& part : path) {
        to.hold(0, at, at + part.units);
        if (rules.window != 0 && part.window) {
            to.hold(windows, at, at + part.units);
        }
        at += part.units;
        if (rules.states && part.state) {
            to.hold(states, at - rules.page, at);
        }
    }
    return to;
}

/// Requests through SGLang's trees and pools, and through those in which one rule after the other is lifted.
class SglangReplay {
public:
    /// window: what the model's window or chunk needs; the engine wants rules.window tokens. pre: as
    /// sglang::Server
    SglangReplay(sglang::ServerOptions options, const Rule& window) : options_{options}, window_{window} {
        stores_.push_back({EngineRule::others, sglang::Server{options}});
        const auto lift = [&](EngineRule rule, bool helps) {
            if (helps) {
                stores_.push_back({rule, sglang::Server{options}});
            }
        };
        const bool tight =
            options.tokens != off_scale || options.window_tokens != off_scale || options.states != off_scale;
        options.tokens = options.window_tokens = options.states = off_scale;
        lift(EngineRule::evicted, tight);
        const bool frees = std::exchange(options.rules.window, 0) != 0;
        lift(EngineRule::window_freed, frees);
        lift(EngineRule::step_ends, std::exchange(options.rules.states, false));
    }

    /// pre: the prompt is not empty
    Replayed run(const ReplayRequest& request) {
        Replayed result{};
        earlier_.look(request, result);
        const Ask ask = ask_for(result.tokens, 1);
        const std::optional<std::string> key = key_of(request);
        const Positions here = positions(stores_[0].server, options_.rules, request, key);
        const sglang::ServedRequest served = stores_[0].server.serve(request.tokens, request.generated, key);
        Compared compared{.hit = served.hit, .ideal = served.hit, .alignment = options_.rules.page};
        const bool chunk = window_.needs == Needs::chunk;
        compared.lift(chunk ? EngineRule::chunk_window : EngineRule::whole_window,
                      allowed(here.groups(), ask.limit, Grid{.unit = options_.rules.page}),
                      options_.rules.window);
        lift_grid(compared, here.groups(), ask, ask.grid, false);
        result.hit = compared.hit;
        result.ideal = compared.ideal;
        result.rejected = served.rejected;
        for (std::size_t i = 1; i < stores_.size(); ++i) {
            const Positions there = positions(stores_[i].server, rules_of(i), request, key);
            compared.lift(stores_[i].lifted,
                          smaller(result.seen, allowed(there.groups(), ask.limit, ask.grid)));
            static_cast<void>(stores_[i].server.serve(request.tokens, request.generated, key));
        }
        lift_rest(compared, result.seen, options_.rules.page, options_.rules.page);
        result.lifted = compared.lifted;
        earlier_.add(request, served.computed);
        return result;
    }

private:
    struct Store {
        EngineRule lifted = EngineRule::others;
        sglang::Server server;
    };

    sglang::TreeRules rules_of(std::size_t store) const {
        sglang::TreeRules rules = options_.rules;
        for (std::size_t i = 1; i <= store; ++i) {
            rules.window = stores_[i].lifted == EngineRule::window_freed ? 0 : rules.window;
            rules.states = stores_[i].lifted == EngineRule::step_ends ? false : rules.states;
        }
        return rules;
    }
    Positions positions(const sglang::Server& server, const sglang::TreeRules& rules,
                        const ReplayRequest& request, const std::optional<std::string>& key) const {
        return sglang_positions(server.tree().path(request.tokens, key), rules, window_,
                                request.tokens.size());
    }
    /// One text: the salt, and behind it an adapter's id, which the server draws at random (lora_registry.py), so that
    /// no salt is one.
    static std::optional<std::string> key_of(const ReplayRequest& request) {
        const std::string text = request.salt + (request.adapter.empty() ? "" : '\n' + request.adapter);
        return text.empty() ? std::nullopt : std::optional{text};
    }

    sglang::ServerOptions options_;
    Rule window_{};
    std::vector<Store> stores_;
    Earlier earlier_;
};

}  // namespace kvcap::inline v1::report
