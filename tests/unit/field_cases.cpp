// SPDX-License-Identifier: MIT
// Public reports about held bytes and prefix reuse, each with the numbers it states. docs/field-cases.md lists all of
// them; pools and log lines of engines are in field_engines.cpp, what engines printed in tests/golden/observations.
#include <catch2/catch.hpp>
#include <kvcap/core.hpp>
#include <kvcap/engine/vllm/hits.hpp>
#include <kvcap/reuse.hpp>
#include <kvcap/store.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace field_cases_tests {

using namespace kvcap;

namespace {

constexpr double gib = 1024.0 * 1024.0 * 1024.0;

u64 held(const ModelSpec& model, u64 tokens, const Sharding& sharding = {}) {
    return fold(model, {.prompt = {tokens}}, sharding).value().total().value;
}

u64 growth(const ModelSpec& model, const Sharding& sharding = {}) {
    return bytes_per_token(model, sharding).value().value;
}

template <class... Parts>
ModelSpec made_of(const Parts&... parts) {
    return compose(parts...).value();
}

std::string two_decimals(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", value);
    return text;
}

const ModelSpec llama3_8b = made_of(repeat(32, Gqa{8, 128}));
const ModelSpec deepseek_v3 = made_of(repeat(61, Mla{512, 64}));
const ModelSpec gemma3_27b =
    made_of(repeat(10, Gqa{16, 128}), repeat(52, Windowed{Gqa{16, 128}, 1024_tok}));

/// Pages of one group, all held but those listed.
struct Pages {
    u64 count;
    std::vector<u64> words;

    Pages(u64 pages, const std::vector<u64>& missing, bool held = true)
        : count{pages}, words(pages / 64 + 1, held ? ~u64{0} : 0) {
        for (const u64 page : missing) {
            words[page / 64] ^= u64{1} << (page % 64);
        }
    }
    PageBits bits() const { return {words.data(), count}; }
};

u64 skipped(const std::vector<Group<>>& groups, u64 prompt) {
    const u32 count = static_cast<u32>(groups.size());
    return reusable(groups.data(), count, ask_for(prompt, common_unit(groups.data(), count)));
}

}  // namespace

