// SPDX-License-Identifier: MIT
// SGLang golden cases: from the case's model and options to kvcap's values.
#include "sglang.hpp"

#include <cstdio>

namespace golden {

using namespace kvcap;

namespace {

/// [[kind, count], ...] as one name a layer.
std::vector<std::string> layers_of(const Json& runs) {
    std::vector<std::string> layers;
    for (const Json& run : runs) {
        layers.insert(layers.end(), run.at(1).get<std::size_t>(), run.at(0).get<std::string>());
    }
    return layers;
}

LayerForms state_forms(const StrictObject& state) {
    const StrictObject params{state.at("params")};
    const auto number = [&](const char* key, u32 otherwise = 0) { return params.get<u32>(key, otherwise); };
    LayerForms forms;
    if (state.get<std::string>("type") == "kda") {
        const u32 heads = number("num_heads");
        const u32 dim = number("head_dim");
        const u32 kernel = number("conv_kernel_size", 4);
        const u32 keys = number("num_k_heads", heads) * number("head_k_dim", dim);
        forms = forms_of(form_of(Kind::kda, last_only, conv_of(heads * dim, kernel, bf16),
                                 conv_of(2 * keys, kernel, bf16), matrix_state(heads, dim, dim, f32)));
    } else {
        const u32 kernel = number("conv_kernel");
        const u32 width = number("state_size");
        Stream b_and_c = conv_of(number("n_groups"), kernel, bf16, Split::groups);
        b_and_c.width = 2 * width;
        forms = forms_of(form_of(Kind::mamba2, last_only, conv_of(number("intermediate_size"), kernel, bf16),
                                 b_and_c, matrix_state(number("num_heads"), number("head_dim"), width, f32)));
    }
    params.done("params");
    return forms;
}

bool contains(const Json& list, std::size_t layer) {
    for (const Json& item : list) {
        if (item.get<std::size_t>() == layer) {
            return true;
        }
    }
    return false;
}

/// Index keys of a MiniMax layer: one vector, or keys and values.
LayerForms index_forms(const StrictObject& sparse, std::size_t layer) {
    const Stream index{.role = Role::index, .width = sparse.get<u32>("index_dim")};
    if (!contains(sparse.at("sparse"), layer)) {
        return LayerForms{};
    }
    return contains(sparse.at("k_only"), layer) ? forms_of(form_of(Kind::index, {}, index))
                                                : forms_of(form_of(Kind::index, {}, index, index));
}

LayerForms full_forms(const StrictObject& model) {
    if (model.has("kv_lora_rank")) {
        return SparseMla{.latent = model.get<u32>("kv_lora_rank"), .rope = model.get<u32>("qk_rope_head_dim"),
                         .index_dim = model.get<u32>("index_head_dim", 0)}
            .forms();
    }
    const u32 dim = model.get<u32>("head_dim");
    return Gqa{model.get<u32>("kv_heads"), dim, model.get<u32>("v_head_dim", dim)}.forms();
}

LayerForms window_forms(const StrictObject& model) {
    const u32 full = model.get<u32>("head_dim");
    const u32 dim = model.get<u32>("window_head_dim", full);
    const u32 value = model.get<u32>("window_v_head_dim",
                                     model.has("window_head_dim") ? dim : model.get<u32>("v_head_dim", full));
    const Gqa heads{model.get<u32>("window_kv_heads", model.get<u32>("kv_heads")), dim, value};
    const Tokens span{model.get<u64>("window")};
    return model.get<bool>("chunked_local", false) ? Chunked{heads, span}.forms()
                                                   : Windowed{heads, span}.forms();
}

LayerForms compressed_forms(const StrictObject& model, std::size_t layer) {
    const u32 ratio = model.at("compress_ratios").at(layer).get<u32>();
    return CompressedLatent{.latent = model.get<u32>("qk_nope_head_dim") + model.get<u32>("qk_rope_head_dim"),
                            .window = model.get<u32>("window"), .ratio = ratio,
                            .index_dim = ratio == 4 ? model.get<u32>("index_head_dim") : 0}
        .forms();
}

LayerForms layer_forms(const StrictObject& model, const std::string& kind, std::size_t layer) {
    if (model.get<bool>("v4", false)) {
        return compressed_forms(model, layer);
    }
    if (kind == "full") {
        return full_forms(model);
    }
    if (kind == "window") {
        return window_forms(model);
    }
    if (kind == "state") {
        const StrictObject state{model.at("state")};
        state.ignore("conv_dtype");
        state.ignore("state_dtype");
        const LayerForms forms = state_forms(state);
        state.done("state");
        return forms;
    }
    if (kind != "none") {
        throw std::runtime_error("a known layer kind, not " + kind);
    }
    return LayerForms{};
}

ElementFormat format_of(const std::string& name) {
    return name == "fp32" || name == "float32" ? f32 : bf16;
}

}  // namespace

ModelSpec sglang_model(const StrictObject& model) {
    const std::vector<std::string> layers = layers_of(model.at("layer_kinds"));
    if (layers.size() != model.get<std::size_t>("num_layers")) {
        throw std::runtime_error("as many layer kinds as layers");
    }
    ModelSpec spec{};
    spec.layers = static_cast<u32>(layers.size());
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
        const u32 at = static_cast<u32>(layer);
        Errc code = spec.add(at, layer_forms(model, layers[layer], layer));
        if (code == Errc::ok && model.has("sparse")) {
            code = spec.add(at, index_forms(StrictObject{model.at("sparse")}, layer));
        }
        if (code != Errc::ok) {
            throw std::runtime_error("a model of at most 512 caches");
        }
    }
    return spec;
}

