// SPDX-License-Identifier: MIT
// Stored formats by name: what each flag concerns, what it leaves alone, what it refuses.
#include <catch2/catch.hpp>
#include <kvcap/io/dtypes.hpp>
#include <kvcap/io/hf.hpp>

namespace hf_dtypes_tests {

using namespace kvcap;

namespace {

ModelSpec model_of(const char* json) { return read_config(json)->spec; }

u64 bytes(const ModelSpec& model, u32 form) { return bytes_per_slot(model.forms[form]).value().value; }

ModelSpec stored(const char* json, const StoredFormats& names) {
    const Diagnosed<ModelSpec> got = stored_as(model_of(json), names);
    INFO((got.error ? got.error->text() : std::string{}));
    REQUIRE(got.value.has_value());
    return *got.value;
}

constexpr const char* llama = R"({"model_type": "llama", "num_key_value_heads": 8})";
constexpr const char* v32 = R"({"model_type": "deepseek_v32"})";

}  // namespace

TEST_CASE("auto changes nothing", "[hf]") {
    CHECK(stored(v32, {}) == model_of(v32));
}

TEST_CASE("names of engines and of plain types", "[hf]") {
    CHECK(bytes(stored(llama, {.kv = "bf16"}), 0) == 4096);
    CHECK(bytes(stored(llama, {.kv = "float32"}), 0) == 8192);
    CHECK(bytes(stored(llama, {.kv = "fp8_e4m3"}), 0) == 2048);
    CHECK(bytes(stored(llama, {.kv = "q8_0"}), 0) == 2048 / 32 * 34);
    CHECK(bytes(stored(llama, {.kv = "nvfp4"}), 0) == 2048 / 16 * 9);
    CHECK(bytes(stored(llama, {.kv = "fp8_per_token_head"}), 0) == 16 * 132);
    CHECK(bytes(stored(llama, {.kv = "int4_per_token_head"}), 0) == 16 * 68);
    CHECK(bytes(stored(llama, {.kv = "turboquant_k8v4"}), 0) == 8 * (128 + 68));
    const ModelSpec scaled = stored(llama, {.kv = "fp8_per_head"});
    CHECK(scaled.forms.size() == 2);
    CHECK(bytes(scaled, 1) == 16 * 4);
    CHECK(scaled.forms[1].retention.keep == Keep::once);
}

TEST_CASE("latents and index keys", "[hf]") {
    const ModelSpec model = stored(v32, {.kv = "fp8_ds_mla"});
    CHECK(bytes(model, 0) == 132);
    CHECK(bytes(model, 1) == 656);
    CHECK(bytes(stored(v32, {.index = "bf16"}), 0) == 256);
    CHECK(bytes(stored(v32, {.index = "mxfp4"}), 0) == 68);
    const ModelSpec v4 =
        stored(R"({"model_type": "deepseek_v4", "num_hidden_layers": 1, "compress_ratios": [4]})",
               {.kv = "fp8_ds_mla"});
    CHECK(bytes(v4, 0) == 584);
    CHECK(bytes(v4, 2) == 132);
    CHECK(bytes(v4, 3) == 2048 * 4);
}

TEST_CASE("states have their own flag, KDA and compressors stay in fp32", "[hf]") {
    const char* mamba = R"({"model_type": "mamba"})";
    CHECK(bytes(stored(mamba, {.kv = "fp8"}), 0) == bytes(model_of(mamba), 0));
    CHECK(bytes(stored(mamba, {.state = "f32"}), 0) == 2 * bytes(model_of(mamba), 0));
    // The convolution alone: inner x 3 inputs a layer go from 2 to 4 bytes; and back beside fp32 states.
    CHECK(bytes(stored(mamba, {.state = "f32", .conv = "bf16"}), 0) +
              bytes(stored(mamba, {.conv = "f32"}), 0) == 3 * bytes(model_of(mamba), 0));
    CHECK(stored_as(model_of(mamba), {.conv = "q8_0"}).error->where == "--conv-dtype");
    const char* kda = R"({"model_type": "kimi_linear", "num_hidden_layers": 2})";
    const ModelSpec wide = stored(kda, {.state = "f32"});
    CHECK(bytes(wide, 0) == bytes(model_of(kda), 0) + u64{3} * 32 * 128 * 3 * 2);
    CHECK(stored_as(model_of(kda), {.state = "bf16"}).notes.size() == 1);
}

TEST_CASE("unknown names and blocks that do not fit are refused", "[hf]") {
    const Problem unknown = *stored_as(model_of(llama), {.kv = "fp8e4m3"}).error;
    CHECK(unknown.where == "--kv-cache-dtype");
    CHECK(unknown.hint == "nearest: fp8_e4m3");
    CHECK(stored_as(model_of(llama), {.state = "q8_0"}).error->where == "--state-dtype");
    CHECK(stored_as(model_of(llama), {.index = "x"}).error->where == "--index-dtype");
    const Problem block =
        *stored_as(model_of(R"({"model_type": "phi", "hidden_size": 2560, "num_attention_heads": 32})"),
                   {.kv = "q8_0"})
             .error;
    CHECK(block.found == "q8_0: layer 0: a row of 80 elements cannot be stored in blocks of 32");
}

}  // namespace hf_dtypes_tests
