// SPDX-License-Identifier: MIT
// The config reader: what is refused where, null against absent, defaults with their notes, nesting, hints.
#include <catch2/catch.hpp>
#include <kvcap/fold.hpp>
#include <kvcap/io/hf.hpp>
#include <kvcap/io/spec_line.hpp>

namespace hf_tests {

using namespace kvcap;

namespace {

Problem refused(std::string_view json) {
    const Diagnosed<ReadModel> read = read_config(json);
    INFO(json);
    REQUIRE(read.error.has_value());
    CHECK_FALSE(read.value.has_value());
    return *read.error;
}

ReadModel read(std::string_view json) {
    const Diagnosed<ReadModel> got = read_config(json);
    INFO((got.error ? got.error->text() : std::string{json}));
    REQUIRE(got.value.has_value());
    return *got.value;
}

std::string note_at(std::string_view json, std::string_view where) {
    for (const Note& note : read_config(json).notes) {
        if (note.where == where) {
            return note.text;
        }
    }
    return "no note at " + std::string{where};
}

u64 window_of(const ReadModel& model, u32 cache = 0) {
    const Retention& keep = model.spec.form_of(model.spec.caches[cache]).retention;
    return keep.keep == Keep::window ? keep.span.value : 0;
}

}  // namespace

TEST_CASE("an unknown architecture is refused with the nearest known ones", "[hf]") {
    const Problem problem = refused(R"({"model_type": "lama", "num_hidden_layers": 2})");
    CHECK(problem.trouble == Trouble::unknown);
    CHECK(problem.where == "/model_type");
    CHECK(problem.found == "\"lama\"");
    CHECK(problem.hint.find("nearest: llama") == 0);
    CHECK(refused(R"({"num_hidden_layers": 2})").trouble == Trouble::unknown);
    CHECK(refused(R"({"model_type": "whatever_vl", "text_config": {"model_type": "whatever"}})").where ==
          "/text_config/model_type");
}

TEST_CASE("what is not an object of a model is refused", "[hf]") {
    CHECK(refused("[1, 2]").found == "a list of 2");
    CHECK(refused("\"llama\"").found == "\"llama\"");
    CHECK(refused("").trouble == Trouble::unreadable);
    CHECK(refused("{").trouble == Trouble::invalid);
    CHECK(refused(R"({"model_type": "llama", "model_type": "llama"})").where == "/model_type");
}

TEST_CASE("impossible numbers are refused with pointer, value and what was wanted", "[hf]") {
    const auto with = [](const char* key, const char* value) {
        return std::string{R"({"model_type": "llava", "text_config": {"model_type": "llama", ")"} + key +
               "\": " + value + "}}";
    };
    const Problem negative = refused(with("num_hidden_layers", "-3"));
    CHECK(negative.trouble == Trouble::invalid);
    CHECK(negative.where == "/text_config/num_hidden_layers");
    CHECK(negative.found == "-3");
    CHECK(negative.wanted == "an integer from 1 to 4096");
    CHECK(refused(with("num_attention_heads", "0")).where == "/text_config/num_attention_heads");
    CHECK(refused(with("hidden_size", "1000000000000000000")).found == "1000000000000000000");
    CHECK(refused(with("num_key_value_heads", "2.5")).found == "2.5");
    CHECK(refused(with("num_key_value_heads", "\"8\"")).found == "\"8\"");
    CHECK(refused(with("num_key_value_heads", "true")).found == "true");
    CHECK(refused(with("num_key_value_heads", "NaN")).found == "\"NaN\"");
    CHECK(refused(with("num_key_value_heads", "5")).found == "5 key heads for 32 query heads");
    CHECK(refused(with("hidden_size", "4097")).found == "4097 / 32");
    CHECK(refused(with("num_hidden_layers", "600")).found == "layer 512 as cache 513");
    CHECK(refused(with("num_hidden_layers", "2, \"layer_types\": [\"full_attention\"]")).found ==
          "a list of 1");
    CHECK(read(with("layer_types", "[\"full_attention\"]")).spec.layers == 1);
    CHECK(read(with("num_key_value_heads", "8.0")).spec.forms[0].streams[0].heads == 8);
}

TEST_CASE("a missing key without a known default is refused, with one it is assumed and noted", "[hf]") {
    const Problem missing =
        refused(R"({"model_type": "internlm2", "hidden_size": 64, "num_attention_heads": 4})");
    CHECK(missing.where == "/num_hidden_layers");
    CHECK(missing.found == "nothing");
    CHECK(missing.hint == "no default is known for model_type internlm2");
    const char* bare = R"({"model_type": "llama"})";
    CHECK(read(bare).spec.layers == 32);
    CHECK(note_at(bare, "/num_hidden_layers") == "absent: 32 (llama class default)");
    CHECK(note_at(bare, "/num_key_value_heads") == "absent: 32, one per query head");
    CHECK(note_at(bare, "/head_dim") == "128 = hidden_size / num_attention_heads");
    CHECK(note_at(bare, "/dtype") == "absent: attention caches in 16 bits, as engines serve it");
}

TEST_CASE("null is not absent", "[hf]") {
    CHECK(window_of(read(R"({"model_type": "mistral"})")) == 4096);
    CHECK(window_of(read(R"({"model_type": "mistral", "sliding_window": null})")) == 0);
    CHECK(window_of(read(R"({"model_type": "mistral", "sliding_window": 1024})")) == 1024);
    CHECK(read(R"({"model_type": "mistral"})").spec.forms[0].streams[0].heads == 8);
    CHECK(read(R"({"model_type": "mistral", "num_key_value_heads": null})").spec.forms[0].streams[0].heads ==
          32);
    CHECK(read(R"({"model_type": "qwen3"})").spec.forms[0].streams[0].width == 128);
    CHECK(read(R"({"model_type": "qwen3", "hidden_size": 2048, "head_dim": null})")
              .spec.forms[0]
              .streams[0]
              .width == 64);
    CHECK(refused(R"({"model_type": "qwen2", "use_sliding_window": "yes"})").where == "/use_sliding_window");
}

TEST_CASE("the decoder is found where each wrapper keeps it", "[hf]") {
    const ReadModel inner =
        read(R"({"model_type": "kimi_k25", "text_config": {"model_type": "kimi_k2", "num_hidden_layers": 2},
                                     "vision_config": {"num_hidden_layers": 27}})");
    CHECK(inner.architecture == "kimi_k2");
    CHECK(inner.outer_type == "kimi_k25");
    CHECK(inner.spec.layers == 2);
    CHECK(
        read(
            R"({"model_type": "internvl_chat", "llm_config": {"model_type": "qwen2", "num_hidden_layers": )"
            R"(3}})")
            .spec.layers == 3);
    CHECK(read(R"({"model_type": "deepseek_vl_v2", "language_config": {"num_hidden_layers": 4}})")
              .architecture == "deepseek_v2");
    const char* omni =
        R"({"model_type": "qwen2_5_omni", "thinker_config": {"text_config": {"num_hidden_layers": 5}},
                           "talker_config": {"num_hidden_layers": 9}})";
    CHECK(read(omni).spec.layers == 5);
    CHECK(note_at(omni, "/talker_config") == "a second decoder with a cache of its own, not counted here");
    CHECK(read(R"({"model_type": "llava", "num_hidden_layers": 7, "vision_config": {}})").spec.layers == 7);
}

