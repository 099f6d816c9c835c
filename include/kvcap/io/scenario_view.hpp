// SPDX-License-Identifier: MIT
// What is a reuse scenario once it is read? Groups that own their presence words, and the view of them that the
// evaluator takes.
#pragma once

#include <kvcap/reuse.hpp>
#include <kvcap/reuse/repair.hpp>
#include <memory>
#include <string>
#include <vector>

namespace kvcap::inline v1 {

/// ranks: presence words of each rank. elsewhere: pages that could be had (empty: all). follows: the group
/// whose caches this one uses; it has no pages of its own.
struct ScenarioGroup {
    std::string name;
    Rule rule{};
    u64 pages = 0;
    u64 bytes = 0;
    bool replicated = false;
    std::vector<std::vector<u64>> ranks;
    std::vector<u64> elsewhere;
    std::string follows;
};

struct ReuseScenario {
    Ask ask{};
    std::vector<ScenarioGroup> groups;
};

/// The groups as the evaluator takes them, without those that follow others. Points into the scenario.
struct ScenarioView {
    std::vector<std::vector<const u64*>> rank_words;
    std::vector<Group<ShardBits>> groups;
    std::vector<ShardBits> elsewhere;  ///< as many as groups, or none
    std::vector<u64> bytes;
    std::vector<u32> index;            ///< in the scenario

    explicit ScenarioView(const ReuseScenario& scenario) {
        bool some = false;
        for (const ScenarioGroup& group : scenario.groups) {
            some = some || !group.elsewhere.empty();
            rank_words.emplace_back();
            for (const std::vector<u64>& words : group.ranks) {
                rank_words.back().push_back(words.data());
            }
        }
        for (u32 g = 0; g < scenario.groups.size(); ++g) {
            const ScenarioGroup& group = scenario.groups[g];
            if (!group.follows.empty()) {
                continue;
            }
            groups.push_back({group.rule,
                              {rank_words[g].data(), static_cast<u32>(group.ranks.size()), group.replicated,
                               group.pages}});
            bytes.push_back(group.bytes);
            index.push_back(g);
            if (some) {
                std::vector<u64>& all = spare_.emplace_back(group.elsewhere);
                all.resize(group.pages / 64 + 1, group.elsewhere.empty() ? ~u64{0} : 0);
                one_.push_back(std::make_unique<const u64*>(all.data()));
                elsewhere.push_back({one_.back().get(), 1, false, group.pages});
            }
        }
    }
    ScenarioView(const ScenarioView&) = delete;
    ScenarioView& operator=(const ScenarioView&) = delete;

    u32 count() const noexcept { return static_cast<u32>(groups.size()); }
    Prices<ShardBits> prices() const noexcept {
        return {bytes.data(), elsewhere.empty() ? nullptr : elsewhere.data()};
    }

private:
    std::vector<std::vector<u64>> spare_;
    std::vector<std::unique_ptr<const u64*>> one_;
};

}  // namespace kvcap::inline v1
