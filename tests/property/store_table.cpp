// SPDX-License-Identifier: MIT
// The public conversation trace of Mooncake's FAST'25 release, given as KVCAP_TRACE: its counts, three right hit
// ratios, and hits by capacity of four models. Run: kvcap-property "[trace]"
#include <catch2/catch.hpp>
#include <kvcap/core.hpp>
#include <kvcap/io/trace.hpp>
#include <kvcap/store/trace.hpp>

#include <cmath>
#include <cstdlib>

namespace store_table_tests {

using namespace kvcap;

namespace {

Trace given() {
    const char* path = std::getenv("KVCAP_TRACE");
    if (path == nullptr) {
        FAIL("KVCAP_TRACE must name the trace file");
    }
    Diagnosed<Trace> read = read_trace_file(path);
    REQUIRE(read);
    return std::move(*read);
}

HitCurve curve_of(const Trace& trace, const ModelSpec& model, const SavePolicy& policy) {
    HybridCurve curve{stored_sizes(model, 512).value(), policy, 512};
    for (const TraceRequest& request : trace.requests) {
        curve.add(request.tokens, trace.path(request), request.blocks);
    }
    return curve.curve();
}

constexpr Gqa gemma_heads{.kv_heads = 16, .head_dim = 128};
constexpr Windowed gemma_window{gemma_heads, 1024_tok};
constexpr GatedDelta qwen_state{.key_heads = 16, .key_dim = 128, .value_heads = 32, .value_dim = 128,
                                .state_format = f32};

struct Row {
    const char* name;
    ModelSpec model;
    SavePolicy policy;
    double at[8];  // 64 GiB, 128 GiB ... 8 TiB
    double reachable;
    double gib[3];  // for 50, 90 and 99% of it
};

}  // namespace

TEST_CASE("hits by capacity on the public trace", "[.][trace]") {
    const Trace trace = given();
    CHECK(trace.requests.size() == 12'031);
    CHECK(trace.ids.size() == 288'500);
    CHECK(trace.distinct == 182'790);
    CHECK(is_prefix_forest(trace));
    PageCurve pages{512, {TailRule::ceil, false}};
    PageCurve whole{512};
    for (const TraceRequest& request : trace.requests) {
        const u32* path = trace.path(request);
        const std::vector<u64> ids(path, path + request.blocks);
        pages.add(request.tokens, ids.data(), request.blocks);
        whole.add(request.tokens, ids.data(), request.blocks);
    }
    CHECK(pages.hits(off_scale) == 105'710);
    CHECK(pages.hits(2) == 12'030);
    CHECK(pages.hits(4'827) == 30'864);
    const auto root_first = [&](u64 blocks) {
        return replay(trace, {.page = 1}, {}, {.all = blocks}, {TailRule::ceil, false},
                      TouchOrder::root_first)
            .hit_blocks;
    };
    CHECK(root_first(2) == 1'356);
    CHECK(root_first(4'827) == 30'422);
    CHECK(static_cast<double>(pages.hits(off_scale)) / 288'500 == Approx(0.36641).margin(5e-6));
    CHECK(pages.curve(1).ratio(pages.curve(1).reachable()) == Approx(0.37362).margin(5e-6));
    CHECK(whole.curve(1).ratio(whole.curve(1).reachable()) == Approx(0.37338).margin(5e-6));

    const ModelSpec llama = compose(repeat(80, Gqa{.kv_heads = 8, .head_dim = 128})).value();
    const ModelSpec deepseek = compose(repeat(61, Mla{.latent = 512, .rope = 64})).value();
    const ModelSpec gemma = compose(cycle(62, gemma_window, gemma_window, gemma_window, gemma_window, gemma_window,
                                          gemma_heads)).value();
    const ModelSpec qwen =
        compose(cycle(48, qwen_state, qwen_state, qwen_state, Gqa{.kv_heads = 2, .head_dim = 256})).value();
    CHECK(stored_sizes(qwen, 512)->snapshot == 77'266'944);
    const Row rows[] = {
        {"Llama-3.1-70B",
         llama,
         {},
         {.043, .045, .052, .074, .160, .252, .326, .365},
         .3734,
         {1'233, 4'625, 12'430}},
        {"DeepSeek-V3",
         deepseek,
         {},
         {.055, .088, .181, .268, .339, .366, .372, .373},
         .3734,
         {264, 992, 2'666}},
        {"Gemma-3-27B",
         gemma,
         {},
         {.046, .056, .093, .191, .271, .337, .352, .358},
         .3586,
         {475, 1'767, 4'889}},
        {"Gemma-3-27B, all window blocks",
         gemma,
         all_window_blocks,
         {.043, .044, .050, .066, .136, .226, .297, .358},
         .3734,
         {1'519, 6'210, 18'261}},
        {"Qwen3-Next", qwen, {}, {.088, .181, .264, .330, .352, .358, .359, .359}, .3586, {127, 472, 1'302}},
        {"Qwen3-Next, end only",
         qwen,
         end_only,
         {.091, .183, .261, .326, .343, .349, .350, .350},
         .3497,
         {120, 462, 1'264}},
        {"Qwen3-Next, every 8",
         qwen,
         {.every = 8},
         {.068, .145, .236, .309, .355, .365, .369, .369},
         .3686,
         {170, 668, 1'862}},
        {"Qwen3-Next, every block",
         qwen,
         every_block,
         {.046, .057, .098, .186, .268, .332, .365, .371},
         .3734,
         {513, 2'117, 6'279}},
    };
    for (const Row& row : rows) {
        const HitCurve curve = curve_of(trace, row.model, row.policy);
        INFO(row.name);
        for (u32 i = 0; i < 8; ++i) {
            CHECK(curve.ratio(curve.hit_tokens(u64{64} << (30 + i))) == Approx(row.at[i]).margin(0.0006));
        }
        CHECK(curve.ratio(curve.reachable()) == Approx(row.reachable).margin(0.00005));
        const double shares[] = {0.5, 0.9, 0.99};
        for (u32 i = 0; i < 3; ++i) {
            CHECK(std::round(static_cast<double>(curve.bytes_for(shares[i])) / 1073741824) == row.gib[i]);
        }
    }
}

}  // namespace store_table_tests
