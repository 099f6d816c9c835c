// SPDX-License-Identifier: MIT
// What does `size` say? Held bytes of some sequences at some lengths: on every rank, over all ranks, and each
// byte once; by group of equal caches and by layer. Data parallelism deals whole requests, the first ranks
// one more.
#pragma once

#include <kvcap/capacity.hpp>
#include <utility>
#include <vector>

namespace kvcap::inline v1::report {

/// Coordinates of a rank, slowest first.
struct RankAt {
    u32 pp = 0;
    u32 tp = 0;
    u32 cp = 0;
    u32 dp = 0;
    friend bool operator==(const RankAt&, const RankAt&) = default;
};

struct RankBytes {
    RankAt rank{};
    Bytes bytes{};
};

struct SizePoint {
    u64 tokens = 0;
    u64 sequences = 1;
    Lengths lengths{};
};

/// tp: tensor ranks of the deployment. dp_attention: each of them holds whole requests (`sharding.tp` is 1
/// then). cp_among_tp: context ranks are tensor ranks that would hold the same copy (vLLM's decode context
/// parallelism): tensor rank t is context rank t % cp.
struct SizeQuestion {
    Sharding sharding{};
    u32 tp = 1;
    u32 dp = 1;
    bool dp_attention = false;
    bool cp_among_tp = false;
    std::vector<SizePoint> points;

