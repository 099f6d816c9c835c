// SPDX-License-Identifier: MIT
// An engine of your own: one pool of slabs of 48 tokens over all layers, 5% of the memory and one slab kept
// back. What it must say is how memory becomes pools, and which prefix it would skip; fit, concurrency and
// plans follow from that.
#include <cstdio>
#include <initializer_list>
#include <kvcap/core.hpp>
#include <kvcap/engine/concept.hpp>
#include <kvcap/plan/fit.hpp>
#include <kvcap/reuse/descent.hpp>

namespace mine {

using namespace kvcap;

struct Slab {
    u64 tokens = 48;

    constexpr Result<PoolPlan> pools(const ModelSpec& model, const Sharding& ranks,
                                     const Budget& budget) const noexcept {
        if (budget.workers == 0) {
            return Errc::zero_parallelism;
        }
        if (ranks.pp > 1) {  // a pool of every stage would be a plan of its own
            return Error{.code = Errc::unsupported, .what = Uncovered::devices, .got = ranks.pp, .want = 1};
        }
        PoolPlan plan{};
        u64 bytes = 0;
        for (const Cache& cache : model.caches) {
            const LayerForm& form = model.form_of(cache);
            if (form.retention.keep == Keep::last) {
                return Error{.code = Errc::unsupported, .what = Uncovered::state, .layer = cache.layer};
            }
            if (form.retention.stride != 1) {  // an entry of several tokens
                return Error{.code = Errc::unsupported, .what = Uncovered::stride, .layer = cache.layer,
                             .got = form.retention.stride};
            }
            const Result<BytesPerSlot> slot = bytes_per_slot(form, ranks);
            if (!slot) {
                return slot.error();
            }
            bytes += slot->value * tokens;
            static_cast<void>(plan.placed.push({0, 0, static_cast<u16>(plan.placed.size())}));
        }
        u64 memory = off_scale;
        for (u32 i = 0; i < budget.workers; ++i) {
            memory = smaller(memory, budget.available[i].value / 20 * 19);
        }
        if (bytes == 0 || memory < 2 * bytes) {
            return Error{.code = Errc::no_memory, .got = memory, .want = 2 * bytes};
        }
        const u64 slabs = memory / bytes;
        static_cast<void>(
            plan.pools.push({.units = slabs, .spare = 1, .each = {bytes}, .allocated = {slabs * bytes}}));
        static_cast<void>(plan.classes.push({.block = tokens, .page = {bytes}, .charge = {bytes},
                                             .steps = {.per = tokens}}));
        plan.max_len = (slabs - 1) * tokens;
        return plan;
    }

    /// Whole slabs from the start.
    constexpr Result<Hit> hits(const PoolPlan& plan, const Held* held,
                               const Request& request) const noexcept {
        const Group<> slabs{rule_of(plan.classes[0].retention, tokens), {held->word, held->count}};
        return Hit{.tokens = reusable(&slabs, 1, Ask{.limit = request.limit, .grid = {.unit = tokens}})};
    }
    friend constexpr bool operator==(const Slab&, const Slab&) = default;
};
static_assert(Engine<Slab>);

// A plan is a constant like any other: 8B model, 20 GiB on each of two ranks.
constexpr auto model = compose(repeat(32, Gqa{.kv_heads = 8, .head_dim = 128})).value();
constexpr Bytes memory[] = {20_GiB, 21_GiB};
constexpr auto plan = Slab{}.pools(model, {.tp = 2}, {memory, 2}).value();
static_assert(plan.pools[0].each == Bytes{65'536 * 48});
static_assert(judge(plan, {.prompt = 32768_tok}, 9).fits && !judge(plan, {.prompt = 32768_tok}, 10).fits);
static_assert(!Slab{}.pools(model, {.tp = 2, .pp = 2}, {memory, 2}));
static_assert(!Slab{}.pools(model, {.tp = 2}, {memory, 0}));

}  // namespace mine

int main() {
    const auto& pool = mine::plan.pools[0];
    std::printf("%llu slabs of %llu bytes\n", static_cast<unsigned long long>(pool.units),
                static_cast<unsigned long long>(pool.each.value));
    for (const kvcap::u64 requests : {1u, 8u, 64u}) {
        const kvcap::Tokens most = kvcap::longest(mine::plan, requests, kvcap::Tokens{1 << 20});
        std::printf("%3llu requests: up to %llu tokens each\n", static_cast<unsigned long long>(requests),
                    static_cast<unsigned long long>(most.value));
    }
}
