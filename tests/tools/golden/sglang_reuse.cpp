// SPDX-License-Identifier: MIT
// SGLang golden cases of kind prefix_reuse: operations on a tree, each with what the engine answered.
#include "sglang.hpp"

#include <kvcap/engine/sglang/tree.hpp>
#include <map>

namespace golden {

using namespace kvcap;
using namespace kvcap::sglang;

namespace {

std::vector<u64> tokens_of(const Json& given) {
    std::vector<u64> tokens;
    for (const Json& item : given) {
        const u64 count = item.is_array() ? item.at(1).get<u64>() : 1;
        const u64 start = item.is_array() ? item.at(0).get<u64>() : item.get<u64>();
        for (u64 i = 0; i < count; ++i) {
            tokens.push_back(start + i);
        }
    }
    return tokens;
}

Eviction eviction_of(const std::string& name) {
    static const std::map<std::string, Eviction> policies{
        {"lru", Eviction::lru},   {"lfu", Eviction::lfu},   {"fifo", Eviction::fifo}, {"mru", Eviction::mru},
        {"filo", Eviction::filo}, {"slru", Eviction::slru}, {"priority", Eviction::priority}};
    return policies.at(name);
}

TreeRules rules_of(const StrictObject& cache) {
    cache.ignore("state_strategy");
    TreeRules rules{.page = cache.get<u64>("page_size"), .state_chunk = cache.get<u64>("state_chunk", 64),
                    .unified = cache.get<std::string>("tree", "unified") != "plain",
                    .bigram = cache.get<bool>("bigram", false),
                    .eviction = eviction_of(cache.get<std::string>("eviction", "lru"))};
    const u64 window = cache.get<u64>("window", 0);
    for (const Json& group : cache.at("groups")) {
        rules.window = group == "window" ? window : rules.window;
        rules.states = rules.states || group == "state";
        if (group != "full" && group != "window" && group != "state") {
            throw std::runtime_error("a known group, not " + group.dump());
        }
    }
    return rules;
}

std::optional<std::string> extra_key(const StrictObject& op) {
    return op.has("extra_key") ? std::optional{op.get<std::string>("extra_key")} : std::nullopt;
}

class Run {
public:
    Run(const TreeRules& rules, Report& report) : tree_{rules}, report_{report} {}

    void step(const StrictObject& op) {
        const auto name = op.get<std::string>("op");
        Json got = name == "insert"   ? insert(op)
                   : name == "lookup" ? lookup(op)
                   : name == "evict"  ? evict(op)
                   : name == "unlock" ? unlock(op)
                                      : throw std::runtime_error("a known op, not " + name);
        if (op.has("expect")) {
            compare("op " + std::to_string(count_), op.at("expect"), got);
        }
        ++count_;
        op.done("the op");
    }

    void final_amounts(const Json& want) {
        const TreeAmounts free = tree_.evictable();
        const TreeAmounts held = tree_.locked();
        compare("final", want,
                {{"full_evictable", free.full},
                 {"full_locked", held.full},
                 {"window_evictable", free.window},
                 {"window_locked", held.window},
                 {"states_evictable", free.states},
                 {"states_locked", held.states}});
    }

private:
    void compare(const std::string& where, const Json& want, const Json& got) {
        for (const auto& [field, value] : want.items()) {
            report_.equal(where + " " + field, value,
                          got.contains(field) ? got[field] : Json("not answered"));
        }
    }

    Json insert(const StrictObject& op) {
        const Inserted done = tree_.insert({.tokens = tokens_of(op.at("tokens")), .extra_key = extra_key(op),
                                            .released = op.get<u64>("window_released_upto", 0)});
        return {{"already_present_tokens", done.present}, {"state_already_present", done.state_present}};
    }

    Json lookup(const StrictObject& op) {
        std::vector<u64> tokens = tokens_of(op.at("tokens"));
        if (op.get<bool>("exclude_last_token", false) && !tokens.empty()) {
            tokens.pop_back();
        }
        const Match match = tree_.lookup(tokens, extra_key(op));
        if (op.has("lock")) {
            locks_[op.get<std::string>("lock")] = tree_.lock(match.node);
        }
        return {{"hit_tokens", match.hit},
                {"state_branch_point", match.branch ? Json(*match.branch) : Json{}}};
    }

    Json evict(const StrictObject& op) {
        const TreeAmounts freed = tree_.evict({.full = op.get<u64>("full_tokens", 0),
                                               .window = op.get<u64>("window_tokens", 0),
                                               .states = op.get<u64>("states", 0)});
        return {{"full_tokens_evicted", freed.full}, {"window_tokens_evicted", freed.window},
                {"states_evicted", freed.states}};
    }

    Json unlock(const StrictObject& op) {
        tree_.unlock(locks_.at(op.get<std::string>("lock")));
        return Json::object();
    }

    RadixTree tree_;
    Report& report_;
    std::map<std::string, RadixTree::Lock> locks_;
    int count_ = 0;
};

}  // namespace

void sglang_reuse(const StrictObject& one, Report& report) {
    one.ignore("name");
    const StrictObject cache{one.at("cache")};
    Run run{rules_of(cache), report};
    cache.done("cache");
    for (const Json& op : one.at("ops")) {
        run.step(StrictObject{op});
    }
    run.final_amounts(one.at("final"));
}

}  // namespace golden
