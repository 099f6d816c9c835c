// SPDX-License-Identifier: MIT
// Trace files: three formats, and a reason with a line for everything else; the fast scanner says what the loader says.
#include <catch2/catch.hpp>
#include <kvcap/core.hpp>
#include <kvcap/io/trace.hpp>

#include <regex>
#include <sstream>

namespace trace_tests {

using namespace kvcap;

namespace {

Diagnosed<Trace> read(const std::string& text, const TraceOptions& options = {}) {
    std::istringstream in{text};
    return read_trace(in, options);
}

std::string problem(const std::string& text, const TraceOptions& options = {}) {
    const Diagnosed<Trace> got = read(text, options);
    REQUIRE_FALSE(got);
    return got.error->text();
}

const std::string two = "{\"timestamp\": 0, \"input_length\": 700, \"output_length\": 5, \"hash_ids\": [7, 9]}\n"
                        "{\"timestamp\": 27, \"input_length\": 1024, \"output_length\": 5, \"hash_ids\": [7, 11]}\n";

}  // namespace

TEST_CASE("a Mooncake trace") {
    const Diagnosed<Trace> got = read(two);
    REQUIRE(got);
    CHECK(got->block_tokens == 512);
    CHECK(got->distinct == 3);
    CHECK(got->ids == std::vector<u32>{0, 1, 0, 2});
    CHECK(got->tokens() == 1724);
    CHECK(got->requests[1].at == 27);
    CHECK(got.notes[0].text == "mooncake trace, blocks of 512 tokens");
    CHECK(read(two + "\n  \n")->requests.size() == 2);
}

TEST_CASE("a Bailian trace has blocks of 16") {
    const Diagnosed<Trace> got = read(
        "{\"chat_id\": 159, \"parent_chat_id\": -1, \"timestamp\": 61.114, \"input_length\": 33, "
        "\"output_length\": 132, \"type\": \"text\", \"turn\": 1, \"hash_ids\": [1, 2, 3]}\n");
    REQUIRE(got);
    CHECK(got->block_tokens == 16);
    CHECK(got->requests[0].at == 61.114);
}

TEST_CASE("an LMCache trace: whole chunks, hashes as texts or numbers, sorted by time, one model") {
    const std::string text =
        "{\"timestamp\": 2.0, \"model_name\": \"a\", \"chunk_hashes\": [\"0xaa\", \"0xbb\"], \"seq_len\": "
        "600, \"chunk_size\": 256}\n"
        "{\"timestamp\": 1.0, \"model_name\": \"b\", \"chunk_hashes\": [\"0xaa\"], \"seq_len\": 300, "
        "\"chunk_size\": 256, "
        "\"shapes\": [[32, 256, 128]], \"dtypes\": [\"float16\"]}\n";
    const Diagnosed<Trace> got = read(text);
    REQUIRE(got);
    CHECK(got->block_tokens == 256);
    CHECK(got->requests[0].tokens == 300);
    CHECK(got->path(got->requests[0])[0] != got->path(got->requests[1])[0]);  // another model's
    CHECK(got->distinct == 3);
    CHECK(got.notes.size() == 3);
    const std::string same = std::regex_replace(text, std::regex{"\"b\""}, "\"a\"");
    CHECK(read(same)->distinct == 2);
    const std::string numbers =
        R"({"timestamp": 1, "model_name": "M", "chunk_hashes": [5], "seq_len": 4, "chunk_size": 4})";
    CHECK(read(numbers + '\n' + std::regex_replace(numbers, std::regex{"M"}, "N") + '\n' + numbers)->distinct == 2);
    CHECK(read(text, {.format = TraceFormat::any, .block_tokens = 0, .model = "b"})->requests.size() == 1);
    CHECK(read("{\"timestamp\": 1, \"chunk_hashes\": [5, 6], \"seq_len\": 8, \"chunk_size\": 4}")->distinct == 2);
}

TEST_CASE("what is wrong, where, and what was wanted") {
    CHECK(problem("") == "a trace without requests; wanted one request a line");
    CHECK(problem("\n\n").find("without requests") != std::string::npos);
    CHECK(problem(two + "nonsense").find("line 3 (byte ") == 0);  // the place is said once
    CHECK(problem("# no trace").find("line 1 (byte 0): ") == 0);
    CHECK(problem(two + "[1]") == "line 3: a list of 1; wanted an object a line");
    CHECK(problem("{\"timestamp\": 0, \"hash_ids\": [1]}") ==
          "line 1: /input_length: nothing; wanted a number of tokens");
    CHECK(problem("{\"timestamp\": 0, \"input_length\": -4, \"hash_ids\": [1]}") ==
          "line 1: /input_length: -4; wanted a number of tokens");
    CHECK(problem("{\"timestamp\": 0, \"input_length\": 4, \"hash_ids\": [-1]}") ==
          "line 1: /hash_ids/0: -1; wanted a whole number");
    CHECK(problem("{\"timestamp\": 0, \"input_length\": 4, \"hash_ids\": [1.5]}")
              .find("line 1: /hash_ids/0: 1.5") == 0);
    CHECK(problem("{\"timestamp\": 0, \"input_length\": 4}") ==
          "line 1: /hash_ids: nothing; wanted a list of block ids");
    CHECK(problem("{\"timestamp\": 0, \"input_length\": 4, \"input_length\": 4, \"hash_ids\": [1]}").find("twice") !=
          std::string::npos);
    CHECK(problem("{\"timestamp\": 0, \"input_length\": 1025, \"hash_ids\": [1, 2]}") ==
          "line 1: /hash_ids: 2 ids; wanted 3, one for each 512 of 1025 tokens (set the block size if it is another)");
    CHECK(read("{\"timestamp\": 0, \"input_length\": 1025, \"hash_ids\": [1, 2]}",
               {.format = TraceFormat::any, .block_tokens = 1024, .model = {}})->block_tokens == 1024);
    CHECK(problem(two + "{\"timestamp\": 1, \"chunk_hashes\": [], \"seq_len\": 0, \"chunk_size\": 256}") ==
          "line 3: a line of a lmcache trace; wanted a mooncake trace, as before");
    CHECK(problem("{\"timestamp\": 1, \"chunk_hashes\": [], \"seq_len\": 0, \"chunk_size\": 256}\n"
                  "{\"timestamp\": 1, \"chunk_hashes\": [], \"seq_len\": 0, \"chunk_size\": 128}") ==
          "line 2: /chunk_size: 128; wanted 256, as before");
    CHECK(problem("{\"timestamp\": 1, \"chunk_hashes\": [\"a\", 2], \"seq_len\": 512, \"chunk_size\": 256}")
              .find("line 1: /chunk_hashes/1: 2") == 0);
    CHECK(problem("{\"timestamp\": 1, \"chunk_hashes\": [], \"seq_len\": 0}") ==
          "line 1: /chunk_size: nothing; wanted the tokens of a chunk");
    CHECK(problem("{\"timestamp\": \"x\", \"input_length\": 0, \"hash_ids\": []}").find("/timestamp") !=
          std::string::npos);
    CHECK(read_trace_file("/nonexistent/trace.jsonl").error->trouble == Trouble::unreadable);
}

TEST_CASE("the scanner takes only what the loader reads alike") {
    const std::vector<std::string> lines = {
        "{\"timestamp\": 0, \"input_length\": 6758, \"output_length\": 500, \"hash_ids\": [0, 1]}",
        "{\"hash_ids\":[18446744073709551615],\"timestamp\":1.25,\"input_length\":1}",
        "{\"hash_ids\":[9999999999999999999],\"timestamp\":1.25,\"input_length\":1}",
        "{\"timestamp\": 1e3, \"input_length\": 1, \"hash_ids\": [1]}",
        "{\"timestamp\": 01, \"input_length\": 1, \"hash_ids\": [1]}",
        "{\"timestamp\": 0, \"input_length\": 007, \"hash_ids\": [1]}",
        "{\"timestamp\": 0, \"input_length\": 1.0, \"hash_ids\": [1]}",
        "{\"timestamp\": 0, \"input_length\": 1, \"hash_ids\": [1,]}",
        "{\"timestamp\": 0, \"input_length\": 1, \"hash_ids\": [1]},",
        "{\"timestamp\": 0, \"input_length\": 1, \"hash_ids\": [1]",
        "{\"timestamp\": 0, \"input_length\": 1, \"hash_ids\": []}",
        "{\"timestamp\": 0, \"input_length\": 1, \"hash_ids\": [1], \"hash_ids\": [2]}",
        "{\"timestamp\": 0, \"input_length\": 1, \"hash_ids\": [1], \"type\": \"te\\\"xt\"}",
        "{\"timestamp\": 0, \"input_length\": 1, \"hash_ids\": [1], \"turn\": -3}",
        "{\"timestamp\": 0, \"input_length\": 1, \"hash_ids\": [1], \"turn\": --3}",
        "{\"timestamp\": 0, \"input_length\": 1, \"hash_ids\": [1], \"extra\": {\"deep\": [1]}}",
        "{\"timestamp\": 1., \"input_length\": 1, \"hash_ids\": [1]}",
        "{\"timestamp\": .5, \"input_length\": 1, \"hash_ids\": [1]}",
        "{\"timestamp\": 0.12345678901234567, \"input_length\": 1, \"hash_ids\": [1]}",
    };
    u32 taken = 0;
    for (const std::string& text : lines) {
        INFO(text);
        TraceLine fast;
        TraceLine slow;
        if (io::FlatScanner{text}.mooncake(fast)) {
            ++taken;
            REQUIRE_FALSE(io::read_trace_line(text, slow));
            CHECK(fast.at == slow.at);
            CHECK(fast.tokens == slow.tokens);
            CHECK(fast.ids == slow.ids);
            CHECK(fast.format == slow.format);
        }
    }
    CHECK(taken >= 4);
}

}  // namespace trace_tests
