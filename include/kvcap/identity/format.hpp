// SPDX-License-Identifier: MIT
// What must be equal for the bytes of two stored objects to mean the same? Every fact is stated: as a value, or as
// `stated_none` ("there is no such thing here"). An identity with unstated facts is refused, never guessed.
#pragma once

#include <kvcap/identity/fields.hpp>
#include <kvcap/sharding.hpp>

namespace kvcap::inline v1 {

struct NoneStated {
    friend constexpr bool operator==(NoneStated, NoneStated) = default;
};
inline constexpr NoneStated stated_none{};

enum class Said : u8 { nothing, none, value };

template <class T>
struct Stated {
    Said said = Said::nothing;
    T value{};

    constexpr Stated() noexcept = default;
    constexpr Stated(NoneStated) noexcept : said{Said::none} {}
    template <class U>
        requires std::convertible_to<const U&, T>
    constexpr Stated(const U& given) noexcept : said{Said::value}, value(static_cast<T>(given)) {}

    constexpr bool has_value() const noexcept { return said == Said::value; }
    friend constexpr bool operator==(const Stated& a, const Stated& b) noexcept {
        return a.said == b.said && (a.said != Said::value || a.value == b.value);
    }
};

using StatedText = Stated<std::string_view>;
using StatedNumber = Stated<u64>;
using StatedCaches = Stated<ModelSpec>;

/// Texts are borrowed: they must outlive the identity. They are bytes, compared as bytes (no case or normal form).
/// kv_dtype names the cache's own element type, not the model's. caches: the global layers whose bytes are in the
/// object.
struct FormatIdentity {
    StatedText model, weights_revision, tokenizer_revision, engine, backend, layout, kv_dtype, quant_scheme,
        scale_granularity, scales_revision, index_key_format, conv_dtype, state_dtype, state_layout, rope, cache_role,
        token_drop_algorithm, token_drop_policy, compression, hash_algorithm, hash_seed, writer, group_kind;
    StatedNumber chunk_tokens, page_tokens, kernel_block_tokens, entry_alignment, page_padding, tp, tp_rank,
        pp, pp_rank, pcp, pcp_rank, dcp, dcp_rank, cp_interleave, group;
    StatedCaches caches;

