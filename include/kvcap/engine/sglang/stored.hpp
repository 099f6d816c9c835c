// SPDX-License-Identifier: MIT
// In which formats does SGLang store what a model keeps? The model with every cache stored as these options
// say: what held bytes are to be compared with what the engine reserves.
#pragma once

#include <kvcap/engine/sglang/allocated.hpp>

namespace kvcap::inline v1::sglang {

constexpr ElementFormat kv_format(KvDtype dtype) noexcept {
    switch (dtype) {
        case KvDtype::bf16: return bf16;
        case KvDtype::fp8: return fp8;
        case KvDtype::mxfp8: return {.elems = 32, .bytes = 33};
        case KvDtype::fp4: return {.elems = 16, .bytes = 9};
    }
    return bf16;
}

/// What the format of one stream depends on, beyond the stream.
struct StoredModel {
    bool indexed_latent = false;
    bool compressed = false;
};

constexpr ElementFormat latent_format(const Stream& stream, const StoredModel& model,
                                      const Options& options) noexcept {
    if (model.compressed) {
        return {.elems = stream.width, .bytes = stream.width + options.rope + 8};
    }
    if (options.dtype == KvDtype::fp4 || options.dtype == KvDtype::bf16) {
        return model.indexed_latent && options.dtype == KvDtype::fp4 ? fp8 : kv_format(options.dtype);
    }
    if (!model.indexed_latent || options.raw_latent_rows) {
        return fp8;
    }
    return stream.role == Role::rope ? bf16 : fp8_scale_per_128;
}

constexpr ElementFormat index_format(const Stream& stream, const StoredModel& model,
                                     const Options& options) noexcept {
    if (model.compressed) {
        return {.elems = stream.width, .bytes = stream.width + 4};
    }
    return model.indexed_latent ? fp8_scale_per_128
                                : ElementFormat{.elems = 1, .bytes = options.index_value_bytes};
}

constexpr ElementFormat format_of(const LayerForm& form, const Stream& stream, const StoredModel& model,
                                  const Options& options) noexcept {
    if (form.kind == Kind::compressor) {
        return {.elems = 1, .bytes = options.compressor_state_bytes};
    }
    switch (stream.role) {
        case Role::key:
        case Role::value: return kv_format(options.dtype);
        case Role::latent:
        case Role::rope: return latent_format(stream, model, options);
        case Role::index: return index_format(stream, model, options);
        case Role::conv: return options.conv_format;
        case Role::state: return options.state_format;
    }
    return stream.format;
}

/// The model as SGLang stores it. Per-tensor scales stay as they are.
constexpr Result<ModelSpec> as_stored(const ModelSpec& model, const Options& options) noexcept {
    StoredModel whole{.compressed = has_compressors(model)};
    for (const LayerForm& form : model.forms) {
        const bool latent = !form.streams.empty() && form.streams[0].role == Role::latent;
        whole.indexed_latent = whole.indexed_latent || latent;
    }
    whole.indexed_latent = whole.indexed_latent && has_index(model);
    return restored(model, [&](u32, LayerForm form) noexcept {
        for (Stream& stream : form.streams) {
            const bool once = form.retention.keep == Keep::once;
            stream.format = once ? stream.format : format_of(form, stream, whole, options);
        }
        return form;
    });
}

}  // namespace kvcap::inline v1::sglang
