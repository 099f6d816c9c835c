// SPDX-License-Identifier: MIT
// TensorRT-LLM as a value: its cache configuration. Blocks of every window on the poorest stage, cross
// attention and states beside them; and the prefix that its managers reuse when blocks are held or not.
#pragma once

#include <kvcap/engine/trtllm/plan.hpp>
#include <kvcap/engine/workers.hpp>

namespace kvcap::inline v1::trtllm {

struct Engine {
    Options options{};

    /// Budget: free bytes of each worker after load, of which the engine takes its fraction. Blocks are the
    /// least over all stages; each pool's bytes are those of the stage that binds it.
    constexpr Result<PoolPlan> pools(const ModelSpec& model, const Sharding& sharding,
                                     const Budget& budget) const noexcept {
        const Result<Sharding> ranks = attention_ranks(model, sharding, options);
        if (!ranks) {
            return ranks.error();
        }
        if (const Error wrong = check_workers(budget, sharding.pp); wrong.code != Errc::ok) {
            return wrong;
        }
        if (const Error wrong = check_memory(budget); wrong.code != Errc::ok) {
            return wrong;
        }
        PoolPlan plan{};
        for (u32 stage = 0; stage < sharding.pp; ++stage) {
            const Result<StageLayers> layers = layers_on_stage(model, *ranks, stage, options);
            if (!layers) {
                return layers.error();
            }
            const u64 free_bytes = least_of_stage(budget, sharding.pp, stage).value;
            const Result<StageBlocks> own = blocks_on_stage(free_bytes, *layers, options);
            if (!own) {
                return own.error();
            }
            const auto pools = pools_of(*own, has_full(*layers), options);
            if (const Error wrong = add_stage(plan, pools, stage * (budget.workers / sharding.pp), options);
                wrong.code != Errc::ok) {
                return wrong;
            }
            static_cast<void>(plan.per_unit.push({pools.empty() ? 0 : pools[0].each}));
        }
        return finished(plan, model);
    }

    /// First manager: whole blocks from the start in every window's tree, and the short rest where partial
    /// reuse is on. Second manager: of a window only the blocks that the next token sees.
    constexpr Result<Hit> hits(const PoolPlan& plan, const Held* held,
                               const Request& request) const noexcept {
        Group<> groups[most_groups]{};
        const u32 count = plan.classes.size();
        for (u32 c = 0; c < count; ++c) {
            const GroupClass& kind = plan.classes[c];
            const bool whole = kind.kind == static_cast<u8>(PoolKind::window) && !options.second_manager;
            groups[c].rule = rule_of(whole ? Retention{} : kind.retention, options.tokens_per_block);
            groups[c].pages = {held[c].word, held[c].count};
        }
        const u64 tail = options.partial_reuse ? request.limit : off_scale;
        return common_hit(groups, count,
                          {.limit = request.limit, .grid = {.unit = options.tokens_per_block, .tail = tail}});
    }

    friend constexpr bool operator==(const Engine&, const Engine&) = default;

private:
    constexpr bool has_full(const StageLayers& layers) const noexcept {
        const u32 count = layers.windows.size();
        return count != 0 && layers.windows[count - 1].tokens == options.max_seq_len;
    }

    /// A window longer than its pool becomes as long as the pool; the full one is the longest sequence.
    constexpr void shorten(PoolPlan& plan, GroupClass& kind, u64 blocks) const noexcept {
        const u64 bound =
            window_upper_bound(blocks, options.tokens_per_block, options.beams, options.max_seq_len);
        const PoolKind what = static_cast<PoolKind>(kind.kind);
        if (what == PoolKind::window || what == PoolKind::full) {
            kind.retention.span.value = smaller(kind.retention.span.value, bound);
        }
        if (what == PoolKind::window) {
            kind.steps.cap = kind.retention.span.value;
        }
        if (what == PoolKind::full) {
            plan.max_len = smaller(plan.max_len, kind.retention.span.value);
        }
    }

    /// Places and lengths; a pool without a block is refused.
    constexpr Result<PoolPlan> finished(PoolPlan plan, const ModelSpec& model) const noexcept {
        plan.max_len = options.max_seq_len;
        for (GroupClass& kind : plan.classes) {
            const Pool& pool = plan.pools[kind.pool];
            if (pool.units == 0) {
                return Error{.code = Errc::no_memory, .got = 0, .want = pool.each.value};
            }
            shorten(plan, kind, pool.units);
        }
        plan.scheduler_block = options.tokens_per_block;
        plan.hash_block = options.tokens_per_block;
        plan.reported_block = options.tokens_per_block;
        for (const Cache& cache : model.caches) {
            static_cast<void>(plan.placed.push(place_of(plan, model.form_of(cache), options)));
        }
        return plan;
    }
};

static_assert(kvcap::Engine<Engine>);

}  // namespace kvcap::inline v1::trtllm