TEST_CASE("an explicit list of layers beats every rule, and may be longer than the model", "[hf]") {
    const char* longer = R"({"model_type": "gemma2", "num_hidden_layers": 2, "sliding_window": 8,
                             "layer_types": ["full_attention", "sliding_attention", "full_attention"]})";
    CHECK(window_of(read(longer), 0) == 0);
    CHECK(window_of(read(longer), 1) == 8);
    CHECK(note_at(longer, "/layer_types") == "cut to the first 2 of 3 entries (the others are draft layers)");
    const Problem unknown =
        refused(R"({"model_type": "llama", "num_hidden_layers": 1, "layer_types": ["wavelet"]})");
    CHECK(unknown.trouble == Trouble::unknown);
    CHECK(unknown.where == "/layer_types/0");
    CHECK(refused(R"({"model_type": "llama", "num_hidden_layers": 1, "layer_types": ["mamba"]})").trouble ==
          Trouble::invalid);
    CHECK(refused(
              R"({"model_type": "qwen3_next", "num_hidden_layers": 1, "layer_types": ["sliding_attention"]})")
              .where == "/layer_types/0");
}

TEST_CASE("hints for the cache's precision are hints", "[hf]") {
    CHECK(
        read(R"({"model_type": "llama", "quantization_config": {"kv_cache_scheme": "FP8"}})").kv_dtype_hint ==
        "fp8");
    CHECK(
        read(
            R"({"model_type": "llama", "quantization_config": {"kv_cache_scheme": {"num_bits": 8,
                "type": "float"}}})")
            .kv_dtype_hint == "fp8");
    CHECK(read(R"({"model_type": "llama", "quantization_config": {"kv_cache_scheme": null, "bits": 4}})")
              .kv_dtype_hint.empty());
    const ReadModel quantised =
        read(R"({"model_type": "llama", "quantization_config": {"quant_method": "fp8"}})");
    CHECK(quantised.spec.forms[0].streams[0].format == bf16);
    CHECK(read(R"({"model_type": "llama", "torch_dtype": "float16"})").model_dtype == "float16");
}

