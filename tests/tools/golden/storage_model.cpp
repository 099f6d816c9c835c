// SPDX-License-Identifier: MIT
// Whole models in the words of sizing projects. Each tool's own omissions are its own: what it does not store (scales
// of packed rows, the overlap of compressors) is not stored here either.
#include "storage.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <vector>

namespace golden {

using namespace kvcap;

namespace {

/// The first of several names that is a positive whole number.
std::optional<u64> first_of(const Json& config, std::initializer_list<const char*> names) {
    for (const char* name : names) {
        const auto at = config.find(name);
        if (at != config.end() && at->is_number_integer() && at->get<long long>() > 0) {
            return at->get<u64>();
        }
    }
    return std::nullopt;
}

u64 need(std::optional<u64> value, const char* what) {
    if (!value) {
        throw std::runtime_error(std::string{"a number for "} + what);
    }
    return *value;
}

/// Hugging Face's older and newer names of the same sizes.
struct Geometry {
    u64 layers = 0;
    u64 kv_heads = 0;
    u64 head_dim = 0;
};

Geometry geometry_of(const Json& config) {
    Geometry g;
    g.layers = need(first_of(config, {"num_hidden_layers", "n_layer", "n_layers", "num_layers"}), "layers");
    const u64 heads = need(first_of(config, {"num_attention_heads", "n_head", "n_heads", "num_heads"}), "heads");
    const bool one_head = config.value("multi_query", false) && !config.value("new_decoder_architecture", false);
    const auto given = first_of(config, {"num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num"});
    g.kv_heads = one_head ? 1 : given.value_or(heads);
    const auto width = first_of(config, {"head_dim", "kv_channels"});
    const auto hidden = first_of(config, {"hidden_size", "n_embd", "n_embed", "d_model"});
    g.head_dim = width ? *width : need(hidden, "the hidden size") / heads;
    return g;
}

struct Builder {
    const StrictObject& in;
    StoredModel model{};