void apply_sglang_model(const StrictObject& model, sglang::Options& to) {
    // Geometry of layer kinds that a model does not have may be given all the same.
    for (const char* key : {"name", "note", "asym", "kv_heads", "head_dim", "v_head_dim", "window",
                            "window_effective", "window_kv_heads", "window_head_dim", "window_v_head_dim",
                            "kv_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "index_head_dim",
                            "chunked_local", "compress_ratios"}) {
        model.ignore(key);
    }
    to.context = model.get<u64>("context_len", to.context);
    to.window_pool = model.get<bool>("hybrid_window", false) || model.get<bool>("v4", false);
    to.effective_window = model.get<u64>("window_effective", 0);
    if (to.window_pool && model.get<bool>("v4", false)) {
        to.window_ratio = 0.1;
        to.rope = model.get<u32>("qk_rope_head_dim");
    }
    if (model.has("state")) {
        const Json& state = model.at("state");
        to.conv_format = format_of(state.value("conv_dtype", "bf16"));
        to.state_format = format_of(state.value("state_dtype", "fp32"));
    }
}

sglang::KvDtype sglang_dtype(const std::string& name) {
    using sglang::KvDtype;
    return name == "bf16" ? KvDtype::bf16 : name == "fp8" ? KvDtype::fp8 : name == "mxfp8" ? KvDtype::mxfp8
         : name == "fp4" ? KvDtype::fp4 : throw std::runtime_error("a known dtype, not " + name);
}

std::string two_decimals_gib(u64 bytes) {
    char text[64];
    std::snprintf(text, sizeof text, "%.2f", static_cast<double>(bytes) / bytes_per_gib);
    return text;
}

void apply_sglang_options(const StrictObject& given, sglang::Options& to) {
    using namespace kvcap::sglang;
    to.max_total_tokens = given.get<u64>("max_total_tokens", to.max_total_tokens);
    to.max_running_requests = given.get<u64>("max_running_requests", to.max_running_requests);
    to.max_state_slots = given.get<u64>("max_state_slots", to.max_state_slots);
    to.window_ratio = given.get<double>("window_to_full_ratio", to.window_ratio);
    to.state_ratio = given.get<double>("state_to_full_ratio", to.state_ratio);
    to.chunked_prefill = given.get<u64>("chunked_prefill", to.chunked_prefill);
    to.overlap = !given.get<bool>("disable_overlap", false);
    to.prefix_cache = !given.get<bool>("disable_prefix_cache", false);
    to.raw_latent_rows = given.get<std::string>("dsa_backend", "") == "trtllm";
    to.fp4 = given.get<std::string>("fp4_kind", "nvfp4") == "nvfp4" ? Fp4::nvfp4 : Fp4::mx_block16;
    const auto strategy = given.get<std::string>("state_strategy", "no_buffer");
    to.states = strategy == "extra_buffer"        ? StateStrategy::extra_buffer
                : strategy == "extra_buffer_lazy" ? StateStrategy::extra_buffer_lazy
                                                  : StateStrategy::no_buffer;
    const auto algorithm = given.get<std::string>("spec_algorithm", "");
    to.speculation = {.draft = algorithm.empty()       ? Draft::none
                               : algorithm == "DFLASH" ? Draft::dflash
                                                       : Draft::eagle,
                      .layers = given.get<u32>("draft_layers", 0),
                      .tokens = given.get<u32>("draft_tokens", 0),
                      .steps = given.get<u32>("draft_steps", 1),
                      .topk = given.get<u32>("draft_topk", 1)};
}

}  // namespace golden
