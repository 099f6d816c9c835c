// SPDX-License-Identifier: MIT
// llama.cpp as a value: its options, the pools it makes of a model, and the prefix one sequence can skip. The
// engine is asked for a context and bytes follow; a budget only says whether they fit.
#pragma once

#include <kvcap/engine/concept.hpp>
#include <kvcap/engine/llamacpp/from_spec.hpp>
#include <kvcap/engine/llamacpp/split.hpp>
#include <kvcap/reuse/descent.hpp>

namespace kvcap::inline v1::llamacpp {

/// tp ranks cut rows (-sm tensor), pp stages take blocks (-sm layer); alike devices.
constexpr Devices devices_of(const Card& card, const Sharding& sharding) noexcept {
    Devices devices{.count = static_cast<u32>(larger(sharding.tp, sharding.pp)),
                    .gpu_layers = card.all_layers() + 1};
    for (u32 i = 0; i < devices.count && i < most_devices; ++i) {
        devices.share[i] = 1;
    }
    return devices;
}

constexpr Retention retention_of(const Card& card, const CacheShape& cache) noexcept {
    if (is_states(cache.part) || is_compressor(cache.part)) {
        return {.keep = Keep::last};
    }
    if (cache.window_type == WindowType::none) {
        const bool strided = cache.part == Part::csa || cache.part == Part::lid || cache.part == Part::hca;
        return {.stride = !strided ? 1U : cache.part == Part::hca ? 128U : 4U};
    }
    return {.keep = cache.window_type == WindowType::chunked ? Keep::chunk : Keep::window,
            .span = {card.window}};
}

/// Rows or blocks are cut, never both, among at most `most_devices`; tokens are not dealt.
constexpr Error check_split(const Sharding& sharding) noexcept {
    if (sharding.cp > 1) {
        return {.code = Errc::unsupported, .what = Uncovered::context_ranks, .got = sharding.cp};
    }
    if (sharding.tp > 1 && sharding.pp > 1) {
        return {.code = Errc::unsupported, .what = Uncovered::two_splits};
    }
    const u64 devices = u64{sharding.tp} * sharding.pp;
    if (devices > most_devices) {
        return {.code = Errc::unsupported, .what = Uncovered::devices, .got = devices, .want = most_devices};
    }
    return {};
}

struct Engine {
    Options options{};
    u32 weight_block = 32;  ///< block of the attention output weights: the tensor split's grain

    /// Bytes are those of the fullest device. Errors: a refusal of the engine; Errc::does_not_fit with both
    /// numbers; Errc::zero_dimension without a context.
    constexpr Result<PoolPlan> pools(const Card& card, const Sharding& sharding,
                                     const Budget& budget) const noexcept {
        Options asked = options;
        asked.split_mode = sharding.tp > 1 ? SplitMode::tensor : SplitMode::layer;
        if (const Error wrong = check_split(sharding); wrong.code != Errc::ok) {
            return wrong;
        }
        const Result<Layout> made = layout(card, asked);
        if (!made || made->resolved.n_ctx == 0) {
            return made ? Error{.code = Errc::zero_dimension} : made.error();
        }
        PoolPlan plan{};
        plan.max_len = made->resolved.n_ctx_seq;
        PerDevice sum{};
        const Devices devices = devices_of(card, sharding);
        for (const CacheShape& cache : made->caches) {
            const Result<PerDevice> own = sharding.tp > 1
                                              ? cache_per_slice(card, *made, cache, devices, weight_block)
                                              : cache_per_device(card, *made, cache, devices);
            if (!own) {
                return own.error();
            }
            for (u32 d = 0; d < devices.count; ++d) {
                sum.device[d] = saturating_sum(sum.device[d], own->device[d]);
                if (sum.device[d] == off_scale) {
                    return Errc::overflow;
                }
            }
            add_pool(card, *made, cache, *own, devices, plan);
        }
        const Error fits = check_budget(sum, devices, budget);
        return fits.code == Errc::ok ? Result<PoolPlan>{plan} : Result<PoolPlan>{fits};
    }

    constexpr Result<PoolPlan> pools(const ModelSpec& model, const Sharding& sharding,
                                     const Budget& budget) const noexcept {
        const Result<Card> card = card_from(model);
        if (!card) {
            return card.error();
        }
        Result<PoolPlan> plan = pools(*card, sharding, budget);
        if (!plan) {
            return plan;
        }
        PoolPlan placed = *plan;
        for (const Cache& cache : model.caches) {
            static_cast<void>(placed.placed.push({.group_class = class_of(placed, model.form_of(cache))}));
        }
        return placed;
    }

