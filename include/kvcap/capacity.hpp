// SPDX-License-Identifier: MIT
// The fold asked backwards, and summed over ranks: bytes of one more token, copies on ranks, the longest context and
// the most sequences of which exactly the held bytes must fit. What an engine reserves is engine/*'s answer.
#pragma once

#include <kvcap/fold.hpp>

namespace kvcap::inline v1 {

/// Bytes that one more token adds to this rank in the long run, when every window is full. Caches with a stride add
/// their entry's share; the sum over all caches is exact when it is whole and rounded down otherwise.
constexpr Result<Bytes> bytes_per_token(const ModelSpec& model, const Sharding& sharding = {}, u32 stage = 0) noexcept {
    const Sharding whole_tokens{.tp = sharding.tp, .pp = sharding.pp, .uneven = sharding.uneven,
                                .remainder = sharding.remainder, .stage_layers = sharding.stage_layers};
    u64 span = 1;
    for (const LayerForm& form : model.forms) {
        span = least_common_multiple(span, form.retention.stride);
    }
    const auto growing = [&](u64 prompt) noexcept {
        return fold(model, {.prompt = {prompt}}, whole_tokens, {.stage = stage},
                    [](const LayerForm& form, const Lengths& at) noexcept {
                        // Two statements: GCC 12 merges `==` of neighbouring members from -O1 on, and fails on that.
                        if (form.retention.source != Source::decoder) {
                            return Slots{};
                        }
                        const bool grows = form.retention.keep == Keep::everything;
                        return grows ? Slots{at.prompt.value / form.retention.stride} : Slots{};
                    });
    };
    const Result<Footprint> at = growing(span);
    if (!at) {
        return at.error();
    }
    return Bytes{at->growing.value / span};
}

/// stored: over all ranks, copies counted. unique: each byte once.
struct Spread {
    Bytes stored{};
    Bytes unique{};
    friend constexpr bool operator==(const Spread&, const Spread&) = default;
};

/// Held bytes of one sequence over all tensor, pipeline and context ranks. Errors: the split's; Errc::overflow.
constexpr Result<Spread> over_ranks(const ModelSpec& model, const Lengths& lengths, const Sharding& sharding) noexcept {
    if (const Error wrong = check_sharding(model, sharding, {}); wrong.code != Errc::ok) {
        return wrong;
    }
    Spread spread{};
    for (u32 stage = 0; stage < sharding.pp; ++stage) {
        for (u32 cp = 0; cp < sharding.cp; ++cp) {
            const Result<Footprint> own = fold(model, lengths, sharding, {.stage = stage, .cp = cp});
            if (!own) {
                return own.error();
            }
            spread.stored += own->total() * sharding.tp;
        }
    }
    const Result<Footprint> whole = fold(model, lengths);
    if (!whole) {
        return whole.error();
    }
    spread.unique = whole->total();
    return spread.stored.value == off_scale ? Result<Spread>{Errc::overflow} : Result<Spread>{spread};
}

/// One slot of a form over all tensor-parallel ranks; stored / unique is the replication factor.
constexpr Result<Spread> over_ranks(const LayerForm& form, const Sharding& sharding) noexcept {
    const Result<BytesPerSlot> own = bytes_per_slot(form, sharding);
    const Result<BytesPerSlot> whole = bytes_per_slot(form);
    if (!own || !whole) {
        return own ? whole.error() : own.error();
    }
    const Spread spread{Slots{sharding.tp} * *own, Slots{1} * *whole};
    return spread.stored.value == off_scale ? Result<Spread>{Errc::overflow} : Result<Spread>{spread};
}

/// Held bytes on the fullest rank: what must fit everywhere. Errors: the split's; Errc::overflow.
constexpr Result<Bytes> fullest_rank(const ModelSpec& model, const Lengths& lengths, const Sharding& sharding,
                                     u64 sequences = 1) noexcept {
    if (const Error wrong = check_sharding(model, sharding, {}); wrong.code != Errc::ok) {
        return wrong;
    }
    Bytes most{};
    for (u32 stage = 0; stage < sharding.pp; ++stage) {
        const Result<Footprint> own = fold(model, lengths, sharding, {.stage = stage});
        if (!own) {
            return own.error();
        }
        const Bytes here = own->per_sequence() * sequences + own->once;
        most = most < here ? here : most;
    }
    return most.value == off_scale ? Result<Bytes>{Errc::overflow} : Result<Bytes>{most};
}

/// The largest n in [0, limit] for which `fits(n)` is true. pre: fits is monotone (true, then false).
constexpr u64 largest(u64 limit, auto fits) noexcept {
    u64 low = 0;
    while (low < limit) {
        const u64 middle = limit - (limit - low) / 2;
        if (fits(middle)) {
            low = middle;
        } else {
            limit = middle - 1;
        }
    }
    return low;
}

inline constexpr Tokens no_limit{u64{1} << 40};

/// Longest prompt whose held bytes fit on every rank beside `sequences` - 1 others; at most `limit` (a model that stops
/// growing reaches it). Errors: the split's; Errc::does_not_fit when not even an empty sequence fits.
constexpr Result<Tokens> longest(const ModelSpec& model, Bytes budget, const Sharding& sharding = {},
                                 u64 sequences = 1, Lengths beside = {}, Tokens limit = no_limit) noexcept {
    const auto need = [&](u64 n) noexcept {
        Lengths lengths = beside;
        lengths.prompt = {n};
        return fullest_rank(model, lengths, sharding, sequences);
    };
    const Result<Bytes> least = need(0);
    if (!least) {
        return least.error();
    }
    if (budget < *least) {
        return Error{.code = Errc::does_not_fit, .got = budget.value, .want = least->value};
    }
    return Tokens{largest(limit.value, [&](u64 n) noexcept {
        const Result<Bytes> bytes = need(n);
        return bytes && !(budget < *bytes);
    })};
}

/// Most sequences of these lengths whose held bytes fit on every rank.
constexpr Result<u64> most_sequences(const ModelSpec& model, Bytes budget, const Lengths& lengths,
                                     const Sharding& sharding = {}) noexcept {
    if (const Error wrong = check_sharding(model, sharding, {}); wrong.code != Errc::ok) {
        return wrong;
    }
    u64 most = off_scale;
    for (u32 stage = 0; stage < sharding.pp; ++stage) {
        const Result<Footprint> own = fold(model, lengths, sharding, {.stage = stage});
        if (!own) {
            return own.error();
        }
        const Result<Bytes> left = minus(budget, own->once);
        if (own->per_sequence().value != 0) {
            most = smaller(most, left ? left->value / own->per_sequence().value : 0);
        }
    }
    return most;
}

}  // namespace kvcap::inline v1
