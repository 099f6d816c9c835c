// SPDX-License-Identifier: MIT
// A router in front of six workers that serve one hybrid model: which one should get this prompt, and why?
// Every worker's pages and states are bits of one table; one pass over it answers for all workers.
#include <cstdio>
#include <kvcap/core.hpp>
#include <kvcap/models/qwen.hpp>
#include <kvcap/reuse.hpp>
#include <kvcap/reuse/fleet.hpp>
#include <kvcap/reuse/model_rules.hpp>
#include <vector>

namespace mine {

using namespace kvcap;

constexpr u64 workers = 6;
constexpr u64 page_tokens = 64;
constexpr u64 prompt_tokens = 40'000;

/// What a model needs, group by group: here pages of attention, and a state at exactly the boundary.
constexpr ModelRules rules =
    rules_of(models::qwen3_next_80b_a3b, {.page = page_tokens, .snapshot = page_tokens}).value();

/// Presence: row p of group g has one bit for each worker that holds page p (or the state after it).
class Presence {
public:
    Presence() : rows_(rules.size(), std::vector<u64>(pages)) {}

    /// A worker announces pages [first, end) of a group; routers hear this from the workers' events.
    void add(u32 group, u64 worker, u64 first, u64 end) {
        for (u64 page = first; page < end; ++page) {
            rows_[group][page] |= u64{1} << worker;
        }
    }
    std::vector<FleetGroup> groups() const {
        std::vector<FleetGroup> groups;
        for (u32 g = 0; g < rules.size(); ++g) {
            groups.push_back({rules[g].rule, rows_[g].data(), pages});
        }
        return groups;
    }

    static constexpr u64 pages = prompt_tokens / page_tokens;

private:
    std::vector<std::vector<u64>> rows_;
};

u32 group_that_needs(Needs needs) {
    u32 g = 0;
    while (rules[g].rule.needs != needs) {
        ++g;
    }
    return g;
}

/// The fleet of this example: who served which part of this conversation before.
Presence presence() {
    const u32 attention = group_that_needs(Needs::everything);
    const u32 state = group_that_needs(Needs::snapshot);
    Presence held;
    held.add(attention, 0, 0, 600);  // the longest prefix, but its only state lies early
    held.add(state, 0, 99, 100);
    held.add(attention, 1, 0, 400);  // shorter, with a state at its very end
    held.add(state, 1, 399, 400);
    held.add(attention, 2, 0, 400);  // the same, and pages beyond: less to move
    held.add(attention, 2, 401, 620);
    held.add(state, 2, 399, 400);
    held.add(attention, 3, 1, 625);  // all but the first page
    held.add(state, 3, 0, 625);
    held.add(state, 4, 0, 625);  // states alone
    return held;                 // worker 5 is new
}

const char* words(const Explanation& known) {
    if (known.limiting.size() > 1) {
        return "pages and states are missing";
    }
    switch (known.reason.why) {
        case Why::no_snapshot: return "no state was kept further on";
        case Why::missing_page: return "a page is missing";
        default: return "nothing is missing";
    }
}

/// Why a worker cannot skip more, asked of its own column of the table.
Explanation why(const std::vector<FleetGroup>& groups, u64 worker, const Ask& ask) {
    std::vector<Group<WorkerBits>> own;
    for (const FleetGroup& group : groups) {
        own.push_back({group.rule, {group.rows, 1, worker, group.pages}});
    }
    return explain(own.data(), static_cast<u32>(own.size()), ask);
}

}  // namespace mine

int main() {
    using namespace kvcap;
    const mine::Presence held = mine::presence();
    const std::vector<FleetGroup> groups = held.groups();
    const u32 count = static_cast<u32>(groups.size());
    const Ask ask = ask_for(mine::prompt_tokens, mine::page_tokens);

    std::vector<u32> buckets(fleet_buckets(ask));
    std::vector<Lane> blocks(fleet_blocks(groups.data(), count, ask));
    std::vector<u64> boundary(mine::workers);
    const Error wrong =
        fleet(groups.data(), count, mine::workers, ask, {buckets.data(), blocks.data()}, boundary.data());
    if (wrong.code != Errc::ok) {
        return 1;
    }
    std::vector<u64> bytes;
    for (const ModelRule& rule : mine::rules) {
        bytes.push_back(rule.bytes);
    }
    const BestWorker best =
        best_worker(groups.data(), count, mine::workers, ask, bytes.data(), boundary.data());

    bool agree = true;
    for (u64 worker = 0; worker < mine::workers; ++worker) {
        const Explanation own = mine::why(groups, worker, ask);
        agree = agree && own.tokens == boundary[worker];
        std::printf("worker %llu skips %6llu of %llu tokens: %s%s\n", static_cast<unsigned long long>(worker),
                    static_cast<unsigned long long>(boundary[worker]),
                    static_cast<unsigned long long>(mine::prompt_tokens), mine::words(own),
                    worker == best.worker ? "  <- chosen" : "");
    }
    std::printf("moving %llu bytes there would let it skip all\n",
                static_cast<unsigned long long>(best.bytes));
    return agree && best.worker == 2 && best.tokens == 400 * mine::page_tokens ? 0 : 1;
}
