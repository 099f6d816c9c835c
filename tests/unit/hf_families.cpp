// SPDX-License-Identifier: MIT
// What each family keeps: elements per token that grow, elements of full windows and chunks, elements of
// states, against published numbers and against the rules written out. Configs are cut to the keys that
// decide.
#include <catch2/catch.hpp>
#include <kvcap/fold.hpp>
#include <kvcap/io/hf.hpp>

namespace hf_families_tests {

using namespace kvcap;

namespace {

struct Held {
    u64 growing = 0;
    u64 windows = 0;
    u64 states = 0;
    u64 cross = 0;
    u32 layers = 0;
    friend bool operator==(const Held&, const Held&) = default;
};

std::ostream& operator<<(std::ostream& out, const Held& held) {
    return out << held.growing << " growing, " << held.windows << " windows, " << held.states << " states, "
               << held.cross << " cross, " << held.layers << " layers";
}

ReadModel model_of(const std::string& json) {
    const Diagnosed<ReadModel> read = read_config(json);
    INFO((read.error ? read.error->text() : json));
    REQUIRE(read.value.has_value());
    return *read.value;
}

Held held_by(const std::string& json) {
    const ReadModel model = model_of(json);
    Held held{.layers = model.spec.layers};
    for (const Cache& cache : model.spec.caches) {
        const LayerForm& form = model.spec.form_of(cache);
        const Retention& keep = form.retention;
        if (keep.keep == Keep::last) {
            held.states += form.elements();
        } else if (keep.source == Source::encoder) {
            held.cross += form.elements();
        } else if (keep.keep == Keep::everything) {
            held.growing += form.elements() / keep.stride;
        } else {
            (form.kind == Kind::compressor ? held.states : held.windows) += keep.span.value * form.elements();
        }
    }
    return held;
}

std::string list(int count, const std::string& word, const std::string& other, int every, int at) {
    std::string all = "[";
    for (int i = 0; i < count; ++i) {
        all += (i == 0 ? "" : ", ") + (i % every == at ? other : word);
    }
    return all + "]";
}

}  // namespace

TEST_CASE("key heads under many names", "[hf]") {
    CHECK(
        held_by(
            R"({"model_type": "falcon", "num_hidden_layers": 60, "num_attention_heads": 128, "hidden_size": 8192,
                      "new_decoder_architecture": true, "num_kv_heads": 8})") == Held{61'440, 0, 0, 0, 60});
    CHECK(
        held_by(
            R"({"model_type": "falcon", "num_hidden_layers": 32, "num_attention_heads": 71, "hidden_size": 4544,
                      "multi_query": true, "num_kv_heads": 71})") == Held{32 * 128, 0, 0, 0, 32});
    CHECK(held_by(
              R"({"model_type": "falcon", "num_hidden_layers": 1, "num_attention_heads": 4, "hidden_size": 64,
                      "multi_query": false})")
              .growing == 128);
    CHECK(
        held_by(R"({"model_type": "chatglm", "num_layers": 40, "hidden_size": 4096, "num_attention_heads": 32,
                      "multi_query_attention": true, "multi_query_group_num": 2, "kv_channels": 128})")
            .growing == 20'480);
    CHECK(held_by(R"({"model_type": "gpt_bigcode", "n_layer": 24, "n_head": 16, "n_embd": 2048})").growing ==
          24 * 256);
    CHECK(
        held_by(
            R"({"model_type": "dbrx", "d_model": 6144, "n_heads": 48, "n_layers": 40,
                "attn_config": {"kv_n_heads": 8}})")
            .growing == 40 * 2048);
    CHECK(
        held_by(R"({"model_type": "mpt", "d_model": 4096, "n_heads": 32, "n_layers": 32, "attn_config": {}})")
            .growing == 262'144);
    CHECK(held_by(R"({"model_type": "jetmoe"})") == Held{12 * 4096, 0, 0, 0, 12});
    CHECK(model_of(R"({"model_type": "jetmoe"})").query_heads == 32);
    CHECK(
        held_by(
            R"({"model_type": "step3_vl", "text_config": {"num_hidden_layers": 61, "num_attention_groups": 1,
                      "head_dim": 256}})")
            .growing == 31'232);
    CHECK(
        held_by(R"({"model_type": "bloom", "n_layer": 1, "n_head": 16, "n_embed": 2048, "hidden_size": 64})")
            .growing == 4096);
    CHECK(held_by(
              R"({"model_type": "phi-msft", "n_layer": 32, "n_head": 32, "n_head_kv": null, "n_embd": 2560})")
              .growing == 163'840);
    CHECK(
        held_by(
            R"({"model_type": "RefinedWebModel", "n_layer": 32, "n_head": 71, "hidden_size": 4544,
                "multi_query": true})")
            .growing == 4096);
    CHECK(held_by(R"({"model_type": "glm4_moe"})").growing == 46 * 2 * 8 * 42);
}

