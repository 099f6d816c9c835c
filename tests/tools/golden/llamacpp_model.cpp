// SPDX-License-Identifier: MIT
// A llama.cpp golden case as values of the library: its metadata as a GGUF file, its flags, its caches as
// JSON.
#include "llamacpp.hpp"

namespace golden {

using namespace kvcap;
using namespace kvcap::llamacpp;

Diagnosed<gguf::GgufModel> llamacpp_model(const Json& metadata, bool nextn_tensors) {
    GgufWriter writer;
    writer.add_all(metadata);
    if (nextn_tensors) {
        const std::string arch = metadata.at("general.architecture").get<std::string>();
        const auto last = metadata.at(arch + ".block_count").get<std::uint64_t>() - 1;
        writer.add(TensorInfo{"blk." + std::to_string(last) + ".nextn.eh_proj.weight", {2, 1}, 0});
    }
    const std::string file = writer.bytes();
    const auto header = gguf::read_header(std::as_bytes(std::span{file}));
    if (!header) {
        return *header.error;
    }
    return gguf::read_model(*header);
}

Diagnosed<Card> llamacpp_card(const Json& metadata, bool nextn_tensors) {
    const auto read = llamacpp_model(metadata, nextn_tensors);
    return read ? Diagnosed<Card>{read->card} : Diagnosed<Card>{*read.error};
}

namespace {

Ggml type_named(const std::string& name) {
    const GgmlType* type = ggml_type(name.data(), name.size());
    if (type == nullptr) {
        throw std::runtime_error("a ggml type, not " + name);
    }
    return type->id;
}

template <class T>
T one_of(const std::string& text, std::initializer_list<std::pair<const char*, T>> names) {
    for (const auto& [name, value] : names) {
        if (text == name) {
            return value;
        }
    }
    throw std::runtime_error("a known word, not " + text);
}

}  // namespace

Options llamacpp_options(const StrictObject& flags) {
    Options to{};
    to.n_ctx = flags.get<u32>("n_ctx");
    to.n_batch = flags.get<u32>("n_batch");
    to.n_ubatch = flags.get<u32>("n_ubatch");
    to.n_seq_max = flags.get<u32>("n_seq_max");
    to.n_rs_seq = flags.get<u32>("n_rs_seq");
    to.kv_unified = flags.get<bool>("kv_unified");
    to.swa_full = flags.get<bool>("swa_full");
    to.type_k = type_named(flags.get<std::string>("type_k"));
    to.type_v = type_named(flags.get<std::string>("type_v"));
    to.flash_attn = one_of<Flash>(flags.get<std::string>("flash_attn"),
                                  {{"auto", Flash::automatic}, {"on", Flash::on}, {"off", Flash::off}});
    to.context = one_of<Context>(flags.get<std::string>("ctx_type"),
                                 {{"default", Context::standard}, {"mtp", Context::mtp}});
    to.split_mode = one_of<SplitMode>(flags.get<std::string>("split_mode", "layer"),
                                      {{"layer", SplitMode::layer}, {"tensor", SplitMode::tensor}});
    return to;
}

const char* llamacpp_part(Part part) {
    static constexpr const char* names[] = {
        "kv",  "base", "swa", "mla",       "indexer",   "rs",        "raw.base", "raw.swa",
        "csa", "hca",  "lid", "csa_state", "hca_state", "lid_state", "dsa.mla",  "dsa.indexer"};
    return names[static_cast<int>(part)];
}

const char* llamacpp_memory(Memory memory) {
    static constexpr const char* names[] = {
        "none",          "kv_cache",  "kv_cache_iswa", "kv_cache_dsa", "kv_cache_dsa_iswa", "kv_cache_msa",
        "kv_cache_dsv4", "recurrent", "hybrid",        "hybrid_iswa",  "hybrid_idx"};
    return names[static_cast<int>(memory)];
}

std::string mib_text(PrintedMib mib) {
    Line line{};
    line.mib(mib, 0);
    return line.text;
}

namespace {

/// A list, and its one value when all are equal.
void add_list(Json& to, const std::string& name, const Json& list) {
    to[name] = list;
    if (!list.empty() && std::all_of(list.begin(), list.end(), [&](const Json& x) { return x == list[0]; })) {
        to[name + "_uniform"] = list[0];
    }
}

u64 buffer_bytes(const Card& card, const Layout& layout, const CacheShape& cache) {
    u64 sum = 0;
    for (u32 i = 0; i < card.all_layers(); ++i) {
        sum += owns(card, cache, i) ? block_in_buffer(card, layout, cache, i).value() : 0;
    }
    return sum;
}

Json reused(const Card& card, const CacheShape& cache) {
    Json pairs = Json::array();
    for (u32 i = 0; i < card.all_layers(); ++i) {
        const u32 owner = card.blocks[i].owner;
        if (owner != i && card.blocks[i].window == (cache.part == Part::swa)) {
            pairs.push_back({i, owner});
        }
    }
    return pairs;
}

void add_attention(const Card& card, const Layout& layout, const CacheShape& cache, const BlockBytes& bytes,
                   Json& to) {
    Json k_rows = Json::array(), v_rows = Json::array(), k_bytes = Json::array(), v_bytes = Json::array();
    for (u32 i = 0; i < card.all_layers(); ++i) {
        if (!owns(card, cache, i)) {
            continue;
        }
        const BlockBytes own = block_bytes(card, layout, cache, i).value();
        k_rows.push_back(key_elements(card, cache, i));
        v_rows.push_back(value_elements(card, cache, i));
        k_bytes.push_back(own.k);
        v_bytes.push_back(own.v);
    }
    add_list(to, "k_row_elems", k_rows);
    add_list(to, "v_row_elems", v_rows);
    add_list(to, "k_layer_bytes", k_bytes);
    add_list(to, "v_layer_bytes", v_bytes);
    to["k_bytes"] = bytes.k;
    to["v_bytes"] = bytes.v;
    to["n_stream"] = cache.streams;
    to["n_swa"] = cache.window;
    to["swa_type"] = static_cast<int>(cache.window_type);
    to["v_trans"] = cache.transposed;
    to["cells"] = cache.cells;
    if (cache.part == Part::base || cache.part == Part::swa) {
        to["reused_layers"] = reused(card, cache);
    }
}

void add_states(const Card& card, const Layout& layout, const CacheShape& cache, const BlockBytes& bytes,
                Json& to) {
    to["cells"] = cache.cells;
    to["n_rs_seq"] = layout.resolved.n_rs_seq;
    to["layers_printed"] = printed_layers(card, cache);
    to["r_row_elems"] = card.state.r;
    to["s_row_elems"] = card.state.s;
    to["p_row_elems"] = card.state.p;
    to["r_bytes"] = bytes.r;
    to["s_bytes"] = bytes.s;
    to["p_bytes"] = bytes.p;
}

void add_compressor(const Card& card, const Layout& layout, const CacheShape& cache, const BlockBytes& bytes,
                    Json& to) {
    const u32 ratio = cache.part == Part::hca_state ? 128 : 4;
    const u64 rows_per_stream = cache.rows / cache.streams / (1 + layout.resolved.n_rs_seq);
    to["ratio"] = ratio;
    to["state_size"] = rows_per_stream;
    for (u32 i = 0; i < card.all_layers(); ++i) {
        if (owns(card, cache, i)) {
            to["n_embd_state"] = compressor_columns(card, cache.part, i);
        }
    }
    to["n_stream"] = cache.streams;
    to["n_rs_seq"] = layout.resolved.n_rs_seq;
    to["bytes"] = bytes.compressor;
}

}  // namespace

Json llamacpp_caches(const Card& card, const Layout& layout) {
    Json all = Json::array();
    for (const CacheShape& cache : layout.caches) {
        Json ids = Json::array();
        for (u32 i = 0; i < card.all_layers(); ++i) {
            if (owns(card, cache, i)) {
                ids.push_back(i);
            }
        }
        const Result<BlockBytes> bytes = cache_bytes(card, layout, cache);
        if (!bytes) {
            throw std::runtime_error("rows of whole blocks");
        }
        Json one{{"role", llamacpp_part(cache.part)}, {"layers", ids.size()}, {"layer_ids", ids},
                 {"buffer_bytes", buffer_bytes(card, layout, cache)}, {"n_seq_max", cache.sequences}};
        if (is_states(cache.part)) {
            add_states(card, layout, cache, *bytes, one);
        } else if (is_compressor(cache.part)) {
            add_compressor(card, layout, cache, *bytes, one);
        } else {
            add_attention(card, layout, cache, *bytes, one);
        }
        all.push_back(one);
    }
    return all;
}

}  // namespace golden
