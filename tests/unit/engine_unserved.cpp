// SPDX-License-Identifier: MIT
// Caches that engines have no place for are refused at their layer: sinks beside a window, tokens of the prompt alone,
// a part of an encoder's tokens. What they do have a place for (cross attention, sinks where all stays) is planned.
#include "checked.hpp"

#include <catch2/catch.hpp>
#include <kvcap/core.hpp>
#include <kvcap/engine/llamacpp.hpp>
#include <kvcap/engine/sglang.hpp>
#include <kvcap/engine/trtllm.hpp>
#include <kvcap/engine/vllm.hpp>

namespace engine_unserved_tests {

using namespace kvcap;

namespace {

constexpr Gqa heads{.kv_heads = 8, .head_dim = 128};
constexpr Bytes memory[] = {60_GiB};
constexpr kvcap::llamacpp::Engine llamacpp_engine{{.n_ctx = 4096}};

/// Two layers of full attention, and on the second one a cache more that is kept so.
ModelSpec beside_full(const Retention& kept) {
    ModelSpec model = compose(repeat(2, heads), QueryHeads{8}).value();
    LayerForm form = heads.forms()[0];
    form.retention = kept;
    REQUIRE(model.add(1, form) == Errc::ok);
    return model;
}

template <class E>
Result<PoolPlan> planned(const E& engine, const ModelSpec& model) {
    return engine.pools(model, {}, {memory, 1});
}

/// What all engines say of the model; SGLang with a window pool and without.
void say_all(const ModelSpec& model, const Error& wanted) {
    CHECK(planned(kvcap::vllm::Engine{}, model).error() == wanted);
    CHECK(planned(kvcap::sglang::Engine{}, model).error() == wanted);
    CHECK(planned(kvcap::sglang::Engine{{.window_pool = true}}, model).error() == wanted);
    CHECK(planned(kvcap::trtllm::Engine{}, model).error() == wanted);
    CHECK(planned(llamacpp_engine, model).error() == wanted);
}

constexpr Error at_second(Uncovered what, u64 number = 0) {
    return {.code = Errc::unsupported, .what = what, .layer = 1, .got = number};
}

}  // namespace

TEST_CASE("no engine keeps first tokens beside a window, nor the prompt's tokens alone") {
    for (const Keep keep : {Keep::window, Keep::chunk, Keep::budget}) {
        CAPTURE(static_cast<int>(keep));
        say_all(beside_full({.keep = keep, .span = 64_tok, .sinks = 4_tok}), at_second(Uncovered::sinks));
        say_all(beside_full({.keep = keep, .source = Source::prompt, .span = 64_tok}),
                at_second(Uncovered::prompt_only));
    }
    say_all(beside_full({.source = Source::prompt}), at_second(Uncovered::prompt_only));
    say_all(beside_full({.source = Source::prompt, .sinks = 4_tok}), at_second(Uncovered::prompt_only));
    say_all(beside_full({.keep = Keep::last, .source = Source::prompt}), at_second(Uncovered::prompt_only));
    say_all(beside_full({.lag = 4}), at_second(Uncovered::lag, 4));
    say_all(beside_full({.keep = Keep::budget, .span = 64_tok}), at_second(Uncovered::budget));
    // A window beside them changes nothing of it, and without sinks it is served.
    const ModelSpec streaming = compose(cycle(4, heads, WithSinks{Windowed{heads, 64_tok}, 4_tok})).value();
    const ModelSpec sliding = compose(cycle(4, heads, Windowed{heads, 64_tok})).value();
    say_all(streaming, at_second(Uncovered::sinks));
    say_all(sliding, {});
}

TEST_CASE("an encoder's tokens have a place as a whole, and in llama.cpp none") {
    const ModelSpec crossing = beside_full({.source = Source::encoder});
    say_all(crossing, {});
    const auto plan = planned(llamacpp_engine, crossing);
    REQUIRE(plan);
    CHECK(plan->pools == planned(llamacpp_engine, compose(repeat(2, heads), QueryHeads{8}).value())->pools);
    const ModelSpec part = beside_full({.keep = Keep::window, .source = Source::encoder, .span = 64_tok});
    CHECK(planned(kvcap::vllm::Engine{}, part).error() == at_second(Uncovered::encoder_part));
    CHECK(planned(kvcap::sglang::Engine{{.window_pool = true}}, part).error() == at_second(Uncovered::encoder_part));
    CHECK(planned(kvcap::trtllm::Engine{}, part).error() == at_second(Uncovered::encoder_part));
    const ModelSpec state = compose(repeat(1, heads), repeat(1, Cross{Kda{.heads = 8, .head_dim = 128}})).value();
    CHECK(planned(kvcap::sglang::Engine{}, state).error() == at_second(Uncovered::encoder_part));
    CHECK(planned(kvcap::vllm::Engine{}, state).error().code == Errc::unsupported);
}

TEST_CASE("where everything stays, sinks free nothing and change no pool; entries of many tokens have no cells") {
    const ModelSpec sunk = compose(repeat(2, WithSinks{heads, 4_tok}), QueryHeads{8}).value();
    const ModelSpec full = compose(repeat(2, heads), QueryHeads{8}).value();
    const auto same = [&](const auto& engine) {
        const auto one = planned(engine, sunk);
        return one && one->pools == planned(engine, full)->pools;
    };
    CHECK(same(kvcap::sglang::Engine{}));
    CHECK(same(kvcap::trtllm::Engine{}));
    CHECK(same(llamacpp_engine));
    CHECK(planned(llamacpp_engine, beside_full({.stride = 8})).error() == at_second(Uncovered::stride, 8));
}

TEST_CASE("the program names the layer and the rules that have no case for it") {
    if (!program::known()) {
        return;
    }
    for (const char* engine : {"vllm", "sglang", "trtllm", "llamacpp"}) {
        const std::pair<const char*, const char*> layers[] = {
            {"sinks(4, window(128, gqa(8,128)))", "first tokens that stay (sinks) beside a window, chunk or budget"},
            {"sinks(4, chunk(128, gqa(8,128)))", "first tokens that stay (sinks) beside a window, chunk or budget"},
            {"prompt_only(gqa(8,128))", "tokens of the prompt alone"},
            {"prompt_only(window(64, gqa(8,128)))", "tokens of the prompt alone"},
            {"budget(64, gqa(8,128))", "a budget of tokens"}};
        for (const auto& [layer, words] : layers) {
            for (const char* verb : {"pools", "fit"}) {
                program::refused(std::string{verb} + " '4*gqa(8,128) + 4*" + layer + "' --engine " + engine +
                                     " --tokens 4k --kv-budget 8GiB",
                                 4, std::string{"layer 4: these rules do not cover "} + words);
            }
        }
    }
    // Learned sinks are weights of a head, not tokens: gpt-oss keeps plain windows, and every engine serves them.
    for (const char* engine : {"vllm", "sglang", "trtllm", "llamacpp"}) {
        CHECK(program::run(std::string{"pools gpt-oss-20b --tokens 4k --kv-budget 8GiB --engine "} + engine).code == 0);
    }
}

}  // namespace engine_unserved_tests
