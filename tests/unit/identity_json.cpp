// SPDX-License-Identifier: MIT
// Identities as JSON: stated, none and unstated stay three things; what is unknown is refused with the nearest name.
#include <catch2/catch.hpp>
#include <kvcap/core.hpp>
#include <kvcap/io/identity_json.hpp>

using namespace kvcap;

namespace {

std::string problem(std::string_view json) {
    const Diagnosed<OwnedIdentity> got = read_identity(json);
    REQUIRE_FALSE(got);
    return got.error->text();
}

}  // namespace

TEST_CASE("an identity from JSON") {
    Diagnosed<OwnedIdentity> read = read_identity(R"x({
        "schema": "kvcap.identity/1", "model": "m@1", "kv_dtype": "fp8_e4m3", "rope": null, "tp": 8, "tp_rank": 3,
        "caches": "61*mla(512,64)",
        "content": {"parent": "00ff", "tokens": [1, 2, 70000], "adapter": "sql", "adapter_version": "7", "salt": null,
                    "media": [{"hash": "cat", "at": 1, "length": 2}]}})x");
    REQUIRE(read);
    const OwnedIdentity moved = std::move(*read);
    const FormatIdentity& id = moved.format;
    CHECK(id.model == StatedText{"m@1"});
    CHECK(id.kv_dtype == StatedText{"fp8_e4m3"});
    CHECK(id.rope == StatedText{stated_none});
    CHECK(id.weights_revision.said == Said::nothing);
    CHECK(id.tp_rank == StatedNumber{3u});
    CHECK(bytes_per_token(id.caches.value).value() == 70'272_B);
    REQUIRE(moved.has_chunk);
    CHECK(moved.chunk.parent == StatedText{std::string_view{"\0\xff", 2}});
    CHECK(moved.chunk.tokens[2] == 70000);
    CHECK(moved.chunk.adapter_version == StatedText{"7"});
    CHECK(moved.chunk.salt == StatedText{stated_none});
    CHECK(moved.chunk.user_key.said == Said::nothing);
    CHECK(moved.chunk.media[0] == MediaRun{"cat", 1, 2, 0});
    CHECK(words_of(refusal_of(id)) == "weights_revision is not stated; say its value, or that there is none");
}

TEST_CASE("what is wrong with an identity's JSON") {
    CHECK(problem("[]") == "a list of 0; wanted an object with the facts of an identity");
    CHECK(problem(R"x({"modle": "x"})x") == "modle: an unknown fact; wanted one of an identity (did you mean model?)");
    CHECK(problem(R"x({"tp": "eight"})x") == "tp: \"eight\"; wanted a whole number");
    CHECK(problem(R"x({"model": 5})x") == "model: 5; wanted a text, a whole number, or null");
    CHECK(problem(R"x({"tp": -1})x") == "tp: -1; wanted a text, a whole number, or null");
    CHECK(problem(R"x({"content": {"parent": "xyz"}})x").find("content/parent: \"xyz\"; wanted a digest") == 0);
    CHECK(problem(R"x({"content": {"tokens": [1, -2]}})x") == "content/tokens/1: -2; wanted a token id");
    CHECK(problem(R"x({"content": {"sallt": null}})x").find("did you mean salt?") != std::string::npos);
    CHECK(problem(R"x({"content": {"media": [{"hash": 3}]}})x").find("content/media/0") == 0);
    CHECK(problem(R"x({"caches": "61*mlaa(512)"})x").find("caches: ") == 0);
    CHECK(problem(R"x({"model": "a", "model": "b"})x").find("the same key twice") != std::string::npos);
}

TEST_CASE("hex reads back what it wrote") {
    for (const std::string& bytes : {std::string{"\0\x01\xfe", 3}, std::string(32, '\xaa')}) {
        CHECK(io::bytes_of_hex(hex(bytes)) == bytes);
    }
    CHECK_FALSE(io::bytes_of_hex(""));
    CHECK_FALSE(io::bytes_of_hex("0"));
    CHECK_FALSE(io::bytes_of_hex("AB"));
}
