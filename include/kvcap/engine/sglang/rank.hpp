// SPDX-License-Identifier: MIT
// What does one rank of SGLang set up? From GiB left after the weights: states first, then tokens by the cell
// size, rounded to pages, capped by the user and by the poorest pipeline stage, then the request limit.
// Source: KVCacheConfigurator._resolve_memory_pool_config, config_from_budget, _apply_token_constraints.
#pragma once

#include <kvcap/engine/sglang/allocated.hpp>
#include <kvcap/engine/sglang/requests.hpp>

namespace kvcap::inline v1::sglang {

struct RankPools {
    Local layers{};
    double cell = 0;        ///< bytes charged per token; a fraction where a ratio enters
    WindowCell window_cell{};
    u64 budget = 0;         ///< bytes for tokens, after states
    u64 tokens_alone = 0;   ///< before the user's cap and the other stages
    TokenPools pools{};
    u64 request_limit = 0;  ///< of one attention-data-parallel worker
    u64 state_slots = 0;
    Bytes state_slot{};     ///< charged: all state layers of the model
    StateShape state{};
    u64 request_states = 0; ///< DeepSeek-V4: rows of the 128-fold compressors' states
    Allocation allocated{};
};

constexpr double charged_cell(const Local& local, const Options& options) noexcept {
    if (local.compressed()) {
        return compressed_cell(local, options);
    }
    return local.window_layers != 0 ? window_cell(local, options).charged
                                    : static_cast<double>(plain_cell(local, options));
}

constexpr Result<TokenPools> pools_of_budget(u64 budget, const Local& local,
                                             const Options& options) noexcept {
    if (local.compressed()) {
        return compressed_pools(budget, local, options);
    }
    if (local.window_layers != 0) {
        return window_pools(budget, local, options);
    }
    const u64 cell = plain_cell(local, options);
    if (cell == 0) {
        return Error{.code = Errc::unsupported, .what = Uncovered::no_attention};  // the engine divides by zero
    }
    return TokenPools{.tokens = round_down(budget / cell, options.page)};
}

constexpr Result<TokenPools> pools_of_tokens(u64 tokens, const Local& local,
                                             const Options& options) noexcept {
    if (local.compressed()) {
        return compressed_pools_of(tokens, local, options);
    }
    if (local.window_layers != 0) {
        return window_pools_of(tokens, local, options);
    }
    return TokenPools{.tokens = round_down(tokens, options.page)};
}

/// States of the rank: shape, bytes of a slot, slots, and what they leave of `rest`.
constexpr Result<double> take_states(RankPools& rank, const ModelSpec& model, double rest,
                                     const Sharding& ranks, const Options& options) noexcept {
    if (rank.layers.state_form == no_layer) {
        return rest;
    }
    const Result<StateShape> shape = state_shape(model.forms[rank.layers.state_form], ranks, options);
    if (!shape) {
        return shape.error();
    }
    rank.state = *shape;
    rank.state_slot = (shape->conv + shape->ssm) * state_layers_of_model(model);
    const Result<StateBudget> states = state_budget(rest, rank.state_slot, options);
    if (!states) {
        return states.error();
    }
    rank.state_slots = states->slots;
    return states->rest_gib;
}

/// The user's cap and the poorest of the other stages; a changed count divides the pools anew.
constexpr Result<TokenPools> constrained(const TokenPools& alone, u64 others, const Local& local,
                                         const Options& options) noexcept {
    const u64 tokens = smaller(smaller(alone.tokens, options.max_total_tokens), others);
    const Result<TokenPools> pools = tokens == alone.tokens ? Result<TokenPools>{alone}
                                                            : pools_of_tokens(tokens, local, options);
    if (pools && pools->tokens == 0) {
        return Error{.code = Errc::pool_of_no_tokens, .got = tokens, .want = options.page};
    }
    return pools;
}

/// The rank's budget, cell and pools by its own memory.
constexpr Result<RankPools> rank_alone(const ModelSpec& model, const Sharding& ranks, u32 stage, double rest,
                                       const Options& options) noexcept {
    const Result<Local> local = local_layers(model, ranks, stage, options);
    if (!local) {
        return local.error();
    }
    RankPools rank{.layers = *local};
    const Result<double> left = take_states(rank, model, rest, ranks, options);
    if (!left) {
        return left.error();
    }
    if (!(*left > 0)) {
        return Error{.code = Errc::no_memory, .got = 0, .want = truncated(charged_cell(*local, options))};
    }
    rank.cell = charged_cell(*local, options);
    rank.window_cell = window_cell(*local, options);
    rank.budget = truncated(*left * bytes_per_gib);
    const Result<TokenPools> pools = pools_of_budget(rank.budget, *local, options);
    if (!pools) {
        return pools.error();
    }
    rank.pools = *pools;
    rank.tokens_alone = pools->tokens;
    return rank;
}

/// rest: GiB left after the weights. others: the least token count of the other stages.
constexpr Result<RankPools> rank_pools(const ModelSpec& model, const Sharding& sharding, u32 stage,
                                       double rest, const Options& options, u64 others = not_set) noexcept {
    const Result<Sharding> ranks = attention_ranks(model, sharding, options);
    if (!ranks) {
        return ranks.error();
    }
    Result<RankPools> alone = rank_alone(model, *ranks, stage, rest, options);
    if (!alone) {
        return alone;
    }
    RankPools rank = *alone;
    const Result<TokenPools> pools = constrained(rank.pools, others, rank.layers, options);
    if (!pools) {
        return pools.error();
    }
    rank.pools = *pools;
    const bool has_states = rank.layers.state_form != no_layer;
    const Result<u64> limit = request_limit(pools->tokens, rank.state_slots, has_states, options);
    if (!limit) {
        return limit.error();
    }
    rank.request_limit = *limit;
    rank.request_states =
        rank.layers.compressed() ? saturating_product(request_rows(*limit, options), rings(options).hundredth) : 0;
    rank.allocated = allocation(*pools, *limit, rank.state_slots, rank.state, rank.layers, options);
    return rank;
}

}  // namespace kvcap::inline v1::sglang
