// SPDX-License-Identifier: MIT
// What is an engine to kvcap? A regular value that holds its options and its rule date, turns a model into pools, and
// says which prefix it would skip. Capacity questions stand on the plan alone (demand.hpp).
#pragma once

#include <concepts>
#include <kvcap/engine/plan.hpp>

namespace kvcap::inline v1 {

/// Bytes available for the cache on each worker; consecutive workers share a pipeline stage.
struct Budget {
    const Bytes* available = nullptr;
    u32 workers = 0;
};

/// Presence of one group class: bit i of the words = page i is held (already ANDed over its groups and ranks).
struct Held {
    const u64* word = nullptr;
    u32 count = 0;
};

/// limit: the most tokens that may be skipped (the prompt less one, usually).
struct Request {
    Lengths lengths{};
    u64 limit = 0;
};

/// tokens: skipped. missed: the longest boundary some group offered beyond it. limiting: the class that bound it.
struct Hit {
    u64 tokens = 0;
    u64 missed = 0;
    u32 limiting = 0;
    u32 passes = 0;
    friend constexpr bool operator==(const Hit&, const Hit&) = default;
};

template <class E>
concept Engine = std::regular<E> && requires(const E& engine, const ModelSpec& model, const Sharding& sharding,
                                             const Budget& budget, const PoolPlan& plan, const Held* held,
                                             const Request& request) {
    { engine.pools(model, sharding, budget) } -> std::same_as<Result<PoolPlan>>;
    { engine.hits(plan, held, request) } -> std::same_as<Result<Hit>>;
};

}  // namespace kvcap::inline v1
