// SPDX-License-Identifier: MIT
// Observations of SGLang: pool sizes and log texts, mostly with the token count given instead of the memory.
#include "observations.hpp"
#include "sglang.hpp"

namespace golden {

namespace {

using namespace kvcap;

std::string gib(u64 bytes) { return scaled_text(bytes, 30, 2); }

sglang::Options options_of(const Observation& asked, const StrictObject& model) {
    sglang::Options options{};
    apply_sglang_model(model, options);
    apply_sglang_options(asked.options, options);
    options.dtype = sglang_dtype(asked.options.get<std::string>("dtype"));
    options.page = asked.options.get<u64>("page_size");
    options.attention_dp = asked.options.get<bool>("dp_attention", false) ? asked.options.get<u32>("dp") : 1;
    asked.options.ignore("dp");
    return options;
}

Json answer(const Observation& asked) {
    const StrictObject model{asked.model};
    const ModelSpec spec = sglang_model(model);
    const sglang::Options options = options_of(asked, model);
    model.done("the model");
    const Sharding sharding{.tp = asked.options.get<u32>("tp"), .pp = asked.options.get<u32>("pp", 1),
                            .cp = asked.options.get<u32>("cp", 1)};
    const double rest =
        asked.has_budget ? static_cast<double>(asked.budget) / bytes_per_gib : sglang::unlimited_gib;
    const auto rank = sglang::rank_pools(spec, sharding, asked.options.get<u32>("pp_rank", 0), rest, options);
    if (!rank) {
        return {{"error", static_cast<int>(rank.error().code)}};
    }
    const sglang::Local& layers = rank->layers;
    const sglang::Allocation& taken = rank->allocated;
    const auto full = sglang::head_pool(rank->pools.full, layers.full_layers, layers.full, options);
    const auto window = sglang::head_pool(rank->pools.window, layers.window_layers, layers.window, options);
    return {{"tokens", rank->pools.tokens},
            {"full_tokens", rank->pools.full},
            {"window_tokens", rank->pools.window},
            {"bytes_per_token", rank->cell},
            {"k_gib_2dp", gib(taken.k)},
            {"v_gib_2dp", gib(taken.v)},
            {"kv_gib_2dp", gib(taken.kv)},
            {"kv_bytes", taken.tokens()},
            {"full_k_gib_2dp", gib(full.k)},
            {"full_v_gib_2dp", gib(full.v)},
            {"window_k_gib_2dp", gib(window.k)},
            {"window_v_gib_2dp", gib(window.v)},
            {"state_conv_gib_2dp", gib(taken.conv)},
            {"state_ssm_gib_2dp", gib(taken.ssm)}};
}

/// A token of a whole model, in bytes: pools change at whole pages.
std::uint64_t step(const Observation&) { return 1024; }

}  // namespace

extern const Observer sglang_observer{"sglang", answer, step};

}  // namespace golden
