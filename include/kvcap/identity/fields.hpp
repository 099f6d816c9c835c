// SPDX-License-Identifier: MIT
// Which facts make two caches exchangeable, and what goes wrong when a key leaves one out?
// Sources: LMCache docs/design/v1/cache_identity.md (2026) and the issues named beside each field.
#pragma once

#include <kvcap/units.hpp>
#include <string_view>

namespace kvcap::inline v1 {

/// Format fields first (one value per stored object), content fields after `adapter` (one value per chunk).
/// The numbers are part of the encoding: new fields go before `count`, never between.
enum class Field : u8 {
    model, weights_revision, tokenizer_revision, engine, backend, layout, kv_dtype, quant_scheme, scale_granularity,
    scales_revision, index_key_format, conv_dtype, state_dtype, state_layout, rope, cache_role, token_drop_algorithm,
    token_drop_policy, compression, hash_algorithm, hash_seed, writer, group_kind,
    chunk_tokens, page_tokens, kernel_block_tokens, entry_alignment, page_padding,
    tp, tp_rank, pp, pp_rank, pcp, pcp_rank, dcp, dcp_rank, cp_interleave, group, caches,
    parent, tokens, adapter, adapter_version, salt, user_key, media, embeddings,
    count,
};

inline constexpr u32 field_count = static_cast<u32>(Field::count);

/// corrupts: other numbers are read as this cache, silently. leaks: one tenant sees another's. fails: a reader notices
/// (sizes differ, a key is not there). misses: reuse is lost, answers stay right.
enum class Harm : u8 { corrupts, leaks, fails, misses };

/// consequence: what a key without this field does. seen: where it happened in public; empty when it was not found.
struct FieldFacts {
    std::string_view name;
    Harm harm;
    std::string_view consequence;
    std::string_view seen;
};

constexpr FieldFacts facts(Field field) noexcept {
    using enum Field;
    switch (field) {
        case model: return {"model", Harm::corrupts, "another model's keys and values are attended to", ""};
        case weights_revision: return {"weights_revision", Harm::corrupts,
            "caches of older weights are reused after a weight update", "InternLM/lmdeploy#4930"};
        case tokenizer_revision: return {"tokenizer_revision", Harm::corrupts,
            "equal token ids stand for other text", "LMCache cache_identity design"};
        case engine: return {"engine", Harm::corrupts, "the pages of another engine version are laid out otherwise",
            "vllm-project/vllm#54743"};
        case backend: return {"backend", Harm::corrupts,
            "attention backends order the bytes inside a page differently", "LMCache sub-paged groups"};
        case layout: return {"layout", Harm::corrupts, "keys are read where values lie, or layer by layer",
            "aibrix NCLD and LCND"};
        case kv_dtype: return {"kv_dtype", Harm::corrupts,
            "bits are read in another element type: fp8 e4m3 as e5m2, bfloat16 as float16",
            "vllm-project/vllm#54338, vllm-project/vllm#43980"};
        case quant_scheme: return {"quant_scheme", Harm::corrupts, "quantised elements are scaled as another scheme",
            "InternLM/lmdeploy#4930"};
        case scale_granularity: return {"scale_granularity", Harm::corrupts,
            "one scale a tensor is taken for one a head or token", "InternLM/lmdeploy#4930"};
        case scales_revision: return {"scales_revision", Harm::corrupts,
            "elements are multiplied by scales of another calibration", "InternLM/lmdeploy#4930"};
        case index_key_format: return {"index_key_format", Harm::corrupts,
            "index keys of sparse attention are read in another width", "LMCache/LMCache#2947"};
        case conv_dtype:
            return {"conv_dtype", Harm::corrupts, "convolution inputs are read in another element type", ""};
        case state_dtype:
            return {"state_dtype", Harm::corrupts, "recurrent states are read in another element type", ""};
        case state_layout: return {"state_layout", Harm::corrupts,
            "a state's convolution axes or its two halves change places", "sgl-project/sglang#37175"};
        case rope: return {"rope", Harm::corrupts, "keys carry the rotation of another position scale", ""};
        case cache_role: return {"cache_role", Harm::corrupts, "a draft model's cache answers for the target's", ""};
        case token_drop_algorithm: return {"token_drop_algorithm", Harm::corrupts,
            "a cache with dropped tokens is taken for a whole one", "LMCache cache_identity design"};
        case token_drop_policy: return {"token_drop_policy", Harm::corrupts,
            "another set of tokens was dropped", "LMCache cache_identity design"};
        case compression: return {"compression", Harm::corrupts, "compressed bytes are read as plain ones",
            "LMCache cache_identity design"};
        case hash_algorithm:
            return {"hash_algorithm", Harm::misses, "equal content gets two keys", "LMCache PYTHONHASHSEED"};
        case hash_seed:
            return {"hash_seed", Harm::misses, "every process has keys of its own", "LMCache PYTHONHASHSEED"};
        case writer: return {"writer", Harm::corrupts, "two clients write files of the same name into one directory",
            "sgl-project/sglang#35484"};
        case group_kind:
            return {"group_kind", Harm::corrupts, "a state is read as attention pages",
                    "vllm-project/vllm#49499"};
        case chunk_tokens: return {"chunk_tokens", Harm::fails, "objects of another length are found or looked for",
            "vllm-project/vllm#54743"};
        case page_tokens: return {"page_tokens", Harm::corrupts, "pages inside an object begin elsewhere",
            "vllm-project/vllm#51163"};
        case kernel_block_tokens: return {"kernel_block_tokens", Harm::corrupts,
            "bytes inside a page are ordered by another kernel block", "LMCache sub-paged groups"};
        case entry_alignment: return {"entry_alignment", Harm::corrupts, "entries begin at other offsets", ""};
        case page_padding: return {"page_padding", Harm::corrupts, "padding is read as content", ""};
        case tp: return {"tp", Harm::corrupts, "another number of heads lies in the object",
            "sgl-project/sglang#15674, vllm-project/vllm#14952"};
        case tp_rank:
            return {"tp_rank", Harm::corrupts, "one rank's shard serves every rank",
                    "vllm-project/vllm#49499"};
        case pp: return {"pp", Harm::corrupts, "another range of layers lies in the object", "LMCache/LMCache#1770"};
        case pp_rank: return {"pp_rank", Harm::corrupts, "one stage's layers serve another stage",
            "LMCache/LMCache#1770, sgl-project/sglang#37175"};
        case pcp:
            return {"pcp", Harm::corrupts, "tokens were dealt to another number of ranks",
                    "vllm-project/vllm#46855"};
        case pcp_rank: return {"pcp_rank", Harm::corrupts, "another rank's tokens lie in the object",
            "vllm-project/vllm#46855"};
        case dcp:
            return {"dcp", Harm::corrupts, "tokens were dealt to another number of ranks",
                    "vllm-project/vllm#46855"};
        case dcp_rank: return {"dcp_rank", Harm::corrupts, "another rank's tokens lie in the object",
            "vllm-project/vllm#46855"};
        case cp_interleave: return {"cp_interleave", Harm::corrupts, "tokens were dealt in other portions", ""};
        case group:
            return {"group", Harm::corrupts, "one group's object serves another group",
                    "vllm-project/vllm#49499"};
        case caches: return {"caches", Harm::corrupts, "other layers, widths or streams lie in the object",
            "sgl-project/sglang#37175"};
        case parent:
            return {"parent", Harm::corrupts, "the same tokens after another prefix are taken for this one",
                    ""};
        case tokens: return {"tokens", Harm::corrupts, "another text is attended to", ""};
        case adapter: return {"adapter", Harm::corrupts, "one adapter's cache answers for another's",
            "vllm-project/vllm#44250, vllm-project/vllm#54342, LMCache/LMCache#2961, sgl-project/sglang#24638"};
        case adapter_version: return {"adapter_version", Harm::corrupts,
            "an adapter reloaded under its old name keeps the old cache",
            "vllm-project/vllm#42125, vllm-project/vllm#30931"};
        case salt: return {"salt", Harm::leaks, "tenants share what they should not see", "vllm-project/vllm#54342"};
        case user_key: return {"user_key", Harm::leaks, "a key chosen by a user reaches an internal namespace",
            "sgl-project/sglang#24638"};
        case media: return {"media", Harm::corrupts, "the same text about another image hits",
            "LMCache/LMCache#3301, LMCache/LMCache#4086, vllm-project/vllm#54342"};
        case embeddings:
            return {"embeddings", Harm::corrupts,
                    "prompts given as embeddings have no token ids to tell them apart", ""};
        case count: break;
    }
    return {"", Harm::fails, "", ""};
}

constexpr std::string_view name_of(Field field) noexcept {
    return facts(field).name;
}

constexpr bool is_content(Field field) noexcept {
    return field >= Field::parent && field < Field::count;
}

}  // namespace kvcap::inline v1
