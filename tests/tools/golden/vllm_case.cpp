// SPDX-License-Identifier: MIT
// Layer types of vLLM's golden cases as forms, and reported specs as they are.
#include "vllm.hpp"

#include <algorithm>

namespace golden {

namespace {

using vllm::FormFacts;
using vllm::KvDtype;
using vllm::Spec;
using vllm::SpecKind;

u32 dtype_bytes(const std::string& name) {
    if (name == "bfloat16" || name == "float16") {
        return 2;
    }
    if (name == "float32") {
        return 4;
    }
    if (name == "fp8" || name == "uint8" || name == "int8" || name.rfind("fp8_", 0) == 0 ||
        name.rfind("float8", 0) == 0) {
        return 1;
    }
    throw std::runtime_error("a known dtype, not " + name);
}

KvDtype kv_dtype(const std::string& name) {
    KvDtype dtype{};
    if (!vllm::dtype_named(name.c_str(), dtype)) {
        throw std::runtime_error("a known KV dtype, not " + name);
    }
    return dtype;
}

u32 number_for(const std::string& text) {
    u32 hash = 2166136261u;
    for (const char c : text) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    }
    return hash | 2u;
}

LayerForm heads_form(const StrictObject& type, ElementFormat format) {
    const u32 head_dim = type.get<u32>("head_dim");
    return Gqa{.kv_heads = type.get<u32>("total_kv_heads"), .head_dim = head_dim,
               .value_dim = type.get<u32>("head_dim_v", head_dim), .format = format}.forms()[0];
}

/// Inner width as given: it need not be heads x head_dim.
LayerForm mamba2_form(const StrictObject& type) {
    const u32 conv = type.get<u32>("conv");
    const u32 state = type.get<u32>("state");
    Stream groups = conv_of(type.get<u32>("n_groups"), conv, bf16, Split::groups);
    groups.width = 2 * state;
    return form_of(Kind::mamba2, last_only, conv_of(type.get<u32>("intermediate"), conv, bf16), groups,
                   matrix_state(type.get<u32>("heads"), type.get<u32>("head_dim"), state, bf16));
}

LayerForm state_form(const std::string& kind, const StrictObject& type) {
    if (kind == "mamba1") {
        return Mamba1{.inner = type.get<u32>("intermediate"), .state_dim = type.get<u32>("state"),
                      .kernel = type.get<u32>("conv")}.forms()[0];
    }
    if (kind == "mamba2") {
        return mamba2_form(type);
    }
    if (kind == "gdn") {
        return GatedDelta{.key_heads = type.get<u32>("k_heads"), .key_dim = type.get<u32>("k_head_dim"),
                          .value_heads = type.get<u32>("v_heads"), .value_dim = type.get<u32>("v_head_dim"),
                          .kernel = type.get<u32>("conv")}.forms()[0];
    }
    if (kind == "kda") {
        return Kda{.heads = type.get<u32>("heads"), .head_dim = type.get<u32>("head_dim"),
                   .kernel = type.get<u32>("conv")}.forms()[0];
    }
    if (kind == "linear") {
        return lightning(type.get<u32>("heads"), type.get<u32>("head_dim")).forms()[0];
    }
    if (kind == "short_conv") {
        return short_conv(type.get<u32>("intermediate"), type.get<u32>("conv")).forms()[0];
    }
    throw std::runtime_error("a known layer kind, not " + kind);
}

LayerForm type_form(const std::string& kind, const StrictObject& type, ElementFormat format) {
    const bool latent = kind == "mla" || kind == "sliding_window_mla";
    LayerForm form{};
    if (latent) {
        form = form_of(Kind::latent, {.stride = type.get<u32>("compress_ratio", 1)},
                       Stream{.role = Role::latent, .width = type.get<u32>("head_dim"), .format = format});
    } else if (kind == "full_attention" || kind == "sliding_window" || kind == "chunked_local" ||
               kind == "cross_attention" || kind == "sink_full") {
        form = heads_form(type, format);
    } else {
        return state_form(kind, type);
    }
    form.retention.span = {type.get<u64>(kind == "chunked_local" ? "chunk" : "window", 0)};
    form.retention.sinks = {type.get<u64>("sink_len", 0)};
    if (kind == "cross_attention") {
        form.retention.source = Source::encoder;
    }
    form.retention.keep = kind == "chunked_local"                                       ? Keep::chunk
                          : kind == "sliding_window" || kind == "sliding_window_mla" ? Keep::window
                                                                                        : Keep::everything;
    return form;
}

/// What a layer type fixes besides its form.
FormFacts type_facts(const std::string& kind, const StrictObject& type, KvDtype engine) {
    FormFacts facts{.block = type.get<u32>("block_size", 0), .cell = type.get<u64>("bytes_per_entry", 0),
                    .align = type.get<u32>("alignment", 0), .own_format = type.has("dtype")};
    const auto version = type.get<std::string>("model_version", "");
    facts.version = version.empty() ? 0 : version == "deepseek_v4" ? vllm::deepseek_v4 : number_for(version);
    const auto tag = type.get<std::string>("cache_dtype_str", "");
    facts.tag = tag.empty() ? 0 : number_for(tag);
    if (type.has("kv_dtype")) {
        facts.own_dtype = true;
        facts.dtype = kv_dtype(type.get<std::string>("kv_dtype"));
    }
    if (type.has("page_by_stride")) {
        facts.strides =
            type.get<bool>("page_by_stride") ? vllm::Strides::readable : vllm::Strides::unreadable;
    }
    const bool plain_latent = kind == "mla" || kind == "sliding_window_mla";
    if (plain_latent && engine == KvDtype::fp8_ds_mla && facts.cell == 0 && !facts.own_format &&
        tag != "fp8_ds_mla") {
        facts.cell = type.get<u64>("head_dim");
    }
    return facts;
}

void read_types(const StrictObject& model, VllmCase& to) {
    const Json skipped = model.has("skip_quant_types") ? model.at("skip_quant_types") : Json::array();
    for (const auto& [name, json] : model.at("layer_types").items()) {
        const StrictObject type{json};
        const auto kind = type.get<std::string>("kind");
        const u32 bytes = dtype_bytes(type.get<std::string>("dtype", to.model_dtype));
        const LayerForm form = type_form(kind, type, {.elems = 1, .bytes = bytes});
        FormFacts facts = type_facts(kind, type, to.options.kv_dtype);
        facts.unquantised = std::find(skipped.begin(), skipped.end(), Json(name)) != skipped.end();
        if (!to.model.forms.push(form) || !to.options.facts.push(facts)) {
            throw std::runtime_error("at most 32 layer types");
        }
        to.types.push_back(name);
        type.done("a layer type");
    }
}

void read_caches(const StrictObject& model, VllmCase& to) {
    to.model.layers = model.get<u32>("num_layers");
    model.ignore("kv_shared");
    u32 last = to.model.layers;
    for (const Json& json : model.at("caches")) {
        const auto name = json.get<std::string>();
        const auto colon = name.find(':');
        const auto type = std::find(to.types.begin(), to.types.end(), name.substr(colon + 1));
        const u32 layer = static_cast<u32>(std::stoul(name.substr(0, colon)));
        if (colon == std::string::npos || type == to.types.end() ||
            !to.model.caches.push({static_cast<u16>(layer), static_cast<u16>(type - to.types.begin())})) {
            throw std::runtime_error("a cache of a known type, not " + name);
        }
        last = std::max(last, layer + 1);
        to.caches.push_back(name);
    }
    to.model.draft_layers = last - to.model.layers;
}

void read_kernel_blocks(const StrictObject& engine, vllm::Options& options) {
    options.kernel_blocks.count = 0;
    for (const Json& json : engine.at("kernel_block_sizes")) {
        const bool multiple = json.is_object();
        const u32 tokens = multiple ? json.at("multiple_of").get<u32>() : json.get<u32>();
        if (!options.kernel_blocks.push({.tokens = tokens, .multiple = multiple})) {
            throw std::runtime_error("at most 8 kernel block sizes");
        }
    }
}

u32 optional_bytes(const std::string& dtype) { return dtype == "auto" ? 0 : dtype_bytes(dtype); }

}  // namespace

