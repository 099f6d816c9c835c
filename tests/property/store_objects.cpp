// SPDX-License-Identifier: MIT
// Objects of random models: what all shards hold together is the model, padding never loses a byte, and what arrives
// at a rank under another sharding is what that rank stores.
#include "random.hpp"

#include <catch2/catch.hpp>
#include <kvcap/store.hpp>

namespace store_objects_tests {

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
        const Sharding dealt_too{.tp = tp, .pp = pp, .cp = 2, .interleave = random.in32(1, 2)};
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
            if (const Result<GroupBytes> contexts = group_bytes(model, group, 64, dealt_too); contexts) {
                const u64 whole_on = group.kind == ObjectKind::page ? 1 : 2;
                REQUIRE(contexts->stored == once.stored);
                REQUIRE(contexts->loaded == once.loaded * whole_on);
                REQUIRE(group_bytes(model, group, 64, dealt_too, Copies::each_rank)->stored == each.stored * whole_on);
            } else {  // 64 tokens in entries of more than 16
                REQUIRE(contexts.error().code == Errc::not_divisible);
            }
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

namespace {

struct Deployed {
    Sharding sharding{};
    ContextRanks context = ContextRanks::own;

    u32 contexts() const { return context == ContextRanks::own ? sharding.cp : 1; }
    std::vector<Place> places() const {
        std::vector<Place> all;
        for (u32 i = 0; i < sharding.pp * contexts() * sharding.tp; ++i) {
            const u32 rank = i % sharding.tp;
            all.push_back({i / sharding.tp / contexts(), rank,
                           context == ContextRanks::own ? i / sharding.tp % contexts() : rank % sharding.cp});
        }
        return all;
    }
};

/// Which ranks hold a head of a stream and a slot, from the definitions: consecutive ranks share equal heads; slots of
/// caches that keep all decoder tokens are dealt to context ranks a portion at a time.
bool holds_head(const Stream& stream, const Sharding& sharding, u32 rank, u32 head) {
    if (stream.split == Split::replicated || sharding.tp == 1) {
        return true;
    }
    return stream.heads < sharding.tp ? rank / (sharding.tp / stream.heads) == head
                                      : head / (stream.heads / sharding.tp) == rank;
}
bool holds_slot(const Retention& kept, const Sharding& sharding, u32 cp_rank, u64 slot) {
    const bool is_dealt = kept.keep == Keep::everything && kept.source != Source::encoder;
    return !is_dealt || slot / sharding.interleave % sharding.cp == cp_rank;
}

/// Each head and slot of the target comes from one rank that holds it, and links carry exactly those.
void check_stream(const Stream& stream, const Retention& kept, u64 slots, const Deployed& from, const Deployed& to,
                  const Place& target, bool& fits) {
    const ReshardEnd end{to.sharding, target, to.context};
    u64 arrived = 0;
    u64 wanted = 0;
    std::vector<u32> senders(stream.heads * (slots + 1));
    for (const Place& source : from.places()) {
        if (source.stage != 0) {
            continue;
        }
        const ReshardEnd start{from.sharding, source, from.context};
        const Result<u64> each = stream_bytes_between(stream, kept, start, end);
        fits = fits && each.has_value();
        if (!fits) {
            return;
        }
        const bool chosen = is_chosen_copy(shards_of(stream, from.sharding).value(), kept, start, end);
        u64 sent = 0;
        for (u32 head = 0; head < stream.heads; ++head) {
            for (u64 slot = 0; slot < slots; ++slot) {
                const bool both = holds_head(stream, from.sharding, source.tp_rank, head) &&
                                  holds_head(stream, to.sharding, target.tp_rank, head) &&
                                  holds_slot(kept, from.sharding, source.cp_rank, slot) &&
                                  holds_slot(kept, to.sharding, target.cp_rank, slot);
                senders[head * slots + slot] += both && chosen ? 1 : 0;
                sent += both && chosen ? 1 : 0;
            }
        }
        const Slots common{dealt_to_both(slots, start.deals(kept) ? start.deal() : Deal{},
                                         end.deals(kept) ? end.deal() : Deal{})};
        const u64 row = stream.format.row_bytes(stream.width).value() * stream.rows;
        REQUIRE(common.value * *each == sent * row);
        arrived += sent;
    }
    for (u32 head = 0; head < stream.heads; ++head) {
        for (u64 slot = 0; slot < slots; ++slot) {
            const bool mine = holds_head(stream, to.sharding, target.tp_rank, head) &&
                              holds_slot(kept, to.sharding, target.cp_rank, slot);
            wanted += mine ? 1 : 0;
            REQUIRE(senders[head * slots + slot] == (mine ? 1 : 0));
        }
    }
    REQUIRE(arrived == wanted);
}

}  // namespace

TEST_CASE("over TP, PP and CP every byte of a rank comes from one rank that has it") {
    property::Random random{property::seed() + 8};
    u64 compared = 0;
    for (u64 c = property::cases(60); c > 0; --c) {
        const ModelSpec model = divisible_model(random);
        const auto some = [&] {
            Deployed made{.sharding = {.tp = 1u << random.in(0, 2), .cp = random.in32(1, 4),
                                       .interleave = random.in32(1, 5)}};
            made.sharding.pp = random.in32(1, static_cast<u32>(smaller(model.layers, 3)));
            made.context = random.chance(40) ? ContextRanks::among_tensor : ContextRanks::own;
            return made;
        };
        const Deployed from = some();
        const Deployed to = some();
        const std::vector<Place> targets = to.places();
        const Place target = targets[random.in(0, targets.size() - 1)];
        const Lengths lengths{.prompt = {random.in(0, 40)}, .decoded = {random.in(0, 9)}, .encoder = {random.in(0, 9)}};
        bool fits = true;
        for (const LayerForm& form : model.forms) {
            for (const Stream& stream : form.streams) {
                check_stream(stream, form.retention, form.retention.slots(lengths).value, from, to, target, fits);
            }
        }
        Bytes sum{};
        const Result<Bytes> all = each_source(model, lengths, from.sharding, to.sharding, target,
                                              [&](Place, Bytes bytes) { sum += bytes; }, from.context, to.context);
        if (!all) {  // copies that the context ranks among them cannot share
            REQUIRE((!fits && all.error().code == Errc::not_divisible));
            continue;
        }
        ++compared;
        REQUIRE(*all == sum);
        const Rank rank{.stage = target.stage, .cp = target.cp_rank};
        REQUIRE(sum == fold(model, lengths, to.sharding, rank).value().total());
    }
    CHECK(compared >= property::at_least(1, 60));
}

TEST_CASE("slots that two deals share, counted one by one") {
    property::Random random{property::seed() + 9};
    for (u64 c = property::cases(400); c > 0; --c) {
        const auto some = [&] {
            Deal deal{.ranks = random.in32(1, 6), .interleave = random.in32(1, 9)};
            deal.rank = random.in32(0, deal.ranks - 1);
            return deal;
        };
        const Deal a = some();
        const Deal b = some();
        const u64 end = random.in(0, 700);
        u64 both = 0;
        for (u64 slot = 0; slot < end; ++slot) {
            both += slot / a.interleave % a.ranks == a.rank && slot / b.interleave % b.ranks == b.rank;
        }
        REQUIRE(dealt_to_both(end, a, b) == both);
        REQUIRE(dealt_to_both(end, b, a) == both);
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

}  // namespace store_objects_tests
