// SPDX-License-Identifier: MIT
// llama-server's prefix reuse beyond the recorded runs: states and chunk reuse, full checkpoint lists, the
// RAM cache's limit; and models of ollama by name.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <kvcap/engine/llamacpp/from_spec.hpp>
#include <kvcap/engine/llamacpp/server_reuse.hpp>
#include <kvcap/io/locate.hpp>
#include <numeric>

namespace llamacpp_server_tests {

using namespace kvcap;
using namespace kvcap::llamacpp;

namespace {

TokenList text(u32 from, u32 to, u32 name = 0) {
    TokenList tokens(to - from);
    std::iota(tokens.begin(), tokens.end(), name * 100'000 + from);
    return tokens;
}

TokenList operator+(TokenList a, const TokenList& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

ServerReuse server_of(const ModelSpec& model, const Options& context, const ReuseOptions& reuse) {
    const Card card = card_from(model).value();
    return {card, layout(card, context).value(), reuse};
}

const ModelSpec states = compose(repeat(2, Mamba1{.inner = 64, .state_dim = 16})).value();
const ModelSpec plain = compose(repeat(2, Gqa{2, 32})).value();
const ModelSpec windowed = compose(repeat(2, Windowed{Gqa{2, 32}, 64_tok}), repeat(1, Gqa{2, 32})).value();

}  // namespace

TEST_CASE("chunk reuse is sound on keys and values, and said to be unsound on states") {
    const ReuseOptions chunks{.reuse_chunk = 64, .ram = 0};
    const TokenList shifted = text(0, 100) + text(300, 800);
    ServerReuse attention = server_of(plain, {.n_ctx = 2048}, chunks);
    attention.serve(text(0, 800), {});
    const Served moved = attention.serve(shifted, {});
    CHECK(moved.cached == 599);
    CHECK_FALSE(moved.unsound);
    ServerReuse recurrent = server_of(states, {.n_ctx = 2048}, chunks);
    recurrent.serve(text(0, 800), {});
    const Served wrong = recurrent.serve(shifted, {});
    CHECK(wrong.cached == 284);
    CHECK(wrong.common == 100);
    CHECK(wrong.unsound);
    const Served right = recurrent.serve(shifted, {});
    CHECK(right.cached == 596);
}

TEST_CASE("a full list of checkpoints loses the oldest, or close ones of earlier requests") {
    ServerReuse server = server_of(states, {.n_ctx = 8192}, {.checkpoints = 2, .min_step = 100, .ram = 0});
    CHECK(server.serve(text(0, 2000), {}).made.size() == 2);
    CHECK(server.serve(text(0, 4000), {}).cached == 2000);
    // 1,484 and 1,996 of the first request made room for those of the second.
    CHECK(server.serve(text(0, 1990) + text(0, 50, 1), {}).cached == 0);
}

TEST_CASE("without checkpoints a window goes back only as far as its cells reach") {
    ServerReuse server =
        server_of(windowed, {.n_ctx = 2048, .n_batch = 64, .n_ubatch = 64}, {.checkpoints = 0, .ram = 0});
    server.serve(text(0, 600), {});
    CHECK(server.serve(text(0, 500) + text(0, 50, 1), {}).cached == 500);
    CHECK(server.serve(text(0, 300) + text(0, 50, 2), {}).cached == 0);
}

TEST_CASE("the RAM cache keeps at least one entry and drops the oldest beyond its limit") {
    ServerReuse server = server_of(plain, {.n_ctx = 2048}, {.ram = 400'000});
    server.serve(text(0, 600), {});
    server.serve(text(0, 600, 1), {});
    server.serve(text(0, 600, 2), {});
    CHECK(server.ram_bytes() <= 400'000);
    CHECK(server.serve(text(0, 600), {}).cached == 0);
}

TEST_CASE("ollama's names lead to the file of their model layer") {
    const auto folder = std::filesystem::temp_directory_path() / "kvcap-ollama-models";
    std::filesystem::create_directories(folder / "manifests/registry.ollama.ai/library/tiny");
    std::filesystem::create_directories(folder / "blobs");
    std::filesystem::copy_file(KVCAP_SOURCE_DIR "/tests/golden/llama_cpp/gguf/llama31-8b.header.gguf",
                               folder / "blobs/sha256-12ab",
                               std::filesystem::copy_options::overwrite_existing);
    std::ofstream{folder / "manifests/registry.ollama.ai/library/tiny/8b"}
        << R"({"layers":[{"mediaType":"application/vnd.ollama.image.license","digest":"sha256:00"},)"
           R"({"mediaType":"application/vnd.ollama.image.model","digest":"sha256:12ab"}]})";
    ::setenv("OLLAMA_MODELS", folder.c_str(), 1);
    const auto read = read_model("ollama:tiny:8b");
    REQUIRE(read);
    CHECK(read->architecture == "llama");
    CHECK(read_model("ollama:library/tiny:8b"));
    CHECK_FALSE(read_model("ollama:tiny"));
    CHECK(read_model("ollama:../tiny:8b").error->wanted == "NAME or NAME:TAG");
    ::unsetenv("OLLAMA_MODELS");
    std::filesystem::remove_all(folder);
}

}  // namespace llamacpp_server_tests