    /// held: per class, one bit a token (states: a snapshot after it). A window needs more than its own
    /// length before the boundary, as the server asks for.
    constexpr Result<Hit> hits(const PoolPlan& plan, const Held* held,
                               const Request& request) const noexcept {
        Group<> groups[most_groups]{};
        u64 shortest = 0;
        for (u32 c = 0; c < plan.classes.size(); ++c) {
            const Retention& retention = plan.classes[c].retention;
            groups[c] = {.rule = rule_of(retention, 1), .pages = {held[c].word, held[c].count}};
            if (retention.keep == Keep::window || retention.keep == Keep::chunk) {
                groups[c].rule = {.needs = Needs::window, .page = 1, .reach = retention.span.value + 1};
                shortest = larger(shortest, retention.span.value);
            }
        }
        const Ask ask{.prompt = request.lengths.prompt.value, .limit = request.limit, .grid = {.unit = 1}};
        if (const Error wrong = fault(groups, plan.classes.size(), ask); wrong.code != Errc::ok) {
            return wrong;
        }
        const u64 common = reusable(groups, plan.classes.size(), ask);
        Hit hit{.tokens = common > shortest ? common : 0, .passes = 1};
        u64 lowest = request.limit;
        for (u32 c = 0; c < plan.classes.size(); ++c) {
            const u64 alone = floor(groups[c], request.limit, ask.grid);
            hit.missed = larger(hit.missed, alone);
            hit.limiting = alone < lowest ? c : hit.limiting;
            lowest = smaller(lowest, alone);
        }
        hit.missed = hit.missed > hit.tokens ? hit.missed : 0;
        return hit;
    }

    friend constexpr bool operator==(const Engine&, const Engine&) = default;

private:
    /// A window cache of all sequences: each has the window, and one micro-batch beside them serves whoever runs.
    static constexpr bool shares_window(const Card& card, const Layout& made, const CacheShape& cache) noexcept {
        return made.resolved.kv_unified && !made.options.swa_full && cache.streams == 1 && card.window != 0 &&
               cache.window_type != WindowType::none;
    }
    /// Cells of that micro-batch; none where the cache is as long as the context and every token has its cell.
    static constexpr u64 micro_batch_cells(const Card& card, const Layout& made, const CacheShape& cache) noexcept {
        const u64 windows = saturating_product(card.window, made.resolved.n_seq_max);
        return smaller(made.resolved.n_ubatch, cache.cells - smaller(cache.cells, windows));
    }

    static constexpr void add_pool(const Card& card, const Layout& made, const CacheShape& cache,
                                   const PerDevice& bytes, const Devices& devices, PoolPlan& plan) noexcept {
        u64 most = 0;
        u32 fullest = 0;
        for (u32 d = 0; d < devices.count; ++d) {
            fullest = bytes.device[d] > most ? d : fullest;
            most = larger(most, bytes.device[d]);
        }
        if (most == 0) {
            return;
        }
        const bool fixed = is_states(cache.part) || is_compressor(cache.part);
        const u64 cells = fixed ? cache.sequences : cache.cells;
        const u32 copies = fixed ? 1 : cache.streams;
        const Retention retention = retention_of(card, cache);
        const Bytes each{most / (cells * copies)};
        const bool shared = shares_window(card, made, cache) && made.resolved.n_seq_max > 1;
        const u64 kept = shared ? card.window : cells;
        const Steps steps{.cap = cache.window_type == WindowType::none ? off_scale : kept,
                          .per = retention.stride, .fixed = fixed ? 1U : 0U};
        const u16 pool = static_cast<u16>(plan.pools.size());
        static_cast<void>(plan.pools.push(
            {.units = cells, .spare = shared ? micro_batch_cells(card, made, cache) : 0, .copies = copies,
             .each = each, .allocated = {most}, .limiting = fullest}));
        static_cast<void>(plan.classes.push({.pool = pool, .kind = static_cast<u8>(cache.part),
                                             .retention = retention, .block = retention.stride, .page = each,
                                             .charge = each, .steps = steps}));
        static_cast<void>(plan.per_unit.push(each));
    }

    static constexpr Error check_budget(const PerDevice& sum, const Devices& devices,
                                        const Budget& budget) noexcept {
        for (u32 d = 0; d < devices.count && d < budget.workers; ++d) {
            if (budget.available[d].value < sum.device[d]) {
                return {.code = Errc::does_not_fit, .got = budget.available[d].value, .want = sum.device[d]};
            }
        }
        return {};
    }

    /// The class that keeps a form: by role, then by whether it is a window.
    static constexpr u16 class_of(const PoolPlan& plan, const LayerForm& form) noexcept {
        const Role role = form.streams.empty() ? Role::key : form.streams[0].role;
        for (u32 c = 0; c < plan.classes.size(); ++c) {
            const Part part = static_cast<Part>(plan.classes[c].kind);
            const bool state = is_states(part) || is_compressor(part);
            const bool index = part == Part::indexer || part == Part::dsa_indexer || part == Part::lid;
            const bool same_kind =
                state == (role == Role::state || role == Role::conv) && index == (role == Role::index);
            const Retention& own = plan.classes[c].retention;
            if (same_kind &&
                (state || (own.keep == form.retention.keep && own.stride == form.retention.stride))) {
                return static_cast<u16>(c);
            }
        }
        return 0;
    }
};

static_assert(kvcap::Engine<Engine>);

}  // namespace kvcap::inline v1::llamacpp
