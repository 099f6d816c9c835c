// SPDX-License-Identifier: MIT
// GGUF files: both byte orders and versions, every value type, weights, parts; and hostile files, which must
// give an error that names the offset or the key.
#include "../tools/golden/llamacpp_gguf.hpp"
#include "folder.hpp"

#include <catch2/catch.hpp>
#include <cstdio>
#include <kvcap/engine/llamacpp.hpp>
#include <kvcap/io/gguf.hpp>

namespace gguf_tests {

using namespace kvcap;
using golden::GgufWriter;
using golden::TensorInfo;
using Json = nlohmann::json;

namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span{text}); }

Json llama() {
    return {{"general.architecture", "llama"}, {"general.name", "tiny"}, {"llama.block_count", 2},
            {"llama.context_length", 4096}, {"llama.embedding_length", 64}, {"llama.attention.head_count", 4},
            {"llama.attention.head_count_kv", 2}, {"llama.rope.freq_base", 10000.0},
            {"tokenizer.ggml.tokens", {"a", "b", "c"}}};
}

std::string file_of(const Json& metadata, bool big = false, u32 version = 3) {
    GgufWriter writer{big, version};
    writer.add_all(metadata);
    writer.add({"token_embd.weight", {64, 3}, 0}, 64 * 3 * 4);
    writer.add({"blk.0.attn_k.weight", {64, 32}, 8}, 64 / 32 * 34 * 32);
    writer.add({"blk.1.attn_k.weight", {64, 32}, 1}, 64 * 32 * 2);
    writer.add({"output_norm.weight", {64}, 0}, 256);
    return writer.bytes();
}

Problem problem_of(const std::string& file) {
    const auto header = gguf::read_header(bytes_of(file));
    if (!header) {
        return *header.error;
    }
    const auto model = gguf::read_model(*header);
    REQUIRE_FALSE(model);
    return *model.error;
}

/// `text` with the bytes at `at` replaced.
std::string with(std::string text, std::size_t at, std::string_view bytes) {
    return text.replace(at, bytes.size(), bytes);
}

}  // namespace

TEST_CASE("both byte orders and both versions give the same model") {
    const std::string little = file_of(llama());
    const auto header = gguf::read_header(bytes_of(little));
    REQUIRE(header);
    CHECK(header->version == 3);
    CHECK_FALSE(header->big_endian);
    const auto model = gguf::read_model(*header);
    REQUIRE(model);
    CHECK(model->model.architecture == "llama");
    CHECK(model->model.name == "tiny");
    CHECK(model->model.max_context == 4096);
    CHECK(model->model.spec == compose(QueryHeads{4}, repeat(2, Gqa{2, 16})).value());
    CHECK(model.notes.size() == 2);  // the head widths were derived
    for (const bool big : {false, true}) {
        for (const u32 version : {2u, 3u}) {
            const std::string other = file_of(llama(), big, version);
            const auto read = gguf::read_header(bytes_of(other));
            REQUIRE(read);
            CHECK(read->big_endian == big);
            const auto same = gguf::read_model(*read);
            REQUIRE(same);
            CHECK(same->model == model->model);
            CHECK(same->card == model->card);
            CHECK(same->weights == model->weights);
        }
    }
}

TEST_CASE("weights are summed per type and per block") {
    const std::string file = file_of(llama());
    const auto header = gguf::read_header(bytes_of(file));
    gguf::Weights sum;
    REQUIRE_FALSE(gguf::add_weights(sum, *header, {}));
    CHECK(sum.input == 768);
    CHECK(sum.blocks == std::vector<u64>{2176, 4096});
    CHECK(sum.output == 256);
    CHECK(sum.bytes == 768 + 2176 + 4096 + 256);
    CHECK(sum.elements == 192 + 2048 + 2048 + 64);
    REQUIRE(sum.types.size() == 3);
    CHECK(sum.types[1].type == llamacpp::Ggml::q8_0);
    CHECK(sum.types[1].bytes == 2176);
}

TEST_CASE("every value type is read") {
    const auto file =
        gguf::MappedFile::open(KVCAP_SOURCE_DIR "/tests/golden/llama_cpp/gguf/all_value_types_v3.gguf");
    REQUIRE(file);
    const auto header = gguf::read_header(file->bytes());
    REQUIRE(header);
    CHECK(header->entries.size() == 28);
    CHECK(header->find("general.name")->text() == "all value types \xc3\xa9\xe4\xb8\xad");
    CHECK(header->find("test.empty_string")->text() == "");
    CHECK(header->find("test.empty_array")->count == 0);
    CHECK(header->find("gemma3.block_count")->integer() == 2);
    CHECK(header->find("gemma3.context_length")->integer() == 4096);
    CHECK_FALSE(header->find("test.i64_negative")->integer());
    CHECK(header->find("test.f64_array")->real(0) == 1e300);
    CHECK(header->find("tokenizer.ggml.tokens")->count == 6);
    CHECK(header->find("no such key") == nullptr);
    const auto model =
        gguf::read_file(KVCAP_SOURCE_DIR "/tests/golden/llama_cpp/gguf/all_value_types_v3.gguf");
    REQUIRE(model);
    CHECK_FALSE(model->truncated);
    CHECK(model->model.spec.forms[0].retention.span == 64_tok);
}

