// SPDX-License-Identifier: MIT
// SGLang as a value: its server arguments. What it makes of a model and of the bytes that the weights leave, and which
// prefix its trees would hit when the pages of each group are held or not.
#pragma once

#include <kvcap/engine/concept.hpp>
#include <kvcap/engine/sglang/plan.hpp>
#include <kvcap/engine/sglang/stored.hpp>
#include <kvcap/reuse/descent.hpp>

namespace kvcap::inline v1::sglang {

/// Bytes that caches and states may take, from what the engine measures.
constexpr Bytes budget_of(const Memory& memory) noexcept {
    return {truncated(rest_gib(memory) * bytes_per_gib)};
}

struct Engine {
    Options options{};

    /// Every stage by itself, and the one with the fewest tokens, by which all are cut. Errors: the engine's own, and
    /// splits that do not divide.
    constexpr Result<RankPools> poorest(const ModelSpec& model, const Sharding& sharding, const Budget& budget) const noexcept {
        const Result<double> rest = rest_of(sharding, budget);
        if (!rest) {
            return rest.error();
        }
        u64 fewest = not_set;
        u32 poorest = 0;
        for (u32 stage = 0; stage < sharding.pp; ++stage) {
            const Result<RankPools> own = rank_pools(model, sharding, stage, *rest, options);
            if (!own) {
                return own.error();
            }
            poorest = own->tokens_alone < fewest ? stage : poorest;
            fewest = smaller(fewest, own->tokens_alone);
        }
        Result<RankPools> rank = rank_pools(model, sharding, poorest, *rest, options, fewest);
        return rank;
    }

    /// The pools of the stage with the fewest tokens; all stages have as many. Budget: bytes after the weights, for
    /// caches and states; the least over the workers holds for all.
    constexpr Result<PoolPlan> pools(const ModelSpec& model, const Sharding& sharding, const Budget& budget) const noexcept {
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

    /// A window wants W live tokens before the boundary, or no hole at all; a state its snapshot; boundaries are pages.
    constexpr Result<Hit> hits(const PoolPlan& plan, const Held* held, const Request& request) const noexcept {
        Group<> groups[most_groups]{};
        for (u32 c = 0; c < plan.classes.size(); ++c) {
            const Retention& stays = plan.classes[c].retention;
            groups[c].rule = rule_of(stays, options.page, WindowEdge::full);
            groups[c].pages = {held[c].word, held[c].count};
        }
        const u32 count = plan.classes.size();
        const Ask ask{.prompt = request.lengths.from(Source::decoder), .limit = request.limit,
                      .grid = {.unit = options.page}};
        if (const Error wrong = fault(groups, count, ask); wrong.code != Errc::ok) {
            return wrong;
        }
        return found(groups, count, ask);
    }

    friend constexpr bool operator==(const Engine&, const Engine&) = default;

private:
    static constexpr Result<double> rest_of(const Sharding& sharding, const Budget& budget) noexcept {
        if (budget.workers == 0 || sharding.pp == 0 || budget.workers % sharding.pp != 0) {
            return Error{.code = Errc::not_divisible, .got = budget.workers, .want = sharding.pp};
        }
        u64 least = off_scale;
        for (u32 i = 0; i < budget.workers; ++i) {
            least = smaller(least, budget.available[i].value);
        }
        return static_cast<double>(least) / bytes_per_gib;
    }

    static constexpr bool has_encoder(const ModelSpec& model) noexcept {
        for (const LayerForm& form : model.forms) {
            if (form.retention.source == Source::encoder) {
                return true;
            }
        }
        return false;
    }

    /// The hit, the best that leaving out one group would give, and that group.
    static constexpr Hit found(const Group<>* groups, u32 count, const Ask& ask) noexcept {
        Hit hit{.tokens = reusable(groups, count, ask)};
        hit.missed = hit.tokens;
        for (u32 g = 0; g < count; ++g) {
            const u64 without = common_floor(groups, count, ask.limit, ask.grid, {.first = g});
            hit.limiting = without > hit.missed ? g : hit.limiting;
            hit.missed = larger(hit.missed, without);
        }
        hit.missed -= hit.tokens;
        return hit;
    }
};

static_assert(kvcap::Engine<Engine>);

}  // namespace kvcap::inline v1::sglang
