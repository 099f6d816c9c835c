// SPDX-License-Identifier: MIT
// Objects, copies, resharding and tiers at build time. Sources: LMCache chunk sizes, vllm#53902, vllm#49499,
// sglang#26691.
#include <kvcap/core.hpp>
#include <kvcap/store/reshard.hpp>
#include <kvcap/store/tiers.hpp>

using namespace kvcap;

namespace {

constexpr auto llama8 = compose(QueryHeads{32}, repeat(32, Gqa{.kv_heads = 8, .head_dim = 128})).value();
constexpr auto llama70 = compose(QueryHeads{64}, repeat(80, Gqa{.kv_heads = 8, .head_dim = 128})).value();
constexpr auto v3 = compose(QueryHeads{128}, repeat(61, Mla{.latent = 512, .rope = 64})).value();
constexpr auto kimi =
    compose(QueryHeads{32}, cycle(27, Kda{.heads = 32, .head_dim = 128}, Kda{.heads = 32, .head_dim = 128},
                                  Kda{.heads = 32, .head_dim = 128}, Mla{.latent = 512, .rope = 64}))
        .value();
constexpr auto gemma =
    compose(QueryHeads{32}, cycle(62, Windowed{Gqa{16, 128}, 1024_tok}, Windowed{Gqa{16, 128}, 1024_tok},
                                  Windowed{Gqa{16, 128}, 1024_tok}, Windowed{Gqa{16, 128}, 1024_tok},
                                  Windowed{Gqa{16, 128}, 1024_tok}, Gqa{16, 128}))
        .value();

constexpr ObjectGroup only_group(const ModelSpec& model) { return object_groups(model)[0]; }

// LMCache: 256 tokens of Llama-3.1-8B are 32 MiB; of Llama-70B at TP 8 10,485,760 bytes a rank; of DeepSeek-V3
// 17,989,632.
static_assert(object_bytes(llama8, only_group(llama8), 256).value().content == 33'554'432_B);
static_assert(object_bytes(llama70, only_group(llama70), 256, {.tp = 8}).value().content == 10'485'760_B);
static_assert(object_bytes(v3, only_group(v3), 256, {.tp = 8}).value().content == 17'989'632_B);

// A latent is one shard at any TP (8 x 40 GB of host memory for 40 GB of content); a state beside it is one a rank.
static_assert(shards_of(v3, only_group(v3), {.tp = 8}).value() == 1);
static_assert(group_bytes(v3, only_group(v3), 256, {.tp = 8}, Copies::each_rank).value().stored == 8 * 17'989'632_B);
static_assert(group_bytes(v3, only_group(v3), 256, {.tp = 8}, Copies::once).value().stored == 17'989'632_B);
static_assert(group_bytes(v3, only_group(v3), 256, {.tp = 8}).value().loaded == 8 * 17'989'632_B);
static_assert(group_bytes(v3, only_group(v3), 256, {.tp = 8}).value().read == 17'989'632_B);
static_assert(object_groups(kimi).size() == 2);
static_assert(object_groups(kimi)[0].kind == ObjectKind::snapshot && object_groups(kimi)[1].kind == ObjectKind::page);
static_assert(shards_of(kimi, object_groups(kimi)[0], {.tp = 2}).value() == 2);
static_assert(shards_of(kimi, object_groups(kimi)[1], {.tp = 2}).value() == 1);
static_assert(object_bytes(kimi, object_groups(kimi)[0], 256).value() ==
              object_bytes(kimi, object_groups(kimi)[0], 512).value());
// Context ranks: pages are dealt, a state is whole on each of them.
constexpr Sharding contexts{.tp = 2, .cp = 4, .interleave = 16};
static_assert(group_bytes(kimi, object_groups(kimi)[1], 256, contexts).value().stored ==
              group_bytes(kimi, object_groups(kimi)[1], 256, {.tp = 2}).value().stored);
static_assert(group_bytes(kimi, object_groups(kimi)[1], 256, contexts).value().objects == 4);
static_assert(group_bytes(kimi, object_groups(kimi)[0], 256, contexts).value().stored ==
              group_bytes(kimi, object_groups(kimi)[0], 256, {.tp = 2}).value().stored);
static_assert(group_bytes(kimi, object_groups(kimi)[0], 256, contexts, Copies::each_rank).value().stored ==
              4 * group_bytes(kimi, object_groups(kimi)[0], 256, {.tp = 2}, Copies::each_rank).value().stored);
static_assert(group_bytes(kimi, object_groups(kimi)[1], 96, contexts).error() ==
              Error{.code = Errc::not_divisible, .got = 96, .want = 64});
static_assert(group_bytes(v3, only_group(v3), 256, {.cp = 0}).error().code == Errc::zero_parallelism);
// Eight heads over sixteen ranks: two ranks a head.
static_assert(shards_of(llama8, only_group(llama8), {.tp = 16}).value() == 8);
static_assert(group_bytes(llama8, only_group(llama8), 256, {.tp = 16}, Copies::each_rank).value().stored == 64_MiB);
static_assert(group_bytes(llama8, only_group(llama8), 256, {.tp = 16}).value().stored == 32_MiB);
static_assert(shard_of_rank(8, 16, 5) == 2 && shard_of_rank(1, 16, 5) == 0 && shard_of_rank(16, 16, 5) == 5);

// Layouts change the number of objects and the padding, never the content.
constexpr auto as = [](ObjectLayout layout) {
    return object_bytes(v3, only_group(v3), 256, {}, 0, {.layout = layout, .alignment = 4096}).value();
};
static_assert(as(ObjectLayout::whole) == ObjectBytes{1, 17'989'632_B, 17'989'632_B});
static_assert(as(ObjectLayout::per_layer) == ObjectBytes{61, 17'989'632_B, 61 * 294'912_B});
static_assert(as(ObjectLayout::per_plane) == ObjectBytes{122, 17'989'632_B, 61 * (262'144_B + 32'768_B)});
static_assert(object_bytes(v3, only_group(v3), 3, {}, 0, {.alignment = 4096}).value().stored == 212'992_B);
static_assert(object_bytes(v3, only_group(v3), 3, {}, 0, {.replicas = 2}).value().stored == 2 * 210'816_B);

static_assert(slots_per_chunk(256, 256, 64).value() == 64);
static_assert(slots_per_chunk(512, 256, 64).value() == 128);
static_assert(slots_per_chunk(256, 100, 64).error().code == Errc::not_divisible);
static_assert(slots_per_chunk(300, 256, 64).error() == Error{.code = Errc::not_divisible, .got = 300, .want = 256});
static_assert(stored_chunks(6758, 512, TailRule::ceil) == 14 && stored_chunks(6758, 512, TailRule::floor) == 13);

// A window of 1,024 needs the last two chunks of 512, or the last four of 256; a chunked one as its span.
static_assert(chunks_needed(object_groups(gemma)[0], 512) == 2 && chunks_needed(object_groups(gemma)[0], 256) == 4);
static_assert(chunks_needed(object_groups(gemma)[1], 512) == off_scale);
static_assert(prompt_bytes(gemma, 8192, 512).value() == 8192 * 81'920_B + 1024 * 425'984_B);
static_assert(prompt_bytes(gemma, 500, 512).value() == 0_B);
static_assert(prompt_bytes(gemma, 500, 512, {}, Copies::once, {}, TailRule::ceil).value() == 512 * 507'904_B);

// Resharding: what arrives at a rank is what it stores.
constexpr bool all_arrives(const ModelSpec& model, const Sharding& from, const Sharding& to) {
    const Lengths lengths{.prompt = 4096_tok};
    for (u32 stage = 0; stage < to.pp; ++stage) {
        for (u32 rank = 0; rank < to.tp; ++rank) {
            Bytes sum{};
            for (u32 s = 0; s < from.pp; ++s) {
                for (u32 r = 0; r < from.tp; ++r) {
                    sum += bytes_between(model, lengths, from, {s, r}, to, {stage, rank}).value();
                }
            }
            if (sum != fold(model, lengths, to, {.stage = stage}).value().total()) {
                return false;
            }
        }
    }
    return true;
}
constexpr auto heads = compose(repeat(3, Gqa{.kv_heads = 8, .head_dim = 128}), repeat(1, NoCache{})).value();
constexpr auto mixed = compose(repeat(2, Kda{.heads = 32, .head_dim = 128}), repeat(3, Mla{512, 64})).value();
static_assert(all_arrives(heads, {.tp = 2}, {.tp = 1}) && all_arrives(heads, {.tp = 1}, {.tp = 2}));
static_assert(all_arrives(heads, {.tp = 4, .pp = 2}, {.tp = 16}));
static_assert(all_arrives(heads, {.tp = 16}, {.tp = 4, .pp = 2}));
static_assert(all_arrives(mixed, {.tp = 2, .pp = 2}, {.tp = 8}));
static_assert(all_arrives(mixed, {.tp = 8}, {.tp = 4, .pp = 3}));
// GQA must be gathered from two ranks, a latent from one.
static_assert(bytes_between(llama8, {.prompt = 1_tok}, {.tp = 2}, {0, 1}, {.tp = 1}, {0, 0}).value() == 65'536_B);
static_assert(bytes_between(v3, {.prompt = 1_tok}, {.tp = 2}, {0, 0}, {.tp = 1}, {0, 0}).value() == 70'272_B);
static_assert(bytes_between(v3, {.prompt = 1_tok}, {.tp = 2}, {0, 1}, {.tp = 1}, {0, 0}).value() == 0_B);
static_assert(bytes_between(v3, {}, {.tp = 2}, {0, 2}, {}, {0, 0}).error() ==
              Error{.code = Errc::rank_out_of_range, .got = 2, .want = 2});
// Context parallelism deals slots: a decode side without it gathers every other token from each of two ranks. A window
// is whole on both, so one of them sends it.
constexpr auto windowed = compose(repeat(1, Gqa{8, 128}), repeat(1, Windowed{Gqa{8, 128}, 16_tok})).value();
constexpr u64 pair = 8 * 128 * 2 * 2;
static_assert(bytes_between(windowed, {.prompt = 33_tok}, {.cp = 2}, {0, 0, 0}, {}, {}).value().value ==
              (17 + 16) * pair);
static_assert(bytes_between(windowed, {.prompt = 33_tok}, {.cp = 2}, {0, 0, 1}, {}, {}).value().value == 16 * pair);
static_assert(bytes_between(windowed, {.prompt = 33_tok}, {}, {}, {.cp = 2}, {0, 0, 1}).value().value == 32 * pair);
static_assert(bytes_between(windowed, {.prompt = 64_tok}, {.cp = 2, .interleave = 16}, {0, 0, 1},
                            {.cp = 4, .interleave = 8}, {0, 0, 2}).value().value == 16 * pair);
// Among the tensor ranks: a latent's eight copies share the tokens four ways, so two GPUs hold each quarter.
constexpr auto among = ContextRanks::among_tensor;
static_assert(bytes_between(v3, {.prompt = 8_tok}, {.tp = 8, .cp = 4}, {0, 5}, {}, {}, among).value() == 0_B);
static_assert(bytes_between(v3, {.prompt = 8_tok}, {.tp = 8, .cp = 4}, {0, 1}, {}, {}, among).value() == 2 * 70'272_B);
static_assert(bytes_between(v3, {.prompt = 8_tok}, {.tp = 8, .cp = 4}, {0, 5}, {.tp = 2}, {0, 1}, among).value() ==
              2 * 70'272_B);
static_assert(bytes_between(llama8, {.prompt = 8_tok}, {.tp = 8, .cp = 2}, {}, {}, {}, among).error() ==
              Error{.code = Errc::not_divisible, .layer = 0, .got = 1, .want = 2});
static_assert(bytes_between(llama8, {}, {.cp = 2}, {0, 0, 2}, {}, {}).error() ==
              Error{.code = Errc::rank_out_of_range, .got = 2, .want = 2});
static_assert(bytes_between(llama8, {}, {.cp = 0}, {}, {}, {}).error().code == Errc::zero_parallelism);
static_assert(each_source(llama8, {}, {.tp = 0}, {}, {}, [](Place, Bytes) {}).error().code == Errc::zero_parallelism);
// Four sources of two stages feed a rank that has all layers and half of the heads.
constexpr u32 sources = [] {
    u32 count = 0;
    const auto all = each_source(llama8, {.prompt = 64_tok}, {.tp = 4, .pp = 2}, {.tp = 2}, {0, 1},
                                 [&](Place from, Bytes bytes) { count += from.tp_rank >= 2 && bytes.value != 0; });
    return all.value() == 64 * 65'536_B ? count : 0;
}();
static_assert(sources == 4);

// vllm#53902's example and the same tier when every group is charged fully; vllm#56871's waste.
constexpr ChunkCaps hybrid{3, {off_scale, 4, 1}};
static_assert(tier_capacity(4000, hybrid, 256, 36'864).value() == TierCapacity{989'637, 26, 36'864, 149});
static_assert(
    tier_capacity(4000, ChunkCaps{3, {off_scale, off_scale, off_scale}}, 256, 36'864).value().tokens ==
    341'333);
static_assert(tier_capacity(4000, hybrid, 256, 36'864, RowUse::whole_row).value().tokens == 1333ull * 36'864 / 149);
static_assert(tier_capacity(4000, hybrid, 256, 100).error().code == Errc::does_not_fit);
static_assert(tier_capacity(Tier{.capacity = 512_GiB}, v3, 8192, 256).value().requests ==
              (512ull << 30) / (8192ull * 70'272));

static_assert(!load_or_recompute(1_GiB, {.bytes_per_second = 1e9}, 1'000, 1e12).load_pays());
static_assert(load_or_recompute(1_GiB, {.bytes_per_second = 25e9}, 1'000'000'000'000'000, 1e15).load_pays());

}  // namespace
