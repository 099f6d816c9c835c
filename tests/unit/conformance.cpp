// SPDX-License-Identifier: MIT
// The conformance cases are what their schema and their page say.
#include "json_schema.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <sstream>

namespace conformance_tests {

using nlohmann::json;

namespace {

const std::filesystem::path folder{KVCAP_SOURCE_DIR "/tests/conformance"};

std::string text_of(const std::string& name) {
    std::ifstream file{folder / name, std::ios::binary};
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

json read(const std::string& name) {
    return json::parse(text_of(name));
}

std::string grouped(std::size_t number) {
    const std::string digits = std::to_string(number);
    return number < 1000 ? digits : digits.substr(0, digits.size() - 3) + ',' + digits.substr(digits.size() - 3);
}

const char* const names[] = {"cards", "layers", "presence", "plan"};

}  // namespace

TEST_CASE("conformance: every file is what the schema says, and its page counts its cases") {
    const json schema = read("schema.json");
    const std::string page = text_of("README.md");
    std::size_t all = 0;
    std::map<std::string, std::size_t> ids;
    for (const std::string name : names) {
        const json file = read(name + ".json");
        INFO(name);
        CHECK(schemas::violation(file, schema, schema) == "");
        const std::size_t count = file.at("cases").size();
        const std::size_t row = page.find("| `" + name + ".json` |");
        REQUIRE(row != std::string::npos);
        CHECK(page.substr(row, page.find('\n', row) - row).find("| " + grouped(count) + " |") != std::string::npos);
        all += count;
        for (const json& one : file.at("cases")) {
            CHECK(++ids[one.at("id")] == 1);
        }
    }
    CHECK(page.find("\n" + grouped(all) + " questions in JSON") != std::string::npos);
}

TEST_CASE("conformance: the schema refuses what is no case") {
    const json schema = read("schema.json");
    const json good = read("cards.json");
    const auto wrong = [&](const char* where, const json& value) {
        json bad = good;
        bad[json::json_pointer{where}] = value;
        INFO(where << " " << value);
        CHECK(schemas::violation(bad, schema, schema) != "");
    };
    wrong("/schema", "kv-conformance/2");
    wrong("/cases/0/unknown", 1);
    wrong("/cases/0/kind", "guess");
    wrong("/cases/0/source", "measured");
    wrong("/cases/0/tokens", -1);
    wrong("/cases/0/tokens", "1");
    wrong("/cases/0/sequences", 0);
    wrong("/cases/0/cp", 0);
    wrong("/cases/0/want", json::object());
    wrong("/cases/0/engine", "other");
    wrong("/cases/0/formats/kv", "bf15");
    wrong("/cases/0/formats/more", "bf16");
    wrong("/cases/0/groups", json::array({json{{"name", "a"}, {"needs", "everything"}, {"page_tokens", 1},
                                               {"bytes_per_page", 1}, {"present", "012"}}}));
    wrong("/models/gpt2/layers/0/at/0", json::array({0, 1, 2}));
    wrong("/models/gpt2/layers/0/caches/0/keep", "some");
    wrong("/models/gpt2/hf_id", nullptr);
    json without = good;
    without["cases"][0].erase("want");
    CHECK(schemas::violation(without, schema, schema) != "");
    json strange = schema;
    strange["$defs"]["case"]["oneOf"] = json::array();
    CHECK(schemas::violation(good, strange, strange).find("oneOf") != std::string::npos);
}

}  // namespace conformance_tests