TEST_CASE("draft heads are judged by their class", "[hf]") {
    const ReadModel eagle = read(
        R"({"model_type": "mistral", "architectures": ["LlamaForCausalLMEagle3"], "num_hidden_layers": 1})");
    CHECK(eagle.is_draft);
    CHECK(window_of(eagle) == 0);
    CHECK_FALSE(read(R"({"model_type": "mistral", "architectures": ["MistralForCausalLM"]})").is_draft);
}

TEST_CASE("settings of single layers", "[hf]") {
    const ReadModel own =
        read(R"({"model_type": "llama", "num_hidden_layers": 3, "num_attention_heads": 8, "hidden_size": 512,
                                   "per_layer_config": {"1": {"head_dim": 128, "num_key_value_heads": 2}}})");
    CHECK(own.spec.forms.size() == 2);
    CHECK(own.spec.form_of(own.spec.caches[1]).streams[0].width == 128);
    CHECK(own.spec.form_of(own.spec.caches[1]).streams[1].heads == 2);
    CHECK(refused(R"({"model_type": "deepseek_v3", "per_layer_config": {"0": {"head_dim": 1}}})").where ==
          "/per_layer_config/0/");
    const auto why = [](const std::string& settings) {
        return refused(R"({"model_type": "llama", "num_hidden_layers": 3, "num_attention_heads": 8, "hidden_size": )"
                       R"(512, "per_layer_config": )" +
                       settings + "}")
            .text();
    };
    CHECK(why(R"({"3": {"head_dim": 64}})") == R"(/per_layer_config: "3"; wanted layers from 0 to 2)");
    CHECK(why(R"({"one": {"head_dim": 64}})") == R"(/per_layer_config: "one"; wanted layers from 0 to 2)");
    CHECK(why(R"({"": {}})") == R"(/per_layer_config: ""; wanted layers from 0 to 2)");
    CHECK(why(R"({"12345678901234567890": {}})") ==
          R"(/per_layer_config: "12345678901234567890"; wanted layers from 0 to 2)");
    CHECK(why(R"({"1": 7})") == "/per_layer_config/1: 7; wanted an object");
    CHECK(why(R"({"1": {"num_key_value_heads": 3}})") ==
          "/per_layer_config/1/num_key_value_heads: 3 key heads for 8 query heads; wanted a divisor of the query "
          "heads");
    CHECK(why(R"({"1": {"head_dim": 0}})") ==
          "/per_layer_config/1/head_dim: 0; wanted an integer from 1 to 1048576");
}

