// SPDX-License-Identifier: MIT
// SGLang golden cases of kind pool_capacity: one rank's pools, allocations and log texts.
#include "sglang.hpp"

namespace golden {

using namespace kvcap;

namespace {

/// The engine's refusals by the names of the golden files.
std::string refusal(const Error& error) {
    switch (error.code) {
        case Errc::no_memory: return "no_memory_after_weights";
        case Errc::window_pool_too_small: return "window_pool_too_small";
        case Errc::pool_of_no_tokens: return "zero_tokens";
        case Errc::too_few_state_slots:
        case Errc::no_state_slots: return "no_state_slots";
        default: return "code " + std::to_string(static_cast<int>(error.code));
    }
}

struct Setup {
    ModelSpec model{};
    Sharding sharding{};
    u32 stage = 0;
    double rest = 0;
    u64 others = sglang::not_set;
    sglang::Options options{};
};

void read_model(const StrictObject& model, Setup& setup) {
    setup.model = sglang_model(model);
    apply_sglang_model(model, setup.options);
    if (model.has("sparse")) {
        const StrictObject sparse{model.at("sparse")};
        for (const char* key : {"dense", "sparse", "k_only", "index_dim"}) {
            sparse.ignore(key);
        }
        sparse.done("sparse");
    }
    model.done("model");
}

void read_parallel(const StrictObject& parallel, Setup& setup) {
    setup.sharding.tp = parallel.get<u32>("tp");
    setup.sharding.pp = parallel.get<u32>("pp");
    setup.sharding.cp = parallel.get<u32>("cp", 1);
    setup.stage = parallel.get<u32>("pp_rank", 0);
    setup.options.attention_dp = parallel.get<bool>("dp_attention", false) ? parallel.get<u32>("dp") : 1;
    parallel.ignore("dp");
    parallel.done("parallel");
}

void read_memory(const StrictObject& memory, Setup& setup) {
    setup.rest = sglang::rest_gib({.total_before_load_gib = memory.get<double>("total_before_load_gib"),
                                   .free_after_load_gib = memory.get<double>("free_after_load_gib"),
                                   .static_fraction = memory.get<double>("static_fraction")});
    memory.done("memory");
}

void read_options(const StrictObject& options, Setup& setup) {
    apply_sglang_options(options, setup.options);
    if (options.has("stage_tokens_before_sync")) {
        for (const Json& stage : options.at("stage_tokens_before_sync")) {
            setup.others = smaller(setup.others, stage.get<u64>());
        }
    }
    options.done("options");
}

Setup setup_of(const StrictObject& one) {
    Setup setup{};
    read_model(StrictObject{one.at("model")}, setup);
    read_parallel(StrictObject{one.at("parallel")}, setup);
    read_memory(StrictObject{one.at("memory")}, setup);
    const StrictObject cache{one.at("cache")};
    setup.options.dtype = sglang_dtype(cache.get<std::string>("dtype"));
    setup.options.page = cache.get<u64>("page_size");
    cache.done("cache");
    read_options(StrictObject{one.at("options")}, setup);
    return setup;
}

Json shape_of(const sglang::StateShape& shape, bool kda) {
    return kda ? Json::array({Json::array({shape.conv_taps, shape.conv_channels})})
               : Json::array({Json::array({shape.conv_channels, shape.conv_taps})});
}

/// Every field this rank can answer.
Json answers(const sglang::RankPools& rank, bool kda) {
    const sglang::Allocation& taken = rank.allocated;
    return {{"bytes_per_token", rank.cell},
            {"full_layer_bytes_per_token", rank.window_cell.full_layer},
            {"window_layer_bytes_per_token", rank.window_cell.window_layer},
            {"budget_bytes", rank.budget},
            {"tokens", rank.pools.tokens},
            {"tokens_before_rank_sync", rank.tokens_alone},
            {"full_tokens", rank.pools.full},
            {"window_tokens", rank.pools.window},
            {"c4_tokens", rank.pools.quarter},
            {"c128_tokens", rank.pools.hundredth},
            {"c4_state_slots", rank.pools.quarter_states},
            {"c128_state_slots", rank.request_states},
            {"max_running_requests", rank.request_limit},
            {"state_slots", rank.state_slots},
            {"state_bytes_per_slot_budget", rank.state_slot.value},
            {"state_conv_shape_per_layer", shape_of(rank.state, kda)},
            {"state_ssm_shape_per_layer", {rank.state.ssm_heads, rank.state.ssm_rows, rank.state.ssm_width}},
            {"state_conv_bytes_allocated", taken.conv},
            {"state_ssm_bytes_allocated", taken.ssm},
            {"k_bytes_allocated", taken.k},
            {"v_bytes_allocated", taken.v},
            {"kv_bytes_allocated", taken.kv},
            {"kv_scale_bytes", taken.scales},
            {"full_pool_bytes_allocated", taken.full},
            {"window_pool_bytes_allocated", taken.window},
            {"latent_bytes_per_token_layer_allocated", taken.latent_row},
            {"logged_k_gib_2dp", two_decimals_gib(taken.k)},
            {"logged_v_gib_2dp", two_decimals_gib(taken.v)},
            {"logged_kv_gib_2dp", two_decimals_gib(taken.kv)}};
}

}  // namespace

Json sglang_answer(const StrictObject& one) {
    const Setup setup = setup_of(one);
    const bool kda = one.at("model").contains("state") && one.at("model")["state"].value("type", "") == "kda";
    const auto rank =
        sglang::rank_pools(setup.model, setup.sharding, setup.stage, setup.rest, setup.options, setup.others);
    return rank ? answers(*rank, kda) : Json{{"error", refusal(rank.error())}};
}

void sglang_capacity(const StrictObject& one, Report& report) {
    const Json got = sglang_answer(one);
    const Json& expect = one.at("expect");
    if (got.contains("error")) {
        report.equal("error", expect.value("error", Json{}), got["error"]);
        return;
    }
    for (const auto& [field, want] : expect.items()) {
        report.equal(field, want, got.contains(field) ? got[field] : Json("not answered"));
    }
}

}  // namespace golden
