// SPDX-License-Identifier: MIT
// A MODEL argument: file, folder, spec line, shape spec, card, local Hugging Face cache; and what is refused
// how.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <kvcap/io/locate.hpp>
#include <unistd.h>

using namespace kvcap;
namespace fs = std::filesystem;

namespace {

constexpr const char* llama = R"({"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "hidden_size": 64})";

/// A folder of its own, removed at the end.
class Folder {
public:
    Folder()
        : at_{fs::temp_directory_path() /
              ("kvcap-locate-" + std::to_string(::getpid()) + "-" + std::to_string(++count_))} {
        fs::create_directories(at_);
    }
    ~Folder() { fs::remove_all(at_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    fs::path write(const fs::path& name, std::string_view text) const {
        fs::create_directories((at_ / name).parent_path());
        std::ofstream{at_ / name, std::ios::binary} << text;
        return at_ / name;
    }
    const fs::path& path() const { return at_; }

private:
    static inline int count_ = 0;
    fs::path at_;
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
    const char* before = std::getenv("HF_HUB_CACHE");
    const std::string saved = before == nullptr ? "" : before;
    setenv("HF_HUB_CACHE", folder.path().c_str(), 1);
    CHECK(per_token(read_model("org/tiny-1b")) == 256);
    CHECK(per_token(read_model("Tiny-1B")) == 256);
    CHECK(per_token(read_model("Org/Tiny-1B@old")) == 1 * 2 * 4 * 16 * 2);
    CHECK(read_model("Org/Tiny").error);
    CHECK(read_model("../Org/Tiny").error);
    before == nullptr ? unsetenv("HF_HUB_CACHE") : setenv("HF_HUB_CACHE", saved.c_str(), 1);
}