TEST_CASE("layers that keep nothing or another layer's cache", "[hf]") {
    std::string blocks = "[";
    for (int i = 0; i < 80; ++i) {  // Llama-3.3-Nemotron-Super-49B: 49 layers attend
        blocks += std::string{i == 0 ? "" : ", "} +
                  (i < 49   ? R"({"attention": {"n_heads_in_group": 8, "no_op": false}})"
                   : i < 70 ? R"({"attention": {"n_heads_in_group": null, "no_op": true}})"
                            : R"({"attention": {"replace_with_linear": true}})");
    }
    CHECK(
        held_by(
            R"({"model_type": "nemotron-nas", "num_hidden_layers": 80, "num_attention_heads": 64,
                "hidden_size": 8192,
                      "num_key_value_heads": null, "block_configs": )" +
            blocks + "]}") == Held{100'352, 0, 0, 0, 80});
    const char* cla =
        R"({"model_type": "hunyuan", "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 2,
                          "hidden_size": 64, "attention_head_dim": 16, "cla_share_factor": 2, "use_cla": true})";
    CHECK(held_by(cla).growing == 2 * 64);
    CHECK(model_of(cla).shared == std::vector<SharedLayer>{{1, 0}, {3, 2}});
    CHECK(held_by(R"({"model_type": "bert"})") == Held{0, 0, 0, 0, 12});
    CHECK(model_of(R"({"model_type": "roberta"})").spec.query_heads == 12);
    const std::string e4b = R"({"model_type": "gemma3n", "text_config": {"num_kv_shared_layers": 15}})";
    CHECK(held_by(e4b) == Held{4096, 8'388'608, 0, 0, 35});
    CHECK(model_of(e4b).shared.front() == SharedLayer{20, 18});
    CHECK(model_of(e4b).shared.back() == SharedLayer{34, 19});
}

