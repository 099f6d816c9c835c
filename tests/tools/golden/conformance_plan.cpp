// SPDX-License-Identifier: MIT
// kv-conformance/1, kind `plan`: what vLLM, llama.cpp, SGLang and TensorRT-LLM make of a model and memory. Questions
// are in the words of each engine's golden files; answers are the few numbers that any other tool could give.
#include "conformance.hpp"
#include "llamacpp.hpp"
#include "sglang.hpp"
#include "trtllm.hpp"
#include "vllm.hpp"

#include <map>

namespace golden {

using namespace kvcap;

namespace {

Json vllm_plan(const StrictObject& question) {
    const StrictObject engine{question.at("engine")};
    VllmCase from = vllm_case(engine, StrictObject{question.at("model")});
    for (const Json& bytes : engine.at("available_bytes")) {
        from.available.push_back({bytes.get<u64>()});
    }
    engine.done("the engine");
    const vllm::Outcome outcome = vllm::Engine{.options = from.options}.start(
        from.model, from.sharding, {from.available.data(), static_cast<u32>(from.available.size())});
    if (outcome.error.code != Errc::ok) {
        throw std::runtime_error("a model that can be planned");
    }
    if (!outcome.runs()) {
        return {{"refused", vllm_error(outcome.sizing.refusal)}};
    }
    Json groups = Json::array();
    for (const vllm::GroupKind& kind : outcome.design.grouping.kinds) {
        for (u32 group = 0; group < kind.groups; ++group) {
            groups.push_back({{"block_size", kind.spec.block}, {"page_bytes", kind.page}});
        }
    }
    return {{"num_blocks", outcome.plan.pools[0].units},
            {"groups", groups},
            {"max_model_len", outcome.plan.max_len},
            {"blocks_per_request", demand(outcome.plan, vllm::request_of(outcome.plan.max_len, from.options)).units[0]},
            {"capacity_tokens", outcome.log.tokens},
            {"max_concurrency", two_decimals(outcome.log.concurrency)}};
}

Json llamacpp_plan(const StrictObject& question) {
    const StrictObject flags{question.at("flags")};
    const Diagnosed<llamacpp::Card> card =
        llamacpp_card(question.at("metadata"), question.get<bool>("nextn_tensors_present", false));
    const llamacpp::Options options = llamacpp_options(flags);
    flags.done("the flags");
    if (!card) {
        return {{"refused", "model_load_refused"}};
    }
    const Result<llamacpp::Layout> made = llamacpp::layout(*card, options);
    if (!made) {
        const bool model = llamacpp::refuses_model(llamacpp::refusal_of(made.error()));
        return {{"refused", model ? "model_load_refused" : "context_refused"}};
    }
    Json caches = Json::array();
    for (const Json& cache : llamacpp_caches(*card, *made)) {
        Json one = Json::object();
        for (const char* key : {"role", "cells", "layers", "k_bytes", "v_bytes", "r_bytes", "s_bytes", "bytes"}) {
            if (cache.contains(key)) {
                one[key] = cache[key];
            }
        }
        caches.push_back(one);
    }
    return {{"caches", caches}, {"total_bytes", llamacpp::total_bytes(*card, *made).value().total()}};
}

/// Blocks of one window, or of several in ascending order.
Json trtllm_plan(const StrictObject& question) {
    if (!question.has("windows_to_layers")) {
        const Json all = trtllm_pool_blocks(question);
        Json answer = Json::object();
        for (const char* key : {"primary_blocks", "secondary_blocks", "primary_tokens", "bytes_per_token"}) {
            answer[key] = all.at(key);
        }
        return answer;
    }
    const Json all = trtllm_capacity("variable_window_blocks", question);
    std::map<u64, Json> windows;
    for (const auto& [window, blocks] : all.at("blocks").items()) {
        windows[std::stoull(window)] = blocks;
    }
    Json answer{{"primary_blocks", Json::array()}, {"secondary_blocks", Json::array()}};
    for (const auto& [window, blocks] : windows) {
        for (auto& [field, list] : answer.items()) {
            list.push_back(blocks.at(field));
        }
    }
    return answer;
}

}  // namespace

Json conformance_plan(const Json& one) {
    const StrictObject question{one.at("question")};
    const std::string engine = one.at("engine").get<std::string>();
    const Json answer = engine == "vllm"           ? vllm_plan(question)
                        : engine == "llama.cpp"    ? llamacpp_plan(question)
                        : engine == "sglang"       ? sglang_answer(question)
                        : engine != "tensorrt_llm" ? Json()
                                                   : trtllm_plan(question);
    if (engine == "tensorrt_llm") {
        question.done("the question");
    }
    if (answer.is_null()) {
        throw std::runtime_error("the engine vllm, llama.cpp, sglang or tensorrt_llm, not " + engine);
    }
    return answer;
}

}  // namespace golden
