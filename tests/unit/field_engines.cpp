// SPDX-License-Identifier: MIT
// Public reports about what engines print and reserve. Where the memory behind a line is not stated, the engine is
// asked with the pool that the line implies, and every printed figure must follow. docs/field-cases.md lists them.
#include <catch2/catch.hpp>
#include <kvcap/core.hpp>
#include <kvcap/engine/paged.hpp>
#include <kvcap/engine/sglang.hpp>
#include <kvcap/engine/trtllm.hpp>
#include <kvcap/engine/vllm.hpp>
#include <kvcap/io/hf.hpp>
#include <kvcap/plan/fit.hpp>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

namespace field_engines_tests {

using namespace kvcap;

namespace {

constexpr double gib = 1024.0 * 1024.0 * 1024.0;

template <class... Parts>
ModelSpec made_of(const Parts&... parts) {
    return compose(parts...).value();
}

std::string decimals(double value, int digits) {
    char text[32];
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    return text;
}

/// A start of vLLM and what its log says. memory: of each worker.
struct Start {
    ModelSpec model{};
    Sharding split{};
    vllm::Options options{};
    vllm::Rules rules = vllm::newest_rules;

    std::unique_ptr<vllm::Outcome> with(u64 memory) const {
        const Bytes each[]{{memory}};
        const vllm::Engine engine{.options = options, .rules = rules};
        return std::make_unique<vllm::Outcome>(engine.start(model, split, {each, 1}));
    }
    /// Tokens in the log, 0 for a server that does not start.
    u64 tokens(u64 memory) const {
        const auto outcome = with(memory);
        return outcome->runs() ? outcome->log.tokens : 0;
    }
    /// The least memory whose log says at least so many tokens.
    u64 least_memory(u64 wanted) const {
        u64 low = 0;
        u64 high = 1ull << 40;
        REQUIRE(tokens(high) >= wanted);
        while (low < high) {
            const u64 middle = low + (high - low) / 2;
            (tokens(middle) < wanted ? low : high) = tokens(middle) < wanted ? middle + 1 : middle;
        }
        return low;
    }
};

/// Both lines of vLLM's log as a record has them.
struct Lines {
    u64 tokens = 0;
    const char* concurrency = "";
};

void check_lines(const vllm::Outcome& outcome, const Lines& want) {
    REQUIRE(outcome.runs());
    CHECK(outcome.log.tokens == want.tokens);
    CHECK(decimals(outcome.log.concurrency, 2) == want.concurrency);
}

/// Some memory must print both lines at once, and to three decimals it is the pool that tokens and model imply: a block
/// more or less prints other tokens, so three decimals of a GiB alone, coarser than a block, do not decide them.
void check_implied(const Start& start, const Lines& want, const char* pool_gib) {
    const u64 memory = start.least_memory(want.tokens);
    check_lines(*start.with(memory), want);
    CHECK(decimals(static_cast<double>(memory) / gib, 3) == pool_gib);
    CHECK(start.tokens(memory - 1) < want.tokens);
    const Pool pool = start.with(memory)->plan.pools[0];
    CHECK(pool.units * pool.each.value == memory);
}

vllm::Rules rules(const char* name) {
    return vllm::rules_named(name).value();
}

u64 stream_bytes(const Stream& stream) {
    return stream.format.row_bytes(stream.width).value() * stream.rows * stream.heads;
}

}  // namespace

TEST_CASE("field: pools of TensorRT-LLM are a share of free memory", "[field]") {
    const ModelSpec seven_b = made_of(repeat(32, Gqa{32, 128}));
    const u64 growth = bytes_per_token(seven_b).value().value;
    CHECK(growth == 524'288);
    CHECK(fold(seven_b, {.prompt = {132'608}}).value().total() == 69'524'783'104_B);  // TensorRT-LLM#1400: one request
    const trtllm::Options options{.path = trtllm::Path::cpp, .tokens_per_block = 64};
    const u64 memory = static_cast<u64>(0.9 * 21.89 * gib);  // TensorRT-LLM#2268
    CHECK(trtllm::cpp_blocks(memory, 1, growth, true, options).primary == 631);
}

TEST_CASE("field: vLLM's two log lines follow from the pool that they imply", "[field]") {
    SECTION("vllm#13596: blocks x block size, over the length, whatever the model and the release") {
        for (const char* release : {"0.10", "0.20", "0.28"}) {
            for (const ModelSpec& model : {made_of(repeat(32, Gqa{8, 128})), made_of(repeat(61, Mla{512, 64}))}) {
                const Start start{.model = model, .options = {.max_model_len = 2048, .block_size = 16,
                                                              .num_blocks_override = 127'626}, .rules = rules(release)};
                check_lines(*start.with(1ull << 40), {.tokens = 2'042'016, .concurrency = "997.08"});
            }
        }
    }
    SECTION("Qwen3-32B under 0.19") {
        const Start start{.model = made_of(repeat(64, Gqa{8, 128})), .options = {.max_model_len = 40'960},
                          .rules = rules("0.19")};
        check_implied(start, {.tokens = 112'064, .concurrency = "2.74"}, "27.359");
    }
    SECTION("MiniMax-M2.7 on four ranks, some release of 2026") {
        for (const char* day : {"2026-01", "2026-05", "2026-08-20"}) {
            const Start start{.model = made_of(repeat(62, Gqa{8, 128})), .split = {.tp = 4},
                              .options = {.max_model_len = 131'072}, .rules = rules(day)};
            check_implied(start, {.tokens = 244'576, .concurrency = "1.87"}, "14.461");
        }
    }
    SECTION("tt-xla#5727: without a manager for windows, tokens over the length, whatever the block") {
        const ModelSpec gemma4_31b = made_of(repeat(10, Gqa{4, 512}), repeat(50, Windowed{Gqa{16, 256}, 1024_tok}));
        for (const u32 block : {16u, 32u}) {
            const Start start{.model = gemma4_31b,
                              .options = {.max_model_len = 128, .block_size = block,
                                          .num_blocks_override = 7584 / block, .hybrid_manager = false}};
            check_lines(*start.with(1ull << 40), {.tokens = 7584, .concurrency = "59.25"});
        }
    }
    SECTION("configiq#112: the same blocks are another number of tokens at another length") {
        const auto tokens_at = [](u64 length) {
            const Start start{.model = made_of(repeat(10, Gqa{16, 128}), repeat(52, Windowed{Gqa{16, 128}, 1024_tok})),
                              .options = {.max_model_len = length}};
            const auto outcome = start.with(20ull << 30);
            REQUIRE(outcome->runs());
            return std::pair{outcome->plan.pools[0].units, outcome->log.tokens};
        };
        const auto [blocks, tokens] = tokens_at(32'768);
        const auto [same_blocks, fewer_tokens] = tokens_at(8'192);
        CHECK(blocks == same_blocks);
        CHECK(tokens > fewer_tokens);
    }
    SECTION("GLM with decode context parallelism 8: everything dealt out, in whole blocks of all ranks") {
        const u64 memory = static_cast<u64>(5.35 * gib);
        const Start start{.model = made_of(repeat(21, SparseMla{512, 64, 128, bf16, fp8_scale_per_128}),
                                           repeat(57, Mla{512, 64})),
                          .split = {.tp = 8, .cp = 8}, .options = {.max_model_len = 262'144, .block_size = 16}};
        const u64 all_dealt_out = 496'136;  // 5.35 GiB over (92,628 bytes / 8); the fork printed 484,096
        CHECK(bytes_per_token(start.model).value() == 92'628_B);
        CHECK(start.tokens(memory) == all_dealt_out / (16 * 8) * (16 * 8));
    }
}

TEST_CASE("field: blocks that other engines print", "[field]") {
    SECTION("text-generation-inference#2748: blocks of one token are tokens, whatever the model") {
        for (const ModelSpec& model : {made_of(repeat(32, Gqa{8, 128})), made_of(repeat(80, Gqa{8, 128}))}) {
            const u64 blocks = 123'449;
            const Bytes memory[]{bytes_per_token(model).value() * blocks};
            const PagedEngine engine{.rules = {.block = 1, .spare = 0}};
            const auto plan = engine.pools(model, {}, {memory, 1});
            REQUIRE(plan);
            CHECK(plan->pools[0].units == blocks);
            CHECK(longest(*plan, 1, 1'000'000_tok) == 123'449_tok);
        }
    }
    SECTION("SGLang, Gemma-4-12B: a share of the 2.74 GB free gives both pools at once") {
        const ModelSpec model = made_of(repeat(8, Gqa{1, 512}), repeat(40, Windowed{Gqa{8, 256}, 1024_tok}));
        const auto options = sglang::with_architecture({}, "Gemma4ForConditionalGeneration", 1024);
        REQUIRE(options.window_pool);
        const auto pools = [&](double rest) { return sglang::rank_pools(model, {}, 0, rest, options).value(); };
        const double rest = 1710.5 * pools(2.74).cell / gib;
        REQUIRE(rest < 2.745);
        CHECK(pools(rest).pools.full == 1710);
        CHECK(pools(rest).pools.window == 1368);
    }
    SECTION("vllm-ascend#14543: blocks of 1,024 tokens from keys and values, 2,048 from keys alone") {
        const auto read = read_config_file(KVCAP_SOURCE_DIR "/configs/models/qwen/qwen3.5-35b-a3b.json");
        REQUIRE(read);
        const auto bytes_of = [&](Role role) {
            u64 bytes = 0;
            for (const LayerForm& form : read->spec.forms) {
                for (const Stream& stream : form.streams) {
                    bytes += stream.role == role ? stream_bytes(stream) : 0;
                }
            }
            return bytes;
        };
        const u64 both = bytes_of(Role::key) + bytes_of(Role::value);
        CHECK(ceil_div(bytes_of(Role::state), both) == 1024);
        CHECK(ceil_div(bytes_of(Role::state), bytes_of(Role::key)) == 2048);
        const Start start{.model = read->spec, .options = {.max_model_len = 32'768, .ssm_bytes = 4}};
        const u64 page = bytes_of(Role::state) + bytes_of(Role::conv);  // vLLM's page holds the convolution as well
        CHECK(start.with(64ull << 30)->design.blocks.block == round_up(ceil_div(page, both), 16));
    }
}

}  // namespace field_engines_tests
