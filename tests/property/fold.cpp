// SPDX-License-Identifier: MIT
// The fold against token-by-token simulation: a sequence is written one token at a time, every cache keeps
// the positions its definition says, and the fullest moment so far is what must be held.
#include "random.hpp"

#include <catch2/catch.hpp>
#include <set>

namespace fold_tests {

using namespace kvcap;

namespace {

/// Entries a cache has at its fullest while `prompt` and then `decoded` tokens arrive. Written from the
/// definitions only.
u64 fullest(const Retention& kept, u64 prompt, u64 decoded, u64 encoder) {
    if (kept.keep == Keep::once) {
        return 1;
    }
    const u64 arriving = kept.source == Source::encoder  ? encoder
                         : kept.source == Source::prompt ? prompt
                                                         : prompt + decoded;
    std::set<u64> positions;
    u64 most = 0;
    for (u64 t = 0; t < arriving; ++t) {
        if (kept.keep == Keep::last) {
            positions = {t};
        } else if (t >= kept.lag) {
            const u64 in = t - kept.lag;
            if (kept.keep == Keep::chunk && in % (kept.span + kept.sinks).value == 0) {
                positions.clear();
            }
            positions.insert(in);
            const bool bounded = kept.keep == Keep::window || kept.keep == Keep::budget;
            if (bounded && positions.size() > (kept.span + kept.sinks).value) {
                auto oldest = positions.begin();
                std::advance(oldest, static_cast<std::ptrdiff_t>(kept.sinks.value));
                positions.erase(oldest);
            }
        }
        most = std::max<u64>(most, positions.size() / kept.stride);
    }
    return most;
}

u64 slot_bytes(const LayerForm& form, u32 tp) {
    u64 sum = 0;
    for (const Stream& s : form.streams) {
        u64 heads = s.heads;
        if (s.split == Split::heads) {
            heads = std::max<u64>(1, heads / tp);
        } else if (s.split == Split::channels) {
            heads /= tp;
        } else if (s.split == Split::groups) {
            heads = heads % tp == 0 ? heads / tp : 1;
        }
        sum += heads * s.rows * (u64{s.width} / s.format.elems * s.format.bytes);
    }
    return sum;
}

/// Bytes of the layers [first, last) from the caches one by one.
u64 simulated(const ModelSpec& model, const Lengths& n, u32 tp, u32 first, u32 last) {
    u64 sum = 0;
    for (const Cache& cache : model.caches) {
        if (cache.layer >= first && cache.layer < last) {
            const LayerForm& form = model.form_of(cache);
            sum += fullest(form.retention, n.prompt.value, n.decoded.value, n.encoder.value) *
                   slot_bytes(form, tp);
        }
    }
    return sum;
}

bool divides(const ModelSpec& model, u32 tp) {
    for (const LayerForm& form : model.forms) {
        for (const Stream& s : form.streams) {
            const bool fine = s.heads % tp == 0 || s.split == Split::replicated || s.split == Split::groups ||
                              (s.split == Split::heads && tp % s.heads == 0);
            if (!fine) {
                return false;
            }
        }
    }
    return model.query_heads % tp == 0;
}

}  // namespace

TEST_CASE("the fold equals a token-by-token simulation") {
    const u64 seed = property::seed();
    property::Random r{seed};
    u64 refused = 0;
    for (u64 i = 0; i < property::cases(2'000); ++i) {
        const ModelSpec model = property::random_model(r);
        const Lengths n{.prompt = {r.in(0, 150)}, .decoded = {r.in(0, 60)}, .encoder = {r.in(0, 40)}};
        const u32 tp = 1u << r.in32(0, 4);
        CAPTURE(seed, i, tp, n.prompt.value, n.decoded.value);
        const auto held = fold(model, n, {.tp = tp});
        REQUIRE(held.has_value() == divides(model, tp));
        if (!held) {
            ++refused;
            continue;
        }
        REQUIRE(held->total().value == simulated(model, n, tp, 0, model.all_layers()));
    }
    CHECK(refused >= property::at_least(1, 2'000));
}

TEST_CASE("stages sum to the whole, and each is its layers") {
    const u64 seed = property::seed() + 1;
    property::Random r{seed};
    for (u64 i = 0; i < property::cases(1'000); ++i) {
        const ModelSpec model = property::random_model(r);
        const Lengths n{.prompt = {r.in(0, 100)}, .encoder = {r.in(0, 40)}};
        const Sharding split{.pp = r.in32(1, model.layers), .remainder = static_cast<Remainder>(r.in(0, 2))};
        CAPTURE(seed, i, split.pp);
        u64 sum = 0;
        for (u32 stage = 0; stage < split.pp; ++stage) {
            const LayerRange own = layers_of_stage(model.layers, split, stage).value();
            const u64 here = fold(model, n, split, {.stage = stage}).value().total().value;
            REQUIRE(here ==
                    simulated(model, n, 1, own.begin, stage + 1 == split.pp ? model.all_layers() : own.end));
            sum += here;
        }
        REQUIRE(sum == fold(model, n).value().total().value);
    }
}

TEST_CASE("held bytes never fall with length, and the inverse is exact") {
    const u64 seed = property::seed() + 2;
    property::Random r{seed};
    for (u64 i = 0; i < property::cases(300); ++i) {
        const ModelSpec model = property::random_model(r);
        Bytes before{};
        for (u64 n = 0; n < 130; ++n) {
            const Bytes now = fold(model, {.prompt = {n}}).value().total();
            REQUIRE(!(now < before));
            before = now;
        }
        const Bytes budget{before.value * r.in(0, 100) / 100};
        CAPTURE(seed, i, budget.value);
        const auto n = longest(model, budget);
        if (!n) {
            REQUIRE(budget < fullest_rank(model, {}, {}).value());
            continue;
        }
        REQUIRE(!(budget < fullest_rank(model, {.prompt = *n}, {}).value()));
        if (!(*n == no_limit)) {
            REQUIRE(budget < fullest_rank(model, {.prompt = *n + 1_tok}, {}).value());
        }
    }
}

}  // namespace fold_tests
