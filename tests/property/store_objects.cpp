// SPDX-License-Identifier: MIT
// Objects of random models: what all shards hold together is the model, padding never loses a byte, and what arrives
// at a rank under another sharding is what that rank stores.
#include "random.hpp"

#include <catch2/catch.hpp>
#include <kvcap/store.hpp>

using namespace kvcap;

namespace {

/// A model whose caches all divide by 1, 2 and 4 ranks, and whose entries divide a chunk of 64.
ModelSpec divisible_model(property::Random& random) {
    for (;;) {
        const ModelSpec model = property::random_model(random);
        bool good = model.layers > 0 && !model.caches.empty();
        for (const LayerForm& form : model.forms) {
            good = good && slots_in_object(form, 64).has_value();
            for (const u32 tp : {1u, 2u, 4u}) {
                good = good && bytes_per_slot(form, {.tp = tp}).has_value();
                for (const Stream& stream : form.streams) {
                    const Result<u32> shards = shards_of(stream, {.tp = tp});
                    good = good && shards && stream.heads % *shards == 0;
                }
            }
        }
        if (good) {
            return model;
        }
    }
}

}  // namespace

TEST_CASE("shards, layouts and tails of random models") {
    property::Random random{property::seed() + 4};
    INFO("seed " << property::seed());
    for (u64 c = property::cases(60); c > 0; --c) {
        const ModelSpec model = divisible_model(random);
        const u32 tp = random.chance(50) ? 2 : 4;
        const u32 pp = random.in32(1, static_cast<u32>(smaller(model.layers, 3)));
        const Sharding sharding{.tp = tp, .pp = pp};
        u32 forms = 0;
        for (const ObjectGroup& group : object_groups(model)) {
            forms += group.forms.size();
            const GroupBytes once = group_bytes(model, group, 64, sharding).value();
            const GroupBytes each = group_bytes(model, group, 64, sharding, Copies::each_rank).value();
            REQUIRE(tp % once.shards == 0);
            REQUIRE(once.unique <= once.stored);
            REQUIRE(once.stored <= each.stored);
            REQUIRE(each.stored == each.loaded);
            REQUIRE(once.stored * (tp / once.shards) == each.stored);
            const ObjectRule padded{.layout = ObjectLayout::per_layer, .alignment = 512, .replicas = 1};
            const ObjectRule planes{.layout = ObjectLayout::per_plane, .alignment = 512, .replicas = 1};
            const ObjectBytes whole = object_bytes(model, group, 64, sharding).value();
            const ObjectBytes layers = object_bytes(model, group, 64, sharding, 0, padded).value();
            const ObjectBytes parts = object_bytes(model, group, 64, sharding, 0, planes).value();
            REQUIRE((layers.content == whole.content && parts.content == whole.content));
            REQUIRE((layers.content <= layers.stored && layers.stored <= parts.stored));
            REQUIRE(layers.objects <= parts.objects);
            REQUIRE(layers.stored.value % 512 == 0);
        }
        REQUIRE(forms == model.forms.size());
    }
}

TEST_CASE("resharding delivers exactly what a rank stores") {
    property::Random random{property::seed() + 5};
    INFO("seed " << property::seed());
    const auto some = [&](const ModelSpec& model) {
        return Sharding{.tp = 1u << random.in32(0, 2),
                        .pp = random.in32(1, static_cast<u32>(smaller(model.layers, 3)))};
    };
    for (u64 c = property::cases(60); c > 0; --c) {
        const ModelSpec model = divisible_model(random);
        const Sharding from = some(model);
        const Sharding to = some(model);
        const Lengths lengths{
            .prompt = {random.in(0, 3000)}, .decoded = {random.in(0, 100)}, .encoder = {random.in(0, 50)}};
        for (u32 stage = 0; stage < to.pp; ++stage) {
            for (u32 rank = 0; rank < to.tp; ++rank) {
                Bytes sum{};
                for (u32 s = 0; s < from.pp; ++s) {
                    for (u32 r = 0; r < from.tp; ++r) {
                        sum += bytes_between(model, lengths, from, {s, r}, to, {stage, rank}).value();
                    }
                }
                REQUIRE(sum == fold(model, lengths, to, {.stage = stage}).value().total());
            }
        }
    }
}

TEST_CASE("a tier holds what its requests take") {
    property::Random random{property::seed() + 6};
    for (u64 c = property::cases(200); c > 0; --c) {
        ChunkCaps caps{};
        for (u64 g = random.in(1, 5); g > 0; --g) {
            REQUIRE(caps.push(random.chance(40) ? off_scale : random.in(1, 12)));
        }
        const u64 chunk = random.in(1, 40);
        const u64 longest = chunk * random.in(1, 50) + random.in(0, chunk - 1);
        const u64 slots = random.in(0, 5000);
        const TierCapacity held = tier_capacity(slots, caps, chunk, longest).value();
        // The definition: the best over every length of whole chunks.
        u64 best = 0;
        for (u64 tokens = chunk; tokens <= longest; tokens += chunk) {
            best = larger(best, slots * tokens / chunks_of_request(caps, chunk, tokens).value());
        }
        REQUIRE(held.tokens == best);
        REQUIRE(held.requests * held.chunks <= slots);
        REQUIRE(tier_capacity(slots, caps, chunk, longest, RowUse::whole_row).value().tokens <= held.tokens);
    }
}
