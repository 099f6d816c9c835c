// SPDX-License-Identifier: MIT
// Parameter counts against published totals, exact sums from safetensors headers, and what lands on a rank.
#include <unistd.h>
#include <catch2/catch.hpp>
#include <kvcap/io/model_weights.hpp>
#include <random>

namespace weights_tests {

using namespace kvcap;
namespace fs = std::filesystem;

namespace {

u64 parameters(const std::string& json) {
    const Diagnosed<Weights> read = derived_weights(json);
    INFO((read.error ? read.error->text() : std::string{}));
    REQUIRE(read);
    CHECK(read->source == WeightSource::derived);
    CHECK(read.notes.at(0).origin == Origin::assumed);
    return read->parameters;
}

std::string dense(const char* type, int layers, int width, int heads, int kv, int inner, int vocabulary,
                  const char* more = "") {
    return std::string{R"({"model_type": ")"} + type + R"(", "num_hidden_layers": )" +
           std::to_string(layers) + R"(, "hidden_size": )" + std::to_string(width) +
           R"(, "num_attention_heads": )" + std::to_string(heads) + R"(, "num_key_value_heads": )" +
           std::to_string(kv) + R"(, "intermediate_size": )" + std::to_string(inner) + R"(, "vocab_size": )" +
           std::to_string(vocabulary) + more + "}";
}

const std::string llama3_8b = dense("llama", 32, 4096, 32, 8, 14336, 128256);

constexpr const char* deepseek_v3 =
    R"({"model_type": "deepseek_v3", "num_hidden_layers": 61, "hidden_size": 7168,
    "num_attention_heads": 128, "intermediate_size": 18432, "moe_intermediate_size": 2048, "n_routed_experts": 256,
    "n_shared_experts": 1, "first_k_dense_replace": 3, "kv_lora_rank": 512, "q_lora_rank": 1536,
        "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 129280})";

u64 on_rank(const Weights& weights, u32 tp, u32 pp, u32 ep = 1, u32 stage = 0, bool attention_dp = false) {
    return weights_on_rank(weights,
                           {.sharding = {.tp = tp, .pp = pp}, .ep = ep, .attention_dp = attention_dp}, stage)
        .value()
        .value;
}

}  // namespace

TEST_CASE("published totals: dense models", "[weights]") {
    CHECK(parameters(dense("llama", 32, 4096, 32, 32, 11008, 32000)) == 6'738'415'616);   // Llama-2-7B
    CHECK(parameters(llama3_8b) == 8'030'261'248);                                        // Llama-3-8B
    CHECK(parameters(dense("llama", 80, 8192, 64, 8, 28672, 128256)) == 70'553'706'496);  // Llama-3-70B
    CHECK(parameters(dense("llama", 126, 16384, 128, 8, 53248, 128256)) == 405'853'388'800);
    CHECK(parameters(dense("llama", 16, 2048, 32, 8, 8192, 128256,
                           R"(, "head_dim": 64, "tie_word_embeddings": true)")) == 1'235'814'400);
    CHECK(parameters(dense("mistral", 32, 4096, 32, 8, 14336, 32000)) == 7'241'732'096);
    CHECK(parameters(dense("qwen2", 28, 3584, 28, 4, 18944, 152064)) == 7'615'616'512);   // Qwen2-7B
    CHECK(parameters(dense("qwen2", 80, 8192, 64, 8, 29568, 152064)) == 72'706'203'648);  // Qwen2.5-72B
    CHECK(parameters(dense("qwen3", 36, 4096, 32, 8, 12288, 151936)) == 8'190'735'360);   // Qwen3-8B
    CHECK(parameters(dense("gemma2", 42, 3584, 16, 8, 14336, 256000)) == 9'241'705'984);  // Gemma-2-9B
    CHECK(
        parameters(R"({"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12, "n_positions": 1024,
                         "vocab_size": 50257})") == 124'439'808);
}

TEST_CASE("published totals: experts and latents", "[weights]") {
    CHECK(parameters(dense("mixtral", 32, 4096, 32, 8, 14336, 32000, R"(, "num_local_experts": 8)")) ==
          46'702'792'704);
    CHECK(parameters(dense("qwen3_moe", 48, 2048, 32, 4, 6144, 151936,
                           R"(, "head_dim": 128, "num_experts": 128, "moe_intermediate_size": 768)")) ==
          30'532'122'624);
    CHECK(parameters(dense("gpt_oss", 24, 2880, 64, 8, 2880, 201088,
                           R"(, "head_dim": 64, "num_local_experts": 32)")) == 20'914'757'184);
    CHECK(parameters(deepseek_v3) == 671'026'419'200);
}

TEST_CASE("published totals: states", "[weights]") {
    CHECK(
        parameters(
            R"({"model_type": "qwen3_next", "vocab_size": 151936, "num_experts": 512, "moe_intermediate_size": 512,
                         "shared_expert_intermediate_size": 512, "intermediate_size": 5120})") ==
        79'674'391'296);
    CHECK(
        parameters(
            R"({"model_type": "mamba", "hidden_size": 768, "num_hidden_layers": 24, "vocab_size": 50280})") ==
        129'135'360);
}

TEST_CASE("families without formulas and configs without a vocabulary are refused", "[weights]") {
    CHECK(derived_weights(R"({"model_type": "rwkv6", "hidden_size": 64, "num_hidden_layers": 1})")
              .error->trouble == Trouble::unknown);
    CHECK(derived_weights(R"({"model_type": "llama"})").error->where == "/intermediate_size");
    CHECK(derived_weights("").error->trouble == Trouble::unreadable);
    const std::string odd = dense("llama", 2, 8, 2, 1, 16, 10, R"(, "torch_dtype": "bfloat47")");
    CHECK(derived_weights(odd).error->text() == read_config(odd).error->text());  // who has weights has caches
}

TEST_CASE("weights on a rank by the stated rule", "[weights]") {
    const Weights llama = *derived_weights(llama3_8b).value;
    CHECK(on_rank(llama, 1, 1) == llama.bytes);
    const u64 whole = (2 * 32 + 1) * 4096 * 2;  // norms stay on every rank
    CHECK(on_rank(llama, 8, 1) == (llama.bytes - whole) / 8 + whole);
    const u64 keys = u64{2} * 8 * 128 * 4096 * 2 * 32;  // 16 ranks copy 8 key heads
    CHECK(on_rank(llama, 16, 1) == (llama.bytes - whole - keys) / 16 + whole + keys / 8);
    CHECK(on_rank(llama, 1, 2, 1, 0) + on_rank(llama, 1, 2, 1, 1) == llama.bytes);
    CHECK(on_rank(llama, 1, 2, 1, 1) - on_rank(llama, 1, 2, 1, 0) == 4096 * 2);  // the last norm

    const Weights deepseek = *derived_weights(deepseek_v3).value;
    u64 experts = 0;
    for (const WeightGroup& group : deepseek.groups) {
        experts += group.part == WeightPart::experts ? group.bytes : 0;
    }
    CHECK(experts == u64{58} * 256 * 3 * 7168 * 2048 * 2);
    CHECK(on_rank(deepseek, 8, 1, 64) == on_rank(deepseek, 8, 1) - experts / 8 + experts / 64);
    CHECK(on_rank(deepseek, 8, 1, 8, 0, true) > on_rank(deepseek, 8, 1, 8));
    CHECK(weights_on_rank(llama, {.sharding = {.pp = 33}}).error().code == Errc::stages_exceed_layers);
}

TEST_CASE("a tied head lies on the first and on the last stage", "[weights]") {
    const Weights tied =
        *derived_weights(dense("llama", 16, 2048, 32, 8, 8192, 128256, R"(, "tie_word_embeddings": true)"))
             .value;
    CHECK(on_rank(tied, 1, 2, 1, 0) + on_rank(tied, 1, 2, 1, 1) == tied.bytes + u64{128256} * 2048 * 2);
}

TEST_CASE("a sum dealt to parts is their sum again, on one rank and over all stages", "[weights]") {
    const u64 seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937_64 random{seed};
    const Weights shapes[] = {*derived_weights(llama3_8b), *derived_weights(deepseek_v3), io::even_layers(61)};
    for (int i = 0; i < 300; ++i) {
        const Weights& shape = shapes[i % 3];
        const u64 total = i < 3 ? static_cast<u64>(i) : random() >> random() % 60;
        const Weights all = spread(shape, WeightSource::index, total, {});
        u64 sum = 0;
        for (const WeightGroup& group : all.groups) {
            sum += group.bytes;
        }
        CAPTURE(i, total);
        CHECK(sum == total);
        CHECK(on_rank(all, 1, 1) == total);
        u64 stages = 0;
        for (u32 stage = 0; stage < 4; ++stage) {
            stages += on_rank(all, 1, 4, 1, stage);
        }
        CHECK(stages == total);
        CHECK(4 * on_rank(all, 4, 1) >= total);  // nothing is lost where a part is divided either
    }
}

TEST_CASE("gpt-oss: experts have the bytes of MXFP4, biases and the rest those of 16 bits", "[weights]") {
    const std::string more = R"(, "head_dim": 64, "num_local_experts": 128, "quantization_config":
        {"quant_method": "mxfp4"}, "weights_bytes": {"BF16": 4334742144, "U8": 60914073600})";
    const Diagnosed<Weights> card = weights_of(dense("gpt_oss", 36, 2880, 64, 8, 2880, 201088, more.c_str()));
    REQUIRE(card);
    CHECK(card.notes.back().text.find("experts in MXFP4 (17 bytes for 32)") != std::string::npos);
    CHECK(card->bytes == 65'248'815'744);
    for (const WeightGroup& group : card->groups) {  // a card of the right size leaves nothing to deal
        const u64 matrices = u64{128} * 3 * 2880 * 2880;
        const bool experts = group.part == WeightPart::experts;
        CHECK(group.bytes == (experts ? matrices / 32 * 17 + 2 * (group.parameters - matrices) : 2 * group.parameters));
    }
    // The sum alone: 17 bytes for 32 parameters of all experts, the rest in 16 bits, and what is missing in proportion.
    const std::string smaller = R"(, "head_dim": 64, "num_local_experts": 32)";
    const Weights plain = *derived_weights(dense("gpt_oss", 24, 2880, 64, 8, 2880, 201088, smaller.c_str()));
    const Weights shape = io::with_experts_in_mxfp4(plain, 0);
    for (const WeightGroup& group : shape.groups) {
        const bool experts = group.part == WeightPart::experts;
        CHECK(group.bytes == (experts ? product_over(group.parameters, 17, 32) : 2 * group.parameters));
    }
    const Weights dense_shape = *derived_weights(llama3_8b);
    CHECK(io::with_experts_in_mxfp4(dense_shape, 0) == dense_shape);
    // fp8: embedding and head are two bytes a parameter.
    const u64 vocabulary = u64{128256} * 4096;
    const u64 total = dense_shape.parameters + 2 * vocabulary;
    const std::string quantised = llama3_8b.substr(0, llama3_8b.size() - 1) +
                            R"(, "quantization_config": {"quant_method": "fp8"}, "weights_bytes": {"F8_E4M3": )" +
                            std::to_string(total) + "}}";
    const Diagnosed<Weights> eight = weights_of(quantised);
    REQUIRE(eight);
    for (const WeightGroup& group : eight->groups) {
        const bool both = group.part == WeightPart::embedding || group.part == WeightPart::head;
        CHECK(group.bytes == (both ? 2 : 1) * group.parameters);
    }
}

TEST_CASE("what ranks under attention data parallelism divide", "[weights]") {
    const Weights all = *derived_weights(deepseek_v3);
    const auto part = [&](WeightPart which) {
        u64 sum = 0;
        for (const WeightGroup& group : all.groups) {
            sum += group.part == which ? group.bytes : 0;
        }
        return sum;
    };
    const auto rank = [&](OtherParts others) {
        return weights_on_rank(all, {.sharding = {.tp = 8}, .ep = 8, .attention_dp = true, .others = others})->value;
    };
    const u64 embedding = part(WeightPart::embedding);
    const u64 rest = part(WeightPart::dense) + part(WeightPart::head);
    CHECK(rank(OtherParts::embedding_whole) == rank(OtherParts::divided) + embedding / 8 * 7);
    CHECK(rank(OtherParts::whole) == rank(OtherParts::embedding_whole) + rest / 8 * 7);
    CHECK(rank(OtherParts::whole) == all.bytes - part(WeightPart::experts) / 8 * 7);
}

TEST_CASE("proportions are exact beyond 53 and 64 bits, and the largest remainders are rounded up", "[weights]") {
    CHECK(io::in_proportion(10, {1, 1, 1}) == std::vector<u64>{4, 3, 3});
    CHECK(io::in_proportion(10, {0, 0}) == std::vector<u64>{10, 0});
    CHECK(io::in_proportion(7, {5, 0, 3, 1}) == std::vector<u64>{4, 0, 2, 1});  // 3.9, 0, 2.3, 0.8
    CHECK(io::in_proportion(off_scale, {off_scale / 2, off_scale / 2}) ==
          std::vector<u64>{(off_scale >> 1) + 1, off_scale >> 1});
    // 3 x 2^63 = 7 x 3,952,873,730,080,618,203 + 3, and 4 x 2^63 leaves 4 of 7, the larger remainder
    CHECK(io::in_proportion(u64{1} << 63, {3, 4}) ==
          std::vector<u64>{3'952'873'730'080'618'203, 5'270'498'306'774'157'605});
    std::mt19937_64 random{7};
    for (int i = 0; i < 1000; ++i) {
        const u64 all = 1 + random() % (u64{1} << 32);
        const u64 part = random() % (all + 1);
        const u64 total = random() % (u64{1} << 32);
        const u64 got = io::in_proportion(total, {part, all - part})[0];
        const u64 rest = total * part % all;
        CHECK(got == total * part / all + (2 * rest >= all && rest != 0 ? 1 : 0));
    }
    for (const std::vector<u64>& to : {std::vector<u64>{off_scale, off_scale, 1}, std::vector<u64>{off_scale, 5}}) {
        const std::vector<u64> parts = io::in_proportion(1'000'003, to);
        CHECK(std::accumulate(parts.begin(), parts.end(), u64{0}) == 1'000'003);
    }
}

TEST_CASE("safetensors headers without sense are refused, and sums never wrap", "[weights]") {
    const auto added = [](Weights& into, const char* header) {
        const Diagnosed<JsonDocument> read = load_json(header);
        REQUIRE(read);
        const std::optional<Problem> problem = io::add_tensors(into, *read);
        return problem ? problem->text() : std::string{};
    };
    Weights weights;
    CHECK(added(weights, "[1]") == "a list of 1; wanted an object of tensors");
    CHECK(added(weights, R"({"layers.4096.up": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}})") ==
          "/layers.4096.up: layer 4096; wanted a layer below 4096");
    CHECK(weights == Weights{});
    for (u32 i = 0; i < 17; ++i) {  // 2^60 bytes each
        CHECK(added(weights, R"({"a": {"dtype": "U8", "shape": [1152921504606846976],
                                       "data_offsets": [0, 1152921504606846976]}})") == "");
    }
    CHECK(weights.bytes == off_scale);
    REQUIRE(weights.groups.size() == 1);
    CHECK(weights.groups[0].bytes == off_scale);
    CHECK(weights.types[0].bytes == off_scale);
}

TEST_CASE("exact sums from safetensors headers, the index alone, and a card", "[weights]") {
    const fs::path folder = fs::temp_directory_path() / ("kvcap-weights-" + std::to_string(::getpid()));
    fs::create_directories(folder);
    const std::string config =
        dense("llama", 2, 8, 2, 1, 16, 10, R"(, "weights_bytes": {"BF16": 3000, "F8_E4M3": 1000})");
    const auto with = [&](const char* name, const std::string& header) {
        std::string size(8, '\0');
        size[0] = static_cast<char>(header.size() & 0xff);
        size[1] = static_cast<char>(header.size() >> 8);
        std::ofstream{folder / name, std::ios::binary} << size << header;
    };
    const Diagnosed<Weights> card = weights_of(config, folder);
    REQUIRE(card);
    CHECK(card->source == WeightSource::card);
    CHECK(card->bytes == 4000);
    u64 sum = 0;
    for (const WeightGroup& group : card->groups) {
        sum += group.bytes;
    }
    CHECK(sum == 4000);
    CHECK(card->types.size() == 2);

    std::ofstream{folder / "model.safetensors.index.json"}
        << R"({"metadata": {"total_size": 9000}, "weight_map": {"a": "m-1.safetensors", "b": "m-2.safetensors"}})";
    const Diagnosed<Weights> index = weights_of(config, folder);
    REQUIRE(index);
    CHECK(index->source == WeightSource::index);
    CHECK(index->bytes == 9000);

    with("m-1.safetensors", R"({"__metadata__": {"format": "pt"},
        "model.layers.0.self_attn.k_proj.weight": {"dtype": "BF16", "shape": [4, 8], "data_offsets": [0, 64]},
        "model.layers.1.mlp.experts.0.up_proj.weight": {"dtype": "F8_E4M3", "shape": [16, 8],
            "data_offsets": [64, 192]}})");
    with("m-2.safetensors",
         R"({"lm_head.weight": {"dtype": "F32", "shape": [10, 8], "data_offsets": [0, 320]}})");
    const Diagnosed<Weights> exact = weights_of(config, folder);
    REQUIRE(exact);
    CHECK(exact->source == WeightSource::safetensors);
    CHECK(exact->bytes == 64 + 128 + 320);
    CHECK(exact->parameters == 32 + 128 + 80);
    CHECK_FALSE(exact->tied);
    CHECK(exact->groups.at(0).part == WeightPart::keys);
    CHECK(exact->groups.at(0).heads == 1);
    CHECK(on_rank(*exact, 2, 2, 1, 0) == 64);        // one key head: copied
    CHECK(on_rank(*exact, 2, 2, 1, 1) == 64 + 160);  // half the experts, half the head

    with("m-2.safetensors",
         R"({"lm_head.weight": {"dtype": "F32", "shape": [10, 8], "data_offsets": [0, 321]}})");
    CHECK(weights_of(config, folder).error->found == "a shape that does not fill its bytes");
    with("m-2.safetensors", R"({"lm_head.weight": {"dtype": "Q9", "shape": [10, 8]}})");
    CHECK(weights_of(config, folder).error->found == "\"Q9\"");
    fs::remove_all(folder);
}

}  // namespace weights_tests
