// SPDX-License-Identifier: MIT
// llama.cpp golden files: sizes, refusals, printed numbers, splits over devices and saved sequences of its
// contexts.
#include "llamacpp.hpp"

#include <algorithm>

namespace golden {

using namespace kvcap;
using namespace kvcap::llamacpp;

namespace {

/// Every field that the case documents, against ours; a field we do not have is a difference.
void compare(Report& report, const std::string& where, const Json& want, const Json& got) {
    if (!want.is_object() || !got.is_object()) {
        report.equal(where, want, got);
        return;
    }
    for (const auto& [key, value] : want.items()) {
        report.equal(where + "." + key, value, got.contains(key) ? got[key] : Json("no such field"));
    }
}

void compare_list(Report& report, const std::string& where, const Json& want, const Json& got) {
    report.equal(where + ".length", want.size(), got.size());
    for (std::size_t i = 0; i < want.size() && i < got.size(); ++i) {
        compare(report, where + "[" + std::to_string(i) + "]", want[i], got[i]);
    }
}

/// A list's fields that must be there whatever the case leaves out.
void require(const Json& object, std::initializer_list<const char*> keys) {
    for (const char* key : keys) {
        if (!object.contains(key)) {
            throw std::runtime_error(std::string{"the field "} + key);
        }
    }
}

Json resolved_json(const Resolved& to) {
    return {{"n_ctx", to.n_ctx},           {"n_ctx_seq", to.n_ctx_seq},   {"n_batch", to.n_batch},
            {"n_ubatch", to.n_ubatch},     {"n_seq_max", to.n_seq_max},   {"n_rs_seq", to.n_rs_seq},
            {"flash_attn", to.flash_attn}, {"kv_unified", to.kv_unified}, {"causal_attn", to.causal}};
}

Json derived_json(const Card& card) {
    Json windows = Json::array(), states = Json::array();
    for (u32 i = 0; i < card.all_layers(); ++i) {
        if (card.blocks[i].window) {
            windows.push_back(i);
        }
        if (card.blocks[i].state) {
            states.push_back(i);
        }
    }
    return {{"n_layer_all", card.all_layers()}, {"n_layer", card.layers}, {"n_layer_nextn", card.nextn},
            {"n_swa", card.window}, {"swa_type", static_cast<int>(card.window_type)}, {"is_mla", card.latent},
            {"swa_layers", windows}, {"recr_layers", states}};
}

Json totals_json(const Card& card, const Layout& layout, const Json& caches) {
    const BlockBytes sum = total_bytes(card, layout).value();
    u64 buffers = 0;
    for (const Json& cache : caches) {
        buffers += cache["buffer_bytes"].get<u64>();
    }
    return {{"k_bytes", sum.k},           {"v_bytes", sum.v},       {"r_bytes", sum.r},
            {"s_bytes", sum.s},           {"p_bytes", sum.p},       {"state_bytes", sum.compressor},
            {"total_bytes", sum.total()}, {"buffer_bytes", buffers}};
}

/// Bytes of a cache's buffers on each device that has one, the CPU first.
std::vector<u64> buffers_of(const Card& card, const Layout& layout, const CacheShape& cache,
                            const Devices& devices, u32 weight_block) {
    if (layout.options.split_mode == SplitMode::tensor) {
        const PerDevice cut = cache_per_slice(card, layout, cache, devices, weight_block).value();
        return {*std::max_element(cut.device, cut.device + devices.count)};
    }
    PerDevice sum{};
    bool used[most_devices + 1]{};
    for (u32 i = 0; i < card.all_layers(); ++i) {
        if (owns(card, cache, i)) {
            const int device = device_of(card, devices, i);
            sum.at(device) += block_in_buffer(card, layout, cache, i).value();
            used[device + 1] = true;
        }
    }
    std::vector<u64> all;
    for (int device = on_cpu; device < static_cast<int>(most_devices); ++device) {
        if (used[device + 1]) {
            all.push_back(sum.at(device));
        }
    }
    return all;
}

Json summary_json(const Card& card, const Layout& layout, const CacheShape& cache) {
    const BlockBytes bytes = cache_bytes(card, layout, cache).value();
    const auto text = [](u64 value) { return mib_text(float_mib(value)); };
    if (is_states(cache.part)) {
        return {{"what", "rs_summary"}, {"size_mib", text(state_bytes(bytes))}, {"cells", cache.cells},
                {"layers_printed", printed_layers(card, cache)}, {"n_seq_max", cache.sequences},
                {"n_rs_seq", layout.resolved.n_rs_seq}, {"r_mib", text(bytes.r)}, {"s_mib", text(bytes.s)},
                {"p_mib", text(bytes.p)}};
    }
    return {{"what", "kv_summary"},
            {"size_mib", text(key_and_value(bytes))},
            {"cells", cache.cells},
            {"layers", printed_layers(card, cache)},
            {"n_seq_max", cache.sequences},
            {"n_stream", cache.streams},
            {"k_type", ggml_type(layout.options.type_k).name},
            {"k_mib", text(bytes.k)},
            {"v_type", ggml_type(layout.options.type_v).name},
            {"v_mib", text(bytes.v)}};
}

/// The log's numbers in their order. Attention buffers are printed only by runs that really allocate.
Json printed_json(const Card& card, const Layout& layout, const Devices& devices, u32 weight_block,
                  bool allocated) {
    Json all = Json::array();
    for (const CacheShape& cache : layout.caches) {
        const bool states = is_states(cache.part);
        for (const u64 buffer : buffers_of(card, layout, cache, devices, weight_block)) {
            const std::string mib = mib_text(exact_mib(buffer));
            if (is_compressor(cache.part)) {
                const std::string name{llamacpp_part(cache.part), 3};
                all.push_back({{"what", "dsv4_state_buffer"}, {"name", name}, {"buffer_mib", mib}});
            } else if (states || allocated) {
                all.push_back({{"what", states ? "rs_buffer" : "kv_buffer"}, {"buffer_mib", mib}});
            }
        }
        if (!is_compressor(cache.part)) {
            all.push_back(summary_json(card, layout, cache));
        }
    }
    return all;
}

Devices devices_of(const StrictObject& one, const StrictObject& flags) {
    Devices devices{.count = one.get<u32>("n_devices", 1), .gpu_layers = flags.get<u32>("n_gpu_layers", 0)};
    if (devices.count == 0 || devices.count > most_devices) {
        throw std::runtime_error("1 to 16 devices");
    }
    const Json shares = flags.get<Json>("tensor_split", Json::array());
    const bool layers = flags.get<std::string>("split_mode", "layer") == "layer";
    for (u32 i = 0; i < devices.count; ++i) {
        devices.share[i] = i < shares.size()          ? shares[i].get<float>()
                           : shares.empty() && layers ? 1.0F
                                                      : 0.0F;
    }
    return devices;
}

void check_layer_split(Report& report, const StrictObject& want, const Card& card, const Layout& layout,
                       const Devices& devices) {
    Json where = Json::array();
    for (u32 i = 0; i < card.all_layers(); ++i) {
        where.push_back(device_of(card, devices, i));
    }
    report.equal("layer_device", want.at("layer_device"), where);
    const PerDevice bytes = per_device(card, layout, devices).value();
    Json all = Json::object();
    for (int device = on_cpu; device < static_cast<int>(devices.count); ++device) {
        if (bytes.at(device) != 0) {
            all[std::to_string(device)] = bytes.at(device);
        }
    }
    report.equal("per_device_bytes", want.at("per_device_bytes"), all);
}

void add_slices(Json& to, const Card& card, const CacheShape& cache, u32 block, const char* name, Plane plane,
                u64 row, const Devices& devices, u32 weight_block) {
    const Slices dealt = slices(card, cache, block, plane, row, devices, weight_block);
    Json elements = Json::array();
    for (u32 i = 0; i < devices.count; ++i) {
        elements.push_back(dealt.elements[i]);
    }
    to.push_back({{"tensor", name}, {"layer", block}, {"mode", dealt.mirrored ? "mirrored" : "split"},
                  {"row_elems", row}, {"elems_per_device", dealt.mirrored ? Json{} : elements}});
}

Json slices_json(const Card& card, const Layout& layout, const Devices& devices, u32 weight_block) {
    Json all = Json::array();
    for (const CacheShape& cache : layout.caches) {
        // Of compressed memories, the files list the raw and the 4:1 caches.
        const bool listed = !is_compressor(cache.part) && cache.part != Part::hca && cache.part != Part::lid;
        for (u32 i = 0; i < card.all_layers() && listed; ++i) {
            const auto add = [&](const char* name, Plane plane, u64 row) {
                add_slices(all, card, cache, i, name, plane, row, devices, weight_block);
            };
            if (!owns(card, cache, i)) {
                continue;
            }
            if (is_states(cache.part)) {
                add("r", Plane::r, card.state.r);
                add("s", Plane::s, card.state.s);
                continue;
            }
            add("k", Plane::k, key_elements(card, cache, i));
            if (keeps_values(card, cache)) {
                add("v", Plane::v, value_elements(card, cache, i));
            }
        }
    }
    return all;
}

void check_sequence_state(Report& report, const Json& want, const Card& card, const Layout& layout) {
    const StrictObject given{want};
    const u64 tokens = given.get<u64>("tokens");
    const Positions at = positions(layout, tokens);
    report.equal("pos_min", given.at("pos_min"), at.first);
    report.equal("pos_max", given.at("pos_max"), at.last);
    report.equal("full_state_bytes", given.at("full_state_bytes"),
                 sequence_state(card, layout, tokens, false).value());
    report.equal("partial_state_bytes", given.at("partial_state_bytes"),
                 sequence_state(card, layout, tokens, true).value());
    given.done("sequence_state");
}

void check_error(Report& report, const StrictObject& want, const Diagnosed<Card>& card,
                 const Options& options) {
    std::string got = "none";
    if (!card) {
        got = "model_load_refused";
    } else if (const Result<Layout> made = layout(*card, options); !made) {
        got = refuses_model(refusal_of(made.error())) ? "model_load_refused" : "context_refused";
    }
    report.equal("error", want.at("error"), got);
    want.done("expected");
}

/// Why the engine-neutral model cannot give the same bytes, or null.
const char* beyond_the_model(const Card& card, const Layout& layout) {
    if (layout.options.context == Context::mtp) {
        return "draft blocks are a model of their own";
    }
    if (layout.resolved.n_rs_seq != 0) {
        return "rollback rows are an architecture's feature";
    }
    if (card.state.p != 0) {
        return "history rows make blocks of one kind differ";
    }
    for (const Block& block : card.blocks) {
        if (!layout.resolved.flash_attn && block.attention && block.kv_heads == 0) {
            return "blocks without heads keep padded values when these are transposed";
        }
    }
    return card.arch().family == Family::dsv4 && card.nextn != 0 ? "the draft block is in the window cache"
                                                                 : nullptr;
}

/// The neutral model of the same file must lead to the same bytes.
void check_neutral_model(Report& report, const ModelSpec& spec, const Card& card, const Layout& layout) {
    if (beyond_the_model(card, layout) != nullptr) {
        return;
    }
    Options options = layout.options;
    options.n_ctx = options.n_ctx == 0 ? card.context : options.n_ctx;
    options.split_mode = SplitMode::layer;
    if (card.arch().family == Family::none) {
        report.equal("neutral model", 0, spec.caches.size());
        return;
    }
    Card read = card_from(spec).value_or({});
    read.causal = card.causal;
    const Result<Layout> made = kvcap::llamacpp::layout(read, options);
    const Result<BlockBytes> bytes = made ? total_bytes(read, *made) : Result<BlockBytes>{made.error()};
    const u64 want = total_bytes(card, layout).value().total();
    report.equal("neutral model", want, bytes ? Json(bytes->total()) : Json("refused"));
}

u32 weight_block_of(const StrictObject& one) {
    const std::string name = one.get<std::string>("attn_output_weight_type", "f32");
    const GgmlType* type = ggml_type(name.data(), name.size());
    if (type == nullptr) {
        throw std::runtime_error("a ggml type, not " + name);
    }
    return type->format.elems;
}

void check_case(Report& report, const Json& json) {
    const StrictObject one{json};
    const StrictObject flags{one.at("flags")};
    const StrictObject want{one.at("expected")};
    for (const char* key : {"id", "model", "note", "arch"}) {
        one.ignore(key);
    }
    const auto read = llamacpp_model(one.at("metadata"), one.get<bool>("nextn_tensors_present", false));
    const Diagnosed<Card> card = read ? Diagnosed<Card>{read->card} : Diagnosed<Card>{*read.error};
    const Options options = llamacpp_options(flags);
    const Devices devices = devices_of(one, flags);
    const std::string family = one.get<std::string>("family");
    const u32 weight_block = weight_block_of(one);
    flags.done("flags");
    one.done("the case");
    if (want.has("error")) {
        return check_error(report, want, card, options);
    }
    if (!card) {
        report.fail("metadata", "a model", card.error->text());
        return;
    }
    report.equal("arch", one.at("arch"), card->arch().name);
    const Result<Layout> made = layout(*card, options);
    if (!made) {
        report.fail("expected", "caches", sentence(refusal_of(made.error())));
        return;
    }
    const Json caches = llamacpp_caches(*card, *made);
    report.equal("memory_type", want.at("memory_type"), llamacpp_memory(made->memory));
    report.equal("resolved", want.at("resolved"), resolved_json(made->resolved));
    report.equal("derived", want.at("derived"), derived_json(*card));
    compare_list(report, "caches", want.at("caches"), caches);
    for (const Json& cache : want.at("caches")) {
        require(cache, {"role", "layers"});
    }
    require(want.at("totals"),
            {"k_bytes", "v_bytes", "r_bytes", "s_bytes", "p_bytes", "state_bytes", "total_bytes"});
    compare(report, "totals", want.at("totals"), totals_json(*card, *made, caches));
    if (want.has("can_shift")) {
        report.equal("can_shift", want.at("can_shift"), made->can_shift);
    }
    check_neutral_model(report, read->model.spec, *card, *made);
    const bool allocated = family == "allocated" || family == "sequence_state";
    compare_list(report, "printed", want.at("printed"),
                 printed_json(*card, *made, devices, weight_block, allocated));
    if (want.has("layer_device") || want.has("per_device_bytes")) {
        check_layer_split(report, want, *card, *made, devices);
    }
    if (want.has("tensor_split")) {
        compare_list(report, "tensor_split", want.at("tensor_split"),
                     slices_json(*card, *made, devices, weight_block));
    }
    if (want.has("sequence_state")) {
        check_sequence_state(report, want.at("sequence_state"), *card, *made);
    }
    want.done("expected");
}

bool knows_llamacpp(const File& file) {
    return file.says("engine", "llama.cpp") &&
           file.content.contains("cases");
}

void run_llamacpp(const File& file) {
    const StrictObject head{file.content};
    for (const char* key : {"engine", "engine_commit", "engine_version", "ggml_version", "family"}) {
        head.ignore(key);
    }
    for (const Json& one : head.at("cases")) {
        run_case(one, file.report, [&](const Json& json) { check_case(file.report, json); });
    }
    run_gguf_of_cases(file);
    if (is_first_of_folder(file.path)) {
        run_gguf_files(file.report, file.path);
    }
    if (const std::string unknown = head.unread(); !unknown.empty()) {
        file.report.begin(file.path);
        file.report.fail("file", "the documented keys", unknown);
        file.report.end();
    }
}

}  // namespace

const Format llamacpp_format{"llama.cpp", knows_llamacpp, run_llamacpp};

}  // namespace golden
