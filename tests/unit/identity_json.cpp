// SPDX-License-Identifier: MIT
// Identities as JSON: stated, none and unstated stay three things; what is unknown is refused with the nearest name.
#include <catch2/catch.hpp>
#include <kvcap/core.hpp>
#include <kvcap/io/identity_folder.hpp>
#include <kvcap/io/identity_json.hpp>

namespace identity_json_tests {

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

TEST_CASE("an answer of kvcap identity is an identity") {
    const Diagnosed<OwnedIdentity> read =
        read_identity(R"x({"schema": "kvcap.identity.answer/1", "complete": false, "facts": {"tp": "8"}})x");
    REQUIRE(read);
    CHECK(read->format.tp == 8);
    CHECK(problem(R"x({"schema": "kvcap.identity.answer/1", "complete": false})x") ==
          "/facts: nothing; wanted an object with the facts of an identity");
}

TEST_CASE("what is wrong with an identity's JSON") {
    CHECK(problem("[]") == "a list of 0; wanted an object with the facts of an identity");
    CHECK(problem(R"x({"modle": "x"})x") == "/modle: an unknown fact; wanted one of an identity (did you mean model?)");
    CHECK(problem(R"x({"tp": "eight"})x") == "/tp: \"eight\"; wanted a whole number");
    CHECK(problem(R"x({"model": 5})x") == "/model: 5; wanted a text, a whole number, or null");
    CHECK(problem(R"x({"tp": -1})x") == "/tp: -1; wanted a text, a whole number, or null");
    CHECK(problem(R"x({"content": {"parent": "xyz"}})x").find("/content/parent: \"xyz\"; wanted a digest") == 0);
    CHECK(problem(R"x({"content": {"tokens": [1, -2]}})x") == "/content/tokens/1: -2; wanted a token id");
    CHECK(problem(R"x({"content": {"sallt": null}})x").find("did you mean salt?") != std::string::npos);
    CHECK(problem(R"x({"content": {"media": [{"hash": 3}]}})x").find("/content/media/0") == 0);
    CHECK(problem(R"x({"caches": "61*mlaa(512)"})x").find("/caches: ") == 0);
    CHECK(problem(R"x({"model": "a", "model": "b"})x").find("the same key twice") != std::string::npos);
}

TEST_CASE("the folder of a run") {
    const auto digest = [](std::string_view bytes) { return std::string{bytes}; };
    const Diagnosed<RunConfig> run = read_run_config(
        "{\"tp_size\": 1, \"pp_size\": 1, \"pcp_size\": 1, \"dcp_size\": 1, \"kv_cache_groups\": [], "
        "\"model_name\": \"org/mod\xc3\xa9l\x7f\", \"dtype\": \"fp8\"}");
    REQUIRE(run);
    CHECK(run->canonical == "{\"dcp_size\":1,\"dtype\":\"fp8\",\"kv_cache_groups\":[],\"model_name\":"
                            "\"org/mod\\u00e9l\\u007f\",\"pcp_size\":1,\"pp_size\":1,\"tp_size\":1}");
    CHECK(run_folder(*run, digest) == "org_mod\xc3\xa9l\x7f_" + hex(run->canonical).substr(0, 12));
    FormatIdentity id{};
    id.model = std::string_view{run->model};
    id.tp = 4u, id.tp_rank = 3u, id.pp = 2u, id.pp_rank = 1u, id.pcp = 1u, id.pcp_rank = 0u, id.dcp = 1u, id.group = 0u;
    CHECK(run->agnostic);
    CHECK_FALSE(disagreement(*run, id));
    CHECK(run_file(*run, id, "\x12\x34\x56", digest).find("_r0/123/45_g0/123456.bin") != std::string::npos);
    const Diagnosed<RunConfig> dealt = read_run_config(
        "{\"tp_size\": 4, \"pp_size\": 2, \"pcp_size\": 1, \"dcp_size\": 1, \"kv_cache_groups\": [], "
        "\"model_name\": \"m\", \"parallel_agnostic\": false}");
    CHECK(disagreement(*dealt, id) == Refusal{Field::model, WhyRefused::malformed});
    id.model = "m";
    CHECK_FALSE(disagreement(*dealt, id));
    CHECK(run_file(*dealt, id, "\x12\x34\x56", digest).find("_r7/") != std::string::npos);
    id.pp = 1u;
    CHECK(disagreement(*dealt, id) == Refusal{Field::pp, WhyRefused::malformed});
    CHECK(read_run_config("[]").error->wanted == "an object with the fields of a run");
    CHECK(read_run_config("{}").error->where == "model_name");
    CHECK(read_run_config("{\"model_name\": \"m\", \"kv_cache_groups\": []}").error->where == "tp_size");
    CHECK(read_run_config("{\"model_name\": \"m\", \"model_name\": \"n\"}").error);
}

TEST_CASE("hex reads back what it wrote") {
    for (const std::string& bytes : {std::string{"\0\x01\xfe", 3}, std::string(32, '\xaa')}) {
        CHECK(io::bytes_of_hex(hex(bytes)) == bytes);
    }
    CHECK_FALSE(io::bytes_of_hex(""));
    CHECK_FALSE(io::bytes_of_hex("0"));
    CHECK_FALSE(io::bytes_of_hex("AB"));
}

TEST_CASE("each refusal of an identity has its sentence") {
    const std::pair<WhyRefused, const char*> all[] = {
        {WhyRefused::fine, "salt is fine"},
        {WhyRefused::unstated, "salt is not stated; say its value, or that there is none"},
        {WhyRefused::not_none, "salt cannot be none"},
        {WhyRefused::empty, "salt is empty"},
        {WhyRefused::both_or_neither, "salt and its partner must both be values or both be none"},
        {WhyRefused::rank_out_of_range, "salt is no rank of its size"},
        {WhyRefused::not_a_multiple, "salt is no multiple of the unit inside it"},
        {WhyRefused::malformed, "salt is malformed"},
        {WhyRefused::truncated, "salt: bytes are missing"},
        {WhyRefused::trailing, "bytes are left over"},
        {WhyRefused::unknown_version, "another version of the encoding"},
        {WhyRefused::separator, "salt contains this key's separator"},
        {WhyRefused::cannot_fold, "the bytes differ between tensor-parallel ranks"}};
    for (const auto& [why, words] : all) {
        CHECK(words_of({Field::salt, why}) == words);
    }
    CHECK(problem(R"({"schema": "kvcap.identity/1", "content": {"adapter": 7}})").find("content/adapter: 7") !=
          std::string::npos);
}

}  // namespace identity_json_tests
