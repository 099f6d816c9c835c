// SPDX-License-Identifier: MIT
// In which formats does vLLM store a card's caches? What held bytes are compared with.
#pragma once

#include <kvcap/engine/vllm.hpp>
#include <kvcap/quant/schemes.hpp>

namespace property {

using namespace kvcap;

/// The model as vLLM stores it, so that held bytes can be compared; false: a layout that is no element
/// format.
inline bool as_stored(const ModelSpec& model, const vllm::Options& options,
                      ModelSpec& stored) {
    if (vllm::has_kind(model, Kind::compressor) ||
        (options.kv_dtype != vllm::KvDtype::automatic && vllm::has_kind(model, Kind::latent))) {
        return false;
    }
    const auto store = [&](u32, LayerForm form) noexcept {
        if (vllm::is_state(form)) {
            const vllm::StateWidths widths = vllm::state_widths(form, options);
            for (Stream& stream : form.streams) {
                stream.format = {.elems = 1, .bytes = stream.role == Role::conv ? widths.conv : widths.state};
            }
            return form;
        }
        if (form.kind == Kind::index && vllm::has_kind(model, Kind::latent)) {
            form.streams[0].format = fp8_scale_per_128;
        }
        switch (options.kv_dtype) {
            case vllm::KvDtype::fp8: return Stored{fp8}.store(form);
            case vllm::KvDtype::int8_per_token_head: return int8_per_token_head.store(form);
            default: return form;
        }
    };
    stored = restored(model, store).value();
    return true;
}

}  // namespace property