    u32 number(const char* name, u32 otherwise = 0) const { return in.get<u32>(name, otherwise); }
    u32 either(const char* name, const char* other) const { return number(name, number(other)); }
    ElementFormat format(const char* name, u32 otherwise) const {
        return {.elems = 1, .bytes = number(name, otherwise)};
    }
    /// Layers whose sizes the vector does not give, as it asks about others, keep nothing.
    template <class Policy>
    void add(u64 count, const Policy& policy) {
        const bool sized = policy.forms()[0].elements() != 0;
        for (u64 i = 0; i < count; ++i) {
            if (model.spec.add(model.spec.layers++, sized ? policy.forms() : LayerForms{}) != Errc::ok) {
                throw std::runtime_error("a model that fits");
            }
        }
    }
};

/// DeepSeek-V4 as this tool counts it: window, entries and index keys (half a byte an element), and decode buffers of
/// 2 x ratio (x 2 where blocks overlap) fp32 vectors.
void add_compressed(Builder& b) {
    const u32 width = b.number("head_dim");
    const u32 index = b.number("index_head_dim");
    const ElementFormat element = b.format("dtype_bytes", 1);
    const auto buffer = [](u64 vectors, u32 each) {
        return form_of(Kind::compressor, last_only,
                       Stream{.role = Role::state, .rows = static_cast<u16>(vectors), .width = each, .format = f32});
    };
    for (const auto& [text, count] : b.in.at("layers_by_compress_ratio").items()) {
        const u32 ratio = static_cast<u32>(std::stoul(text));
        LayerForms forms = CompressedLatent{.latent = width, .window = b.number("window"), .ratio = ratio,
                                            .index_dim = ratio == 4 ? index : 0, .format = element,
                                            .index_format = int4}.forms();
        u32 kept = 0;
        for (const LayerForm& form : forms) {
            if (form.kind != Kind::compressor) {
                forms[kept++] = form;
            }
        }
        forms.count = kept;
        if (ratio != 0) {
            const u64 overlap = ratio == 4 ? 2 : 1;
            static_cast<void>(forms.push(buffer(2 * ratio * overlap, width)));
            if (ratio == 4) {
                static_cast<void>(forms.push(buffer(2 * ratio * overlap, index)));
            }
        }
        for (u64 i = 0; i < count.get<u64>(); ++i) {
            static_cast<void>(b.model.spec.add(b.model.spec.layers++, forms));
        }
    }
}

void add_latent(Builder& b, u64 layers) {
    const ElementFormat element = b.format("dtype_bytes", 2);
    const u32 index = b.number("index_head_dim");
    const ElementFormat latent = b.format("latent_dtype_bytes", element.bytes);
    const ElementFormat rope = b.format("rope_dtype_bytes", element.bytes);
    const LayerForm kept = form_of(
        Kind::latent, {}, Stream{.role = Role::latent, .width = b.number("kv_lora_rank"), .format = latent},
        Stream{.role = Role::rope, .width = b.in.get<u32>("qk_rope_head_dim"), .format = rope});
    const ElementFormat key{.elems = index == 0 ? 1 : index,
                            .bytes = b.number("indexer_row_bytes", index * element.bytes)};
    struct Forms {
        LayerForms all;
        LayerForms forms() const { return all; }
    };
    b.add(layers, Forms{index == 0 ? forms_of(kept)
                                   : forms_of(IndexKeys{.dim = index, .format = key}.forms()[0], kept)});
}

void add_states(Builder& b, u32 state_bytes) {
    const ElementFormat conv = b.format("conv_dtype_bytes", 2);
    const ElementFormat state = b.format("ssm_dtype_bytes", state_bytes);
    const u32 kernel = b.number("conv_kernel", 4);
    b.add(b.either("gdn_layers", "gdn"),
          GatedDelta{.key_heads = b.either("gdn_k_heads", "k_heads"), .key_dim = b.either("gdn_k_dim", "k_dim"),
                     .value_heads = b.either("gdn_v_heads", "v_heads"), .value_dim = b.either("gdn_v_dim", "v_dim"),
                     .kernel = kernel, .conv_format = conv, .state_format = state});
    b.add(b.either("kda", "kda_layers"), Kda{.heads = b.number("kda_heads"), .head_dim = b.number("kda_head_dim"),
                                             .kernel = kernel, .conv_format = conv, .state_format = state});
    const Mamba2 mamba{.heads = b.either("mamba_num_heads", "mamba_heads"), .head_dim = b.number("mamba_head_dim"),
                       .state_dim = b.either("ssm_state_size", "state_dim"), .groups = b.number("n_groups", 1),
                       .kernel = kernel, .conv_format = conv, .state_format = state};
    b.add(b.either("mamba2", "mamba2_layers"), mamba);
    b.add(b.either("linear", "lightning"), lightning(b.either("linear_heads", "lightning_heads"),
                                                     b.either("linear_head_dim", "lightning_head_dim"), state));
}

void add_attention(Builder& b) {
    const ElementFormat element = b.format("dtype_bytes", 2);
    const u32 heads = b.in.get<u32>("kv_heads", b.number("heads"));
    const u32 hidden = b.number("hidden");
    const u32 width = b.in.get<u32>("head_dim", hidden == 0 ? 0 : hidden / b.in.get<u32>("heads"));
    const u32 windows = b.either("swa_layers", "swa");
    const u32 full = b.in.get<u32>("full_layers", b.in.get<u32>("full", b.in.get<u32>(
        "attention", b.number("layers") > windows ? b.number("layers") - windows : 0)));
    const Gqa plain{.kv_heads = b.number("full_kv_heads", heads), .head_dim = b.number("full_head_dim", width),
                    .format = element};
    const Gqa local{.kv_heads = b.number("swa_kv_heads", heads), .head_dim = b.number("swa_head_dim", width),
                    .format = element};
    b.model.kv_heads = heads;
    b.model.head_dim = width;
    b.add(windows, Windowed{local, Tokens{b.number("window")}});
    b.add(full, plain);
}

}  // namespace

StoredModel stored_model(const StrictObject& in, u32 state_bytes) {
    Builder b{in};
    in.ignore("model");
    const auto kind = in.get<std::string>("attn", "");
    if (!kind.empty() && kind != "mla" && kind != "gqa" && kind != "mha" && kind != "mqa") {
        throw std::runtime_error("attn mla or gqa, not " + kind);
    }
    b.model.sharding = {.tp = b.number("tp", 1), .uneven = Uneven::ceil};
    b.model.tokens = in.get<u64>("tokens", 1);
    if (in.has("config")) {
        const Geometry g = geometry_of(in.at("config"));
        b.add(g.layers, Gqa{.kv_heads = static_cast<u32>(g.kv_heads), .head_dim = static_cast<u32>(g.head_dim),
                            .format = b.format("dtype_bytes", 2)});
        b.model.kv_heads = g.kv_heads;
        b.model.head_dim = g.head_dim;
    } else if (in.has("layers_by_compress_ratio")) {
        add_compressed(b);
    } else if (in.has("kv_lora_rank")) {
        add_latent(b, in.get<u64>("mla", in.get<u64>("layers", 0)));
        add_states(b, state_bytes);
    } else if (in.has("bytes_per_token")) {
        b.add(1, Gqa{.kv_heads = 1, .head_dim = in.get<u32>("bytes_per_token"), .value_dim = 0,
                     .format = {.elems = 2, .bytes = 1}});
        b.add(1, state_of(Kind::state, matrix_state(1, 1, b.number("state_bytes"), fp8)));
    } else {
        add_attention(b);
        add_states(b, state_bytes);
    }
    b.model.layers = b.model.spec.layers;
    const u64 all = in.get<u64>("pattern_layers", 0);
    b.add(all > b.model.spec.layers ? all - b.model.spec.layers : 0, NoCache{});
    return b.model;
}

void compare(const Json& expected, Report& report,
             const std::function<std::optional<Json>(const std::string&)>& value) {
    if (expected.empty()) {
        throw std::runtime_error("something expected");
    }
    for (const auto& [key, want] : expected.items()) {
        const std::optional<Json> got = value(key);
        if (!got) {
            throw std::runtime_error("a value for the field " + key);
        }
        report.equal(key, want, *got);
    }
}

namespace {

Json bytes_json(const Result<Bytes>& bytes) {
    return bytes ? Json(bytes->value) : Json(nullptr);
}

/// A latent without its rope width, or a model without layers or heads: no number, never a guess.
bool says_too_little(const StrictObject& in) {
    const bool described = in.has("config") || in.has("layers_by_compress_ratio") || in.has("bytes_per_token");
    const bool latent = in.has("kv_lora_rank") || in.get<std::string>("attn", "") == "mla";
    const bool heads = in.has("kv_heads") || in.has("heads") || in.has("swa_kv_heads") || in.has("full_kv_heads");
    return !described && (latent ? !in.has("kv_lora_rank") || !in.has("qk_rope_head_dim") : !heads);
}

void run_bytes(const StrictObject& in, const Json& expected, Report& report) {
    if (says_too_little(in)) {
        for (const char* key : {"model", "attn", "layers", "dtype_bytes", "tp", "tokens", "head_dim"}) {
            in.ignore(key);
        }
        return compare(expected, report, [&](const std::string& key) -> std::optional<Json> {
            return key == "error" ? expected.at("error") : Json(nullptr);
        });
    }
    const StoredModel model = stored_model(in);
    const Footprint held = fold(model.spec, {.prompt = {model.tokens}}, model.sharding).value();
    const ModelSpec index = restored(model.spec, [](u32, LayerForm form) noexcept {
        return form.kind == Kind::index ? form : LayerForm{};
    }).value();
    const u64 index_bytes = fold(index, {.prompt = {model.tokens}}, model.sharding).value().growing.value;
    const auto states = [&](u32 bytes) {
        return fold(stored_model(in, bytes).spec, {.prompt = {model.tokens}}, model.sharding).value().state.value;
    };
    compare(expected, report, [&](const std::string& key) -> std::optional<Json> {
        if (key == "bytes_per_rank") return held.total().value;
        if (key == "kv_bytes") {
            const u64 all = (held.growing + held.bounded + held.cross).value;
            return expected.contains("index_bytes") ? all - index_bytes : all;
        }
        if (key == "index_bytes") return index_bytes;
        if (key == "state_bytes") return held.state.value;
        if (key == "state_bytes_ssm_fp32") return states(4);
        if (key == "state_bytes_ssm_bf16") return states(2);
        if (key == "bytes_per_token") return bytes_json(bytes_per_token(model.spec, model.sharding));
        if (key == "layers") return model.layers;
        if (key == "kv_heads") return model.kv_heads;
        if (key == "head_dim") return model.head_dim;
        return std::nullopt;
    });
}

void run_elements(const StrictObject& in, const Json& expected, Report& report) {
    const StoredModel model = stored_model(in);
    const ModelSpec ones = restored(model.spec, [](u32, LayerForm form) noexcept {
        for (Stream& stream : form.streams) {
            stream.format = fp8;
        }
        return form;
    }).value();
    const Footprint held = fold(ones, {.prompt = 1_tok}, model.sharding).value();
    compare(expected, report, [&](const std::string& key) -> std::optional<Json> {
        return key == "elements_per_rank" ? std::optional<Json>{(held.growing + held.bounded).value} : std::nullopt;
    });
}

void run_max_tokens(const StrictObject& in, const Json& expected, Report& report) {
    const StoredModel model = stored_model(in);
    const Result<Tokens> most = longest(model.spec, {in.get<u64>("budget_bytes")}, model.sharding);
    compare(expected, report, [&](const std::string& key) -> std::optional<Json> {
        return key == "max_tokens" ? std::optional<Json>{most ? most->value : 0} : std::nullopt;
    });
}

/// The model against the same with every layer keeping everything.
void run_ratio(const StrictObject& in, const Json& expected, Report& report) {
    const StoredModel model = stored_model(in);
    const ModelSpec full = restored(model.spec, [](u32, LayerForm form) noexcept {
        form.retention = form.retention.keep == Keep::window ? Retention{} : form.retention;
        return form;
    }).value();
    const auto bytes = [&](const ModelSpec& spec) {
        return static_cast<double>(fold(spec, {.prompt = {model.tokens}}, model.sharding).value().total().value);
    };
    const double ratio = bytes(model.spec) / bytes(full);
    for (const auto& [key, want] : expected.items()) {
        const bool bound = key.find("below") != std::string::npos || key.find("max") != std::string::npos ||
                           key.find("less") != std::string::npos;
        if (key.find("ratio") == std::string::npos) {
            throw std::runtime_error("a value for the field " + key);
        }
        const double wanted = want.get<double>();
        if (bound ? ratio >= wanted : std::abs(ratio - wanted) > 5e-5) {
            report.fail(key, want, ratio);
        }
    }
}

/// Which layers have a window: named one by one, or every pattern-th one is full; a bare window says nothing.
void run_layout(const StrictObject& in, const Json& expected, Report& report) {
    Json windows = nullptr;
    Json full = nullptr;
    const u64 window = in.get<u64>("sliding_window", 0);
    if (window != 0 && in.has("layer_types")) {
        const auto types = in.get<std::vector<std::string>>("layer_types");
        const auto count = std::count(types.begin(), types.end(), "sliding_attention");
        windows = count;
        full = static_cast<long long>(types.size()) - count;
    } else if (window != 0 && in.has("sliding_window_pattern") && in.has("num_hidden_layers")) {
        const u64 layers = in.get<u64>("num_hidden_layers");
        full = layers / in.get<u64>("sliding_window_pattern");
        windows = layers - full.get<u64>();
    }
    in.ignore("num_hidden_layers");
    compare(expected, report, [&](const std::string& key) -> std::optional<Json> {
        if (key == "swa_layers") return windows;
        if (key == "full_layers") return full;
        if (key == "window" || key == "sliding_window") return windows.is_null() ? Json(nullptr) : Json(window);
        return std::nullopt;
    });
}

}  // namespace

bool storage_model(const std::string& kind, const StrictObject& in, const Json& expected, Report& report) {
    if (kind == "kv_bytes" || kind == "model_kv") {
        run_bytes(in, expected, report);
    } else if (kind == "kv_elements_per_token") {
        run_elements(in, expected, report);
    } else if (kind == "max_tokens") {
        run_max_tokens(in, expected, report);
    } else if (kind == "kv_ratio") {
        run_ratio(in, expected, report);
    } else if (kind == "swa_layout") {
        run_layout(in, expected, report);
    } else {
        return false;
    }
    return true;
}

}  // namespace golden