    /// Ranks that context parallelism adds to each tensor rank.
    u32 own_cp() const { return cp_among_tp ? 1 : sharding.cp; }
    u64 ranks() const {
        return saturating_product(saturating_product(sharding.pp, tp), saturating_product(own_cp(), dp));
    }
};

/// Caches of one form. window: tokens that stay, 0 when nothing bounds them. held: all sequences of the last
/// point.
struct SizeGroup {
    u32 form = 0;
    std::vector<u32> layers;
    u32 caches = 0;
    Bytes slot{};
    Bytes per_token{};
    Bytes per_prompt_token{};
    Bytes per_encoder_token{};
    Bytes state{};
    u64 window = 0;
    Spread copies{};
    std::vector<Bytes> held;
};

struct SizeAnswer {
    Bytes per_token{};
    std::vector<RankBytes> per_token_on_rank;
    std::vector<Bytes> per_token_of_stage;  ///< on one tensor rank, all its context ranks together
    Bytes state{};
    Bytes once{};
    std::vector<SizeGroup> groups;
    struct At {
        SizePoint point{};
        std::vector<RankBytes> held;
        Bytes total{};
        Bytes unique{};
    };
    std::vector<At> points;
};

/// Bytes that one more token of one sequence adds over all ranks, copies counted: a single replica takes it.
/// Context ranks' shares are added before they are rounded.
inline Bytes per_token_over_ranks(const SizeQuestion& asked, const SizeAnswer& size) {
    const u64 holders = (asked.dp_attention ? u64{1} : u64{asked.tp}) * asked.own_cp();
    Bytes sum{};
    for (const Bytes rate : size.per_token_of_stage) {
        sum += Bytes{saturating_product(rate.value, holders) / asked.sharding.cp};
    }
    return sum;
}

/// Lengths at which every window is full.
inline constexpr Lengths far{.prompt = {u64{1} << 33}};

/// Sequences that this rank holds.
inline u64 sequences_on(const SizeQuestion& asked, u64 sequences, RankAt rank) {
    const u64 replica = dealt(sequences, asked.dp, 1, rank.dp);
    return asked.dp_attention ? dealt(replica, asked.tp, 1, rank.tp) : replica;
}

/// Calls visit(rank) in the order of the listing.
inline void each_rank(const SizeQuestion& asked, auto visit) {
    for (RankAt at{}; at.pp < asked.sharding.pp; ++at.pp) {
        for (at.tp = 0; at.tp < asked.tp; ++at.tp) {
            for (u32 own = 0; own < asked.own_cp(); ++own) {
                at.cp = asked.cp_among_tp ? at.tp % asked.sharding.cp : own;
                for (at.dp = 0; at.dp < asked.dp; ++at.dp) {
                    visit(at);
                }
            }
        }
    }
}

/// What one more token adds, and what stays, by the retention of the group's caches.
inline void add_rates(SizeGroup& group, const LayerForm& form) {
    const Retention& kept = form.retention;
    const Bytes all = group.slot * u64{group.caches};
    const Bytes rate{kept.keep == Keep::everything ? all.value / kept.stride : 0};
    (kept.source == Source::decoder  ? group.per_token
     : kept.source == Source::prompt ? group.per_prompt_token
                                     : group.per_encoder_token) = rate;
    Footprint account{};
    if (&account_of(form, account) == &account.state) {
        group.state = all * kept.slots(far).value;
    }
    const bool bounded = kept.keep == Keep::window || kept.keep == Keep::chunk || kept.keep == Keep::budget;
    group.window = bounded ? (kept.span + kept.sinks).value : 0;
}

/// One slot over the tensor and context ranks. Context ranks deal the slots of caches that keep everything and copy
/// all others; those among the tensor ranks make no copy of their own, and deal slots between ranks that hold the
/// same heads. Errc::not_divisible: got copies of a head, which want context ranks cannot share evenly.
inline Result<Spread> copies_of(const LayerForm& form, const SizeQuestion& asked) {
    const Result<Spread> over_tp = over_ranks(form, asked.sharding);
    const u32 cp = asked.sharding.cp;
    if (!over_tp || (is_dealt_out(form) && !asked.cp_among_tp) || over_tp->unique.value == 0) {
        return over_tp;
    }
    if (!is_dealt_out(form)) {
        return Spread{over_tp->stored * asked.own_cp(), over_tp->unique};
    }
    const u64 copies = over_tp->stored.value / over_tp->unique.value;
    if (copies % cp != 0) {
        return Error{.code = Errc::not_divisible, .got = copies, .want = cp};
    }
    return Spread{{over_tp->stored.value / cp}, over_tp->unique};
}

/// Whether the model's caches have enough copies over the tensor ranks for context ranks among them: the error of the
/// first that has not.
inline Error check_among_tp(const ModelSpec& model, const Sharding& sharding) {
    SizeQuestion asked{.sharding = sharding, .tp = sharding.tp, .cp_among_tp = true, .points = {}};
    for (const LayerForm& form : model.forms) {
        if (const Result<Spread> copies = copies_of(form, asked); !copies) {
            return copies.error();
        }
    }
    return {};
}

inline Result<SizeGroup> group_of(const ModelSpec& model, u32 index, const SizeQuestion& asked) {
    const LayerForm& form = model.forms[index];
    const Result<BytesPerSlot> each = bytes_per_slot(form);
    if (!each) {
        return each.error();
    }
    SizeGroup group{};
    group.form = index;
    group.slot = Slots{1} * *each;
    for (const Cache& cache : model.caches) {
        if (cache.form == index) {
            group.layers.push_back(cache.layer);
            ++group.caches;
        }
    }
    add_rates(group, form);
    const Result<Spread> copies = copies_of(form, asked);
    if (!copies) {
        return copies.error();
    }
    group.copies = *copies;
    const Retention& kept = form.retention;
    for (const SizePoint& point : asked.points) {
        const u64 times = kept.keep == Keep::once ? 1 : point.sequences;
        group.held.push_back(kept.slots(point.lengths) * *each * group.caches * times);
    }
    return group;
}

/// Held bytes of one point, stage by stage.
inline Result<SizeAnswer::At> held_at(const ModelSpec& model, const SizeQuestion& asked,
                                      const SizePoint& point) {
    SizeAnswer::At out{.point = point, .held = {}, .total = {}, .unique = {}};
    std::vector<Footprint> folded;
    for (u32 stage = 0; stage < asked.sharding.pp; ++stage) {
        for (u32 cp = 0; cp < asked.sharding.cp; ++cp) {
            const Result<Footprint> own =
                fold(model, point.lengths, asked.sharding, {.stage = stage, .cp = cp});
            if (!own) {
                return own.error();
            }
            folded.push_back(*own);
        }
    }
    each_rank(asked, [&](RankAt at) {
        const Footprint& own = folded[std::size_t{at.pp} * asked.sharding.cp + at.cp];
        const Bytes bytes = own.per_sequence() * sequences_on(asked, point.sequences, at) + own.once;
        out.held.push_back({at, bytes});
        out.total += bytes;
    });
    const Result<Footprint> whole = fold(model, point.lengths);
    if (!whole) {
        return whole.error();
    }
    out.unique = whole->per_sequence() * point.sequences + whole->once;
    if (out.total.value == off_scale || out.unique.value == off_scale) {
        return Errc::overflow;
    }
    return out;
}

/// Bytes per token on each rank; under context parallelism its share, rounded down.
inline Result<SizeAnswer> with_rates(SizeAnswer out, const ModelSpec& model, const SizeQuestion& asked) {
    for (u32 stage = 0; stage < asked.sharding.pp; ++stage) {
        const Result<Bytes> rate = bytes_per_token(model, asked.sharding, stage);
        if (!rate) {
            return rate.error();
        }
        out.per_token_of_stage.push_back(*rate);
    }
    each_rank(asked, [&](RankAt at) {
        out.per_token_on_rank.push_back({at, {out.per_token_of_stage[at.pp].value / asked.sharding.cp}});
    });
    const Result<Bytes> rate = bytes_per_token(model);
    const Result<Footprint> whole = fold(model, Lengths{});
    if (!rate || !whole) {
        return rate ? whole.error() : rate.error();
    }
    out.per_token = *rate;
    out.once = whole->once;
    return out;
}

/// pre: at least one point; ranks() is small enough to list. Errors: the split's; Errc::overflow.
inline Result<SizeAnswer> answer(const ModelSpec& model, const SizeQuestion& asked) {
    if (const Error wrong = check_sharding(model, asked.sharding, {}); wrong.code != Errc::ok) {
        return wrong;
    }
    if (asked.tp == 0 || asked.dp == 0) {
        return Errc::zero_parallelism;
    }
    SizeAnswer out{};
    for (const SizePoint& point : asked.points) {
        const Result<SizeAnswer::At> at = held_at(model, asked, point);
        if (!at) {
            return at.error();
        }
        out.points.push_back(*at);
    }
    for (u32 form = 0; form < model.forms.size(); ++form) {
        const Result<SizeGroup> group = group_of(model, form, asked);
        if (!group) {
            return group.error();
        }
        out.groups.push_back(*group);
        out.state += group->state;
    }
    return with_rates(std::move(out), model, asked);
}

}  // namespace kvcap::inline v1::report
