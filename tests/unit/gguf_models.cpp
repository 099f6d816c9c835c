// SPDX-License-Identifier: MIT
// Eleven models that estimators are often asked about, as GGUF files, at 32,768 tokens: the bytes held are
// the right ones, and what llama.cpp reserves is the table of docs/explain/llamacpp.md.
#include "../tools/golden/llamacpp_gguf.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <kvcap/engine/llamacpp.hpp>
#include <kvcap/io/gguf.hpp>
#include <unistd.h>

namespace gguf_models_tests {

using namespace kvcap;
using Json = nlohmann::json;

namespace {

/// Metadata of a golden case, with some of its keys changed.
Json metadata_of(const std::string& file, const std::string& id, const Json& changes) {
    std::ifstream in{KVCAP_SOURCE_DIR "/tests/golden/llama_cpp/" + file};
    const Json content = Json::parse(in);
    for (const Json& one : content.at("cases")) {
        if (one.at("id") == id) {
            Json metadata = one.at("metadata");
            metadata.update(changes);
            return metadata;
        }
    }
    FAIL("no case " + id);
    return {};
}

struct Row {
    const char* model;
    const char* file;
    const char* id;
    Json changes;
    u64 held;      ///< keys, values and latents, windows capped
    u64 state;     ///< one sequence's states, 16-bit convolutions
    u64 reserved;  ///< by llama.cpp at -c 32768, f16
};

std::vector<Row> rows() {
    const Json large{
        {"llama.block_count", 80}, {"llama.embedding_length", 8192}, {"llama.attention.head_count", 64}};
    return {{"Llama-3-8B", "dense.json", "llama31-8b_c1", Json::object(), 4'294'967'296, 0, 4'294'967'296},
            {"Llama-3.1-70B", "dense.json", "llama31-8b_c1", large, 10'737'418'240, 0, 10'737'418'240},
            {"Llama-2-7B", "dense.json", "llama2-7b_mha", Json::object(), 17'179'869'184, 0, 17'179'869'184},
            {"DeepSeek-V3", "mla.json", "deepseek-v3_mla", Json::object(), 2'302'672'896, 0, 2'302'672'896},
            {"DeepSeek-V3.2", "sparse.json", "deepseek32", Json::object(), 2'814'377'984, 0, 2'814'377'984},
            {"Gemma-3-27B", "layer_split.json", "split_gemma3_2dev_1_1", Json::object(), 3'120'562'176, 0,
             3'338'665'984},
            {"gpt-oss-120b", "swa.json", "gpt-oss-120b_server_auto", Json::object(), 1'212'678'144, 0,
             1'236'271'104},
            {"Qwen3-Next-80B", "dense.json", "qwen3next_nextn_mtp", Json::object(), 805'306'368, 39'518'208,
             884'342'784},
            {"Nemotron-H-8B", "hybrid.json", "nemotron-h-8b", Json::object(), 536'870'912, 51'806'208,
             640'483'328},
            {"Kimi-Linear-48B", "hybrid.json", "kimi-linear-48b_np2_q8", Json::object(), 264'241'152,
             43'417'600, 309'133'312},
            {"MiniCPM3-4B", "dense.json", "minicpm3-4b_expanded_mla", Json::object(), 26'004'684'800, 0,
             26'004'684'800}};
}

}  // namespace

TEST_CASE("eleven models from GGUF files: bytes held and bytes reserved") {
    for (const Row& row : rows()) {
        INFO(row.model);
        golden::GgufWriter writer;
        writer.add_all(metadata_of(row.file, row.id, row.changes));
        const std::string file = writer.bytes();
        const auto header = gguf::read_header(std::as_bytes(std::span{file}));
        REQUIRE(header);
        const auto read = gguf::read_model(*header);
        REQUIRE(read);
        const Footprint held = fold(read->model.spec, {.prompt = 32768_tok}).value();
        CHECK((held.growing + held.bounded).value == row.held);
        CHECK(held.state.value == row.state);
        const auto layout = llamacpp::layout(read->card, {.n_ctx = 32768}).value();
        CHECK(llamacpp::total_bytes(read->card, layout).value().total() == row.reserved);
    }
}

TEST_CASE("a file's errors name the file, the key, the value and what was wanted") {
    const auto problem_of = [](const Json& changes) {
        golden::GgufWriter writer;
        writer.add_all(metadata_of("dense.json", "llama31-8b_c1", changes));
        const auto path = std::filesystem::temp_directory_path() / ("kvcap-" + std::to_string(::getpid()) + ".gguf");
        std::ofstream{path, std::ios::binary} << writer.bytes();
        const auto read = gguf::read_file(path.string());
        std::filesystem::remove(path);
        REQUIRE_FALSE(read);
        const std::string text = read.error->text();
        CHECK(text.find(path.string() + ": ") == 0);
        CHECK(read.error->trouble == Trouble::invalid);
        return text.substr(path.string().size() + 2);
    };
    CHECK(problem_of({{"llama.block_count", 0}}) == "llama.block_count: 0; wanted at least one block");
    CHECK(problem_of({{"llama.context_length", "long"}}).find("llama.context_length: a value of type string") == 0);
    CHECK(problem_of({{"llama.block_count", 100000}}).find("llama.block_count: 100000 blocks") == 0);
}

}  // namespace gguf_models_tests