VllmCase vllm_case(const StrictObject& engine, const StrictObject& model) {
    VllmCase to;
    vllm::Options& options = to.options;
    to.model_dtype = engine.get<std::string>("model_dtype");
    to.conv_dtype = engine.get<std::string>("mamba_cache_dtype", "auto");
    to.ssm_dtype = engine.get<std::string>("mamba_ssm_cache_dtype", "auto");
    options.model_bytes = dtype_bytes(to.model_dtype);
    options.conv_bytes = optional_bytes(to.conv_dtype);
    options.conv_bytes = options.conv_bytes == 0 ? options.model_bytes : options.conv_bytes;
    options.ssm_bytes = optional_bytes(to.ssm_dtype);
    options.kv_dtype = kv_dtype(engine.get<std::string>("kv_dtype"));
    to.sharding = {.tp = engine.get<u32>("tp"), .pp = engine.get<u32>("pp"), .cp = engine.get<u32>("dcp", 1)};
    options.max_model_len = engine.get<u64>("max_model_len");
    options.auto_length = engine.get<bool>("auto_fit", false);
    options.max_num_batched_tokens = engine.get<u64>("max_num_batched_tokens");
    options.async_scheduling = engine.get<bool>("async_scheduling", false);
    options.prefix_caching = engine.get<bool>("prefix_caching");
    options.block_size = engine.get<u32>("block_size_requested", 0);
    options.num_blocks_override = engine.get<u64>("num_blocks_override", 0);
    options.hybrid_manager = engine.get<bool>("hybrid_manager");
    options.cross_layer_blocks = engine.get<bool>("cross_layer_blocks", false);
    options.encoder_tokens = engine.get<u64>("encoder_tokens", 0);
    options.state_chunk = engine.get<u32>("mamba_chunk", 256);
    options.spec_tokens = engine.get<u32>("num_spec_tokens", 0);
    options.multi_module_mtp = engine.get<bool>("multi_module_mtp", false);
    options.by_stride = engine.get<bool>("page_by_stride", true);
    if (engine.has("mamba_cache_mode") &&
        !vllm::mode_named(engine.get<std::string>("mamba_cache_mode").c_str(), options.mode)) {
        throw std::runtime_error("a known state mode");
    }
    engine.ignore("backend");
    read_kernel_blocks(engine, options);
    read_types(model, to);
    read_caches(model, to);
    model.done("the model");
    return to;
}

