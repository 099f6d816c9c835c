// SPDX-License-Identifier: MIT
// TensorRT-LLM golden cases of capacity: each kind is one rule of the engine.
#include "trtllm.hpp"

#include <cstdio>
#include <map>

namespace golden {

using namespace kvcap;
using namespace kvcap::trtllm;

KvDtype trtllm_dtype(const std::string& name) {
    return name == "fp8"                       ? KvDtype::fp8
           : name == "nvfp4"                   ? KvDtype::nvfp4
           : name == "bf16" || name == "fp16"  ? KvDtype::half
                                               : throw std::runtime_error("a known dtype, not " + name);
}

namespace {

std::string gib_text(u64 bytes) {
    char text[64];
    std::snprintf(text, sizeof text, "%.2f", static_cast<double>(bytes) / bytes_per_gib);
    return text;
}

AlikeLayers layers_of(const StrictObject& in) {
    const bool latent = in.has("latent_dim");
    in.ignore("head_dim");
    return {.layers = in.get<u64>("layers_on_rank"),
            .kv_heads = in.get<u64>("kv_heads", 1),
            .head_dim = latent ? in.get<u64>("latent_dim") : in.get<u64>("head_dim"),
            .planes = in.get<u64>("kv_factor")};
}

u64 ranks_of(const StrictObject& in) {
    const u64 tp = in.get<u64>("tp");
    return in.get<bool>("attention_dp", false) ? 1 : tp;
}

/// {"100": [0, 1], ...} ascending, with bytes per token.
Windows windows_of(const Json& given, u64 layer_bytes, std::map<u64, Json>& layers) {
    for (const auto& [window, list] : given.items()) {
        layers[std::stoull(window)] = list;
    }
    Windows windows;
    for (const auto& [window, list] : layers) {
        if (!windows.push({window, list.size() * layer_bytes})) {
            throw std::runtime_error("at most 8 windows");
        }
    }
    return windows;
}

Json window_share(const StrictObject& in) {
    const Json& windows = in.at("windows");
    const Json& layers = in.at("layers_per_window");
    Windows all;
    for (std::size_t i = 0; i < windows.size(); ++i) {
        if (layers.at(i).empty() ||
            !all.push({windows[i].get<u64>(), in.at("bytes_per_token_per_window").at(i).get<u64>()})) {
            throw std::runtime_error("1 to 8 windows with layers");
        }
    }
    Json shares = Json::array();
    for (u32 i = 0; i < all.size(); ++i) {
        shares.push_back(proportional_share(all, i));
    }
    return {{"shares", shares}};
}

Json window_clamp(const StrictObject& in) {
    std::map<u64, Json> layers;
    const Windows windows =
        windows_of(in.at("windows_to_layers"), in.get<u64>("bytes_per_token_per_layer"), layers);
    const Windows fitted =
        clamped(windows, in.get<u64>("pool_bytes"), in.get<u64>("max_tokens", trtllm::not_set));
    Json merged = Json::object();
    for (u32 i = 0; i < fitted.size(); ++i) {
        Json& list = merged[std::to_string(fitted[i].tokens)];
        for (const Json& layer : layers[windows[i].tokens]) {
            list.push_back(layer);
        }
    }
    return {{"windows_to_layers", merged}};
}

Options budget_options(const StrictObject& in) {
    Options options{.max_gpu_total_bytes = in.get<u64>("max_gpu_total_bytes", 0)};
    options.fraction_given = in.has("free_fraction");
    options.free_fraction = in.get<double>("free_fraction", default_fraction);
    options.host_bytes = in.get<u64>("host_bytes", 0);
    return options;
}

Json pool_budget(const StrictObject& in) {
    const Options options = budget_options(in);
    return {{"primary_bytes", primary_bytes(in.get<u64>("free_bytes"), options)},
            {"secondary_bytes", options.host_bytes}};
}

Json variable_window_blocks(const StrictObject& in) {
    std::map<u64, Json> layers;
    const Windows windows =
        windows_of(in.at("windows_to_layers"), in.get<u64>("bytes_per_token_per_layer"), layers);
    Options options{.path = in.get<std::string>("path") == "cpp" ? Path::cpp : Path::python,
                    .tokens_per_block = in.get<u64>("tokens_per_block"),
                    .host_bytes = in.get<u64>("secondary_bytes")};
    if (in.has("shares")) {
        for (const Json& share : in.at("shares")) {
            if (!options.shares.push(share.get<double>())) {
                throw std::runtime_error("at most 8 shares");
            }
        }
    }
    Json blocks = Json::object();
    for (u32 i = 0; i < windows.size(); ++i) {
        const Blocks own =
            blocks_of_window(in.get<u64>("primary_bytes"), windows[i].bytes, i, windows.size(), options);
        blocks[std::to_string(windows[i].tokens)] = {{"primary_blocks", own.primary},
                                                     {"secondary_blocks", own.secondary}};
    }
    return {{"blocks", blocks}};
}

Json round_to_blocks(const StrictObject& in) {
    Options options{.tokens_per_block = in.get<u64>("tokens_per_block"),
                    .max_tokens = in.get<u64>("max_tokens")};
    options.host_bytes = options.max_tokens;
    const u64 plenty = u64{1} << 50;
    const Blocks down = python_blocks(static_cast<double>(plenty), 1, options);
    return {{"cpp_primary_blocks", cpp_blocks(plenty, 1, 1, true, options).primary},
            {"python_primary_blocks", down.primary},
            {"secondary_blocks", down.secondary}};
}

Json estimates(const StrictObject& in) {
    const KvDtype dtype = trtllm_dtype(in.get<std::string>("dtype"));
    return {{"estimator_bytes_per_token", estimator_bytes(layers_of(in), in.get<u64>("tp"), dtype)},
            {"manager_bytes_per_token", manager_bytes(layers_of(in), in.get<u64>("tp"), dtype)}};
}

Json block_pools(const StrictObject& in) {
    const KvDtype dtype = trtllm_dtype(in.get<std::string>("dtype"));
    const u64 per = in.get<u64>("tokens_per_block");
    in.ignore("latent_dim");
    std::map<u64, u64> by_heads;
    for (const auto& [heads, layers] : in.at("layers_per_kv_heads").items()) {
        by_heads[std::stoull(heads)] = layers.get<u64>();
    }
    Json pools = Json::array();
    const auto add = [&](PoolRole role, const char* name) {
        for (const auto& [heads, layers] : by_heads) {
            const AlikeLayers alike{layers, heads, in.get<u64>("head_dim"), in.get<u64>("kv_factor")};
            const u64 bytes =
                pool_bytes(alike, role, in.get<u64>("index_head_dim", 0), in.get<u64>("blocks"), per, dtype);
            pools.push_back({{"kv_heads", heads}, {"layers", layers}, {"role", name}, {"bytes", bytes}});
        }
    };
    add(PoolRole::kv, "kv");
    const std::size_t plain = pools.size();
    if (dtype == KvDtype::nvfp4) {
        add(PoolRole::block_scales, "block_scales");
    }
    if (in.has("index_head_dim")) {
        add(PoolRole::index_keys, "index_keys");
    }
    return {{"num_pools", pools.size()}, {"num_pools_without_scales", plain},
            {"kv_block_elems_over_scale_elems", dtype == KvDtype::nvfp4
                 ? pools[0]["bytes"].get<u64>() / pools[plain]["bytes"].get<u64>() : 0},
            {"pools", pools}};
}

Json beam_blocks(const StrictObject& in) {
    in.ignore("tokens_per_block");
    const u64 total = in.get<u64>("blocks_total");
    const u64 each =
        prompt_blocks(in.get<u64>("context_blocks"), in.get<u64>("beam"), in.get<bool>("share_last_block"));
    const u64 admitted = smaller(total / each, in.get<u64>("sequences", 1));
    return {{"blocks_used", admitted * each},
            {"blocks_free", total - admitted * each},
            {"admitted_sequences", admitted}};
}

BlockShape shape_of(const StrictObject& in) {
    return {in.get<u64>("tokens_per_block"), in.get<u64>("window"), in.get<u64>("beam"),
            in.get<u64>("sink_tokens", 0)};
}

Json next_step(const StrictObject& in) {
    const InFlight request{in.get<u64>("prompt_tokens"), in.get<u64>("generated_tokens"),
                           in.get<u64>("max_new_tokens"), in.get<u64>("draft_tokens")};
    const bool two = in.get<bool>("look_two_steps_ahead");
    return {{"blocks_needed", in.get<bool>("prefill_step") ? prefill_blocks(request, shape_of(in))
                                                           : decode_blocks(request, two, shape_of(in))}};
}

Json sequence_max(const StrictObject& in) {
    return {{"blocks", most_blocks(in.get<u64>("input_tokens"), in.get<u64>("output_tokens"), shape_of(in))}};
}

Json to_completion(const StrictObject& in) {
    const u64 prompt = in.get<u64>("prompt_tokens");
    const InFlight request{prompt, in.get<u64>("current_tokens") - prompt, in.get<u64>("max_new_tokens"), 0};
    return {{"blocks", blocks_to_completion(request, in.get<u64>("blocks_allocated"),
                                            in.get<u64>("temporary_window"), shape_of(in))}};
}

Json temporary(const StrictObject& in) {
    return {{"tokens", temporary_window(in.get<u64>("max_input_tokens"), in.get<u64>("max_num_tokens"),
                                        in.get<u64>("window"))}};
}

Json upper_bound(const StrictObject& in) {
    const u64 longest = in.get<u64>("max_seq_len");
    const u64 bound = window_upper_bound(in.get<u64>("primary_blocks"), in.get<u64>("tokens_per_block"),
                                         in.get<u64>("beam"), longest);
    return {{"max_window_tokens", bound}, {"effective_max_seq_len", smaller(bound, longest)}};
}

Json lifetime(const StrictObject& in) {
    const auto at = [&](u64 tokens) {
        return window_blocks(tokens, in.get<u64>("window"), in.get<u64>("max_seq_len"),
                             in.get<u64>("tokens_per_block"));
    };
    Json listed = Json::object();
    for (u64 tokens = in.get<u64>("prompt_tokens", 1); tokens <= 4096; ++tokens) {
        listed[std::to_string(tokens)] = at(tokens).listed;
    }
    const WindowBlocks now = at(in.get<u64>("tokens", 0));
    return {{"blocks_listed_at_tokens", listed},
            {"front_blocks_detached", now.detached},
            {"blocks_live", now.live()}};
}

ElementFormat bytes_each(const StrictObject& in, const char* key) {
    return {.elems = 1, .bytes = in.get<u32>(key)};
}

Json states(const StrictObject& in) {
    in.ignore("model");
    const Mamba2 layer{.heads = in.get<u32>("num_heads"), .head_dim = in.get<u32>("head_dim"),
                       .state_dim = in.get<u32>("d_state"), .groups = in.get<u32>("n_groups"),
                       .kernel = in.get<u32>("d_conv")};
    const Options options{.conv_format = bytes_each(in, "conv_bytes_per_elem"),
                          .state_format = bytes_each(in, "state_bytes_per_elem")};
    const StateBytes bytes = state_bytes(layer.forms()[0], in.get<u32>("tp"), options).value();
    return {{"conv_bytes_per_layer", bytes.conv}, {"state_bytes_per_layer", bytes.state},
            {"bytes_per_slot_all_layers", bytes.total() * in.get<u64>("state_layers_on_rank")}};
}

Json hybrid_budget(const StrictObject& in) {
    const HybridBudget budget{
        .attention = in.get<u64>("attention_bytes_per_token"),
        .state = in.get<u64>("state_bytes_per_slot"),
        .slots = in.get<u64>("max_batch") * in.get<u64>("pp") + in.get<u64>("dummy_slots"),
        .interval = in.get<u64>("snapshot_interval", 0),
        .tokens_per_block = in.get<u64>("tokens_per_block")};
    return {{"slope_bytes_per_token", budget.slope()}, {"intercept_bytes", budget.intercept()},
            {"max_tokens", budget.max_tokens(in.get<u64>("budget_bytes"))}};
}

}  // namespace

Json trtllm_pool_blocks(const StrictObject& in) {
    in.ignore("model");
    in.ignore("pp");
    const KvDtype dtype = trtllm_dtype(in.get<std::string>("dtype"));
    Options options = budget_options(in);
    options.path = in.get<std::string>("path") == "cpp" ? Path::cpp : Path::python;
    options.tokens_per_block = in.get<u64>("tokens_per_block");
    options.max_tokens = in.get<u64>("max_tokens", trtllm::not_set);
    const u64 bytes = manager_bytes(layers_of(in), ranks_of(in), dtype);
    Blocks blocks{.primary = in.get<u64>("blocks", 0)};
    if (!in.has("blocks")) {
        const u64 free = in.get<u64>("free_bytes");
        blocks = options.path == Path::cpp ? cpp_blocks(primary_bytes(free, options), 1, bytes, true, options)
                                           : python_blocks(python_memory(free, options), bytes, options);
    }
    const u64 tokens = blocks.primary * options.tokens_per_block;
    return {{"bytes_per_token", bytes},
            {"primary_blocks", blocks.primary},
            {"secondary_blocks", blocks.secondary},
            {"primary_tokens", tokens},
            {"pool_bytes", tokens * bytes},
            {"logged_gib_2dp", gib_text(tokens * bytes)}};
}

Json trtllm_capacity(const std::string& kind, const StrictObject& in) {
    static const std::map<std::string, Json (*)(const StrictObject&)> rules{
        {"window_share", window_share},
        {"window_clamp", window_clamp},
        {"pool_bytes", pool_budget},
        {"variable_window_blocks", variable_window_blocks},
        {"pool_blocks", trtllm_pool_blocks},
        {"round_to_blocks", round_to_blocks},
        {"estimator_vs_manager_bytes", estimates},
        {"block_pools", block_pools},
        {"beam_blocks", beam_blocks},
        {"blocks_next_step", next_step},
        {"blocks_per_sequence_max", sequence_max},
        {"blocks_to_completion", to_completion},
        {"temporary_window", temporary},
        {"window_upper_bound", upper_bound},
        {"window_block_lifetime", lifetime},
        {"state_bytes", states},
        {"hybrid_state_budget", hybrid_budget},
    };
    const auto rule = rules.find(kind);
    if (rule == rules.end()) {
        throw std::runtime_error("a known kind, not " + kind);
    }
    return rule->second(in);
}

}  // namespace golden
