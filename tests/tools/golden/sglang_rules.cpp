// SPDX-License-Identifier: MIT
// SGLang golden cases of single rules: releases, checkpoints, splits, limits, log lines.
#include "sglang.hpp"

namespace golden {

using namespace kvcap;

namespace {

Json or_null(u64 value) { return value == off_scale ? Json{} : Json(value); }

Json window_release(const StrictObject& in) {
    const auto result = sglang::released({.tokens = in.get<u64>("tokens_before_this_step"),
                                          .window = in.get<u64>("window"),
                                          .page = in.get<u64>("page_size"),
                                          .protected_prefix = in.get<u64>("protected_prefix_tokens"),
                                          .floor = in.get<u64>("release_floor"),
                                          .released = in.get<u64>("already_released_upto"),
                                          .prefix_cache = !in.get<bool>("prefix_cache_disabled")});
    return {{"window_released_upto", result.upto}, {"window_slots_freed", result.freed}};
}

Json state_checkpoint(const StrictObject& in) {
    const sglang::PrefillStep step{in.get<u64>("prefix_tokens"), in.get<u64>("new_tokens_this_step"),
                                   in.get<u64>("branch_point", sglang::no_branch)};
    return {{"state_saved_at_token", or_null(sglang::state_kept_at(step, in.get<u64>("state_chunk")))}};
}

Json pipeline_split(const StrictObject& in) {
    Json ranges = Json::array();
    const Sharding sharding{.pp = in.get<u32>("pp"), .remainder = Remainder::last};
    for (u32 stage = 0; stage < sharding.pp; ++stage) {
        const LayerRange range = layers_of_stage(in.get<u32>("num_layers"), sharding, stage).value();
        ranges.push_back({range.begin, range.end});
    }
    return {{"ranges", ranges}};
}

Json host_pool(const StrictObject& in) {
    const sglang::HostTier tier{in.get<double>("host_to_device_ratio"),
                                in.get<double>("host_size_gb_decimal")};
    return {{"host_tokens", sglang::host_tokens(tier, in.get<u64>("device_tokens"),
                                                in.get<u64>("bytes_per_token"), in.get<u64>("page_size"))}};
}

/// The case gives slots per request; each strategy is one such number.
sglang::Options with_slots(sglang::Options options, u64 each) {
    options.prefix_cache = each != 1;
    options.states = each == 5   ? sglang::StateStrategy::extra_buffer
                     : each == 4 ? sglang::StateStrategy::extra_buffer_lazy
                                 : sglang::StateStrategy::no_buffer;
    return options;
}

Json request_limit(const StrictObject& in) {
    const bool states = in.has("state_slots");
    sglang::Options options{.context = in.get<u64>("context_len"),
                            .attention_dp = in.get<u32>("attention_dp"),
                            .max_running_requests = in.get<u64>("user_limit", sglang::not_set)};
    options = with_slots(options, in.get<u64>("slots_per_request", 3));
    const auto limit =
        sglang::request_limit(in.get<u64>("tokens"), in.get<u64>("state_slots", 0), states, options);
    return {{"max_running_requests", limit ? Json(*limit) : Json("refused")}};
}

Json log_line(const StrictObject& in) {
    const u64 page = in.get<u64>("page_size");
    const u64 tokens = in.get<u64>("tokens");
    const u64 bytes =
        sglang::latent_pool(tokens, page, in.get<u64>("layers"), in.get<u64>("latent_bytes_per_token_layer"),
                            in.get<u64>("index_bytes_per_token_layer"));
    if (in.get<u64>("index_tokens_padded", (tokens + page + 1) / page * page) !=
        (tokens + page + 1) / page * page) {
        throw std::runtime_error("index rows in whole pages");
    }
    return {{"kv_bytes", bytes}, {"logged_gib_2dp", two_decimals_gib(bytes)}};
}

Json answer(const std::string& kind, const StrictObject& in) {
    return kind == "window_release"              ? window_release(in)
           : kind == "state_checkpoint_position" ? state_checkpoint(in)
           : kind == "pipeline_split"            ? pipeline_split(in)
           : kind == "host_pool_tokens"          ? host_pool(in)
           : kind == "max_running_requests"      ? request_limit(in)
           : kind == "log_line"                  ? log_line(in)
                                                 : throw std::runtime_error("a known kind, not " + kind);
}

}  // namespace

void sglang_rule(const std::string& kind, const StrictObject& one, Report& report) {
    const StrictObject inputs{one.at("inputs")};
    const Json got = answer(kind, inputs);
    inputs.done("inputs");
    const Json& expect = one.at("expect");
    for (const auto& [field, want] : expect.items()) {
        report.equal(field, want, got.contains(field) ? got[field] : Json("not answered"));
    }
}

}  // namespace golden