vllm::Spec vllm_spec(const Json& json, std::vector<Json>& shapes) {
    const StrictObject one{json};
    Spec spec{};
    const auto kind = one.get<std::string>("kind");
    while (kind != vllm::name_of(spec.kind)) {
        if (spec.kind == SpecKind::hidden) {
            throw std::runtime_error("a known spec kind, not " + kind);
        }
        spec.kind = static_cast<SpecKind>(static_cast<int>(spec.kind) + 1);
    }
    spec.block = one.get<u64>("block_size");
    spec.padded = one.get<u64>("page_bytes_padded_to", 0);
    if (spec.kind == SpecKind::state) {
        const Json& shape = one.at("state_shapes");
        const auto seen = std::find(shapes.begin(), shapes.end(), shape);
        spec.origin = static_cast<u32>(seen - shapes.begin());
        if (seen == shapes.end()) {
            shapes.push_back(shape);
        }
        for (std::size_t i = 0; i < shape.size(); ++i) {
            u64 bytes = dtype_bytes(one.at("state_dtypes").at(i).get<std::string>());
            for (const Json& n : shape[i]) {
                bytes *= n.get<u64>();
            }
            spec.state_bytes += bytes;
        }
        spec.spec_blocks = one.get<u32>("spec_blocks");
        if (!vllm::mode_named(one.get<std::string>("cache_mode").c_str(), spec.mode)) {
            throw std::runtime_error("a known state mode");
        }
        return spec;
    }
    spec.heads = one.get<u32>("kv_heads_local");
    spec.key_dim = one.get<u32>("head_dim");
    spec.value_dim = one.get<u32>("head_dim_v");
    spec.dtype_bytes = static_cast<u8>(dtype_bytes(one.get<std::string>("dtype")));
    if (const auto mode = one.get<std::string>("quant_mode", ""); !mode.empty()) {
        spec.quant = mode == "fp8_per_tensor" ? KvDtype::fp8 : kv_dtype(mode);
    }
    spec.by_stride = one.get<bool>("pad_by_stride", false);
    spec.slots = one.get<u32>("head_slots", spec.heads);
    spec.cell = one.get<u64>("bytes_per_slot_entry", u64{spec.key_dim + spec.value_dim} * spec.dtype_bytes);
    spec.ratio = one.get<u32>("compress_ratio", 1);
    spec.align = one.get<u32>("alignment", 0);
    spec.window = one.get<u64>("window", 0);
    spec.chunk = one.get<u64>("chunk", 0);
    spec.sinks = one.get<u64>("sink_len", 0);
    return spec;
}

}  // namespace golden
