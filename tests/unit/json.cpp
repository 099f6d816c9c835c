// SPDX-License-Identifier: MIT
// Safe loading: limits, duplicates, encodings, Python's special numbers, and look-ups that chain.
#include <catch2/catch.hpp>
#include <kvcap/io/json_load.hpp>

namespace json_tests {

using namespace kvcap;

namespace {

Problem problem_of(std::string_view text) {
    const Diagnosed<JsonDocument> read = load_json(text);
    REQUIRE(read.error.has_value());
    return *read.error;
}

std::string nested(int levels) {
    return "{\"a\":" + std::string(static_cast<std::size_t>(levels) - 1, '[') +
           std::string(static_cast<std::size_t>(levels) - 1, ']') + "}";
}

}  // namespace

TEST_CASE("a tree answers look-ups, present or not", "[json]") {
    const Diagnosed<JsonDocument> read = load_json(
        R"({"a": 7, "b": {"c": [1, 2.5, -3, true, null, "x\"y"]}, "d": null, "e": 2.0, "f": 18446744073709551615})");
    REQUIRE(read);
    const JsonValue root = root_of(*read);
    CHECK(root["a"].whole() == 7);
    CHECK(root["b"]["c"].size() == 6);
    CHECK(root["d"].is_null());
    CHECK_FALSE(root["d"].given());
    CHECK_FALSE(root["z"].present());
    CHECK_FALSE(root["z"]["y"]["x"].present());
    CHECK(root["e"].is_whole());
    CHECK(root["f"].whole() == ~u64{0});
    std::string shown;
    root["b"]["c"].each([&](u32, std::string_view, JsonValue item) { shown += item.shown() + "|"; });
    CHECK(shown == "1|2.5|-3|true|null|\"x\"y\"|");
}

TEST_CASE("numbers are shown as whole where they are, and never as 0 where they are not", "[json]") {
    const Diagnosed<JsonDocument> read =
        load_json("[18446744073709551616, -18446744073709551616, 0.25, 10.5, 1e-9, -1e-9, 0.0, 1e300]");
    REQUIRE(read);
    std::string shown;
    root_of(*read).each([&](u32, std::string_view, JsonValue item) { shown += item.shown() + "|"; });
    CHECK(shown == "18446744073709551616|-18446744073709551616|0.25|10.5|a number below 0.000001|"
                   "a number above -0.000001|0|a number beyond any size|");
}

TEST_CASE("bare NaN and Infinity become words, inside strings they stay", "[json]") {
    const Diagnosed<JsonDocument> read =
        load_json(R"({"a": [0.0, Infinity], "b": NaN, "c": -Infinity, "d": "NaN"})");
    REQUIRE(read);
    CHECK(root_of(*read)["a"].size() == 2);
    CHECK(root_of(*read)["b"].text() == "NaN");
    CHECK(root_of(*read)["c"].text() == "-Infinity");
    CHECK(root_of(*read)["d"].text() == "NaN");
    CHECK(problem_of("{\"a\": Nope}").trouble == Trouble::invalid);
}

TEST_CASE("what is no JSON text is refused by name", "[json]") {
    CHECK(problem_of("").found == "an empty file");
    CHECK(problem_of(" \n").found == "an empty file");
    CHECK(problem_of(std::string_view{"\xff\xfe{\0}\0", 6}).found == "UTF-16 text");
    CHECK(problem_of(std::string_view{"{\0\"\0", 4}).found == "UTF-16 or binary data");
    CHECK(problem_of("GGUF....").found == "a GGUF file");
    CHECK(problem_of("\x7f" "ELF\x01\x01").found == "binary data");
    CHECK(problem_of("{\"a\": 1,}").trouble == Trouble::invalid);
    CHECK(problem_of("{\"a\": [1, 2\n").where == "line 2 (byte 12)");
    CHECK(problem_of("{\"a\": 1} trailing").trouble == Trouble::invalid);
    CHECK(problem_of("{\"a\": 1e999}").found.find("number overflow") == 0);
    CHECK(problem_of("{\"\xc3\x28\": 1}").trouble == Trouble::invalid);
}

TEST_CASE("keys given twice are refused with their pointer", "[json]") {
    CHECK(problem_of(R"({"a": 1, "b": 2, "a": 3})").where == "/a");
    CHECK(problem_of(R"({"x": {"y": {"k": 1, "k": 1}}})").where == "/x/y/k");
    CHECK(problem_of(R"({"x": [[], [0, {"k": 1}, {"k": 1, "k": 1}]]})").where == "/x/1/2/k");
    CHECK(problem_of(R"([{"k": 1}, {"k": 1, "k": 1}])").where == "/1/k");
    CHECK(load_json(R"({"a": {"k": 1}, "b": {"k": 1}})"));
}

TEST_CASE("limits hold while reading", "[json]") {
    CHECK(load_json(nested(64)));
    CHECK(problem_of(nested(65)).found == "more than 64 levels of nesting");
    CHECK(problem_of(nested(2'000'000)).trouble == Trouble::unreadable);
    CHECK(problem_of("\"" + std::string(2'000'000, 'a') + "\"").found == "a string of over 1 MiB");
    CHECK(problem_of(std::string((16u << 20) + 1, ' ')).wanted == "at most 16 MiB");
    std::string many = "[0";
    for (int i = 0; i < 300'000; ++i) {
        many += ",0";
    }
    CHECK(problem_of(many + "]").found == "more than 262144 values");
}

}  // namespace json_tests
