// SPDX-License-Identifier: MIT
// A MODEL argument: file, folder, spec line, shape spec, card, local Hugging Face cache; and what is refused
// how.
#include "../tools/golden/llamacpp_gguf.hpp"
#include "folder.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <kvcap/io/locate.hpp>

namespace locate_tests {

using namespace kvcap;
namespace fs = std::filesystem;

namespace {

constexpr const char* llama = R"({"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "hidden_size": 64})";

/// A GGUF file of a model of two layers, 256 bytes a token.
std::string tiny_gguf() {
    golden::GgufWriter writer;
    writer.add_all({{"general.architecture", "llama"},
                    {"llama.block_count", 2},
                    {"llama.context_length", 4096},
                    {"llama.embedding_length", 64},
                    {"llama.attention.head_count", 4},
                    {"llama.attention.head_count_kv", 2}});
    return writer.bytes();
}

/// An environment variable, given back its value at the end.
class Variable {
public:
    Variable(const char* name, const std::string& value) : name_{name} {
        if (const char* before = std::getenv(name)) {
            before_ = before;
        }
        setenv(name, value.c_str(), 1);
    }
    ~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

private:
    const char* name_;
    std::optional<std::string> before_;
};

u64 per_token(const Diagnosed<ReadModel>& read) {
    REQUIRE(read);
    u64 sum = 0;
    for (const Cache& cache : read->spec.caches) {
        sum += bytes_per_slot(read->spec.form_of(cache)).value().value;
    }
    return sum;
}

}  // namespace

TEST_CASE("files and folders", "[locate]") {
    const Folder folder;
    const fs::path file = folder.write("m/config.json", llama);
    CHECK(per_token(read_model(file.string())) == 2 * 2 * 2 * 16 * 2);
    CHECK(per_token(read_model((folder.path() / "m").string())) == 256);
    fs::create_directories(folder.path() / "empty");
    CHECK(per_token(read_model(llama)) == 256);  // the text itself
    CHECK(read_model("{\"model_type\": 7}").error->where == "/model_type");
    const auto nothing = read_model((folder.path() / "empty").string());
    REQUIRE(nothing.error);
    CHECK(nothing.error->found == "a folder without config.json");
    CHECK(nothing.error->trouble == Trouble::unreadable);
    fs::create_symlink(folder.path() / "loop", folder.path() / "loop");
    const auto loop = read_model((folder.path() / "loop").string());
    REQUIRE(loop.error);
    CHECK(loop.error->trouble == Trouble::unreadable);
    CHECK(read_model("/dev/zero").error->found == "no regular file");
}

TEST_CASE("a hint beside the config is read from hf_quant_config.json", "[locate]") {
    const Folder folder;
    folder.write("config.json", llama);
    folder.write("hf_quant_config.json",
                 R"({"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}})");
    const auto read = read_model(folder.path().string());
    REQUIRE(read);
    CHECK(read->kv_dtype_hint == "fp8");
    CHECK(per_token(read) == 256);
}

