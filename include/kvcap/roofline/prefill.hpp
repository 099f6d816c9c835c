// SPDX-License-Identifier: MIT
// How many flops does a prompt take, and how many of them does a stored prefix save? Weights: 2 x active
// parameters a token, of the head for the last token alone. Attention is causal: over n tokens sum(min(i, span))
// positions, a triangle cut at the window or at what a sparse index picks. MLA computes the prompt on expanded heads
// where that is less.
#pragma once

#include <kvcap/roofline/cache_work.hpp>

namespace kvcap::inline v1 {

/// sum over i = 1 .. n of min(i, span)
constexpr u64 causal_positions(u64 n, u64 span) noexcept {
    const u64 cut = smaller(n, span);
    const u64 triangle =
        cut % 2 == 0 ? saturating_product(cut / 2, cut + 1) : saturating_product(cut, cut / 2 + 1);
    return saturating_sum(triangle, saturating_product(n - cut, cut));
}

/// Attention of one cache over a prompt of n tokens, on a rank. States: once a token. Encoder caches: not
/// here.
constexpr Result<u64> prefill_attention(const ModelSpec& model, const Cache& cache, u64 n,
                                        const Sharding& sharding = {},
                                        const AttentionFacts& facts = {}) noexcept {
    const LayerForm& form = model.form_of(cache);
    const Retention& kept = form.retention;
    if (kept.keep == Keep::once || kept.source == Source::encoder || form.kind == Kind::compressor) {
        return u64{0};
    }
    const Result<PositionCost> each = position_cost(form, model.query_heads, sharding, facts);
    if (!each) {
        return each.error();
    }
    if (kept.keep == Keep::last) {
        return on_scale(saturating_product(each->flops, n));
    }
    const bool expands = form.kind == Kind::latent && kept.stride == 1 && facts.expanded != 0;
    const u64 flops = expands ? smaller(each->flops, product_over(2, facts.expanded, sharding.tp)) : each->flops;
    u64 span = kept.keep == Keep::everything ? n : (kept.span + kept.sinks).value;
    if (facts.picked != 0 && picks(model, cache)) {
        span = smaller(span, saturating_product(facts.most_entries(), kept.stride));
    }
    const u64 positions = causal_positions(n, span);
    return positions == off_scale ? Result<u64>{Errc::overflow}
                                  : on_scale(saturating_product(flops, positions / kept.stride));
}

/// Flops of a prompt of n tokens, of which `active_params` parameters take part in each, and `head_params` in the last:
/// engines need logits of that one alone.
constexpr Result<u64> prefill_flops(const ModelSpec& model, u64 n, u64 active_params,
                                    const Sharding& sharding = {},
                                    const AttentionFacts& facts = {}, u64 head_params = 0) noexcept {
    u64 sum = saturating_product(saturating_product(2, active_params), n);
    sum = saturating_sum(sum, n == 0 ? 0 : saturating_product(2, head_params));
    for (const Cache& cache : model.caches) {
        const Result<u64> own = prefill_attention(model, cache, n, sharding, facts);
        if (!own) {
            return own.error();
        }
        sum = saturating_sum(sum, *own);
    }
    return on_scale(sum);
}

}  // namespace kvcap::inline v1