TEST_CASE("what a file says twice, or of something unknown, is noted", "[hf]") {
    CHECK(note_at(R"({"model_type": "foo_vl", "text_config": {"model_type": "llama", "num_hidden_layers": 2}})",
                  "/model_type") == "foo_vl is not known here: /text_config is read as its decoder");
    CHECK(note_at(R"({"model_type": "llava", "text_config": {"model_type": "llama", "num_hidden_layers": 2}})",
                  "/model_type") == "no note at /model_type");
    CHECK(note_at(R"({"model_type": "llava", "num_hidden_layers": 3,
                      "text_config": {"model_type": "llama", "num_hidden_layers": 2}})",
                  "/text_config/num_hidden_layers") == "2; the 3 beside it are not read");
    const std::string open = R"({"model_type": "gemma3_text", "num_hidden_layers": 2, "sliding_window": null, )"
                             R"("layer_types": ["full_attention", "sliding_attention"]})";
    CHECK(note_at(open, "/layer_types/1") ==
          "listed as sliding or chunked, and no size is said: such layers keep every token");
    CHECK(window_of(read(open), 1) == 0);
    CHECK(refused(R"({"model_type": 3})").found == "3");
    CHECK(refused(R"({"model_type": "llama", "num_hidden_layers": 1000})").where == "/num_hidden_layers");
}

TEST_CASE("an indexer's key decides, whatever the model_type", "[hf]") {
    const std::string sizes = R"("num_hidden_layers": 2, "kv_lora_rank": 512, "qk_rope_head_dim": 64, )"
                              R"("index_topk": 2048, "index_head_dim": 128, "index_n_heads": 64})";
    const ReadModel sparse = read(R"({"model_type": "deepseek_v32", )" + sizes);
    const ReadModel as_v3 = read(R"({"model_type": "deepseek_v3", )" + sizes);
    CHECK(as_v3.spec == sparse.spec);
    CHECK(as_v3.index == sparse.index);
}

TEST_CASE("experts' width and the block of their scales", "[hf]") {
    const std::string moe = R"({"model_type": "qwen3_moe", "num_hidden_layers": 1, "intermediate_size": 6144, )"
                            R"("moe_intermediate_size": 768, "num_experts": 128)";
    const std::string blocks = R"(, "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 64]})";
    CHECK(read(moe + blocks + "}").weight_block == 128);
    CHECK(read(moe + blocks + "}").expert_width == 768);
    CHECK(read(moe + blocks + R"(, "expert_dtype": "fp4"})").weight_block == 0);
    CHECK(read(moe + "}").weight_block == 0);
    CHECK(read(R"({"model_type": "llama", "num_hidden_layers": 1, "intermediate_size": 6144})").expert_width == 0);
}

TEST_CASE("a switch that is off beside layers that are listed as sliding", "[hf]") {
    const std::string head = R"({"model_type": "qwen3", "num_hidden_layers": 2, "sliding_window": 64, )"
                             R"("layer_types": ["full_attention", "sliding_attention"])";
    CHECK(refused(head + R"(, "use_sliding_window": false})").text() ==
          R"(/layer_types/1: "sliding_attention"; wanted no sliding layer beside use_sliding_window: false)");
    CHECK(window_of(read(head + R"(, "use_sliding_window": true})"), 1) == 64);
    CHECK(window_of(read(head + "}"), 1) == 64);
    CHECK_FALSE(read_config(R"({"model_type": "smollm3", "num_hidden_layers": 1, "sliding_window": 64, )"
                            R"("layer_types": ["sliding_attention"], "use_sliding_window": false})"));
    CHECK_FALSE(read_config(R"({"model_type": "qwen2_moe", "num_hidden_layers": 1, "sliding_window": 64, )"
                            R"("layer_types": ["sliding_attention"], "use_sliding_window": false})"));
}

TEST_CASE("a key of another type is refused at its place, never read as absent", "[hf]") {
    const std::pair<const char*, const char*> files[] = {
        {R"({"model_type": "kimi_k2", "kv_lora_rank": -7})", "/kv_lora_rank"},
        {R"({"model_type": "deepseek_v3", "kv_lora_rank": [1]})", "/kv_lora_rank"},
        {R"({"model_type": "llava", "text_config": "x"})", "/text_config"},
        {R"({"model_type": "kimi_linear", "linear_attn_config": 7})", "/linear_attn_config"},
        {R"({"model_type": "qwen3_next", "layer_types": []})", "/layer_types"},
        {R"({"model_type": "qwen3_5_text", "mamba_ssm_dtype": -7})", "/mamba_ssm_dtype"},
        {R"({"model_type": "gemma3_text", "sliding_window_pattern": 0})", "/sliding_window_pattern"},
        {R"({"model_type": "llama", "max_position_embeddings": -5})", "/max_position_embeddings"},
        {R"({"model_type": "llama", "max_position_embeddings": "8k"})", "/max_position_embeddings"},
        {R"({"model_type": "llama", "quantization_config": "fp8"})", "/quantization_config"},
        {R"({"model_type": "llama", "per_layer_config": [1]})", "/per_layer_config"},
        {R"({"model_type": "llava", "text_config": {"model_type": "llama", "text_config": {"hidden_size": 1}}})",
         "/text_config/text_config"},
    };
    for (const auto& file : files) {
        INFO(file.first);
        const auto read = kvcap::read_config(file.first);
        REQUIRE_FALSE(read);
        CHECK(read.error->trouble == kvcap::Trouble::invalid);
        CHECK(read.error->where == file.second);
    }
}