    friend constexpr bool operator==(const FormatIdentity&, const FormatIdentity&) = default;
};

/// Calls visit(Field, pointer to member) for every format field, in the order of the encoding.
constexpr void each_format_field(auto&& visit) {
    using F = Field;
    using I = FormatIdentity;
    visit(F::model, &I::model), visit(F::weights_revision, &I::weights_revision);
    visit(F::tokenizer_revision, &I::tokenizer_revision), visit(F::engine, &I::engine), visit(F::backend, &I::backend);
    visit(F::layout, &I::layout), visit(F::kv_dtype, &I::kv_dtype), visit(F::quant_scheme, &I::quant_scheme);
    visit(F::scale_granularity, &I::scale_granularity), visit(F::scales_revision, &I::scales_revision);
    visit(F::index_key_format, &I::index_key_format), visit(F::conv_dtype, &I::conv_dtype);
    visit(F::state_dtype, &I::state_dtype), visit(F::state_layout, &I::state_layout), visit(F::rope, &I::rope);
    visit(F::cache_role, &I::cache_role), visit(F::token_drop_algorithm, &I::token_drop_algorithm);
    visit(F::token_drop_policy, &I::token_drop_policy), visit(F::compression, &I::compression);
    visit(F::hash_algorithm, &I::hash_algorithm), visit(F::hash_seed, &I::hash_seed), visit(F::writer, &I::writer);
    visit(F::group_kind, &I::group_kind), visit(F::chunk_tokens, &I::chunk_tokens);
    visit(F::page_tokens, &I::page_tokens), visit(F::kernel_block_tokens, &I::kernel_block_tokens);
    visit(F::entry_alignment, &I::entry_alignment), visit(F::page_padding, &I::page_padding), visit(F::tp, &I::tp);
    visit(F::tp_rank, &I::tp_rank), visit(F::pp, &I::pp), visit(F::pp_rank, &I::pp_rank), visit(F::pcp, &I::pcp);
    visit(F::pcp_rank, &I::pcp_rank), visit(F::dcp, &I::dcp), visit(F::dcp_rank, &I::dcp_rank);
    visit(F::cp_interleave, &I::cp_interleave), visit(F::group, &I::group), visit(F::caches, &I::caches);
}

enum class WhyRefused : u8 {
    fine,
    unstated,          // neither a value nor `none`
    not_none,          // this fact cannot be `none`
    empty,             // a text without characters, a size of 0
    both_or_neither,   // its partner is stated the other way
    rank_out_of_range, // a rank that its size does not have
    not_a_multiple,    // chunk of pages, page of kernel blocks
    malformed,         // decoding: not what the encoder writes
    truncated,         // decoding: bytes are missing
    trailing,          // decoding: bytes are left over
    unknown_version,   // decoding: another encoding
    separator,         // a key text: the separator of the system lies inside this fact
    cannot_fold,       // the bytes differ between tensor-parallel ranks
};

/// WhyRefused an identity is not one, and at which field.
struct Refusal {
    Field field = Field::count;
    WhyRefused why = WhyRefused::fine;
    constexpr explicit operator bool() const noexcept { return why != WhyRefused::fine; }
    friend constexpr bool operator==(const Refusal&, const Refusal&) = default;
};

constexpr bool may_be_none(Field field) noexcept {
    using enum Field;
    switch (field) {
        case engine:
        case backend:
        case quant_scheme:
        case scale_granularity:
        case scales_revision:
        case index_key_format:
        case conv_dtype:
        case state_dtype:
        case state_layout:
        case rope:
        case token_drop_algorithm:
        case token_drop_policy:
        case compression: case hash_seed: case writer: return true;
        default: return false;
    }
}

constexpr bool may_be_zero(Field field) noexcept {
    using enum Field;
    switch (field) {
        case page_padding: case tp_rank: case pp_rank: case pcp_rank: case dcp_rank: case group: return true;
        default: return false;
    }
}

template <class T>
constexpr WhyRefused wrong_with(Field field, const Stated<T>& fact) noexcept {
    if (fact.said != Said::value) {
        return fact.said == Said::nothing ? WhyRefused::unstated
               : may_be_none(field)       ? WhyRefused::fine
                                          : WhyRefused::not_none;
    }
    if constexpr (std::same_as<T, u64>) {
        return fact.value == 0 && !may_be_zero(field) ? WhyRefused::empty : WhyRefused::fine;
    } else if constexpr (std::same_as<T, ModelSpec>) {
        return fact.value.caches.empty() ? WhyRefused::empty : WhyRefused::fine;
    } else {
        return fact.value.empty() ? WhyRefused::empty : WhyRefused::fine;
    }
}

/// The first thing that keeps `id` from being complete and consistent.
constexpr Refusal refusal_of(const FormatIdentity& id) noexcept {
    Refusal first{};
    const auto note = [&](Field field, WhyRefused why) noexcept {
        if (!first && why != WhyRefused::fine) {
            first = {field, why};
        }
    };
    each_format_field([&](Field field, auto member) noexcept { note(field, wrong_with(field, id.*member)); });
    const auto partners = [&](const StatedText& a, const StatedText& b, Field second) noexcept {
        note(second, a.said == b.said ? WhyRefused::fine : WhyRefused::both_or_neither);
    };
    partners(id.token_drop_algorithm, id.token_drop_policy, Field::token_drop_policy);
    partners(id.quant_scheme, id.scale_granularity, Field::scale_granularity);
    note(Field::state_layout,
         id.conv_dtype.has_value() && !id.state_layout.has_value() ? WhyRefused::both_or_neither : WhyRefused::fine);
    const auto rank = [&](const StatedNumber& r, const StatedNumber& of, Field field) noexcept {
        note(field, r.value < of.value ? WhyRefused::fine : WhyRefused::rank_out_of_range);
    };
    rank(id.tp_rank, id.tp, Field::tp_rank);
    rank(id.pp_rank, id.pp, Field::pp_rank);
    rank(id.pcp_rank, id.pcp, Field::pcp_rank);
    rank(id.dcp_rank, id.dcp, Field::dcp_rank);
    if (!first) {
        note(Field::chunk_tokens, id.chunk_tokens.value % id.page_tokens.value == 0
                                      ? WhyRefused::fine
                                      : WhyRefused::not_a_multiple);
        note(Field::page_tokens,
             id.page_tokens.value % id.kernel_block_tokens.value == 0 ? WhyRefused::fine : WhyRefused::not_a_multiple);
    }
    return first;
}

using Fields = Inplace<Field, field_count>;

constexpr bool contains(const Fields& fields, Field field) noexcept {
    for (const Field each : fields) {
        if (each == field) {
            return true;
        }
    }
    return false;
}

/// The fields in which two identities differ: reusing one's bytes as the other's risks facts(field).consequence.
constexpr Fields diff(const FormatIdentity& a, const FormatIdentity& b) noexcept {
    Fields differing{};
    each_format_field([&](Field field, auto member) noexcept {
        if (!(a.*member == b.*member)) {
            differing.items[differing.count++] = field;
        }
    });
    return differing;
}

/// The same identity without its tensor-parallel rank, for objects whose bytes are equal on all of them: every stream
/// is replicated. Latents fold; a state or dealt heads do not, even beside a latent.
constexpr Refusal fold_tensor_ranks(FormatIdentity& id) noexcept {
    for (const LayerForm& form : id.caches.value.forms) {
        for (const Stream& stream : form.streams) {
            if (stream.split != Split::replicated) {
                return {Field::tp, WhyRefused::cannot_fold};
            }
        }
    }
    id.tp = u64{1};
    id.tp_rank = u64{0};
    return {};
}

}  // namespace kvcap::inline v1