TEST_CASE("spec lines, shape specs and text from a pipe", "[locate]") {
    CHECK(per_token(read_model("61*mla(512,64)")) == 70'272);
    CHECK(per_token(read_model("(2,1024,16,8,128):float16:32")) == 131'072);
    CHECK(per_token(read_model_text("(1,1024,16,1,576):bfloat16:4;(2,1024,16,8,128):uint8:2\n")) ==
          4 * 1152 + 2 * 2048);
    CHECK(per_token(read_model_text(llama)) == 256);
    CHECK(read_model_text("").error->found == "an empty file");
    CHECK(read_shape_spec("(3,1024,16,8,128):float16:32").error->found == "3");
    CHECK(read_shape_spec("(2,1024,16,8,128):float64:32").error->wanted ==
          "float16, bfloat16, float32 or uint8");
    CHECK(read_shape_spec("(2,1024,16,8,128):float16:0").error->found == "0");
    CHECK(read_shape_spec("(2,1024,16,8,128):float16:2;(2,512,16,8,128):float16:2").error->found == "NB 512");
    CHECK(read_shape_spec("(2,1024,16,8,128):float16:600").error->wanted == "at most 512");
    CHECK(read_shape_spec("(2,1024,16,8,128):float16:2x").error->found == "\"x\"");
}

TEST_CASE("cards by the caller's look-up, then nothing", "[locate]") {
    CardSource cards;
    cards.find = [](std::string_view name) {
        return name == "a-tiny-card" ? std::optional{CardSource::Card{llama, "org/Tiny"}} : std::nullopt;
    };
    cards.near = [](std::string_view) { return std::vector<std::string>{"a-tiny-card"}; };
    const auto read = read_model("a-tiny-card", cards);
    CHECK(per_token(read) == 256);
    CHECK(read->name == "org/Tiny");
    const auto none = read_model("org/tinny", cards);
    REQUIRE(none.error);
    CHECK(none.error->hint ==
          "nearest cards: a-tiny-card; to fetch its file: hf download org/tinny config.json");
}

TEST_CASE("the local Hugging Face cache: the ref's snapshot, any case, organisation optional", "[locate]") {
    const Folder folder;
    folder.write("models--Org--Tiny-1B/refs/main", "abc123\n");
    folder.write("models--Org--Tiny-1B/snapshots/abc123/config.json", llama);
    folder.write(
        "models--Org--Tiny-1B/snapshots/old/config.json",
        R"({"model_type": "llama", "num_hidden_layers": 1, "num_attention_heads": 4, "hidden_size": 64})");
    const Variable cache{"HF_HUB_CACHE", folder.path().string()};
    CHECK(per_token(read_model("org/tiny-1b")) == 256);
    CHECK(per_token(read_model("Tiny-1B")) == 256);
    CHECK(per_token(read_model("Org/Tiny-1B@old")) == 1 * 2 * 4 * 16 * 2);
    CHECK(read_model("Org/Tiny").error);
    CHECK(read_model("../Org/Tiny").error);
    // Two snapshots and no ref: neither. One: that one.
    fs::remove(folder.path() / "models--Org--Tiny-1B/refs/main");
    CHECK(read_model("Org/Tiny-1B").error->found ==
          "no file, folder, spec line, model card or cached model of that name");
    fs::remove_all(folder.path() / "models--Org--Tiny-1B/snapshots/old");
    CHECK(per_token(read_model("Org/Tiny-1B")) == 256);
    CHECK(read_model("Org/Tiny-1B")->name == "Org/Tiny-1B");
}

TEST_CASE("GGUF files: by name, alone in a folder, in parts; a projector is no model", "[locate]") {
    const Folder folder;
    const std::string file = tiny_gguf();
    const fs::path alone = folder.write("one/tiny.gguf", file);
    folder.write("one/mmproj-tiny.gguf", file);
    CHECK(per_token(read_model(alone.string())) == 256);
    CHECK(per_token(read_model((folder.path() / "one").string())) == 256);
    CHECK(io::gguf_path((folder.path() / "one").string()) == alone);
    CHECK(io::gguf_path(alone.string()) == alone);
    CHECK(io::gguf_path("61*mla(512,64)").empty());
    CHECK(io::gguf_path((folder.path() / "nothing").string()).empty());

    const fs::path first = folder.write("parts/tiny-00001-of-00002.gguf", file);
    folder.write("parts/tiny-00002-of-00002.gguf", file);
    CHECK(per_token(read_model((folder.path() / "parts").string())) == 256);
    CHECK(io::gguf_path((folder.path() / "parts").string()) == first);

    folder.write("two/a.gguf", file);
    folder.write("two/b.gguf", file);
    const auto several = read_model((folder.path() / "two").string());
    REQUIRE(several.error);
    CHECK(several.error->text() ==
          (folder.path() / "two").string() + ": several GGUF files; wanted one of them by name");
    CHECK(io::gguf_path((folder.path() / "two").string()).empty());
    // A config beside it is the model; the file then holds its weights.
    folder.write("one/config.json", llama);
    CHECK(io::gguf_path((folder.path() / "one").string()).empty());
    const fs::path broken = folder.write("broken.gguf", "GGUF\x09");
    CHECK(read_model(broken.string()).error->where.find(broken.string() + ": ") == 0);
}

TEST_CASE("ollama's models: from the manifest to the file, and what is missing on the way", "[locate]") {
    const Folder folder;
    const Variable models{"OLLAMA_MODELS", folder.path().string()};
    const fs::path blob = folder.write("blobs/sha256-abc", tiny_gguf());
    const auto manifest = [&](const char* name, const std::string& text) {
        return folder.write(fs::path{"manifests/registry.ollama.ai"} / name, text);
    };
    manifest("library/tiny/latest", R"({"layers": [
        {"mediaType": "application/vnd.ollama.image.template", "digest": "sha256:fff"},
        {"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:abc"}]})");
    manifest("me/tiny/8b", R"({"layers": [
        {"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:abc"}]})");
    CHECK(per_token(read_model("ollama:tiny")) == 256);
    CHECK(per_token(read_model("ollama:me/tiny:8b")) == 256);
    CHECK(io::gguf_path("ollama:tiny") == blob);
    CHECK(io::gguf_path("ollama:none").empty());
    const auto none = read_model("ollama:none:7b");
    REQUIRE(none.error);
    CHECK(none.error->where == "ollama:none:7b");
    CHECK(none.error->found == "not among ollama's models");
    CHECK(none.error->wanted ==
          (folder.path() / "manifests/registry.ollama.ai/library/none/7b").string());
    CHECK(read_model("ollama:../../etc").error->found == "no model's name");
    const fs::path empty =
        manifest("library/empty/latest", R"({"layers": [{"mediaType": "text", "digest": "sha256:abc"}]})");
    CHECK(read_model("ollama:empty").error->text() ==
          empty.string() + ": no layer of a model; wanted a layer of type application/vnd.ollama.image.model");
    manifest("library/escape/latest",
             R"({"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:../../x"}]})");
    CHECK(read_model("ollama:escape").error->found == "no layer of a model");
    const fs::path broken = manifest("library/broken/latest", "{");
    CHECK(read_model("ollama:broken").error->where == broken.string() + ": line 1 (byte 1)");
    {
        const Variable unset{"OLLAMA_MODELS", ""};
        const Variable home{"HOME", (folder.path() / "home").string()};
        CHECK(io::ollama_models() == folder.path() / "home/.ollama/models");
    }
}

TEST_CASE("text files: only as large as asked for", "[locate]") {
    const Folder folder;
    const fs::path file = folder.write("text", std::string(2'000'000, 'x'));
    CHECK(read_text_file(file)->size() == 2'000'000);
    const auto large = read_text_file(file, u64{1} << 20);
    REQUIRE(large.error);
    CHECK(large.error->text() == file.string() + ": 2000000 bytes; wanted at most 1 MiB");
    CHECK(read_text_file(folder.path()).error->found == "a folder");
    CHECK(read_text_file(folder.path() / "none").error->trouble == Trouble::unreadable);
}

}  // namespace locate_tests
