// SPDX-License-Identifier: MIT
// Laws of held bytes over every card, split, stored format and length: monotone, additive over stages and context
// ranks, copied as the split says, windows that no context reaches, storage, windows, sinks and strides in any order,
// the last scheme wins, and lengths or batches beyond 64 bits are Errc::overflow.
#include "grid.hpp"

#include <kvcap/io/dtypes.hpp>
#include <memory>

namespace grid_core_tests {

using namespace kvcap;
using namespace property;

namespace {

const Sharding splits[] = {{},
                           {.tp = 2},
                           {.tp = 8},
                           {.tp = 16, .uneven = Uneven::floor_at_least_one},
                           {.tp = 6, .uneven = Uneven::ceil},
                           {.pp = 2},
                           {.pp = 3, .remainder = Remainder::middle},
                           {.tp = 2, .pp = 4, .remainder = Remainder::last},
                           {.cp = 3, .interleave = 16},
                           {.tp = 4, .pp = 2, .cp = 2}};
const char* const formats[] = {"auto", "fp8", "fp8_per_token_head", "nvfp4", "q8_0", "fp8_per_head"};

struct Case {
    ModelSpec model{};
    Sharding split{};
};

/// The card as stored, or nothing where the format does not divide its rows.
std::unique_ptr<Case> case_at(const Point& point) {
    auto made = std::make_unique<Case>();
    made->split = splits[point.split];
    const auto stored = stored_as(cards()[point.card].read.spec, {.kv = formats[point.format]});
    if (!stored) {
        return nullptr;
    }
    made->model = *stored;
    return made;
}

Lengths at(u64 n, u64 decoded = 5, u64 encoder = 3) {
    return {.prompt = {n}, .decoded = {decoded}, .encoder = {encoder}};
}

u64 total(const ModelSpec& model, const Lengths& lengths, const Sharding& split, Rank rank = {}) {
    return fold(model, lengths, split, rank).value().total().value;
}

/// Bytes over all ranks, cache by cache: what the split of each stream says.
u64 over_all_ranks(const ModelSpec& model, const Lengths& lengths, const Sharding& split) {
    u64 sum = 0;
    for (const Cache& cache : model.caches) {
        const LayerForm& form = model.form_of(cache);
        const u64 slots = form.retention.slots(lengths).value;
        const bool dealt_out = form.retention.keep == Keep::everything && form.retention.source != Source::encoder;
        for (const Stream& s : form.streams) {
            const u64 row = s.format.row_bytes(s.width).value() * s.rows;
            const u64 whole = u64{s.heads} * row;
            const u64 padded = u64{split.tp} * row * heads_on_rank(s, split).value();
            const u64 tp_sum = s.split == Split::replicated ? whole * split.tp
                               : s.heads % split.tp == 0    ? whole
                                                            : padded;
            sum += slots * tp_sum * (dealt_out ? 1 : split.cp);
        }
    }
    return sum;
}

/// Every bounded cache that could keep these lengths whole, kept whole.
ModelSpec without_windows(const ModelSpec& model, const Lengths& lengths) {
    return restored(model, [&](u32, LayerForm form) noexcept {
               const Retention& kept = form.retention;
               const bool bounded = kept.keep == Keep::window || kept.keep == Keep::chunk || kept.keep == Keep::budget;
               if (bounded && lengths.from(kept.source) <= (kept.span + kept.sinks).value) {
                   form.retention.keep = Keep::everything;
               }
               return form;
           })
        .value();
}

LayerForms one(const LayerForm& form) {
    LayerForms forms{};
    REQUIRE(forms.push(form));
    return forms;
}

/// Forms of a card as a policy, for decorators to wrap.
struct Kept {
    LayerForms own{};
    constexpr LayerForms forms() const noexcept { return own; }
    constexpr bool operator==(const Kept&) const = default;
};

/// One entry for each `stride` tokens.
template <LayerPolicy P>
struct Strided {
    P inner{};
    u32 stride = 1;

