// SPDX-License-Identifier: MIT
// What follows where vLLM's ranks print unlike amounts of memory? Every rank of one engine makes as many blocks as the
// poorest can hold; stages hold other layers and data-parallel engines pools of their own, so theirs are not compared.
#pragma once

#include <cmath>
#include <kvcap/report/diagnose/finding.hpp>

namespace kvcap::inline v1::report::vllm_log {

/// The least and the greatest amount of ranks that share every block; null where they do not.
struct UnlikeRanks {
    const logs::Datum* least = nullptr;
    const logs::Datum* most = nullptr;
};

inline UnlikeRanks unlike_ranks(const logs::Facts& facts) {
    const logs::Datum* all = facts.find("available_kv_gib_by_rank");
    UnlikeRanks found;
    int engine = -1;
    for (std::size_t i = 0; all != nullptr && i < all->items.size(); ++i) {
        const logs::Datum& value = all->items[i].value;
        const logs::Ranks ranks = logs::ranks_of(all->items[i].name);
        if (!logs::number(value) || ranks.pp > 0 || (engine >= 0 && ranks.dp >= 0 && ranks.dp != engine)) {
            return {};
        }
        engine = ranks.dp >= 0 ? ranks.dp : engine;
        const double amount = *logs::number(value);
        found.least = found.least == nullptr || amount < *logs::number(*found.least) ? &value : found.least;
        found.most = found.most == nullptr || amount > *logs::number(*found.most) ? &value : found.most;
    }
    return found;
}

/// The facts, with the poorest rank's memory as the one that counts.
inline logs::Facts with_least(const logs::Facts& facts) {
    logs::Facts out = facts;
    if (const UnlikeRanks ranks = unlike_ranks(facts); ranks.least != nullptr) {
        out.offer("available_kv_gib", *ranks.least);
    }
    return out;
}

inline void poorest_rank(Diagnosis& on) {
    const UnlikeRanks ranks = unlike_ranks(on.facts());
    if (ranks.least == nullptr) {
        return;
    }
    const double least = *logs::number(*ranks.least), most = *logs::number(*ranks.most);
    const std::size_t count = on.find("available_kv_gib_by_rank")->items.size();
    on.add("unlike-ranks", {"available_kv_gib"},
           said("{} to {} GiB on {} ranks", ranks.least->words, ranks.most->words, count),
           said("every rank makes as many blocks as the poorest can hold: up to {:.2f} GiB stay idle", most - least),
           "see what else lies on the poorest card")
        .with("least_gib", least)
        .with("most_gib", most)
        .with("idle_gib", most - least)
        .with("ranks", static_cast<double>(count));
}

}  // namespace kvcap::inline v1::report::vllm_log