TEST_CASE("field: the textbook formula where it is right, and what was taken for it", "[field]") {
    SECTION("text-generation-inference#2160, vllm#29736: grouped heads") {
        CHECK(growth(llama3_8b) == 131'072);
        CHECK(growth(llama3_8b) * 4 == 2ull * 4096 * 32 * 2);  // 2 x hidden x layers
    }
    SECTION("ollama#5821: 80,000 tokens of Llama-3.1-8B are 9.77 GiB, not 23.5") {
        CHECK(two_decimals(static_cast<double>(held(llama3_8b, 80'000)) / gib) == "9.77");
    }
    SECTION("mlx-examples#1081, mlx-lm#1587: content, beside which peaks hold weights and copies") {
        CHECK(held(llama3_8b, 33'080) == 4'335'861'760);
        CHECK(two_decimals(static_cast<double>(held(made_of(repeat(28, Gqa{8, 128})), 32'000)) / gib) == "3.42");
    }
    SECTION("LMCache#3110: 31 tokens of 36 layers print as 0.0043, the page says 0.0040") {
        char text[32];
        std::snprintf(text, sizeof text, "%.4f", static_cast<double>(held(made_of(repeat(36, Gqa{8, 128})), 31)) / gib);
        CHECK(text == std::string{"0.0043"});
    }
    SECTION("ollama#6160, textgen#6903: quantised caches with their scales") {
        const ModelSpec q8 = made_of(repeat(56, Quantized{Gqa{8, 128}, Stored{ggml::q8_0}}));
        CHECK(held(q8, 49'152) == 5712ull << 20);
        const ModelSpec plain = made_of(repeat(64, Gqa{8, 128}));
        const ModelSpec q4 = made_of(repeat(64, Quantized{Gqa{8, 128}, Stored{ggml::q4_0}}));
        CHECK(held(plain, 8192) == 2048ull << 20);
        CHECK(held(plain, 8192) - held(q4, 8192) == 1472ull << 20);
    }
    SECTION("an SGLang log in GiB that says GB: 24,576 bytes a token, 0.61 for the keys") {
        const ModelSpec model = made_of(repeat(12, Gqa{2, 256}));
        CHECK(growth(model) == 24'576);
        CHECK(two_decimals(static_cast<double>(held(model, 53'440)) / 2 / gib) == "0.61");
    }
    SECTION("vllm#25350: 10.12 GiB at 221,000 tokens is the fp8 value, in whole blocks") {
        const ModelSpec model = made_of(repeat(48, Quantized{Gqa{4, 128}, Stored{fp8}}));
        CHECK(growth(model) == 49'152);
        CHECK(two_decimals(static_cast<double>(held(model, 221'008)) / gib) == "10.12");
    }
}

TEST_CASE("field: latents are one vector, on every rank", "[field]") {
    SECTION("LMCache#694, LMCache#2132") {
        CHECK(growth(deepseek_v3) == 70'272);
        CHECK(growth(made_of(repeat(61, Gqa{1, 512}))) == 124'928);  // what was shipped, as keys and values: 1.78 times
    }
    SECTION("llm-d-benchmark#359: four heads on eight ranks, latents on all") {
        const ModelSpec qwen3_235b = made_of(repeat(94, Gqa{4, 128}));
        CHECK(growth(qwen3_235b, {.tp = 8}) == growth(qwen3_235b, {.tp = 4}));
        CHECK(growth(qwen3_235b, {.tp = 4}) * 4 == growth(qwen3_235b));
        CHECK(growth(deepseek_v3, {.tp = 8}) == growth(deepseek_v3));
        CHECK(held(deepseek_v3, 4096, {.tp = 8, .pp = 2}) == u64{31} * 1152 * 4096);
    }
    SECTION("sglang#26691: eight equal copies where one would do") {
        const Spread spread = over_ranks(deepseek_v3, {.prompt = {1000}}, {.tp = 8}).value();
        CHECK(spread.stored == spread.unique * 8);
    }
    SECTION("LMCache#2947: index keys are a second tensor of their own size") {
        const ModelSpec glm5 = made_of(repeat(78, SparseMla{512, 64, 128, bf16, fp8_scale_per_128}));
        CHECK(growth(glm5) == 78ull * (576 * 2 + 132));
        REQUIRE(glm5.forms.size() == 2);
        CHECK(bytes_per_slot(glm5.forms[0]).value().value * 78 * 256 == 2'635'776);
        CHECK(glm5.forms[1].elements() * 78 * 256 == 11'501'568);
    }
}

TEST_CASE("field: windows, states and layers without a cache", "[field]") {
    SECTION("unsloth#4757: six models at their longest context") {
        const auto words = [](const ModelSpec& model, u64 tokens) {
            return two_decimals(static_cast<double>(held(model, tokens)) / gib);
        };
        CHECK(words(gemma3_27b, 131'072) == "10.41");
        const ModelSpec states = made_of(repeat(16, Gqa{4, 256}));
        CHECK(words(states, 262'144) == "16.00");
        CHECK(words(deepseek_v3, 163'840) == "10.72");
        CHECK(words(deepseek_v3, 262'144) == "17.16");
        CHECK(two_decimals(static_cast<double>(held(made_of(repeat(28, Gqa{8, 128})), 40'960)) / gib) == "4.38");
        const ModelSpec glm5 = join(made_of(repeat(78, Mla{512, 64})), made_of(repeat(1, Mla{512, 64}))).value();
        CHECK(words(glm5, 202'752) == "17.18");
    }
    SECTION("gpustack#2101: Gemma-3-27B with 85,000 tokens in q8_0 fits many times into 64.5 GB") {
        const ModelSpec q8 =
            made_of(repeat(10, Quantized{Gqa{16, 128}, Stored{ggml::q8_0}}),
                    repeat(52, Quantized{Windowed{Gqa{16, 128}, 1024_tok}, Stored{ggml::q8_0}}));
        CHECK(held(q8, 85'000) == 10ull * 85'000 * 4352 + 52ull * 1024 * 4352);
    }
    SECTION("hf-mem#60, hf-mem#70: every layer counts, up to its window") {
        const ModelSpec gpt_oss_120b =
            made_of(repeat(18, Gqa{8, 64}), repeat(18, Windowed{Gqa{8, 64}, 128_tok}));
        CHECK(held(gpt_oss_120b, 1) == 73'728);
        const ModelSpec gpt_oss_20b =
            made_of(repeat(12, Gqa{8, 64}), repeat(12, Windowed{Gqa{8, 64}, 128_tok}));
        CHECK(32 * held(gpt_oss_20b, 8192) == (12ull * 8192 + 12 * 128) * 2048 * 32);
        CHECK(two_decimals(static_cast<double>(32 * held(gpt_oss_20b, 8192)) / gib) == "6.09");
        const ModelSpec whole = made_of(repeat(24, Gqa{8, 64}));  // an engine that gives windows full pages
        CHECK(32 * held(whole, 8192) == 12ull << 30);
    }
    SECTION("gguf-parser-go#28, ollama#12186: only attention layers grow") {
        const ModelSpec qwen = made_of(cycle(40, GatedDelta{16, 128, 32, 128}, GatedDelta{16, 128, 32, 128},
                                             GatedDelta{16, 128, 32, 128}, Gqa{2, 256}));
        CHECK(growth(qwen) * 4 == growth(made_of(repeat(40, Gqa{2, 256}))));
        const ModelSpec granite = made_of(repeat(4, Gqa{4, 128}), repeat(36, Mamba2{48, 64, 128}));
        CHECK(growth(granite) == 8192);
        CHECK(held(granite, 131'072) - held(granite, 16'384) == 114'688ull * 8192);
    }
    SECTION("exllamav3#50: 49 of 80 blocks keep attention") {
        CHECK(growth(made_of(repeat(49, Gqa{8, 128}), repeat(31, NoCache{}))) == 200'704);
    }
    SECTION("llama-toolchest#58, ollama#16958, ollama#17037: two geometries, windows in cells") {
        const ModelSpec gemma4_12b =
            made_of(repeat(8, Quantized{Gqa{1, 512}, Stored{ggml::q8_0}}),
                    repeat(40, Quantized{Windowed{Gqa{8, 256}, 1024_tok}, Stored{ggml::q8_0}}));
        CHECK(held(gemma4_12b, 131'072) == 8ull * 131'072 * 1088 + 40ull * 1024 * 4352);
        const ModelSpec gemma4_26b = made_of(repeat(5, Gqa{2, 512}), repeat(25, Windowed{Gqa{8, 256}, 1536_tok}));
        CHECK(two_decimals(static_cast<double>(held(gemma4_26b, 131'072)) / 1e9) == "3.00");
        const ModelSpec gemma3_4b = made_of(repeat(5, Gqa{4, 256}), repeat(29, Windowed{Gqa{4, 256}, 1536_tok}));
        CHECK(held(gemma3_4b, 131'072) == 2734ull << 20);
    }
    SECTION("tt-xla#5860: a window is no longer than the request") {
        const ModelSpec ring = made_of(repeat(50, Windowed{Gqa{16, 256}, 1024_tok}));
        CHECK(held(ring, 128) == held(made_of(repeat(50, Gqa{16, 256})), 128));
    }
}

TEST_CASE("field: how far a prompt can be skipped", "[field]") {
    const Rule everything{.needs = Needs::everything, .page = 528};
    const Rule state{.needs = Needs::snapshot, .page = 528};
    SECTION("qwen38-27b-rtx3090#102: the last block of an identical prompt is never reused") {
        for (const u64 block : {u64{480}, u64{864}}) {
            const Pages all(8, {});
            const std::vector<Group<>> groups{{{.needs = Needs::everything, .page = block}, all.bits()},
                                              {{.needs = Needs::snapshot, .page = block}, all.bits()}};
            for (const u64 prompt : {block, 2 * block, 2 * block + 1, 3 * block - 1}) {
                CHECK(skipped(groups, prompt) == (prompt - 1) / block * block);
            }
        }
    }
    SECTION("vllm#45238: a checkpoint behind the shared part serves nobody else") {
        const Pages shared(5, {2, 3, 4});          // 1,500 shared tokens: two whole blocks
        const Pages behind(5, {3}, false);         // a state after block 4 of the first request only
        const Pages at_the_fork(5, {1}, false);    // after block 2
        CHECK(skipped({{everything, shared.bits()}, {state, behind.bits()}}, 2200) == 0);
        CHECK(skipped({{everything, shared.bits()}, {state, at_the_fork.bits()}}, 2200) == 1056);
    }
    SECTION("vllm#51250: a draft model's window that was not kept takes the whole hit") {
        const Pages all(71, {});
        const Pages none(71, {}, false);
        const Rule block{.needs = Needs::everything, .page = 784};
        const Rule window{.needs = Needs::window, .page = 784, .reach = 2047};
        CHECK(skipped({{block, all.bits()}}, 55'009) == 54'880);
        CHECK(skipped({{block, all.bits()}, {window, none.bits()}}, 55'009) == 0);
    }
    SECTION("vllm#53749: what is shared counts in whole units") {
        const auto hit = [](u64 shared, u64 unit) {
            std::vector<u64> private_pages;
            for (u64 page = shared / unit; page < 10; ++page) {
                private_pages.push_back(page);
            }
            const Pages pages(10, private_pages);
            return skipped({{{.needs = Needs::everything, .page = unit}, pages.bits()}}, 2500);
        };
        CHECK(hit(908, 1056) == 0);
        CHECK(hit(883, 352) == 704);
    }
    SECTION("sglang#35515: one node missing in the last window") {
        const Pages all(400, {});
        const Rule prefix{.needs = Needs::everything, .page = 64};
        const Rule window{.needs = Needs::window, .page = 64, .reach = 127};
        std::vector<u64> freed;
        for (u64 page = 0; page < 397; ++page) {
            freed.push_back(page);
        }
        CHECK(skipped({{prefix, all.bits()}, {window, Pages(400, freed).bits()}}, 25'601) == 25'600);
        freed.push_back(398);
        const Pages broken(400, freed);
        CHECK(skipped({{prefix, all.bits()}, {window, broken.bits()}}, 25'601) == 0);
    }
    SECTION("vllm#52244: a drafter gives one unit back") {
        for (const u64 unit : {u64{4416}, u64{1104}, u64{276}}) {
            for (const u64 prompt : {unit - 1, 2 * unit, 2 * unit + 1, 5 * unit + 7}) {
                const u64 whole = (prompt - 1) / unit;
                const u64 want = whole == 0 ? 0 : (whole - 1) * unit;
                const Pages all(whole + 1, {});
                const vllm::LookupGroup groups[]{
                    {.kind = vllm::SpecKind::full, .drafts = true, .block = unit, .held = all.bits()}};
                const vllm::Lookup lookup{.groups = groups, .count = 1, .most = prompt - 1, .scheduler_block = unit,
                                          .hash_block = unit, .speculative = true};
                CHECK(vllm::look_up(lookup).value().tokens == want);
            }
        }
    }
}

}  // namespace field_cases_tests
