// SPDX-License-Identifier: MIT
// SGLang as a value: its server arguments. What it makes of a model and of the bytes that the weights leave,
// and which prefix its trees would hit when the pages of each group are held or not.
#pragma once

#include <kvcap/engine/sglang/plan.hpp>
#include <kvcap/engine/sglang/stored.hpp>
#include <kvcap/engine/workers.hpp>

namespace kvcap::inline v1::sglang {

/// Bytes that caches and states may take, from what the engine measures.
constexpr Bytes budget_of(const Memory& memory) noexcept {
    return {truncated(rest_gib(memory) * bytes_per_gib)};
}

struct Engine {
    Options options{};

    /// Every stage by itself, and the one with the fewest tokens, by which all are cut. Errors: the engine's
    /// own, and splits that do not divide.
    constexpr Result<RankPools> poorest(const ModelSpec& model, const Sharding& sharding,
                                        const Budget& budget) const noexcept {
        if (const Error wrong = check_workers(budget, sharding.pp); wrong.code != Errc::ok) {
            return wrong;
        }
        if (const Error wrong = check_memory(budget); wrong.code != Errc::ok) {
            return wrong;
        }
        const double rest = static_cast<double>(least_available(budget).value) / bytes_per_gib;
        u64 fewest = not_set;
        u32 poorest = 0;
        for (u32 stage = 0; stage < sharding.pp; ++stage) {
            const Result<RankPools> own = rank_pools(model, sharding, stage, rest, options);
            if (!own) {
                return own.error();
            }
            poorest = own->tokens_alone < fewest ? stage : poorest;
            fewest = smaller(fewest, own->tokens_alone);
        }
        return rank_pools(model, sharding, poorest, rest, options, fewest);
    }

    /// The pools of the stage with the fewest tokens; all stages have as many. Budget: bytes after the
    /// weights, for caches and states; the least over the workers holds for all.
    constexpr Result<PoolPlan> pools(const ModelSpec& model, const Sharding& sharding,
                                     const Budget& budget) const noexcept {
        const Result<RankPools> rank = poorest(model, sharding, budget);
        if (!rank) {
            return rank.error();
        }
        PoolPlan plan{};
        if (rank->layers.compressed()) {
            add_compressed(plan, *rank, options);
        } else {
            add_tokens(plan, *rank, has_encoder(model), options);
        }
        add_states(plan, *rank, options);
        place(plan, model, options);
        static_cast<void>(plan.per_unit.push(plan.pools[0].each));
        plan.max_len = smaller(options.context, rank->pools.tokens);
        plan.scheduler_block = options.page;
        plan.hash_block = options.page;
        plan.reported_block = options.page;
        return plan;
    }

    /// A window wants W live tokens before the boundary, or no hole at all; a state its snapshot; boundaries
    /// are pages.
    constexpr Result<Hit> hits(const PoolPlan& plan, const Held* held,
                               const Request& request) const noexcept {
        Group<> groups[most_groups]{};
        for (u32 c = 0; c < plan.classes.size(); ++c) {
            const Retention& stays = plan.classes[c].retention;
            groups[c].rule = rule_of(stays, options.page, WindowEdge::full);
            groups[c].pages = {held[c].word, held[c].count};
        }
        return common_hit(groups, plan.classes.size(),
                          {.limit = request.limit, .grid = {.unit = options.page}});
    }

    friend constexpr bool operator==(const Engine&, const Engine&) = default;

private:
    static constexpr bool has_encoder(const ModelSpec& model) noexcept {
        for (const LayerForm& form : model.forms) {
            if (form.retention.source == Source::encoder) {
                return true;
            }
        }
        return false;
    }
};

static_assert(kvcap::Engine<Engine>);

}  // namespace kvcap::inline v1::sglang