    constexpr LayerForms forms() const noexcept {
        return each_form(inner.forms(), [&](LayerForm form) noexcept {
            const bool fixed = form.retention.keep == Keep::last || form.retention.keep == Keep::once;
            form.retention.stride = fixed ? form.retention.stride : stride;
            return form;
        });
    }
    friend constexpr bool operator==(const Strided&, const Strided&) = default;
};
template <class P>
Strided(P, u32) -> Strided<P>;

}  // namespace

TEST_CASE("grid: held bytes are monotone, add up over stages and ranks, and are copied as the split says") {
    Tally tally{"grid, held bytes"};
    for (const Point& point : walk({cards().size(), std::size(splits), std::size(formats)}, 12'000)) {
        CAPTURE(cards()[point.card].name, point.split, formats[point.format], seed());
        const auto made = case_at(point);
        ++tally.points;
        if (!made || !fold(made->model, {}, made->split)) {
            ++tally.refused;
            continue;
        }
        const ModelSpec& model = made->model;
        const Sharding& split = made->split;
        u64 before = 0;
        for (const u64 n : grid_lengths) {
            const Lengths lengths = at(n);
            u64 sum = 0;
            u64 fullest = 0;
            for (u32 stage = 0; stage < split.pp; ++stage) {
                for (u32 cp = 0; cp < split.cp; ++cp) {
                    const u64 here = total(model, lengths, split, {stage, cp});
                    sum += here * split.tp;
                    fullest = cp == 0 ? std::max(fullest, here) : fullest;
                    REQUIRE(here <= total(model, lengths, split, {stage, 0}));
                    REQUIRE(here <= total(model, at(n, 6), split, {stage, cp}));
                    REQUIRE(here <= total(model, at(n, 5, 4), split, {stage, cp}));
                }
            }
            REQUIRE(sum >= before);
            before = sum;
            REQUIRE(sum == over_all_ranks(model, lengths, split));
            REQUIRE(over_ranks(model, lengths, split).value() == Spread{{sum}, {total(model, lengths, {})}});
            REQUIRE(fullest_rank(model, lengths, split).value().value == fullest);
            u64 batch = fullest;
            for (const u64 sequences : {2u, 3u, 64u}) {
                const u64 more = fullest_rank(model, lengths, split, sequences).value().value;
                REQUIRE((batch <= more && more <= sequences * fullest));
                batch = more;
            }
            tally.laws += 6;
        }
    }
    CHECK(tally.laws > at_least(500'000, 12'000));
}

TEST_CASE("grid: a window that no context reaches is none, and longer than the window it keeps less") {
    Tally tally{"grid, windows"};
    for (const Point& point : walk({cards().size(), 1, std::size(formats)}, 1'200)) {
        CAPTURE(cards()[point.card].name, formats[point.format], seed());
        const auto made = case_at(point);
        ++tally.points;
        if (!made) {
            ++tally.refused;
            continue;
        }
        for (const u64 n : grid_lengths) {
            REQUIRE(total(without_windows(made->model, at(n)), at(n), {}) == total(made->model, at(n), {}));
            REQUIRE(total(without_windows(made->model, at(0)), at(n), {}) >= total(made->model, at(n), {}));
            tally.laws += 2;
        }
    }
    CHECK(tally.laws > at_least(20'000, 1'200));
}

TEST_CASE("grid: retention and storage commute on every form of every card, and the last scheme wins") {
    u64 compared = 0;
    const auto commutes = [&](const LayerForm& form, auto scheme) {
        const Kept plain{one(form)};
        const auto stored = [&](const auto& policy) { return Quantized{policy, scheme}; };
        const auto either_way = [&](auto decorate) {
            REQUIRE(stored(decorate(plain)).forms() == decorate(stored(plain)).forms());
            ++compared;
        };
        either_way([](const auto& p) { return Windowed{p, 77_tok}; });
        either_way([](const auto& p) { return Chunked{p, 77_tok}; });
        either_way([](const auto& p) { return Budgeted{p, 77_tok}; });
        either_way([](const auto& p) { return WithSinks{p, 4_tok}; });
        either_way([](const auto& p) { return WithSinks{Windowed{p, 77_tok}, 4_tok}; });
        either_way([](const auto& p) { return Strided{p, 4}; });
        either_way([](const auto& p) { return Strided{WithSinks{Windowed{p, 80_tok}, 8_tok}, 4}; });
        either_way([](const auto& p) { return PromptOnly{p}; });
        either_way([](const auto& p) { return Cross{p}; });
        REQUIRE(stored(stored(plain)).forms() == stored(plain).forms());
        REQUIRE(Quantized{stored(plain), Stored{fp8}}.forms() == Quantized{plain, Stored{fp8}}.forms());
        compared += 2;
    };
    for (const Card& card : cards()) {
        INFO(card.name);
        for (const LayerForm& form : card.read.spec.forms) {
            commutes(form, Stored{fp8});
            commutes(form, Stored{nvfp4});
            commutes(form, Stored{mxfp4});
            commutes(form, fp8_per_token_head);
            commutes(form, Int4PerTokenHead{});
            commutes(form, Fp8DsMla{});
            commutes(form, TurboQuant{3, 4});
            commutes(form, fp8_per_head);
        }
    }
    CHECK(compared > 20'000);
}

TEST_CASE("grid: windows, sinks and strides in any order, each of which keeps no more than it says") {
    u64 bounded = 0;
    for (const Card& card : cards()) {
        INFO(card.name);
        for (const LayerForm& form : card.read.spec.forms) {
            const Kept plain{one(form)};
            const LayerForms sinks_last = Strided{WithSinks{Windowed{plain, 80_tok}, 8_tok}, 4}.forms();
            REQUIRE(Windowed{Strided{WithSinks{plain, 8_tok}, 4}, 80_tok}.forms() == sinks_last);
            REQUIRE(WithSinks{Strided{Windowed{plain, 80_tok}, 4}, 8_tok}.forms() == sinks_last);
            if (form.retention.keep == Keep::last || form.retention.keep == Keep::once) {
                REQUIRE(sinks_last == plain.own);
                continue;
            }
            for (const u64 n : grid_lengths) {
                const Lengths lengths{.prompt = {n}, .encoder = {n}};
                const u64 slots = sinks_last[0].retention.slots(lengths).value;
                REQUIRE(slots <= (80 + 8) / 4);
                REQUIRE(slots <= n / 4);
                REQUIRE(slots >= smaller((80 + 8) / 4, (n - smaller(n, form.retention.lag)) / 4));
                ++bounded;
            }
        }
    }
    CHECK(bounded > 1'000);
}

TEST_CASE("grid: lengths, batches and ranks beyond 64 bits are said, never wrapped") {
    Tally tally{"grid, extremes"};
    for (const Card& card : cards()) {
        INFO(card.name);
        const ModelSpec& model = card.read.spec;
        ++tally.points;
        for (const u64 huge : {u64{1} << 50, u64{1} << 60, off_scale}) {
            for (const Lengths& lengths : {at(huge), at(1, huge), at(1, 1, huge), at(huge, huge, huge)}) {
                const auto held = fold(model, lengths);
                REQUIRE((held ? held->total().value >= total(model, at(1, 1, 1), {})
                              : held.error().code == Errc::overflow));
                const auto batch = fullest_rank(model, lengths, {}, huge);
                REQUIRE((batch ? *batch >= held.value_or({}).per_sequence() : batch.error().code == Errc::overflow));
                const auto ranks = over_ranks(model, lengths, {.pp = std::min(model.layers, 2u)});
                REQUIRE((ranks ? !(ranks->stored < ranks->unique) : ranks.error().code == Errc::overflow));
                tally.refused += held ? 0 : 1;
                tally.laws += 3;
            }
        }
        for (const u32 tp : {1u << 20, ~u32{0}}) {
            for (const Uneven rule : {Uneven::refuse, Uneven::floor_at_least_one, Uneven::ceil}) {
                const auto held = fold(model, at(4'096), {.tp = tp, .uneven = rule});
                REQUIRE((held ? held->total().value <= total(model, at(4'096), {}) : held.error().want == tp));
                ++tally.laws;
            }
        }
        REQUIRE(longest(model, Bytes{off_scale}, {}, 1, {}, Tokens{off_scale}));
    }
    CHECK(tally.refused > 500);
}

}  // namespace grid_core_tests
