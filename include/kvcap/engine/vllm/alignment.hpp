// SPDX-License-Identifier: MIT
// How many tokens has a block? Backend's choice, then raised so that an attention page covers a state page,
// then so that a quantised page covers an unquantised one; states are padded to the attention page. Source:
// platforms/interface.py `update_block_size_for_backend` and the two functions it calls.
#pragma once

#include <kvcap/engine/vllm/pages.hpp>
#include <kvcap/engine/vllm/refusal.hpp>
#include <kvcap/engine/vllm/versions.hpp>

namespace kvcap::inline v1::vllm {

/// state_page, shared_page: what state layers, and window layers beside quantised ones, are padded to; 0: not
/// padded.
struct BlockSizes {
    u64 block = 16;
    u64 state_block = 0;
    u64 state_page = 0;
    u64 shared_page = 0;
    StateMode mode = StateMode::none;

    friend constexpr bool operator==(const BlockSizes&, const BlockSizes&) = default;
};

/// The first forms, in cache order and without drafts, that decide the alignment; forms.size(): none.
struct Leading {
    u32 heads = 0;
    u32 latent = 0;
    u32 state = 0;
};

constexpr Leading leading_forms(const ModelSpec& model) noexcept {
    const u32 none = model.forms.size();
    Leading first{none, none, none};
    for (const Cache& cache : model.caches) {
        const LayerForm& form = model.form_of(cache);
        if (cache.layer >= model.layers) {
            continue;
        }
        u32& slot = is_state(form) ? first.state : form.kind == Kind::latent ? first.latent : first.heads;
        const bool counts = is_state(form) || form.kind == Kind::latent || is_heads(form);
        slot = counts && slot == none ? cache.form : slot;
    }
    return first;
}

/// 16 when a multiple of one of the backend's blocks, else the smallest of them.
constexpr u64 base_block(const Options& options) noexcept {
    if (options.block_size != 0) {
        return options.block_size;
    }
    for (const KernelBlock& block : options.kernel_blocks) {
        if (block.tokens != 0 && 16 % block.tokens == 0) {
            return 16;
        }
    }
    return smallest_kernel_block(options.kernel_blocks);
}

/// Bytes of one token in one layer of the leading attention form; the value is taken as wide as the key.
constexpr Result<u64> token_bytes(const LayerForm& form, KvDtype dtype, const Sharding& sharding) noexcept {
    if (form.kind == Kind::latent) {
        return width_of(form) * (dtype == KvDtype::automatic ? element_bytes(form) : 1);
    }
    const Result<Heads> heads = heads_of(form, sharding);
    if (!heads) {
        return heads.error();
    }
    const Result<Packing> packing =
        pack_heads(dtype, heads->local, heads->key, heads->key, 2 * heads->key * element_bytes(form));
    if (!packing) {
        return packing.error();
    }
    return saturating_product(packing->slots, packing->cell);
}

constexpr bool is_turboquant(KvDtype dtype) noexcept { return dtype >= KvDtype::turboquant_k8v4; }

/// `_align_hybrid_block_size`: al = max(smallest kernel block, block), 128 beside latents;
/// block = al x ceil(state / (al x token)), in mode all a multiple of the state chunk.
constexpr void align_states(BlockSizes& blocks, u64 token, u64 state, bool latent, const Options& options,
                            const Rules& rules) noexcept {
    u64 step = larger(smallest_kernel_block(options.kernel_blocks), blocks.block);
    step = latent && rules.has(Change::latent_128) ? larger(step, 128) : step;
    u64 raised = step * ceil_div(state, step * token);
    if (blocks.mode == StateMode::all) {
        const u64 chunk = least_common_multiple(options.state_chunk, step);
        raised = chunk * ceil_div(ceil_div(state, token), chunk);
        blocks.state_block = raised;
    }
    blocks.block = larger(blocks.block, raised);
    if (blocks.mode == StateMode::align) {
        blocks.state_block = blocks.block;
    }
    const u64 page = blocks.block * token;
    blocks.state_page = page == state ? 0 : page;
}

/// `_align_heterogeneous_kv_block_size`: block = al x ceil(need / (al x quantised token)).
constexpr void align_precisions(BlockSizes& blocks, u64 quantised, u64 plain,
                                const Options& options) noexcept {
    if (plain == quantised) {
        return;
    }
    const u64 least = smallest_kernel_block(options.kernel_blocks);
    const u64 need = larger(plain * least, blocks.state_page);
    const u64 step = larger(least, blocks.block);
    blocks.block = larger(blocks.block, step * ceil_div(need, step * quantised));
    blocks.shared_page = blocks.block * quantised;
    blocks.state_page = blocks.state_page != 0 ? blocks.shared_page : 0;
}

/// The error at the first layer with this form.
constexpr Error at_form(const ModelSpec& model, u32 form, Error wrong) noexcept {
    for (u32 c = model.caches.size(); c-- > 0;) {
        wrong.layer = model.caches[c].form == form ? model.caches[c].layer : wrong.layer;
    }
    return wrong;
}

/// Tokens per block and padded pages of this model. Errors: splits and dtypes the layers refuse.
constexpr Result<BlockSizes> block_sizes_of(const ModelSpec& model, const Options& options,
                                            const Rules& rules, const Sharding& sharding) noexcept {
    const Leading first = leading_forms(model);
    const u32 none = model.forms.size();
    const bool attends = first.heads != none || first.latent != none;
    const u64 configured = options.block_size != 0 ? options.block_size : 16;
    BlockSizes blocks{.block = attends ? base_block(options) : configured, .mode = mode_of(options)};
    if (blocks.mode == StateMode::align && !rules.has(Change::aligned_states)) {
        blocks.mode = StateMode::none;
    }
    blocks.state_block = blocks.mode == StateMode::none ? options.max_model_len : configured;
    if (!attends) {
        return blocks;
    }
    const u32 leading = first.latent != none ? first.latent : first.heads;
    const LayerForm& attention = model.forms[leading];
    const Result<u64> stored = token_bytes(attention, options.kv_dtype, sharding);
    const Result<u64> plain = token_bytes(attention, KvDtype::automatic, sharding);
    if (!stored || !plain) {
        return at_form(model, leading, stored ? plain.error() : stored.error());
    }
    if (first.state != none) {
        const Result<u64> state = state_bytes(model.forms[first.state], options, sharding);
        if (!state) {
            return at_form(model, first.state, state.error());
        }
        const bool mixed = is_turboquant(options.kv_dtype) && options.skips();
        const u64 token = mixed ? least_common_multiple(*stored, *plain) : *stored;
        if (*state != 0 && token != 0) {
            align_states(blocks, token, *state, first.latent != none, options, rules);
        }
    }
    if (options.skips() && rules.has(Change::mixed_precision) && *stored != 0) {
        if (*plain < *stored) {
            return error_of({.reason = Reason::assertion});
        }
        align_precisions(blocks, *stored, *plain, options);
    }
    return blocks;
}

}  // namespace kvcap::inline v1::vllm
