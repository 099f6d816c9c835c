// SPDX-License-Identifier: MIT
// Identities at build time: completeness, differences, and what known keys leave out.
#include <kvcap/core.hpp>
#include <kvcap/identity.hpp>
#include <kvcap/identity/keys.hpp>

using namespace kvcap;

namespace {

constexpr FormatIdentity complete() {
    FormatIdentity id{};
    each_format_field([&](Field field, auto member) {
        if constexpr (std::same_as<decltype(member), StatedText FormatIdentity::*>) {
            id.*member = "x";
        } else if constexpr (std::same_as<decltype(member), StatedNumber FormatIdentity::*>) {
            id.*member = may_be_zero(field) ? u64{0} : u64{1};
        }
    });
    id.caches = compose(repeat(2, Mla{.latent = 512, .rope = 64})).value();
    return id;
}
constexpr FormatIdentity with(auto change) {
    FormatIdentity id = complete();
    change(id);
    return id;
}

// Complete is accepted; one unstated fact is refused and named.
static_assert(!refusal_of(complete()));
static_assert(refusal_of(FormatIdentity{}) == Refusal{Field::model, WhyRefused::unstated});
static_assert(refusal_of(with([](auto& id) { id.rope = StatedText{}; })) == Refusal{Field::rope, WhyRefused::unstated});
static_assert(!refusal_of(with([](auto& id) { id.rope = stated_none; })));
static_assert(refusal_of(with([](auto& id) { id.model = stated_none; })) ==
              Refusal{Field::model, WhyRefused::not_none});
static_assert(refusal_of(with([](auto& id) { id.layout = ""; })) == Refusal{Field::layout, WhyRefused::empty});
static_assert(refusal_of(with([](auto& id) { id.tp = 0u; })) == Refusal{Field::tp, WhyRefused::empty});
static_assert(refusal_of(with([](auto& id) { id.tp_rank = 1u; })) ==
              Refusal{Field::tp_rank, WhyRefused::rank_out_of_range});
static_assert(refusal_of(with([](auto& id) { id.token_drop_policy = stated_none; })) ==
              Refusal{Field::token_drop_policy, WhyRefused::both_or_neither});
static_assert(refusal_of(with([](auto& id) { id.scale_granularity = stated_none; })) ==
              Refusal{Field::scale_granularity, WhyRefused::both_or_neither});
static_assert(refusal_of(with([](auto& id) { id.page_tokens = 3u; })) ==
              Refusal{Field::chunk_tokens, WhyRefused::not_a_multiple});

// Every field has a name, a consequence and a place in exactly one encoding.
constexpr bool every_field_is_told() {
    for (u32 i = 0; i < field_count; ++i) {
        const FieldFacts told = facts(static_cast<Field>(i));
        if (told.name.empty() || told.consequence.empty()) {
            return false;
        }
        for (u32 j = 0; j < i; ++j) {
            if (name_of(static_cast<Field>(j)) == told.name) {
                return false;
            }
        }
    }
    return true;
}
static_assert(every_field_is_told());
constexpr u32 visited() {
    u32 next = 0;
    bool ordered = true;
    each_format_field([&](Field field, auto) { ordered = ordered && static_cast<u32>(field) == next++; });
    return ordered ? next : 0;
}
static_assert(visited() == static_cast<u32>(Field::parent));

// diff names the field; a latent folds over tensor-parallel ranks, heads and states do not.
static_assert(diff(complete(), complete()).empty());
static_assert(diff(complete(), with([](auto& id) { id.kv_dtype = "fp8_e5m2"; })) == Fields{1, {Field::kv_dtype}});
constexpr auto folded = [](const ModelSpec& caches) {
    FormatIdentity id = with([&](auto& a) { a.tp = 8u, a.tp_rank = 3u, a.caches = caches; });
    const Refusal refusal = fold_tensor_ranks(id);
    return refusal ? u64{99} : id.tp.value * 10 + id.tp_rank.value;
};
static_assert(folded(compose(repeat(2, Mla{.latent = 512, .rope = 64})).value()) == 10);
static_assert(folded(compose(repeat(2, Gqa{.kv_heads = 8, .head_dim = 128})).value()) == 99);
static_assert(folded(compose(repeat(2, Mla{512, 64}), repeat(2, Kda{.heads = 32, .head_dim = 128})).value()) == 99);

// The keys of known systems.
static_assert(presence(System::ucm, Field::kv_dtype) == Presence::mistaken);
static_assert(presence(System::vllm_block_hash, Field::adapter) == Presence::in_key);
static_assert(contains(missing(System::vllm_block_hash), Field::adapter_version));
static_assert(collides(System::mooncake_connector, Fields{1, {Field::kv_dtype}}));
static_assert(!collides(System::llmd_files, Fields{1, {Field::kv_dtype}}));
constexpr bool lists_no_field_twice() {
    for (u32 s = 0; s < system_count; ++s) {
        const KeyParts parts = key_of(static_cast<System>(s));
        for (u32 i = 0; i < parts.size(); ++i) {
            for (u32 j = 0; j < i; ++j) {
                if (parts[i].field == parts[j].field) {
                    return false;
                }
            }
        }
    }
    return true;
}
static_assert(lists_no_field_twice());

static_assert(lmcache_kv_rank(8, 5, 4, 1).value() == 0x08050401);
static_assert(lmcache_kv_rank(256, 0, 4, 1).error() == Error{.code = Errc::rank_out_of_range, .got = 256, .want = 256});
static_assert(dynamo_positional_mode(255).value() == PositionalMode{0, 8, 54});
static_assert(dynamo_positional_mode((u64{1} << 24) - 1).value() == PositionalMode{2, 24, 38});
static_assert(!dynamo_positional_mode(u64{1} << 31));

}  // namespace
