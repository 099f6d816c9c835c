// SPDX-License-Identifier: MIT
// Model files in parts and their headers: an error names the part's file; safetensors alone, and a sum alone.
#include "../tools/golden/llamacpp_gguf.hpp"
#include "folder.hpp"

#include <unistd.h>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <kvcap/io/gguf.hpp>
#include <kvcap/io/model_weights.hpp>

namespace model_files_tests {

using namespace kvcap;
using golden::GgufWriter;
using golden::TensorInfo;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

const Json llama{{"general.architecture", "llama"}, {"llama.block_count", 2},
                 {"llama.context_length", 4096},    {"llama.embedding_length", 64},
                 {"llama.attention.head_count", 4}, {"llama.attention.head_count_kv", 2}};

}  // namespace

TEST_CASE("an error in a part names that part's file, and numbers of parts must fit") {
    const Folder folder;
    const auto part = [&](u32 number, u64 count, const TensorInfo& tensor) {
        GgufWriter writer;
        writer.add_all(number == 0 ? llama : Json::object());
        writer.add("split.no", number);
        writer.add("split.count", count);
        writer.add(tensor);
        return writer.bytes();
    };
    const std::string first = folder.write("m-00001-of-00002.gguf", part(0, 2, {"blk.0.w", {32}, 0}));
    const std::string second = folder.write("m-00002-of-00002.gguf", part(1, 2, {"blk.9999.w", {32}, 0}));
    auto read = gguf::read_file(first);
    REQUIRE_FALSE(read);
    CHECK(read.error->text() == second + ": tensor blk.9999.w: a block beyond all models; wanted below 4096");
    folder.write("m-00002-of-00002.gguf", "GGUF");
    read = gguf::read_file(first);
    REQUIRE_FALSE(read);
    CHECK(read.error->where.find(second + ": ") == 0);
    for (const u64 count : {u64{1}, u64{70'000}}) {
        const std::string odd = folder.write("odd.gguf", part(3, count, {"blk.0.w", {32}, 0}));
        CHECK(gguf::read_file(odd).error->text() ==
              odd + ": split.count: numbers that do not fit; wanted split.no below split.count");
    }
    const std::string broken = folder.write("broken.gguf", "GGUF");
    CHECK(gguf::read_file(broken).error->where.find(broken + ": ") == 0);
}

TEST_CASE("a mapping moves with its bytes") {
    const Folder folder;
    auto one = gguf::MappedFile::open(folder.write("one", "first"));
    auto two = gguf::MappedFile::open(folder.write("two", "second file"));
    REQUIRE(one);
    REQUIRE(two);
    *one = std::move(*two);
    CHECK(one->bytes().size() == 11);
    CHECK(static_cast<char>(one->bytes()[0]) == 's');
    const gguf::MappedFile taken{std::move(*one)};
    CHECK(taken.bytes().size() == 11);
    CHECK(one->bytes().empty());
    CHECK(gguf::MappedFile::open(folder.write("empty", ""))->bytes().empty());
}

TEST_CASE("one safetensors file: parts by name, types added up, broken headers by file", "[weights]") {
    const fs::path folder = fs::temp_directory_path() / ("kvcap-tensors-" + std::to_string(::getpid()));
    fs::create_directories(folder);
    const fs::path file = folder / "model.safetensors";
    const auto write = [&](const std::string& header, u64 length) {
        std::string size(8, '\0');
        for (u32 i = 0; i < 8; ++i) {
            size[i] = static_cast<char>(length >> 8 * i & 0xff);
        }
        std::ofstream{file, std::ios::binary} << size << header;
    };
    const std::pair<const char*, WeightPart> named[] = {
        {"visual.patch_embed.proj.weight", WeightPart::whole},
        {"model.embed_tokens.weight", WeightPart::embedding},
        {"lm_head.weight", WeightPart::head},
        {"model.layers.0.mlp.experts.3.up_proj.weight", WeightPart::experts},
        {"model.layers.0.input_layernorm.weight", WeightPart::whole},
        {"model.layers.0.mlp.gate.weight", WeightPart::whole},
        {"model.layers.0.self_attn.kv_a_proj_with_mqa.weight", WeightPart::whole},
        {"model.layers.0.self_attn.v_proj.weight", WeightPart::keys},
        {"model.layers.0.self_attn.o_proj.weight", WeightPart::attention},
        {"model.layers.0.mixer.in_proj.weight", WeightPart::attention},
        {"model.layers.0.mlp.up_proj.weight", WeightPart::dense}};
    std::string header = "{";
    for (const auto& [name, part] : named) {
        CHECK(io::part_of(name) == part);
        header += (header.size() == 1 ? "\"" : ", \"") + std::string{name} +
                  R"(": {"dtype": "BF16", "shape": [3, 5]})";
    }
    header += "}";
    write(header, header.size());
    const Diagnosed<Weights> read = read_safetensors(folder);
    REQUIRE(read);
    CHECK(read->source == WeightSource::safetensors);
    CHECK(read->parameters == std::size(named) * 15);
    REQUIRE(read->types.size() == 1);
    CHECK(read->types[0].dtype == "BF16");
    CHECK(read->types[0].bytes == std::size(named) * 30);
    CHECK(read->layers == 1);

    write(header, u64{1} << 40);
    CHECK(read_safetensors(folder).error->text() ==
          file.string() + ": no safetensors header; wanted a length up to 16 MiB and JSON");
    std::ofstream{file, std::ios::binary} << "short";
    CHECK(read_safetensors(folder).error->where == file.string());
    const fs::path index = folder / "model.safetensors.index.json";
    std::ofstream{index} << "[";
    CHECK(read_safetensors(folder).error->where == index.string() + ": line 1 (byte 1)");
    fs::remove_all(folder);
    CHECK_FALSE(read_safetensors(folder).error);
    CHECK_FALSE(read_safetensors(folder).value);
    CHECK(io::layer_in("transformer.h.11.attn.weight") == 11);
    CHECK(io::layer_in("layers.x.weight") == no_layer);
    CHECK(io::layer_in("mylayers.3.weight") == no_layer);
}

TEST_CASE("a sum alone is spread over derived parts, or evenly over the layers", "[weights]") {
    const std::string rwkv =
        R"({"model_type": "rwkv6", "hidden_size": 64, "num_hidden_layers": 4, "weights_bytes": {"BF16": 4000}})";
    const Diagnosed<Weights> even = weights_of(rwkv);
    REQUIRE(even);
    CHECK(even->source == WeightSource::card);
    REQUIRE(even->groups.size() == 4);
    for (const WeightGroup& group : even->groups) {
        CHECK(group.bytes == 1000);
    }
    CHECK(even.notes.back().text == "divided evenly among the layers");
    CHECK(weights_of("{").error->trouble == Trouble::invalid);
    const char* names[] = {"unknown", "safetensors headers",     "safetensors index",
                           "card",    "derived from the config", "GGUF tensors"};
    for (u8 i = 0; i < std::size(names); ++i) {
        CHECK(std::string{name_of(WeightSource{i})} == names[i]);
    }
}

}  // namespace model_files_tests
