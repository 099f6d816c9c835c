// SPDX-License-Identifier: MIT
// What do `--kv-cache-dtype`, `--state-dtype`, `--conv-dtype` and `--index-dtype` mean? Names of vLLM,
// SGLang, llama.cpp and plain types, each a storage scheme applied to every cache it concerns. `auto` keeps
// what the model's reader chose: it never copies how the weights are quantised.
#pragma once

#include <kvcap/fold.hpp>
#include <kvcap/io/diagnosis.hpp>
#include <kvcap/io/nearest.hpp>
#include <kvcap/message.hpp>
#include <kvcap/quant/schemes.hpp>

namespace kvcap::inline v1 {

struct StoredFormats {
    std::string kv = "auto";
    std::string state = "auto";
    std::string index = "auto";
    std::string conv = "auto";  ///< convolution states; auto: as `state` says
};

namespace io {

template <class Q>
constexpr LayerForm store_with(const Q& scheme, const LayerForm& form) noexcept {
    return scheme.store(form);
}

/// DeepSeek-V4's entry: 448 fp8, 64 bf16 (rope), 8 bytes of scales; V3.2's as FlashMLA lays it out.
inline LayerForm store_ds_mla(const LayerForm& form) noexcept {
    const bool whole = form.kind == Kind::latent && form.streams.size() == 1 && form.streams[0].width == 512;
    return whole ? Stored{{.elems = 512, .bytes = 584}}.store(form) : Fp8DsMla{}.store(form);
}

struct KvScheme {
    std::string_view name;
    LayerForm (*store)(const LayerForm&) noexcept;
    LayerForm (*scales)(const LayerForm&) noexcept = nullptr;
    std::string_view note{};
};

template <ElementFormat format>
LayerForm plain(const LayerForm& form) noexcept {
    return Stored{format}.store(form);
}
template <u32 key_bits, u32 value_bits>
LayerForm turbo(const LayerForm& form) noexcept {
    return TurboQuant{key_bits, value_bits}.store(form);
}
template <bool per_head>
LayerForm one_byte_scales(const LayerForm& form) noexcept {
    return OneByte{per_head}.scales(form);
}

inline constexpr std::string_view weights_hold_scales =
    "one byte an element; the scales of a per-tensor scheme are weights, not cache";
inline constexpr std::string_view edges_plain =
    "vLLM keeps the first and last two layers of dense models unquantised";

inline constexpr KvScheme kv_schemes[] = {
    {"bf16", plain<bf16>},
    {"bfloat16", plain<bf16>},
    {"f16", plain<f16>},
    {"fp16", plain<f16>},
    {"float16", plain<f16>},
    {"half", plain<f16>},
    {"f32", plain<f32>},
    {"fp32", plain<f32>},
    {"float32", plain<f32>},
    {"fp8", plain<fp8>, nullptr, weights_hold_scales},
    {"fp8_e4m3", plain<fp8>, nullptr, weights_hold_scales},
    {"fp8_e5m2", plain<fp8>},
    {"fp8_inc", plain<fp8>, nullptr, weights_hold_scales},
    {"float8_e4m3fn", plain<fp8>, nullptr, weights_hold_scales},
    {"int8", plain<int8>, nullptr, weights_hold_scales},
    {"int4", plain<int4>},
    {"fp8_per_tensor", plain<fp8>, one_byte_scales<false>},
    {"int8_per_tensor", plain<int8>, one_byte_scales<false>},
    {"fp8_per_head", plain<fp8>, one_byte_scales<true>},
    {"fp8_per_token_head", [](const LayerForm& f) noexcept { return fp8_per_token_head.store(f); }},
    {"int8_per_token_head", [](const LayerForm& f) noexcept { return int8_per_token_head.store(f); }},
    {"int4_per_token_head", [](const LayerForm& f) noexcept { return Int4PerTokenHead{}.store(f); }},
    {"fp8_ds_mla", store_ds_mla},
    {"nvfp4", plain<nvfp4>},
    {"nvfp4_4over6", plain<nvfp4>},  // vLLM 0.28: the same bytes, other scales
    {"fp4_e2m1", plain<nvfp4>},      // SGLang 0.5.10: the same bytes
    {"mxfp4", plain<mxfp4>},
    {"mxfp8", plain<mxfp8>},
    {"turboquant_k8v4", turbo<8, 4>, nullptr, edges_plain},
    {"turboquant_4bit_nc", turbo<4, 4>, nullptr, edges_plain},
    {"turboquant_k3v4_nc", turbo<3, 4>, nullptr, edges_plain},
    {"turboquant_3bit_nc", turbo<3, 3>, nullptr, edges_plain},
    {"q8_0", plain<ggml::q8_0>},
    {"q5_1", plain<ggml::q5_1>},
    {"q5_0", plain<ggml::q5_0>},
    {"q4_1", plain<ggml::q4_1>},
    {"q4_0", plain<ggml::q4_0>},
    {"iq4_nl", plain<ggml::iq4_nl>},
};

struct NamedFormat {
    std::string_view name;
    ElementFormat format;
};

inline constexpr NamedFormat state_formats[] = {
    {"bf16", bf16}, {"bfloat16", bf16}, {"f16", f16},  {"fp16", f16},    {"float16", f16},
    {"half", f16},  {"f32", f32},       {"fp32", f32}, {"float32", f32}, {"fp8", fp8},
};
/// fp8 with an fp32 scale per 128 (132 bytes for 128), mxfp4 (68).
inline constexpr NamedFormat index_formats[] = {
    {"bf16", bf16},
    {"bfloat16", bf16},
    {"f16", f16},
    {"fp16", f16},
    {"float16", f16},
    {"f32", f32},
    {"fp32", f32},
    {"float32", f32},
    {"fp8", fp8_scale_per_128},
    {"fp8_128", fp8_scale_per_128},
    {"mxfp4", mxfp4},
    {"fp4", mxfp4},
};

template <class Table>
const auto* find_named(const Table& table, std::string_view name) noexcept {
    for (const auto& each : table) {
        if (each.name == name) {
            return &each;
        }
    }
    return static_cast<decltype(&table[0])>(nullptr);
}

template <class Table>
Problem unknown_name(const char* flag, const std::string& name, const Table& table) {
    std::vector<std::string_view> names{"auto"};
    std::string all = "auto";
    for (const auto& each : table) {
        names.push_back(each.name);
        (all += ", ") += each.name;
    }
    const std::string near = nearest(name, names);
    return {Trouble::invalid, flag, '"' + name + '"', "one of " + all,
            near.empty() ? "" : "nearest: " + near};
}

inline void store_states(LayerForm& form, ElementFormat format, bool& kept) noexcept {
    for (Stream& stream : form.streams) {
        const bool state = stream.role == Role::state && form.kind == Kind::kda;
        if ((stream.role == Role::state || stream.role == Role::conv) && form.kind != Kind::compressor &&
            !state) {
            stream.format = format;
        }
        kept = kept || state;
    }
}

inline void store_conv(LayerForm& form, ElementFormat format) noexcept {
    for (Stream& stream : form.streams) {
        stream.format = stream.role == Role::conv ? format : stream.format;
    }
}

inline void store_index(LayerForm& form, ElementFormat format) noexcept {
    for (Stream& stream : form.streams) {
        if (stream.role == Role::index) {
            const bool narrow = format == fp8_scale_per_128 && stream.width % 128 != 0;
            stream.format =
                narrow ? ElementFormat{stream.width,
                                       stream.width + 4 * static_cast<u32>(ceil_div(stream.width, 128))}
                       : format;
        }
    }
}

inline Problem not_storable(const Error& error, const char* flag, const std::string& name) {
    char text[160];
    return {Trouble::invalid,
            flag,
            name + ": " + message(error, text, sizeof text),
            "a format whose blocks divide the widths",
            {}};
}

inline bool has_latents(const ModelSpec& model) noexcept {
    for (const LayerForm& form : model.forms) {
        if (form.kind == Kind::latent) {
            return true;
        }
    }
    return false;
}

/// KIVI's caches: what is packed keeps all but the youngest tokens.
inline bool is_residual(const ModelSpec& model) noexcept {
    for (const LayerForm& form : model.forms) {
        if (form.retention.lag != 0) {
            return true;
        }
    }
    return false;
}

/// Each cache restored by `rule`, with its scales (if any) behind it.
template <class Rule>
Result<ModelSpec> rebuilt(const ModelSpec& model, const KvScheme* kv, Rule rule) {
    ModelSpec stored{};
    stored.layers = model.layers;
    stored.draft_layers = model.draft_layers;
    stored.query_heads = model.query_heads;
    for (const Cache& cache : model.caches) {
        const LayerForm form = rule(model.form_of(cache));
        Errc code = stored.add(cache.layer, form);
        if (code == Errc::ok && kv != nullptr && kv->scales != nullptr &&
            is_attention(form.streams[0].role)) {
            code = stored.add(cache.layer, kv->scales(form));
        }
        if (code != Errc::ok) {
            return Error{.code = code,
                         .layer = cache.layer,
                         .got = stored.caches.size(),
                         .want = stored.caches.capacity()};
        }
        if (const Result<BytesPerSlot> each = bytes_per_slot(form); !each) {
            Error wrong = each.error();
            wrong.layer = cache.layer;
            return wrong;
        }
    }
    return stored;
}

}  // namespace io

/// The model with its caches stored as the names say.
inline Diagnosed<ModelSpec> stored_as(const ModelSpec& model, const StoredFormats& names) {
    const io::KvScheme* kv = io::find_named(io::kv_schemes, names.kv);
    const io::NamedFormat* state = io::find_named(io::state_formats, names.state);
    const io::NamedFormat* conv = io::find_named(io::state_formats, names.conv);
    const io::NamedFormat* index = io::find_named(io::index_formats, names.index);
    if (kv == nullptr && names.kv != "auto") {
        return io::unknown_name("--kv-cache-dtype", names.kv, io::kv_schemes);
    }
    if (state == nullptr && names.state != "auto") {
        return io::unknown_name("--state-dtype", names.state, io::state_formats);
    }
    if (conv == nullptr && names.conv != "auto") {
        return io::unknown_name("--conv-dtype", names.conv, io::state_formats);
    }
    if (index == nullptr && names.index != "auto") {
        return io::unknown_name("--index-dtype", names.index, io::index_formats);
    }
    if (names.kv == "fp8_ds_mla" && !io::has_latents(model)) {
        return Problem{Trouble::invalid, "--kv-cache-dtype", "fp8_ds_mla for a model without latents",
                       "MLA: the layout packs a latent of 512 and its rope key", "fp8 is the plain format"};
    }
    if (kv != nullptr && io::is_residual(model)) {
        return Problem{Trouble::invalid, "--kv-cache-dtype", names.kv + " for caches of KIVI",
                       "auto: what is packed and what stays whole have formats of their own", {}};
    }
    bool kda = false;
    const Result<ModelSpec> stored = io::rebuilt(model, kv, [&](LayerForm form) {
        form = kv == nullptr ? form : kv->store(form);
        if (state != nullptr) {
            io::store_states(form, state->format, kda);
        }
        if (conv != nullptr) {
            io::store_conv(form, conv->format);
        }
        if (index != nullptr) {
            io::store_index(form, index->format);
        }
        return form;
    });
    if (!stored) {
        return kv != nullptr      ? io::not_storable(stored.error(), "--kv-cache-dtype", names.kv)
               : index != nullptr ? io::not_storable(stored.error(), "--index-dtype", names.index)
               : state != nullptr ? io::not_storable(stored.error(), "--state-dtype", names.state)
               : conv != nullptr  ? io::not_storable(stored.error(), "--conv-dtype", names.conv)
                                  : io::not_storable(stored.error(), "model", "its own formats");
    }
    Diagnosed<ModelSpec> result{*stored};
    if (kv != nullptr) {
        result.notes.push_back({Origin::given, "--kv-cache-dtype", names.kv});
        if (!kv->note.empty()) {
            result.notes.push_back({Origin::derived, "--kv-cache-dtype", std::string{kv->note}});
        }
    }
    if (kda) {
        result.notes.push_back(
            {Origin::derived, "--state-dtype", "KDA states stay in fp32 whatever the option (vLLM)"});
    }
    return result;
}

}  // namespace kvcap::inline v1