namespace {

/// A config of this type; four heads and a width of 64 unless it says otherwise.
std::string config(const char* type, const std::string& rest) {
    std::string text = std::string{R"({"model_type": ")"} + type + '"';
    text += rest.find("\"hidden_size\"") == std::string::npos ? R"(, "hidden_size": 64)" : "";
    return text + R"(, "num_attention_heads": 4)" + (rest.empty() ? "" : ", ") + rest + "}";
}

}  // namespace

TEST_CASE("what a family's config cannot mean is refused at its key", "[hf]") {
    struct Row {
        const char* type;
        const char* rest;
        const char* problem;
    };
    const Row rows[] = {
        {"olmo_hybrid",
         R"("num_hidden_layers": 4, "linear_key_head_dim": 40000, "linear_value_head_dim": 70000)",
         R"(/linear_value_head_dim: 70000; wanted at most 65535)"},
        {"jet_nemotron",
         R"("num_hidden_layers": 2, "efficient_attention_config": {"jet": {"expand_v": -1}}, )"
         R"("layer_types": ["jet", "attn"])",
         R"(/efficient_attention_config/jet/expand_v: -1; wanted a positive factor)"},
        {"jet_nemotron", R"("num_hidden_layers": 2)",
         R"(/layer_types: nothing; wanted a list of jet, swa and attn)"},
        {"jet_nemotron", R"("num_hidden_layers": 2, "layer_types": ["jet", "mamba"])",
         R"(/layer_types/1: another kind of layer; wanted jet, swa or attn)"},
        {"minimax_m1", R"("num_hidden_layers": 2)",
         R"(/attn_type_list: nothing; wanted a list of 2 numbers)"},
        {"granitemoehybrid", R"("num_hidden_layers": 2, "mamba_n_heads": 4, "mamba_d_head": "some")",
         R"(/mamba_d_head: "some"; wanted an integer or "auto")"},
        {"granitemoehybrid", R"("num_hidden_layers": 2, "mamba_n_heads": 4, "mamba_d_head": 16)",
         R"(/mamba_d_head: 4 heads of 16; wanted 128 in all)"},
        {"nemotron_h", R"()",
         R"(/hybrid_override_pattern: nothing; wanted a pattern, or the list layers_block_type)"},
        {"nemotron_h", R"("hybrid_override_pattern": "M?")",
         R"(/hybrid_override_pattern: ?; wanted letters M, *, - and E)"},
        {"nemotron_h", R"("layers_block_type": ["mamba", "attention"], "num_hidden_layers": 3)",
         R"(/num_hidden_layers: 3; wanted the pattern's length 2)"},
        {"rwkv7", R"("hidden_size": 128, "num_hidden_layers": 2, "attn": {"layers": [0]})",
         R"(/attn: an object of 1; wanted no attention layers beside RWKV)"},
        {"gla", R"("hidden_size": 128, "num_hidden_layers": 2, "num_heads": 2, "expand_k": -1)",
         R"(/expand_k: -1; wanted a positive factor of the width)"},
        {"gla", R"("hidden_size": 128, "num_hidden_layers": 2, "num_heads": 2, "attn": {"layers": [0]})",
         R"(/attn: an object of 1; wanted no attention layers beside GLA)"},
        {"exaone4", R"("num_hidden_layers": 4, "sliding_window": 8, "sliding_window_pattern": "LXG")",
         R"(/sliding_window_pattern: "LXG"; wanted a number, or letters L (local) and G (global))"},
        {"gemma3n_text", R"("num_hidden_layers": 4, "sliding_window": 8, "num_kv_shared_layers": 5)",
         R"(/num_kv_shared_layers: 5; wanted at most 4)"},
        {"gemma3n_text", R"("num_hidden_layers": 4, "sliding_window": 8, "num_kv_shared_layers": 4)",
         R"(/num_kv_shared_layers: layer 0 shares; wanted an earlier layer of its kind that owns a cache)"},
        {"nemotron-nas", R"("num_hidden_layers": 4, "block_configs": [{}])",
         R"(/block_configs: a list of 1; wanted a list of 4 blocks)"},
        {"deepseek_v32",
         R"("num_hidden_layers": 4, "kv_lora_rank": 32, "qk_rope_head_dim": 8, "index_head_dim": 16, )"
         R"("index_topk_pattern": "FS")",
         R"(/index_topk_pattern: "FS"; wanted 4 entries)"},
        {"glm_moe_dsa",
         R"("num_hidden_layers": 4, "kv_lora_rank": 32, "qk_rope_head_dim": 8, "index_head_dim": 16, )"
         R"("indexer_types": ["full", "shared"])",
         R"(/indexer_types: a list of 2; wanted 4 entries)"},
        {"deepseek_v4",
         R"("num_hidden_layers": 2, "layer_types": ["full_attention", "compressed_sparse_attention"])",
         R"(/layer_types: a layer kind without a window of latents; wanted sliding_attention, )"
         R"(compressed_sparse_attention or heavily_compressed_attention)"},
        {"llama", R"("num_hidden_layers": 2, "quantization_config": {"kv_cache_scheme": 8})",
         R"(/quantization_config/kv_cache_scheme: 8; wanted a name, or {"num_bits": 8, "type": "float"})"},
        {"llama",
         R"("num_hidden_layers": 2, "quantization_config": {"kv_cache_scheme": {"num_bits": 8, "type": )"
         R"("bool"}})",
         R"(/quantization_config/kv_cache_scheme/type: "bool"; wanted "float" or "int")"},
        {"llama",
         R"("num_hidden_layers": 2, "quantization_config": {"kv_cache_scheme": {"num_bits": 5, "type": )"
         R"("float"}})",
         R"(/quantization_config/kv_cache_scheme/num_bits: 5; wanted 4, 8 or 16)"}};
    for (const Row& row : rows) {
        CHECK(refused(config(row.type, row.rest)).text() == row.problem);
    }
}

