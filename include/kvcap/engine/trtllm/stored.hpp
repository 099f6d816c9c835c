// SPDX-License-Identifier: MIT
// In which formats does TensorRT-LLM store what a model keeps? What held bytes are to be compared with what
// it reserves.
#pragma once

#include <kvcap/engine/trtllm/options.hpp>
#include <kvcap/model.hpp>

namespace kvcap::inline v1::trtllm {

constexpr ElementFormat kv_format(KvDtype dtype) noexcept {
    switch (dtype) {
        case KvDtype::half: return f16;
        case KvDtype::fp8: return fp8;
        case KvDtype::nvfp4: return {.elems = 16, .bytes = 9};
    }
    return f16;
}

/// The model as these options store it. Per-tensor scales stay as they are.
constexpr Result<ModelSpec> as_stored(const ModelSpec& model, const Options& options) noexcept {
    return restored(model, [&](u32, LayerForm form) noexcept {
        for (Stream& stream : form.streams) {
            const bool once = form.retention.keep == Keep::once;
            const ElementFormat format = stream.role == Role::index   ? fp8_scale_per_128
                                         : stream.role == Role::conv  ? options.conv_format
                                         : stream.role == Role::state ? options.state_format
                                                                      : kv_format(options.dtype);
            stream.format = once ? stream.format : format;
        }
        return form;
    });
}

}  // namespace kvcap::inline v1::trtllm
