// SPDX-License-Identifier: MIT
// How a ModelSpec reads in the truth file's vocabulary. A layer is one entry per cache, except that index
// keys belong to the attention they serve and compressor windows to the compressed latent. Two equal caches
// of a layer (LongCat) count as two layers, as the truth file numbers them.
#include "corpus_groups.hpp"

#include <kvcap/fold.hpp>
#include <map>

namespace golden {

using namespace kvcap;

namespace {

bool is_state(const LayerForm& form) { return form.retention.keep == Keep::last; }

struct Part {
    const LayerForm* main = nullptr;
    const LayerForm* index = nullptr;
    std::vector<const LayerForm*> compressors;
};

const char* kind_of_state(Kind kind) {
    switch (kind) {
        case Kind::mamba1: return "mamba1";
        case Kind::mamba2: return "mamba2";
        case Kind::gated_delta: return "gated_delta";
        case Kind::kda: return "kda";
        case Kind::lightning:
        case Kind::gla:
        case Kind::mlstm: return "lightning";
        case Kind::rwkv: return "rwkv";
        case Kind::rglru: return "rglru";
        case Kind::short_conv: return "short_conv";
        default: return "state";
    }
}

/// Shapes as the truth writes them: dimensions of one are left out where a kind never has them.
Json shape_of(const Stream& stream, Kind kind, bool first) {
    if (kind == Kind::rglru && stream.role == Role::state) {
        return {stream.heads};
    }
    if (stream.role == Role::conv && stream.split == Split::replicated) {
        return {stream.rows, stream.width};
    }
    if (kind == Kind::rwkv && stream.width == 1) {
        return {stream.rows, stream.heads};
    }
    if ((kind == Kind::mamba1 && stream.rows == 1) || (kind == Kind::mlstm && !first)) {
        return {stream.heads, stream.width};
    }
    return {stream.heads, stream.rows, stream.width};
}

Json state_entry(const char* role, Json shape, u64 elements, bool fp32) {
    return {{"role", role}, {"shape", std::move(shape)}, {"elements", elements}, {"fp32", fp32}};
}

Json states_of(const LayerForm& form, u64& conv_whole) {
    Json states = Json::array();
    u64 channels = 0;
    u16 taps = 0;
    for (const Stream& s : form.streams) {
        if (s.role == Role::conv && s.split != Split::replicated) {
            channels += u64{s.heads} * s.width;
            taps = s.rows;
        } else if (s.role == Role::conv) {
            states.push_back(
                state_entry("conv", shape_of(s, form.kind, false), s.elements(), s.format == f32));
        }
    }
    if (channels != 0) {
        states.push_back(state_entry("conv", {channels, taps}, channels * taps, false));
        conv_whole = channels * (taps + 1u);
    }
    bool first = true;
    for (const Stream& s : form.streams) {
        if (s.role == Role::state) {
            states.push_back(
                state_entry("state", shape_of(s, form.kind, first), s.elements(), s.format == f32));
            first = false;
        }
    }
    return states;
}

Json state_group(const LayerForm& form) {
    u64 conv_whole = 0;
    Json group{{"kind", kind_of_state(form.kind)}, {"states", states_of(form, conv_whole)}};
    if (form.kind == Kind::gla || form.kind == Kind::mlstm) {
        group["subkind"] = form.kind == Kind::gla ? "gla" : "mlstm";
    } else if (form.kind == Kind::lightning) {
        group["subkind"] = "lightning";
    }
    if (conv_whole != 0) {
        group["conv_elements_hf"] = conv_whole;
    }
    return group;
}

void add_window(Json& group, const LayerForm& form, const ReadModel& model, const char* name) {
    const u64 span = form.retention.span.value;
    group[name] = span;
    group["window_elements_per_layer"] = span * form.elements();
    if (form.retention.keep == Keep::window && model.max_context != 0 && span >= model.max_context) {
        group["window_ge_max_position"] = true;
    }
}

Json attention_group(const Part& part, const ReadModel& model) {
    const LayerForm& form = *part.main;
    const Stream& key = form.streams[0];
    const Stream& value = form.streams[1];
    Json group{{"kv_heads", key.heads}, {"head_dim_k", key.width}, {"head_dim_v", value.width}};
    if (form.retention.source == Source::encoder) {
        group["kind"] = "cross";
        group["elements_per_encoder_token"] = form.elements();
        if (model.encoder_tokens != 0) {
            group["max_encoder_tokens"] = model.encoder_tokens;
        }
        return group;
    }
    const u64 index = part.index == nullptr ? 0 : part.index->elements();
    group["elements_per_token"] = form.elements() + index;
    if (form.retention.keep == Keep::everything) {
        group["kind"] = "full";
    } else {
        group["kind"] = form.retention.keep == Keep::window ? "sliding" : "chunked";
        add_window(group, form, model, form.retention.keep == Keep::window ? "window" : "chunk");
    }
    if (index != 0) {
        const Stream& keys = part.index->streams[0];
        group["sparse"] = true;
        group["of_which_indexer"] = index;
        group["indexer"] = {{"head_dim", keys.width},
                            {"n_heads", model.index.heads},
                            {"block_size", model.index.block},
                            {"topk_blocks", model.index.picked},
                            {"key_heads_cached", keys.heads}};
    }
    return group;
}

Json index_facts(const LayerForm& index, const ReadModel& model) {
    const Stream& keys = index.streams[0];
    const u64 scales = 4 * ceil_div(keys.width, 128);
    Json facts{{"head_dim", keys.width}, {"n_heads", model.index.heads}, {"topk", model.index.picked}};
    if (index.retention.stride > 1) {
        facts["compress_ratio"] = index.retention.stride;
        facts["fp8_bytes_per_entry"] = keys.format.row_bytes(keys.width).value_or(0);
        facts["fp4_bytes_per_entry"] = keys.width / 2 + scales;
    } else {
        facts["key_heads_cached"] = keys.heads;
        facts["fp8_bytes_per_token"] = keys.format.row_bytes(keys.width).value_or(0);
    }
    return facts;
}

Json latent_group(const Part& part, const ReadModel& model) {
    const LayerForm& form = *part.main;
    const u32 stride = form.retention.stride;
    if (form.retention.keep == Keep::window) {
        Json group{{"kind", "sliding"}, {"shared_kv_vector", true},
                   {"kv_heads", 1},     {"head_dim_k", form.streams[0].width},
                   {"head_dim_v", 0},   {"elements_per_token", form.elements()}};
        add_window(group, form, model, "window");
        return group;
    }
    const u64 index = part.index == nullptr ? 0 : part.index->elements();
    const bool sparse_model = index != 0 || (stride == 1 && model.index.heads != 0);
    Json group{{"kind", sparse_model ? "mla_sparse" : "mla"}, {"latent", form.streams[0].width},
               {"rope", form.streams.size() > 1 ? form.streams[1].width : 0}, {"kv_heads", 1},
               {"elements_per_token", (form.elements() + index) / stride}};
    if (sparse_model) {
        group["of_which_indexer"] = index / stride;
        group["indexer"] = index != 0 ? index_facts(*part.index, model) : Json{{"shared", true}};
    }
    if (sparse_model && stride == 1 && index != 0) {
        group["elements_per_token_kv_only"] = form.elements();
    }
    if (stride > 1) {
        group["compress_ratio"] = stride;
        group["rope_included_in_latent"] = model.rope_in_latent;
        group["states"] = Json::array();
        for (const LayerForm* window : part.compressors) {
            const u64 span = window->retention.span.value;
            group["states"].push_back(state_entry("state", {span, window->elements()},
                                                  span * window->elements(),
                                                  window->streams[0].format == f32));
        }
    }
    return group;
}

/// Caches of one layer as parts, in order.
std::vector<Part> parts_of(const std::vector<const LayerForm*>& caches) {
    std::vector<Part> parts;
    std::vector<const LayerForm*> indices;
    for (const LayerForm* form : caches) {
        if (form->kind == Kind::index) {
            indices.push_back(form);
        } else if (form->kind == Kind::compressor) {
            parts.back().compressors.push_back(form);
        } else {
            parts.push_back({form, nullptr, {}});
        }
    }
    for (const LayerForm* index : indices) {
        for (Part& part : parts) {
            const bool serves = part.main->retention.keep == Keep::everything &&
                                part.main->retention.stride == index->retention.stride;
            if (serves && part.index == nullptr) {
                part.index = index;
                break;
            }
        }
    }
    return parts;
}

Json group_of(const Part& part, const ReadModel& model) {
    if (is_state(*part.main)) {
        return state_group(*part.main);
    }
    return part.main->kind == Kind::latent ? latent_group(part, model) : attention_group(part, model);
}

class Groups {
public:
    void add(Json group, u32 layer) {
        for (Json& known : groups_) {
            if (known["body"] == group) {
                known["layers"].push_back(layer);
                return;
            }
        }
        groups_.push_back({{"body", std::move(group)}, {"layers", {layer}}});
    }
    Json finish() const {
        Json all = Json::array();
        for (const Json& each : groups_) {
            Json group = each["body"];
            group["layers"] = each["layers"];
            all.push_back(std::move(group));
        }
        return all;
    }

private:
    std::vector<Json> groups_;
};

bool twins(const std::vector<const LayerForm*>& caches) {
    return caches.size() == 2 && *caches[0] == *caches[1];
}

void add_layer(Groups& groups, const ReadModel& model, u32 number,
               const std::vector<const LayerForm*>& caches) {
    const std::vector<Part> parts = parts_of(caches);
    const LayerForm* state = nullptr;
    for (const Part& part : parts) {
        state = is_state(*part.main) ? part.main : state;
    }
    for (const Part& part : parts) {
        Json group = group_of(part, model);
        if (state != nullptr && !is_state(*part.main)) {
            group["also_in"] = kind_of_state(state->kind);
        }
        groups.add(std::move(group), number);
    }
}

}  // namespace

Json corpus_groups(const ReadModel& model) {
    std::map<u32, std::vector<const LayerForm*>> caches;
    for (const Cache& cache : model.spec.caches) {
        caches[cache.layer].push_back(&model.spec.form_of(cache));
    }
    std::map<u32, u32> shared;
    for (const SharedLayer& each : model.shared) {
        shared[each.layer] = each.source;
    }
    Groups groups;
    for (u32 layer = 0, number = 0; layer < model.spec.layers; ++layer, ++number) {
        const auto own = caches.find(layer);
        if (const auto from = shared.find(layer); from != shared.end()) {
            groups.add({{"kind", "shared"}, {"elements_per_token", 0}, {"reuses_layer", from->second}},
                       number);
        } else if (own == caches.end()) {
            groups.add({{"kind", "none"}, {"elements_per_token", 0}}, number);
        } else if (twins(own->second)) {
            add_layer(groups, model, number++, {own->second[0]});
            add_layer(groups, model, number, {own->second[1]});
        } else {
            add_layer(groups, model, number, own->second);
        }
    }
    return groups.finish();
}

namespace {

Json refusal(const Error& error) {
    const std::string got = std::to_string(error.got);
    const std::string want = std::to_string(error.want);
    switch (error.code) {
        case Errc::query_heads_not_divisible: return got + " query heads not divisible by " + want;
        case Errc::heads_not_divisible: return got + " kv heads vs tp " + want;
        case Errc::channels_not_divisible: return "state dim " + got + " not divisible by " + want;
        default: return "error " + std::to_string(static_cast<int>(error.code));
    }
}

struct Sums {
    u64 growing = 0;
    u64 indexer = 0;
    u64 bounded = 0;
    u64 window = 0;
    u64 conv = 0;
    u64 recurrent = 0;
    u64 cross = 0;
};

void book(Sums& sums, const LayerForm& form, u64 elements, u64 conv) {
    const Retention& keep = form.retention;
    if (is_state(form)) {
        sums.conv += conv;
        sums.recurrent += elements - conv;
    } else if (form.kind == Kind::compressor) {
        sums.recurrent += keep.span.value * elements;
    } else if (keep.source == Source::encoder) {
        sums.cross += elements;
    } else if (keep.keep == Keep::everything) {
        sums.growing += elements / keep.stride;
        sums.indexer += form.kind == Kind::index ? elements / keep.stride : 0;
    } else {
        sums.bounded += elements;
        sums.window += keep.span.value * elements;
    }
}

}  // namespace

Json corpus_totals(const ReadModel& model, unsigned tp) {
    const Sharding sharding{.tp = tp};
    const Result<Footprint> whole = fold(model.spec, {.prompt = {256}, .encoder = {256}}, sharding);
    if (!whole && whole.error().code != Errc::block_not_divisible) {
        return {{"invalid", refusal(whole.error())}};
    }
    Sums sums;
    for (const Cache& cache : model.spec.caches) {
        const LayerForm& form = model.spec.form_of(cache);
        u64 elements = 0;
        u64 conv = 0;
        for (const Stream& stream : form.streams) {
            const u64 own = u64{heads_on_rank(stream, sharding).value_or(0)} * stream.rows * stream.width;
            elements += own;
            conv += stream.role == Role::conv ? own : 0;
        }
        book(sums, form, elements, conv);
    }
    return {{"elements_per_token_growing", sums.growing}, {"of_which_indexer", sums.indexer},
            {"bytes_per_token_bf16_growing", 2 * sums.growing}, {"elements_per_token_bounded", sums.bounded},
            {"window_elements_total", sums.window}, {"state_elements_per_seq", sums.conv + sums.recurrent},
            {"state_conv_elements_per_seq", sums.conv}, {"state_recurrent_elements_per_seq", sums.recurrent},
            {"cross_elements_per_encoder_token", sums.cross}};
}

}  // namespace golden