TEST_CASE("families in the forms that few files have", "[hf]") {
    struct Row {
        const char* type;
        const char* rest;
        const char* line;
    };
    const Row rows[] = {
        {"olmo_hybrid", R"("num_hidden_layers": 4, "linear_key_head_dim": 8)",
         "3*gdn(4,8,4,16) + gqa(4,16) + heads(4)"},
        {"bailing_moe_linear",
         R"("num_hidden_layers": 4, "head_dim": 16, "layer_group_size": 2, "short_conv_kernel_size": 4)",
         "2*(kda(4,16) + gqa(4,16)) + heads(4)"},
        {"gla", R"("hidden_size": 128, "num_hidden_layers": 2, "num_heads": 2, "use_short_conv": true)",
         "2*form(gla, keep=last, conv(channels,256,3,1,bf16), state(channels,2,32,64,f32))"},
        {"afmoe", R"("num_hidden_layers": 4, "sliding_window": 8, "global_attn_every_n_layers": 2)",
         "2*(window(8, gqa(4,128)) + gqa(4,128)) + heads(4)"},
        {"bert", R"("num_hidden_layers": 4, "is_decoder": true)", "4*gqa(4,16) + heads(4)"},
        {"bert", R"("num_hidden_layers": 4)", "4*none + heads(4)"},
        {"longcat_flash",
         R"("num_layers": 2, "kv_lora_rank": 32, "qk_rope_head_dim": 8, "qk_nope_head_dim": 16, )"
         R"("v_head_dim": 16, "num_nextn_predict_layers": 1)",
         "2*both(mla(32,8), mla(32,8)) + heads(4)"}};
    for (const Row& row : rows) {
        CHECK(spec_line(read(config(row.type, row.rest)).spec) == row.line);
    }
}

}  // namespace hf_tests