TEST_CASE("windows and chunks by each family's rule", "[hf]") {
    CHECK(held_by(R"({"model_type": "gpt_oss", "num_hidden_layers": 36})") ==
          Held{18'432, 2'359'296, 0, 0, 36});
    CHECK(held_by(
              R"({"model_type": "gemma3", "text_config": {"num_hidden_layers": 62, "num_attention_heads": 32,
                      "num_key_value_heads": 16, "head_dim": 128, "sliding_window": 1024}})") ==
          Held{40'960, 218'103'808, 0, 0, 62});
    CHECK(held_by(R"({"model_type": "cohere2", "num_key_value_heads": 8})") ==
          Held{10 * 2048, 30 * 2048 * u64{4096}, 0, 0, 40});
    CHECK(
        held_by(
            R"({"model_type": "llama4", "text_config": {"num_hidden_layers": 48, "no_rope_layers": []}})") ==
        Held{24'576, 603'979'776, 0, 0, 48});
    CHECK(
        held_by(
            R"({"model_type": "exaone4", "num_hidden_layers": 6, "num_key_value_heads": 8, "sliding_window": 16,
                      "sliding_window_pattern": "LLLG"})") == Held{2 * 2048, 4 * 16 * 2048, 0, 0, 6});
    CHECK(held_by(R"({"model_type": "exaone4", "num_hidden_layers": 4, "sliding_window": null})").windows ==
          0);
    CHECK(
        held_by(
            R"({"model_type": "qwen2", "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4,
                      "hidden_size": 3584, "sliding_window": 131072, "max_window_layers": 28})") ==
        Held{28'672, 0, 0, 0, 28});
    CHECK(
        held_by(
            R"({"model_type": "qwen2", "num_hidden_layers": 4, "num_key_value_heads": 4, "use_sliding_window": true,
                      "sliding_window": 8, "max_window_layers": 3})") == Held{3 * 1024, 8 * 1024, 0, 0, 4});
    CHECK(
        held_by(
            R"({"model_type": "qwen2_moe", "num_hidden_layers": 6, "use_sliding_window": true, "sliding_window": 8,
                      "max_window_layers": 4})") == Held{4 * 4096, 2 * 8 * 4096, 0, 0, 6});
    CHECK(held_by(R"({"model_type": "dots1"})").windows == 0);
    CHECK(held_by(R"({"model_type": "dots1", "max_window_layers": 61})").windows == 4096 * 2 * 4608);
    CHECK(held_by(R"({"model_type": "cwm"})").growing == 16 * 2048);
    CHECK(held_by(R"({"model_type": "smollm3", "use_sliding_window": true, "sliding_window": 8})") ==
          Held{27 * 1024, 9 * 8 * 1024, 0, 0, 36});
    CHECK(
        held_by(
            R"({"model_type": "mimo_v2_flash", "num_hidden_layers": 48, "hidden_size": 4096,
                "num_attention_heads": 64,
                      "num_key_value_heads": 4, "head_dim": 192, "v_head_dim": 128, "swa_num_key_value_heads": 8,
                      "sliding_window": 128, "hybrid_layer_pattern": )" +
            list(48, "1", "0", 6, 5) + "}") == Held{8 * 1280, 40 * 2560 * 128, 0, 0, 48});
    CHECK(
        held_by(
            R"({"model_type": "step3p5", "num_hidden_layers": 2, "sliding_window": 512, "num_attention_groups": 8,
                      "layer_types": ["full_attention", "sliding_attention", "full_attention"],
                          "num_nextn_predict_layers": 1,
                      "attention_other_setting": {"num_attention_heads": 96, "num_attention_groups": 4,
                          "head_dim": 64}})") ==
        Held{2048, 512 * 512, 0, 0, 2});
    CHECK(
        model_of(
            R"({"model_type": "laguna", "num_hidden_layers": 2, "num_attention_heads_per_layer": [48, 64]})")
            .spec.query_heads == 16);
}

TEST_CASE("Gemma 4: two head geometries, shared layers, a full last layer", "[hf]") {
    const std::string base =
        R"({"model_type": "gemma4", "text_config": {"num_hidden_layers": 30, "num_attention_heads": 16,
        "num_key_value_heads": 8, "head_dim": 256, "sliding_window": 1024, "global_head_dim": 512)";
    CHECK(held_by(base + R"(, "attention_k_eq_v": true, "num_global_key_value_heads": 2}})") ==
          Held{10'240, 104'857'600, 0, 0, 30});
    CHECK(held_by(base + R"(, "num_global_key_value_heads": 2}})").growing == 5 * 2 * 8 * 512);
    CHECK(held_by(R"({"model_type": "gemma4_text", "num_hidden_layers": 2, "sliding_window": 4})") ==
          Held{2 * 4 * 512, 4 * 2 * 4 * 256, 0, 0, 2});
}

TEST_CASE("latents, index keys, compressed entries", "[hf]") {
    CHECK(held_by(R"({"model_type": "deepseek_v3"})") == Held{35'136, 0, 0, 0, 61});
    CHECK(held_by(R"({"model_type": "deepseek_v32"})") == Held{42'944, 0, 0, 0, 61});
    CHECK(held_by(R"({"model_type": "glm_moe_dsa", "index_topk_freq": 4, "index_skip_topk_offset": 3})") ==
          Held{47'616, 0, 0, 0, 78});
    CHECK(held_by(R"({"model_type": "glm_moe_dsa", "num_hidden_layers": 4, "index_topk_pattern": "FSFS"})")
              .growing == 4 * 576 + 2 * 128);
    CHECK(held_by(
              R"({"model_type": "glm_moe_dsa", "num_hidden_layers": 2, "indexer_types": ["full", "shared"]})")
              .growing == 2 * 576 + 128);
    CHECK(held_by(R"({"model_type": "minicpm3"})").growing == 62 * 288);
    CHECK(held_by(R"({"model_type": "longcat_flash"})") == Held{32'256, 0, 0, 0, 28});
    CHECK(held_by(R"({"model_type": "longcat_flash", "num_layers": 14})").growing == 14 * 2 * 576);
    CHECK(held_by(R"({"model_type": "longcat_flash", "num_hidden_layers": 56})").layers == 28);
    CHECK(read_config(R"({"model_type": "longcat_flash", "num_hidden_layers": 14})").error->where ==
          "/num_hidden_layers");
    CHECK(
        held_by(
            R"({"model_type": "deepseek_vl_v2", "language_config": {"hidden_size": 1280, "num_attention_heads": 10,
                      "num_hidden_layers": 12, "kv_lora_rank": null, "qk_rope_head_dim": 0, "use_mla": false}})")
            .growing == 12 * 2 * 1280);
    CHECK(
        held_by(
            R"({"model_type": "deepseek_v4", "num_hidden_layers": 3, "compress_ratios": [0, 4, 128, 0]})") ==
        Held{160 + 4, 3 * 128 * 512, 8 * 2048 + 8 * 512 + 128 * 1024, 0, 3});
    CHECK(held_by(R"({"model_type": "deepseek_v4", "num_hidden_layers": 5})").growing == 4 * 4 + 160);
    CHECK(
        held_by(R"({"model_type": "deepseek_v4", "num_hidden_layers": 2, "layer_types": ["sliding_attention",
                      "compressed_sparse_attention"], "compress_rates": {"compressed_sparse_attention": 4}})")
            .growing == 160);
    CHECK(read_config(R"({"model_type": "deepseek_v4", "num_hidden_layers": 1, "compress_ratios": [7]})")
              .error->found == "7");
    CHECK(held_by(R"({"model_type": "minimax_m3", "sparse_attention_config": {"sparse_attention_freq": )" +
                  list(60, "1", "0", 20, 0) + "}}").growing == 60 * 1024 + 57 * 128);
}

TEST_CASE("states alone", "[hf]") {
    CHECK(held_by(R"({"model_type": "mamba", "hidden_size": 768, "num_hidden_layers": 24})") ==
          Held{0, 0, 700'416, 0, 24});
    CHECK(
        held_by(
            R"({"model_type": "falcon_mamba", "hidden_size": 4096, "num_hidden_layers": 64,
                "intermediate_size": 8192,
                      "expand": 16})")
            .states == 64 * u64{8192} * (3 + 16));
    CHECK(held_by(R"({"model_type": "mamba2"})").states == 69'074'944);
    CHECK(read_config(R"({"model_type": "mamba2", "num_heads": 100})").error->where == "/num_heads");
    CHECK(held_by(R"({"model_type": "rwkv"})").states == 655'360);
    CHECK(
        held_by(
            R"({"model_type": "rwkv6", "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 64})")
            .states == 3'244'032);
    CHECK(held_by(R"({"model_type": "rwkv7", "hidden_size": 1024, "num_hidden_layers": 2, "head_dim": 64})")
              .states == 2 * (2 * 1024 + 16 * 64 * 64));
    CHECK(held_by(R"({"model_type": "gla", "hidden_size": 1024, "num_heads": 4, "num_hidden_layers": 24})")
              .states == 3'145'728);
    CHECK(held_by(R"({"model_type": "xlstm"})").states == 33'620'224);
}

TEST_CASE("attention and Mamba", "[hf]") {
    CHECK(
        held_by(
            R"({"model_type": "jamba", "num_hidden_layers": 8, "hidden_size": 64,
                "num_attention_heads": 8, "mamba_d_conv": 1})") ==
        Held{2 * 8 * 8, 0, 7 * 128 * 16, 0, 8});
    CHECK(held_by(R"({"model_type": "bamba", "attn_layer_indices": [9, 18, 27], "mamba_d_state": 128})") ==
          Held{6144, 0, 31'143'680, 0, 32});
    CHECK(held_by(R"({"model_type": "bamba", "attn_layer_indices": null})").growing == 0);
    CHECK(held_by(R"({"model_type": "granitemoehybrid"})").growing == 0);
    CHECK(
        held_by(
            R"({"model_type": "granitemoehybrid", "num_hidden_layers": 2, "layer_types": ["attention",
                "attention"]})")
            .states == 0);
    CHECK(
        held_by(
            R"({"model_type": "falcon_h1", "num_hidden_layers": 44, "num_attention_heads": 12,
                "num_key_value_heads": 2,
                      "head_dim": 128, "hidden_size": 3072, "mamba_d_ssm": 3072, "mamba_n_heads": 24,
                          "mamba_d_head": 128})") ==
        Held{22'528, 0, 35'076'096, 0, 44});
    CHECK(held_by(R"({"model_type": "zamba2", "num_hidden_layers": 54})").growing == 9 * 2 * 32 * 160);
    CHECK(held_by(R"({"model_type": "zamba"})") == Held{193'024, 0, 10'720'256, 0, 76});
    const ReadModel zamba =
        model_of(R"({"model_type": "zamba2", "num_hidden_layers": 7, "hybrid_layer_ids": [6]})");
    CHECK(zamba.spec.caches[0].layer == 6);  // shared attention is registered first
    CHECK(zamba.spec.caches.size() == 8);
    CHECK(
        held_by(R"({"model_type": "nemotron_h", "hybrid_override_pattern": "M-M*E", "num_attention_heads": 32,
                      "num_key_value_heads": 2})") ==
        Held{512, 0, 2 * ((8192 + 2 * 8 * 128) * 3 + 8192 * 128), 0, 5});
    CHECK(read_config(R"({"model_type": "nemotron_h", "hybrid_override_pattern": "M?"})").error->found ==
          "?");
    CHECK(read_config(
              R"({"model_type": "nemotron_h", "hybrid_override_pattern": "MM", "num_hidden_layers": 3})")
              .error->where == "/num_hidden_layers");
    CHECK(held_by(R"({"model_type": "plamo2", "num_hidden_layers": 4, "mamba_step": 2})") ==
          Held{2 * 2 * 4 * 128, 0, 2 * u64{64 * 128} * (3 + 64), 0, 4});
}

TEST_CASE("attention and linear attention", "[hf]") {
    CHECK(held_by(R"({"model_type": "qwen3_next"})") == Held{12'288, 0, 19'759'104, 0, 48});
    CHECK(held_by(R"({"model_type": "olmo_hybrid", "num_hidden_layers": 4})") ==
          Held{2 * 3840, 0, 3 * ((2 * 30 * 96 + 30 * 192) * 3 + u64{30} * 192 * 96), 0, 4});
    CHECK(
        held_by(
            R"({"model_type": "jet_nemotron", "num_hidden_layers": 3, "hidden_size": 1536,
                "num_attention_heads": 12,
                      "num_key_value_heads": 2, "layer_types": ["jet", "swa", "attn"],
                          "efficient_attention_config": {"jet":
                      {"expand_v": 2.6666666667, "head_dim": 96, "num_heads": 12, "conv_size": 4},
                          "swa": {"window_size": 1152}}})") ==
        Held{512, 512 * 1152, 9216 + 294'912, 0, 3});
    const std::string k3 =
        R"({"model_type": "kimi_k3", "text_config": {"model_type": "kimi_linear", "num_hidden_layers": 93,
        "num_attention_heads": 96, "linear_attn_config": {"num_heads": 96, "head_dim": 128,
            "full_attn_layers": [1, 5, 9, 13, 17, 21,
        25, 29, 33, 37, 41, 45, 49, 53, 57, 61, 65, 69, 73, 77, 81, 85, 89, 93]}}})";
    CHECK(held_by(k3) == Held{13'824, 0, 116'158'464, 0, 93});
    CHECK(held_by(R"({"model_type": "kimi_linear", "num_hidden_layers": 4,
        "linear_attn_config": {"kda_layers": [1, 2, 3, 27], "full_attn_layers": [4, 8]}})").growing == 576);
    CHECK(read_config(R"({"model_type": "kimi_linear", "linear_attn_config": {"full_attn_layers": [0]}})")
              .error->found == "0");
    CHECK(read_config(R"({"model_type": "kimi_linear", "num_hidden_layers": 2,
        "linear_attn_config": {"full_attn_layers": [1], "kda_layers": [1]}})")
              .error->found == "layer 1 in both lists");
    const std::string m1 =
        R"({"model_type": "minimax_m1", "num_hidden_layers": 80, "num_attention_heads": 64,
            "num_key_value_heads": 8,
        "head_dim": 128, "attn_type_list": )" +
        list(80, "0", "1", 8, 7) + "}";
    CHECK(held_by(m1) == Held{20'480, 0, 73'400'320, 0, 80});
    CHECK(held_by(R"({"model_type": "minimax", "num_hidden_layers": 3, "head_dim": 64})") ==
          Held{2 * 1024, 0, 32 * 64 * 64, 0, 3});
    const std::string ring =
        R"({"model_type": "bailing_moe_linear", "num_hidden_layers": 11, "num_attention_heads": 16,
        "num_key_value_heads": 4, "head_dim": 128, "layer_group_size": 5, "max_window_layers": 3})";
    CHECK(held_by(ring) == Held{3 * 1024, 0, 8 * u64{16} * 128 * 128, 0, 11});
    CHECK(
        held_by(
            R"({"model_type": "bailing_hybrid", "num_hidden_layers": 2, "num_attention_heads": 16, "head_dim": 128,
                      "layer_group_size": 2, "kv_lora_rank": 512})")
            .growing == 576);
    CHECK(
        held_by(
            R"({"model_type": "bailing_hybrid", "num_hidden_layers": 2, "num_attention_heads": 16,
                "num_key_value_heads": 4,
                      "head_dim": 128, "layer_group_size": 2, "kv_lora_rank": 512, "full_attention_type": "gqa"})")
            .growing == 1024);
    CHECK(held_by(R"({"model_type": "recurrent_gemma"})") == Held{0, 83'886'080, 184'320, 0, 26});
    CHECK(held_by(R"({"model_type": "lfm2", "num_hidden_layers": 4, "full_attn_idxs": [2]})") ==
          Held{2 * 8 * 80, 0, 3 * 2560 * 2, 0, 4});
    CHECK(held_by(R"({"model_type": "lfm2", "num_hidden_layers": 4})").states == 0);
}

TEST_CASE("decoders beside an encoder", "[hf]") {
    CHECK(
        held_by(
            R"({"model_type": "whisper", "d_model": 1280, "decoder_layers": 32, "decoder_attention_heads": 20,
                      "num_hidden_layers": 32})") == Held{32 * 2560, 0, 0, 32 * 2560, 32});
    CHECK(model_of(R"({"model_type": "whisper", "max_source_positions": 1500})").encoder_tokens == 1500);
    CHECK(
        held_by(
            R"({"model_type": "t5", "num_layers": 24, "num_decoder_layers": 2, "num_heads": 128,
                "d_kv": 128, "d_model": 1024})") ==
        Held{2 * 32'768, 0, 0, 2 * 32'768, 2});
    CHECK(held_by(R"({"model_type": "blenderbot"})") == Held{122'880, 0, 0, 122'880, 24});
    CHECK(held_by(R"({"model_type": "mllama", "text_config": {"num_hidden_layers": 40}})") ==
          Held{65'536, 0, 0, 16'384, 40});
}

TEST_CASE("draft layers are described, never counted", "[hf]") {
    const auto draft = [](const std::string& json) {
        const ReadModel model = model_of(json);
        u64 elements = 0;
        for (const Cache& cache : model.draft.caches) {
            elements += model.draft.form_of(cache).elements();
        }
        return model.draft_key + " " + std::to_string(model.draft.layers) + " " + std::to_string(elements);
    };
    CHECK(draft(R"({"model_type": "deepseek_v3", "num_nextn_predict_layers": 1})") ==
          "num_nextn_predict_layers 1 576");
    CHECK(draft(R"({"model_type": "kimi_k2", "num_nextn_predict_layers": 0})") == " 0 0");
    CHECK(draft(R"({"model_type": "deepseek_v32", "num_nextn_predict_layers": 1})") ==
          "num_nextn_predict_layers 1 704");
    CHECK(draft(R"({"model_type": "qwen3_5_text", "mtp_num_hidden_layers": 1})") ==
          "mtp_num_hidden_layers 1 2048");
    CHECK(draft(R"({"model_type": "minimax_m2", "num_mtp_modules": 3, "mtp_transformer_layers": 2})") ==
          "num_mtp_modules 6 12288");
    CHECK(draft(R"({"model_type": "minimax_m2", "num_mtp_modules": 3, "use_mtp": false})") == " 0 0");
    CHECK(draft(R"({"model_type": "minimax_m3", "num_mtp_modules": 7, "num_nextn_predict_layers": 1})") ==
          "num_mtp_modules / num_nextn_predict_layers 7 7168");
    CHECK(
        draft(R"({"model_type": "nemotron_h", "hybrid_override_pattern": "M*", "num_nextn_predict_layers": 1,
                    "mtp_hybrid_override_pattern": "*E*", "num_key_value_heads": 2})") ==
        "num_nextn_predict_layers 1 1024");
    CHECK(
        draft(
            R"({"model_type": "deepseek_v4", "num_nextn_predict_layers": 1, "num_hidden_layers": 1,
                "compress_ratios": [4, 0]})") ==
        "num_nextn_predict_layers 1 512");
}

TEST_CASE("states by hint or rule, index keys in fp8", "[hf]") {
    const auto state = [](const std::string& json) {
        const ReadModel model = model_of(json);
        for (const Cache& cache : model.spec.caches) {
            for (const Stream& stream : model.spec.form_of(cache).streams) {
                if (stream.role == Role::state || stream.role == Role::index) {
                    return stream.format;
                }
            }
        }
        return ElementFormat{};
    };
    CHECK(state(R"({"model_type": "qwen3_next"})") == bf16);
    CHECK(state(R"({"model_type": "qwen3_5_text", "mamba_ssm_dtype": "float32"})") == f32);
    CHECK(state(R"({"model_type": "nemotron_h", "hybrid_override_pattern": "M*"})") == f32);
    CHECK(
        state(
            R"({"model_type": "nemotron_h", "hybrid_override_pattern": "M*",
                "mamba_ssm_cache_dtype": "bfloat16"})") ==
        bf16);
    CHECK(state(R"({"model_type": "kimi_linear", "num_hidden_layers": 4})") == f32);
    CHECK(state(R"({"model_type": "deepseek_v32"})") == fp8_scale_per_128);
    CHECK(state(R"({"model_type": "glm_moe_dsa", "index_head_dim": 64})") == ElementFormat{64, 68});
}

TEST_CASE("A family from outside the library is asked before the registry", "[hf]") {
    // Newton: every third layer keeps everything, the others a window; 4 key heads unless the file says otherwise.
    constexpr hf::Family own[] = {
        {"newton",
         [](hf::Lowering& in) {
             hf::attention_layers(in, in.window(),
                                  [](u32 i) { return i % 3 == 2 ? hf::Mixer::full : hf::Mixer::sliding; });
         },
         {.layers = 6, .width = 1024, .heads = 8, .kv_heads = 4, .window = 64}},
        {"llama", hf::plain, {.layers = 1, .width = 64, .heads = 1}},
    };
    const std::string newton = R"({"model_type": "newton", "sliding_window": 32})";
    CHECK_FALSE(read_config(newton));
    const Diagnosed<ReadModel> read = read_config(newton, own);
    REQUIRE(read.value.has_value());
    CHECK(read->spec.layers == 6);
    CHECK(fold(read->spec, {.prompt = {1000}}).value().per_sequence() ==
          Bytes{(2 * 1000 + 4 * 32) * 2 * 4 * 128 * 2});
    const std::string llama = R"({"model_type": "llama"})";
    CHECK(read_config(llama)->spec.layers == 32);
    CHECK(read_config(llama, own)->spec.layers == 1);
    CHECK(read_config(R"({"model_type": "gemma2"})", own)->spec == read_config(R"({"model_type": "gemma2"})")->spec);
}

}  // namespace hf_families_tests