TEST_CASE("a file that ends anywhere is an error, never a model of its own") {
    const std::string file = file_of(llama());
    const auto whole = gguf::read_header(bytes_of(file));
    for (std::size_t size = 0; size < whole->end; ++size) {
        const auto header = gguf::read_header(bytes_of(file).first(size));
        REQUIRE_FALSE(header);
        REQUIRE(header.error->where.find("offset ") == 0);
    }
}

TEST_CASE("lying counts and lengths are refused where they stand") {
    const std::string file = file_of(llama());
    CHECK(problem_of("").found == "the file ends after 0 bytes");
    CHECK(problem_of(with(file, 0, "GGML")).text() ==
          "offset 0: no GGUF file; wanted the letters GGUF first");
    CHECK(problem_of(with(file, 4, std::string_view{"\1\0\0\0", 4})).found == "GGUF version 1");
    CHECK(problem_of(with(file, 8, std::string(8, '\xff'))).wanted == "at most 262144");
    CHECK(problem_of(with(file, 16, std::string(8, '\xff'))).wanted == "at most 65536");
    // The first key is "general.architecture": its length is at 24, its type at 24 + 8 + 20.
    CHECK(problem_of(with(file, 24, std::string(8, '\xff'))).where == "offset 24");
    CHECK(problem_of(with(file, 52, std::string_view{"\x0d\0\0\0", 4})).text() ==
          "offset 52, general.architecture: value type 13; wanted a type from 0 to 12");
    CHECK(problem_of(with(file, 52, std::string_view{"\x09\0\0\0\x09\0\0\0", 8})).found ==
          "an array of arrays");
    CHECK(problem_of(with(file, 56, std::string(8, '\x7f'))).found.find("the file ends after") == 0);
}

TEST_CASE("keys and tensors occur once") {
    GgufWriter twice;
    twice.add("general.architecture", "llama");
    twice.add("general.architecture", "llama");
    CHECK(problem_of(twice.bytes()).found == "key general.architecture occurs twice");
    GgufWriter tensors;
    tensors.add_all(llama());
    tensors.add(TensorInfo{"output.weight", {32}, 0});
    tensors.add(TensorInfo{"output.weight", {32}, 0});
    CHECK(problem_of(tensors.bytes()).found == "tensor output.weight occurs twice");
}

TEST_CASE("metadata that makes no model names its key") {
    const auto without = [](const char* key) {
        Json metadata = llama();
        metadata.erase(key);
        return problem_of(file_of(metadata)).text();
    };
    CHECK(without("general.architecture") == "general.architecture: is missing; wanted a name");
    CHECK(without("llama.block_count") == "llama.block_count: is missing; wanted a whole number");
    CHECK(without("llama.context_length") == "llama.context_length: is missing; wanted a whole number");
    const auto but = [](const char* key, const Json& value) {
        Json metadata = llama();
        metadata[key] = value;
        return problem_of(file_of(metadata));
    };
    CHECK(but("general.architecture", "whisper").trouble == Trouble::unknown);
    CHECK(but("llama.block_count", "two").text() ==
          "llama.block_count: a value of type string; wanted a whole number below 2^32");
    CHECK(but("llama.block_count", -2).found == "a value of type i32");
    CHECK(but("llama.block_count", 4000000000u).found == "4000000000 blocks");
    CHECK(but("llama.attention.head_count_kv", {2, 2, 2}).found == "an array of 3");
    CHECK(but("llama.attention.head_count_kv", {"a", "b"}).found == "an array of string");
    CHECK(but("llama.nextn_predict_layers", 3).wanted == "at most block_count");
    CHECK(but("llama.embedding_length", 6.5).found == "a value of type f32");
    Json window = llama();
    window["general.architecture"] = "gpt-oss";
    const Json given = llama();
    for (const auto& [key, value] : given.items()) {
        if (key.rfind("llama.", 0) == 0) {
            window["gpt-oss." + key.substr(6)] = value;
        }
    }
    CHECK(problem_of(file_of(window)).text() ==
          "gpt-oss.attention.sliding_window: is missing; wanted a whole number");
}

