// SPDX-License-Identifier: MIT
// In which formats does vLLM store a card's caches? What held bytes are compared with.
#pragma once

#include <kvcap/engine/vllm.hpp>
#include <kvcap/io/dtypes.hpp>
#include <kvcap/quant/schemes.hpp>

namespace property {

using namespace kvcap;

/// One cache as vLLM stores it. latents: the model has some.
inline LayerForm stored_form(LayerForm form, const vllm::Options& options, bool latents) noexcept {
    if (vllm::is_state(form)) {
        const vllm::StateWidths widths = vllm::state_widths(form, options);
        for (Stream& stream : form.streams) {
            stream.format = {.elems = 1, .bytes = stream.role == Role::conv ? widths.conv : widths.state};
        }
        return form;
    }
    if (form.kind == Kind::index && latents) {
        form.streams[0].format = fp8_scale_per_128;
        return form;
    }
    if (form.kind == Kind::compressor) {
        return form;
    }
    switch (options.kv_dtype) {
        case vllm::KvDtype::fp8: return Stored{fp8}.store(form);
        case vllm::KvDtype::fp8_ds_mla:
            return form.kind == Kind::latent ? io::store_ds_mla(form) : Stored{fp8}.store(form);
        case vllm::KvDtype::int8_per_token_head: return int8_per_token_head.store(form);
        case vllm::KvDtype::int4_per_token_head: return Int4PerTokenHead{}.store(form);
        case vllm::KvDtype::nvfp4: return Stored{nvfp4}.store(form);
        default: return form;
    }
}

/// The model as vLLM stores it, so that held bytes can be compared.
inline ModelSpec as_stored(const ModelSpec& model, const vllm::Options& options) {
    const bool latents = vllm::has_kind(model, Kind::latent);
    return restored(model, [&](u32, const LayerForm& form) noexcept {
               return stored_form(form, options, latents);
           })
        .value();
}

}  // namespace property
