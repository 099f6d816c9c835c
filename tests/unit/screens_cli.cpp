// SPDX-License-Identifier: MIT
// Rows of a screen that only some models and splits have: stages and ranks that are not alike, layers that
// read another's cache, copies of heads, goals of advice, facts of a log that are lists; files beside a
// model, refused.
#include "program.hpp"

#include <nlohmann/json.hpp>

namespace screens_cli_tests {

using namespace program;
using nlohmann::json;

namespace {

std::string screen(const std::string& arguments) {
    const Ran ran = run(arguments);
    CAPTURE(arguments, ran.err);
    CHECK(ran.code == 0);
    CHECK(widest(ran.out) <= 80);
    return ran.out;
}

json json_of(const std::string& arguments, const std::string& input = {}) {
    const Ran ran = run(arguments + " --json", {}, input);
    CAPTURE(arguments, ran.err);
    CHECK(ran.code == 0);
    return json::parse(ran.out);
}

bool has(const std::string& text, const std::string& line) {
    CAPTURE(text, line);
    return text.find(line) != std::string::npos;
}

}  // namespace

TEST_CASE("size: stages that hold alike are one row, ranks that do not are the fullest and the emptiest",
          "[cli]") {
    if (!known()) {
        return;
    }
    const std::string staged =
        screen("size deepseek-v3 --pp 4 --tokens 32k");  // 16, 15, 15, 15 layers of 1,152 B
    CHECK(has(staged, "  stage 0, each rank      18,432 B      0.562 GiB    603,979,776 B\n"));
    CHECK(has(staged, "  stages 1-3, each rank   17,280 B      0.527 GiB    566,231,040 B\n"));
    CHECK(has(staged, "  all 4 ranks             70,272 B      2.145 GiB  2,302,672,896 B\n"));
    const std::string dealt = screen("size llama-3.1-8b --cp 3 --tokens 1000");  // 334, 333 and 333 tokens
    CHECK(has(dealt, "  fullest rank    43,690 B     0.041 GiB   43,778,048 B\n"));
    CHECK(has(dealt, "  emptiest rank   43,690 B     0.041 GiB   43,646,976 B\n"));
    CHECK(has(dealt, "  all 3 ranks    131,072 B     0.122 GiB  131,072,000 B\n"));
    const std::string both = screen("size llama-3.1-8b --cp 3 --pp 2 --tokens 1000");
    CHECK(has(both, "  stage 0, fullest rank    21,845 B     0.020 GiB   21,889,024 B\n"));
    CHECK(has(both, "  stage 1, emptiest rank   21,845 B     0.020 GiB   21,823,488 B\n"));
    const std::string lengths = screen("size llama-3.1-8b --tp 2 --tokens 1k,2k,3k,4k,5k,6k");
    CHECK(has(lengths, "  tokens  fullest rank        exactly      all ranks         unique\n"));
    CHECK(has(lengths, "   6,144     0.375 GiB  402,653,184 B  805,306,368 B  805,306,368 B\n"));
}

TEST_CASE("size: layers that read another's cache keep nothing, and say whose", "[cli]") {
    if (!known()) {
        return;
    }
    const std::string layers = screen("size gemma-3n-e2b --per-layer --tokens 8k");
    CHECK(has(layers, "       8  nothing: reads layer 18\n"));
    CHECK(has(layers, "       2  nothing: reads layer 19\n"));
    CHECK(has(layers, "  shared: layers 24, 29\n"));
    const json read = json_of("size gemma-3n-e2b --per-layer --tokens 8k");
    CHECK(read["layers"][20]["shares_with"] == 18);
    CHECK(read["layers"][29]["shares_with"] == 19);
    CHECK(read["layers"][29]["held_bytes"] == 0);
    CHECK_FALSE(read["layers"][19].contains("shares_with"));
    CHECK(has(screen("size '1*none + gqa(8,128)' --per-layer"), "       1  nothing\n"));
    CHECK(has(screen("show '4*budget(512, gqa(8,128))'"), "512"));
    CHECK(json_of("size '4*budget(512, gqa(8,128))'")["groups"][0]["kind"] == "budgeted");
}

TEST_CASE("size: heads and channels dealt and copied, as arithmetic", "[cli]") {
    if (!known()) {
        return;
    }
    const std::string split = screen("size qwen3-next-80b-a3b --tp 16 --explain --tokens 1k");
    CHECK(has(split, "  TP 16: 8,192 heads or channels / 16 = 512 on each rank\n"));
    CHECK(has(split, "  TP 16: 2 heads for 16 ranks: 1 on each rank, some copied\n"));
    CHECK(has(split, "  K, V 2 x 256                           12   24,576 B     0.023 GiB       8\n"));
    CHECK(has(screen("size llama-3.1-8b --tp 2 --explain --tokens 1k"),
              "  TP 2: 8 heads / 2 = 4 on each rank\n"));
}

TEST_CASE("advise: more ranks, by every goal, in its own unit", "[cli][advise]") {
    if (!known()) {
        return;
    }
    const std::string load =
        "advise llama-3.1-70b --gpu h100 --tp 4 --gpus 16 --tokens 32k --batch 8 --goal ";
    const std::pair<const char*, const char*> goals[] = {{"memory", "weights + KV"},
                                                         {"latency", "step >="},
                                                         {"ttft", "prompt >="},
                                                         {"throughput", "tokens <="}};
    for (const auto& [goal, heading] : goals) {
        const std::string advice = screen(load + goal);
        CHECK(has(advice, heading));
        CHECK(has(advice, "TP 8 "));
        const json read = json_of(load + goal);
        CHECK(read["goal"] == goal);
        const json* more = nullptr;
        for (const json& choice : read["choices"]) {
            more = choice["technique"] == "more_tp" ? &choice : more;
        }
        REQUIRE(more != nullptr);
        CHECK((*more)["size"] == 8);
        CHECK((*more)["risk_words"] ==
              "none for the outputs; latents and few heads are copied, links are shared");
        CHECK((*more)["memory_bytes"] < read["as_asked"]["memory_bytes"]);
        CHECK((*more)["step_seconds"] < read["as_asked"]["step_seconds"]);
    }
    CHECK(has(screen(load + "memory"),
              "verify: kvcap fit --tp N; then measure a step: all-reduces are not in the\n"));
}

TEST_CASE("roofline: without weights, and without a cache", "[cli][roofline]") {
    if (!known()) {
        return;
    }
    CHECK(has(screen("roofline '32*gqa(8,128) + heads(32)' --gpu h100 --tokens 8k"),
              "weights are not known (--weights-bytes): only the cache is counted\n"));
    const std::string empty =
        screen("roofline '4*none + heads(8)' --gpu h100 --weights-bytes 1GB --tokens 1");
    CHECK(has(empty, "the cache reads nothing\n"));
    CHECK(json_of("roofline '4*none + heads(8)' --gpu h100 --weights-bytes 1GB --tokens 1")["step"]
                                                                                           ["cache_bytes"] ==
          0);
}

TEST_CASE("doctor: lists, records and checks as JSON", "[cli][log]") {
    if (!known()) {
        return;
    }
    const json windows = json_of("doctor -",
                                 "KV Cache is allocated. #tokens: 500, K size: 5.72 GB, V size: 5.72 GB\n"
                                 "KV Cache is allocated. #tokens: 600, K size: 5.72 GB, V size: 5.72 GB\n"
                                 "SWAKVPool mem usage: 22.89 GB, swa size: 500, full size: 600\n");
    const json& pools = windows["engines"][0]["facts"]["pools"];
    REQUIRE(pools.size() == 2);
    CHECK(pools[0]["kind"] == "window");
    CHECK(pools[1]["tokens"] == 600);
    CHECK(pools[1]["k_size_gb"] == "5.72");
    const json ranks =
        json_of("doctor -",
                "[2025-10-16 09:30:21 TP0] KV Cache is allocated. #tokens: 800, KV size: 1.00 GB\n"
                "[2025-10-16 09:30:21 TP1] KV Cache is allocated. #tokens: 900, KV size: 1.00 GB\n");
    CHECK(ranks["engines"][0]["facts"]["allocated_tokens_by_rank"] == json{{"TP0", 800}, {"TP1", 900}});
    const json checked =
        json_of("doctor -",
                "DSV4 memory calculation: bytes_per_full_token=16384.00, available_bytes=1.00 GB, "
                "c128_state_fixed=0.10 GB, full_token=65536\n");
    const json& check = checked["engines"][0]["checks"][0];
    CHECK(check["what"] == "tokens are the pool by bytes a token, in whole pages");
    CHECK(check["printed"] == 65536);
    CHECK(check["agrees"] == true);
    CHECK(check["low"] < 65536);
    CHECK(check["high"] > 65536);
}

TEST_CASE("advise: similarity tables that are none", "[cli][advise]") {
    if (!known()) {
        return;
    }
    const std::string path = (std::filesystem::temp_directory_path() /
                              ("kvcap-similarity-" + std::to_string(::getpid()) + ".json"))
                                 .string();
    const auto refusal = [&](const std::string& text) {
        std::ofstream{path} << text;
        const Ran ran = run("advise llama-3-8b --gpu h100 --similarity " + path);
        std::filesystem::remove(path);
        CHECK(ran.code != 0);
        CHECK(ran.out.empty());
        CHECK(has(ran.err, path + ": "));
        return ran.err.substr(ran.err.find(path) + path.size() + 2);
    };
    const std::string head = R"({"schema": "kvcap.similarity/1", "dtype": "bf16", "kind": "attention", )";
    CHECK(has(refusal("["), "line 1 (byte 1): syntax error"));
    CHECK(refusal(R"({"schema": "kvcap.identity/1"})") ==
          "/schema: \"kvcap.identity/1\"; wanted \"kvcap.similarity/1\"\n");
    CHECK(has(refusal(R"({"schema": "kvcap.similarity/1", "dtype": "bf61"})"),
              "/dtype: \"bf61\"; wanted one of auto, bf16"));
    CHECK(refusal(R"({"schema": "kvcap.similarity/1", "dtype": "bf16", "kind": "mla"})") ==
          "/kind: \"mla\"; wanted \"attention\" or \"latent\"\n");
    CHECK(refusal(head + R"("similarity": []})") ==
          "/similarity: a list of 0; wanted a list with one number for each layer, at most 256, the first "
          "null\n");
    CHECK(refusal(head + R"("similarity": [null, 1.5]})") ==
          "/similarity/1: 1.5; wanted a cosine similarity, at most 1\n");
    CHECK(refusal(head + R"("similarity": [null, null]})") ==
          "/similarity/1: null; wanted a cosine similarity, at most 1\n");
}

}  // namespace screens_cli_tests