TEST_CASE("tensor types and shapes that ggml does not have") {
    const auto with_tensor = [](const TensorInfo& tensor) {
        GgufWriter writer;
        writer.add_all(llama());
        writer.add(tensor);
        return problem_of(writer.bytes());
    };
    CHECK(with_tensor({"a", {64}, 99}).found == "type 99");
    CHECK(with_tensor({"a", {33}, 8}).text() ==
          "tensor a: rows of 33 elements of q8_0; wanted a multiple of 32");
    CHECK(with_tensor({"a", {1, 1, 1, 1, 1}, 0}).found == "5 dimensions");
    CHECK(with_tensor({"a", {1ull << 40, 1ull << 40}, 0}).found == "a tensor of 2^63 elements or more");
    CHECK(with_tensor({"blk.99999999999999999999.a", {32}, 0}).wanted == "below 4096");
    CHECK(with_tensor({"blk.99.a", {32}, 0}).where == "llama.block_count");
    CHECK(with_tensor({"blk.99.a", {32}, 0}).wanted == "as many as tensor blk.99.a asks for");
}

TEST_CASE("a model in parts is its first part with the weights of all") {
    const Folder folder;
    const auto part = [&](u32 number, bool with_metadata) {
        GgufWriter writer;
        writer.add_all(with_metadata ? llama() : Json::object());
        writer.add("split.no", number);
        writer.add("split.count", 3);
        writer.add({"blk." + std::to_string(number) + ".w", {32}, 0}, 128);
        return folder.write("m" + gguf::shard_ending(number, 3), writer.bytes());
    };
    const std::string first = part(0, true);
    part(1, false);
    auto read = gguf::read_file(first);
    REQUIRE(read);
    CHECK(read->shards == 3);
    CHECK_FALSE(read->complete);
    CHECK(read.notes.back().text.find("part 3 of 3 was not found") == 0);
    const std::string third = part(2, false);
    read = gguf::read_file(first);
    REQUIRE(read);
    CHECK(read->complete);
    CHECK(read->weights.blocks == std::vector<u64>{128, 128, 128});
    CHECK(read->truncated);  // headers without data
    CHECK(gguf::read_file(third).error->found == "part 3 of 3");
    CHECK(gguf::read_file((folder.path() / "none.gguf").string()).error->trouble == Trouble::unreadable);
    CHECK(gguf::read_file(folder.path().string()).error->found == "is no regular file");
}

TEST_CASE("a large vocabulary is skipped") {
    Json metadata = llama();
    Json tokens = Json::array();
    for (int i = 0; i < 150'000; ++i) {
        tokens.push_back("token" + std::to_string(i));
    }
    metadata["tokenizer.ggml.tokens"] = tokens;
    const std::string file = file_of(metadata);
    const auto header = gguf::read_header(bytes_of(file));
    REQUIRE(header);
    CHECK(header->find("tokenizer.ggml.tokens")->count == 150'000);
    CHECK(header->entries.size() == metadata.size());
}

TEST_CASE("states beyond 32 bits are refused, saved sequences beyond 64 too") {
    const Json mamba = {{"general.architecture", "mamba"},  {"mamba.block_count", 1},
                        {"mamba.context_length", 4096},     {"mamba.embedding_length", 64},
                        {"mamba.ssm.conv_kernel", 4},       {"mamba.ssm.inner_size", 1u << 17},
                        {"mamba.ssm.state_size", 1u << 16}, {"mamba.ssm.time_step_rank", 1},
                        {"mamba.attention.layer_norm_rms_epsilon", 1e-5}};
    CHECK(problem_of(file_of(mamba)).text() ==
          "mamba.ssm.state_size: a state of more than 2^32 elements; wanted a smaller one");

    Json wide = llama();
    wide["llama.attention.key_length"] = 0xffff'ffffu;
    wide["llama.attention.head_count_kv"] = 0xffff'fff0u;
    wide["llama.attention.head_count"] = 0xffff'fff0u;
    const std::string file = file_of(wide);
    const auto header = gguf::read_header(bytes_of(file));
    REQUIRE(header);
    const auto card = gguf::read_card(*header);
    REQUIRE(card);
    const auto made = llamacpp::layout(*card, {.n_ctx = 4096});
    REQUIRE(made);
    CHECK(llamacpp::sequence_state(*card, *made, 100, false).error().code == Errc::overflow);
    CHECK(llamacpp::cache_per_slice(*card, *made, made->caches[0], {.count = 2, .share = {1, 1}}, 32).error() ==
          Error{.code = Errc::overflow, .layer = 0});
}

}  // namespace gguf_tests
